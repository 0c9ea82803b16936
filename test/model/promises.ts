import { deliveryOf, isFinal, isKnownStatus } from '../../src/job.ts';
import { AFTER_CANCEL_MS, CALL_MS } from './github.ts';
import { conversationOf, isByBot, type Played, wasAccepted } from './run.ts';
import { type Poll, type Post, type Span, showsEnd } from './service.ts';

/** Milliseconds of inaccuracy by Node's timers and by reading the clock. */
const SLACK_MS = 20;
/** As the documents say. */
const LEAST_POST_MS = 2000;
const OVERTIME_MS = 2000;
const POST_MS = 60_000;
const POLL_MS = 30_000;
const OUTAGE_MS = 600_000;
const LONGEST_PAUSE_MS = 30_000;
const MOST_POLLS = 3;

/** How many messages the API may have accepted. */
const ACCEPTED: Readonly<Record<string, readonly number[]>> = {
  ...{ sent: [1], 'not-sent': [0], unknown: [0, 1] },
};

/** What is true of every job, whatever happens to it and to the other jobs of its run. */
type Promised = (played: Played, all: readonly Played[]) => boolean;
const PROMISES: Readonly<Record<string, Promised>> = {
  'every job ends': ({ job }) => job.end !== undefined && job.endedAt !== undefined,
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
  'with a wait, each POST has a last poll of its own, and follows it and the head at once': ({
    scenario,
    service: { polls, posts },
    github,
  }) =>
    !scenario.wait ||
    posts.every((post, index) => {
      const last = pollsBefore(polls, post).at(-1);
      const earlier = posts[index - 1]?.endedAt ?? 0;
      if (last?.record == null || last.startedAt < earlier) return false;
      const ends = github.calls
        .filter(({ kind, startedAt }) => kind === 'pull' && startedAt >= earlier)
        .map(({ endedAt }) => endedAt)
        .filter((at) => at <= post.startedAt);
      return post.startedAt <= Math.max(last.endedAt, ...ends) + SLACK_MS;
    }),
  'no POST while the last poll showed the agent at work, unless when-active is send': ({
    scenario,
    service: { posts, polls },
  }) =>
    !waitsForIdle(scenario) ||
    posts.every((post) => isFinal(statuses(pollsBefore(polls, post)).at(-1))),
  'no POST if the first poll shows a status that is not in only-when': ({ scenario, service }) => {
    const status = answered(service.polls)[0]?.record?.status;
    const { onlyWhen } = scenario;
    const isWanted = onlyWhen?.has(isKnownStatus(status) ? status : 'active') ?? true;
    return isWanted || service.posts.length === 0;
  },
  'every job is polled before its first POST': ({ service: { polls, posts } }) =>
    posts.every((post) => answered(pollsBefore(polls, post)).length > 0),
  'no POST of a bot without comments that count it': ({ scenario, service: { posts }, listed }) =>
    !isByBot(scenario) || posts.length === 0 || (scenario.comment && listed.own === true),
  'the first poll, and the last one before a POST, are made three times at most': (played) => {
    const { polls, posts } = played.service;
    if (!['send', 'read'].includes(fateOf(played))) return true;
    const from = polls.findIndex(({ record }) => record !== null);
    const last = polls.slice(polls.findLastIndex(({ record }) => record !== null) + 1);
    // A wait for earlier work has begun if a poll shows some.
    const isShown = answered(polls).some(({ record }) => !isFinal(record?.status));
    const isWait = !played.scenario.send || isShown;
    const isLast = posts.length === 0 && !isWait;
    return (from < 0 ? polls.length : from) <= MOST_POLLS && (!isLast || last.length <= MOST_POLLS);
  },
  'a wait is never blind: after each poll, the next one begins within 30 s': (played) => {
    if (deliveryOf(played.job) !== 'sent') return true;
    const polls = played.service.polls.filter(({ startedAt }) => startedAt >= outAt(played));
    return polls.every(({ endedAt: from }, index) => {
      return (polls[index + 1]?.startedAt ?? played.endedAt) <= from + LONGEST_PAUSE_MS + SLACK_MS;
    });
  },
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
    const isStopped =
      job.end?.result === 'error' && job.end.explanation.includes('answered 429 to');
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
    // A doubt about an earlier attempt is in the comment of that one.
    const delivery = fateOf(played) === 'refuse' ? 'not-sent' : deliveryOf(played.job);
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
  'ends by the deadline and 2 s, or with the requests that are under way then, within 60 s': (
    { scenario, endedAt, beganAt, github },
    all,
  ) => {
    const deadline = Math.max(scenario.timeoutMs, beganAt);
    const requests = all.flatMap(({ service: { polls, posts } }) => [...polls, ...posts]);
    let at = lastEnd(requests, deadline);
    // The comment is written after the polls.
    for (const call of github.calls) at = lastEnd([call], at);
    return endedAt <= Math.min(at, deadline + POST_MS) + OVERTIME_MS;
  },
  'each message has 60 s, and each poll 30 s, also beyond the deadline': ({ service }) =>
    service.posts.every(({ mostMs }) => mostMs === POST_MS) &&
    service.polls.every(({ mostMs }) => mostMs === POLL_MS),
  'ends right after a cancellation, or once GitHub has answered, within 6 s': (played) => {
    const at = played.cancelledAt ?? Infinity;
    return (
      played.endedAt <= Math.min(lastEnd(played.github.calls, at), at + AFTER_CANCEL_MS) + SLACK_MS
    );
  },
  'a message that a cancellation stops is cancelled': ({ job, service, endedAt, ...played }) => {
    const at = played.cancelledAt ?? Infinity;
    if (endedAt <= at + SLACK_MS || job.isReadOnly || deliveryOf(job) !== 'not-sent') return true;
    // The last poll has stopped it before, and the head of the pull request was still being read.
    const isOver = job.end?.result === 'error' && hasGivenUp(service.polls, at);
    return isOver || job.end?.result === 'cancelled';
  },
  'polls about once a second at most, and counts each poll': (played) => {
    const { polls } = played.service;
    const mostOften = 20 + Math.max(0, played.endedAt - played.beganAt) / 1000;
    return polls.length <= mostOften && played.job.polls === polls.length;
  },
  'the result is true': ({ scenario, job, cancelledAt, endedAt }) => {
    const { result } = job.end ?? {};
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
    const isSaid = played.job.end?.confirmed !== undefined;
    return played.knownEnd !== null || isSaid === isWaited;
  },
  'a wait is lost only after an outage of 10 minutes': (played) =>
    played.job.end?.result !== 'error' || deliveryOf(played.job) !== 'sent' || isLost(played),
  'a confirmed end is one after work that was seen after the message': (played) =>
    played.job.end?.confirmed !== true || sawWork(played),
  'an end that an earlier attempt saw is reported as it was, without a poll': (played) => {
    const { knownEnd, part, job } = played;
    if (fateOf(played) !== 'resume' || knownEnd === null) return true;
    const { result, confirmed } = job.end ?? {};
    const isThen = Math.abs(played.endedAt - knownEnd.end) <= SLACK_MS;
    const isSame = result === knownEnd.ends && confirmed === part.earlier?.knowsBase && isThen;
    // If the first list lags, there was a first poll.
    return isSame && (job.polls === 0 || played.listed.first === 'some');
  },
  'an end without work that was seen is taken only after the settle time of this attempt': (
    played,
  ) => {
    const { job, service, part, scenario } = played;
    const isTaken = job.end?.confirmed === false && isFinal(job.end.result);
    const knowsBase = service.posts.length > 0 ? job.base?.status : part.earlier?.knowsBase;
    if (!isTaken || !knowsBase || played.isOutdone || played.knownEnd !== null) return true;
    const since = service.posts.at(-1)?.endedAt ?? played.beganAt;
    return played.endedAt >= since + scenario.settleMs - SLACK_MS;
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
    const said = end?.explanation ?? '';
    return isPlain ? said === '' : /^[^\p{Cc}\u2028\u2029]+$/u.test(said);
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
function fateOf({ scenario, part, listed }: Played): 'send' | 'resume' | 'refuse' | 'read' {
  if (!scenario.send) return 'read';
  if (scenario.attempt === 1) return 'send';
  const { delivery = 'not-sent' } = part.earlier ?? {};
  // What is read later counts only for a message that is still to be sent.
  const isFound = listed.first === 'all' && delivery !== 'not-sent';
  if (listed.first === 'none' || (!isFound && listed.own === false)) return 'refuse';
  if (!isFound && listed.own === undefined) return 'send';
  if (delivery === 'sent') return 'resume';
  return delivery === 'not-sent' ? 'send' : 'refuse';
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
  if (fateOf(played) === 'send') return played.endedAt;
  const lists = played.github.calls.filter(({ kind }) => kind === 'list');
  return Math.max(played.beganAt, ...lists.map(({ endedAt }) => endedAt));
}

/** Otherwise, edits may fail, or the run does not know its comment. */
function isWritten({ scenario: { github, cancel } }: Played): boolean {
  const { refusesEdits, create, callMs } = github;
  return !refusesEdits && create !== 'lost' && cancel === null && callMs <= CALL_MS;
}

/** Whether a message waits for the agent. */
function waitsForIdle({ wait, whenActive, onlyWhen }: Played['scenario']): boolean {
  return whenActive === 'wait' || (whenActive === null && wait && !onlyWhen?.has('active'));
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

/** That time or, if requests are under way then, their end. */
function lastEnd(requests: readonly Span[], at: number): number {
  const open = requests.filter(({ startedAt }) => startedAt <= at + SLACK_MS);
  return Math.max(at, ...open.map(({ endedAt }) => endedAt));
}

/** Whether three polls have failed, or one shows a mistake. */
function hasGivenUp(polls: readonly Poll[], at: number): boolean {
  const streak = polls.slice(polls.findLastIndex(({ record }) => record !== null) + 1);
  const { exchange, endedAt = Infinity } = streak.at(-1) ?? {};
  if (exchange == null || endedAt > at) return false;
  const { cause = '', status = 0 } = { cause: undefined, status: undefined, ...exchange };
  const isMistake = status >= 300 && status < 500 && ![408, 425, 429, 499].includes(status);
  return streak.length === MOST_POLLS || isMistake || cause === 'setup';
}

/** All polls failed, for ten minutes from the start of the first. */
function isLost(played: Played): boolean {
  const polls = pollsAfter(played);
  const streak = polls.slice(polls.findLastIndex(({ record }) => record !== null) + 1);
  const [first, last] = [streak[0], streak.at(-1)];
  if (first === undefined || last === undefined) return false;
  return last.endedAt - first.startedAt >= OUTAGE_MS - SLACK_MS;
}

/** Independent of the code: a final status after `active`, or after another one than before the message. */
function sawWork(played: Played): boolean {
  const { service, part } = played;
  const [post] = service.posts.slice(-1);
  // A later attempt knows from the comment what was seen.
  if (post === undefined) return part.earlier?.knowsBase === true;
  const base = answered(pollsBefore(service.polls, post)).at(-1)?.record?.status;
  if (base === undefined) return false;
  const after = statuses(pollsAfter(played));
  const from = isFinal(base) ? 0 : after.findIndex(isFinal);
  const isWork = (status: string): boolean =>
    isFinal(base) ? isKnownStatus(status) && status !== base : status === 'active';
  const work = from < 0 ? -1 : after.findIndex((status, at) => at >= from && isWork(status));
  return work >= 0 && isFinal(after.at(-1));
}

/** Whether messages that this run does not know make it impossible to tell whose the end is. */
function hasOthers({ part: { job, earlier }, scenario }: Played): boolean {
  if (job.otherAt !== null) return true;
  return (
    earlier !== null && wasAccepted(earlier) && (!scenario.send || earlier.delivery !== 'sent')
  );
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
  const { wait, settleMs, timeoutMs } = scenario;
  const { result } = job.end ?? {};
  const endsAt = service.endsAt();
  const isKnown = wait && deliveryOf(job) === 'sent' && !hasOthers(played) && endsAt !== null;
  const isUsual = part.job.queueMs <= 45_000 && settleMs >= 60_000 && !part.polls.forEver;
  if (!isKnown || !isUsual || result === 'cancelled' || result === 'error') return true;
  const neededMs = settleMs + 3 * LONGEST_PAUSE_MS + 3 * OUTAGE_MS;
  if (result === 'timed-out') return timeoutMs <= Math.max(endsAt, beganAt) + neededMs;
  return result === part.job.ends && sawEnd(played);
}
