import { deliveryOf, isFinal, isKnownStatus } from '../../src/job.ts';
import { AFTER_CANCEL_MS, CALL_MS } from './github.ts';
import { conversationOf, isByBot, type Played, wasAccepted } from './run.ts';
import { type Poll, type Post, showsEnd } from './service.ts';

/** Milliseconds of inaccuracy by Node's timers and by reading the clock. */
const SLACK_MS = 20;
/** As the documents say. */
const LEAST_POST_MS = 2000;
const OVERTIME_MS = 2000;
const FRESH_MS = 1000;
const OUTAGE_MS = 600_000;
const GRACE_FOR_404_MS = 30_000;
/** If GitHub does not answer, the comment is looked for after 3 s. */
const LOOK_AGAIN_MS = 3000;
const LOOK_FOR_COMMENT_MS = LOOK_AGAIN_MS + CALL_MS;

/** How many messages the API may have accepted. */
const ACCEPTED: Readonly<Record<string, readonly number[]>> = {
  ...{ sent: [1], 'not-sent': [0], unknown: [0, 1] },
};

/** What is true of every job, whatever happens to it and to the other jobs of its run. */
type Promised = (played: Played, all: readonly Played[]) => boolean;
const PROMISES: Readonly<Record<string, Promised>> = {
  'every job ends': ({ job }) => job.end !== null && job.endedAt !== null,
  'the API accepts at most one message': ({ service }) => service.accepted() <= 1,
  'no POST after one that the API may have accepted': ({ service: { posts } }) =>
    posts.slice(0, -1).every(({ verdict }) => verdict === 'refused'),
  'no POST with send: false, or if an earlier attempt may have sent the message': (played) =>
    played.service.posts.length === 0 || fateOf(played) === 'send',
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
      // A poll is at least as old as its start, and always valid until its response. After a slow one, GitHub is asked.
      return post.startedAt <= before.endedAt + FRESH_MS + SLACK_MS;
    }),
  'no POST while the last poll showed the agent at work, unless when-active is send': ({
    scenario: { wait, whenActive },
    service: { posts, polls },
  }) =>
    whenActive === 'send' ||
    (whenActive === null && !wait) ||
    posts.every((post) => isFinal(statuses(pollsBefore(polls, post)).at(-1) ?? null)),
  'no POST if the first poll shows a status that is not in only-when': ({ scenario, service }) => {
    const status = answered(service.polls)[0]?.record?.status ?? null;
    const { onlyWhen } = scenario;
    const isWanted = onlyWhen?.has(isKnownStatus(status) ? status : 'active') ?? true;
    return isWanted || service.posts.length === 0;
  },
  'no POST that a bot triggers on the pull request of the job, or perhaps there': (played) =>
    !isByBot(played.scenario) ||
    played.service.posts.every((post) => {
      const { record } = answered(pollsBefore(played.service.polls, post)).at(-1) ?? {};
      const link = record?.prLink ?? null;
      return link !== null && !link.endsWith(`/${conversationOf(played.scenario)}`);
    }),
  'at most one request for a job at a time': ({ service: { polls, posts } }) =>
    [...polls, ...posts]
      .sort((one, other) => one.startedAt - other.startedAt)
      .every(({ startedAt }, index, all) => startedAt >= (all[index - 1]?.endedAt ?? 0)),
  'the outputs are saved at four moments at most, and after each message that had to wait': (
    { saved },
    all,
  ) => saved.length <= 3 + all.length,
  'no POST after a rate limit has refused another message for good': ({ job, endedAt }, all) => {
    const posts = all.flatMap(({ service }) => service.posts);
    const isStopped = job.end?.result === 'error' && job.end.reason.includes('answered 429 to');
    return !isStopped || posts.every(({ startedAt }) => startedAt <= endedAt);
  },
  'the delivery is true': (played) => isTrue(played, deliveryOf(played.job)),
  'the delivery is not-sent only if the API certainly did not accept a message': (played) =>
    (deliveryOf(played.job) === 'not-sent') ===
    (['send', 'read'].includes(fateOf(played)) &&
      played.service.posts.every(({ verdict }) => verdict === 'refused')),
  'the outputs are true whenever they are saved': (played) =>
    played.saved.every(
      ({ delivery, accepted }) => fateOf(played) !== 'send' || isTrue(played, delivery, accepted),
    ),
  'the comment is true: what it says of a delivery is certain, and at the end all': (played) => {
    const delivery = deliveryOf(played.job);
    const said = notedDeliveries(played);
    return (
      said.every((one) => one === 'sending' || one === delivery) &&
      (!isWritten(played) || said.length === 0 || said.at(-1) === delivery)
    );
  },
  'the comment says it at once if all messages are out, but the agent is not done': (
    played,
    all,
  ) => {
    const { github, scenario } = played;
    const dueAt = Math.max(...all.map(outAt)) + 2 * scenario.github.callMs + SLACK_MS;
    const isOver = all.every(({ endedAt }) => endedAt <= dueAt);
    if (isOver || dueAt > scenario.timeoutMs || !isWritten(played)) return true;
    const isOut = ({ delivery }: { delivery: string }) => delivery !== 'sending';
    const said = github.notes.filter(({ writtenAt }) => writtenAt <= dueAt).at(-1);
    return said === undefined || said.jobs.every(isOut);
  },
  'ends by the deadline, and 2 s': ({ scenario, endedAt, beganAt }) =>
    endedAt <= Math.max(scenario.timeoutMs, beganAt) + OVERTIME_MS,
  'ends right after a cancellation, or once GitHub has answered, within 4 s': (played) => {
    const at = played.cancelledAt ?? Infinity;
    return played.endedAt <= Math.min(withGitHub(played, at), at + AFTER_CANCEL_MS + SLACK_MS);
  },
  'a message that a cancellation stops is cancelled': ({ job, cancelledAt, endedAt }) =>
    endedAt <= (cancelledAt ?? Infinity) + SLACK_MS ||
    job.isReadOnly ||
    deliveryOf(job) !== 'not-sent' ||
    job.end?.result === 'cancelled',
  'polls about once a second at most, and counts each poll': (played) => {
    const { polls } = played.service;
    const mostOften = 20 + Math.max(0, played.endedAt - played.beganAt) / FRESH_MS;
    return polls.length <= mostOften && played.job.polls === polls.length;
  },
  'the result is true': ({ scenario, job, cancelledAt, endedAt }) => {
    const { result = null } = job.end ?? {};
    if (result === 'cancelled') return cancelledAt !== null;
    const delivery = deliveryOf(job);
    if (result === 'sent') return delivery === 'sent' && !scenario.wait;
    if (result === 'skipped') return delivery === 'not-sent';
    if (isFinal(result)) return job.record?.status === result;
    const isEarly = delivery === 'sent' && endedAt < scenario.timeoutMs - SLACK_MS;
    return result !== 'timed-out' || !isEarly;
  },
  'whether the end is confirmed is said after each wait for it': (played) => {
    const isWaited = played.scenario.wait && deliveryOf(played.job) !== 'not-sent';
    const isSaid = (played.job.end?.confirmed ?? null) !== null;
    return played.knownEnd !== null || isSaid === isWaited;
  },
  'a wait is lost only after an outage of 10 minutes, or an error that does not pass': (played) =>
    played.job.end?.result !== 'error' || deliveryOf(played.job) !== 'sent' || isLost(played),
  'a confirmed end is one after work that was seen after the message': (played) =>
    played.job.end?.confirmed !== true || sawWork(played),
  'an end that an earlier attempt saw is reported as it was, without a poll': (played) => {
    const { knownEnd, part, job, beganAt } = played;
    if (fateOf(played) !== 'resume' || knownEnd === null) return true;
    const { result, confirmed } = job.end ?? {};
    const isSame = result === knownEnd.ends && confirmed === part.earlier?.knowsBase;
    const isThen = Math.abs(played.endedAt - Math.min(knownEnd.end, beganAt)) <= SLACK_MS;
    return isSame && isThen && job.polls === 0;
  },
  'an end that comes after a message of another run is not confirmed': (played) =>
    fateOf(played) !== 'resume' ||
    !played.isOutdone ||
    played.knownEnd !== null ||
    played.job.end?.confirmed !== true,
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

