import { describe, expect, it } from 'vitest';
import { cleanQuotation, cleanText, readWords } from '../../../../src/prompt/sanitize/sanitize.ts';
import { commentOf, issueComment, review, type WebhookEvent } from '../../../sim/events.ts';

const on = (body: string): WebhookEvent => issueComment({ number: 7, body });
const reviewed = (body: string | null): WebhookEvent => review({ number: 7, body });

describe('readWords', () => {
  it.each<[string, string | null, WebhookEvent, string]>([
    ['the text after the command', '/agent', on('/agent go'), 'go'],
    ['many lines, CRLF', '/agent', on('/agent add\r\n\r\n- this\r\n'), 'add\n\n- this'],
    ['a command in capitals', '/agent', on('/AGENT\tgo'), 'go'],
    ['a command with a colon', '/agent', on('/agent: do it'), 'do it'],
    ['a command with a comma', '/agent', on('/agent, do it'), 'do it'],
    ['a full-width colon', '/agent', on('/agent：修复'), '修复'],
    ['a full-width comma', '/agent', on('/agent，\n修复'), '修复'],
    ['an ideographic comma', '/agent', on('/agent、直して'), '直して'],
    ['an Arabic comma', '/agent', on('/agent، نعم'), 'نعم'],
    ['a full-width space', '/agent', on('/agent\u3000修复'), '修复'],
    ['only the command', '/agent', on('/agent'), ''],
    ['nothing visible', '/agent', on('/agent \u200b<!-- x -->\u2800'), ''],
    ['only signs', '/agent', on('/agent: ```\n…\n``` -> !'), ''],
    ['an emoji', '/agent', on('/agent 👍'), '👍'],
    ['an emoji of a sign', '/agent', on('/agent #\ufe0f\u20e3'), '#\ufe0f\u20e3'],
    ['a flag', '/agent', on('/agent 🇫🇷'), '🇫🇷'],
    ['a command that is a pattern', 'a.b*', on('a.b* go'), 'go'],
    ['a command that would be hidden', '[agent]', on('[agent]: go'), ''],
    ['a paragraph, which is no code', '/agent', on('/agent\n    go <!-- x -->'), 'go'],
    ['no text of a comment without a command', null, on('So.'), ''],
    ['a submitted review', '/agent', reviewed('/agent go'), 'go'],
    ['all of a review without a command', null, reviewed('So. <!-- x -->'), 'So.'],
    ['nothing of a review without text', null, reviewed(null), ''],
  ])('reads %s', async (_, command, given, words) => {
    expect(await readWords(commentOf(given), command)).toBe(words);
  });
});

