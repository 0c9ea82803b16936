import { type Missed, type Polled, poll } from '../agent/client.ts';
import { type Misses, pollRetryBeforeMs, pollRetryWaitingMs } from '../agent/retry.ts';
import { duration, inUtc } from '../clock.ts';
import { isKnownStatus, type Job, type JobRecord, learn, statusOf } from '../job.ts';
import type { GiveUp } from '../reasons.ts';
import { sentences } from '../text.ts';
import type { RunContext } from './context.ts';

// Polls of a job, and what becomes of those that fail.

/** Milliseconds for a poll that starts at the deadline. */
const LAST_POLL_MS = 1500;
/** Milliseconds in which the API may not know a job yet. */
const GRACE_FOR_404_MS = 30_000;
/** Milliseconds of a pause that only the API asks for. */
const LONG_PAUSE_MS = 30_000;

/** Milliseconds that must be left for a POST: if the deadline cuts it off, delivery is unknown. */
export const LEAST_POST_MS = 2000;

/** Polls a job once. The poll may last until `until`, or a little longer if it starts close to it. */
export async function pollOnce(run: RunContext, job: Job, until: number): Promise<Polled | Missed> {
  const { agent } = run;
  const answer = await run.limitPolls(() => {
    job.polls += 1;
    const leftMs = until - agent.clock.now();
    return poll(agent, job.id, leftMs < LAST_POLL_MS ? leftMs + LAST_POLL_MS : leftMs);
  });
  if (answer.kind !== 'polled') return answer;
  take(run, job, answer.record);
  const { status = null } = answer.record;
  if (!isKnownStatus(status)) {
    run.log.warn(
      job,
      `The job has ${status === null ? 'no status' : 'a status that this action does not know'}; it counts as ` +
        'not final, so a wait may last until timeout-minutes.',
    );
  }
  return answer;
}

/** Stores a record, and logs what is new in it. */
export function take(run: RunContext, job: Job, record: JobRecord): void {
  const before = statusOf(job);
  learn(job, record, run.agent.clock.now());
  const status = statusOf(job);
  if (status !== before && status !== null) run.log.say(job, describe(run, job, status));
  if (record.linkProblem !== undefined) {
    run.log.warn(job, `The pull request link of the job is left out: ${record.linkProblem}.`);
  }
}

function describe({ agent }: RunContext, job: Job, status: string): string {
  const { sentAt, isReadOnly, delivery } = job;
  if (sentAt === null) {
    return `The job is ${status}${isReadOnly || delivery !== 'sending' ? '' : ' before the message'}.`;
  }
  if (isFromBefore(job)) return `The job still shows ${status} from before.`;
  return `The job is ${status}, ${duration(agent.clock.now() - sentAt)} after the message.`;
}

/** Whether the status may be older than the message. */
export function isFromBefore(job: Job): boolean {
  return !job.evidence && job.base !== null && statusOf(job) === job.base.status;
}

/** Polls once before the message or, with `send: false`, without one, and repeats that if it fails. */
export async function pollBefore(run: RunContext, job: Job): Promise<Polled | GiveUp> {
  const { clock, deadline, signal, random } = run.agent;
  const count = countMisses(run, job, job.isReadOnly ? clock.now() : -Infinity);
  for (;;) {
    const over = mustGiveUp(run, 0);
    if (over !== null) return over;
    const answer = await pollOnce(run, job, deadline);
    if (answer.kind === 'polled') return answer;
    if (signal.aborted) return { kind: 'cancelled', why: '' };
    const pauseMs = pollRetryBeforeMs(answer.exchange, count(answer), random);
    if (pauseMs === null) return { kind: 'refused', why: answer.why };
    if (clock.now() + pauseMs >= deadline) return tooLate(run, answer, pauseMs);
    run.log.problem(job, `Polling failed. ${answer.why} Polling again in ${duration(pauseMs)}.`);
    await clock.sleep(pauseMs, signal).catch(() => {});
  }
}

/** Waiting for what cannot happen would only cost minutes of the runner. */
function tooLate({ agent }: RunContext, { why }: Missed, pauseMs: number): GiveUp {
  const until = `The API asks to wait until ${inUtc(agent.clock.now() + pauseMs)}.`;
  return { kind: 'timed-out', why: sentences(why, pauseMs > LONG_PAUSE_MS ? until : '') };
}

/** A poll while the run waits. `lost`: it failed for too long; `late`: the deadline was reached. */
export type Looked =
  | Polled
  | { readonly kind: 'lost'; readonly why: string; readonly failures: number }
  | { readonly kind: 'late'; readonly why: string }
  | { readonly kind: 'cancelled' };

/** Polls once while the run waits, and repeats that through an outage. `since` is when the wait began. */
export async function look(run: RunContext, job: Job, since: number): Promise<Looked> {
  const { clock, deadline, signal, random } = run.agent;
  const count = countMisses(run, job, job.delivery === 'sending' ? -Infinity : since);
  let lastWhy = '';
  for (;;) {
    const answer = await pollOnce(run, job, deadline);
    if (signal.aborted) return { kind: 'cancelled' };
    if (answer.kind === 'polled') return answer;
    const { why } = answer;
    const misses = count(answer);
    const leftMs = deadline - clock.now();
    // What the deadline has cut off may have had no time for an answer: that is no reason.
    if (leftMs <= 0) return { kind: 'late', why: lastWhy };
    const pauseMs = pollRetryWaitingMs(answer.exchange, misses, random);
    if (pauseMs === null) return { kind: 'lost', why, failures: misses.count };
    if (job.delivery === 'sending' && pauseMs >= leftMs) {
      return { kind: 'late', why: tooLate(run, answer, pauseMs).why };
    }
    lastWhy = why;
    const nextMs = Math.min(pauseMs, leftMs);
    run.log.problem(job, `Polling failed. ${why} Polling again in ${duration(nextMs)}.`);
    run.log.beat('Polling fails');
    await clock.sleep(nextMs, signal).catch(() => {});
    if (signal.aborted) return { kind: 'cancelled' };
  }
}

/** Counts the failed polls in a row. The API may not know the job for 30 s after `since`. */
function countMisses(
  { agent }: RunContext,
  { record }: Job,
  since: number,
): (missed: Missed) => Misses {
  const { clock } = agent;
  const wasReached = record !== null;
  let [count, networkErrors, firstAt] = [0, 0, 0];
  return ({ exchange }) => {
    const now = clock.now();
    if (count === 0) firstAt = now;
    count += 1;
    if (exchange.kind === 'failure') networkErrors += 1;
    const isEarly = now - since < GRACE_FOR_404_MS;
    return { count, networkErrors, forMs: now - firstAt, isEarly, wasReached };
  };
}

/** Why nothing that takes `neededMs` may start now, or null if it may. */
export function mustGiveUp({ agent, stop }: RunContext, neededMs: number): GiveUp | null {
  const { clock, deadline, signal } = agent;
  if (signal.aborted) return { kind: 'cancelled', why: '' };
  if (deadline - clock.now() <= neededMs) return { kind: 'timed-out', why: '' };
  return stop.signal.aborted ? { kind: 'stopped', why: String(stop.signal.reason) } : null;
}
