import { duration } from '../clock.ts';
import { DASHBOARD_URL } from '../mintlify.ts';
import { listing, plural, quote, sentences } from '../text.ts';
import {
  deliveryOf,
  type End,
  type FinalStatus,
  isFinal,
  isKnownStatus,
  type Job,
  NEW_JOB,
  SETTLE_MS,
  statusBefore,
  statusOf,
} from './job.ts';

// How a job ends, and the sentences that explain it: the fact, then what to do about it. Comments show them, and their readers
// did not write the workflow, so they name an input only if nothing else helps.

/** What of a run its ends depend on. */
interface EndingRun {
  readonly inputs: { readonly timeoutMs: number; readonly wait: boolean };
  /** Only with a `note`, a re-run knows what was sent. */
  readonly plan: { readonly comments: { readonly kind: string } };
}

const CHECK = `Check the job in the dashboard (${DASHBOARD_URL})`;
const IT_MAY_HAVE_ARRIVED = `The message may have arrived, so it was not sent again. ${CHECK} before you send it again.`;
const A_JOB_MAY_EXIST = `The job may have been created, so this was not tried again. Look for it in the dashboard (${DASHBOARD_URL}).`;

/** `isNew`: the message creates the job. */
function doubtAbout(isNew: boolean): string {
  return isNew ? A_JOB_MAY_EXIST : IT_MAY_HAVE_ARRIVED;
}

export function endAs(result: End['result'], ...texts: readonly string[]): End {
  return { result, explanation: sentences(...texts) };
}

/** What is true if the process is killed now. */
export function endNow(job: Job, wait: boolean): End {
  if (job.end !== undefined) return job.end;
  if (job.isReadOnly) return endAs('error', 'The run ended while the job was being polled.');
  switch (deliveryOf(job)) {
    case 'not-sent':
      return endAs('error', 'The run ended before the message was sent.');
    case 'unknown':
      return endAs(
        'error',
        'The run ended while the message was being sent.',
        doubtAbout(job.id === NEW_JOB),
      );
    case 'sent':
      return wait
        ? { ...endAs('sent', 'The run ended before the agent was done.'), confirmed: false }
        : endAs('sent');
  }
}

/** The job has a final status that counts as the end. */
export function doneEnd(job: Job, done: 'confirmed' | 'unconfirmed' | 'no message'): End {
  const result = statusOf(job) as FinalStatus;
  if (done === 'unconfirmed') {
    const explanation = whyUnconfirmed(job, result);
    return { result, explanation, confirmed: false };
  }
  const end = endAs(result, explainFinal(result, done === 'confirmed'));
  return done === 'confirmed' ? { ...end, confirmed: true } : end;
}

/** What is to be said of an end that is beyond doubt. */
function explainFinal(result: FinalStatus, isOfMessage: boolean): string {
  switch (result) {
    case 'completed':
      return '';
    case 'failed':
      return `The API does not say why the agent failed. Open the job in the dashboard (${DASHBOARD_URL}).`;
    case 'archived':
      return isOfMessage
        ? 'The agent was at work on the message, but now the job is archived; use another job.'
        : 'The agent does not work on archived jobs; use another job.';
  }
}

/** Why a final status is perhaps not the end of the work on our message, and what to do. */
function whyUnconfirmed(job: Job, result: FinalStatus): string {
  const before = statusBefore(job);
  if (result === 'archived') {
    return 'The job is archived, so the agent may not have worked on the message; use another job.';
  }
  if (before === undefined) {
    return `The job is ${result}, but its status before the message is not known, so this may be the end of other work. ${CHECK}.`;
  }
  if (isFinal(before)) {
    const what =
      before === result
        ? `The status was already ${result} before the message, and did not change for ${duration(SETTLE_MS)}`
        : `The job is ${result}, but it was not seen at work`;
    return `${what}, so this may be the end of earlier work. ${CHECK}.`;
  }
  return `The job is ${result}, but the agent was already at work when the message was sent, so this may be the end of that work. ${CHECK}.`;
}

/** `why` says why the last request failed; empty if it did not. */
export function timedOutEnd(job: Job, run: EndingRun, why: string): End {
  const limit = duration(run.inputs.timeoutMs);
  const last = why === '' ? '' : `The last poll failed: ${why}`;
  if (isUnderway(job)) return lateEnd(job, run, last);
  if (job.isWaiting) {
    const said = `The message was not sent within ${limit}, because the agent was not seen to be done with other work.`;
    return endAs('timed-out', said, last, `${howToStartAgain(job, run)} later.`);
  }
  const what = job.isReadOnly ? 'The job could not be polled' : 'The message could not be sent';
  return endAs('timed-out', `${what} within ${limit}.`, why, `${howToStartAgain(job, run)}.`);
}

