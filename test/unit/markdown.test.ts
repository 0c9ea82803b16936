import { describe, expect, it } from 'vitest';
import { duration } from '../../src/clock.ts';
import {
  blocks,
  code,
  dotted,
  fence,
  fitting,
  fittingBlocks,
  link,
  pullRequestLink,
  quotation,
} from '../../src/report/markdown.ts';

it.each([
  ['plain', '`plain`'],
  ['', ''],
  ['a`b', '``a`b``'],
  ['`a``b', '``` `a``b ```'],
  ['a|b\nc', '`a¦b c`'],
  ['@octo #1 <img>', '`@octo #1 <img>`'],
  ['a\u202eb\u200bc', '`abc`'],
  ['👩\u200d💻', '`👩\u200d💻`'],
  ['x'.repeat(300), `\`${'x'.repeat(199)}…\``],
])('code of %j is %s', (text, expected) => {
  expect(code(text)).toBe(expected);
});

describe('fence', () => {
  it('is longer than any run of backticks inside', () => {
    expect(fence('a\n```\nb````')).toBe('`````text\na\n```\nb````\n`````');
  });
  it('keeps lines and removes invisible characters', () => {
    expect(fence('a\r\nb\rc\u001b[2J\u202e\td')).toBe('```text\na\nb\nc[2J\td\n```');
  });
  it('does not cut a character in half', () => {
    expect(fence(`${'x'.repeat(8)}🚀🚀`, 10)).toBe(`\`\`\`text\n${'x'.repeat(8)}\ufffd…\n\`\`\``);
  });
});

describe('quotation', () => {
  const lines = (count: number): string =>
    Array.from({ length: count }, (_, n) => `${n + 1}`).join('\n');

  it.each([
    ['one line', 'a', '`a`'],
    ['one line with space around it', '\n a\r\n', '`a`'],
    ['lines', 'a\r\nb\rc', '```text\na\nb\nc\n```'],
    ['12 lines', lines(12), `\`\`\`text\n${lines(12)}\n\`\`\``],
    [
      '13 lines',
      lines(13),
      `\`\`\`text\n${lines(12)}\n\`\`\`\n\n<sub>Only the first 12 lines are shown.</sub>`,
    ],
    ['nothing', ' \n', ''],
  ])('shows %s', (_, text, expected) => {
    expect(quotation(text)).toBe(expected);
  });

  it('cuts a long line', () => {
    expect(quotation('x'.repeat(1001))).toBe(`\`${'x'.repeat(999)}…\``);
  });
});

it('dotted and blocks leave out empty texts', () => {
  expect(dotted(['a', '', 'b'])).toBe('a · b');
  expect(blocks(['a', '', 'b'])).toBe('a\n\nb');
});

it.each([
  [0, [], ''],
  [3, ['aa'], ''],
  [4, ['aa'], 'aa'],
  [6, ['aa', 'bb'], 'aa'],
  [8, ['aa', 'bb'], 'aa\n\nbb'],
])('fitting and fittingBlocks return for %i characters: %j and %j', (room, lines, text) => {
  expect(fitting(['aa', 'bb'], room)).toEqual(lines);
  expect(fittingBlocks(['aa', '', 'bb'], room)).toBe(text);
});

it('pullRequestLink shows no number if a secret was removed from it', () => {
  const url = 'https://github.com/octo/docs/pull/***';
  expect(pullRequestLink(url)).toBe(`[pull request](${url})`);
});

it('pullRequestLink leaves out the repository on request', () => {
  const url = 'https://github.com/octo/docs/pull/104';
  expect(pullRequestLink(url)).toBe(`[octo/docs#104](${url})`);
  expect(pullRequestLink(url, true)).toBe(`[#104](${url})`);
});

it('link escapes characters that would end it', () => {
  expect(link('x', 'https://a.example/b)c(d <e>')).toBe(
    '[x](https://a.example/b%29c%28d%20%3Ce%3E)',
  );
});

it.each([
  [0.4, '0 s'],
  [59.4, '59 s'],
  [60, '1 min'],
  [125, '2 min 5 s'],
  [7500, '2 h 5 min'],
])('duration of %d s is %s', (seconds, expected) => {
  expect(duration(seconds)).toBe(expected);
});
