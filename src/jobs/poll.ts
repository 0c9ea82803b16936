import { askedPause } from '../agent/answers.ts';
import { getJob, type Missed, type Polled } from '../agent/client.ts';
import { type Misses, pollRetryMs } from '../agent/retry.ts';
import { duration } from '../clock.ts';
import { isKnownStatus, type Job, type JobRecord, mergeRecord, statusOf } from '../job.ts';
import { CANCELLED, type GiveUp } from '../reasons.ts';
import { sentences } from '../text.ts';
import type { RunContext } from './context.ts';

// Polls of a job, and what becomes of those that fail.

/** Milliseconds for a poll that starts at the deadline. */
const LAST_POLL_MS = 1500;
/** Milliseconds in which the API may not know a job yet. */
const GRACE_FOR_404_MS = 30_000;

/** Polls a job once. The poll may last until `until`, or a little longer if it starts close to it. */
export async function pollOnce(run: RunContext, job: Job, until: number): Promise<Polled | Missed> {
  const answer = await run.limitPolls(() => {
    job.polls += 1;
    const leftMs = until - run.clock.now();
    return getJob(run.agent, job.id, leftMs < LAST_POLL_MS ? leftMs + LAST_POLL_MS : leftMs);
  });
  if (answer.kind !== 'polled') return answer;
  storeRecord(run, job, answer.record);
  const { status = null } = answer.record;
  if (!isKnownStatus(status)) {
    run.jobLog.warn(
      job,
      `The job has ${status === null ? 'no status' : 'a status that this action does not know'}; it counts as ` +
        'not final, so a wait may last until “timeout-minutes”.',
    );
  }
  return answer;
}

/** Stores a record, and logs what is new in it. */
export function storeRecord(run: RunContext, job: Job, record: JobRecord): void {
  const before = statusOf(job);
  mergeRecord(job, record, run.clock.now());
  const status = statusOf(job);
  if (status !== before && status !== null) run.jobLog.say(job, describe(run, job, status));
  if (record.linkProblem !== undefined) {
    run.jobLog.warn(job, `The pull request link of the job is left out: ${record.linkProblem}.`);
  }
}

function describe({ clock }: RunContext, job: Job, status: string): string {
  const { sentAt, delivery } = job;
  if (sentAt === null) {
    return `${delivery === 'open' ? 'Before the message, the' : 'The'} job is ${status}.`;
  }
  if (isFromBefore(job)) return `The job still shows ${status} from before.`;
  return `The job is ${status}, ${duration(clock.now() - sentAt)} after the message.`;
}

/** Whether the status may be older than the message. */
export function isFromBefore(job: Job): boolean {
  return !job.evidence && job.base !== null && statusOf(job) === job.base.status;
}

/**
 * Polls once before the message, and repeats that a few times if it fails. With `send: false`, this is the first poll of
 * the wait, if there is one.
 */
export async function pollBefore(run: RunContext, job: Job): Promise<Polled | GiveUp> {
  const over = mustGiveUp(run, 0);
  if (over !== null) return over;
  const since = job.isReadOnly ? run.clock.now() : null;
  const answer = await pollAgain(run, job, since, job.isReadOnly && run.inputs.wait);
  if (answer.kind === 'polled' && !job.isReadOnly) setBase(job, answer);
  return answer;
}

/** Polls once while the run waits, and repeats that through an outage. `since` is when the wait began. */
export function pollInWait(run: RunContext, job: Job, since: number): Promise<Polled | GiveUp> {
  return pollAgain(run, job, job.delivery === 'open' ? null : since, true);
}

/** Stores a poll before the message, to compare later polls with. */
export function setBase(job: Job, { record, from }: Polled): void {
  const { status } = record;
  job.baseAt = from;
  job.base = status === undefined ? null : { ...record, status };
}

/** Polls until there is an answer. The API may not know the job for 30 s after `since`, unless that is null. */
async function pollAgain(
  run: RunContext,
  job: Job,
  since: number | null,
  isWaiting: boolean,
): Promise<Polled | GiveUp> {
  const { clock, deadline, signal, random } = run;
  const count = countMisses(run, since);
  let lastWhy = '';
  for (;;) {
    const answer = await pollOnce(run, job, deadline);
    if (signal.aborted) return CANCELLED;
    if (answer.kind === 'polled') return answer;
    const { why } = answer;
    const misses = count(answer);
    const leftMs = deadline - clock.now();
    // What the deadline has cut off may have had no time for an answer: that is no reason.
    if (leftMs <= 0) return { kind: 'timed-out', why: lastWhy };
    const pauseMs = pollRetryMs(answer.exchange, misses, isWaiting, random);
    const last = sentences(why, askedPause(answer.exchange, run.agent));
    if (pauseMs === null) {
      const count = misses.count === 1 ? '' : `${misses.count} polls failed in a row.`;
      return { kind: 'refused', why: sentences(count, last) };
    }
    // A job that is waited for is polled once more at the deadline.
    const hasLast = isWaiting && job.delivery !== 'open';
    // Waiting for what cannot happen would only cost minutes of the runner.
    if (pauseMs >= leftMs && !hasLast) return { kind: 'timed-out', why: last };
    const nextMs = Math.min(pauseMs, leftMs);
    const said = `Polling failed. ${why} Polling again in ${duration(nextMs)}.`;
    run.jobLog.problem(job, said, why !== lastWhy);
    run.jobLog.beat('Polling still fails');
    lastWhy = why;
    await clock.sleep(nextMs, signal).catch(() => {});
    if (signal.aborted) return CANCELLED;
  }
}

/** Counts the failed polls in a row. */
function countMisses({ clock }: RunContext, since: number | null): (missed: Missed) => Misses {
  let [count, networkErrors, firstAt] = [0, 0, 0];
  return ({ exchange }) => {
    const now = clock.now();
    if (count === 0) firstAt = now;
    count += 1;
    if (exchange.kind === 'failure') networkErrors += 1;
    const isEarly = since !== null && now - since < GRACE_FOR_404_MS;
    return { count, networkErrors, forMs: now - firstAt, isEarly };
  };
}

/** Why nothing that takes `neededMs` may start now, or null if it may. */
export function mustGiveUp(run: RunContext, neededMs: number): GiveUp | null {
  const { clock, deadline, signal, stop } = run;
  if (signal.aborted) return CANCELLED;
  if (deadline - clock.now() <= neededMs) return { kind: 'timed-out', why: '' };
  return stop.signal.aborted ? { kind: 'stopped', why: String(stop.signal.reason) } : null;
}
