import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { issueComment } from '../sim/events.ts';
import { HAS_LARGE_VARIABLES } from '../sim/platform.ts';
import { readManifest } from '../sim/runner/files.ts';
import { type Fault, SENT, testFaults } from './faults.ts';
import { PULL, type Scenario, type Simulation, simulate } from './scenario.ts';

// test/unit/inputs.test.ts has all texts of inputs, files.test.ts all paths, and secrets.test.ts a key with line breaks.

const received =
  (prompt: string): NonNullable<Fault['also']> =>
  (_, { agent }) => {
    expect(JSON.parse(agent.posts()[0]?.body ?? '')).toEqual({ prompt });
  };

describe('inputs:', () => {
  const special = '\r\n%0A "\'`$(x) 👩‍👩‍👧 \u202e ::error::no ##[add-mask]no\r';
  const long = 'ä🚀\r\n%0A"\\'.repeat(HAS_LARGE_VARIABLES ? 7800 : 2000);
  testFaults([
    [
      'a prompt with line breaks, escapes, quotes and emoji is sent unchanged',
      { with: { prompt: special }, also: received(special) },
      SENT,
    ],
    [
      'a prompt of 117 KiB, or of the limit of the system, is sent unchanged',
      { built: true, with: { prompt: long }, also: received(long) },
      SENT,
    ],
  ]);
});

const HUGE = '🚀'.repeat(HAS_LARGE_VARIABLES ? 25_000 : 5000);
/** Of each kind, the first value also runs the built action. */
const ODD: readonly (readonly string[])[] = [
  ['\t\n', '', ' '],
  ['"a"', '`', '“x”'],
  ['a\r\nb', 'a\n::error::b', '%0A'],
  ['\u202ea\u200b', '\ufeff\ufe0f', 'a\u0085b'],
  [HUGE],
  ['null', '__proto__', 'constructor'],
  ['{"a":[1', '{}', '[null]'],
  ['http://[::1', '//a', 'https://a\\@b', 'HTTP://LOCALHOST:1/%ff/..;x', 'C:\\a'],
  ['\ud800', 'a\udfff\ud83d b'],
  ['1e3', '-0', '1.5', '9'.repeat(40), '１２', 'true', 'False'],
  ['${{ secrets.X }}', '../..', '*', '(a+)+$', '<!-- agent-follow-up -->'],
];

/** The comment of someone who may write commands, so that a problem with an input has an answer. */
function commented(sim: Simulation, body: string): NonNullable<Scenario['step']> {
  const { id } = sim.github.addComment(PULL, 'alice', body);
  return { event: issueComment({ number: PULL, body, id }) };
}

describe('whatever an input is set to, the run ends with its outputs and at most one error:', () => {
  const names = Object.keys(readManifest(join(import.meta.dirname, '../..')).inputs ?? {});

  it.each(names)('%s', async (name) => {
    await using sim = await simulate();
    for (const value of ODD.flat()) {
      const inputs = { 'timeout-minutes': 1, [name]: value };
      const step = name === 'command' ? commented(sim, `${value} go on`) : {};
      const { log } = await sim.runHere({ with: inputs, step });
      expect([value, log]).toEqual([value, expect.not.stringContaining('nexpected')]);
    }
  });

  it.concurrent.each(ODD)('on the built action, %#', async (value) => {
    const name = names[ODD.findIndex(([first]) => first === value)] ?? '';
    await using sim = await simulate({ with: { command: '/agent', [name]: value } });
    const { log } = await sim.run({ step: commented(sim, '/agent go on') });
    expect(log).not.toContain('nexpected');
  });
});
