import { isFinal, isKnownStatus } from '../../src/job.ts';
import { toOutputs } from '../../src/report/outputs.ts';
import { conversationOf, type Played } from './run.ts';
import type { Poll, Post, Span } from './service.ts';

/** Milliseconds of inaccuracy by Node's timers and by reading the clock. */
const SLACK_MS = 20;
/** As the specification says. */
const LEAST_POST_MS = 2000;
const OVERTIME_MS = 2000;
const FRESH_MS = 1000;
const OUTAGE_MS = 600_000;
const MOST_AT_ONCE = 4;
const AFTER_CANCEL_MS = 4000;
const LOOK_FOR_COMMENT_MS = 13_000;

const ACCEPTED_COUNTS: Readonly<Record<string, readonly number[]>> = {
  ...{ sent: [1], 'not-sent': [0], unknown: [0, 1] },
};
/** How often a POST of a run may end in this way. */
const MOST_POSTS = { unreachable: 3, 'rate-limited': 3, 'not-processed': 2, other: 1 } as const;

/** What is true of every job, whatever happens to it and to the other jobs of its run. */
const PROMISES: Readonly<Record<string, (played: Played) => boolean>> = {
  'every job ends': ({ job }) => job.end !== null && job.endedAt !== null,
  'the API accepts at most one message': ({ service }) => service.accepted() <= 1,
  'sends nothing after a message that the API may have accepted': ({ service: { posts } }) =>
    posts.slice(0, -1).every(({ outcome }) => outcome === 'refused'),
  'repeats a POST only as often as the response allows': ({ service: { posts } }) =>
    Object.values(Object.groupBy(posts, kindOf)).every(
      (alike) => alike !== undefined && alike.length <= MOST_POSTS[kindOf(alike[0] as Post)],
    ),
  'a POST needs a job that is to get the message, and whose message was certainly not sent': (
    played,
  ) => played.service.posts.length === 0 || fateOf(played) === 'send',
  'no POST less than 2 s before the deadline, or after the end or a cancellation': (played) =>
    played.service.posts.every(
      ({ startedAt }) =>
        startedAt <= played.scenario.timeoutMs - LEAST_POST_MS + 1 &&
        startedAt <= Math.min(played.endedAt, played.cancelledAt ?? Infinity),
    ),
  'no POST before its note': ({ scenario, service: { posts } }) =>
    conversationOf(scenario) === null ||
    !scenario.comment ||
    posts.every(({ before }) => before.noted === 'sending'),
  'the outputs say before each POST that the delivery is unknown': ({ service: { posts } }) =>
    posts.every(({ before }) => before.saved === 'unknown'),
  'with a wait, each POST is within a second after a poll': ({ scenario, service }) =>
    !scenario.wait ||
    service.posts.every((post) => {
      const before = pollsBefore(service.polls, post).at(-1);
      if (before === undefined) return false;
      // A poll is at least as old as its start, and always valid until its response.
      return post.startedAt <= Math.max(before.startedAt + FRESH_MS, before.endedAt) + SLACK_MS;
    }),
  'no POST while the last poll showed the agent at work, if when-active is wait': (played) =>
    !played.scenario.whenActiveWait ||
    played.service.posts.every((post) =>
      isFinal(seenStatuses(pollsBefore(played.service.polls, post)).at(-1) ?? null),
    ),
  'no POST if the first poll shows a status that is not in only-when': ({ scenario, service }) => {
    const [first = 'active'] = seenStatuses(service.polls);
    const status = isKnownStatus(first) ? first : 'active';
    const { onlyWhen } = scenario;
    return onlyWhen === null || onlyWhen.has(status) || service.posts.length === 0;
  },
  'no POST that a bot triggers on the pull request of the job': ({ scenario, service }) =>
    scenario.event !== 'pull_request' ||
    !answered(service.polls)[0]?.record?.prLink?.endsWith('/1') ||
    service.posts.length === 0,
  'the delivery is true': (played) => isTrue(played, played.job.delivery),
  'the delivery is not-sent only if the API certainly did not accept a message': (played) =>
    (played.job.delivery === 'not-sent') === !mayHaveBeenAccepted(played),
  'the outputs are true whenever they are saved': (played) =>
    played.saved.every(
      ({ delivery, accepted }) => fateOf(played) !== 'send' || isTrue(played, delivery, accepted),
    ),
  'the comment is true: what it says of a delivery is certain and stays': (played) => {
    const said = notedDeliveries(played);
    const last = said.at(-1);
    const { isReadOnly } = played.scenario.github;
    return (
      said.every((delivery) => delivery === 'sending' || delivery === played.job.delivery) &&
      (last === undefined || played.cancelledAt !== null || isReadOnly || last !== 'sending')
    );
  },
  'ends by the deadline, or once the comment is created': (played) =>
    played.endedAt <=
    lastOf(Math.max(played.scenario.timeoutMs, played.beganAt) + OVERTIME_MS, played),
  'ends right after a cancellation, or once the comment is created': (played) =>
    played.cancelledAt === null ||
    played.endedAt <=
      Math.min(lastOf(played.cancelledAt, played), played.cancelledAt + AFTER_CANCEL_MS + SLACK_MS),
  'a message that a cancellation stops is cancelled': ({ job, cancelledAt, endedAt }) =>
    cancelledAt === null ||
    endedAt <= cancelledAt + SLACK_MS ||
    job.delivery !== 'not-sent' ||
    job.end?.result === 'cancelled',
  'counts every poll': ({ job, service }) => job.polls === service.polls.length,
  'no request stays open': ({ service }) => service.open() === 0,
  'the result matches the delivery': hasFittingResult,
  'a wait is lost only after an outage of 10 minutes, or an error that does not pass': (played) =>
    played.job.end?.result !== 'error' || played.job.delivery !== 'sent' || isLost(played),
  'confirmed has a value only if the run waits for a message': ({ scenario, job }) => {
    const isKnown = job.isReadOnly
      ? job.sentAt !== null && isFinal(job.end?.result ?? null)
      : job.delivery === 'sent';
    return (job.end?.confirmed !== null) === (scenario.wait && isKnown);
  },
  'a confirmed end is one after work that was seen after the message': (played) =>
    played.job.end?.confirmed !== true || sawWork(played),
  'a confirmed end is that of the work on our message': (played) =>
    played.job.end?.confirmed !== true || hasOthers(played) || sawEnd(played),
  'the end is found in time, and is not that of earlier work': findsTheEnd,
  'every result except plain success has a reason in one line': ({ job: { end } }) => {
    const isPlain =
      end?.result === 'sent' ||
      end?.result === 'active' ||
      (end?.result === 'completed' && end.confirmed !== false);
    return isPlain ? end.reason === '' : /^[^\p{Cc}\u2028\u2029]+$/u.test(end?.reason ?? '');
  },
};

