import { createHash } from 'node:crypto';
import { setTimeout as pass } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { HAS_SIGNALS } from '../sim/platform.ts';
import { type Origin, purposeOf, triggerOf } from './attempts.ts';
import { expectPromises, type Simulation, simulate } from './scenario.ts';

// Random rounds of the built action, in several processes at once, with re-runs. GitHub is slow, shows new comments
// late, loses answers and limits rates; the API refuses messages or fails; and processes are killed at any time.
// All of this is drawn from a seed, which is printed; only the speed of the machine remains by chance.

interface Round {
  readonly origin: Origin;
  /** Legs of a matrix, or workflows that answer the same command, each with a job of its own. */
  readonly size: number;
  readonly attempts: number;
}

const ROUNDS: readonly Round[] = [
  { origin: 'a step', size: 3, attempts: 2 },
  { origin: 'a comment', size: 2, attempts: 3 },
];
const SEED = process.env.ROUNDS_SEED ?? new Date().toISOString();
/** In real time, because several processes cannot share virtual time that jumps. An attempt takes a second or two. */
const LATEST_START_MS = 600;
const LATEST_KILL_MS = 2000;
const LIST_LAG_MS = 200;

it.runIf(HAS_SIGNALS)('in random rounds, no message is accepted twice', async () => {
  console.info(`ROUNDS_SEED=${SEED} repeats these rounds.`);
  const counts = await Promise.all(ROUNDS.map(playRound));
  expect(Math.max(...counts)).toBeGreaterThan(0);
});

/** Resolves to the number of messages that the API accepted. */
async function playRound({ origin, size, attempts }: Round): Promise<number> {
  /** From 0 to 1, always the same for the same seed, round and keys. */
  const draw = (...keys: readonly (string | number)[]): number => {
    const text = JSON.stringify([SEED, origin, size, ...keys]);
    return createHash('sha256').update(text).digest().readUInt32BE() / 2 ** 32;
  };
  await using sim = await simulate({
    time: { pace: 1 },
    github: {
      trouble: {
        latencyMs: ({ n }) => 10 + 290 * draw('latency', n),
        listLagMs: LIST_LAG_MS,
        // An edit whose answer is lost is only made again, after a pause in real time.
        loses: (call) =>
          !['check', 'edit'].includes(purposeOf(call)) && draw('loss', call.n) < 0.15,
        limits: ({ n }) => (draw('limit', n) < 0.03 ? 1 : undefined),
      },
    },
    agent: {
      jobs: Array.from({ length: size }, (_, index) => ({ id: jobOf(index) })),
      onPost(n) {
        if (draw('refusal', n) < 0.2) return { status: 401 };
        return draw('failure', n) < 0.1 ? { status: 503, accept: true } : undefined;
      },
    },
  });
  const trigger = triggerOf(sim, origin);
  const isStep = origin === 'a step';

  async function run(index: number, attempt: number): Promise<void> {
    await pass(draw('start', index, attempt) * LATEST_START_MS);
    const facts = { run_attempt: String(attempt), triggering_actor: 'alice' };
    const one = sim.start({
      with: { ...trigger.with, 'job-id': jobOf(index) },
      step: {
        event: trigger.event,
        github: isStep ? facts : { ...facts, run_id: String(index + 1) },
      },
    });
    const isKilled = draw('kill', index, attempt) < 0.4;
    const killMs = isKilled ? draw('kill at', index, attempt) * LATEST_KILL_MS : 60_000;
    const killer = setTimeout(() => one.kill('SIGKILL'), killMs);
    const result = await one.result;
    clearTimeout(killer);
    if (result.signal !== 'SIGKILL') expectPromises(result, sim.agent, sim.github);
  }

  for (let attempt = 1; attempt <= attempts; attempt++) {
    await Promise.all(Array.from({ length: size }, (_, index) => run(index, attempt)));
    // Until GitHub has started a re-run, its lists show all comments.
    await pass(LIST_LAG_MS);
  }
  const ids = sim.agent.accepted().map(({ jobId }) => jobId);
  expect(ids, historyOf(sim)).toEqual([...new Set(ids)]);
  return ids.length;
}

function jobOf(index: number): string {
  return `job-${index}`;
}

/** All requests, for a round that fails. */
function historyOf({ agent, github }: Simulation): string {
  const calls = github.calls().map((call) => ({ ...call.request, what: purposeOf(call) }));
  const posts = agent.posts().map((request) => ({ ...request, what: 'message' }));
  const all = [...calls, ...posts].toSorted((one, other) => one.at - other.at);
  return all.map(({ at, what, status, body }) => `${at} ${what} ${status} ${body}`).join('\n');
}
