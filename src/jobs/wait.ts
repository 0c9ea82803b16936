import { LEAST_POST_MS } from '../agent/retry.ts';
import {
  doubtMs,
  type End,
  isDone,
  isFinal,
  type Job,
  sentAtOf,
  setWaiting,
  statusBefore,
  statusOf,
} from '../job.ts';
import { doneEnd, timedOutEnd } from '../reasons.ts';
import { canStillSend, type Outcome, type Run } from './context.ts';
import { poll } from './poll.ts';

// The loops that poll a job: until the agent is done, and until it is done with earlier work.

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

/** Polls until the agent is done, the deadline is reached or the run is cancelled. */
export async function waitForAgent(run: Run, job: Job): Promise<End> {
  const { inputs, plan, runtime } = run;
  const sentAt = sentAtOf(job);
  const since = sentAt ?? runtime.clock.now();
  for (;;) {
    const now = runtime.clock.now();
    if (sentAt === null && isFinal(statusOf(job))) return doneEnd(job, 'no message', 0);
    const done = isDone(job, inputs.settleMs);
    if (sentAt !== null && done !== 'no') return doneEnd(job, done, inputs.settleMs);
    if (now >= plan.deadline) return timedOutEnd(job, run, '');
    const regularMs = Math.min(nextPollMs(now - since), doubtMs(job, now, inputs.settleMs));
    const nextMs = inputs.pollIntervalMs ?? regularMs;
    // In a re-run, the agent may already be done.
    const pauseMs = job.record === null ? 0 : Math.min(nextMs, plan.deadline - now);
    const polled = await poll(run, job, pauseMs);
    if (polled.kind === 'over') return polled.end;
  }
}

/** Milliseconds: the agent is done, but another message may be about to be sent to it. */
const SHORTEST_LOOK_AGAIN_MS = 2000;
const LONGEST_LOOK_AGAIN_MS = 15_000;

/**
 * With `when-active: wait`: polls until the agent is done with what it is at work on. Of several runs that wait
 * for the same end, each polls again after a random time, and keeps waiting if another one was faster.
 */
export async function waitForEarlierWork(run: Run, job: Job): Promise<Outcome<'idle'>> {
  const { plan, runtime, inputs } = run;
  const { clock, random } = runtime;
  if (!plan.waitsForIdle || isFinal(statusBefore(job))) return { kind: 'idle' };
  const startedAt = clock.now();
  // The comment says it already if the first poll has shown it.
  const isNew = !job.isWaiting;
  setWaiting(job, true);
  if (isNew) run.note?.write();
  run.log.say(job, 'Waiting for earlier work: the agent is at work.');
  let isAgain = false;
  for (;;) {
    const spread = LONGEST_LOOK_AGAIN_MS - SHORTEST_LOOK_AGAIN_MS;
    const nextMs = isAgain
      ? SHORTEST_LOOK_AGAIN_MS + random() * spread
      : (inputs.pollIntervalMs ?? nextPollMs(clock.now() - startedAt));
    // The last poll is made when a message can still be sent.
    const can = canStillSend(run, job, LEAST_POST_MS);
    if (can.kind === 'over') return can;
    const leftMs = plan.deadline - 2 * LEAST_POST_MS - clock.now();
    const polled = await poll(run, job, Math.min(nextMs, leftMs));
    if (polled.kind === 'over') return polled;
    const isDone = isFinal(statusBefore(job));
    if (isDone && (isAgain || nextMs >= leftMs)) {
      setWaiting(job, false);
      return { kind: 'idle' };
    }
    isAgain = isDone;
  }
}