/** What is true of all jobs of a run together. */
const TOGETHER: Readonly<Record<string, (all: readonly Played[]) => boolean>> = {
  'at most four messages are open at a time': (all) => {
    const posts = all.flatMap(({ service }) => service.posts);
    return posts.every(
      ({ startedAt }) => posts.filter((post) => isIn(startedAt, post)).length <= MOST_AT_ONCE,
    );
  },
  'no POST after a rate limit has refused the message of another job for good': (all) =>
    all.every(
      (played) =>
        !isStopped(played) ||
        all.every(({ service }) =>
          service.posts.every(({ startedAt }) => startedAt <= played.endedAt),
        ),
    ),
  'a message is skipped because of that, of another run, of its status or of a loop': (all) =>
    all.every(({ scenario, job, service }) => {
      if (job.end?.result !== 'skipped') return true;
      const { reason } = job.end;
      if (reason.includes('(only-when)')) return scenario.onlyWhen !== null;
      if (reason.includes('triggered the run')) return scenario.event === 'pull_request';
      const stopped = all.find((one) => reason.includes(`to job ${one.job.id} was not accepted`));
      return stopped !== undefined && isStopped(stopped) && service.accepted() === 0;
    }),
  'the outputs are complete': (all) => {
    const ended = all.flatMap(({ job }) => (job.end === null ? [] : [{ job, end: job.end }]));
    const outputs = toOutputs({ ended, commentUrls: [] });
    const entries: readonly { result?: unknown; delivery?: unknown }[] = JSON.parse(
      outputs.results,
    );
    return (
      all.every(({ job }, index) => {
        const { result, delivery } = entries[index] ?? {};
        return result === job.end?.result && delivery === job.delivery;
      }) && all.some(({ job }) => job.end?.result === outputs.result)
    );
  },
};

