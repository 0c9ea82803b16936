import { expect, it } from 'vitest';
import type { CodeLocation, InlinePost } from '../../../../src/github/conversation.ts';
import { formatCode, formatInline } from '../../../../src/prompt/conversation/review.ts';
import { told } from '../../told.ts';

const redact = (text: string): string => text.replaceAll('s3cret', '***');

const CODE: CodeLocation = {
  ...{ path: 'docs/a.md', line: 12, startLine: null, isOutdated: false },
  diffHunk: '@@ -1 +1 @@\n+`x`',
};
const DIFF = '> ```diff\n> @@ -1 +1 @@\n> +`x`\n> ```';

const hunk = `The part of the diff around it:\n\n${DIFF}`;

it.each<[string, Partial<CodeLocation>, string]>([
  ['a line', {}, `“docs/a.md”, line 12. ${hunk}`],
  ['several lines', { startLine: 9 }, `“docs/a.md”, lines 9 to 12. ${hunk}`],
  ['one line as a range', { startLine: 12 }, `“docs/a.md”, line 12. ${hunk}`],
  ['a line that no longer exists', { line: null }, `“docs/a.md”. ${hunk}`],
  ['no diff', { diffHunk: '' }, '“docs/a.md”, line 12.'],
  ['a path of several lines', { path: 'a\n\nb”.\u2028c', diffHunk: '' }, '“a b". c”, line 12.'],
])('formatCode of %s', (_, parts, expected) => {
  const context = `Context: this was written on the file ${expected}`;
  const { text, line } = told([formatCode({ ...CODE, ...parts }, redact)]);
  expect(text).toBe(context);
  expect(line).toBe(`+ \`${(parts.path ?? CODE.path).replace(/\s+/g, ' ').replace('”', '"')}\``);
});

const long = (count: number): string => '\n+line'.repeat(count);

it.each([
  ['backticks', '+```\n+````', '`````diff\n+```\n+````\n`````'],
  ['backticks with invisible characters', '+`\u200b`\u202e`', '````diff\n+```\n````'],
  ['CRLF', '+a\r\n+b\r', '```diff\n+a\n+b\n```'],
  ['a lone CR, which starts no line', '+a\r```\rb', '````diff\n+a```b\n````'],
  ['HTML comments, which are code', '+<!-- a -->', '```diff\n+<!-- a -->\n```'],
  ['ten lines', `@@${long(10)}`, `\`\`\`diff\n@@${long(10)}\n\`\`\``],
  ['more lines', `@@\n+first${long(10)}`, `\`\`\`diff\n@@\n…${long(10)}\n\`\`\``],
  ['250,000 backticks', `+${'`a'.repeat(250_000)}`, `\`\`\`diff\n+${'`a'.repeat(499)}…\n\`\`\``],
  ['half of a character', '+a\ud800', '```diff\n+a\ufffd\n```'],
])('a quoted diff with %s', (_, diffHunk, expected) => {
  const { text } = told([formatCode({ ...CODE, diffHunk }, redact)]);
  expect(text.split(':\n\n')[1]).toBe(expected.replace(/^/gm, '> '));
});

const inline = (body: string, place: Partial<CodeLocation> = {}): InlinePost => ({
  ...{ body, key: '', author: null, at: 0, state: '', review: '', isReply: false },
  location: { ...CODE, ...place },
});
const SECRET = ', line 12:\n\n> ```diff\n> @@\n> +***\n> ```\n\ns3cret';
const SUGGESTED = '```suggestion\n  <!-- vale off -->\n```';
const URL = 'https://github.com/octo/agents/pull/7#pullrequestreview-1';
const quoted = (...posts: readonly InlinePost[]) => formatInline(posts, URL, redact).parts;

it('formatInline cuts a long comment, so that the others have room, too', () => {
  const parts = quoted(inline('B', { line: 13 }), inline('x'.repeat(64_000))) ?? [];
  expect(parts.map((part) => part.length)).toEqual([30_000, expect.any(Number)]);
  expect(parts[1]).toMatch(/^Comment 2 of 2, .*\n\nB$/s);
});

it.each<[string, Partial<CodeLocation>, string, string]>([
  ['older lines', { isOutdated: true }, 'a', `, line 12 of an older commit:\n\n${DIFF}\n\na`],
  ['only hidden text', {}, '<!-- b -->', `, line 12:\n\n${DIFF}`],
  ['no diff', { diffHunk: '' }, 'a', ', line 12:\n\na'],
  ['a whole file', { line: null, diffHunk: '' }, 'a', ':\n\na'],
  ['a secret, which stays only in the words', { diffHunk: '@@\n+s3cret' }, 's3cret', SECRET],
  ['a suggestion', { diffHunk: '' }, `${SUGGESTED}\r`, `, line 12:\n\n${SUGGESTED}`],
])('formatInline quotes %s', (_, place, body, expected) => {
  const start = `Comment 1 of 1, on the file “${CODE.path}”`;
  expect(quoted(inline(body, place))).toEqual([start + expected]);
});

it('formatInline has no room for more than two of nine long comments', () => {
  const posts = Array.from({ length: 9 }, () => inline('a'.repeat(29_000)));
  const { text, line } = told([formatInline(posts, URL, redact)]);
  expect(text.match(/^Comment \d/gm)).toHaveLength(2);
  const why = `there is no room; see ${URL}`;
  expect(text).toContain(`\n\nNot shown: 7 comments (${why}). `);
  expect(line).toBe(`+ 2 of 9 comments on 1 file · without 7 comments: ${why}`);
});
