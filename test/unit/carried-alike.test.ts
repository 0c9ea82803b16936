import { describe, expect, it } from 'vitest';
import { withoutRepetition } from '../../src/carried/alike.ts';
import { quoteOutputs, tailOf, toOutput } from '../../src/carried/output.ts';

/** What a message has of logs with these texts. `##[error]` marks lines as in a log of GitHub. */
function tell(texts: readonly string[]): string {
  const logs = texts.map((text, index) => {
    const errors = text.split('\n').filter((line) => line.startsWith('##[error]'));
    const tail = tailOf(Buffer.from(text));
    const output = toOutput(`Log ${index}`, tail, (same) => same, errors.join('\n'));
    return { name: `“test (${index})”`, outputs: [output] };
  });
  return quoteOutputs(withoutRepetition(logs)).split('\n\n').slice(1).join('\n\n');
}

describe('withoutRepetition', () => {
  const same = Array.from({ length: 300 }, (_, index) => `${'abc'.repeat(index)}\n`).join('');

  it('shows what only one of them has, errors first and all of them', () => {
    const some = `${same}own line 7\n##[error]own\n`;
    expect(tell([same, some])).toMatch(
      /\n\nThe log of “test \(1\)” says nearly the same as that of “test \(0\)”. Only in it:\n\n> ```text\n> error: own\n> own line 7\n> ```$/,
    );
    const letters = [...'abcdefghijklmnopqrstuv'];
    const many = letters.map((letter) => `own ${letter}\n`).join('');
    const errors = letters.slice(0, 3).map((letter) => `##[error]own ${letter}\n`);
    expect(tell([same, `${same}${many}`])).toMatch(
      /Only in it, 10 of 22 lines:\n\n> ```text\n(> own .\n){10}> ```$/,
    );
    expect(tell([same, `${same}${errors.join('')}${many}`])).toMatch(
      /Only in it, 10 of 25 lines:\n\n> ```text\n(> error: own .\n){3}(> own .\n){7}> ```$/,
    );
    const twelve = letters.slice(0, 12).map((letter) => `##[error]own ${letter}\n`);
    expect(tell([same, `${same}${twelve.join('')}`])).toMatch(/(> error: own .\n){12}> ```$/);
  });

  it.each<[string, string, string]>([
    ['numbers', 'a 1.5 s\n', 'a 12 s\n'],
    ['hashes', 'at c356495dc22eb5a1b4ff9b1a0e1ba52b19b0ea12\n', 'at 0123abc\n'],
    ['times', '2026-11-21 19:32:04 a\n', '2026-01-02 03:04:05 a\n'],
    ['paths', '/home/runner/work/o/r/a.js\n', 'D:\\a\\o\\r\\a.js\n'],
    ['logs of npm', '/home/runner/.npm/_logs/1.log\n', 'C:\\npm\\cache\\_logs\\2.log\n'],
    ['tools', '/opt/hostedtoolcache/node/22/x\n', 'C:\\hostedtoolcache\\windows\\node\\24\\x\n'],
  ])('takes lines that differ in %s for the same', (_, one, other) => {
    expect(tell([one, other])).toContain('says nearly the same as that of “test (0)”.');
  });

  it.each([
    ['a\nb\nc\nd\ne\nf\ng\nh\n', 'a\nb\nc\nd\ne\nf\ng\nx\n'],
    ['a failed\n', 'b failed\n'],
    ['', ''],
  ])('does not take %j for the same as %j', (one, other) => {
    expect(tell([one, other])).not.toContain('nearly the same');
  });

  it('names all that say the same as an earlier one, at the end', () => {
    const text = tell(['a', 'b', 'b', 'a', 'b', 'c']);
    expect(text).toMatch(/> c\n> ```\n\n.*\n\n.*$/);
    expect(text.match(/The logs? of .*\./g)).toEqual([
      'The log of “test (3)” says nearly the same as that of “test (0)”.',
      'The logs of “test (2)” and “test (4)” say nearly the same as that of “test (1)”.',
    ]);
  });

  // With quadratic time, this test would take minutes.
  it.each<[string, (log: number) => string]>([
    ['the same lines', () => 'a\n'.repeat(100_000)],
    ['other lines', (log) => `${'ab'.repeat(log)}${'\n'.repeat(log)}x${log}\n`.repeat(10_000)],
    ['hashes without an end', () => `${'a'.repeat(100_000)}g\n`],
  ])('compares eight logs with %s', (_, textOf) => {
    expect(tell([0, 1, 2, 3, 4, 5, 6, 7].map(textOf))).toContain('a');
  });
});