/** The promises that the run broke. */
export function brokenPromises(all: readonly Played[]): readonly string[] {
  const ofJobs = Object.entries(PROMISES).filter(([, isKept]) => !all.every(isKept));
  const ofAll = Object.entries(TOGETHER).filter(([, isKept]) => !isKept(all));
  return [...ofJobs, ...ofAll].map(([promise]) => promise);
}

/** What a run does for a job: it sends, goes on with an earlier message, refuses in doubt, or only polls. */
function fateOf({ scenario, part, knowsNotes }: Played): 'send' | 'resume' | 'refuse' | 'read' {
  if (!scenario.send) return 'read';
  if (scenario.attempt === 1) return 'send';
  const delivery = part.earlier?.delivery ?? 'not-sent';
  if (knowsNotes && delivery === 'sent') return 'resume';
  return scenario.resendOnRerun || (knowsNotes && delivery === 'not-sent') ? 'send' : 'refuse';
}

function kindOf({ status, outcome }: Post): keyof typeof MOST_POSTS {
  if (outcome !== 'refused') return 'other';
  if (status === null) return 'unreachable';
  if (status === 429) return 'rate-limited';
  return status === 425 ? 'not-processed' : 'other';
}

function mayHaveBeenAccepted(played: Played): boolean {
  const isEarlier = ['resume', 'refuse'].includes(fateOf(played));
  return isEarlier || played.service.posts.some(({ outcome }) => outcome !== 'refused');
}

function isTrue(played: Played, delivery: string, accepted = played.service.accepted()): boolean {
  const { part, service } = played;
  if (fateOf(played) === 'resume') return delivery === 'sent';
  // After a doubtful answer, somebody else's message cannot be told apart from ours.
  const isInDoubt = service.posts.at(-1)?.outcome === 'doubtful';
  if (part.job.otherAt !== null && isInDoubt && delivery === 'sent') return true;
  return (ACCEPTED_COUNTS[delivery] ?? []).includes(accepted);
}

function notedDeliveries({ github, job }: Played): readonly string[] {
  const all = github.notes.flat().flatMap(({ jobs }) => jobs);
  return all.filter(({ id }) => id === job.id).map(({ delivery }) => delivery);
}

/** The polls whose record the client received. */
function answered(polls: readonly Poll[]): readonly Poll[] {
  return polls.filter(({ record }) => record !== null);
}

function seenStatuses(polls: readonly Poll[]): readonly string[] {
  return polls.flatMap(({ record }) => record?.status ?? []);
}

function pollsBefore(polls: readonly Poll[], { startedAt }: Post): readonly Poll[] {
  return polls.filter(({ endedAt }) => endedAt <= startedAt);
}

/** The polls after the message or, without one in this run, all. */
function pollsAfter({ service: { polls, posts } }: Played): readonly Poll[] {
  const sentAt = posts.at(-1)?.endedAt ?? 0;
  return polls.filter(({ startedAt }) => startedAt >= sentAt);
}

function isIn(at: number, { startedAt, endedAt }: Span): boolean {
  return startedAt <= at && at < endedAt;
}

/** That time or, if the comment is being created then, the end of that; it is looked for if GitHub is silent. */
function lastOf(at: number, { github, scenario }: Played): number {
  const { create, callMs } = scenario.github;
  const lookMs = ['lost', 'gone'].includes(create) || callMs > 10_000 ? LOOK_FOR_COMMENT_MS : 0;
  const open = github.creations.filter(({ startedAt }) => startedAt <= at + SLACK_MS);
  return Math.max(at, ...open.map(({ endedAt }) => endedAt + lookMs)) + SLACK_MS;
}

/** Whether a rate limit has refused the message for good. */
function isStopped({ job, service }: Played): boolean {
  return job.end?.result === 'error' && service.posts.at(-1)?.status === 429;
}