/** The promises that the run broke. */
export function brokenPromises(all: readonly Played[]): readonly string[] {
  const broken = Object.entries(PROMISES).filter(
    ([, isKept]) => !all.every((played) => isKept(played, all)),
  );
  return broken.map(([promise]) => promise);
}

/** What a run does for a job: it sends, continues an earlier message, refuses in doubt, or only polls. */
function fateOf({ scenario, part, knowsNotes }: Played): 'send' | 'resume' | 'refuse' | 'read' {
  if (!scenario.send) return 'read';
  if (scenario.attempt === 1) return 'send';
  const delivery = part.earlier?.delivery ?? 'not-sent';
  if (knowsNotes && delivery === 'sent') return 'resume';
  return knowsNotes && delivery === 'not-sent' ? 'send' : 'refuse';
}

function isTrue(played: Played, delivery: string, accepted = played.service.accepted()): boolean {
  if (fateOf(played) === 'resume') return delivery === 'sent';
  return (ACCEPTED[delivery] ?? []).includes(accepted);
}

function notedDeliveries({ github, job }: Played): readonly string[] {
  const all = github.notes.flatMap(({ jobs }) => jobs);
  return all.filter(({ id }) => id === job.id).map(({ delivery }) => delivery);
}

/** When the message of a job was sent, or when it was clear that it is not. */
function outAt(played: Played): number {
  const post = played.service.posts.at(-1);
  if (post !== undefined && post.verdict !== 'refused') return post.endedAt;
  return fateOf(played) === 'send' ? played.endedAt : played.beganAt;
}

