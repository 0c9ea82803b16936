import { describe, expect, it } from 'vitest';
import { duration } from '../../src/clock.ts';
import { code, fence, link } from '../../src/report/markdown.ts';

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
])('code %j', (text, expected) => {
  expect(code(text)).toBe(expected);
});

describe('fence', () => {
  it('is longer than any run of backticks inside', () => {
    expect(fence('a\n```\nb````')).toBe('`````text\na\n```\nb````\n`````');
  });
  it('keeps lines and drops what cannot be seen', () => {
    expect(fence('a\r\nb\rc\u001b[2J\u202e\td')).toBe('```text\na\nb\nc[2J\td\n```');
  });
  it('cuts without half a character', () => {
    expect(fence(`${'x'.repeat(8)}🚀🚀`, 10)).toBe(`\`\`\`text\n${'x'.repeat(8)}\ufffd…\n\`\`\``);
  });
});

it('link cannot be ended early', () => {
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
])('duration of %d s', (seconds, expected) => {
  expect(duration(seconds)).toBe(expected);
});
