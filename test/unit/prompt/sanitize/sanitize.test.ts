import { expect, it } from 'vitest';
import { readWords, sanitize, sanitizeStrict } from '../../../../src/prompt/sanitize/sanitize.ts';
import { commentOf, issueComment, review, type WebhookEvent } from '../../../sim/events.ts';

const on = (body: string): WebhookEvent => issueComment({ number: 7, body });
const reviewed = (body: string | null): WebhookEvent => review({ number: 7, body });

it.each<[string, string | null, WebhookEvent, string]>([
  ['many lines, CRLF', '/agent', on('/agent add\r\n\r\n- this\r\n'), 'add\n\n- this'],
  ['a command in capitals', '/agent', on('/AGENT\tgo'), 'go'],
  ['a command with a comma', '/agent', on('/agent, do it'), 'do it'],
  ['a full-width colon', '/agent', on('/agent：修复'), '修复'],
  ['a full-width comma', '/agent', on('/agent，\n修复'), '修复'],
  ['an ideographic comma', '/agent', on('/agent、直して'), '直して'],
  ['an Arabic comma', '/agent', on('/agent، نعم'), 'نعم'],
  ['a full-width space', '/agent', on('/agent\u3000修复'), '修复'],
  ['only the command', '/agent', on('/agent'), ''],
  ['nothing visible', '/agent', on('/agent \u200b<!-- x -->\u2800'), ''],
  ['a command that is a pattern', 'a.b*', on('a.b* go'), 'go'],
  ['a paragraph, which is no code', '/agent', on('/agent\n    go <!-- x -->'), 'go'],
  ['no text of a comment without a command', null, on('So.'), ''],
  ['a submitted review', '/agent', reviewed('/agent go'), 'go'],
  ['all of a review without a command', null, reviewed('So. <!-- x -->'), 'So.'],
  ['nothing of a review without text', null, reviewed(null), ''],
])('readWords reads %s', (_, command, given, words) => {
  expect(readWords(commentOf(given), command)).toBe(words);
});

// Null: all of it arrives.
it.each<[string, string | null]>([
  ['a\r\nb\rc', 'a\nb\nc'],
  ['\ufeffa\u202e\u200bb\u200d\u{e0041}', 'ab\u200d'],
  ['<!-- Foo\n\nbar\n   baz -->\nokay', 'okay'],
  ['foo <!-- this is a --\ncomment - with hyphens --> bar', 'foo  bar'],
  ['<div>\n<!-- a -->b <!-- c -->\n</div>', '<div>\nb \n</div>'],
  ['``` a ``` <!-- b -->` <!-- c -->\n\n`', '``` a ``` ` \n\n`'],
  // What the page shows.
  ['````md\n```html\n<!-- a -->\n[a]: b\n```\n````', null],
  ['> ~~~\n> <!-- a -->\n> ~~~', null],
  ['- ```\n  <!-- never closed -->', null],
  ['`<!-- a -->` and ``<!-- ` -->``', null],
  ['a <!-- never closed\n\nb', null],
  ['a --> b <! -- b -- > \\<!-- c --> <details> &lt;!-- d -->', null],
  ['a<!<!-- -->-- shown -->b', 'a<!-- shown -->b'],
])('sanitize of %j is %j', (text, expected) => {
  expect(sanitize(text)).toBe(expected ?? text);
});

it('sanitize reads a long line of backticks in linear time', () => {
  const text = `${'`'.repeat(100_000)} a \``;
  const start = performance.now();
  expect(sanitize(text)).toBe(text);
  // It was 10 seconds when each shorter run was tried as well.
  expect(performance.now() - start).toBeLessThan(3000);
});

const HEAD = 'On Fri, 27 Nov 2026 at 10:00, Anna ***@***.***> wrote:';

it.each<[string, string | null]>([
  [`Do it.\n\n${HEAD}\n\n> a\n>\n> b\n`, 'Do it.'],
  ['Do it.\n\nOn 27 November 2026, Anna <notifications@github.com> wrote:  \n > a', 'Do it.'],
  // Broken by programs, in other languages.
  ['See.\nOn Fri, 27 Nov 2026 at 10:00, Anna\n***@***.***>\nwrote:\n> a', 'See.'],
  ['Ja.\n\nAm Fr., 27. Nov. 2026 um 10:00 Uhr schrieb Anna <\n***@***.***>:\n\n> a', 'Ja.'],
  ['好。\n\n2026-11-27 10:00 GMT+08:00 安娜 ***@***.***>：\n\n> a', '好。'],
  // Apple Mail and Outlook.
  [`Sent from my iPhone\n\n> ${HEAD}\n> \n> a\n`, 'Sent from my iPhone'],
  ['Do it.\n\nFrom: Anna ***@***.***>\nSent: Friday, 27 November 2026 10:00\n\na', 'Do it.'],
  // Words of people.
  ['On the preview of 2026, the customer wrote:\n> a', null],
  ['The address is ***@***.***, and the title is:\n\n2026', null],
  [`> ${HEAD}\n> a\n\nI agree.`, null],
])('sanitize of the reply by mail %j is %j', (text, expected) => {
  expect(sanitize(text)).toBe(expected ?? text);
});

it.each([
  ['<p title="a > b">c</p> d <!-- e --> <Card x={1}>f</Card>', 'c\n d  f'],
  ['> <!--\n\na', ''],
  ['![a](b "c") [d](e "f") [g]\n\n[g]: h "i"', '[image] d g'],
  ['a [^1]\n\n[^1]: b\n\n[^2]: c', 'a 1\n\nFootnotes\n\n- \nb ↩'],
  ['|a|b|\n|-|-|\n|c|d|e|', 'a\n b\n\n\n\n\n c\n d'],
  ['a<br>b &lt;c&gt; **d**', 'a\nb <c> **d**'],
  ['a <script>b</script> c', 'a  c'],
  ['a <ruby>b<rp>c</rp></ruby> d', 'a b d'],
  ['[a](<ignore all> "b")\n\n~~~js ignore all\n<b>\n~~~', 'a\n\n<b>'],
  ['- a\n- `b`', '- a\n- b'],
  ['**a**\n> b\u200b', '**a**\n> b'],
])('sanitizeStrict of %j is %j', async (text, words) => {
  expect(await sanitizeStrict(text)).toEqual({ text: words, isWhole: true });
});

it.each([
  [`[a](b "c")\n\nd [e](f "${'g '.repeat(8000)}`, 'a\n\nd'],
  [`[a](b "c${' c'.repeat(8000)}")`, ''],
  [`<!-- a -->\n\n${'b'.repeat(20_000)}`, 'b'.repeat(15_988)],
])('sanitizeStrict of a long text is what no cut shows: %#', async (markdown, text) => {
  expect(await sanitizeStrict(markdown)).toEqual({ text, isWhole: false });
});
