import { expect, it } from 'vitest';
import { pullRequestLink } from '../../src/comment/render-change.ts';
import { fitting, link, quotation, sentenceToMarkdown } from '../../src/markdown.ts';

it.each([
  ['Check the job in the dashboard (https://app.mintlify.com).', /the \[dashboard\]\(https/],
  ['It is at https://app.mintlify.com.', /^It is at https:\/\/app\.mintlify\.com\.$/],
  ['It said: “a page (https://app.mintlify.com)”.', /`a page \(https:\/\/app\.mintlify\.com\)`/],
])('a sentence has named links: %s', (sentence, expected) => {
  expect(sentenceToMarkdown(sentence)).toMatch(expected);
});

const lines = (count: number): string =>
  Array.from({ length: count }, (_, n) => `${n + 1}`).join('\n');
const quoted = (text: string): string => text.replace(/^/gm, '> ');
const PART = '<sub>Only the beginning is shown.</sub>';

it.each([
  ['one line', 'a', '> `a`'],
  ['lines', 'a\r\nb\rc\u001b[2J\u202e\td', '> ```text\n> a\n> b\n> c[2J\td\n> ```'],
  ['13', lines(13), quoted(`\`\`\`text\n${lines(12)}\n\`\`\`\n${PART}`)],
  ['1000 characters', 'x'.repeat(1000), `> \`${'x'.repeat(1000)}\``],
  ['a long line', 'x'.repeat(2000), quoted(`\`${'x'.repeat(999)}…\`\n${PART}`)],
  [
    'long lines',
    `${'x'.repeat(600)}\n`.repeat(20),
    quoted(`\`\`\`text\n${'x'.repeat(600)}\n${'x'.repeat(398)}…\n\`\`\`\n${PART}`),
  ],
  ['space before and after it', `${'\n'.repeat(1500)}a${'\r\n '.repeat(1500)}`, '> `a`'],
  ['empty lines in it', `a${'\n'.repeat(1500)}b`, quoted(`\`\`\`text\na\n\`\`\`\n${PART}`)],
  ['nothing', ' \u200b\n', ''],
])('quotation shows %s', (_, text, expected) => {
  expect(quotation(text)).toBe(expected);
});

it.each([
  ['a text', 'a', '> `a`\n> <sub>+ 1 comment</sub>'],
  ['no text', '\u200b', '> <sub>+ 1 comment</sub>'],
])('quotation shows what belongs to %s', (_, text, expected) => {
  expect(quotation(text, '+ 1 comment')).toBe(expected);
});

it.each([
  ['It failed.', 'It failed.'],
  ['It said “go @octo” to “”.', 'It said `go @octo` to .'],
  ['“a`b”“|”', '``a`b```¦`'],
  [`“${'x'.repeat(301)}”`, `\`${'x'.repeat(299)}…\``],
])('sentenceToMarkdown of %j is %s', (sentence, expected) => {
  expect(sentenceToMarkdown(sentence)).toBe(expected);
});

it.each([
  [0, []],
  [3, []],
  [4, ['aa']],
  [7, ['aa']],
  [8, ['aa', 'bb']],
])('fitting returns for %i characters: %j', (room, lines) => {
  expect(fitting(['aa', 'bb'], room)).toEqual(lines);
});

it.each<[string, number | null, string]>([
  ['https://github.com/octo/docs/pull/104', 104, '#104'],
  ['https://github.com/octo/docs/pull/104', null, 'octo/docs#104'],
  ['https://ghe.example/_a_/b/pull/7', null, 'ghe.example/\\_a\\_/b#7'],
  ['https://github.com.evil.example/o/r/pull/1', null, 'github.com.evil.example/o/r#1'],
])('pullRequestLink of %s, with the number %s here, is %s', (prLink, prNumber, label) => {
  expect(pullRequestLink({ prLink, prNumber })).toBe(`[${label}](${prLink})`);
});

it('link escapes characters that would end it', () => {
  expect(link('x', 'https://a.example/b)c(d <e>')).toBe(
    '[x](https://a.example/b%29c%28d%20%3Ce%3E)',
  );
});
