import { describe, expect, it } from 'vitest';
import { quoteOutputs, tailOf, toOutput } from '../../../../src/prompt/logs/clean.ts';
import { withoutRepetition } from '../../../../src/prompt/logs/repeated-lines.ts';

/** What a message has of logs with these texts. */
function tell(texts: readonly string[]): string {
  const logs = texts.map((text, index) => [
    toOutput(`Log ${index}`, tailOf(Buffer.from(text)), (same) => same),
  ]);
  return quoteOutputs(withoutRepetition(logs));
}

describe('withoutRepetition', () => {
  it('shows of each log what none above it has', () => {
    expect(tell(['a\nb\nc\n', 'a\n\nd\nb\n', 'd\nc\n', 'x\n'])).toBe(`Log 0:

> \`\`\`text
> a
> b
> c
> \`\`\`

Log 1, without the lines that stand in a log above:

> \`\`\`text
> d
> \`\`\`

Log 2 says nothing that a log above does not say.

Log 3:

> \`\`\`text
> x
> \`\`\``);
  });

  it('shows the name of a file with what is said of it', () => {
    const [, second] = ['1:2 error a\n', '1:2 error a\n3:4 error b\n'].map((text) =>
      tell([`docs/a.md\n1:2 error a\n`, `docs/a.md\n${text}`]),
    );
    expect(second).toContain('above:\n\n> ```text\n> docs/a.md\n> 3:4 error b\n> ```');
  });

  it.each<[string, string, string]>([
    ['durations', 'a (1.5 s), 3m 2s, 15ms, 4 seconds\n', 'a (12 s), 1m 5s, 7.5ms, 5 seconds\n'],
    ['hashes', 'at c356495dc22eb5a1b4ff9b1a0e1ba52b19b0ea12\n', 'at 0123abc\n'],
    ['times', '2026-11-21 19:32:04 a\n', '2026-01-02 03:04:05 a\n'],
    ['paths', '/home/runner/work/o/r/a.js\n', 'D:\\a\\o\\r\\a.js\n'],
    ['logs of npm', '/home/runner/.npm/_logs/x.log\n', 'C:\\npm\\cache\\_logs\\x.log\n'],
    [
      'tools',
      '/opt/hostedtoolcache/node/22.1.0/x64/bin\n',
      'C:\\hostedtoolcache\\windows\\node\\24.2.0\\x64\\bin\n',
    ],
  ])('takes lines that differ in %s for the same', (_, one, other) => {
    expect(tell([one, other])).toContain('Log 1 says nothing that a log above does not say.');
  });

  it.each([
    ['docs/v1/a.md: no title\n', 'docs/v2/a.md: no title\n'],
    ['a.md:14:3 no title\n', 'a.md:90:3 no title\n'],
    ['[404] https://a.b/\n', '[503] https://a.b/\n'],
    ['expected 1234567\n', 'expected 7654321\n'],
    ['', ''],
  ])('does not take %j for the same as %j', (one, other) => {
    expect(tell([one, other])).not.toContain('above');
  });

  // With quadratic time, this test would take minutes.
  it.each<[string, (log: number) => string]>([
    ['the same lines', () => 'a\n'.repeat(100_000)],
    ['other lines', (log) => `${'ab'.repeat(log)}${'\n'.repeat(log)}x${log}\n`.repeat(10_000)],
    ['hashes without an end', () => `${'a'.repeat(100_000)}g\n`],
    ['halves of numbers', () => `${'1'.repeat(100_000)}\n`],
    ['words', () => `${'ab1 '.repeat(100_000)}\n`],
  ])('compares eight logs with %s', (_, textOf) => {
    expect(tell([0, 1, 2, 3, 4, 5, 6, 7].map(textOf))).toContain('a');
  });
});
