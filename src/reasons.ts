import { duration } from './clock.ts';
import type { Inputs } from './inputs.ts';
import {
  deliveryOf,
  type End,
  type FinalStatus,
  isFinal,
  type Job,
  statusBefore,
  statusOf,
} from './job.ts';
import { DASHBOARD_URL } from './link.ts';
import { listing, quote, sentences } from './text.ts';

// How a job ends, and the sentences that explain it: the reason says what happened and what to do about it, and the hint
// what the author of the workflow may change.

/** What of a run its ends depend on. */
interface EndingRun {
  readonly inputs: Pick<Inputs, 'timeoutMs' | 'wait'>;
  /** Its comment, which a re-run reads. */
  readonly note: object | null;
}

const CHECK = `Check the job in the dashboard (${DASHBOARD_URL})`;
const IT_MAY_HAVE_ARRIVED = `The message may have arrived, so it was not sent again. ${CHECK} before you send it again.`;
const WAIT_AGAIN = 'To keep waiting, re-run the workflow; this sends no message.';

export function endAs(result: End['result'], ...texts: readonly string[]): End {
  return { result, reason: sentences(...texts), hint: '', confirmed: null };
}

/** What is true if the process is killed now. */
export function endNow(job: Job, wait: boolean): End {
  if (job.end !== null) return job.end;
  if (job.isReadOnly) return endAs('error', 'The run ended while the job was being polled.');
  switch (deliveryOf(job)) {
    case 'not-sent':
      return endAs('error', 'The run ended before the message was sent.');
    case 'unknown':
      return endAs('error', 'The run ended while the message was being sent.', IT_MAY_HAVE_ARRIVED);
    case 'sent': {
      const sent = endAs('sent', wait ? 'The run ended before the agent was done.' : '');
      return { ...sent, confirmed: wait ? false : null };
    }
  }
}

/** The job has a final status that counts as the end. */
export function doneEnd(
  job: Job,
  done: 'confirmed' | 'unconfirmed' | 'no message',
  settleMs: number,
): End {
  const result = statusOf(job) as FinalStatus;
  if (done === 'unconfirmed') return unconfirmedEnd(job, result, settleMs);
  return {
    ...endAs(result, reasonOf(result, done === 'confirmed')),
    confirmed: done === 'confirmed' ? true : null,
  };
}

/** What is to be said of an end that is beyond doubt. */
function reasonOf(result: FinalStatus, isOfMessage: boolean): string {
  switch (result) {
    case 'completed':
      return '';
    case 'failed':
      return `The agent gave no reason. Open the job in the dashboard (${DASHBOARD_URL}).`;
    case 'archived':
      return isOfMessage
        ? 'The agent was at work on the message, but now the job is archived; use another job.'
        : 'The agent does not work on archived jobs; use another job.';
  }
}

/** Why a final status is perhaps not the end of the work on our message, and what to do. */
function unconfirmedEnd(job: Job, result: FinalStatus, settleMs: number): End {
  const end = { ...endAs(result), confirmed: false };
  if (result === 'archived') {
    const reason =
      'The job is archived, so the agent may not have worked on the message; use another job.';
    return { ...end, reason };
  }
  if (statusBefore(job) === null) {
    const reason = `The job is ${result}, but its status before the message is not known, so this may be the end of other work. ${CHECK}.`;
    return { ...end, reason };
  }
  if (isFinal(statusBefore(job))) {
    const reason =
      `The status was ${result} before the message and still is, ${duration(settleMs)} after it, so this may ` +
      `be the end of earlier work. ${CHECK}.`;
    return { ...end, reason, hint: 'To wait longer, increase “settle-seconds”.' };
  }
  const reason = `The job is ${result}, but the agent was already at work when the message was sent, so this may be the end of that work. ${CHECK}.`;
  return { ...end, reason, hint: 'To send only when the agent is done, set “when-active: wait”.' };
}

/** `why` says why the last request failed; empty if it did not. */
export function timedOutEnd(job: Job, run: EndingRun, why: string): End {
  const limit = duration(run.inputs.timeoutMs);
  const last = why === '' ? '' : `The last poll failed: ${why}`;
  if (isUnderway(job)) return lateEnd(job, run, last);
  const what = job.isReadOnly ? 'The job could not be polled' : 'The message could not be sent';
  const end = endAs(
    'timed-out',
    `${what} within ${limit}.`,
    ...(job.isWaiting
      ? ['The agent was still at work on something else. Re-run the workflow later.', last]
      : [why]),
  );
  return { ...end, hint: 'To wait longer, increase “timeout-minutes”.' };
}

