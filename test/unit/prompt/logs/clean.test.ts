import { describe, expect, it } from 'vitest';
import {
  clean,
  fenced,
  type Output,
  quoteOutputs,
  tailOf,
  toOutput,
} from '../../../../src/prompt/logs/clean.ts';

const MB = 1_000_000;
const keep = (text: string): string => text;
const output = (title: string, text: string, redact = keep): Output =>
  toOutput(title, tailOf(Buffer.from(text)), redact);
const ticks = (count: number): string => '`'.repeat(count);

describe('clean', () => {
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
    [
      'marks',
      '##[error]a\n##[warning]b\n##[notice]c\n##[debug]d\n##[command]e',
      'error: a\nwarning: b\nnotice: c\ndebug: d\ne',
    ],
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
    [
      'long runs of backticks',
      `${ticks(10)} ${ticks(11)} ${ticks(99)}`,
      `${ticks(10)} ${ticks(10)} ${ticks(10)}`,
    ],
    ['runs that become long', `${ticks(8)}\u200b${ticks(8)}`, ticks(10)],
    ['HTML comments', '<!-- a --> <!-- b', '<!-- a --> <!-- b'],
    ['white space at the end', 'a \n\t\n \n', 'a'],
  ])('of %s', (_, text, expected) => {
    expect(clean(text)).toBe(expected);
  });
});

describe('toOutput', () => {
  it.each([
    ['', { text: '', lines: 1, isWhole: true }],
    ['a', { text: 'a', lines: 1, isWhole: true }],
    ['a\r\nb\r\n', { text: 'a\nb', lines: 2, isWhole: true }],
    ['a\n\nb', { text: 'a\n\nb', lines: 3, isWhole: true }],
  ])('of %j', (text, expected) => {
    expect(output('t', text)).toEqual({ title: 't', ...expected, isLast: false });
  });

  it('takes secrets out that a color has split, before the cut', () => {
    const redact = (text: string): string => text.replaceAll('secret', '***');
    const text = `${'x'.repeat(480)}se\x1b[0mcret${'x'.repeat(1000)}`;
    expect(output('t', text, redact).text).toMatch(
      /^x{480}\*\* … 5\d\d characters are left out … x+$/,
    );
    // At the place where too much is left out before the cleaning.
    const colors = '\x1b[0m'.repeat(240_000);
    const long = `${'secret'.repeat(30_000)} ${colors}\nsecret`;
    expect(output('t', long, redact).text).toMatch(/^[*\n ]*$/);
  });
});

it('an end behind colors and blank lines is found, and that there is none is said', () => {
  const moves = '\x1b[2K\x1b[1G'.repeat(90_000);
  const found = output('t', `${moves}Error: a\n${'\n'.repeat(20_000)}`);
  expect(found).toMatchObject({ text: 'Error: a', isWhole: true });
  const none = output('t', `Error: a\n${moves.repeat(2)}`);
  expect(quoteOutputs([none])).toBe('t ends with nothing that can be read.');
});

describe('fenced', () => {
  it.each([
    ['a\n\nb', '> ```text\n> a\n> \n> b\n> ```'],
    ['```\na', '> ````text\n> ```\n> a\n> ````'],
    [ticks(10), `> ${ticks(11)}text\n> ${ticks(10)}\n> ${ticks(11)}`],
  ])('cannot be closed by %j', (text, expected) => {
    expect(fenced(text)).toBe(expected);
  });

  it('names another language', () => {
    expect(fenced('+a', 'diff')).toBe('> ```diff\n> +a\n> ```');
  });
});

