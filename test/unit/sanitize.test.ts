import { describe, expect, it } from 'vitest';
import { hasVisibleText, oneLine } from '../../src/sanitize.ts';

describe('hasVisibleText', () => {
  it.each(['a', ' . ', '🚀', 'ー', '\u0301'])('is true for %j', (text) => {
    expect(hasVisibleText(text)).toBe(true);
  });
  it.each([
    '',
    ' \t\r\n',
    '\u200b\u200c\u200d\ufeff',
    '\u2800\u3164\u115f',
    '\u{e0041}\ufe0f',
    '\0\u001b',
    '\u202e\u2066',
  ])('is false for %j', (text) => {
    expect(hasVisibleText(text)).toBe(false);
  });
});

describe('oneLine', () => {
  it.each([
    ['a\r\n\tb', 'a b'],
    [' a\u0000b ', 'a b'],
    ['a\u202eb\u{e0041}', 'ab'],
    ['👩\u200d💻', '👩\u200d💻'],
    ['\ud800', '\ufffd'],
  ])('returns for %j: %j', (text, expected) => {
    expect(oneLine(text)).toBe(expected);
  });
  it('cuts long texts', () => {
    expect(oneLine('abcdef', 4)).toBe('abc…');
    expect(oneLine('a'.repeat(10_000_000), 4)).toBe('aaa…');
  });
});
