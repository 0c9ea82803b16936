import { expect, it } from 'vitest';
import { afterPause, duration } from '../../src/clock.ts';
import {
  cut,
  hasVisibleText,
  oneLine,
  quote,
  splitQuotes,
  withoutInvisible,
} from '../../src/text.ts';

it.each([
  [true, ['a', ' . ', '🚀', 'ー', '\u0301']],
  [false, ['', ' \t\r\n', '\u200b\u200d', '\u2800\u3164', '\u{e0041}\ufe0f', '\0']],
])('hasVisibleText is %s for each of %j', (expected, texts) => {
  expect(texts.filter((text) => hasVisibleText(text))).toEqual(expected ? texts : []);
});

it.each([
  ['a\r\n\tb', 'a b'],
  [' a\u0000b ', 'a b'],
  ['a\u202eb\u{e0041}', 'ab'],
  ['a\u2028b\u0085c', 'a b c'],
  ['👩\u200d💻', '👩\u200d💻'],
  ['\ud800', '\ufffd'],
  ['x'.repeat(201), `${'x'.repeat(199)}…`],
])('oneLine of %j is %j', (text, expected) => {
  expect(oneLine(text)).toBe(expected);
});

it('oneLine and cut end long texts with an ellipsis, and cut no character in half', () => {
  expect(oneLine('abcdef', 4)).toBe('abc…');
  expect(oneLine('a'.repeat(10_000_000), 4)).toBe('aaa…');
  expect(cut('abcd', 4)).toBe('abcd');
  expect(cut('ab🚀cd', 4)).toBe('ab\ufffd…');
});

it('withoutInvisible keeps lines, tabs and joiners', () => {
  const seen = 'a\n\tb\u200d\u200c\ufe0f';
  expect(withoutInvisible(`${seen}\u001b\u200b\u{e0041}\u2800`)).toBe(seen);
});

it.each([
  ['go', '“go”', ['It said ', 'go', '.']],
  ['go “away”\n', '“go "away"”', ['It said ', 'go "away"', '.']],
  ['”. Our own words: “', '“". Our own words: "”', ['It said ', '". Our own words: "', '.']],
])('quote and splitQuotes keep text by others apart: %j', (text, quoted, parts) => {
  expect(quote(text)).toBe(quoted);
  expect(splitQuotes(`It said ${quote(text)}.`)).toEqual(parts);
});

it.each([
  [0.4, '0 s'],
  [59.4, '59 s'],
  [60, '1 min'],
  [125, '2 min 5 s'],
  [7500, '2 h 5 min'],
])('duration of %d s is %s', (seconds, expected) => {
  expect(duration(seconds * 1000)).toBe(expected);
});

it.each([
  [0, 'at once'],
  [499, 'at once'],
  [500, 'in 1 s'],
  [90_000, 'in 1 min 30 s'],
])('afterPause of %d ms is %s', (ms, expected) => {
  expect(afterPause(ms)).toBe(expected);
});
