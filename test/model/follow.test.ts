import { getEventListeners } from 'node:events';
import fc from 'fast-check';
import { afterAll, expect, it } from 'vitest';
import { type Earlier, followJob, type Order, type Progress } from '../../src/agent/follow.ts';
import { openSends } from '../../src/agent/sends.ts';
import type { JobResult, Outcome } from '../../src/outcome.ts';
import { OUTPUT_NAMES, toOutputs } from '../../src/outputs.ts';
import { type VirtualClock, virtualClock } from './clock.ts';
import {
  BODIES,
  type Fault,
  type JobScript,
  type Post,
  recordBefore,
  type Service,
  type Step,
  scriptedService,
} from './service.ts';

const SEQUENCES = Number(process.env.MODEL_SEQUENCES ?? 10_000);

/** Everything that one sequence is made of. */
interface Scenario {
  readonly order: Pick<Order, 'wait' | 'timeoutMs' | 'settleMs' | 'pollIntervalMs'>;
  /** Milliseconds of the clock, the process having started at 0. */
  readonly startsAt: number;
  readonly job: JobScript;
  /** After these steps the last one goes on for ever, or all is well. */
  readonly posts: Script;
  readonly looks: Script;
  readonly cancel: Cancel;
  readonly jitter: readonly number[];
  /** Whether the file of the outputs cannot be written. */
  readonly veto: boolean;
  /** Milliseconds that the note on GitHub before the message takes. */
  readonly noteMs: number;
  /** Whether the job was looked at before its turn came, as `only-when` has it. */
  readonly isKnown: boolean;
  readonly earlier: EarlierAttempt | null;
}

/** An attempt of the same run that sent the message, or may have sent it. */
interface EarlierAttempt {
  readonly delivery: 'sent' | 'unknown';
  readonly agoMs: number;
  /** The truth; one that was told to be sent was accepted. */
  readonly wasAccepted: boolean;
  readonly knowsBase: boolean;
  readonly knowsTime: boolean;
}

interface Script {
  readonly steps: readonly Step[];
  readonly forEver: boolean;
}

type Cancel =
  | { readonly kind: 'never' }
  | { readonly kind: 'at'; readonly ms: number }
  | { readonly kind: 'in-request'; readonly request: number; readonly afterMs: number };

/** What was told on the way, and what was true then. */
interface Told {
  readonly progress: Progress;
  readonly accepted: number;
  /** Whether a message may have been taken, for one who does not know the service. */
  readonly mayBeTaken: boolean;
}

/** What came of it. */
interface Run {
  readonly scenario: Scenario;
  readonly result: JobResult;
  readonly service: Service;
  readonly endedAt: number;
  readonly cancelledAt: number | null;
  readonly notedAt: number;
  readonly told: readonly Told[];
  readonly timersLeft: number;
  readonly listenersLeft: number;
}

const WELL: Step = {
  fault: { kind: 'body', status: 200, body: 'record' },
  connectMs: 20,
  answerMs: 100,
  taken: true,
};
const LAST_LOOK_MS = 1500;
/** Milliseconds that Node's timers and the reading of the clock may add up to. */
const SLACK_MS = 20;
const SERVER_URL = 'https://github.com';

