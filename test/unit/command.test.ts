import { describe, expect, it } from 'vitest';
import {
  cleanText,
  composePrompt,
  type InlineComment,
  quoteContext,
  quoteInline,
  readRequest,
} from '../../src/github/command.ts';
import type { Account, CodeContext, CommentTrigger } from '../../src/github/event.ts';
import { OPENING } from '../../src/text.ts';

const ALICE: Account = { login: 'alice', id: 1, type: 'User' };
const RENOVATE: Account = { login: 'renovate[bot]', id: 2, type: 'Bot' };

function comment(parts: Partial<CommentTrigger> = {}): CommentTrigger {
  return {
    ...{ kind: 'comment', id: 1, nodeId: '', action: 'created', conversation: 7, context: null },
    ...{ body: '/agent go', authorId: 1, sender: ALICE, viaApp: false },
    ...parts,
  };
}

describe('readRequest', () => {
  const byBot = { authorId: 2, sender: RENOVATE, viaApp: true };

  it.each<[string, string | null, CommentTrigger | null, string]>([
    ['the text after the command', '/agent', comment(), 'go'],
    ['a command in capitals', '/agent', comment({ body: '/AGENT\tgo' }), 'go'],
    ['only the command', '/agent', comment({ body: '/agent' }), ''],
    ['nothing visible', '/agent', comment({ body: '/agent \u200b<!-- x -->\u2800' }), ''],
    ['no text without a command', null, comment({ body: 'So.' }), ''],
    ['no text without a comment', null, null, ''],
    ['a submitted review', '/agent', comment({ kind: 'review', action: 'submitted' }), 'go'],
    ['a bot in allowed-bots, through its app', '/agent', comment(byBot), 'go'],
  ])('reads %s', (_, command, given, value) => {
    const allowedBots = new Set([RENOVATE.login]);
    expect(readRequest(given, { command, allowedBots })).toEqual({ kind: 'ok', value });
  });

  const noBots = 'is by a bot or an app; only people and bots in “allowed-bots” may ask.';
  it.each<[string, Partial<CommentTrigger> | null, string]>([
    [
      'no comment',
      null,
      'This step acts only on comments and reviews that begin with the word “/agent”. ' +
        'To act on other events, remove “command”.',
    ],
    ['a longer word', { body: '/agents go' }, 'The comment does not begin with the word “/agent”.'],
    [
      'an edit',
      { action: 'edited' },
      'Only new comments and reviews are acted on; write a new one.',
    ],
    [
      'a review',
      { kind: 'review' },
      'Only new comments and reviews are acted on; write a new one.',
    ],
    ['a bot', byBot, noBots],
    ['an app', { viaApp: true }, noBots],
    ['a person with the name of a bot', { sender: { ...ALICE, login: 'a[bot]' } }, noBots],
    ['an own comment', { body: `/agent ${OPENING}x -->` }, 'contains the hidden marker'],
    ['someone else', { sender: { ...ALICE, id: 3 } }, 'not sent by the author'],
  ])('refuses %s', (_, parts, why) => {
    const given = parts === null ? null : comment(parts);
    const request = readRequest(given, { command: '/agent', allowedBots: new Set() });
    expect(request).toEqual({ kind: 'problem', problem: expect.stringContaining(why) });
  });
});

describe('cleanText', () => {
  it.each([
    ['a\r\nb\rc', 'a\nb\nc'],
    ['a\u202e\u200bb\u200d\u{e0041}', 'ab\u200d'],
    ['a<!-- x -->b<!--\n-->c', 'abc'],
    ['a<!-->b<!--->c', 'abc'],
    ['a<!-- x --!>b', 'ab'],
    ['a<!-- <!-- x -->b', 'ab'],
    ['a<!-- never closed', 'a'],
    ['a<!-- x --> <!-- never closed -- >', 'a '],
    ['a<!<!-- -->-- hidden -->b', 'a'],
    ['a<!-<!-- x -->- hidden', 'a'],
    ['a --> b', 'a --> b'],
    ['a <! -- b -- >', 'a <! -- b -- >'],
  ])('of %j is %j', (text, expected) => {
    expect(cleanText(text)).toBe(expected);
  });
});