/** The agent was not done in time. */
function lateEnd(job: Job, run: EndingRun, last: string): End {
  const status = statusOf(job);
  const limit = duration(run.inputs.timeoutMs);
  if (isFinal(status)) {
    const reason = `The job is ${status}, but within ${limit} it was not confirmed that this is the end of the work on the message. ${CHECK}.`;
    const hint = '“timeout-minutes” should be well above “settle-seconds”.';
    return { ...endAs('timed-out', reason, last), hint };
  }
  const said = `The agent was not done within ${limit}. Its status is ${shown(status)}, and it may keep working.`;
  const end = {
    ...endAs('timed-out', said, last),
    hint: 'To wait longer, increase “timeout-minutes”.',
  };
  return withNextWait(end, job, run);
}

/** Whether the message is sent or, without one, the job known, so that the rest is only waiting. */
function isUnderway(job: Job): boolean {
  return job.isReadOnly ? job.record !== null : job.message.kind === 'sent';
}

/** Says how to keep waiting. Readers of a comment can re-run the workflow, but not change it. */
function withNextWait(end: End, { isReadOnly }: Job, { note }: EndingRun): End {
  // A re-run reads the note of this run, or sends nothing either.
  const canRerun = note !== null || isReadOnly;
  if (canRerun) return { ...end, reason: sentences(end.reason, WAIT_AGAIN) };
  const hint = 'To keep waiting, use a later run with “send: false” and “wait: true”.';
  return { ...end, hint: sentences(end.hint, hint) };
}

/** Polling failed for too long. */
export function lostEnd(job: Job, run: EndingRun, why: string): End {
  if (job.isReadOnly) return endAs('error', 'The job cannot be polled.', why);
  if (!isUnderway(job)) return endAs('error', why);
  const end = endAs(
    'error',
    'The message was delivered, but the job can no longer be polled.',
    why,
    `The agent may keep working. ${CHECK}.`,
  );
  return withNextWait(end, job, run);
}

export function cancelledEnd(job: Job, run: EndingRun): End {
  if (!isUnderway(job)) {
    const what = job.isReadOnly ? 'job was polled' : 'message was sent';
    return endAs('cancelled', `The run was cancelled before the ${what}. Re-run it.`);
  }
  if (!run.inputs.wait) return endAs('cancelled', 'The run was cancelled.');
  const reason = 'The agent may keep working, but the cancelled run no longer waits for it.';
  return withNextWait(endAs('cancelled', reason), job, run);
}

/** The rate limit has refused another message of this run. */
export function stoppedEnd(why: string): End {
  return endAs('skipped', 'The API accepts no more messages for now.', why);
}

/** It is not known whether the message was delivered. */
export function doubtfulEnd(why: string, isCancelled: boolean): End {
  return isCancelled
    ? endAs(
        'cancelled',
        'The run was cancelled while the message was being sent.',
        IT_MAY_HAVE_ARRIVED,
      )
    : endAs('error', why, IT_MAY_HAVE_ARRIVED);
}

/** `only-when` leaves the job out. */
export function unwantedEnd(job: Job, onlyWhen: ReadonlySet<string>): End {
  const wanted = listing([...onlyWhen], 'or');
  const status = shown(statusOf(job));
  const end = endAs('skipped', `The job is ${status}; only ${wanted} jobs get the message.`);
  return { ...end, hint: 'The statuses are those in “only-when”.' };
}

/** A bot triggered the run, perhaps on the pull request of the job itself. */
export function loopEnd(login: string): End {
  return endAs(
    'skipped',
    `The bot ${quote(login)} triggered the run on the pull request of the job, or the API does not show that ` +
      'pull request, so a message could make the agent trigger itself.',
  );
}

/** The event is about a commit that is not the newest of its pull request. */
export function newerCommitEnd(): End {
  return endAs('skipped', 'The pull request has newer commits; their own checks decide.');
}

/** Another run has sent, or may still send, a message about the same commit. */
export function sameCommitEnd(): End {
  return endAs('skipped', 'Another run sends, or has sent, a message about this commit.');
}

/** Bots must not send without end, and people have set a limit. */
export function uncountedEnd(why: string): End {
  const reason = `Messages of bots, and messages with a limit, are counted by comments, but ${why}.`;
  const hint = 'Set “pr-number”, and leave “comment” at its default.';
  return { ...endAs('skipped', reason), hint };
}

export function limitEnd(limit: number): End {
  const reason =
    `This message was not sent: the workflow has sent, or may have sent, ${limit} without a command by a person. Look at what the ` +
    'agent did. Then write a command to go on, or re-run the workflow to send this message.';
  return { ...endAs('skipped', reason), hint: 'The limit is “max-messages”.', limit };
}

/** Another run, step or job of a matrix handles the same comment. */
export function takenEnd(): End {
  return endAs('skipped', 'Another run or step handles the same comment.');
}

/** A re-run cannot tell whether an earlier attempt sent the message. */
export function refusedEnd(why: string, remedy: string): End {
  return endAs(
    'error',
    `This re-run sent nothing. It cannot tell whether an earlier attempt sent the message, because ${why}. ${CHECK}.`,
    remedy,
  );
}

/** A known status is a word of ours. */
function shown(status: string | null): string {
  if (status === null) return 'not known';
  return isFinal(status) || status === 'active' ? status : quote(status);
}
