import { duration } from '../clock.ts';
import { type FinalStatus, isFinal, isKnownStatus } from '../mintlify.ts';
import { quote } from '../text.ts';
import { agentEnd, type Certainty, CHECK, type End, endAs } from './ends.ts';
import { deliveryOf, type Job, NEW_JOB, SETTLE_MS, statusBefore, statusOf } from './job.ts';

// Which of its ends a job has, by what is known of it, and what people can do then.

/** What of a run its ends depend on. */
interface EndingRun {
  readonly inputs: {
    readonly timeoutMs: number;
    readonly wait: boolean;
    readonly jobIds: readonly string[];
  };
  /** Only with a `note`, a re-run knows what was sent. */
  readonly plan: { readonly comments: { readonly kind: string } };
}

/** What is true if the process is killed now. */
export function endNow(job: Job, wait: boolean): End {
  if (job.end !== undefined) return job.end;
  if (job.isReadOnly) return endAs('killed while it read');
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
export function timedOutEnd(job: Job, run: EndingRun, why: string): End {
  const { timeoutMs } = run.inputs;
  const last = why === '' ? '' : `The last poll failed: ${why}`;
  if (hasBegun(job)) return lateEnd(job, run, last);
  const again = howToStartAgain(job, run);
  if (job.isWaiting) return endAs('other work was not done in time', timeoutMs, last, again);
  return job.isReadOnly
    ? endAs('could not read in time', timeoutMs, why, again)
    : endAs('could not send in time', timeoutMs, why, again);
}

/** The agent was not seen to be done in time. */
function lateEnd(job: Job, run: EndingRun, last: string): End {
  const status = showStatus(statusOf(job));
  const limit = timeSpent(run.inputs.timeoutMs, job.waitedMs);
  return isFinal(statusOf(job)) && !job.isReadOnly
    ? endAs('not confirmed in time', limit, status, last)
    : endAs('not done in time', limit, status, last, howToWaitAgain(job, run));
}

/** Milliseconds -> words. The time for the message is only what the agent left of it. */
function timeSpent(limitMs: number, waitedMs: number | undefined): string {
  if (waitedMs === undefined) return duration(limitMs);
  const forThis = duration(limitMs - waitedMs);
  return `${duration(limitMs)} (waited ${duration(waitedMs)} for what it was already doing, ${forThis} for this)`;
}

/** Whether the message is sent or, without one, the job known, so that the rest is only waiting. */
function hasBegun(job: Job): boolean {
  return job.isReadOnly ? job.record !== undefined : job.message.kind === 'sent';
}

function howToWaitAgain(job: Job, run: EndingRun): string {
  if (job.isReadOnly) return 'To keep waiting, re-run the workflow.';
  if (canRerun(job, run)) {
    return 'To keep waiting, re-run the workflow; the message is not sent again.';
  }
  // The reasons of the jobs of a list are told once if they are the same.
  const named = run.inputs.jobIds.length > 1 ? 'the same “job-id”' : `“job-id: ${job.id}”`;
  return `To keep waiting, use a later run with “send: false” and ${named}.`;
}

function howToStartAgain(job: Job, run: EndingRun): string {
  return canRerun(job, run) ? 'Re-run the workflow' : 'Start a new run';
}

/** A re-run reads the note of this run. Without one it is refused, unless it sends nothing either. */
function canRerun({ isReadOnly }: Job, { plan }: EndingRun): boolean {
  return plan.comments.kind === 'note' || isReadOnly;
}

/** The job cannot be polled, and `why` says why. */
export function lostEnd(job: Job, run: EndingRun, why: string): End {
  if (job.isReadOnly) return endAs('could not read', why);
  return hasBegun(job)
    ? endAs('lost', why, howToWaitAgain(job, run))
    : endAs('could not send', why);
}

export function cancelledEnd(job: Job, run: EndingRun): End {
  if (!hasBegun(job)) {
    const again = howToStartAgain(job, run);
    return job.isReadOnly
      ? endAs('cancelled before it read', again)
      : endAs('cancelled before the message', again);
  }
  return run.inputs.wait
    ? endAs('cancelled in the wait', howToWaitAgain(job, run))
    : endAs('cancelled');
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
