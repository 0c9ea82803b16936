import { toOutputs } from '../../src/report/outputs.ts';
import { deliveryOf } from '../../src/report/ranking.ts';
import { type JobState, STATUSES, type Status, type TurnResult } from '../../src/turn.ts';
import { acceptedBy, baselineOf, mayHaveBeenAccepted, type Run, type Snapshot } from './run.ts';
import { type Scenario, WELL } from './scenario.ts';
import type { Post, Step } from './service.ts';

const LAST_POLL_MS = 1500;
/** How many milliseconds a poll before the message is valid. */
const FRESH_MS = 1000;
/** Milliseconds of inaccuracy by Node's timers and by reading the clock. */
export const SLACK_MS = 20;

const FINAL: readonly TurnResult[] = ['completed', 'failed', 'archived'];
const ACCEPTED_COUNTS = { sent: [1], 'not-sent': [0], unknown: [0, 1] } as const;

/** What is true of every job, whatever happens to it and to the other jobs of its run. */
const PROMISES: Readonly<Record<string, (run: Run) => boolean>> = {
  'the API accepts at most one message': ({ scenario, service }) =>
    acceptedBy(scenario, service) <= 1,
  'the API accepts one message if the delivery is sent, and none if it is not-sent': ({
    scenario,
    service,
    result,
  }) => isTrue(result, acceptedBy(scenario, service)),
  'each event has a correct delivery': ({ emitted }) =>
    emitted.every(({ progress, accepted }) => isTrue(progress.snapshot, accepted)),
  'an event before each POST has the delivery unknown': ({ emitted, service, scenario }) => {
    const sending = emitted.filter(({ progress }) => progress.kind === 'sending');
    return (
      sending.every(({ progress }) => progress.snapshot.delivery === 'unknown') &&
      sending.length === service.posts.length + (scenario.veto && sending.length > 0 ? 1 : 0)
    );
  },
  'sends nothing after a message that the API may have accepted': ({ service: { posts } }) =>
    posts.slice(0, -1).every(({ mayBeAccepted }) => !mayBeAccepted),
  'repeats a POST only as often as the response allows': ({ service: { posts } }) =>
    Object.values(Object.groupBy(posts, kindOf)).every(
      (alike) => alike !== undefined && alike.length <= MAX_POSTS[kindOf(alike[0] as Post)],
    ),
  'sends nothing after an attempt that may have sent the message': ({ scenario, service }) =>
    scenario.earlier === null || service.posts.length === 0,
  'sends nothing to a read-only job': ({ scenario, service }) =>
    !scenario.isReadOnly || service.posts.length === 0,
  'sends nothing if another run has the message, or may have it': ({ scenario, service }) =>
    !['taken', 'unclear'].includes(scenario.note) || service.posts.length === 0,
  'sends nothing in a re-run without a note': ({ scenario, service }) =>
    !scenario.isRerun || scenario.note !== 'missing' || service.posts.length === 0,
  'sends only in a status that only-when lists': ({ scenario: { onlyWhen }, emitted }) =>
    emitted.every(
      ({ progress: { kind, snapshot } }) =>
        kind !== 'sending' || onlyWhen === null || onlyWhen.has(statusBefore(snapshot)),
    ),
  'sends and polls nothing after a baseline that only-when does not list': (run) =>
    !isUnwanted(run) ||
    (run.result.delivery === 'not-sent' &&
      run.service.posts.every(({ startedAt }) => startedAt < lastPollAt(run)) &&
      (run.scenario.polls.steps.length > 0 ||
        run.service.posts.length > 0 ||
        run.service.polls.length === 1 ||
        run.announcement !== null)),
  'sends each POST within a second after the baseline poll': (run) =>
    baselineOf(run.scenario) !== 'fresh' ||
    run.service.posts.every((post) => {
      const before = run.service.polls.findLast(({ startedAt }) => startedAt <= post.startedAt);
      if (before === undefined) return false;
      // A poll is at least as old as its start, and always valid until its response.
      const validUntil = Math.max(before.startedAt + FRESH_MS, before.endedAt);
      return post.startedAt <= validUntil + SLACK_MS;
    }),
  'the delivery is unknown only if the API may have accepted the message': ({
    scenario,
    service,
    result,
  }) => (result.delivery === 'not-sent') === !mayHaveBeenAccepted(scenario, service),
  'the delivery between POSTs is unknown only if the API may have accepted one': ({ emitted }) =>
    emitted.every(
      ({ progress: { kind, snapshot }, mayBeAccepted }) =>
        kind === 'sending' || (snapshot.delivery === 'not-sent') === !mayBeAccepted,
    ),
  'no POST starts less than 2 s before the deadline': ({ service, scenario }) =>
    service.posts.every(({ startedAt }) => startedAt <= scenario.order.timeoutMs - 2000 + 1),
  'no POST starts after the run is cancelled': ({ service, cancelledAt }) =>
    service.posts.every(({ startedAt }) => cancelledAt === null || startedAt <= cancelledAt),
  'sends nothing if the outputs cannot be written': ({ service, scenario }) =>
    !scenario.veto || service.posts.length === 0,
  'ends at the deadline, or after the last poll': ({ endedAt, scenario, announcement }) => {
    const pollEnd = Math.max(scenario.startsAt, scenario.order.timeoutMs) + LAST_POLL_MS;
    return endedAt <= Math.max(pollEnd, announcement?.endedAt ?? 0) + SLACK_MS;
  },
  'ends right after the run is cancelled': ({ endedAt, cancelledAt }) =>
    cancelledAt === null || endedAt <= cancelledAt + SLACK_MS,
  'does not poll without wait': ({ scenario, service }) =>
    scenario.order.wait || mayPoll(scenario) || service.polls.length === 0,
  'counts every poll': ({ scenario: { isKnown }, result, service }) =>
    result.polls === service.polls.length + (isKnown ? 1 : 0),
  'the result matches the delivery': hasFittingResult,
  'confirmed has a value only with wait': ({ scenario, result }) =>
    (result.confirmed !== null) ===
    (scenario.order.wait &&
      (result.delivery !== 'not-sent' || (scenario.isReadOnly && scenario.earlier !== null))),
  'a confirmed status is the end of our turn': (run) =>
    run.result.confirmed !== true || run.service.showedOurEnd(),
  'every result except plain success has a reason in one line': ({ scenario, result }) =>
    isPlain(result, scenario)
      ? result.reason === ''
      : /^[^\p{Cc}\u2028\u2029]+$/u.test(result.reason),
  'no request stays open': ({ service }) => service.open() === 0,
};