describe('quoteOutputs', () => {
  it('has all of what is short, and says what is empty', () => {
    expect(quoteOutputs([])).toBe('');
    expect(quoteOutputs([output('A', 'a'), output('B', ''), output('C', '\u200b \n')])).toBe(
      `A:\n\n> \`\`\`text\n> a\n> \`\`\`\n\nB is empty.\n\nC is empty.`,
    );
  });

  it.each<[string, string, string]>([
    ['lines', 'x\n'.repeat(12_000), '4,999 of 12,000 lines'],
    ['many lines', `${'y'.repeat(19)}\n`.repeat(600_000), '908 of 600,000 lines'],
    ['a long line', 'x '.repeat(550_000), 'a part of it'],
    ['halves of characters', `${'😀'.repeat(250_000)}x`, 'a part of it'],
  ])('says how much of %s it has', (_, text, part) => {
    const quoted = quoteOutputs([output('A', text)]);
    expect(quoted).toContain(`A (${part}, chosen; “…” stands for the others):\n\n> \`\`\`text\n`);
    expect(quoted.isWellFormed()).toBe(true);
  });

  it('gives what a short one leaves to the others, and what all leave to the last ones', () => {
    const long = `${'b'.repeat(496)}\n`.repeat(900);
    const all = ['a'.repeat(996), long, long].map((text, index) => output(`O${index}`, text));
    const quoted = quoteOutputs(all);
    expect(quoted).toContain(`O0:\n\n> \`\`\`text\n> ${'a'.repeat(996)}\n`);
    expect(quoted).toContain('O1 (19 of 900 lines, chosen');
    expect(quoted).toContain('O2 (19 of 900 lines, chosen');
    const [, second, third] = all as [Output, Output, Output];
    const last = quoteOutputs([{ ...third, isLast: true }, ...all.slice(0, 1)]);
    expect(last).toContain('O2 (38 of 900 lines, chosen');
    const none = quoteOutputs([{ ...third, isLast: true }, second]);
    expect(none).toContain('O2, is not shown: there is no room for it.\n\nO1 (40 of 900 lines');
  });

  it('leaves out the middle of a long line, and says so', () => {
    const quoted = quoteOutputs([output('A', `a\n{"a":${'"b"'.repeat(8300)}}\nc`)]);
    const shown = /^A:\n\n> ```text\n> a\n> (\{"a":"b.*b"\}\n)> c\n> ```$/s.exec(quoted)?.[1];
    expect(shown).toMatch(/ … 23,9\d\d characters are left out … /);
    expect(shown?.length).toBeLessThanOrEqual(1001);
    // Even if nothing else has room.
    const many = Array.from({ length: 40 }, () => output('A', `a\n${'b'.repeat(900)}`));
    expect(quoteOutputs(many)).toMatch(/A:\n\n> ```text\n> a\n> b+ … \d+ characters/);
  });
});

// Each expression must take linear time: with quadratic time, this test would take minutes.
it.each<[string, string, RegExp]>([
  ['backticks', '`', /^`{10}$/],
  ['letters', 'x', /^x+ … 99\d,\d+ characters are left out … x+$/],
  ['letters of four bytes', '😀', /^😀+ … 49\d,\d+ characters are left out … 😀+$/u],
  ['carriage returns', '\r', /^$/],
  ['spaces', ' ', /^$/],
  ['colors', '\x1b[0m', /^$/],
  ['halves of colors', '\x1b[0;1', /^(\[0;1)+/],
  ['digits of one color', '\x1b[', /^\[+/],
  ['halves of links', '\x1b]8;', /^/],
  ['halves of visible links', '^[]8;', /^/],
  ['marks', '##[', /^/],
  ['marks of groups', '##[group]\n', /^$/],
  ['times', '2026-11-21T19:32:00.1234567Z \n', /^$/],
  ['hidden letters', '\u200b', /^$/],
  ['HTML comments', '<!--', /^/],
])('10 MB of %s are cleaned', (_, unit, expected) => {
  const all = unit.repeat(Math.ceil((10 * MB) / Buffer.byteLength(unit)));
  const { text } = output('t', all);
  expect(text).toMatch(expected);
  expect(quoteOutputs([output('t', all)]).length).toBeLessThanOrEqual(20_200);
});
