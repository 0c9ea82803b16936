import fc from 'fast-check';
import type { Job } from '../../src/job/job.ts';
import type { Note } from '../../src/memory/announcements.ts';
import type { Status } from '../../src/turn.ts';
import { BODIES, type Fault, type JobScript, type Step } from './service.ts';

/** What the jobs of a run share. */
export interface PlanInput {
  readonly order: Omit<Job['inputs'], 'onlyWhen'>;
  /** The statuses in which a job gets the message; null is any. */
  readonly onlyWhen: ReadonlySet<Status> | null;
  /** Milliseconds after the start of the process. */
  readonly startsAt: number;
  readonly cancel: Cancel;
  readonly jitter: readonly number[];
  /** Whether the output file cannot be written. */
  readonly veto: boolean;
  /** How many milliseconds the announcement on GitHub takes. */
  readonly announceMs: number;
  readonly isRerun: boolean;
  /** Whether the conversation is the pull request of the job, so that the job is polled first. */
  readonly takesPlace: boolean;
  /** Whether only people with write access can have triggered the run. */
  readonly isTrusted: boolean;
}

/** One job, and what happens to its requests. */
export interface Part {
  readonly job: JobScript;
  readonly posts: Script;
  readonly polls: Script;
  /** Whether the job was polled before, to find its comment. */
  readonly isKnown: boolean;
  /** Whether the job is only polled, as with `send: false`. */
  readonly isReadOnly: boolean;
  readonly earlier: EarlierAttempt | null;
  /** The result of the announcement. */
  readonly note: Note['kind'];
}

/** Everything about one run. */
export interface Fleet extends PlanInput {
  readonly parts: readonly Part[];
}

/** Everything about one job of a run. */
export type Scenario = PlanInput & Part;

/** An attempt that sent the message or may have: of the same run, or for a read-only job, of an earlier run. */
export interface EarlierAttempt {
  readonly delivery: 'sent' | 'unknown';
  readonly agoMs: number;
  /** Whether the API accepted it. Always true if the delivery is `sent`. */
  readonly wasAccepted: boolean;
  readonly knowsBase: boolean;
  readonly knowsTime: boolean;
}

/** What happens to the requests. After these steps, the last one repeats, or nothing fails. */
export interface Script {
  readonly steps: readonly Step[];
  readonly forEver: boolean;
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
export const ALL_WELL: Script = { steps: [], forEver: false };

export const seconds = (min: number, max: number) =>
  fc.integer({ min: min * 1000, max: max * 1000 });
const finalStatus = fc.constantFrom('completed', 'failed', 'archived');

const fault: fc.Arbitrary<Fault> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constantFrom('unreachable', 'set-up', 'black-hole') }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('lost', 'silent') }) },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('status'),
      status: fc.oneof(
        fc.constantFrom(101, 301, 302, 304, 307, 308, 400, 401, 403, 404, 404, 408, 408, 409, 422),
        fc.constantFrom(425, 425, 429, 429, 429, 500, 502, 503, 503, 503, 504, 520, 527, 600, 999),
      ),
      retryAfter: fc.oneof(
        fc.constant([]),
        fc.array(
          fc.constantFrom('0', '1', '7', '30', '119', '3600', '99999999999', 'soon', '-1', '1e3'),
          { minLength: 1, maxLength: 2 },
        ),
      ),
      text: fc.constantFrom('no', '', 'a\n::error::b', '\r##[add-mask]x\u2028'),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('body'),
      status: fc.constantFrom(200, 200, 201, 202, 204, 299),
      body: fc.constantFrom(...BODIES),
    }),
  },
);

export const step: fc.Arbitrary<Step> = fc.record({
  fault: fc.oneof(fc.constant(WELL.fault), fault),
  connectMs: fc.oneof(fc.constantFrom(1, 20, 300), fc.integer({ min: 1, max: 15_000 })),
  responseMs: fc.oneof(fc.constantFrom(1, 20, 300), fc.integer({ min: 1, max: 70_000 })),
  accepts: fc.boolean(),
});

export function script(well: number, steps: fc.Arbitrary<readonly Step[]>): fc.Arbitrary<Script> {
  const forEver = fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, fc.constant(true));
  return fc.oneof(
    { weight: well, arbitrary: fc.constant(ALL_WELL) },
    { weight: 3, arbitrary: fc.record({ steps, forEver }) },
  );
}

/** A response that may take nearly as long as the timeout of a request, but does not fail. */
export const slowStep: fc.Arbitrary<Step> = fc
  .oneof(fc.constant(100), fc.integer({ min: 1, max: 29_000 }))
  .map((responseMs) => ({ ...WELL, responseMs }));