/** The promises that the run broke. */
export function brokenPromises(run: Run): readonly string[] {
  return Object.entries(PROMISES).flatMap(([promise, isKept]) => (isKept(run) ? [] : [promise]));
}

/** Whether a run without `wait` may poll, for example to resolve an unknown delivery. */
function mayPoll({ isReadOnly, earlier, onlyWhen, takesPlace }: Scenario): boolean {
  return isReadOnly || onlyWhen !== null || takesPlace || earlier?.delivery === 'unknown';
}

function lastPollAt({ service }: Run): number {
  return service.polls.at(-1)?.startedAt ?? Number.NEGATIVE_INFINITY;
}

/** The status of the baseline poll, which decides about `only-when`. */
function statusBefore({ base }: Snapshot): Status {
  return STATUSES.find((status) => status === base?.status) ?? 'active';
}

/** Whether `only-when` does not list the status of the baseline poll. */
export function isUnwanted(run: Run): boolean {
  const { earlier, isReadOnly, onlyWhen } = run.scenario;
  const wasSeen = earlier === null && !isReadOnly && run.result.base !== null;
  return wasSeen && onlyWhen !== null && !onlyWhen.has(statusBefore(run.result));
}

/** How often a POST of a run may end in this way. */
const MAX_POSTS = { unreachable: 3, 'rate-limited': 3, 'not-processed': 2, other: 1 } as const;

function kindOf({ status, mayBeAccepted }: Post): keyof typeof MAX_POSTS {
  if (mayBeAccepted) return 'other';
  if (status === null) return 'unreachable';
  if (status === 429) return 'rate-limited';
  return status === 425 ? 'not-processed' : 'other';
}

function isTrue({ delivery }: Snapshot, accepted: number): boolean {
  return (ACCEPTED_COUNTS[delivery] as readonly number[]).includes(accepted);
}

/** An unconfirmed end is certainly ours only if our turn begins within 45 s, and `settle-seconds` is longer. */
function isWithinAssumptions({ order, job }: Scenario): boolean {
  return order.settleMs >= 60_000 && job.queueMs <= 45_000;
}

/** Whether the run found the end of our turn, which it must if nothing fails and it has `extraMs` more time. */
export function findsTheEnd({ scenario, service, result }: Run, extraMs: number): boolean {
  return (
    !isWithinAssumptions(scenario) ||
    !goesWell(scenario, extraMs) ||
    (service.showedOurEnd() && result.result === scenario.job.ends)
  );
}

