import fc from 'fast-check';
import { STATUSES, type Status } from '../../src/job.ts';
import type { NoteJob } from '../../src/note/data.ts';
import type { GitHubScript } from './github.ts';
import { BODIES, type Fault, type JobScript, type Step } from './service.ts';

/** What the jobs of a run share. */
export interface Settings {
  readonly send: boolean;
  readonly wait: boolean;
  readonly timeoutMs: number;
  readonly settleMs: number;
  readonly pollIntervalMs: number | null;
  /** The statuses in which a job gets the message; null is any. */
  readonly onlyWhen: ReadonlySet<Status> | null;
  readonly whenActiveWait: boolean;
  readonly comment: boolean;
  readonly resendOnRerun: boolean;
  /** `pull_request` is triggered by a bot, on the pull request of the job. */
  readonly event: 'merge_group' | 'pull_request' | 'schedule' | 'release';
  readonly attempt: 1 | 2;
  /** Milliseconds after the start of the process. */
  readonly startsAt: number;
  readonly cancel: Cancel;
  /** From 0 to 1: what the random numbers of the run begin with. */
  readonly jitter: number;
  readonly github: Omit<GitHubScript, 'comments'>;
  /** Whether GitHub does not list the earlier comments. */
  readonly hidesNotes: boolean;
}

/** One job, and what happens to its requests. */
export interface Part {
  readonly job: JobScript;
  readonly posts: Script;
  readonly polls: Script;
  readonly earlier: EarlierAttempt | null;
}

/** Everything about a run. */
export interface Scenario extends Settings {
  readonly parts: readonly Part[];
}

/** What the comment of an earlier attempt says of the job, or with `send: false`, that of an earlier run. */
export interface EarlierAttempt {
  readonly delivery: NoteJob['delivery'];
  readonly agoMs: number;
  readonly wasAccepted: boolean;
  readonly knowsBase: boolean;
}

/** What happens to the requests. After these steps, the last one repeats, or nothing fails. */
export interface Script {
  readonly steps: readonly Step[];
  readonly forEver: boolean;
  readonly outage: Outage | null;
}

/** All requests from that time on fail for so many milliseconds. */
export interface Outage {
  readonly fromMs: number;
  readonly forMs: number;
  readonly fault: Fault;
}

export type Cancel =
  | { readonly kind: 'never' }
  | { readonly kind: 'at'; readonly ms: number }
  | { readonly kind: 'in-request'; readonly request: number; readonly afterMs: number };

