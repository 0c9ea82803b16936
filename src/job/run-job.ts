import {
  type GiveUp,
  LEAST_POST_MS,
  messageSender,
  mustGiveUp,
  pollBeforeSend,
  pollUntilFetched,
  type Retry,
  type Sent,
  withRetries,
} from '../agent/client.ts';
import type { Note } from '../memory/updates.ts';
import { NO_REASON, ours, type Reason, reasonToText, sentence } from '../reason.ts';
import { type JobState, STATUSES, type Status, type Turn } from '../turn.ts';
import {
  emit,
  endJob,
  type Job,
  pollHooks,
  take,
  takeBaseline,
  takeDelivery,
  update,
} from './job.ts';
import { type Plan, stateOf } from './plan.ts';
import { doubtful, type End, handledElsewhere, notSent, type Unwanted } from './reasons.ts';
import { confirmDelivery, waitUntilDone } from './wait.ts';

// What is done for one job once it is planned: send, resume or look, then wait.

/** What a message needs. */
export interface Message {
  readonly prompt: string;
  /** The statuses in which the job gets the message; null is any. */
  readonly onlyWhen: ReadonlySet<Status> | null;
  /** What the job shows before the message: of no use, to know its conversation, or to compare with. */
  readonly baseline: 'none' | 'once' | 'fresh';
  /** Whether it is read before the message is announced. */
  readonly pollsFirst: boolean;
  /** Whether a message that could not be announced does not go out. */
  readonly mustBeNoted: boolean;
  /** The turn as this run would begin it. */
  readonly own: Turn;
  /** Awaited once, before the message goes out. It never rejects. */
  readonly announce: () => Promise<Note>;
}

/** Milliseconds for which a baseline holds: what changes later would be taken for the message's effect. */
const FRESH_MS = 1000;

const EARLIER_DOUBT = ours(
  'An earlier attempt of this run did not learn whether its message was delivered.',
);
const notNoted = (why: Reason): Reason =>
  sentence`This is a re-run, and no note of the message stands in the comment (${why}), so an attempt
    could send it twice. Give the job ${'pull-requests: write'}, start a new run, or set
    ${'resend-on-rerun: true'}.`;

/** Carries out the plan of a job. */
export async function runJob(job: Job, plan: Plan, message: Message): Promise<void> {
  const end = await carryOut(job, plan, message);
  if (end === null) emit(job, { kind: 'ended' });
  else endJob(job, end);
}

/** Null where an earlier attempt saw the end already. */
async function carryOut(job: Job, plan: Plan, message: Message): Promise<End | null> {
  switch (plan.kind) {
    case 'send':
      return send(job, message);
    case 'resume':
      return resume(job);
    case 'read-only':
      return look(job, plan.turn !== null);
    case 'refuse':
      return plan.end;
    case 'ended':
      return null;
  }
}

/**
 * 1. Read the baseline, where it is needed to announce the message: the comment keeps it for a re-run.
 * 2. Announce the message, and find out whether somebody else has it.
 * 3. Read the baseline again if it is older than a second.
 * 4. Send the message.
 */
async function send(job: Job, message: Message): Promise<End> {
  const { options, context } = job;
  const baseline = baselineReader(job, message);
  if (message.pollsFirst) {
    const seen = await withRetries(context, baseline);
    if (seen.kind !== 'ready') return withoutMessage(job, seen);
  }
  const over = mustGiveUp(context, LEAST_POST_MS);
  if (over !== null) return notSent(job.state, options, over);
  const note = await message.announce();
  // A cancel or the deadline may be why it was not written.
  const late = mustGiveUp(context, LEAST_POST_MS);
  if (late !== null) return notSent(job.state, options, late);
  if (note.kind === 'taken') return leaveIt(job, message, note.turn);
  if (note.kind === 'missing' && message.mustBeNoted) {
    return notSent(job.state, options, { kind: 'refused', why: notNoted(note.why) });
  }
  return post(job, message, baseline);
}

/** Somebody else has the message: another run, or an earlier attempt that was not known of. */
async function leaveIt(job: Job, message: Message, turn: Turn | null): Promise<End> {
  const { wait } = job.options;
  if (message.own.attempt === 1 || turn === null) {
    return handledElsewhere(job.state.jobId, turn?.runId ?? null);
  }
  const { jobId, polls } = job.state;
  const plan: Plan = { kind: 'resume', turn, isOvertaken: false };
  job.state = stateOf(jobId, plan, message.own, { wait, polls });
  return resume(job);
}

