import {
  type GiveUp,
  LEAST_POST_MS,
  messageSender,
  mustGiveUp,
  type Retry,
  type Sent,
  withRetries,
} from '../agent/client.ts';
import type { Note } from '../memory/announcements.ts';
import { NO_REASON, ours, type Reason, reasonToText, sentence } from '../reason.ts';
import { isFinal, type JobState, STATUSES, type Status, type Turn } from '../turn.ts';
import {
  emit,
  endJob,
  type Job,
  pollerBeforeSend,
  take,
  takeBaseline,
  takeDelivery,
  update,
} from './job.ts';
import { type Plan, stateOf } from './plan.ts';
import { done, doubtful, type End, handledElsewhere, notSent, type Unwanted } from './reasons.ts';
import { confirmDelivery, waitUntilDone } from './wait.ts';

// Carries out the plan of one job: send, resume or only poll, then wait.

export interface Message {
  readonly prompt: string;
  /** Whether the job is polled before: `once` to find its pull request, or `fresh` to compare later polls with. */
  readonly baseline: 'none' | 'once' | 'fresh';
  /** When the first poll begins: before the message is announced, together with that, or afterwards. */
  readonly firstPoll: 'before' | 'beside' | 'after';
  /** Whether the message is only sent if the comment notes it. */
  readonly mustBeNoted: boolean;
  /** Whether only the announcement shows that no earlier attempt sent it: in an edit history, or by its claim. */
  readonly isUnchecked: boolean;
  /** Called before the message is sent. It never rejects. */
  readonly announce: () => Promise<Note>;
}

/** Milliseconds. A change after the baseline counts as an effect of the message. */
const FRESH_BASELINE_MS = 1000;

/** An earlier attempt or, for a command, another run ended before it wrote what it knew. */
const EARLIER_DOUBT = ours('The comment does not say whether the message was delivered.');
const notNoted = (why: Reason): Reason =>
  sentence`This is a re-run, and the message could not be noted in the comment (${why}), so another
    attempt could send it twice. Start a new run, write a new comment, or set
    ${'resend-on-rerun: true'}. If the job lacks ${'pull-requests: write'}, give it that first.`;

/** Another use of the step has already continued the turn of the earlier attempt. */
const PLAN_AGAIN = 'plan again';

/** Carries out the plan of a job. Resolves to whether that was possible; if not, plan the job again. */
export async function runJob(job: Job, plan: Plan, message: Message): Promise<boolean> {
  const end = await carryOut(job, plan, message);
  if (end === PLAN_AGAIN) return false;
  if (end === null) emit(job, { kind: 'ended' });
  else endJob(job, end);
  return true;
}

/** Null if an earlier attempt has already seen the end. */
async function carryOut(
  job: Job,
  plan: Plan,
  message: Message,
): Promise<End | null | typeof PLAN_AGAIN> {
  switch (plan.kind) {
    case 'send':
      return send(job, message);
    case 'resume':
      return resume(job, plan.isOvertaken);
    case 'read-only':
      return pollOnly(job, plan.turn !== null);
    case 'refuse':
      return plan.isUnknown ? refuse(job, plan.end, message) : plan.end;
    case 'ended':
      return null;
  }
}

/** A job in a status that `only-when` leaves out gets no message in any case, which is no error. */
async function refuse(job: Job, end: End, message: Message): Promise<End> {
  if (job.inputs.onlyWhen === null) return end;
  const read = await withRetries(job.context, baselineReader(job, message));
  return read.kind === 'unwanted' ? withoutMessage(job, read) : end;
}

/**
 * 1. Poll the job before or beside the announcement. If before, the comment keeps the baseline for a re-run.
 * 2. Announce the message, and find out whether another run sends it.
 * 3. Poll the job again if the baseline is older than a second.
 * 4. Send the message.
 */
async function send(job: Job, message: Message): Promise<End | typeof PLAN_AGAIN> {
  const { context } = job;
  const baseline = baselineReader(job, message);
  function giveUp(cause: GiveUp | Unwanted): End {
    // A later attempt would believe that no earlier one sent it.
    if (message.isUnchecked) emit(job, { kind: 'withdrawn' });
    return withoutMessage(job, cause);
  }
  if (message.firstPoll === 'before') {
    const read = await withRetries(context, baseline);
    if (read.kind !== 'ready') return giveUp(read);
  }
  const over = mustGiveUp(context, LEAST_POST_MS);
  if (over !== null) return giveUp(over);
  const polling = message.firstPoll === 'beside' ? baseline() : null;
  const [note, early] = await Promise.all([message.announce(), polling]);
  // A cancellation or the deadline may be the reason that there is no note.
  const late = mustGiveUp(context, LEAST_POST_MS);
  if (late !== null) return note.kind === 'noted' ? withoutMessage(job, late) : giveUp(late);
  if (note.kind === 'taken') return leaveToOther(job, note.turn);
  if (note.kind === 'unclear') return giveUp({ kind: 'refused', why: note.why });
  if (note.kind === 'missing' && message.mustBeNoted) {
    return giveUp({ kind: 'refused', why: notNoted(note.why) });
  }
  return post(job, message, baseline, early);
}

