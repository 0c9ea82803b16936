import { describe, expect, it } from 'vitest';
import type { ReviewComment } from '../../../../src/github/responses.ts';
import { describeCode, quoteInline } from '../../../../src/prompt/conversation/review.ts';
import type { CodeContext } from '../../../../src/trigger/trigger.ts';
import { told } from '../../told.ts';

const redact = (text: string): string => text.replaceAll('s3cret', '***');

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
    const { text, line } = told([describeCode({ ...CODE, ...parts }, redact)]);
    expect(text).toBe(context);
    expect(line).toBe(`+ \`${(parts.path ?? CODE.path).replace(/\s+/g, ' ').replace('”', '"')}\``);
  });
});

it.each<[string, string, Partial<CodeContext>]>([
  ['line 12 of the old version, which the pull request deletes. The', '@@\n+b\n-a', {}],
  ['lines 9 to 12 of the old version, which the pull request deletes. The', '-a', { startLine: 9 }],
  ['line 12. The', '@@\n-b\n a', {}],
  ['“docs/a.md”. The', '-a', { line: null }],
])('describeCode says “%s” of the end of %j', (said, diffHunk, more) => {
  expect(told([describeCode({ ...CODE, diffHunk, ...more }, redact)]).text).toContain(said);
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
    const { text } = told([describeCode({ ...CODE, diffHunk }, redact)]);
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
  const URL = 'https://github.com/octo/agents/pull/7#pullrequestreview-1';
  const quoted = async (...comments: readonly Partial<ReviewComment>[]) =>
    (await quoteInline(comments.map(inline), URL, redact)).flatMap(({ parts = [] }) => parts);

  it('cuts a long comment, so that the others have room, too', async () => {
    const parts = await quoted({ body: 'B', line: 13 }, { body: 'x'.repeat(64_000) });
    expect(parts.map((part) => part.length)).toEqual([30_000, expect.any(Number)]);
    expect(parts[1]).toMatch(/^Comment 2 of 2, .*\n\nB$/s);
  });

  it('shows less of the code where words would have no room', async () => {
    const code = (width: number) => ({ diffHunk: `@@${`\n+${'x'.repeat(width)}`.repeat(50)}` });
    const long = await quoted(code(700));
    const several = await quoted(...Array(8).fill(code(200)));
    for (const part of [...long, ...several]) {
      expect(part).toMatch(/\n> @@\n> …\n(?:> \+x+\n){10}> ```\n\nShorter\.$/);
    }
    expect(several).toHaveLength(8);
  });

  it.each<[string, Partial<ReviewComment>, string]>([
    ['a line', {}, `line 12:\n\n${DIFF}\n\nShorter.`],
    ['several lines', { startLine: 9 }, `lines 9 to 12:\n\n${DIFF}\n\nShorter.`],
    [
      'older lines',
      { line: null, originalLine: 12, outdated: true },
      `line 12 of an older commit:\n\n${DIFF}\n\nShorter.`,
    ],
    [
      'older deleted lines',
      { line: null, originalLine: 12, outdated: true, diffHunk: '-a' },
      'line 12 of the old version, which an older commit deletes:\n\n> ```diff\n> -a\n> ```\n\nShorter.',
    ],
    [
      'hidden text',
      { body: 'a<!-- b -->\u200bc `<!-- d`' },
      `line 12:\n\n${DIFF}\n\nac \`<!-- d\``,
    ],
    ['only hidden text', { body: '<!-- b -->' }, `line 12:\n\n${DIFF}`],
    ['no diff', { diffHunk: '' }, 'line 12:\n\nShorter.'],
    [
      'a secret, which stays only in the words',
      { diffHunk: '@@\n+s3cret', body: 's3cret' },
      'line 12:\n\n> ```diff\n> @@\n> +***\n> ```\n\ns3cret',
    ],
    [
      'a suggestion',
      { body: '```suggestion\r\n  <!-- vale off -->\r\n```', diffHunk: '' },
      'line 12:\n\n```suggestion\n  <!-- vale off -->\n```',
    ],
  ])('quotes %s', async (_, parts, expected) => {
    expect(await quoted(parts)).toEqual([`Comment 1 of 1, on the file “docs/a.md”, ${expected}`]);
  });

  it('quotes a comment on a whole file', async () => {
    expect(await quoted(whole)).toEqual(['Comment 1 of 1, on the file “docs/a.md”:\n\nShorter.']);
    expect(await quoted(whole, whole)).toHaveLength(2);
  });

  it('shows less of the code in more than 20 comments', async () => {
    const diffHunk = `@@${'\n+line'.repeat(50)}`;
    const [few = ''] = await quoted(...Array.from({ length: 20 }, () => ({ diffHunk })));
    const [many = ''] = await quoted(...Array.from({ length: 21 }, () => ({ diffHunk })));
    expect([few, many].map((text) => text.split('+line').length - 1)).toEqual([50, 10]);
    expect(many).toContain('> …');
  });

  it.each([
    [3, '+ 2 of 3 comments on 1 file', '1 comment'],
    [9, '+ 2 of 9 comments on 1 file', '7 comments'],
  ])('has no room for more than two of %i long comments', async (count, attached, left) => {
    const comments = Array.from({ length: count }, () => inline({ body: 'a'.repeat(29_000) }));
    const { text, line } = told(await quoteInline(comments, URL, redact));
    expect(text.match(/^Comment \d/gm)).toHaveLength(2);
    expect(text).toMatch(
      RegExp(`\n\nNot shown: ${left} \\(there is no room; see ${URL}\\)\\. [^\\n]*$`),
    );
    expect(line).toBe(`${attached} · without ${left}: there is no room; see ${URL}`);
  });
});
