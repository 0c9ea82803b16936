import { expect, it } from 'vitest';
import {
  type Output,
  quoteOutputs,
  toOutput,
  withoutRepeatedLines,
} from '../../../../src/prompt/logs/quote-outputs.ts';

const keep = (text: string): string => text;
const output = (title: string, text: string, redact = keep): Output =>
  toOutput(title, text, redact);

it.each([
  ['', { text: '', lines: 1 }],
  ['a\r\nb\r\n\n', { text: 'a\nb', lines: 2 }],
  [`a\n${'b\n'.repeat(600_000)}`, { lines: 600_001 }],
  [`${'x'.repeat(1_100_000)}\n`, { lines: 1 }],
])('toOutput of %j', (text, expected) => {
  expect(output('t', text)).toMatchObject(expected);
});

it('toOutput takes secrets out that a color has split, before the cut', () => {
  const redact = (text: string): string => text.replaceAll('secret', '***');
  const text = `${'x'.repeat(480)}se\x1b[0mcret${'x'.repeat(1000)}`;
  expect(output('t', text, redact).text).toMatch(/^x{480}\*+ … 5\d\d characters are left out …/);
  // At the place where too much is left out before the cleaning.
  const colors = '\x1b[0m'.repeat(240_000);
  const long = `${'secret'.repeat(30_000)} ${colors}\nsecret`;
  expect(output('t', long, redact).text).toMatch(/^[*\n ]*$/);
  const line = `${'secret '.repeat(150_000)}xx`;
  expect(output('t', line, redact).text).toMatch(/^[* ]+ … /);
});

it('withoutRepeatedLines shows of each log what none above it has, with the name of the file', () => {
  const texts = ['a\n\nb.md\n1:2 error\n', 'a\n\nb.md\n1:2 error\n3:4 error\n', 'a\nb.md', 'x'];
  const logs = texts.map((text, index) => output(`Log ${index}`, text));
  const above = 'without the lines that stand in a log above';
  const fence = (text: string) => `> \`\`\`text\n${text.replace(/^/gm, '> ')}\n> \`\`\``;
  expect(quoteOutputs(withoutRepeatedLines(logs)).split(/\n\n(?=Log)/)).toEqual([
    `Log 0:\n\n${fence('a\n\nb.md\n1:2 error')}`,
    `Log 1 ${above}:\n\n${fence('\nb.md\n3:4 error')}`,
    ...[`Log 2 ${above} is empty.`, `Log 3:\n\n${fence('x')}`],
  ]);
});

it('quoteOutputs has all of what is short, and says what is empty', () => {
  expect(quoteOutputs([])).toBe('');
  expect(quoteOutputs([output('A', 'a'), output('B', ''), output('C', '\u200b \n')])).toBe(
    `A:\n\n> \`\`\`text\n> a\n> \`\`\`\n\nB is empty.\n\nC is empty.`,
  );
});

it.each<[string, string, string]>([
  ['lines', 'x\n'.repeat(12_000), '4999 of 12000 lines'],
  ['many lines', `${'y'.repeat(19)}\n`.repeat(600_000), '908 of 600000 lines'],
])('quoteOutputs says how much of %s it has', (_, text, part) => {
  const quoted = quoteOutputs([output('A', text)]);
  expect(quoted).toContain(`A (${part}, chosen; “…” stands for the others):\n\n> \`\`\`text\n`);
});

it('quoteOutputs gives what a short one leaves to the others', () => {
  const long = `${'b'.repeat(496)}\n`.repeat(900);
  const all = ['a'.repeat(996), long, long].map((text, index) => output(`O${index}`, text));
  const quoted = quoteOutputs(all);
  expect(quoted).toContain(`O0:\n\n> \`\`\`text\n> ${'a'.repeat(996)}\n`);
  expect(quoted).toContain('O1 (19 of 900 lines, chosen');
  expect(quoted).toContain('O2 (19 of 900 lines, chosen');
});

it('quoteOutputs leaves out the middle of a long line, and says so', () => {
  const quoted = quoteOutputs([output('A', `a\n{"a":${'"b"'.repeat(8300)}}\nc`)]);
  const shown = /^A:\n\n> ```text\n> a\n> (\{"a":"b.*b"\}\n)> c\n> ```$/s.exec(quoted)?.[1];
  expect(shown).toMatch(/ … 239\d\d characters are left out … /);
  expect(shown?.length).toBeLessThanOrEqual(1001);
  // Even if nothing else has room.
  const many = Array.from({ length: 40 }, () => output('A', `a\n${'b'.repeat(900)}`));
  expect(quoteOutputs(many)).toMatch(/A:\n\n> ```text\n> a\n> b+ … \d+ characters/);
  const halves = quoteOutputs([output('A', `${'😀'.repeat(250_000)}x`)]);
  expect([halves.isWellFormed(), halves.includes('\ufffd')]).toEqual([true, false]);
});

// Each expression must take linear time: with quadratic time, this test would take minutes.
it.each<[string, string, RegExp]>([
  ['backticks', '`', /^`{10}$/],
  ['letters', 'x', /^x+ … \d+ characters are left out … x+$/],
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
])('2 MB of %s are cleaned', (_, unit, expected) => {
  const all = output('t', unit.repeat(Math.ceil(2_000_000 / unit.length)));
  expect(all.text).toMatch(expected);
  expect(quoteOutputs([all]).length).toBeLessThanOrEqual(20_200);
});