async function post(job: Job, message: Message, baseline: BaselineReader): Promise<End> {
  const { options, context } = job;
  const sent = await withRetries(context, sendAttempt(job, message, baseline));
  if (sent.kind === 'doubtful') {
    // Where no baseline is read, the message is the one request that is made.
    if (message.baseline !== 'fresh' || !(await confirmDelivery(job, sent.why))) {
      return doubtful(sent.why, options, context.signal.aborted);
    }
    takeDelivery(job, null);
    const text = `${reasonToText(sent.why)} The job shows that the message arrived.`;
    emit(job, { kind: 'warning', text });
  } else if (sent.kind === 'delivered') {
    takeDelivery(job, sent.record);
    if (sent.warning !== '') emit(job, { kind: 'warning', text: sent.warning });
  } else {
    return withoutMessage(job, sent);
  }
  return options.wait ? waitUntilDone(job) : { result: 'sent', reason: NO_REASON };
}

function withoutMessage(job: Job, cause: GiveUp | Unwanted): End {
  if (cause.kind === 'unwanted') emit(job, { kind: 'unwanted' });
  return notSent(job.state, job.options, cause);
}

/** Reads the baseline unless it is fresh, and says what is against the message. */
type BaselineReader = () => Promise<{ readonly kind: 'ready' } | GiveUp | Retry | Unwanted>;

function baselineReader(job: Job, { baseline, onlyWhen }: Message): BaselineReader {
  const { context } = job;
  const poll = pollBeforeSend(context, job.state.jobId, pollHooks(job));
  let readAt: number | null = null;
  return async () => {
    const isRead = readAt !== null && (baseline === 'once' || isFresh(readAt));
    if (baseline === 'none' || isRead) return { kind: 'ready' };
    const seen = await poll();
    if (seen.kind !== 'fetched') return seen;
    takeBaseline(job, seen);
    // What it shows may be as old as the beginning of the poll.
    readAt = seen.during.from;
    const isWanted = onlyWhen === null || onlyWhen.has(statusOf(job.state));
    return isWanted ? { kind: 'ready' } : { kind: 'unwanted', onlyWhen };
  };

  function isFresh(at: number): boolean {
    return context.clock.now() - at <= FRESH_MS;
  }
}

function sendAttempt(
  job: Job,
  { prompt }: Message,
  baseline: BaselineReader,
): () => Promise<Sent | Unwanted | GiveUp | Retry> {
  const { context } = job;
  const postOnce = messageSender(context, job.state.jobId, prompt, () => {
    update(job, { delivery: 'unknown' });
    return emit(job, { kind: 'sending' });
  });
  return async () => {
    const seen = await baseline();
    if (seen.kind !== 'ready') return seen;
    const sent = await postOnce();
    if (sent.kind !== 'doubtful' && sent.kind !== 'delivered') {
      update(job, { delivery: 'not-sent' });
    }
    if (sent.kind === 'retry') emit(job, { kind: 'held', why: sent.why, afterMs: sent.afterMs });
    return sent;
  };
}

/** A status that the service does not document counts as active: the agent is not done. */
function statusOf({ record }: JobState): Status {
  return STATUSES.find((status) => status === record?.status) ?? 'active';
}

/** Sends nothing. Polls once or, if that is wanted, until the agent is done. */
async function look(job: Job, isUnfinished: boolean): Promise<End> {
  const { options, context, state } = job;
  if (isUnfinished) update(job, { sentAt: state.turn.sentAt ?? context.clock.now() });
  if (options.wait) return waitUntilDone(job);
  const end = await pollUntilFetched(context, job.state.jobId, pollHooks(job));
  if (end.kind !== 'fetched') return notSent(job.state, options, end);
  take(job, end.record);
  return { result: statusOf(job.state), reason: NO_REASON };
}

/** Goes on where an earlier attempt of the same run stopped. */
async function resume(job: Job): Promise<End> {
  const { options, context, state } = job;
  if (state.turn.delivery !== 'sent') {
    if (!(await confirmDelivery(job, EARLIER_DOUBT))) {
      return doubtful(EARLIER_DOUBT, options, context.signal.aborted);
    }
    // It is a while ago: what has changed since may be somebody else's doing, and confirms nothing.
    update(job, { base: null });
  }
  update(job, { delivery: 'sent', sentAt: state.turn.sentAt ?? context.clock.now() });
  emit(job, { kind: 'resumed' });
  return options.wait ? waitUntilDone(job) : { result: 'sent', reason: NO_REASON };
}