export const WELL: Step = {
  fault: { kind: 'body', status: 200, body: 'record' },
  connectMs: 20,
  responseMs: 100,
  accepts: true,
};
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
  fc.record({
    kind: fc.constantFrom('unreachable', 'set-up', 'black-hole', 'lost', 'silent'),
  }),
  fc.record({
    kind: fc.constant('status'),
    status: fc.constantFrom(
      ...[301, 304, 400, 401, 403, 404, 404, 408, 408, 409, 425, 425, 429, 429, 429, 429, 499],
      ...[500, 502, 503, 503, 503, 504, 527, 600, 999, 101],
    ),
    retryAfter: fc.constantFrom([], [], ['1'], ['7', '30'], ['119'], ['121'], ['3600'], ['soon']),
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

/** A response that may take nearly as long as the timeout of a request, but does not fail. */
const slowStep: fc.Arbitrary<Step> = fc
  .integer({ min: 1, max: 29_000 })
  .map((responseMs) => ({ ...WELL, responseMs }));

const script = (steps: fc.Arbitrary<readonly Step[]>): fc.Arbitrary<Script> =>
  fc.record({ steps, forEver: rarely(5), outage: fc.constant(null) });

const outage: fc.Arbitrary<Script> = fc
  .record({
    fromMs: fc.oneof(seconds(0, 10), seconds(0, 300)),
    forMs: fc.oneof(seconds(1, 60), seconds(60, 580), seconds(590, 900)),
    fault: fc.constantFrom<Fault[]>(
      { kind: 'status', status: 503, retryAfter: [] },
      { kind: 'unreachable' },
      { kind: 'lost' },
      { kind: 'body', status: 200, body: 'no JSON' },
    ),
  })
  .map((one) => ({ ...ALL_WELL, outage: one }));

const posts = mostly(3, ALL_WELL, script(fc.array(step, { minLength: 1, maxLength: 4 })));

/** The poll before the message often succeeds: otherwise nothing else happens. */
const polls = mostly(
  2,
  ALL_WELL,
  script(fc.array(step, { maxLength: 12 })),
  script(fc.array(step, { maxLength: 12 }).map((steps) => [WELL, ...steps])),
  script(fc.array(slowStep, { minLength: 1, maxLength: 20 })),
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
  queueMs: fc.oneof(
    { weight: 4, arbitrary: seconds(0, 5) },
    { weight: 4, arbitrary: seconds(0, 45) },
    { weight: 1, arbitrary: seconds(45, 200) },
  ),
  showsQueue: rarely(5),
  joins: rarely(5),
  workMs: fc.oneof(seconds(0, 5), seconds(0, 100), seconds(0, 3000)),
  ends: finalStatus,
  otherAt: mostly(6, null, seconds(-100, 300)),
});

/** Also in an attempt that was not written in the comment, or with a job that is not in it. */
const earlier: fc.Arbitrary<EarlierAttempt> = fc
  .record({
    delivery: fc.constantFrom('sent', 'sent', 'unknown', 'sending', 'not-sent'),
    agoMs: fc.oneof(seconds(1, 100), seconds(1, 7200)),
    accepted: fc.boolean(),
    knowsBase: fc.boolean(),
  })
  .map(({ accepted, ...rest }) => ({
    ...rest,
    wasAccepted: rest.delivery === 'sent' || (accepted && rest.delivery !== 'not-sent'),
  }));

/** The work before an earlier message ended long ago, or while that attempt waited. */
const part: fc.Arbitrary<Part> = fc
  .record({ job, posts, polls, earlier: mostly(1, null, earlier), isLongOver: fc.boolean() })
  .map(({ isLongOver, ...one }) => {
    const shiftMs = (one.earlier?.agoMs ?? 0) + (isLongOver && one.earlier ? 1_000_000 : 0);
    const endsAt = one.job.earlier.endsAt - shiftMs;
    return { ...one, job: { ...one.job, earlier: { ...one.job.earlier, endsAt } } };
  });

const cancel: fc.Arbitrary<Cancel> = mostly<Cancel>(
  4,
  { kind: 'never' },
  fc.record({ kind: fc.constant('at'), ms: fc.oneof(seconds(0, 20), seconds(0, 400)) }),
  fc.record({
    kind: fc.constant('in-request'),
    request: fc.nat({ max: 8 }),
    afterMs: fc.oneof(fc.constantFrom(1, 2, 21, 22, 121, 122, 126, 127), fc.nat({ max: 40_000 })),
  }),
);

const statuses = fc.subarray([...STATUSES], { minLength: 1 }).map((chosen) => new Set(chosen));

const settings = fc.record({
  send: mostly(6, true, fc.constant(false)),
  wait: mostly(3, true, fc.constant(false)),
  timeoutMs: fc.oneof(
    { weight: 2, arbitrary: fc.integer({ min: 1, max: 60_000 }) },
    { weight: 4, arbitrary: seconds(60, 600) },
    { weight: 2, arbitrary: seconds(600, 7200) },
  ),
  settleMs: fc.constantFrom(0, 1000, 30_000, 60_000, 60_000, 90_000, 3_600_000),
  interval: mostly(3, null, fc.constant(1000), seconds(1, 60), seconds(60, 3600)),
  onlyWhen: mostly(4, null, statuses),
  whenActiveWait: fc.boolean(),
  comment: mostly(5, true, fc.constant(false)),
  resendOnRerun: rarely(5),
  event: mostly<Settings['event']>(
    4,
    'merge_group',
    fc.constantFrom('pull_request', 'schedule', 'release'),
  ),
  attempt: mostly<1 | 2>(3, 1, fc.constant(2)),
  startsAt: mostly(1, 0, fc.integer({ min: 0, max: 2000 })),
  cancel,
  jitter: fc.nat({ max: 999 }).map((number) => number / 1000),
  github: fc.record({
    create: mostly<GitHubScript['create']>(
      8,
      'made',
      fc.constantFrom('refused', 'limited', 'lost', 'gone'),
    ),
    callMs: fc.oneof({ weight: 5, arbitrary: fc.constantFrom(1, 300) }, fc.nat({ max: 12_000 })),
    pauseMs: fc.constantFrom(null, 1000, 30_000, 300_000),
    isReadOnly: rarely(5),
  }),
  hidesNotes: rarely(5),
});

/** A single job, or several, with IDs of their own. */
const parts = fc
  .oneof(
    { weight: 4, arbitrary: fc.tuple(part) },
    { weight: 1, arbitrary: fc.array(part, { minLength: 2, maxLength: 8, size: 'max' }) },
  )
  .map((all) => all.map((one, index) => ({ ...one, job: { ...one.job, id: `job-${index + 1}` } })));

export const scenarios: fc.Arbitrary<Scenario> = fc
  .record({ settings, parts })
  .map(({ settings: { interval, ...others }, parts }) => ({
    ...others,
    whenActiveWait: others.whenActiveWait && others.send,
    onlyWhen: others.send ? others.onlyWhen : null,
    // Thousands of polls take long and find nothing new.
    pollIntervalMs:
      interval === null ? null : Math.max(interval, Math.ceil(others.timeoutMs / 200)),
    // In the first attempt, there is nothing before.
    parts:
      others.send && others.attempt === 1 ? parts.map((one) => ({ ...one, earlier: null })) : parts,
  }));
