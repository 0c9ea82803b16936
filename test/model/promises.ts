import { toOutputs } from '../../src/report/outputs.ts';
import { deliveryOf } from '../../src/report/ranking.ts';
import { type JobState, STATUSES, type Status, type TurnResult } from '../../src/turn.ts';
import { acceptedBy, baselineOf, isPerhapsTaken, type Run, type Said } from './run.ts';
import { type Scenario, WELL } from './scenario.ts';
import type { Post, Step } from './service.ts';

const LAST_POLL_MS = 1500;
/** Milliseconds for which it counts what a poll before the message has shown. */
const FRESH_MS = 1000;
/** Milliseconds that Node's timers and the reading of the clock may add up to. */
export const SLACK_MS = 20;

const FINAL: readonly TurnResult[] = ['completed', 'failed', 'archived'];
const TAKEN = { sent: [1], 'not-sent': [0], unknown: [0, 1] } as const;

/** What must be true of every job, whatever happens to it and to the others of its run. */
const PROMISES: Readonly<Record<string, (run: Run) => boolean>> = {
  'at most one message is accepted': ({ scenario, service }) => acceptedBy(scenario, service) <= 1,
  'one is accepted if it is said to be sent, none if it is said not to be': ({
    scenario,
    service,
    result,
  }) => isTrue(result, acceptedBy(scenario, service)),
  'each snapshot is true when it is emitted': ({ emitted }) =>
    emitted.every(({ progress, accepted }) => isTrue(progress.snapshot, accepted)),
  'just before each POST the delivery is emitted as unknown': ({ emitted, service, scenario }) => {
    const sending = emitted.filter(({ progress }) => progress.kind === 'sending');
    return (
      sending.every(({ progress }) => progress.snapshot.delivery === 'unknown') &&
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
  'nothing is sent where the job is only polled': ({ scenario, service }) =>
    !scenario.isReadOnly || service.posts.length === 0,
  'nothing is sent where somebody else has the message, or may have it': ({ scenario, service }) =>
    !['taken', 'unclear'].includes(scenario.note) || service.posts.length === 0,
  'nothing is sent in a re-run that is not noted': ({ scenario, service }) =>
    !scenario.isRerun || scenario.note !== 'missing' || service.posts.length === 0,
  'it is sent only in a status in which it is wanted': ({ scenario: { onlyWhen }, emitted }) =>
    emitted.every(
      ({ progress: { kind, snapshot } }) =>
        kind !== 'sending' || onlyWhen === null || onlyWhen.has(statusBefore(snapshot)),
    ),
  'where the message is not wanted, nothing follows the baseline poll': (run) =>
    !isUnwanted(run) ||
    (run.result.delivery === 'not-sent' &&
      run.service.posts.every(({ startedAt }) => startedAt < lastPollAt(run)) &&
      (run.scenario.polls.steps.length > 0 ||
        run.service.posts.length > 0 ||
        run.service.polls.length === 1 ||
        run.announcement !== null)),
  'each POST comes within a second of the poll that its effect is compared with': (run) =>
    baselineOf(run.scenario) !== 'fresh' ||
    run.service.posts.every((post) => {
      const before = run.service.polls.findLast(({ startedAt }) => startedAt <= post.startedAt);
      if (before === undefined) return false;
      // What a poll has shown may be as old as its beginning, but nothing is newer than its answer.
      const holdsUntil = Math.max(before.startedAt + FRESH_MS, before.endedAt);
      return post.startedAt <= holdsUntil + SLACK_MS;
    }),
  'a delivery is unknown only if the message may have been taken': ({
    scenario,
    service,
    result,
  }) => (result.delivery === 'not-sent') === !isPerhapsTaken(scenario, service),
  'between the attempts it is unknown only then, too': ({ emitted }) =>
    emitted.every(
      ({ progress: { kind, snapshot }, mayBeTaken }) =>
        kind === 'sending' || (snapshot.delivery === 'not-sent') === !mayBeTaken,
    ),
  'no POST starts with less than 2 s left': ({ service, scenario }) =>
    service.posts.every(({ startedAt }) => startedAt <= scenario.order.timeoutMs - 2000 + 1),
  'no POST starts after the cancel': ({ service, cancelledAt }) =>
    service.posts.every(({ startedAt }) => cancelledAt === null || startedAt <= cancelledAt),
  'nothing is sent if the outputs cannot be written': ({ service, scenario }) =>
    !scenario.veto || service.posts.length === 0,
  'it ends by the deadline and the last poll': ({ endedAt, scenario, announcement }) => {
    const pollEnd = Math.max(scenario.startsAt, scenario.order.timeoutMs) + LAST_POLL_MS;
    return endedAt <= Math.max(pollEnd, announcement?.endedAt ?? 0) + SLACK_MS;
  },
  'it ends right after a cancel': ({ endedAt, cancelledAt }) =>
    cancelledAt === null || endedAt <= cancelledAt + SLACK_MS,
  'without a wait there is no poll': ({ scenario, service }) =>
    scenario.order.wait || mayPoll(scenario) || service.polls.length === 0,
  'every poll is counted': ({ scenario: { isKnown }, result, service }) =>
    result.polls === service.polls.length + (isKnown ? 1 : 0),
  'the result agrees with the delivery': hasFittingResult,
  'it is confirmed or not only if it was waited for': ({ scenario, result }) =>
    (result.confirmed !== null) ===
    (scenario.order.wait &&
      (result.delivery !== 'not-sent' || (scenario.isReadOnly && scenario.earlier !== null))),
  'what is confirmed is the end of our turn': (run) =>
    run.result.confirmed !== true || run.service.showedOurEnd(),
  'whatever is not plain success has a reason of one line': ({ scenario, result }) =>
    isPlain(result, scenario)
      ? result.reason === ''
      : /^[^\p{Cc}\u2028\u2029]+$/u.test(result.reason),
  'no request is left': ({ service }) => service.open() === 0,
};

/** The promises that a run did not keep. */
export function brokenPromises(run: Run): readonly string[] {
  return Object.entries(PROMISES).flatMap(([promise, holds]) => (holds(run) ? [] : [promise]));
}

/** Without a wait only a doubt is settled by polling, where the baseline shows what changed. */
function mayPoll({ isReadOnly, earlier, onlyWhen, takesPlace }: Scenario): boolean {
  return isReadOnly || onlyWhen !== null || takesPlace || earlier?.delivery === 'unknown';
}

function lastPollAt({ service }: Run): number {
  return service.polls.at(-1)?.startedAt ?? Number.NEGATIVE_INFINITY;
}

/** The status that counts for `only-when`, as the baseline poll saw it. */
function statusBefore({ base }: Said): Status {
  return STATUSES.find((status) => status === base?.status) ?? 'active';
}

/** Whether the baseline poll saw the job in a status in which it does not get one. */
export function isUnwanted(run: Run): boolean {
  const { earlier, isReadOnly, onlyWhen } = run.scenario;
  const wasSeen = earlier === null && !isReadOnly && run.result.base !== null;
  return wasSeen && onlyWhen !== null && !onlyWhen.has(statusBefore(run.result));
}

/** How often at most a run may end a POST in this way. */
const MOST_POSTS = { unwritten: 3, limited: 3, unprocessed: 2, other: 1 } as const;

function sortOf({ status, mayBeTaken }: Post): keyof typeof MOST_POSTS {
  if (mayBeTaken) return 'other';
  if (status === null) return 'unwritten';
  if (status === 429) return 'limited';
  return status === 425 ? 'unprocessed' : 'other';
}

function isTrue({ delivery }: Said, accepted: number): boolean {
  return (TAKEN[delivery] as readonly number[]).includes(accepted);
}

/** An end that cannot be confirmed is ours if our turn begins within 45 s and the window is longer. */
function isWithinAssumptions({ order, job }: Scenario): boolean {
  return order.settleMs >= 60_000 && job.queueMs <= 45_000;
}

/** Where nothing goes wrong, the end of our turn is found, given `extraMs` of time. */
export function findsTheEnd({ scenario, service, result }: Run, extraMs: number): boolean {
  return (
    !isWithinAssumptions(scenario) ||
    !goesWell(scenario, extraMs) ||
    (service.showedOurEnd() && result.result === scenario.job.ends)
  );
}

/** Slow answers are nothing wrong. The time must be enough for both turns, the window and them. */
function goesWell(scenario: Scenario, extraMs: number): boolean {
  const { order, startsAt, job, cancel, veto, onlyWhen } = scenario;
  const { posts, polls, announceMs, earlier, isReadOnly } = scenario;
  const steps = [...posts.steps, ...polls.steps];
  const isWell = ({ fault, connectMs, answerMs }: Step): boolean =>
    fault === WELL.fault && connectMs < 9900 && connectMs + answerMs < 29_500;
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
 * Before the message: with less than 2 s left, or right after an answer that asks to wait for too long, which
 * counts only after the announcement if it came beside it.
 */
export function endsInTime({ scenario, result, service, endedAt, announcement }: Run): boolean {
  const { timeoutMs } = scenario.order;
  if (result.delivery !== 'not-sent') return endedAt >= timeoutMs - SLACK_MS;
  const answeredAt = [...service.polls, ...service.posts].map((request) => request.endedAt);
  const isNoted = answeredAt.some(
    (at) => announcement !== null && announcement.startedAt <= at && at <= announcement.endedAt,
  );
  const reasons = isNoted && announcement !== null ? [announcement.endedAt] : [];
  return (
    endedAt >= timeoutMs - 2000 - SLACK_MS ||
    [...answeredAt, ...reasons].some((at) => Math.abs(at - endedAt) <= SLACK_MS)
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

function isPlain({ result, confirmed }: Said, scenario: Scenario): boolean {
  const { isReadOnly, earlier, order } = scenario;
  if (result === 'sent' || (result === 'completed' && confirmed)) return true;
  // A poll without a message says no more than what it fetched.
  if (!isReadOnly || (order.wait && earlier !== null)) return false;
  return result === 'completed' || (!order.wait && result === 'active');
}

/** Whether states make outputs in which nothing is missing. */
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
