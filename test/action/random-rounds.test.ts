import { setTimeout as pass } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { HAS_SIGNALS } from '../sim/platform.ts';
import { purposeOf, triggerOf } from './attempts.ts';
import { expectPromises, JOB, simulate } from './scenario.ts';

// Random rounds of the built action in several processes at once, with a GitHub that is slow, shows new comments
// late, loses answers and limits rates, with kills at any time, and with re-runs: no message is accepted twice.

const ATTEMPTS = 3;
/** In real time: an attempt takes about a second. */
const LATEST_START_MS = 600;
const LATEST_KILL_MS = 2000;

it.runIf(HAS_SIGNALS).each([
  [1, 'a step', 8],
  [2, 'a step', 4],
  [3, 'a comment', 6],
  [4, 'a review comment', 3],
] as const)(
  'round %i sends each message of %s once, to %i runs at once',
  async (seed, origin, size) => {
    const random = randomFrom(seed);
    const happens = (chance: number): boolean => random() < chance;
    await using sim = await simulate({
      // Several processes cannot share virtual time that jumps.
      time: { pace: 1 },
      github: {
        issues: [{ number: 7, pullRequest: true }],
        trouble: {
          latencyMs: [10, 300],
          listLagMs: 200,
          loses: (call) => purposeOf(call) !== 'check' && happens(0.15),
          limits: () => (happens(0.03) ? 1 : undefined),
        },
      },
      agent: {
        jobs: [{ id: JOB }],
        onPost: () =>
          happens(0.2) ? { status: 401 } : happens(0.1) ? { status: 503, accept: true } : undefined,
      },
    });
    const trigger = triggerOf(sim, origin);
    const isLegs = origin === 'a step';
    const ended = { killed: 0, sent: 0 };

    const run = async (index: number, attempt: number): Promise<void> => {
      await pass(random() * LATEST_START_MS);
      const facts = { run_attempt: String(attempt), triggering_actor: 'alice' };
      const started = sim.start({
        with: { ...trigger.with, ...(isLegs && { prompt: `To leg ${index}.` }) },
        step: {
          event: trigger.event,
          matrix: isLegs ? { leg: index } : null,
          github: isLegs ? facts : { ...facts, run_id: String(index) },
        },
      });
      const killer = setTimeout(
        () => started.kill('SIGKILL'),
        happens(0.4) ? random() * LATEST_KILL_MS : 60_000,
      );
      const result = await started.result;
      clearTimeout(killer);
      if (result.signal === 'SIGKILL') ended.killed += 1;
      else expectPromises(result, sim.agent, sim.github);
      if (result.outputs.delivery === 'sent') ended.sent += 1;
    };
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      await Promise.all(Array.from({ length: size }, (_, index) => run(index + 1, attempt)));
      // GitHub starts a re-run seconds after the end of the attempt before.
      await pass(300);
    }

    const prompts = sim.agent.accepted().map(({ prompt }) => prompt);
    expect(prompts.length).toBeLessThanOrEqual(isLegs ? size : 1);
    expect(prompts).toEqual([...new Set(prompts)]);
    console.info(`Round ${seed}: ${prompts.length} accepted`, ended);
  },
);

/** https://en.wikipedia.org/wiki/Linear_congruential_generator */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