/** The agent was not seen to be done in time. */
function lateEnd(job: Job, run: EndingRun, last: string): End {
  const status = statusOf(job);
  const limit = duration(run.inputs.timeoutMs);
  if (isFinal(status) && !job.isReadOnly) {
    const said = `The job is ${status}, but within ${limit} it was not confirmed that this is the end of the work on the message.`;
    return endAs('timed-out', said, last, `${CHECK}.`);
  }
  const said = `The agent was not seen to be done within ${limit}. Its last known status is ${shown(status)}, and it may keep working.`;
  return endAs('timed-out', said, last, howToWaitAgain(job, run));
}

/** Whether the message is sent or, without one, the job known, so that the rest is only waiting. */
function isUnderway(job: Job): boolean {
  return job.isReadOnly ? job.record !== undefined : job.message.kind === 'sent';
}

function howToWaitAgain(job: Job, run: EndingRun): string {
  if (job.isReadOnly) return 'To keep waiting, re-run the workflow.';
  return canRerun(job, run)
    ? 'To keep waiting, re-run the workflow; the message is not sent again.'
    : 'To keep waiting, use a later run with “send: false” and “wait: true”.';
}

function howToStartAgain(job: Job, run: EndingRun): string {
  return canRerun(job, run) ? 'Re-run the workflow' : 'Start a new run';
}

/** A re-run reads the note of this run. Without one it is refused, unless it sends nothing either. */
function canRerun({ isReadOnly }: Job, { plan }: EndingRun): boolean {
  return plan.comments.kind === 'note' || isReadOnly;
}

/** Polling failed for too long. */
export function lostEnd(job: Job, run: EndingRun, why: string): End {
  if (job.isReadOnly) return endAs('error', 'The job cannot be polled.', why);
  if (!isUnderway(job)) return endAs('error', why);
  return endAs(
    'error',
    'The message was delivered, but the job can no longer be polled.',
    why,
    'The agent may keep working.',
    howToWaitAgain(job, run),
  );
}

export function cancelledEnd(job: Job, run: EndingRun): End {
  if (!isUnderway(job)) {
    const what = job.isReadOnly ? 'job was polled' : 'message was sent';
    return endAs(
      'cancelled',
      `The run was cancelled before the ${what}.`,
      `${howToStartAgain(job, run)}.`,
    );
  }
  if (!run.inputs.wait) return endAs('cancelled', 'The run was cancelled.');
  const said = 'The agent may keep working, but the cancelled run no longer waits for it.';
  return endAs('cancelled', said, howToWaitAgain(job, run));
}

/** The rate limit has refused another message of this run. */
export function stoppedEnd(why: string): End {
  return { ...endAs('skipped', 'The API accepts no more messages for now.', why), isStopped: true };
}

/** It is not known whether the message was delivered. */
export function doubtfulEnd(why: string, isCancelled: boolean, isNew = false): End {
  return isCancelled
    ? endAs(
        'cancelled',
        'The run was cancelled while the message was being sent.',
        doubtAbout(isNew),
      )
    : endAs('error', why, doubtAbout(isNew));
}

/** `only-when` leaves the job out. */
export function unwantedEnd(job: Job, onlyWhen: ReadonlySet<string>): End {
  const wanted = listing([...onlyWhen], 'or');
  const status = shown(statusOf(job));
  return endAs('skipped', `The job is ${status}; only ${wanted} jobs get the message.`);
}

/** The event is about a commit that is not the newest of its pull request. */
export function newerCommitEnd(): End {
  return endAs('skipped', 'The pull request has newer commits; their own checks decide.');
}

/** `url` is that of the comment of the run that sends, or has sent, a message about the same commit. */
export function sameCommitEnd(url: string): End {
  return endAs('skipped', `Another run has taken this commit: ${url}.`);
}

/** `url` is that of the comment of the run that creates, or has created, the job. */
export function otherCreationEnd(url: string): End {
  const said = `Another run is creating, or has created, the agent job: ${url}.`;
  return endAs(
    'error',
    said,
    'Nothing was created here. Comment again, or start a new run, once that run is done.',
  );
}

/** `why` is a phrase. */
export function unknownBeforeEnd(why: string): End {
  const said = 'Nothing was sent, because it is not known what was sent before';
  return endAs('error', `${said}: ${why}. Try again later.`);
}

/** Bots must not send without end, and people have set a limit. */
export function uncountedEnd(why: string, byBot: boolean): End {
  return byBot
    ? endAs('skipped', `Messages that bots trigger are counted by comments, but ${why}.`)
    : endAs(
        'error',
        `“max-messages” counts by comments, but ${why}.`,
        'Remove it, or set “pr-number”.',
      );
}

export function limitEnd(limit: number): End {
  const said =
    `This message was not sent: since the last command or review by a person, the workflow has sent, or may have sent, ` +
    `${plural(limit, 'message')}. Look at what the agent did. To send this message, re-run the workflow.`;
  return { ...endAs('skipped', said), limit };
}

/** No note, no message. `problem` is a sentence. */
export function uncommentedEnd(problem: string): End {
  const rule = 'No message is sent without its comment. To send without one, set “comment: false”.';
  return endAs('error', problem, rule);
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
function shown(status: string | undefined): string {
  if (status === undefined) return 'not known';
  return isKnownStatus(status) ? status : quote(status);
}