it.each([
  ['all parts', ['Be brief.', 'Go.', 'One.', 'Two.'], 'Be brief.\n\nGo.\n\nOne.\n\nTwo.'],
  ['no empty parts', ['', 'Go.', ''], 'Go.'],
  ['nothing', ['', ''], ''],
])('composePrompt joins %s', (_, parts, prompt) => {
  expect(composePrompt(...parts)).toBe(prompt);
});

const CODE: CodeContext = {
  path: 'docs/a.md',
  line: 12,
  startLine: null,
  diffHunk: '@@ -1 +1 @@\n+`x`',
};
const DIFF = '> ```diff\n> @@ -1 +1 @@\n> +`x`\n> ```';

describe('quoteContext', () => {
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
    expect(quoteContext({ ...CODE, ...parts })).toBe(context);
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
    ['other line breaks, which start no line', '+a\u2028```\u2029b', '````diff\n+a```b\n````'],
    [
      '250,000 backticks',
      `+${'`a'.repeat(250_000)}`,
      `\`\`\`diff\n+${'`a'.repeat(250_000)}\n\`\`\``,
    ],
    ['half of a character', '+a\ud800', '```diff\n+a\ufffd\n```'],
  ])('with %s', (_, diffHunk, expected) => {
    const block = expected.replace(/^/gm, '> ');
    expect(quoteContext({ ...CODE, diffHunk }).split(':\n\n')[1]).toBe(block);
  });
});

describe('quoteInline', () => {
  const inline = (parts: Partial<InlineComment> = {}): InlineComment => ({
    ...{ ...CODE, isOutdated: false, text: 'Shorter.' },
    ...parts,
  });
  const whole = { line: null, diffHunk: '' };
  const quoted = (...comments: readonly Partial<InlineComment>[]): readonly string[] =>
    quoteInline(comments.map(inline));

  it.each<[string, Partial<InlineComment>, string]>([
    ['a line', {}, `line 12:\n\n${DIFF}\n\nShorter.`],
    ['several lines', { startLine: 9 }, `lines 9 to 12:\n\n${DIFF}\n\nShorter.`],
    ['older lines', { isOutdated: true }, `line 12 of an older commit:\n\n${DIFF}\n\nShorter.`],
    ['hidden text', { text: 'a<!-- b -->\u200bc <!-- d' }, `line 12:\n\n${DIFF}\n\nac`],
    ['only hidden text', { text: '<!-- b -->' }, `line 12:\n\n${DIFF}`],
    ['no diff', { diffHunk: '' }, 'line 12:\n\nShorter.'],
    [
      'a suggestion',
      { text: '```suggestion\r\n  a\r\n```', diffHunk: '' },
      'line 12:\n\n```suggestion\n  a\n```',
    ],
  ])('quotes %s', (_, parts, expected) => {
    expect(quoted(parts)).toEqual([`Comment 1 of 1, on the file “docs/a.md”, ${expected}`]);
  });

  it('quotes a comment on a whole file', () => {
    expect(quoted(whole)).toEqual(['Comment 1 of 1, on the file “docs/a.md”:\n\nShorter.']);
    expect(quoted(whole, whole)).toHaveLength(2);
  });

  it('sorts by files, then by lines, and keeps the order on a line', () => {
    const texts = quoted(
      { path: 'b.md', line: 2, text: 'five' },
      { path: 'a.md', line: 10, startLine: 1, text: 'three' },
      { path: 'a.md', line: 9, text: 'two' },
      { path: 'a.md', line: 10, text: 'four' },
      { path: 'a.md', ...whole, text: 'one' },
      { path: 'b.md', line: 2, text: 'six' },
    ).map((text) => text.split('\n').at(-1));
    expect(texts).toEqual(['one', 'two', 'three', 'four', 'five', 'six']);
  });

  it('numbers the comments', () => {
    const numbers = quoted({}, {}, {}).map((text) => text.slice(0, 'Comment 1 of 3'.length));
    expect(numbers).toEqual(['Comment 1 of 3', 'Comment 2 of 3', 'Comment 3 of 3']);
  });

  it('is nothing without comments', () => {
    expect(quoted()).toEqual([]);
  });
});