/** The baseline poll often succeeds: otherwise nothing else happens. */
export const pollSteps: fc.Arbitrary<readonly Step[]> = fc.oneof(
  fc.array(step, { maxLength: 12 }),
  fc.array(step, { maxLength: 12 }).map((steps) => [WELL, ...steps]),
  fc.array(slowStep, { minLength: 1, maxLength: 20 }),
);

export const order = fc
  .record({
    wait: fc.oneof({ weight: 3, arbitrary: fc.constant(true) }, fc.constant(false)),
    timeoutMs: fc.oneof(
      { weight: 2, arbitrary: fc.integer({ min: 1, max: 60_000 }) },
      { weight: 4, arbitrary: seconds(60, 600) },
      { weight: 1, arbitrary: seconds(600, 7200) },
    ),
    settleMs: fc.oneof(
      { weight: 2, arbitrary: fc.constantFrom(0, 1000, 30_000, 3_600_000) },
      { weight: 3, arbitrary: fc.constantFrom(60_000, 60_000, 90_000) },
    ),
    interval: fc.option(fc.oneof(fc.constant(1000), seconds(1, 60), seconds(60, 3600)), {
      freq: 3,
    }),
  })
  .map(({ interval, ...rest }) => ({
    ...rest,
    // Thousands of polls take long and find nothing new.
    pollIntervalMs: interval === null ? null : Math.max(interval, Math.ceil(rest.timeoutMs / 200)),
  }));

const job: fc.Arbitrary<JobScript> = fc.record({
  id: fc.constant('job-1'),
  earlier: fc.record({
    endsAt: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, seconds(0, 200)),
    ends: finalStatus,
    link: fc.boolean(),
  }),
  queueMs: fc.oneof(
    { weight: 4, arbitrary: seconds(0, 5) },
    { weight: 4, arbitrary: seconds(0, 45) },
    { weight: 1, arbitrary: seconds(45, 200) },
  ),
  showsQueue: fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, fc.constant(true)),
  joins: fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, fc.constant(true)),
  workMs: fc.oneof(seconds(0, 5), seconds(0, 100), seconds(0, 3000)),
  ends: finalStatus,
  newLink: fc.boolean(),
});

const cancel: fc.Arbitrary<Cancel> = fc.oneof(
  { weight: 4, arbitrary: fc.constant({ kind: 'never' }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('at'),
      ms: fc.oneof(seconds(0, 20), seconds(0, 400)),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('in-request'),
      request: fc.nat({ max: 8 }),
      afterMs: fc.oneof(fc.constantFrom(1, 2, 21, 22, 121, 122, 126, 127), fc.nat({ max: 40_000 })),
    }),
  },
);

export const earlier: fc.Arbitrary<EarlierAttempt> = fc
  .record({
    delivery: fc.constantFrom('sent', 'unknown'),
    agoMs: fc.oneof(seconds(1, 100), seconds(1, 7200)),
    accepted: fc.boolean(),
    knowsBase: fc.boolean(),
    knowsTime: fc.boolean(),
  })
  .map(({ accepted, ...rest }) => ({ ...rest, wasAccepted: accepted || rest.delivery === 'sent' }));

/** What the jobs of a run share, except the order. */
export const surroundings = fc.record({
  startsAt: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 2000 })),
  cancel,
  jitter: fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), {
    minLength: 1,
    maxLength: 5,
  }),
  veto: fc.oneof({ weight: 30, arbitrary: fc.constant(false) }, fc.constant(true)),
  announceMs: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat({ max: 10_000 })),
  isRerun: fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, fc.constant(true)),
  takesPlace: fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, fc.constant(true)),
  isTrusted: fc.boolean(),
});

/** A job that got no message before. */
export const anyPart: fc.Arbitrary<Part> = fc.record({
  job,
  posts: script(2, fc.array(step, { minLength: 1, maxLength: 4 })),
  polls: script(1, pollSteps),
  isKnown: fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, fc.constant(true)),
  isReadOnly: fc.constant(false),
  earlier: fc.constant(null),
  note: fc.oneof(
    { weight: 12, arbitrary: fc.constant('noted') },
    { weight: 2, arbitrary: fc.constant('missing') },
    { weight: 1, arbitrary: fc.constantFrom('taken', 'unclear') },
  ),
});

/** Adds an earlier attempt. The earlier turn ended long ago, or while that attempt was waiting. */
export function after(part: Part, earlier: EarlierAttempt, isLongOver: boolean): Part {
  const { job } = part;
  const shiftMs = earlier.agoMs + (isLongOver ? 1_000_000 : 0);
  const before = { ...job.earlier, endsAt: job.earlier.endsAt - shiftMs };
  return { ...part, earlier, job: { ...job, earlier: before } };
}
