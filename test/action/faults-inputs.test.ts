import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { HAS_LARGE_VARIABLES } from '../sim/platform.ts';
import { readManifest } from '../sim/runner/files.ts';
import { simulate } from './scenario.ts';

it('a prompt of 117 KiB, or of the limit of the system, is sent unchanged', async () => {
  const special = '\r\n%0A "\'`$(x) 👩‍👩‍👧 \u202e ::error::no ##[add-mask]no\r';
  const prompt = special + 'ä🚀\r\n%0A"\\'.repeat(HAS_LARGE_VARIABLES ? 7800 : 2000);
  await using sim = await simulate({ with: { prompt } });
  await sim.run();
  expect(sim.prompts()).toEqual([prompt]);
});

const HUGE = '🚀'.repeat(HAS_LARGE_VARIABLES ? 25_000 : 5000);
const ODD: readonly string[] = [
  ...['\t\n', '', ' ', '"a"', '`', '“x”', 'a\r\nb', 'a\n::error::b', '%0A', '\u202ea\u200b', HUGE],
  ...['\ufeff\ufe0f', 'a\u0085b', 'null', '__proto__', 'constructor', '{"a":[1', '{}', '[null]'],
  ...['http://[::1', '//a', 'https://a\\@b', 'HTTP://LOCALHOST:1/%ff/..;x', 'C:\\a', '\ud800'],
  ...['1e3', '-0', '1.5', '9'.repeat(40), '１２', 'true', 'False', '${{ secrets.X }}', '../..'],
  ...['*', '(a+)+$', '<!-- agent-follow-up -->', 'a\udfff\ud83d b'],
];

describe('whatever an input is set to, the run ends with its outputs and at most one error:', () => {
  const names = Object.keys(readManifest(join(import.meta.dirname, '../..')).inputs ?? {});

  it.each(names)('%s', async (name) => {
    for (const value of ODD) {
      await using sim = await simulate();
      const inputs = { 'timeout-minutes': 1, [name]: value };
      const step = name === 'command' ? { event: sim.ask(`${value} go on`) } : {};
      const { log } = await sim.runHere({ with: inputs, step });
      expect([value, log]).toEqual([value, expect.not.stringContaining('nexpected')]);
    }
  });

  it('all of them at once, on the built action', async () => {
    const odd = Object.fromEntries(names.map((name, n) => [name, ODD[n + 7] ?? '']));
    await using sim = await simulate({ with: { ...odd, command: '/agent' } });
    const { log } = await sim.run({ step: { event: sim.ask('/agent go on') } });
    expect(log).not.toContain('nexpected');
  });
});