/** Another run or another use of the step sends the message, or an unknown earlier attempt has sent it. */
async function leaveToOther(job: Job, turn: Turn | null): Promise<End | typeof PLAN_AGAIN> {
  const { jobId, turn: own } = job.state;
  // Only the run of a turn may change it.
  if (
    turn === null ||
    own.runId !== turn.runId ||
    own.attempt < turn.attempt ||
    own.attempt === 1
  ) {
    return handledElsewhere(jobId, own, turn);
  }
  if (turn.mark === own.mark && turn.attempt === own.attempt) return PLAN_AGAIN;
  const plan: Plan = { kind: 'resume', turn, isOvertaken: false };
  job.state = stateOf(job.state, plan, own, job.inputs.wait);
  return resume(job, false);
}

async function post(
  job: Job,
  message: Message,
  baseline: () => Promise<Baseline>,
  early: Baseline | null,
): Promise<End> {
  const { inputs, context } = job;
  const sent = await withRetries(context, sendAttempt(job, message, baseline, early));
  if (sent.kind === 'doubtful') {
    // Without a fresh baseline, polls show nothing.
    if (message.baseline !== 'fresh' || !(await confirmDelivery(job, sent.why))) {
      return doubtful(sent.why, context.signal.aborted);
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
  return inputs.wait ? waitUntilDone(job) : { result: 'sent', reason: NO_REASON };
}

function withoutMessage(job: Job, cause: GiveUp | Unwanted): End {
  if (cause.kind === 'unwanted') emit(job, { kind: 'withdrawn' });
  return notSent(job.state, job.inputs, cause);
}

/** Whether the baseline is known and fresh, or why the message must not be sent. */
type Baseline = { readonly kind: 'ready' } | GiveUp | Retry | Unwanted;

/** Returns a function that polls the job unless the baseline is fresh. */
function baselineReader(job: Job, { baseline }: Message): () => Promise<Baseline> {
  const { context } = job;
  const { onlyWhen } = job.inputs;
  const poll = pollerBeforeSend(job);
  let readAt: number | null = null;
  return async () => {
    const isRead = readAt !== null && (baseline === 'once' || isFresh(readAt));
    if (baseline === 'none' || isRead) return { kind: 'ready' };
    const seen = await poll();
    if (seen.kind !== 'fetched') return seen;
    takeBaseline(job, seen);
    // The record may be as old as the start of the poll.
    readAt = seen.from;
    const isWanted = onlyWhen === null || onlyWhen.has(statusOf(job.state));
    return isWanted ? { kind: 'ready' } : { kind: 'unwanted', onlyWhen };
  };

  function isFresh(at: number): boolean {
    return context.clock.now() - at <= FRESH_BASELINE_MS;
  }
}

function sendAttempt(
  job: Job,
  { prompt }: Message,
  baseline: () => Promise<Baseline>,
  early: Baseline | null,
): () => Promise<Sent | Unwanted | Retry> {
  const { context } = job;
  const postOnce = messageSender(context, job.state.jobId, prompt, () => {
    update(job, { delivery: 'unknown' });
    return emit(job, { kind: 'sending' });
  });
  // A poll that failed beside the announcement was the first attempt.
  let failed = early?.kind === 'ready' ? null : early;
  return async () => {
    const seen = failed ?? (await baseline());
    failed = null;
    if (seen.kind !== 'ready') return seen;
    const sent = await postOnce();
    if (sent.kind !== 'doubtful' && sent.kind !== 'delivered') {
      update(job, { delivery: 'not-sent' });
    }
    if (sent.kind === 'retry') emit(job, { kind: 'held', why: sent.why, afterMs: sent.afterMs });
    return sent;
  };
}

/** An undocumented status counts as active: the agent is not done. */
function statusOf({ record }: JobState): Status {
  return STATUSES.find((status) => status === record?.status) ?? 'active';
}

/** Sends nothing. Polls once or, with a wait, until the agent is done. */
async function pollOnly(job: Job, isUnfinished: boolean): Promise<End> {
  if (isUnfinished) update(job, { sentAt: rememberedSentAt(job) });
  if (job.inputs.wait) return waitUntilDone(job);
  const poll = await withRetries(job.context, pollerBeforeSend(job));
  if (poll.kind !== 'fetched') return withoutMessage(job, poll);
  take(job, poll.record);
  return isFinal(poll.record.status)
    ? done(job.state, NO_REASON)
    : { result: 'active', reason: NO_REASON };
}

/** Continues where an earlier attempt of the same run stopped. */
async function resume(job: Job, isOvertaken: boolean): Promise<End> {
  const { inputs, context, state } = job;
  if (state.turn.delivery !== 'sent') {
    if (!(await confirmDelivery(job, EARLIER_DOUBT))) {
      return doubtful(EARLIER_DOUBT, context.signal.aborted);
    }
    // Another message may have changed the job in the meantime, so a change confirms nothing.
    update(job, { base: null });
  }
  update(job, { delivery: 'sent', sentAt: rememberedSentAt(job) });
  emit(job, { kind: 'resumed' });
  return inputs.wait ? waitUntilDone(job, isOvertaken) : { result: 'sent', reason: NO_REASON };
}

/**
 * Never later than now: the runner of the earlier attempt may have had another time, and a wait that
 * counts from the future would not poll before. Whoever edits the comment can remove the time.
 */
function rememberedSentAt({ state, context }: Job): number {
  const now = context.clock.now();
  return Math.min(state.turn.sentAt ?? now, now);
}
