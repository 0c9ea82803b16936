import fc from 'fast-check';
import type { Inputs } from '../../src/inputs.ts';
import { STATUSES, type Status } from '../../src/job.ts';
import { BODIES, type Fault, type JobScript, type Step } from './service.ts';

// Random runs: what the jobs of a step do, and what happens to the requests about them.

export const WELL: Step = {
  fault: { kind: 'body', status: 200, body: 'record' },
  connectMs: 20,
  responseMs: 100,
  accepts: true,
};

/** What happens to requests. After these steps, the last one repeats, or nothing fails. */
export interface Script {
  readonly steps: readonly Step[];
  readonly forEver: boolean;
  /** Each request fails from that time on, for so many milliseconds. */
  readonly outage: null | { readonly from: number; readonly forMs: number; readonly fault: Fault };
}

const ALL_WELL: Script = { steps: [], forEver: false, outage: null };

/** The first value so many times as often as each of the others. */
function mostly<T>(weight: number, usual: T, ...others: readonly fc.Arbitrary<T>[]) {
  const rare = others.map((arbitrary) => ({ weight: 1, arbitrary }));
  return fc.oneof({ weight, arbitrary: fc.constant(usual) }, ...rare);
}

const rarely = (weight: number) => mostly(weight, false, fc.constant(true));
const seconds = (min: number, max: number) => fc.integer({ min: min * 1000, max: max * 1000 });
const finalStatus = fc.constantFrom('completed', 'failed', 'archived');

const fault: fc.Arbitrary<Fault> = fc.oneof(
  fc.record({ kind: fc.constantFrom('unreachable', 'set-up', 'black-hole', 'lost', 'silent') }),
  fc.record({
    kind: fc.constant('status'),
    status: fc.constantFrom(
      ...[301, 304, 400, 401, 403, 404, 404, 408, 408, 409, 425, 425, 429, 429, 429, 429, 499],
      ...[500, 502, 503, 503, 503, 504, 527, 600, 999, 101],
    ),
    retryAfter: fc.constantFrom([], [], ['1'], ['7', '30'], ['119'], ['121'], ['soon']),
  }),
  fc.record({
    kind: fc.constant('body'),
    status: fc.constantFrom(200, 200, 201, 202, 204, 299),
    body: fc.constantFrom(...BODIES),
  }),
);

const step: fc.Arbitrary<Step> = fc.record({
  fault: mostly(1, WELL.fault, fault),
  connectMs: fc.oneof(fc.constantFrom(1, 20, 300), fc.integer({ min: 1, max: 15_000 })),
  responseMs: fc.oneof(fc.constantFrom(1, 20, 300), fc.integer({ min: 1, max: 70_000 })),
  accepts: fc.boolean(),
});

const script = (steps: fc.Arbitrary<readonly Step[]>): fc.Arbitrary<Script> =>
  fc.record({ steps, forEver: rarely(5), outage: fc.constant(null) });

const outage: fc.Arbitrary<Script> = fc
  .record({
    from: fc.oneof(seconds(0, 10), seconds(0, 300)),
    forMs: fc.oneof(seconds(1, 60), seconds(60, 580), seconds(590, 900)),
    fault: fc.constantFrom<Fault[]>(
      { kind: 'status', status: 503, retryAfter: [] },
      { kind: 'unreachable' },
      { kind: 'lost' },
      { kind: 'body', status: 200, body: 'other job' },
    ),
  })
  .map((outage) => ({ ...ALL_WELL, outage }));

const posts = mostly(3, ALL_WELL, script(fc.array(step, { minLength: 1, maxLength: 4 })));

/** The poll before the message often succeeds: otherwise nothing else happens. */
const polls = mostly(
  2,
  ALL_WELL,
  script(fc.array(step, { maxLength: 12 })),
  script(fc.array(step, { maxLength: 12 }).map((steps) => [WELL, ...steps])),
  outage,
);

const job: fc.Arbitrary<JobScript> = fc.record({
  id: fc.constant('job-1'),
  earlier: fc.record({
    endsAt: mostly(2, 0, seconds(0, 200)),
    ends: finalStatus,
    link: fc.boolean(),
  }),
  lagMs: mostly(2, 0, seconds(0, 8)),
  queueMs: fc.oneof(seconds(0, 5), seconds(0, 45), seconds(0, 45), seconds(45, 200)),
  showsQueue: rarely(5),
  joins: rarely(5),
  workMs: fc.oneof(seconds(0, 5), seconds(0, 100), seconds(0, 3000)),
  ends: finalStatus,
  otherAt: mostly(6, null, seconds(-100, 300), seconds(-100, 0)),
});

/** What the comment of an earlier attempt says of the job. */
const earlier = fc.record({
  delivery: fc.constantFrom('sent', 'sent', 'unknown', 'sending', 'not-sent'),
  agoMs: fc.oneof(seconds(1, 100), seconds(1, 7200)),
  /** Whether the API accepted the message, if the comment does not say it. */
  isAccepted: fc.boolean(),
  knowsBase: fc.boolean(),
  /** What that attempt saw of the work on the message, if there was something to see. */
  sees: fc.constantFrom('nothing', 'work', 'the end'),
});

