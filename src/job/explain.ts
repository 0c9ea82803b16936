import { duration } from '../clock.ts';
import { type FinalStatus, isFinal, isKnownStatus } from '../service.ts';
import { quote, sentences } from '../text.ts';
import { deliveryOf, type Job, NEW_JOB, SETTLE_MS, statusBefore, statusOf } from './job.ts';
import { agentEnd, type Certainty, CHECK, type End, endAs } from './outcome.ts';

// Which of its ends a job has, by what is known of it, and what people can do then.

/**
 * How people go on with what a run could not finish. A re-run knows what was sent by the note; without, it is refused.
 */
export interface Again {
  /** With a message that was not sent. */
  readonly start:
    | 'Comment again'
    | 'Re-run the workflow'
    | 'Start a new run'
    | typeof WITH_THE_REST;
  /** Whether a re-run goes on with the wait. */
  readonly waitsOn: boolean;
}

/** Of several jobs without a note: a run of the whole list would send again what was sent. */
export const WITH_THE_REST = 'Start a new run with only the jobs that got no message';

/** What people do about what was not sent. `mayPass`: whether the cause may pass by itself. */
export function askAgain(start: Again['start'], mayPass: boolean): string {
  if (mayPass && start !== WITH_THE_REST) return `${start} later.`;
  return `${mayPass ? 'Later' : 'Once this is fixed'}, ${start.charAt(0).toLowerCase()}${start.slice(1)}.`;
}

/** What is true if the process is killed now. */
export function endNow(job: Job, wait: boolean): End {
  if (job.end !== undefined) return job.end;
  switch (deliveryOf(job)) {
    case 'not-sent':
      return endAs('killed before the message');
    case 'unknown':
      return endAs('killed during the message', job.id === NEW_JOB);
    case 'sent':
      return wait ? { ...endAs('killed in the wait'), confirmed: false } : endAs('sent');
  }
}

/** The job has a final status that counts as the end. */
export function doneEnd(job: Job, certainty: Certainty): End {
  const status = statusOf(job) as FinalStatus;
  return agentEnd(status, certainty, whyUnconfirmed(statusBefore(job), status));
}

/** Why a final status is perhaps not the end of the work on our message, and what to do. */
function whyUnconfirmed(before: string | undefined, status: FinalStatus): string {
  if (before === undefined) {
    return `The job is ${status}, but its status before the message is not known, so this may be the end of other work. ${CHECK}.`;
  }
  if (isFinal(before)) {
    const what =
      before === status
        ? `The status was already ${status} before the message, and did not change for ${duration(SETTLE_MS)}`
        : `The job is ${status}, but it was not seen at work`;
    return `${what}, so this may be the end of what the agent did before. ${CHECK}.`;
  }
  return `The job is ${status}, but the agent was already at work when the message was sent, so this may be the end of that work. ${CHECK}.`;
}

/** `why` says why the last request failed; empty if it did not. */
export function timedOutEnd(job: Job, again: Again, timeoutMs: number, why: string): End {
  const last = why === '' ? '' : `The last poll failed: ${why}`;
  if (job.message.kind === 'sent') return lateEnd(job, again, timeoutMs, last);
  const { start } = again;
  if (job.isWaiting)
    return endAs('other work was not done in time', timeoutMs, last, askAgain(start, true));
  return endAs('could not send in time', timeoutMs, why, start);
}

/** The agent was not seen to be done in time. */
function lateEnd(job: Job, again: Again, timeoutMs: number, last: string): End {
  const status = showStatus(statusOf(job));
  const limit = timeSpent(timeoutMs, job.waitedMs);
  return isFinal(statusOf(job))
    ? endAs('not confirmed in time', limit, status, last)
    : endAs('not done in time', limit, status, last, howToWaitAgain(again));
}

/** Milliseconds -> words. The time for the message is only what the agent left of it. */
function timeSpent(limitMs: number, waitedMs: number | undefined): string {
  if (waitedMs === undefined) return duration(limitMs);
  const forThis = duration(limitMs - waitedMs);
  return `${duration(limitMs)} (waited ${duration(waitedMs)} for what it was already doing, ${forThis} for this)`;
}

function howToWaitAgain({ waitsOn }: Again): string {
  return waitsOn
    ? 'To keep waiting, re-run the workflow; the message is not sent again.'
    : `${CHECK}.`;
}

/** The job cannot be polled, and `why` says why. `start`: what people do for what was not sent. */
export function lostEnd(job: Job, again: Again, why: string, start: string): End {
  const all = sentences(why, start);
  return job.message.kind === 'sent'
    ? endAs('lost', why, howToWaitAgain(again))
    : endAs('could not send', all);
}

export function cancelledEnd(job: Job, again: Again, wait: boolean): End {
  if (job.message.kind !== 'sent') return endAs('cancelled before the message', again.start);
  return wait ? endAs('cancelled in the wait', howToWaitAgain(again)) : endAs('cancelled');
}

/** It is not known whether the message was delivered. */
export function doubtfulEnd(job: Job, why: string, isCancelled: boolean): End {
  const isNew = job.id === NEW_JOB;
  return isCancelled ? endAs('cancelled during the message', isNew) : endAs('in doubt', why, isNew);
}

/** `only-when` leaves the job out. */
export function unwantedEnd(job: Job, onlyWhen: ReadonlySet<string>): End {
  return endAs('only-when', showStatus(statusOf(job)), [...onlyWhen]);
}

/** A known status is a word of ours. */
export function showStatus(status: string | undefined): string {
  if (status === undefined) return 'not known';
  return isKnownStatus(status) ? status : quote(status);
}
