import { LEAST_POST_MS } from '../agent/retry.ts';
import { doubtMs, type End, isConfirmed, isFinal, type Job, statusOf } from '../job.ts';
import { doneEnd, timedOutEnd } from '../reasons.ts';
import { readChangesBefore } from './changes.ts';
import { isDetailed, pause, type RunContext } from './context.ts';
import { poll, pollOnce } from './poll.ts';

// The loops that poll a job: until the agent is done, until it is done with earlier work, and until a
// doubtful delivery is confirmed.

/** Milliseconds. Short jobs are polled often, long ones at most twice a minute. */
const SHORTEST_MS = 2000;
const LONGEST_MS = 30_000;
/** An interval of a twentieth of the elapsed time wastes at most a twentieth of the wait. */
const SHARE_OF_ELAPSED = 1 / 20;
/** Of many jobs, the first poll is that late. */
const FIRST_OF_MANY_MS = 5000;

/** Milliseconds until the next poll, `sinceMs` after the message or the start of the wait. */
export function nextPollMs(sinceMs: number, isOneOfMany: boolean): number {
  // A job that is done within seconds is seen at work only early.
  if (!isOneOfMany && sinceMs < SHORTEST_MS) return SHORTEST_MS / 2;
  if (isOneOfMany && sinceMs < FIRST_OF_MANY_MS) {
    return Math.max(SHORTEST_MS, FIRST_OF_MANY_MS - sinceMs);
  }
  return Math.min(LONGEST_MS, Math.max(SHORTEST_MS, sinceMs * SHARE_OF_ELAPSED));
}

/** Polls until the agent is done, the deadline is reached or the run is cancelled. */
export async function waitForAgent(run: RunContext, job: Job): Promise<End> {
  const { inputs, clock, deadline } = run;
  const since = job.sentAt ?? clock.now();
  // Without a message, and if the end was seen before, any final status is the end.
  const settleMs = job.sentAt === null || job.hadEnded ? 0 : inputs.settleMs;
  for (;;) {
    const now = clock.now();
    const confirmed = isConfirmed(job, settleMs);
    if (confirmed !== null) return doneEnd(job, job.sentAt === null ? null : confirmed, settleMs);
    if (now >= deadline) return timedOutEnd(job, run, '');
    const regularMs = nextPollMs(now - since, !isDetailed(run));
    const nextMs = inputs.pollIntervalMs ?? Math.min(regularMs, doubtMs(job, now, settleMs));
    // In a re-run, the agent may already be done.
    const end = await poll(run, job, job.record === null ? 0 : Math.min(nextMs, deadline - now));
    if (end !== null) return end;
  }
}

/** Milliseconds: the agent is done, but another message may be about to be sent to it. */
const SHORTEST_LOOK_AGAIN_MS = 2000;
const LONGEST_LOOK_AGAIN_MS = 15_000;

/**
 * With `when-active: wait`: polls until the agent is done with what it is at work on. Of several runs that wait
 * for the same end, each polls again after a random time, and keeps waiting if another one was faster.
 */
export async function waitForEarlierWork(run: RunContext, job: Job): Promise<End | null> {
  const { clock, deadline, random } = run;
  if (isFinal(statusOf(job))) return null;
  const startedAt = clock.now();
  // The comment says it already if the first poll has shown it.
  if (!job.isWaiting) run.note?.touch();
  job.isWaiting = true;
  run.jobLog.say(job, 'Waiting for earlier work: the agent is at work.');
  let isAgain = false;
  for (;;) {
    const spread = LONGEST_LOOK_AGAIN_MS - SHORTEST_LOOK_AGAIN_MS;
    const nextMs = isAgain
      ? SHORTEST_LOOK_AGAIN_MS + random() * spread
      : (run.inputs.pollIntervalMs ?? nextPollMs(clock.now() - startedAt, false));
    // The last poll is made when a message can still be sent.
    const leftMs = deadline - 2 * LEAST_POST_MS - clock.now();
    if (leftMs <= 0) return timedOutEnd(job, run, '');
    const end = await poll(run, job, Math.min(nextMs, leftMs));
    if (end !== null) return end;
    const isDone = isFinal(statusOf(job));
    if (isDone && (isAgain || nextMs >= leftMs)) {
      job.isWaiting = false;
      // What the agent has pushed for the earlier work does not count.
      await readChangesBefore(run, job);
      return null;
    }
    isAgain = isDone;
  }
}

/** Milliseconds for which a job is polled to confirm a delivery. */
const CONFIRM_MS = 30_000;

/** Whether a doubtful message arrived. Only a job that was done before can show that. */
export async function confirmDelivery(run: RunContext, job: Job): Promise<boolean> {
  const { clock, deadline, signal } = run;
  const end = Math.min(clock.now() + CONFIRM_MS, deadline);
  for (;;) {
    await pollOnce(run, job, end);
    const leftMs = end - clock.now();
    if (job.evidence || leftMs <= 0) return job.evidence;
    await pause(run, Math.min(SHORTEST_MS, leftMs));
    if (signal.aborted) return false;
  }
}
