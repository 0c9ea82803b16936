import { expect, it } from 'vitest';
import { clean } from '../../../../src/prompt/logs/clean.ts';

const ticks = (count: number): string => '`'.repeat(count);

it.each([
  ['times', '2026-11-21T19:32:00.1234567Z a\n2026-11-21T19:32:00.1234567Z b', 'a\nb'],
  ['a time without text', 'a\n2026-11-21T19:32:00.1234567Z\nb', 'a\n\nb'],
  ['a time of the program', '2026-11-21T19:32:00.123Z a', '2026-11-21T19:32:00.123Z a'],
  ['one time of two', '2026-11-21T19:32:00.1234567Z '.repeat(2), '2026-11-21T19:32:00.1234567Z'],
  ['byte order marks', '\ufeff2026-11-21T19:32:00.1234567Z \ufeffa', 'a'],
  ['colors', '\x1b[1;31merror\x1b[0m and \x1b[38;2;1;2;3mmore\x1b[m', 'error and more'],
  ['moves of the cursor', '\x1b[?25la\x1b[2K\x1b[1Gb\x1b(Bc\x1b[ qd', 'abcd'],
  ['visible colors', '^[[1;31merror^[[0m and ^[[Kmore^[[m', 'error and more'],
  ['links', '\x1b]8;;https://a.b/\x07a\x1b]8;;\x1b\\b', 'ab'],
  ['visible links', '^[]8;;https://a.b/^Ga^[]8;;^[\\b', 'ab'],
  ['titles of windows', '\x1b]0;title\x07a', 'a'],
  ['a link without an end', '\x1b]8;;https://a\nb', ']8;;https://a\nb'],
  ['other brackets', "grep '^[[:space:]]' '[^[]'", "grep '^[[:space:]]' '[^[]'"],
  ['sequences in sequences', '\x1b\x1b[0m[31ma', '[31ma'],
  ['groups', '##[group]Run a\nb\n##[endgroup]\nc', 'Run a\nb\n\nc'],
  ['marks', '##[error]a\n##[warning]b\n##[notice]c', 'error: a\nwarning: b\nnotice: c'],
  ['marks of the runner', '##[debug]d\n##[command]e', 'debug: d\ne'],
  ['a mark in a line', 'a ##[add-mask]b', 'a ## [add-mask]b'],
  ['marks in marks', '##[group]##[error]a', '## [error]a'],
  ['commands of other kinds', '::error file=a.js::b', '::error file=a.js::b'],
  ['line breaks', 'a\r\nb\r\r\nc\rd\n\ne', 'a\nb\nc\nd\n\ne'],
  ['other line breaks', 'a\u2028b\u2029c\u0085d\ve\ff', 'a b cdef'],
  ['control characters', 'a\0\b\x1b\x7f\x9bb\tc', 'ab\tc'],
  ['invisible characters', 'a\u200b\u00ad\ufeff\u2060\u2800\u3164\u{e0041}b', 'ab'],
  ['bidirectional characters', 'a\u202e\u2066\u200f\u061cb', 'ab'],
  ['prepended marks', '\u0600\u0605\u06dd\u070f\u08e2\u{110bd}a', 'a'],
  ['lone surrogates', 'a\ud800b\udc00', 'ab'],
  ['what was not UTF-8', 'a\ufffd\ufffdb', 'ab'],
  ['long runs', `${ticks(11)} ${ticks(99)}`, `${ticks(10)} ${ticks(10)}`],
  ['runs that become long', `${ticks(8)}\u200b${ticks(8)}`, ticks(10)],
  ['HTML comments', '<!-- a --> <!-- b', '<!-- a --> <!-- b'],
  ['white space at the end', 'a \n\t\n \n', 'a'],
])('clean of %s', (_, text, expected) => {
  expect(clean(text)).toBe(expected);
});