function hasFittingResult(played: Played): boolean {
  const { scenario, job, cancelledAt } = played;
  const { delivery, isReadOnly, end } = job;
  switch (end?.result) {
    case 'sent':
      return delivery === 'sent' && !scenario.wait;
    case 'completed':
    case 'failed':
    case 'archived':
      return (
        (isReadOnly || (delivery === 'sent' && scenario.wait)) && job.record?.status === end.result
      );
    case 'timed-out':
      return delivery !== 'unknown' && endsInTime(played);
    case 'cancelled':
      return cancelledAt !== null;
    case 'error':
      return delivery !== 'sent' || scenario.wait;
    case 'active':
      return isReadOnly && !scenario.wait;
    case 'skipped':
      return delivery === 'not-sent' && fateOf(played) === 'send';
    default:
      return false;
  }
}

/**
 * Whether the job timed out at the right time. Before the message, that is 2 s before the deadline, or right after
 * a response with too long a Retry-After; and a message that waits for earlier work ends a poll earlier.
 */
function endsInTime({ scenario, job, service, endedAt }: Played): boolean {
  const { timeoutMs, whenActiveWait } = scenario;
  if (job.delivery === 'sent') return endedAt >= timeoutMs - SLACK_MS;
  const isAtResponse = [...service.polls, ...service.posts].some(
    (request) => Math.abs(request.endedAt - endedAt) <= SLACK_MS,
  );
  return isAtResponse || whenActiveWait || endedAt >= timeoutMs - LEAST_POST_MS - SLACK_MS;
}

function isLost(played: Played): boolean {
  const polls = pollsAfter(played);
  const streak = polls.slice(polls.findLastIndex(({ record }) => record !== null) + 1);
  const [first, last] = [streak[0], streak.at(-1)];
  if (first === undefined || last === undefined) return false;
  if (last.endedAt - first.endedAt >= OUTAGE_MS - SLACK_MS) return true;
  if (last.status === null) return last.kind === 'set-up';
  const isClient = last.status >= 300 && last.status < 500;
  return isClient && ![408, 425, 429, 499].includes(last.status);
}

/** Independent of the code: a final status after `active`, or after another one than before the message. */
function sawWork(played: Played): boolean {
  const { service, part } = played;
  const [post] = service.posts.slice(-1);
  // A later attempt knows from the comment what was seen.
  if (post === undefined) return part.earlier?.knowsBase === true;
  const base = seenStatuses(pollsBefore(service.polls, post)).at(-1) ?? null;
  const after = seenStatuses(pollsAfter(played));
  const from = isFinal(base) ? 0 : after.findIndex((status) => isFinal(status));
  const isWork = (status: string): boolean =>
    isFinal(base) ? isKnownStatus(status) && status !== base : status === 'active';
  const work = from < 0 ? -1 : after.findIndex((status, at) => at >= from && isWork(status));
  return work >= 0 && isFinal(after.at(-1) ?? null);
}

/** Whether messages that this run does not know make it impossible to tell whose the end is. */
function hasOthers({ scenario, part: { job, earlier }, knowsNotes }: Played): boolean {
  const isResent = scenario.resendOnRerun && earlier?.wasAccepted === true;
  const isUnknown = earlier?.wasAccepted === true && earlier.delivery !== 'sent';
  return job.otherAt !== null || isResent || isUnknown || (earlier !== null && !knowsNotes);
}

function sawEnd({ service }: Played): boolean {
  return answered(service.polls).at(-1)?.showsEnd === true;
}

/**
 * If the message was sent, the job can be polled and there is time enough, the run reports the end of the work
 * on it. That holds for messages that wait at most 53 s for the agent, with a longer settle time.
 */
function findsTheEnd(played: Played): boolean {
  const { scenario, part, job, service, beganAt } = played;
  const { wait, settleMs, timeoutMs, pollIntervalMs } = scenario;
  const isKnown = job.delivery === 'sent' && !hasOthers(played);
  const isUsual = part.job.queueMs <= 45_000 && settleMs >= 60_000 && !part.polls.forEver;
  if (!wait || !isKnown || !isUsual || job.end === null) return true;
  const endsAt = service.endsAt();
  if (job.end.result === 'cancelled' || job.end.result === 'error' || endsAt === null) return true;
  const neededMs = settleMs + 3 * (pollIntervalMs ?? 30_000) + 2 * OUTAGE_MS;
  const isLate =
    job.end.result === 'timed-out' && timeoutMs <= Math.max(endsAt, beganAt) + neededMs;
  return isLate || (job.end.result === part.job.ends && sawEnd(played));
}
