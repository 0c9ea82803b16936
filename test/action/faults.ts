import { expect, it } from 'vitest';
import { type Answer, SERVICE } from '../sim/agent.ts';
import {
  answer,
  type Behaviour,
  type FaultServer,
  type FaultServerOptions,
  startFaultServer,
  whole,
} from '../sim/fault-server.ts';
import type { StepResult } from '../sim/runner/process.ts';
import { JOB, KEY, type Scenario, type Simulation, simulate } from './scenario.ts';

export interface Fault extends Scenario {
  /** A server that controls each byte. By default, the simulated API answers. */
  readonly server?: FaultServer;
  /** Whether it needs the built action, which the first row of each table always runs. */
  readonly built?: boolean;
  /** Further checks of this row. */
  readonly also?: (result: StepResult, sim: Simulation) => void;
}

/** Disposes of a resource when the test of the row ends. */
export type Use = <T extends AsyncDisposable>(resource: T | Promise<T>) => Promise<T>;
export type SetUp = Fault | ((use: Use) => Fault | Promise<Fault>);

export interface Expected {
  /** The number of complete POSTs that the server counted. */
  readonly posts: number;
  /** How often the step started to send. Default: the number of POSTs. */
  readonly attempts?: number;
  readonly delivery: 'sent' | 'not-sent' | 'unknown';
  readonly result: string;
  readonly exit: 0 | 1;
  readonly confirmed?: string;
  /** Matches the only error. With exit code 0, no error is expected. */
  readonly error?: RegExp;
  /** Each matches one warning. Default: no warnings. */
  readonly warns?: readonly RegExp[];
  /** In virtual time. */
  readonly atLeastMs?: number;
  /** Default: 10 s, which is longer than the pauses between attempts. */
  readonly withinMs?: number;
}

export type Row = readonly [fault: string, setUp: SetUp, expected: Expected];

export const SENT = { posts: 1, delivery: 'sent', result: 'sent', exit: 0 } as const;
export const COMPLETED = { ...SENT, result: 'completed', confirmed: 'true' } as const;
/** No request was written. */
export const NOT_SENT = { posts: 0, delivery: 'not-sent', result: 'error', exit: 1 } as const;
/** The request was written, and certainly not accepted. */
export const REFUSED = { ...NOT_SENT, posts: 1 } as const;
export const UNKNOWN = {
  ...{ ...REFUSED, delivery: 'unknown' as const },
  error: /The message may have arrived, so it was not sent again\. Check the job/,
} as const;

/** Lets virtual time jump soon, because the only connection of the step is silent. */
export const SILENT = { time: { graceMs: 400 } } as const;

/** The record of the job while the agent works on the message, and before that. */
export const RECORD = {
  ...{ id: JOB, status: 'active' },
  source: { repository: 'https://github.com/octo/agents', ref: 'main' },
};
/** The API limits the rate, and asks for so many seconds. */
export const limited = (seconds: string): Answer => ({
  ...{ status: 429, headers: { 'retry-after': seconds }, body: { error: 'not now' } },
});
export const IDLE: Behaviour = answer(whole(200, { ...RECORD, status: 'completed' }));

/** A server that does this with the message. Its polls show a job that is done. */
export function onMessage(behaviour: Behaviour, more: Fault = {}, given: FaultServerOptions = {}) {
  return async (use: Use) => ({
    ...more,
    server: await use(
      startFaultServer({ onRequest: (one) => (one.method === 'GET' ? IDLE : behaviour), ...given }),
    ),
  });
}

/** The message has a connection of its own, after that of the polls. */
export function onItsConnection<T>(value: T): (connection: number) => T | undefined {
  return (connection) => (connection === 1 ? undefined : value);
}

/** Tests a table of faults of one kind, with one fault per row. */
export function testFaults(title: string, rows: readonly Row[]): void {
  const all = rows.map((row, index) => [...row, index === 0] as const);
  it.concurrent.each(all)(`${title} %s`, (_, setUp, expected, isFirst) =>
    testFault(setUp, expected, isFirst),
  );
}

async function testFault(setUp: SetUp, expected: Expected, isFirst: boolean): Promise<void> {
  await using resources = new AsyncDisposableStack();
  const use: Use = async (resource) => resources.use(await resource);
  const fault = typeof setUp === 'function' ? await setUp(use) : setUp;
  const { server, built = isFirst } = fault;
  const base = server === undefined ? {} : { 'base-url': server.origin };
  await using sim = await simulate({ ...fault, with: { comment: false, ...base, ...fault.with } });
  const run = await (built ? sim.run() : sim.runHere());
  const { posts, attempts = posts, delivery, result, exit, error = /\w/, warns = [] } = expected;
  expect({
    posts: (server ?? sim.agent).posts().length,
    attempts: run.stdout.match(/^Sending the message/gm)?.length ?? 0,
    ...{ ...run.outputs, exit: run.exitCode, errors: run.errors, warnings: run.warnings },
  }).toMatchObject({
    ...{ posts, attempts, delivery, result, exit },
    confirmed: expected.confirmed ?? run.outputs.confirmed,
    errors: exit === 0 ? [] : [expect.stringMatching(error)],
    warnings: warns.map((words) => expect.stringMatching(words)),
  });
  expect(run.virtualMs).toBeGreaterThanOrEqual(expected.atLeastMs ?? 0);
  expect(run.virtualMs).toBeLessThan(expected.withinMs ?? 10_000);
  // The reported delivery must agree with what the API accepted.
  const accepted = { sent: [1], 'not-sent': [0], unknown: [0, 1] }[delivery];
  if (server === undefined) expect(accepted).toContain(sim.agent.accepted().length);
  for (const request of server?.journal ?? []) {
    expect(request.headers[SERVICE.keyHeader]).toBe(SERVICE.keyValue(KEY));
    expect(request.path + request.body).not.toContain(KEY);
  }
  fault.also?.(run, sim);
}
