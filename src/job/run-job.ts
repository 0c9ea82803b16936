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
import { type JobState, STATUSES, type Status } from '../turn.ts';
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
import type { Plan } from './plan.ts';
import { doubtful, type End, notSent, type Unwanted } from './reasons.ts';
import { confirmDelivery, waitUntilDone } from './wait.ts';

// What is done for one job once it is planned: send, resume or look, then wait.

/** What a message needs. */
export interface Message {
  readonly prompt: string;
  /** The statuses in which the job gets the message; null is any. */
  readonly onlyWhen: ReadonlySet<Status> | null;
  /**
   * Awaited once, before the message goes out. It never rejects; a sentence that it resolves to keeps
   * the message from going out.
   */
  readonly announce: () => Promise<string | undefined>;
}

/** Milliseconds for which a baseline holds: what changes later would be taken for the message's effect. */
const FRESH_MS = 1000;

const EARLIER_DOUBT = 'An earlier attempt of this run did not learn what came of its message.';

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
    case 'look':
      return look(job, plan.turn !== null);
    case 'refuse':
      return plan.end;
    case 'ended':
      return null;
  }
}

async function send(job: Job, message: Message): Promise<End> {
  const { options, context } = job;
  const sent = await withRetries(context, sendAttempt(job, message));
  if (sent.kind === 'doubtful') {
    // Where no baseline is read, the message is the one request that is made.
    if (!needsBaseline(job, message) || !(await confirmDelivery(job, sent.why))) {
      return doubtful(sent.why, options, context.signal.aborted);
    }
    takeDelivery(job, null);
    const text = `${sent.why} The job shows that the message arrived.`;
    emit(job, { kind: 'warning', text });
  } else if (sent.kind === 'delivered') {
    takeDelivery(job, sent.record);
    if (sent.warning !== '') emit(job, { kind: 'warning', text: sent.warning });
  } else {
    return notSent(job.state, options, sent);
  }
  return options.wait ? waitUntilDone(job) : { result: 'sent', reason: '' };
}

function needsBaseline({ options }: Job, { onlyWhen }: Message): boolean {
  return options.wait || onlyWhen !== null;
}

/**
 * One attempt, from its beginning:
 *
 * 1. Read the baseline. One from before a pause is out of date.
 * 2. Announce the message, once. The comment keeps the baseline for a re-run.
 * 3. Read the baseline again if it is older than a second.
 * 4. Send the message.
 */
function sendAttempt(job: Job, message: Message): () => Promise<Sent | Unwanted | GiveUp | Retry> {
  const { context } = job;
  const { clock } = context;
  const poll = pollBeforeSend(context, job.state.jobId, pollHooks(job));
  const post = messageSender(context, job.state.jobId, message.prompt, () => {
    update(job, { delivery: 'unknown' });
    return emit(job, { kind: 'sending' });
  });
  let announced: Promise<string | undefined> | undefined;
  let readAt = 0;

  /** Null if nothing is against the message. */
  async function readBaseline(): Promise<GiveUp | Retry | Unwanted | null> {
    if (!needsBaseline(job, message)) return null;
    const seen = await poll();
    if (seen.kind !== 'fetched') return seen;
    takeBaseline(job, seen);
    // What it shows may be as old as the beginning of the poll.
    readAt = seen.during.from;
    const { onlyWhen } = message;
    if (onlyWhen === null || onlyWhen.has(statusOf(job.state))) return null;
    return { kind: 'unwanted', onlyWhen };
  }

  return async () => {
    const first = (await readBaseline()) ?? mustGiveUp(context, LEAST_POST_MS);
    if (first !== null) return first;
    announced ??= message.announce();
    const problem = await announced;
    // A cancel or the deadline may be why the announcement was not written.
    const over = mustGiveUp(context, LEAST_POST_MS);
    if (over !== null) return over;
    if (problem !== undefined) return { kind: 'refused', why: problem };
    const second = clock.now() - readAt > FRESH_MS ? await readBaseline() : null;
    if (second !== null) return second;
    const sent = await post();
    if (sent.kind !== 'doubtful' && sent.kind !== 'delivered')
      update(job, { delivery: 'not-sent' });
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
  return { result: statusOf(job.state), reason: '' };
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
  return options.wait ? waitUntilDone(job) : { result: 'sent', reason: '' };
}
