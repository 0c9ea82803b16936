import { askedPause } from '../agent/answers.ts';
import { getJob, type Missed } from '../agent/client.ts';
import { LEAST_POST_MS, pollRetryMs } from '../agent/retry.ts';
import { afterPause, duration } from '../clock.ts';
import {
  isKnownStatus,
  type Job,
  type JobRecord,
  learned,
  mayBeSent,
  observed,
  polling,
  sentAtOf,
  statusOf,
} from '../job.ts';
import { cancelledEnd, lostEnd, timedOutEnd } from '../reasons.ts';
import { sentences } from '../text.ts';
import { canStillSend, type Outcome, over, pause, type Run } from './context.ts';

// Polls of a job, and what becomes of those that fail.

/** Milliseconds for a poll that starts at the deadline. */
const LAST_POLL_MS = 1500;

/** Polls until there is an answer, first after a pause. Otherwise the job is over. */
export async function poll(run: Run, job: Job, firstPauseMs = 0): Promise<Outcome<'polled'>> {
  const { clock, signal, random } = run.runtime;
  const isBefore = mayBeSent(job);
  // After that, its answer would be too late for a message.
  const until = isBefore ? run.plan.deadline - LEAST_POST_MS : run.plan.deadline;
  const isWait = run.inputs.wait && !isBefore;
  // Others may wait for a poll before the message, so that is given up sooner.
  const isPatient = isWait || job.isWaiting;
  let pauseMs = firstPauseMs;
  let failsSince = 0;
  let lastWhy = '';
  let failed = 0;
  for (;;) {
    if (pauseMs > 0) await pause(run, pauseMs);
    const can = isBefore ? canStillSend(run, job) : null;
    if (can?.kind === 'over') return can;
    if (signal.aborted) return over(cancelledEnd(job, run));
    const missed = await pollOnce(run, job, until);
    if (signal.aborted) return over(cancelledEnd(job, run));
    if (missed === 'polled') {
      const what = job.isWaiting ? 'Waiting for earlier work: the job' : 'The job';
      run.log.beat(`${what} is ${statusOf(job) ?? 'in an unknown status'}`);
      return { kind: 'polled' };
    }
    failed += 1;
    const { why, exchange } = missed;
    const now = clock.now();
    // What the deadline has cut off may have had no time for an answer: that is no reason.
    if (now >= until) return over(timedOutEnd(job, run, lastWhy));
    if (failed === 1) failsSince = now;
    const nextMs = pollRetryMs(exchange, failed, now - failsSince, { isPatient, isBefore }, random);
    const last = sentences(why, askedPause(exchange, run.agent));
    if (nextMs === null) {
      const count = failed === 1 ? '' : `${failed} polls failed in a row.`;
      const mayPass = failed > 1 && isBefore && exchange.kind === 'answer';
      const later = mayPass ? 'Send the message later.' : '';
      return over(lostEnd(job, run, sentences(count, last, later)));
    }
    // Waiting for what cannot happen would only cost minutes of the runner. A wait ends with a poll.
    if (!isWait && now + nextMs >= until) return over(timedOutEnd(job, run, last));
    pauseMs = Math.min(nextMs, until - now);
    run.log.problem(
      job,
      `Polling failed. ${why} Polling again ${afterPause(pauseMs)}.`,
      why !== lastWhy,
    );
    run.log.beat('Polling still fails');
    lastWhy = why;
  }
}

/** Polls a job once, and takes in what it shows. It ends soon after `until`. */
async function pollOnce(run: Run, job: Job, until: number): Promise<'polled' | Missed> {
  const answer = await run.queue.polls(() => {
    polling(job);
    return getJob(run.agent, job.id, until + LAST_POLL_MS - run.runtime.clock.now());
  });
  if (answer.kind !== 'polled') return answer;
  const { record, from, to } = answer;
  const before = statusOf(job);
  const isFirst = job.after.seenAt === 0;
  observed(job, record, from, to);
  tell(run, job, record, before, isFirst);
  if (!isKnownStatus(record.status ?? null)) {
    const what =
      record.status === undefined ? 'no status' : 'a status that this action does not know';
    const counts = 'it counts as not final, so a wait may last until “timeout-minutes”';
    run.log.warn(job, `The job has ${what}; ${counts}.`);
  }
  return 'polled';
}

/** Takes in the response to the message, which is no poll. */
export function takeIn(run: Run, job: Job, record: JobRecord): void {
  const before = statusOf(job);
  learned(job, record);
  tell(run, job, record, before, true);
}

/** Logs what is new in a record. Of the first poll after the message, that nothing has changed is news as well. */
function tell(
  run: Run,
  job: Job,
  { status, linkProblem }: JobRecord,
  before: string | null,
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
  const sentAt = sentAtOf(job);
  if (isFromBefore(job)) return `The job still shows ${status} from before.`;
  if (sentAt !== null) {
    return `The job is ${status}, ${duration(runtime.clock.now() - sentAt)} after the message.`;
  }
  return `${mayBeSent(job) ? 'Before the message, the' : 'The'} job is ${status}.`;
}

/** Whether the status may be older than the message. */
function isFromBefore(job: Job): boolean {
  const { base, after, record } = job;
  if (sentAtOf(job) === null || after.work === 'our message' || base === null) return false;
  return record?.status === base.status;
}