async function play(scenario: Scenario): Promise<Run> {
  const { startsAt, cancel, jitter } = scenario;
  const clock = virtualClock(startsAt);
  const controller = new AbortController();
  let cancelledAt: number | null = null;
  let notedAt = 0;
  let requests = 0;
  let drawn = 0;
  const told: Told[] = [];

  function abort(): void {
    cancelledAt ??= clock.now();
    controller.abort(new Error('cancelled'));
  }
  const callOff: (() => void)[] = [];
  if (cancel.kind === 'at') {
    if (cancel.ms === 0) abort();
    else callOff.push(clock.after(cancel.ms, abort));
  }
  const service = scriptedService(
    {
      job: scenario.job,
      acceptedAt: acceptedEarlier(scenario),
      nextPost: stepper(scenario.posts),
      nextLook: stepper(scenario.looks),
      onRequest() {
        if (cancel.kind === 'in-request' && requests === cancel.request) {
          callOff.push(clock.after(cancel.afterMs, abort));
        }
        requests += 1;
      },
    },
    clock,
  );
  async function beforeSend(): Promise<void> {
    if (scenario.noteMs > 0) await clock.sleep(scenario.noteMs, controller.signal).catch(() => {});
    notedAt = clock.now();
  }
  const earlier = leftBehind(scenario, clock);
  const base = scenario.isKnown ? recordBefore(scenario.job, startsAt) : null;
  const order: Order = {
    ...scenario.order,
    jobId: scenario.job.id,
    task:
      earlier === null
        ? { kind: 'send', prompt: 'x', onlyWhen: null, base, beforeSend }
        : { kind: 'go-on', earlier },
    pace: 1,
    firstLookMs: 0,
    serverUrl: SERVER_URL,
  };
  const context = {
    transport: service,
    sends: openSends(),
    where: 'api.example',
    projectId: 'proj-1',
    clock,
    deadline: order.timeoutMs,
    signal: controller.signal,
    random: () => jitter[drawn++ % jitter.length] ?? 0,
    debug: () => {},
    redact: (text: string) => text,
  };
  function observe(progress: Progress): string | undefined {
    const mayBeTaken = isPerhapsTaken(scenario, service);
    told.push({ progress, accepted: service.accepted(), mayBeTaken });
    return scenario.veto && progress.kind === 'sending'
      ? 'The outputs cannot be written.'
      : undefined;
  }

  const result = await clock.drive(followJob(order, context, observe));
  for (const stop of callOff) stop();
  return {
    scenario,
    result,
    service,
    endedAt: clock.now(),
    cancelledAt,
    notedAt,
    told,
    timersLeft: clock.pending(),
    listenersLeft: getEventListeners(controller.signal, 'abort').length,
  };
}

function acceptedEarlier({ earlier, startsAt }: Scenario): number | null {
  return earlier?.wasAccepted ? startsAt - earlier.agoMs - 50 : null;
}

/** What the ledger holds of the attempt before this one. */
function leftBehind({ earlier, job, startsAt }: Scenario, clock: VirtualClock): Earlier | null {
  if (earlier === null) return null;
  const { delivery, agoMs, knowsBase, knowsTime } = earlier;
  return {
    delivery,
    base: knowsBase ? recordBefore(job, startsAt - agoMs - 60) : null,
    sentAt: knowsTime && delivery === 'sent' ? new Date(clock.date().getTime() - agoMs) : null,
    evidence: false,
    isOvertaken: false,
  };
}

/** Whether a message may have been taken, for one who sees only the connection and the answers. */
function isPerhapsTaken({ earlier }: Scenario, { posts }: Service): boolean {
  return earlier !== null || posts.some(({ mayBeTaken }) => mayBeTaken);
}

function stepper({ steps, forEver }: Script): () => Step {
  let index = 0;
  return () => steps[index++] ?? (forEver ? steps.at(-1) : undefined) ?? WELL;
}

const FINAL: readonly Outcome[] = ['completed', 'failed', 'archived'];
const TAKEN = { sent: [1], 'not-sent': [0], unknown: [0, 1] } as const;

