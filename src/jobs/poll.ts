import { askedPause } from '../agent/answers.ts';
import { getJob, type Missed } from '../agent/client.ts';
import {
  LEAST_POST_MS,
  LONGEST_OUTAGE_MS,
  MOST_POLLS,
  mayPass,
  pollAgainMs,
} from '../agent/retry.ts';
import { afterPause, duration } from '../clock.ts';
import type { End } from '../job/ends.ts';
import {
  doubtMs,
  isDone,
  type Job,
  type JobRecord,
  mayBeSent,
  NEW_JOB,
  recordAnswer,
  recordPoll,
  sentAtOf,
  setWaiting,
  statusBefore,
  statusOf,
} from '../job/job.ts';
import { cancelledEnd, doneEnd, lostEnd, timedOutEnd } from '../job/reasons.ts';
import { isFinal, isKnownStatus } from '../mintlify.ts';
import { quote, sentences } from '../text.ts';
import { endIfTooLate, pause, type Run } from './run.ts';

// Polls of a job, and what becomes of those that fail: a poll before the message ends the job if it fails three times, or if
// it shows a mistake; in a wait, any poll may fail for ten minutes.

/** A poll outside a wait: the first one, and the last one before the message. Resolves to the end of the job if it fails. */
export async function pollNow(run: Run, job: Job): Promise<End | undefined> {
  const { signal } = run.runtime;
  for (let failed = 1; ; failed += 1) {
    const missed = await pollOnce(run, job);
    if (signal.aborted) return cancelledEnd(job, run);
    if (missed === undefined) return undefined;
    const { why, exchange } = missed;
    if (!mayPass(exchange) || failed === MOST_POLLS) {
      const count = failed === 1 ? '' : `${failed} polls failed in a row.`;
      const later = mayPass(exchange) ? 'Try again later.' : '';
      return lostEnd(job, run, sentences(count, why, askedPause(exchange, run.agent) || later));
    }
    const nextMs = pollAgainMs(exchange, failed, run.runtime.random);
    const end = endIfTooLate(run, job, nextMs, why);
    if (end !== undefined) return end;
    run.log.say(job, `Polling failed. ${why} Polling again ${afterPause(nextMs)}.`);
    await pause(run, nextMs);
  }
}

/**
 * A poll in a wait, for earlier work or after the message, first after a pause. Each poll that fails is repeated, whatever
 * the reason, until they have failed for ten minutes in a row or until `until`, a time of the clock. Then it resolves to the
 * end of the job.
 */
export async function pollInWait(
  run: Run,
  job: Job,
  firstPauseMs: number,
  until: number,
): Promise<End | undefined> {
  const { clock, signal, random } = run.runtime;
  await pause(run, firstPauseMs);
  const since = clock.now();
  let lastWhy = '';
  for (let failed = 1; ; failed += 1) {
    if (signal.aborted) return cancelledEnd(job, run);
    const missed = await pollOnce(run, job);
    if (signal.aborted) return cancelledEnd(job, run);
    if (missed === undefined) return undefined;
    const { why, exchange } = missed;
    const last = sentences(why, askedPause(exchange, run.agent));
    const now = clock.now();
    if (now >= until) return timedOutEnd(job, run, last);
    if (now - since >= LONGEST_OUTAGE_MS) {
      return lostEnd(job, run, `All polls failed for ${duration(now - since)}. ${last}`);
    }
    const nextMs = Math.min(pollAgainMs(exchange, failed, random), until - now);
    const again = `Polling again ${afterPause(nextMs)}.`;
    if (why !== lastWhy) run.log.say(job, `Polling failed. ${why} ${again}`);
    run.log.beat('Polling still fails');
    lastWhy = why;
    await pause(run, nextMs);
  }
}

/** Polls a job once, and takes in what it shows. Resolves to why that failed, if it did. */
async function pollOnce(run: Run, job: Job): Promise<Missed | undefined> {
  const answer = await getJob(run.agent, job.id);
  if (answer.kind === 'missed') return answer;
  const { record, from, to } = answer;
  const before = statusOf(job);
  const isFirst = job.after.seenAt === undefined;
  recordPoll(job, record, from, to);
  logRecord(run, job, record, before, isFirst);
  if (!isKnownStatus(record.status)) {
    const what =
      record.status === undefined
        ? 'no status'
        : `the status ${quote(record.status)}, which this action does not know`;
    const counts = 'it counts as not final, so a wait may last until “timeout-minutes”';
    run.log.warn(job, `The job has ${what}; ${counts}.`);
  }
  const what = job.isWaiting ? 'Waiting for earlier work: the job' : 'The job';
  run.log.beat(`${what} is ${statusOf(job) ?? 'in an unknown status'}`);
  return undefined;
}

