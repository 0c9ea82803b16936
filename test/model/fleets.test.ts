import fc from 'fast-check';
import { afterAll, expect, it } from 'vitest';
import { STATUSES } from '../../src/turn.ts';
import { EPOCH } from './clock.ts';
import {
  brokenPromises,
  endsInTime,
  findsTheEnd,
  isUnwanted,
  makeCompleteOutputs,
  SLACK_MS,
} from './promises.ts';
import { acceptedBy, play, type Run } from './run.ts';
import {
  after,
  anyPart,
  earlier,
  type Fleet,
  order,
  type Part,
  type Script,
  script,
  seconds,
  step,
  surroundings,
} from './scenario.ts';
import type { Post, Span, Step } from './service.ts';

const FLEETS = Number(process.env.MODEL_SEQUENCES ?? 3000);
const MAX_JOBS = 8;
const MAX_OPEN = 4;

/** A message that the API refused because of its rate limit, so that the run sends no other one. */
interface Stop {
  readonly run: Run;
  readonly at: number;
  /** The milliseconds of Retry-After, or null. */
  readonly retryAfterMs: number | null;
}

/** What is true of all jobs of a run together. */
const PROMISES: Readonly<Record<string, (runs: readonly Run[], stop: Stop | null) => boolean>> = {
  'the API accepts as many messages as are reported as sent, plus some of the unknown ones': (
    runs,
  ) =>
    total(runs, accepted) ===
    total(runs, (run) => {
      const { delivery } = run.result;
      return delivery === 'sent' || (delivery === 'unknown' && accepted(run) === 1) ? 1 : 0;
    }),
  [`at most ${MAX_OPEN} messages, with the polls before them, are open at a time`]: (runs) =>
    maxAtOnce(runs.flatMap(turnsOf)) <= MAX_OPEN,
  'jobs that begin with a poll begin in the order of job-id': (runs) => {
    const begun = runs.filter((run) => inTurn(run) && !run.scenario.isKnown);
    const times = begun.flatMap(({ service }) => service.polls[0]?.startedAt ?? []);
    return times.every((at, index) => index === 0 || at > (times[index - 1] ?? 0));
  },
  'no POST begins after a 429 with too long a wait': (runs, stop) =>
    stop === null ||
    runs.every(({ service }) => service.posts.every(({ startedAt }) => startedAt < stop.at)),
  'only the job that got this 429 has the result error because of it': (runs, stop) => {
    const errors = runs.filter(
      ({ result }) =>
        result.result === 'error' && result.reason.includes('answered 429 to the message'),
    );
    return errors.length === (stop === null ? 0 : 1) && errors[0] === stop?.run;
  },
  'the remaining jobs are skipped after this 429': (runs, stop) =>
    stop === null || unsentAt(stop.at, runs, stop.run).every((run) => isSkipped(run, stop)),
  'the reason of a skipped job names the 429 and when to try again': (runs, stop) =>
    runs.every((run) => {
      const { result, reason } = run.result;
      if (result !== 'skipped' && run !== stop?.run) return true;
      if (reason.endsWith('handles the same comment.')) return run.scenario.note === 'taken';
      if (isUnwanted(run)) return / is (\w+|in an unknown status), and only-when is /.test(reason);
      return stop !== null && namesStop(run, stop);
    }),
  'a job without a message is cancelled when the run is cancelled': (runs) =>
    runs
      .filter((run) => inTurn(run) && run.cancelledAt !== null && run.endedAt > run.cancelledAt)
      .every((run) => run.result.delivery !== 'not-sent' || run.result.result === 'cancelled'),
  'a job without a message times out at the deadline': (runs) =>
    runs.every((run) => {
      const deadline = run.scenario.order.timeoutMs;
      const isOver = run.endedAt >= Math.max(deadline, run.scenario.startsAt);
      if (!isOver || !inTurn(run) || run.result.delivery !== 'not-sent') return true;
      if (isDuring(deadline, requestsOf(run))) return true;
      return (
        run.result.result === 'timed-out' ||
        (run.result.result === 'cancelled' && (run.cancelledAt ?? Infinity) <= run.endedAt)
      );
    }),
  'all jobs together have complete outputs': (runs) =>
    makeCompleteOutputs(runs.map(({ state }) => state)),
  'finds the end of each turn if nothing fails': (runs, stop) =>
    stop !== null || runs.every((run) => findsTheEnd(run, runs.length * SLOWEST_TURN_MS)),
};

/** Milliseconds that a poll and a message may take if both are slow but do not fail. */
const SLOWEST_TURN_MS = 80_000;

function accepted({ scenario, service }: Run): number {
  return acceptedBy(scenario, service);
}

function total(runs: readonly Run[], count: (run: Run) => number): number {
  return runs.reduce((sum, run) => sum + count(run), 0);
}