/** What must be true of every run, whatever happened to it. */
const PROMISES: Readonly<Record<string, (run: Run) => boolean>> = {
  'at most one message is accepted': ({ service }) => service.accepted() <= 1,
  'one is accepted if it is said to be sent, none if it is said not to be': ({ service, result }) =>
    isTrue(result, service.accepted()),
  'at each moment what is told is true': ({ told }) =>
    told.every(({ progress, accepted }) => isTrue(progress.soFar, accepted)),
  'just before each POST its delivery is told to be unknown': ({ told, service, scenario }) => {
    const sending = told.filter(({ progress }) => progress.kind === 'sending');
    return (
      sending.every(({ progress }) => progress.soFar.delivery === 'unknown') &&
      sending.length === service.posts.length + (scenario.veto && sending.length > 0 ? 1 : 0)
    );
  },
  'nothing is sent after a message that may have been taken': ({ service: { posts } }) =>
    posts.slice(0, -1).every(({ mayBeTaken }) => !mayBeTaken),
  'it is sent again only as often as each answer allows': ({ service: { posts } }) =>
    Object.values(Object.groupBy(posts, sortOf)).every(
      (alike) => alike !== undefined && alike.length <= MOST_POSTS[sortOf(alike[0] as Post)],
    ),
  'nothing is sent after an attempt that may have sent it': ({ scenario, service }) =>
    scenario.earlier === null || service.posts.length === 0,
  'a delivery is unknown only if the message may have been taken': ({
    scenario,
    service,
    result,
  }) => (result.delivery === 'not-sent') === !isPerhapsTaken(scenario, service),
  'between the attempts it is told to be unknown only then, too': ({ told }) =>
    told.every(
      ({ progress: { kind, soFar }, mayBeTaken }) =>
        kind === 'sending' || (soFar.delivery === 'not-sent') === !mayBeTaken,
    ),
  'no POST starts after the deadline': ({ service, scenario }) =>
    service.posts.every(({ startedAt }) => startedAt <= scenario.order.timeoutMs + 1),
  'no POST starts after the cancel': ({ service, cancelledAt }) =>
    service.posts.every(({ startedAt }) => cancelledAt === null || startedAt <= cancelledAt),
  'nothing is sent if the outputs cannot be written': ({ service, scenario }) =>
    !scenario.veto || service.posts.length === 0,
  'it ends by the deadline and the last look': ({ endedAt, scenario, notedAt }) => {
    const lookEnd = Math.max(scenario.startsAt, scenario.order.timeoutMs) + LAST_LOOK_MS;
    return endedAt <= Math.max(lookEnd, notedAt) + SLACK_MS;
  },
  'it ends right after a cancel': ({ endedAt, cancelledAt }) =>
    cancelledAt === null || endedAt <= cancelledAt + SLACK_MS,
  'without a wait there is no look': ({ scenario, service }) =>
    scenario.order.wait || mayLook(scenario) || service.looks() === 0,
  'every look is counted': ({ scenario, result, service }) =>
    result.polls === service.looks() + (scenario.isKnown && scenario.earlier === null ? 1 : 0),
  'the outcome agrees with the delivery': hasFittingOutcome,
  'it is confirmed or not only if it was waited for': ({ scenario, result }) =>
    (result.confirmed !== null) === (scenario.order.wait && result.delivery === 'sent'),
  'what is confirmed is the end of our turn': (run) =>
    run.result.confirmed !== true ||
    !(isWithinAssumptions(run.scenario) || wasFinalBefore(run)) ||
    run.service.showedOurEnd(),
  'where nothing goes wrong, the end of our turn is found': ({ scenario, service, result }) =>
    !isWithinAssumptions(scenario) ||
    !goesWell(scenario) ||
    (service.showedOurEnd() && result.outcome === scenario.job.ends),
  'whatever is not plain success has a reason of one line': ({ result }) => {
    const plain = result.outcome === 'sent' || (result.outcome === 'completed' && result.confirmed);
    return plain ? result.reason === '' : /^[^\p{Cc}\u2028\u2029]+$/u.test(result.reason);
  },
  'each result that is told makes complete outputs': ({ told, result }) =>
    [...told.map(({ progress }) => progress.soFar), result].every(hasCompleteOutputs),
  'no request, timer or listener is left': ({ service, timersLeft, listenersLeft }) =>
    service.open() === 0 && timersLeft === 0 && listenersLeft === 0,
};

/** Without a wait only a doubt is settled by looking, where a look before shows what changed. */
function mayLook({ isKnown, earlier }: Scenario): boolean {
  return isKnown || earlier?.delivery === 'unknown';
}

/** How often at most a run may end a POST in this way. */
const MOST_POSTS = { unwritten: 3, limited: 3, unprocessed: 2, other: 1 } as const;

function sortOf({ status, mayBeTaken }: Post): keyof typeof MOST_POSTS {
  if (mayBeTaken) return 'other';
  if (status === null) return 'unwritten';
  if (status === 429 || status === 503) return 'limited';
  return status === 408 || status === 425 ? 'unprocessed' : 'other';
}

function isTrue({ delivery }: JobResult, accepted: number): boolean {
  return (TAKEN[delivery] as readonly number[]).includes(accepted);
}

/**
 * A record does not say whose turn it shows, so what is confirmed rests on assumptions: nobody
 * else writes to the job or archives it, the service never shows an older record after a newer
 * one, and, unless the turn before had ended, ours begins within 45 s and the window is 60 s or
 * more.
 */