/** Takes in the response to the message, which is no poll. */
export function takeAnswer(run: Run, job: Job, record: JobRecord): void {
  const before = statusOf(job);
  recordAnswer(job, record);
  logRecord(run, job, record, before, false);
}

/** Logs what is new in a record. Of the first poll after the message, that nothing has changed is news as well. */
function logRecord(
  run: Run,
  job: Job,
  { status, linkProblem }: JobRecord,
  before: string | undefined,
  isFirst: boolean,
): void {
  if (status !== undefined && (status !== before || (isFirst && isFromBefore(job)))) {
    run.log.say(job, describe(run, job, status));
  }
  if (linkProblem !== undefined) {
    run.log.warn(job, `The pull request link of the job is left out: ${linkProblem}.`);
  }
}

function describe({ runtime }: Run, job: Job, status: string): string {
  const { message } = job;
  if (isFromBefore(job)) return `The job still shows ${status} from before.`;
  // The runner of an earlier attempt may have had another time.
  if (message.kind === 'sent' && !message.isEarlier) {
    const since = duration(runtime.clock.now() - message.at);
    return `The job is ${status}, ${since} after the message.`;
  }
  return `${mayBeSent(job) ? 'Before the message, the' : 'The'} job is ${status}.`;
}

/** Whether the status may be older than the message. */
function isFromBefore(job: Job): boolean {
  const { base, after, record } = job;
  if (sentAtOf(job) === undefined || after.work === 'our message') return false;
  return base !== undefined && record?.status === base.status;
}

// The waits: until the agent is done, and until it is done with earlier work.

/** Milliseconds. Short jobs are polled often, long ones at most twice a minute. */
const SHORTEST_MS = 2000;
const LONGEST_MS = 30_000;
/** An interval of a twentieth of the elapsed time wastes at most a twentieth of the wait. */
const SHARE_OF_ELAPSED = 1 / 20;

/** Milliseconds until the next poll, `sinceMs` after the message or the start of the wait. */
export function nextPollMs(sinceMs: number): number {
  // A job that is done within seconds is seen at work only early.
  if (sinceMs < SHORTEST_MS) return SHORTEST_MS / 2;
  return Math.min(LONGEST_MS, Math.max(SHORTEST_MS, sinceMs * SHARE_OF_ELAPSED));
}

export async function waitForAgent(run: Run, job: Job): Promise<End> {
  const { plan, runtime } = run;
  const { clock } = runtime;
  const since = job.isReadOnly ? clock.now() : job.after.since;
  for (;;) {
    const now = clock.now();
    if (job.isReadOnly && isFinal(statusOf(job))) return doneEnd(job, 'no message');
    const done = isDone(job);
    if (!job.isReadOnly && done !== 'no') return doneEnd(job, done);
    if (now >= plan.deadline) return timedOutEnd(job, run, '');
    const nextMs = Math.min(nextPollMs(now - since), doubtMs(job));
    // In a re-run, the agent may already be done.
    const pauseMs = job.record === undefined ? 0 : Math.min(nextMs, plan.deadline - now);
    const end = await pollInWait(run, job, pauseMs, plan.deadline);
    if (end !== undefined) return end;
  }
}

/** With `when-active: wait`: polls until the agent is done with what it is at work on, or the job has to end. */
export async function waitForEarlierWork(run: Run, job: Job): Promise<End | undefined> {
  const { plan, runtime } = run;
  const { clock } = runtime;
  const mustWait = plan.waitsForIdle && job.id !== NEW_JOB && !isFinal(statusBefore(job));
  if (!mustWait) return undefined;
  const startedAt = clock.now();
  // The comment says it already if the first poll has shown it.
  const isNew = !job.isWaiting;
  setWaiting(job, true);
  if (isNew) run.note?.write();
  run.log.say(job, 'Waiting for earlier work: the agent is at work.');
  const until = plan.deadline - LEAST_POST_MS;
  while (!isFinal(statusBefore(job))) {
    const late = endIfTooLate(run, job);
    if (late !== undefined) return late;
    const now = clock.now();
    const pauseMs = Math.min(nextPollMs(now - startedAt), until - now);
    const end = await pollInWait(run, job, pauseMs, until);
    if (end !== undefined) return end;
  }
  setWaiting(job, false);
  return undefined;
}
