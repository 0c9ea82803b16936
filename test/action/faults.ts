import { afterAll, expect, it } from 'vitest';
import type { FaultServer } from '../sim/fault-server.ts';
import type { StepResult } from '../sim/runner/process.ts';
import { errors, KEY, type Scenario, type Simulation, simulate, warnings } from './scenario.ts';

export interface Fault extends Scenario {
  /** The service where bytes matter; without it the simulated one answers. */
  readonly server?: FaultServer;
  /** Complete POSTs, where neither of the two counts them. */
  readonly posts?: () => number;
  /** Whether it needs what is built, in a process of its own. The first row of each table has one, too. */
  readonly built?: boolean;
  /** Further promises of this case. */
  readonly also?: (result: StepResult, sim: Simulation) => void;
}

/** Hands a resource to the case, which lives as long as the case does. */
export type Use = <T extends AsyncDisposable>(resource: T | Promise<T>) => Promise<T>;
export type SetUp = Fault | ((use: Use) => Fault | Promise<Fault>);

export interface Expected {
  /** Complete POSTs that the service counted. */
  readonly posts: number;
  /** How often the step began to send. Default: as many as there were POSTs, at least 1. */
  readonly tries?: number;
  readonly delivery: string;
  readonly result: string;
  readonly exit: 0 | 1;
  readonly confirmed?: string;
  /** Words of the one error, or with exit 0 none. */
  readonly error?: RegExp;
  /** Words of the warnings, one each; default: none. */
  readonly warns?: readonly RegExp[];
  /** Virtual time. */
  readonly atLeastMs?: number;
  /** Default: 10 s, which is more than the pauses between two attempts. */
  readonly withinMs?: number;
}

export type Row = readonly [fault: string, setUp: SetUp, expected: Expected];

export const SENT = { posts: 1, delivery: 'sent', result: 'sent', exit: 0 } as const;
export const DONE = { ...SENT, result: 'completed', confirmed: 'true' } as const;
/** Nothing was written. */
export const NOTHING = { posts: 0, delivery: 'not-sent', result: 'error', exit: 1 } as const;
/** Something was written, and was not taken for sure. */
export const REFUSED = { ...NOTHING, posts: 1 } as const;
export const DOUBTFUL = {
  posts: 1,
  delivery: 'unknown',
  result: 'error',
  exit: 1,
  error: /may or may not have been delivered; it was not sent again\. Check the job/,
} as const;

/** Real time that a silent connection is given: the step has nothing else to hear from. */
export const SILENT = { time: { graceMs: 400 } } as const;
/** Told on the pull request as well, where a text of others could do harm. */
export const TOLD = { comment: true } as const;

let tried = 0;
let triedBuilt = 0;
afterAll(() => console.info(`${tried} faults were tried, ${triedBuilt} on what is built.`));

/** A table of one kind of fault, one fault a row. */
export function play(rows: readonly Row[]): void {
  const all = rows.map((row, index) => [...row, index === 0] as const);
  it.concurrent.each(all)('%s', (_, setUp, expected, isFirst) => survive(setUp, expected, isFirst));
}

/** Runs the step under a fault, and checks what must come of it. */
export async function survive(setUp: SetUp, expected: Expected, isFirst = true): Promise<void> {
  await using resources = new AsyncDisposableStack();
  const use: Use = async (resource) => resources.use(await resource);
  const fault = typeof setUp === 'function' ? await setUp(use) : setUp;
  const { server, built = isFirst } = fault;
  tried += 1;
  if (built) triedBuilt += 1;
  const base = server === undefined ? {} : { 'base-url': server.origin };
  await using sim = await simulate({ ...fault, with: { comment: false, ...base, ...fault.with } });
  const startedAt = performance.now();
  const run = await (built ? sim.run() : sim.runHere());
  const realMs = performance.now() - startedAt;
  const posts = fault.posts?.() ?? (server ?? sim.agent).posts().length;

  const { delivery, result, exit, confirmed = run.outputs.confirmed } = expected;
  const { tries = expected.posts } = expected;
  const found = {
    posts,
    tries: run.stdout.match(/^Sending the message/gm)?.length ?? 0,
    ...run.outputs,
    exit: run.exitCode,
    errors: errors(run),
    warnings: warnings(run),
  };
  expect(found).toMatchObject({
    posts: expected.posts,
    tries,
    delivery,
    result,
    exit,
    confirmed,
    errors: exit === 0 ? [] : [expect.stringMatching(expected.error ?? /\w/)],
    warnings: (expected.warns ?? []).map((words) => expect.stringMatching(words)),
  });
  expect(run.virtualMs).toBeGreaterThanOrEqual(expected.atLeastMs ?? 0);
  // What really passed is the machine's time, which may be loaded; what was waited for is the step's.
  expect(run.virtualMs - realMs).toBeLessThan(expected.withinMs ?? 10_000);
  if (server === undefined && fault.posts === undefined) expectTruth(delivery, sim);
  for (const request of server?.journal ?? []) {
    expect(request.headers.authorization).toBe(`Bearer ${KEY}`);
    expect(request.path + request.body).not.toContain(KEY);
  }
  fault.also?.(run, sim);
}

/** What the service took is what the step says. */
function expectTruth(delivery: string, { agent }: Simulation): void {
  const taken = agent.accepted().length;
  expect(taken).toBeLessThanOrEqual(1);
  if (delivery === 'sent') expect(taken).toBe(1);
  if (delivery === 'not-sent') expect(taken).toBe(0);
}