function isWithinAssumptions({ order, job }: Scenario): boolean {
  return order.settleMs >= 60_000 && job.queueMs <= 45_000;
}

/** Then only a change confirms the end, and no window needs to be believed. */
function wasFinalBefore({ told }: Run): boolean {
  const sending = told.find(({ progress }) => progress.kind === 'sending');
  const status = sending?.progress.soFar.status;
  return FINAL.some((outcome) => outcome === status);
}

/** Slow answers are nothing wrong. The time must be enough for both turns, the window and them. */
function goesWell({ order, startsAt, job, cancel, veto, ...scenario }: Scenario): boolean {
  const { posts, looks, noteMs, earlier } = scenario;
  const steps = [...posts.steps, ...looks.steps];
  const isWell = ({ fault, connectMs, answerMs }: Step): boolean =>
    fault === WELL.fault && connectMs < 9900 && connectMs + answerMs < 29_500;
  const neededMs =
    Math.max(startsAt, job.earlier.endsAt) +
    (job.queueMs +
      job.workMs +
      order.settleMs +
      2 * (order.pollIntervalMs ?? 0) +
      noteMs +
      240_000);
  return (
    order.wait &&
    cancel.kind === 'never' &&
    !veto &&
    earlier?.delivery !== 'unknown' &&
    steps.every(isWell) &&
    order.timeoutMs > neededMs
  );
}

function hasFittingOutcome({ scenario, result, cancelledAt, endedAt }: Run): boolean {
  const { outcome, delivery, confirmed, status, elapsedSeconds } = result;
  if ((elapsedSeconds !== null) !== (delivery === 'sent')) return false;
  if (confirmed === true && !FINAL.includes(outcome)) return false;
  switch (outcome) {
    case 'sent':
      return delivery === 'sent' && !scenario.order.wait;
    case 'completed':
    case 'failed':
    case 'archived':
      return delivery === 'sent' && scenario.order.wait && status === outcome;
    case 'timed-out':
      return delivery !== 'unknown' && endedAt >= scenario.order.timeoutMs - SLACK_MS;
    case 'cancelled':
      return cancelledAt !== null;
    case 'error':
      return delivery !== 'sent' || scenario.order.wait;
    case 'active':
    case 'skipped':
      return false;
  }
}

function hasCompleteOutputs(result: JobResult): boolean {
  const outputs = toOutputs({ results: [result], commentUrls: [] });
  const [entry, ...others] = JSON.parse(outputs.results);
  return (
    OUTPUT_NAMES.every((name) => typeof outputs[name] === 'string') &&
    outputs.outcome === result.outcome &&
    outputs.delivery === result.delivery &&
    outputs['job-id'] === result.jobId &&
    others.length === 0 &&
    RESULT_FIELDS.every((field) => entry[field] !== undefined)
  );
}

const RESULT_FIELDS = [
  ...['jobId', 'delivery', 'outcome', 'confirmed', 'status', 'prLink', 'model', 'source'],
  ...['createdAt', 'archivedAt', 'elapsedSeconds', 'polls', 'reason'],
];

const seconds = (min: number, max: number) => fc.integer({ min: min * 1000, max: max * 1000 });
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

const step: fc.Arbitrary<Step> = fc.record({
  fault: fc.oneof(fc.constant(WELL.fault), fault),
  connectMs: fc.oneof(fc.constantFrom(1, 20, 300), fc.integer({ min: 1, max: 15_000 })),
  answerMs: fc.oneof(fc.constantFrom(1, 20, 300), fc.integer({ min: 1, max: 70_000 })),
  taken: fc.boolean(),
});

function script(well: number, steps: fc.Arbitrary<readonly Step[]>): fc.Arbitrary<Script> {
  const forEver = fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, fc.constant(true));
  return fc.oneof(
    { weight: well, arbitrary: fc.constant({ steps: [], forEver: false }) },
    { weight: 3, arbitrary: fc.record({ steps, forEver }) },
  );
}

/** Nothing is wrong with it, but it may take nearly as long as a request is given. */
const slowStep: fc.Arbitrary<Step> = fc
  .oneof(fc.constant(100), fc.integer({ min: 1, max: 29_000 }))
  .map((answerMs) => ({ ...WELL, answerMs }));