/** Otherwise, edits may fail. */
function isWritten(played: Played): boolean {
  const { github, cancel } = played.scenario;
  return !github.refusesEdits && cancel === null && isNoteFound(played);
}

/** If the creation had no answer, the run needs time before the deadline to look for its comment. */
function isNoteFound({ github: { creations }, scenario }: Played): boolean {
  const { create, callMs } = scenario.github;
  const foundAt = (creations[0]?.endedAt ?? 0) + LOOK_AGAIN_MS + callMs;
  return create !== 'lost' || foundAt < scenario.timeoutMs - SLACK_MS;
}

/** The polls whose record the client received. */
function answered(polls: readonly Poll[]): readonly Poll[] {
  return polls.filter(({ record }) => record !== null);
}

function statuses(polls: readonly Poll[]): readonly string[] {
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

/** That time or, if a call to GitHub is open then that the jobs wait for, the end of that. */
function withGitHub({ github, scenario, plan }: Played, at: number): number {
  const { create, callMs } = scenario.github;
  const isSilent = create === 'lost' || create === 'gone' || callMs > CALL_MS;
  const open = github.creations.filter(({ startedAt }) => startedAt <= at + SLACK_MS);
  // With a limit, the notes are read once more.
  const moreMs = (isSilent ? LOOK_FOR_COMMENT_MS : 0) + (plan.counts ? 2 * callMs : 0);
  const ends = open.map(({ endedAt }) => endedAt + moreMs);
  return Math.max(at, ...ends) + SLACK_MS;
}

function isLost(played: Played): boolean {
  const polls = pollsAfter(played);
  const streak = polls.slice(polls.findLastIndex(({ record }) => record !== null) + 1);
  const [first, last] = [streak[0], streak.at(-1)];
  if (first === undefined || last === undefined || last.exchange === null) return false;
  if (last.endedAt - first.endedAt >= OUTAGE_MS - SLACK_MS) return true;
  if (last.exchange.kind === 'failure') return last.exchange.cause === 'setup';
  const { status } = last.exchange;
  // The API may not know the job yet.
  if (status === 404) return last.endedAt - first.endedAt >= GRACE_FOR_404_MS - SLACK_MS;
  return status >= 300 && status < 500 && ![408, 425, 429, 499].includes(status);
}

/** Independent of the code: a final status after `active`, or after another one than before the message. */
function sawWork(played: Played): boolean {
  const { service, part } = played;
  const [post] = service.posts.slice(-1);
  // A later attempt knows from the comment what was seen.
  if (post === undefined) return part.earlier?.knowsBase === true;
  const base = answered(pollsBefore(service.polls, post)).at(-1)?.record?.status ?? null;
  if (base === null) return false;
  const after = statuses(pollsAfter(played));
  const from = isFinal(base) ? 0 : after.findIndex(isFinal);
  const isWork = (status: string): boolean =>
    isFinal(base) ? isKnownStatus(status) && status !== base : status === 'active';
  const work = from < 0 ? -1 : after.findIndex((status, at) => at >= from && isWork(status));
  return work >= 0 && isFinal(after.at(-1) ?? null);
}

/** Whether messages that this run does not know make it impossible to tell whose the end is. */
function hasOthers({ part: { job, earlier }, knowsNotes }: Played): boolean {
  if (job.otherAt !== null) return true;
  if (earlier === null) return false;
  return !knowsNotes || (wasAccepted(earlier) && earlier.delivery !== 'sent');
}

function sawEnd({ service, knownEnd }: Played): boolean {
  return knownEnd !== null || showsEnd(answered(service.polls).at(-1)?.record ?? null);
}

/**
 * If the message was sent, the job can be polled and there is time enough, the run reports the end of the work
 * on it. That holds for messages that wait at most 53 s for the agent, with a longer settle time.
 */
function findsTheEnd(played: Played): boolean {
  const { scenario, part, job, service, beganAt } = played;
  const { wait, settleMs, timeoutMs, pollIntervalMs } = scenario;
  const { result } = job.end ?? {};
  const endsAt = service.endsAt();
  const isKnown = wait && deliveryOf(job) === 'sent' && !hasOthers(played) && endsAt !== null;
  const isUsual = part.job.queueMs <= 45_000 && settleMs >= 60_000 && !part.polls.forEver;
  if (!isKnown || !isUsual || result === 'cancelled' || result === 'error') return true;
  const neededMs = settleMs + 3 * (pollIntervalMs ?? 30_000) + 3 * OUTAGE_MS;
  if (result === 'timed-out') return timeoutMs <= Math.max(endsAt, beganAt) + neededMs;
  return result === part.job.ends && sawEnd(played);
}
