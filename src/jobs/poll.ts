import { askedPause } from '../agent/answers.ts';
import { getJob, type Missed } from '../agent/client.ts';
import { LEAST_POST_MS, pollRetryMs } from '../agent/retry.ts';
import { duration } from '../clock.ts';
import { type End, isKnownStatus, type Job, type JobRecord, observe, statusOf } from '../job.ts';
import { cancelledEnd, lostEnd, stoppedEnd, timedOutEnd } from '../reasons.ts';
import { sentences } from '../text.ts';
import { pause, type RunContext } from './context.ts';

// Polls of a job, and what becomes of those that fail.

/** Milliseconds for a poll that starts at the deadline. */
const LAST_POLL_MS = 1500;

/** Polls a job once, and takes in what it shows; null if there was an answer. It ends soon after `until`. */
export async function pollOnce(run: RunContext, job: Job, until: number): Promise<Missed | null> {
  const answer = await run.limitPolls(() => {
    job.polls += 1;
    return getJob(run.agent, job.id, until + LAST_POLL_MS - run.clock.now());
  });
  if (answer.kind !== 'polled') return answer;
  const { record, from, to } = answer;
  const { status } = record;
  storeRecord(run, job, record);
  if (job.delivery === 'open') {
    job.baseAt = from;
    job.base = status === undefined ? null : { ...record, status };
  } else {
    observe(job, status, from, to);
  }
  if (!isKnownStatus(status ?? null)) {
    run.jobLog.warn(
      job,
      `The job has ${status === undefined ? 'no status' : 'a status that this action does not know'}; it counts as ` +
        'not final, so a wait may last until “timeout-minutes”.',
    );
  }
  return null;
}

/** Stores a record, and logs what is new in it. What it leaves out stays as it was known. */
export function storeRecord(run: RunContext, job: Job, record: JobRecord): void {
  const before = statusOf(job);
  job.record = { ...job.record, ...record };
  const { status } = record;
  if (status !== undefined) {
    job.firstSeenAt ??= run.clock.now();
    // Of the first poll after the message, that nothing has changed is news as well.
    const isNews = status !== before || (job.seenAt === 0 && isFromBefore(job));
    if (isNews) run.jobLog.say(job, describe(run, job, status));
  }
  if (record.linkProblem !== undefined) {
    run.jobLog.warn(job, `The pull request link of the job is left out: ${record.linkProblem}.`);
  }
}

function describe({ clock }: RunContext, job: Job, status: string): string {
  const { sentAt, delivery } = job;
  if (isFromBefore(job)) return `The job still shows ${status} from before.`;
  if (sentAt !== null) {
    return `The job is ${status}, ${duration(clock.now() - sentAt)} after the message.`;
  }
  return `${delivery === 'open' ? 'Before the message, the' : 'The'} job is ${status}.`;
}

/** Whether the status may be older than the message. */
function isFromBefore({ sentAt, evidence, base, record }: Job): boolean {
  return sentAt !== null && !evidence && base !== null && record?.status === base.status;
}

/**
 * Polls until there is an answer, first after a pause. Null if there is one, otherwise how the job ends. Others may wait
 * for a poll before the message, so that is given up sooner.
 */
export async function poll(run: RunContext, job: Job, firstPauseMs = 0): Promise<End | null> {
  const { clock, deadline, signal, random } = run;
  const isBefore = job.delivery === 'open';
  // After that, its answer would be too late for a message.
  const until = isBefore ? deadline - LEAST_POST_MS : deadline;
  const isPatient = job.isWaiting || (!isBefore && run.inputs.wait);
  const missed: Missed['exchange']['kind'][] = [];
  let [pauseMs, failsSince, lastWhy] = [firstPauseMs, 0, ''];
  for (;;) {
    if (pauseMs > 0) await pause(run, pauseMs);
    // The job may have ended because its comment could not be created.
    const over = isBefore ? (job.end ?? mustGiveUp(run, job)) : null;
    if (over !== null) return over;
    if (signal.aborted) return cancelledEnd(job, run);
    const answer = await pollOnce(run, job, until);
    if (signal.aborted) return cancelledEnd(job, run);
    if (answer === null) {
      const what = job.isWaiting ? 'Waiting for earlier work: the job' : 'The job';
      run.jobLog.beat(`${what} is ${statusOf(job) ?? 'in an unknown status'}`);
      return null;
    }
    const { why, exchange } = answer;
    const now = clock.now();
    // What the deadline has cut off may have had no time for an answer: that is no reason.
    if (now >= until) return timedOutEnd(job, run, lastWhy);
    if (missed.length === 0) failsSince = now;
    missed.push(exchange.kind);
    const nextMs = pollRetryMs(exchange, missed, now - failsSince, { isPatient, isBefore }, random);
    const last = sentences(why, askedPause(exchange, run.agent));
    if (nextMs === null) {
      const count = missed.length === 1 ? '' : `${missed.length} polls failed in a row.`;
      return lostEnd(job, run, sentences(count, last));
    }
    // Waiting for what cannot happen would only cost minutes of the runner. After the message, there is a poll at the end.
    if (isBefore && now + nextMs >= until) return timedOutEnd(job, run, last);
    pauseMs = Math.min(nextMs, until - now);
    const said = `Polling failed. ${why} Polling again in ${duration(pauseMs)}.`;
    run.jobLog.problem(job, said, why !== lastWhy);
    run.jobLog.beat('Polling still fails');
    lastWhy = why;
  }
}

/** How a job ends if its message can no longer be sent; null if it can. */
export function mustGiveUp(run: RunContext, job: Job): End | null {
  const { clock, deadline, signal, stop } = run;
  if (signal.aborted) return cancelledEnd(job, run);
  if (deadline - clock.now() <= LEAST_POST_MS) return timedOutEnd(job, run, '');
  return stop.signal.aborted ? stoppedEnd(String(stop.signal.reason)) : null;
}
