import type { Clock } from '../../../src/clock.ts';
import type { Ledger } from '../../../src/memory/ledger.ts';
import type { CommentText } from '../../../src/memory/text.ts';
import { EPOCH, sleepBy } from '../clock.ts';
import { describe, waitUntilIdle } from './execution.ts';
import { ServerState, type StoredComment } from './server-state.ts';
import {
  type Call,
  type Network,
  type Overrides,
  type RunSetup,
  type SimulatedRun,
  startRun,
} from './simulated-run.ts';

// Many runs at once, with a shared clock: responses take 50 to 400 ms, lists have a lag, and some
// responses are lost.

export interface RoundSetup {
  readonly runs: readonly RunSetup[];
  /** When each run starts, in milliseconds. */
  readonly startsAt: readonly number[];
  readonly existing: Ledger | null;
  /** The text of comments. Default: a fast replacement. */
  readonly text?: CommentText;
  /** The number of the pull request of each job. */
  readonly pullRequests: ReadonlyMap<string, number>;
  /** Of a thousand writes, how many lose their response, and how many fail. */
  readonly lostPerMille: number;
  readonly failedPerMille: number;
  readonly seed: number;
}

export interface Round {
  readonly server: ServerState;
  readonly simulatedRuns: readonly SimulatedRun[];
  readonly failures: readonly unknown[];
  /** Milliseconds until all runs ended. */
  readonly tookMs: number;
  readonly calls: number;
}

const SHORTEST_CALL_MS = 50;
const LONGEST_CALL_MS = 400;
const LONGEST_LAG_MS = 2500;
/** After so many milliseconds, the round is in an infinite loop. */
const TOO_LONG_MS = 600_000;

interface Timer {
  readonly due: number;
  readonly fire: () => void;
}

export async function runRound(
  { runs, startsAt, existing, pullRequests, lostPerMille, failedPerMille, seed, text }: RoundSetup,
  overrides: Overrides = {},
  log: ((line: string) => void) | null = null,
): Promise<Round> {
  const random = randomFrom(seed);
  const server = new ServerState(pullRequests, text);
  if (existing !== null) {
    for (const number of new Set(pullRequests.values())) {
      server.create(number, server.text.compose(existing), '', EPOCH - 3_600_000);
    }
  }
  /** By the ID of a comment. */
  const listedAt = new Map<number, number>();
  const timers: Timer[] = [];
  let now = EPOCH;
  let [running, calls] = [runs.length, 0];
  const failures: unknown[] = [];

  function after(ms: number, fire: () => void): () => void {
    const timer = { due: now + Math.max(0, ms), fire };
    timers.push(timer);
    return () => remove(timer);
  }

  function remove(timer: Timer): void {
    const index = timers.indexOf(timer);
    if (index >= 0) timers.splice(index, 1);
  }

  const sleep = sleepBy(after);

  function isListed({ id }: StoredComment): boolean {
    return (listedAt.get(id) ?? 0) <= now;
  }

  function call<T>(name: string, made: Call<T>): Promise<T> {
    calls += 1;
    const respondsIn = SHORTEST_CALL_MS + random() * (LONGEST_CALL_MS - SHORTEST_CALL_MS);
    const takesEffectIn = random() * respondsIn;
    const isWrite = made.kind === 'create' || made.kind === 'update';
    const luck = isWrite ? random() * 1000 : 1000;
    return new Promise((resolve, reject) => {
      const settle = (make: () => T): void => {
        try {
          resolve(make());
        } catch (error) {
          reject(error);
        }
      };
      after(takesEffectIn, () => {
        let response: () => T;
        try {
          if (luck < failedPerMille) throw new Error('It fails.');
          const value = made.act(isListed);
          log?.(
            `${(now - EPOCH).toFixed(0)} ${name} ${made.kind} ${made.on}${describe(made, value, server)}${luck < lostPerMille + failedPerMille ? ' (lost)' : ''}`,
          );
          response = () => value;
          if (made.kind === 'create') {
            listedAt.set((value as { id: number }).id, now + random() * LONGEST_LAG_MS);
          }
        } catch (error) {
          response = () => {
            throw error;
          };
        }
        const isLost = luck < failedPerMille + lostPerMille;
        after(respondsIn - takesEffectIn, () => settle(isLost ? made.unanswered : response));
      });
    });
  }

  const simulatedRuns: SimulatedRun[] = [];
  for (const [index, setup] of runs.entries()) {
    after(startsAt[index] ?? 0, () => {
      const clock: Clock = { startedAt: now, now: () => now, sleep };
      const network: Network = { clock, random, call: (made) => call(setup.name, made) };
      const run = startRun(setup, network, server, overrides);
      simulatedRuns.push(run);
      const end = (): void => {
        running -= 1;
      };
      run.over.then(end, (error) => {
        end();
        failures.push(error);
      });
    });
  }
  for (;;) {
    await waitUntilIdle();
    if (running === 0) break;
    const next = timers.reduce<Timer | null>(
      (first, timer) => (first === null || timer.due < first.due ? timer : first),
      null,
    );
    if (next === null || next.due > EPOCH + TOO_LONG_MS) {
      failures.push(new Error('The runs do not end.'));
      break;
    }
    remove(next);
    now = next.due;
    next.fire();
  }
  // Node keeps combined signals, and everything that they reference, until one of them is aborted.
  for (const { cancel } of simulatedRuns) cancel.abort(new Error('the round has ended'));
  return { server, simulatedRuns, failures, tookMs: now - EPOCH, calls };
}

/** A small random number generator (mulberry32): the same numbers for the same seed. */
export function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