/** Whether the job uses the queue: to send, or to poll only once. */
function inTurn({ scenario: { isReadOnly, earlier, order } }: Run): boolean {
  return isReadOnly ? !order.wait : earlier === null;
}

function requestsOf({ service }: Run): readonly Span[] {
  return [...service.polls, ...service.posts];
}

/** The messages, and the polls before the last message. */
function turnsOf(run: Run): readonly Span[] {
  const { polls, posts } = run.service;
  if (!inTurn(run)) return [];
  const last = posts.at(-1)?.startedAt ?? Number.POSITIVE_INFINITY;
  return [...polls.filter(({ startedAt }) => startedAt < last), ...posts];
}

function maxAtOnce(spans: readonly Span[]): number {
  const counts = spans.map(({ startedAt }) => spans.filter((span) => isIn(startedAt, span)).length);
  return Math.max(0, ...counts);
}

function isIn(at: number, { startedAt, endedAt }: Span): boolean {
  return startedAt <= at && at < endedAt;
}

/** Whether a span includes that time, with some tolerance. */
function isDuring(at: number, spans: readonly Span[]): boolean {
  return spans.some(
    ({ startedAt, endedAt }) => startedAt <= at + SLACK_MS && at - SLACK_MS < endedAt,
  );
}

/** The other jobs that had not sent their message: still in the queue, or before or between POSTs. */
function unsentAt(at: number, runs: readonly Run[], except: Run): readonly Run[] {
  return runs.filter(
    (run) =>
      run !== except && inTurn(run) && run.result.delivery === 'not-sent' && run.endedAt >= at,
  );
}

/** Skipped at once, unless a request is open. That ends first, and may have another result. */
function isSkipped(run: Run, stop: Stop): boolean {
  const { result } = run.result;
  const { polls, posts } = run.service;
  const open = [...polls, ...posts, ...(run.announcement === null ? [] : [run.announcement])];
  if (!open.some((span) => isIn(stop.at, span))) {
    // Within two seconds before the deadline, no message is sent anyway.
    const isLate = stop.at >= run.scenario.order.timeoutMs - 2000 - SLACK_MS;
    const isEnd = result === 'skipped' || (isLate && result === 'timed-out');
    return isEnd && run.endedAt <= stop.at + SLACK_MS;
  }
  return (
    result === 'skipped' ||
    (result === 'cancelled' && (run.cancelledAt ?? Infinity) <= run.endedAt) ||
    (result === 'timed-out' && endsInTime(run)) ||
    (result === 'error' && [...polls, ...posts].some((request) => isIn(stop.at, request)))
  );
}

function namesStop({ result: { reason } }: Run, { run, at, retryAfterMs }: Stop): boolean {
  const [, time = ''] = /try again after (\S+) \(UTC\)\.$/.exec(reason) ?? [];
  const isNamed = reason.includes(` to job ${run.result.jobId}`);
  return retryAfterMs === null
    ? isNamed && reason.endsWith('try again later.')
    : isNamed && Math.abs(Date.parse(time) - (EPOCH + at + retryAfterMs)) <= 1000 + SLACK_MS;
}

/**
 * The first 429 with too long a wait. It is too close to call if the wait would end just at the deadline,
 * or if the run is cancelled as the response arrives.
 */
function firstStop(runs: readonly Run[]): Stop | null | 'too close to call' {
  const stops = runs.flatMap((run) => {
    const limited = run.service.posts.filter(({ status }) => status === 429);
    return limited.flatMap((post, before) => {
      const wait = canWait(post, before, run);
      return wait !== 'yes' ? [{ run, post, wait }] : [];
    });
  });
  const [first] = stops.sort((one, other) => one.post.endedAt - other.post.endedAt);
  if (first === undefined) return null;
  const { run, post, wait } = first;
  return wait === 'no'
    ? { run, at: post.endedAt, retryAfterMs: retryAfterMsOf(post) }
    : 'too close to call';
}

function retryAfterMsOf({ retryAfter }: Post): number | null {
  const waits = retryAfter.filter((value) => /^\d+$/.test(value)).map((value) => 1000 * +value);
  return waits.length === 0 ? null : Math.max(...waits);
}

const LONGEST_WAIT_MS = 120_000;

function canWait(post: Post, before: number, run: Run): 'yes' | 'no' | 'too close to call' {
  const sinceCancelMs = post.endedAt - (run.cancelledAt ?? Number.NEGATIVE_INFINITY);
  if (Math.abs(sinceCancelMs) <= SLACK_MS) return 'too close to call';
  if (before >= 2) return 'no';
  const pauseMs = retryAfterMsOf(post) ?? 15_000 * 2 ** before;
  const remainingMs = run.scenario.order.timeoutMs - post.endedAt;
  if (pauseMs > LONGEST_WAIT_MS) return 'no';
  if (Math.abs(pauseMs - remainingMs) <= SLACK_MS) return 'too close to call';
  return pauseMs > remainingMs ? 'no' : 'yes';
}