/** The look before the send is often well, since without it nothing happens. */
const lookSteps: fc.Arbitrary<readonly Step[]> = fc.oneof(
  fc.array(step, { maxLength: 12 }),
  fc.array(step, { maxLength: 12 }).map((steps) => [WELL, ...steps]),
  fc.array(slowStep, { minLength: 1, maxLength: 20 }),
);

const order = fc
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
    // Looks by the thousand take long and show nothing new.
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

const earlier: fc.Arbitrary<EarlierAttempt> = fc
  .record({
    delivery: fc.constantFrom('sent', 'unknown'),
    agoMs: fc.oneof(seconds(1, 100), seconds(1, 7200)),
    accepted: fc.boolean(),
    knowsBase: fc.boolean(),
    knowsTime: fc.boolean(),
  })
  .map(({ accepted, ...rest }) => ({ ...rest, wasAccepted: accepted || rest.delivery === 'sent' }));

const anyScenario: fc.Arbitrary<Scenario> = fc.record({
  order,
  startsAt: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 2000 })),
  job,
  posts: script(2, fc.array(step, { minLength: 1, maxLength: 4 })),
  looks: script(1, lookSteps),
  cancel,
  jitter: fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), {
    minLength: 1,
    maxLength: 5,
  }),
  veto: fc.oneof({ weight: 30, arbitrary: fc.constant(false) }, fc.constant(true)),
  noteMs: fc.oneof({ weight: 3, arbitrary: fc.constant(0) }, fc.nat({ max: 10_000 })),
  isKnown: fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, fc.constant(true)),
  earlier: fc.constant(null),
});

/** The turn before may have ended long ago, or while the earlier attempt was waiting. */
const secondAttempt: fc.Arbitrary<Scenario> = fc
  .record({ scenario: anyScenario, earlier, isLongOver: fc.boolean() })
  .map(({ scenario, earlier, isLongOver }) => {
    const shiftMs = earlier.agoMs + (isLongOver ? 1_000_000 : 0);
    const before = { ...scenario.job.earlier, endsAt: scenario.job.earlier.endsAt - shiftMs };
    return { ...scenario, earlier, job: { ...scenario.job, earlier: before } };
  });

/** Only time is against it: the turn before ends, ours is slow to begin, and so are the answers. */
const slowScenario: fc.Arbitrary<Scenario> = fc
  .record({
    scenario: anyScenario,
    endsAt: seconds(0, 60),
    queueMs: seconds(20, 45),
    slow: fc.array(slowStep, { minLength: 1, maxLength: 20 }),
  })
  .map(({ scenario, endsAt, queueMs, slow }) => ({
    ...scenario,
    order: { wait: true, timeoutMs: 7_200_000, settleMs: 60_000, pollIntervalMs: null },
    job: { ...scenario.job, earlier: { ...scenario.job.earlier, endsAt }, queueMs },
    posts: { steps: [], forEver: false },
    looks: { steps: slow, forEver: false },
    cancel: { kind: 'never' },
    veto: false,
    isKnown: false,
  }));

const scenarios = fc.oneof(
  { weight: 16, arbitrary: anyScenario },
  { weight: 2, arbitrary: slowScenario },
  { weight: 3, arbitrary: secondAttempt },
);

const endings = new Map<string, number>();
let sequences = 0;

it(
  `keeps every promise in ${SEQUENCES} random sequences of faults`,
  async () => {
    await fc.assert(
      fc.asyncProperty(scenarios, async (scenario) => {
        const run = await play(scenario);
        sequences += 1;
        const ending = `${run.result.outcome}/${run.result.delivery}`;
        endings.set(ending, (endings.get(ending) ?? 0) + 1);
        const broken = Object.entries(PROMISES).filter(([, holds]) => !holds(run));
        expect(broken.map(([promise]) => promise)).toEqual([]);
      }),
      { numRuns: SEQUENCES },
    );
  },
  60_000 + SEQUENCES * 20,
);

afterAll(() => {
  const spread = [...endings]
    .sort(([, a], [, b]) => b - a)
    .map(([name, count]) => `${name} ${count}`);
  console.info(`The model ran through ${sequences} sequences: ${spread.join(', ')}.`);
});
