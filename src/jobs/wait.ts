import { LEAST_POST_MS } from '../agent/retry.ts';
import {
  doubtMs,
  type End,
  isDone,
  isFinal,
  type Job,
  NEW_JOB,
  setWaiting,
  statusBefore,
  statusOf,
} from '../job.ts';
import { doneEnd, timedOutEnd } from '../reasons.ts';
import { canStillSend, type Outcome } from './deadline.ts';
import { pollInWait } from './poll.ts';
import type { Run } from './run.ts';

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
  const { clock } = runtime;
  const since = job.isReadOnly ? clock.now() : job.after.since;
  for (;;) {
    const now = clock.now();
    if (job.isReadOnly && isFinal(statusOf(job))) return doneEnd(job, 'no message', 0);
    const done = isDone(job, inputs.settleMs);
    if (!job.isReadOnly && done !== 'no') return doneEnd(job, done, inputs.settleMs);
    if (now >= plan.deadline) return timedOutEnd(job, run, '');
    const nextMs = Math.min(nextPollMs(now - since), doubtMs(job, now, inputs.settleMs));
    // In a re-run, the agent may already be done.
    const pauseMs = job.record === undefined ? 0 : Math.min(nextMs, plan.deadline - now);
    const polled = await pollInWait(run, job, pauseMs, plan.deadline);
    if (polled.kind === 'over') return polled.end;
  }
}

/** With `when-active: wait`: polls until the agent is done with what it is at work on. */
export async function waitForEarlierWork(run: Run, job: Job): Promise<Outcome<'idle'>> {
  const { plan, runtime } = run;
  const { clock } = runtime;
  const mustWait = plan.waitsForIdle && job.id !== NEW_JOB && !isFinal(statusBefore(job));
  if (!mustWait) return { kind: 'idle' };
  const startedAt = clock.now();
  // The comment says it already if the first poll has shown it.
  const isNew = !job.isWaiting;
  setWaiting(job, true);
  if (isNew) run.note?.write();
  run.log.say(job, 'Waiting for earlier work: the agent is at work.');
  const until = plan.deadline - LEAST_POST_MS;
  while (!isFinal(statusBefore(job))) {
    const can = canStillSend(run, job);
    if (can.kind === 'over') return can;
    const now = clock.now();
    const pauseMs = Math.min(nextPollMs(now - startedAt), until - now);
    const polled = await pollInWait(run, job, pauseMs, until);
    if (polled.kind === 'over') return polled;
  }
  setWaiting(job, false);
  return { kind: 'idle' };
}