const tooMany: fc.Arbitrary<Step> = fc
  .record({
    step,
    retryAfter: fc.constantFrom([], [], ['1'], ['7'], ['30'], ['119'], ['121'], ['3600']),
  })
  .map(({ step, retryAfter }) => ({
    ...step,
    fault: { kind: 'status', status: 429, retryAfter, text: 'too many' },
  }));

/** Mostly without faults, and sometimes with a rate limit. */
const posts: fc.Arbitrary<Script> = fc.oneof(
  { weight: 5, arbitrary: script(9, fc.array(step, { minLength: 1, maxLength: 4 })) },
  { weight: 1, arbitrary: script(0, fc.array(tooMany, { minLength: 1, maxLength: 3 })) },
);
const polls: fc.Arbitrary<Script> = script(6, fc.array(step, { maxLength: 6 }));

const toSend: fc.Arbitrary<Part> = fc
  .record({
    part: anyPart,
    posts,
    polls,
    earlier: fc.oneof({ weight: 6, arbitrary: fc.constant(null) }, earlier),
    isLongOver: fc.boolean(),
  })
  .map(({ part, posts, polls, earlier, isLongOver }) => {
    const first = { ...part, posts, polls };
    return earlier === null ? first : after(first, earlier, isLongOver);
  });

/** A read-only job can only resume a message that was sent. */
const toPoll: fc.Arbitrary<Part> = toSend.map((part) => ({
  ...part,
  isReadOnly: true,
  earlier: part.earlier && { ...part.earlier, delivery: 'sent', wasAccepted: true },
}));

/** Shorter timeouts than for one job, because the polls of all jobs take time. */
const fleetOrder = fc
  .record({
    order,
    timeoutMs: fc.oneof({ weight: 1, arbitrary: seconds(0, 60) }, seconds(60, 300)),
    isLong: fc.oneof({ weight: 20, arbitrary: fc.constant(false) }, fc.constant(true)),
  })
  .map(({ order, timeoutMs, isLong }) => ({
    ...order,
    timeoutMs: isLong ? order.timeoutMs : timeoutMs + 1,
  }));

function fleetOf(part: fc.Arbitrary<Part>, onlyWhen: fc.Arbitrary<Fleet['onlyWhen']>) {
  return fc
    .record({
      order: fleetOrder,
      surroundings,
      onlyWhen,
      parts: fc.array(part, { minLength: 1, maxLength: MAX_JOBS, size: 'max' }),
    })
    .map(
      ({ surroundings, parts, ...rest }): Fleet => ({
        ...rest,
        ...surroundings,
        parts: parts.map((one, index) => ({ ...one, job: { ...one.job, id: `job-${index + 1}` } })),
      }),
    );
}

const statuses = fc.subarray([...STATUSES], { minLength: 1 }).map((chosen) => new Set(chosen));
const fleets = fc.oneof(
  { weight: 6, arbitrary: fleetOf(toSend, fc.option(statuses, { freq: 2 })) },
  { weight: 1, arbitrary: fleetOf(toPoll, fc.constant(null)) },
);

const endings = new Map<string, number>();
const count = { fleets: 0, jobs: 0, stopped: 0, unclear: 0, maxAtOnce: 0 };

it(
  `keeps every promise in ${FLEETS} random fleets`,
  async () => {
    await fc.assert(
      fc.asyncProperty(fleets, async (fleet) => {
        const { runs, ...left } = await play(fleet);
        const stop = firstStop(runs);
        count.fleets += 1;
        count.jobs += runs.length;
        count.maxAtOnce = Math.max(count.maxAtOnce, maxAtOnce(runs.flatMap(turnsOf)));
        for (const { result } of runs) {
          const ending = `${result.result}/${result.delivery}`;
          endings.set(ending, (endings.get(ending) ?? 0) + 1);
        }
        expect(runs.flatMap(brokenPromises)).toEqual([]);
        expect(left).toEqual({ timersLeft: 0, listenersLeft: 0 });
        if (stop === 'too close to call') {
          count.unclear += 1;
          return;
        }
        if (stop !== null) count.stopped += 1;
        const broken = Object.entries(PROMISES).filter(([, isKept]) => !isKept(runs, stop));
        expect(broken.map(([promise]) => promise)).toEqual([]);
      }),
      { numRuns: FLEETS },
    );
    // Otherwise the promise about open messages would not be tested.
    expect(count.maxAtOnce).toBe(MAX_OPEN);
  },
  60_000 + FLEETS * 40,
);

afterAll(() => {
  const spread = [...endings]
    .sort(([, a], [, b]) => b - a)
    .map(([name, count]) => `${name} ${count}`);
  console.info(
    `The model simulated ${count.fleets} fleets with ${count.jobs} jobs. A 429 stopped ${count.stopped} ` +
      `fleets (${count.unclear} too close to call): ${spread.join(', ')}.`,
  );
});