/** Whether nothing fails and there is enough time for everything. Slow responses are not failures. */
function goesWell(scenario: Scenario, extraMs: number): boolean {
  const { order, startsAt, job, cancel, veto, onlyWhen } = scenario;
  const { posts, polls, announceMs, earlier, isReadOnly } = scenario;
  const steps = [...posts.steps, ...polls.steps];
  const isWell = ({ fault, connectMs, responseMs }: Step): boolean =>
    fault === WELL.fault && connectMs < 9900 && connectMs + responseMs < 29_500;
  const neededMs =
    Math.max(startsAt, job.earlier.endsAt) +
    (job.queueMs +
      job.workMs +
      order.settleMs +
      2 * (order.pollIntervalMs ?? 0) +
      announceMs +
      240_000 +
      extraMs);
  return (
    order.wait &&
    onlyWhen === null &&
    (earlier !== null || isReadOnly || scenario.note === 'noted') &&
    cancel.kind === 'never' &&
    !veto &&
    earlier?.delivery !== 'unknown' &&
    (earlier !== null || !isReadOnly) &&
    steps.every(isWell) &&
    order.timeoutMs > neededMs
  );
}

/**
 * Whether the job timed out at the right time. Before the message, that is less than 2 s before the deadline,
 * or right after a response with too long a Retry-After; if that arrived during the announcement, after it.
 */
export function endsInTime({ scenario, result, service, endedAt, announcement }: Run): boolean {
  const { timeoutMs } = scenario.order;
  if (result.delivery !== 'not-sent') return endedAt >= timeoutMs - SLACK_MS;
  const respondedAt = [...service.polls, ...service.posts].map((request) => request.endedAt);
  const isNoted = respondedAt.some(
    (at) => announcement !== null && announcement.startedAt <= at && at <= announcement.endedAt,
  );
  const reasons = isNoted && announcement !== null ? [announcement.endedAt] : [];
  return (
    endedAt >= timeoutMs - 2000 - SLACK_MS ||
    [...respondedAt, ...reasons].some((at) => Math.abs(at - endedAt) <= SLACK_MS)
  );
}

function hasFittingResult(run: Run): boolean {
  const { scenario, result: job, cancelledAt } = run;
  const { result, delivery, confirmed, status, elapsedSeconds } = job;
  const { isReadOnly, earlier, order } = scenario;
  const knowsMoment = delivery === 'sent' || (isReadOnly && order.wait && earlier !== null);
  if ((elapsedSeconds !== null) !== knowsMoment) return false;
  if (confirmed === true && !FINAL.includes(result)) return false;
  switch (result) {
    case 'sent':
      return delivery === 'sent' && !order.wait;
    case 'completed':
    case 'failed':
    case 'archived':
      return (isReadOnly || (delivery === 'sent' && order.wait)) && status === result;
    case 'timed-out':
      return delivery !== 'unknown' && endsInTime(run);
    case 'cancelled':
      return cancelledAt !== null;
    case 'error':
      return delivery !== 'sent' || order.wait;
    case 'active':
      return isReadOnly && !order.wait;
    case 'skipped':
      return !isReadOnly && delivery === 'not-sent';
  }
}

function isPlain({ result, confirmed }: Snapshot, scenario: Scenario): boolean {
  const { isReadOnly, earlier, order } = scenario;
  if (result === 'sent' || (result === 'completed' && confirmed)) return true;
  // A poll without a message only reports the status that it got.
  if (!isReadOnly || (order.wait && earlier !== null)) return false;
  return result === 'completed' || (!order.wait && result === 'active');
}

/** Whether the outputs of these states are complete. */
export function makeCompleteOutputs(states: readonly JobState[]): boolean {
  const outputs = toOutputs({ states, commentUrls: [] });
  const entries: readonly Readonly<Record<string, unknown>>[] = JSON.parse(outputs.results);
  return (
    Object.values(outputs).every((value) => typeof value === 'string') &&
    states.some(({ turn }) => turn.result === outputs.result) &&
    states.some((state) => deliveryOf(state) === outputs.delivery) &&
    outputs['job-id'] === states.map(({ jobId }) => jobId).join('\n') &&
    entries.length === states.length &&
    entries.every(
      (entry, index) =>
        entry.result === states[index]?.turn.result &&
        RESULT_FIELDS.every((field) => entry[field] !== undefined),
    )
  );
}

const RESULT_FIELDS = [
  ...['jobId', 'delivery', 'result', 'confirmed', 'status', 'prLink', 'model', 'source'],
  ...['createdAt', 'archivedAt', 'elapsedSeconds', 'polls', 'reason'],
];
