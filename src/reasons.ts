import { duration } from './clock.ts';
import { DASHBOARD_URL, type Inputs } from './inputs.ts';
import { type End, type FinalStatus, isBaseFinal, isFinal, type Job, statusOf } from './job.ts';
import { listing, quote, sentences } from './text.ts';

// How a job ends, and the sentence that explains it.

/** What of a run its ends depend on. */
interface Run {
  readonly inputs: Pick<Inputs, 'timeoutMs'>;
  /** Its comment, which a re-run reads. */
  readonly note: object | null;
}

const CHECK = `Check the job at ${DASHBOARD_URL}`;
const IT_MAY_HAVE_ARRIVED = `The message may have arrived, so it was not sent again. ${CHECK} before you send it again.`;

export function endAs(result: End['result'], ...texts: readonly string[]): End {
  return { result, reason: sentences(...texts), confirmed: null };
}

/** What is true if the process is killed now. */
export function endNow(job: Job, wait: boolean): End {
  if (job.end !== null) return job.end;
  if (job.isReadOnly) return endAs('error', 'The run ended while the job was being polled.');
  if (job.delivery === 'sent') {
    const sent = endAs('sent', wait ? 'The run ended before the agent was done.' : '');
    return { ...sent, confirmed: wait ? false : null };
  }
  return job.delivery === 'posting' || job.delivery === 'unknown'
    ? endAs('error', 'The run ended while the message was being sent.', IT_MAY_HAVE_ARRIVED)
    : endAs('error', 'The run ended before the message was sent.');
}

/** The job has a final status that counts as the end. `confirmed` is null if there was no message. */
export function doneEnd(job: Job, confirmed: boolean | null, settleMs: number): End {
  const result = statusOf(job) as FinalStatus;
  if (confirmed === false) return { ...endAs(result, doubtOf(job, result, settleMs)), confirmed };
  const reason = {
    completed: '',
    archived:
      confirmed === null
        ? 'The agent does not work on archived jobs; use another job.'
        : 'The agent was at work on the message, but now the job is archived; use another job.',
    failed: `To see why the agent failed, open the job at ${DASHBOARD_URL}.`,
  }[result];
  return { ...endAs(result, reason), confirmed };
}

/** Why a final status is perhaps not the end of the work on our message, and what to do. */
function doubtOf({ base }: Job, result: FinalStatus, settleMs: number): string {
  if (result === 'archived') {
    return 'The job is archived, so the agent may not have worked on the message; use another job.';
  }
  if (base === null) {
    return `The job is ${result}, but its status before the message is not known, so this may be the end of earlier work. ${CHECK}.`;
  }
  if (isBaseFinal(base)) {
    return (
      `The status was ${result} before the message and still is, ${duration(settleMs)} after it, so this may ` +
      `be the end of earlier work. ${CHECK}, or wait longer with “settle-seconds”.`
    );
  }
  return (
    `The job is ${result}, but the agent was already at work when the message was sent, so this may be the end of that ` +
    `work. ${CHECK}. To send only when the agent is done, set “when-active: wait”.`
  );
}

/** `why` says why the last request failed; empty if it did not. */
export function timedOutEnd(job: Job, run: Run, why: string): End {
  const status = statusOf(job);
  const limit = `“timeout-minutes” (${duration(run.inputs.timeoutMs)})`;
  const last = why === '' ? '' : `The last poll failed: ${why}`;
  if (isBefore(job)) {
    const what = job.isReadOnly ? 'The job could not be polled' : 'The message could not be sent';
    const work =
      'The agent was still at work on something else. Increase “timeout-minutes”, or send it later.';
    return endAs(
      'timed-out',
      `${what} within ${limit}.`,
      ...(job.isWaiting ? [work, last] : [why]),
    );
  }
  const said = isFinal(status)
    ? `The job is ${status}, but within ${limit} it was not confirmed that this is the end of the work on the ` +
      `message. ${CHECK}; “timeout-minutes” should be well above “settle-seconds”.`
    : `The agent was not done within ${limit}. Its status is ${shown(status)}, and it ` +
      `may keep working. Increase “timeout-minutes”, or ${waitAgain(job, run)}.`;
  return endAs('timed-out', said, last);
}

/** Whether there is nothing to wait for yet: the message is not sent or, without one, the job not known. */
function isBefore({ isReadOnly, record, delivery }: Job): boolean {
  return isReadOnly ? record === null : delivery !== 'sent';
}

/** A re-run reads the note of this run, or sends nothing either. */
function waitAgain({ isReadOnly }: Job, { note }: Run): string {
  return note !== null || isReadOnly
    ? 're-run the workflow: it only waits'
    : 'wait in a later run with “send: false” and “wait: true”';
}

/** Polling failed for too long. */
export function lostEnd(job: Job, run: Run, why: string): End {
  if (job.isReadOnly) return endAs('error', 'The job cannot be polled.', why);
  if (isBefore(job)) return endAs('error', why);
  return endAs(
    'error',
    'The message was delivered, but the job can no longer be polled.',
    why,
    `The agent may keep working. ${CHECK}, or ${waitAgain(job, run)}.`,
  );
}

export function cancelledEnd(job: Job, run: Run): End {
  return endAs(
    'cancelled',
    isBefore(job)
      ? `The run was cancelled before the ${job.isReadOnly ? 'job was polled' : 'message was sent'}.`
      : 'The agent may keep working, but the cancelled run no longer waits for it. To know the result, ' +
          `${waitAgain(job, run)}.`,
  );
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
  return endAs(
    'skipped',
    `The job is ${status}; only ${wanted} jobs get the message (“only-when”).`,
  );
}

/** A bot triggered the run, perhaps on the pull request of the job itself. */
export function loopEnd(login: string): End {
  return endAs(
    'skipped',
    `The bot ${quote(login)} triggered the run on the pull request of the job, or the API does not show that ` +
      'pull request, so a message could make the agent trigger itself.',
  );
}

/** Another run, step or job of a matrix handles the same comment. */
export function takenEnd(): End {
  return endAs('skipped', 'Another run or step handles the same comment.');
}

/** A re-run cannot tell whether an earlier attempt sent the message. */
export function refusedEnd(why: string): End {
  return endAs(
    'error',
    `This re-run sent nothing. It cannot tell whether an earlier attempt sent the message, because ${why}. ${CHECK}. ` +
      'To send the message, start a new run, write a new comment, or set “resend-on-rerun: true”.',
  );
}

/** A known status is a word of ours. */
function shown(status: string | null): string {
  if (status === null) return 'not known';
  return isFinal(status) || status === 'active' ? status : quote(status);
}