describe('cleanText', () => {
  // Null: all of it arrives.
  it.each<[string, string | null]>([
    ['a\r\nb\rc', 'a\nb\nc'],
    ['\ufeffa\u202e\u200bb\u200d\u{e0041}', 'ab\u200d'],
    // What a page does not show.
    ['<!-- Foo\n\nbar\n   baz -->\nokay', '\nokay'],
    ['<?php\n\n  echo a;\n\n?>\nokay', '\nokay'],
    ['<!DOCTYPE html>', ''],
    ['foo <!-- this is a --\ncomment - with hyphens -->', 'foo '],
    ['foo <?php echo $a; ?> <!ELEMENT br EMPTY> <![CDATA[ a ]]>', 'foo   '],
    ['a\n   <!-- never closed\n\nb', 'a\n   '],
    ['> <!-- a\n> b --> c\n\nd', '>  c\n\nd'],
    ['<div>\n<!-- a -->b <!-- c -->\n</div>', '<div>\nb \n</div>'],
    ['[//]: # (a\nb)\n\nc', '\n\nc'],
    ['[a]\n\n[a]: x\n[a]: y\n[d](e)\n\n[d]: z', '[a]\n\n[a]: x\n\n[d](e)\n\n'],
    ['a [^1]\n\n[^1]: b [^3]\n\n[^2]: c\n\n[^3]: d', 'a [^1]\n\n[^1]: b [^3]\n\n\n\n[^3]: d'],
    // What it shows, or shows in another way.
    ['[A  b] ![c][] [d](e) [f][g] ![h](i)\n\n[a b]: x\n[c]: x\n[g]: x "y"', null],
    ['- [ ] <Card> needs a title\n- [x] [a] <b>\n\nDo not touch docs/api.mdx', null],
    ['<CodeGroup>\n```bash npm\nnpm i\n```\n```js title="a.js" {1,3}\na\n```\n</CodeGroup>', null],
    ['| a | b |\n|---|---|\n| `x | y` | <Tab> | c |', null],
    ['````md\n```html\n<!-- a -->\n[a]: b\n```\n````', null],
    ['`<!-- a -->` and ``<!-- ` -->``\n\n    <!-- b -->', null],
    ['a <!-- never closed\n\nb -->', null],
    ['a --> b <! -- b -- > \\<!-- c --> <details> &lt;!-- d -->', null],
    ['<a title="<!-- b -->">c</a> <br/> <https://a.b>', null],
    ['a <\u200b!-- b --> c', 'a <!-- b --> c'],
    ['a<!<!-- -->-- shown -->b', 'a<!-- shown -->b'],
    // Too long for the parser.
    [
      `<b> ${'a\n'.repeat(6000)} <!-- b --> \`<!-- c -->\` d <!-- e`,
      `<b> ${'a\n'.repeat(6000)}  \`\` d <!-- e`,
    ],
  ])('of %j is %j', async (text, expected) => {
    expect(await cleanText(text)).toBe(expected ?? text);
  });

  const HEAD = 'On Fri, 27 Nov 2026 at 10:00, Anna ***@***.***> wrote:';

  it.each<[string, string | null]>([
    [`Do it.\n\n${HEAD}\n\n> a\n>\n> b\n`, 'Do it.'],
    [`Do it.\n${HEAD}\n\nnot quoted`, 'Do it.'],
    ['Do it.\n\nOn 27 November 2026, Anna <notifications@github.com> wrote:  \n > a', 'Do it.'],
    // Broken by programs.
    ['Do it.\nOn Fri, 27 Nov 2026 at 10:00, Anna ***@***.***>\nwrote:\n\n> a', 'Do it.'],
    ['See 1.\nOn Fri, 27 Nov 2026 at 10:00, Anna\n***@***.***> wrote:\n> a', 'See 1.'],
    ['See.\nOn Fri, 27 Nov 2026 at 10:00, Anna\n***@***.***>\nwrote:\n> a', 'See.'],
    // Other languages, and other programs.
    ['Ja.\n\nAm Fr., 27. Nov. 2026 um 10:00 Uhr schrieb Anna <\n***@***.***>:\n\n> a', 'Ja.'],
    ['Oui.\n\nLe ven. 27 nov. 2026 à 10:00, Anna ***@***.***> a\nécrit :\n\n> a', 'Oui.'],
    ['好。\n\n2026-11-27 10:00 GMT+08:00 安娜 ***@***.***>：\n\n> a', '好。'],
    ['Do it.\n\nAnna ***@***.***> writes:\n\n> a', 'Do it.'],
    [
      'Sent from my iPhone\n\n> On 27 Nov 2026, at 10:00, Anna ***@***.***> wrote:\n> \n> a\n',
      'Sent from my iPhone',
    ],
    [
      'Do it.\n\n________________________________\nFrom: Anna ***@***.***>\nSent: Friday, 27 November 2026 10:00\nTo: o/r ***@***.***>\nSubject: Re: [o/r] a (#7)\n\na',
      'Do it.',
    ],
    [
      'Ja.\n\nVon: Anna\nGesendet: Freitag, 27. November 2026 10:00\nAn: o/r ***@***.***>\nBetreff: a\n\na',
      'Ja.',
    ],
    [
      '好。\n-----原始邮件-----\n发件人: ***@***.***>;\n发送时间: 2026年11月27日 10:00\n\na',
      '好。',
    ],
    // Words of people.
    ['On the preview, the customer wrote:\n> a', null],
    ['On 1 May 2026, b wrote:\n> a', null],
    ['The address is ***@***.***, and the title is:\na', null],
    ['Email: ***@***.***\nPhone: 555 1234\nHours: 10:00', null],
    [`> ${HEAD}\n> a\n\nI agree.`, null],
  ])('of the reply by mail %j is %j', async (text, expected) => {
    expect(await cleanText(text)).toBe(expected ?? text);
  });
});

it.each([
  ['<p title="a > b">c</p> d <!-- e --> <Card x={1}>f</Card>', 'c d  f'],
  ['<!-- a --> b\n<div\nc="d">e\n</div>', ' b\ne\n'],
  ['![a](b "c") [d](e "f") [g]\n\n[g]: h "i"', ' [d](e ) [g]\n\n[g]: h '],
  ['[a](<ignore all> "b")\n\n~~~js ignore all\n<b>\n~~~', '[a]( )\n\n~~~js \n<b>\n~~~'],
  ['```js ignore all\na\n```', '```js \na\n```'],
])('cleanQuotation of %j is %j', async (text, words) => {
  expect(await cleanQuotation(text)).toEqual({ words, isWhole: true });
});

it.each([
  ['up to the end of a block', `[a](b "c")\n\n${'d\n'.repeat(4000)}`, '[a](b )'],
  ['which may be nothing', `[a](b "c${'\nc'.repeat(4001)}")`, ''],
])(
  'of a text too long for the parser, cleanQuotation has the beginning, %s',
  async (_, text, words) => {
    expect(await cleanQuotation(text)).toEqual({ words, isWhole: false });
  },
);
