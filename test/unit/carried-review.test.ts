import { describe, expect, it } from 'vitest';
import { describeCode, quoteInline } from '../../src/carried/review.ts';
import type { ReviewComment } from '../../src/github/api.ts';
import type { CodeContext } from '../../src/github/event.ts';

const redact = (text: string): string => text;

const CODE: CodeContext = {
  path: 'docs/a.md',
  line: 12,
  startLine: null,
  diffHunk: '@@ -1 +1 @@\n+`x`',
};
const DIFF = '> ```diff\n> @@ -1 +1 @@\n> +`x`\n> ```';

describe('describeCode', () => {
  const hunk = `The part of the diff around it:\n\n${DIFF}`;

  it.each<[string, Partial<CodeContext>, string]>([
    ['a line', {}, `“docs/a.md”, line 12. ${hunk}`],
    ['several lines', { startLine: 9 }, `“docs/a.md”, lines 9 to 12. ${hunk}`],
    ['one line as a range', { startLine: 12 }, `“docs/a.md”, line 12. ${hunk}`],
    ['a line that no longer exists', { line: null }, `“docs/a.md”. ${hunk}`],
    ['no diff', { diffHunk: '' }, '“docs/a.md”, line 12.'],
    ['a path of several lines', { path: 'a\n\nb”.\u2028c', diffHunk: '' }, '“a b". c”, line 12.'],
  ])('of %s', (_, parts, expected) => {
    const context = `Context: this was written on the file ${expected}`;
    const attached = [`+ \`${(parts.path ?? CODE.path).replace(/\s+/g, ' ')}\``];
    const described = describeCode({ ...CODE, ...parts }, redact);
    expect(described).toEqual({ parts: [context], outputs: [], attached });
  });
});

describe('a quoted diff', () => {
  const long = (count: number): string => '\n+line'.repeat(count);

  it.each([
    ['backticks', '+```\n+````', '`````diff\n+```\n+````\n`````'],
    [
      'backticks that only invisible characters separate',
      '+`\u200b`\u202e`',
      '````diff\n+```\n````',
    ],
    ['CRLF', '+a\r\n+b\r', '```diff\n+a\n+b\n```'],
    ['a lone CR, which starts no line', '+a\r```\rb', '````diff\n+a```b\n````'],
    ['HTML comments, which are code', '+<!-- a -->', '```diff\n+<!-- a -->\n```'],
    ['50 lines', `@@${long(50)}`, `\`\`\`diff\n@@${long(50)}\n\`\`\``],
    ['more lines', `@@\n+first${long(50)}`, `\`\`\`diff\n@@\n…${long(50)}\n\`\`\``],
    ['250,000 backticks', `+${'`a'.repeat(250_000)}`, `\`\`\`diff\n+${'`a'.repeat(499)}…\n\`\`\``],
    ['half of a character', '+a\ud800', '```diff\n+a\ufffd\n```'],
  ])('with %s', (_, diffHunk, expected) => {
    const block = expected.replace(/^/gm, '> ');
    const [text = ''] = describeCode({ ...CODE, diffHunk }, redact).parts;
    expect(text.split(':\n\n')[1]).toBe(block);
  });
});

describe('quoteInline', () => {
  const inline = (parts: Partial<ReviewComment> = {}): ReviewComment => ({
    ...{ ...CODE, outdated: false, body: 'Shorter.', originalLine: null, originalStartLine: null },
    ...{ url: 'https://github.com', lastEditedAt: null, author: null, editor: null, replyTo: null },
    ...parts,
  });
  const whole = { line: null, diffHunk: '' };
  const quoted = (...comments: readonly Partial<ReviewComment>[]): readonly string[] =>
    quoteInline(comments.map(inline));

  it.each<[string, Partial<ReviewComment>, string]>([
    ['a line', {}, `line 12:\n\n${DIFF}\n\nShorter.`],
    ['several lines', { startLine: 9 }, `lines 9 to 12:\n\n${DIFF}\n\nShorter.`],
    [
      'older lines',
      { line: null, originalLine: 12, outdated: true },
      `line 12 of an older commit:\n\n${DIFF}\n\nShorter.`,
    ],
    ['hidden text', { body: 'a<!-- b -->\u200bc <!-- d' }, `line 12:\n\n${DIFF}\n\nac`],
    ['only hidden text', { body: '<!-- b -->' }, `line 12:\n\n${DIFF}`],
    ['no diff', { diffHunk: '' }, 'line 12:\n\nShorter.'],
    [
      'a suggestion',
      { body: '```suggestion\r\n  a\r\n```', diffHunk: '' },
      'line 12:\n\n```suggestion\n  a\n```',
    ],
  ])('quotes %s', (_, parts, expected) => {
    expect(quoted(parts)).toEqual([`Comment 1 of 1, on the file “docs/a.md”, ${expected}`]);
  });

  it('quotes a comment on a whole file', () => {
    expect(quoted(whole)).toEqual(['Comment 1 of 1, on the file “docs/a.md”:\n\nShorter.']);
    expect(quoted(whole, whole)).toHaveLength(2);
  });
});