/** One job. The work before an earlier message ended long ago, or while that attempt waited. */
const part = fc
  .record({ job, posts, polls, earlier: fc.option(earlier, { freq: 2 }), isLongOver: fc.boolean() })
  .map(({ isLongOver, ...one }) => {
    const shiftMs = (one.earlier?.agoMs ?? 0) + (isLongOver && one.earlier ? 1_000_000 : 0);
    const endsAt = one.job.earlier.endsAt - shiftMs;
    return { ...one, job: { ...one.job, earlier: { ...one.job.earlier, endsAt } } };
  });
export type Part = ArbitraryValue<typeof part>;

/** A single job, or several, with IDs of their own. */
const parts = fc
  .oneof(
    { weight: 3, arbitrary: fc.array(part, { minLength: 1, maxLength: 1 }) },
    { weight: 1, arbitrary: fc.array(part, { minLength: 2, maxLength: 8, size: 'max' }) },
  )
  .map((all) => all.map((one, index) => ({ ...one, job: { ...one.job, id: `job-${index + 1}` } })));

/** What the jobs of a run share. */
const settings = fc.record({
  send: mostly(6, true, fc.constant(false)),
  wait: mostly(3, true, fc.constant(false)),
  timeoutMs: fc.oneof(
    { weight: 2, arbitrary: fc.integer({ min: 1, max: 60_000 }) },
    { weight: 4, arbitrary: seconds(60, 600) },
    { weight: 2, arbitrary: seconds(600, 7200) },
  ),
  settleMs: fc.constantFrom(0, 1000, 30_000, 60_000, 60_000, 90_000, 3_600_000),
  onlyWhen: mostly<ReadonlySet<Status> | null>(
    4,
    null,
    fc.constantFrom(...(Object.keys(STATUSES) as Status[])).map((one) => new Set([one, 'active'])),
  ),
  whenActive: mostly<Inputs['whenActive']>(2, null, fc.constantFrom('send', 'wait')),
  comment: mostly(5, true, fc.constant(false)),
  event: mostly<'merge_group' | 'pull_request' | 'schedule' | 'release'>(
    4,
    'merge_group',
    fc.constantFrom('pull_request', 'schedule', 'release'),
  ),
  attempt: mostly(5, 1, fc.constant(2)),
  /** Milliseconds after the start of the process. */
  startsAt: mostly(1, 0, fc.integer({ min: 0, max: 2000 })),
  /** When the run is cancelled: at a time, or so many milliseconds after the start of a request. */
  cancel: mostly<null | { readonly request: number | null; readonly ms: number }>(
    4,
    null,
    fc.record({ request: fc.constant(null), ms: fc.oneof(seconds(0, 20), seconds(0, 400)) }),
    fc.record({
      request: fc.nat({ max: 8 }),
      ms: fc.oneof(fc.constantFrom(1, 2, 21, 22, 121, 122, 126, 127), fc.nat({ max: 40_000 })),
    }),
  ),
  /** From 0 to 1: what the random numbers of the run begin with. */
  jitter: fc.nat({ max: 999 }).map((number) => number / 1000),
  github: fc.record({
    /** What becomes of the first creation. `lost`: it is made, but the answer is lost; `gone`: it is not made. */
    create: mostly<'made' | 'refused' | 'limited' | 'lost' | 'gone' | 'unwritten'>(
      8,
      'made',
      fc.constantFrom('refused', 'limited', 'lost', 'gone', 'unwritten'),
    ),
    /** Milliseconds until a list shows a comment, and since the earlier ones were created. */
    lagMs: mostly(3, 0, seconds(2, 10), seconds(10, 40)),
    earlierMs: mostly(1, 60_000, seconds(1, 20)),
    /** Milliseconds that each call takes, and that GitHub asks to wait for if the rate is limited. */
    callMs: fc.oneof({ weight: 5, arbitrary: fc.constantFrom(1, 300) }, fc.nat({ max: 12_000 })),
    pauseMs: fc.constantFrom(null, 1000, 30_000, 300_000),
    refusesEdits: rarely(5),
    /** Whether the earlier comments cannot be listed. */
    hidesNotes: rarely(5),
  }),
});

export const scenarios = fc.record({ settings, parts }).map(({ settings: others, parts }) => ({
  ...others,
  whenActive: others.send ? others.whenActive : null,
  onlyWhen: others.send ? others.onlyWhen : null,
  // In the first attempt, there is nothing before.
  parts: parts.map((one) =>
    others.send && others.attempt === 1 ? { ...one, earlier: null } : one,
  ),
}));
export type Scenario = ArbitraryValue<typeof scenarios>;

type ArbitraryValue<T> = T extends fc.Arbitrary<infer V> ? V : never;
