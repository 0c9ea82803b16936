import { doneEnd } from '../job/explain.ts';
import {
  isDone,
  type Job,
  NEW_JOB,
  recordWait,
  setWaiting,
  statusBefore,
  statusOf,
} from '../job/job.ts';
import type { End } from '../job/outcome.ts';
import { isFinal } from '../service.ts';
import { pollInWait } from './poll.ts';
import { endIfTooLate, pause, type Run, timedOutJob } from './run-state.ts';

// The waits: until the agent is done with the message, and until it is done with earlier work.

/** Milliseconds. Short jobs are polled often, long ones at most twice a minute. */
const SHORTEST_MS = 2000;
const LONGEST_MS = 30_000;
/** An interval of a twentieth of the elapsed time wastes at most a twentieth of the wait. */
const SHARE_OF_ELAPSED = 1 / 20;
/** Milliseconds between polls that show an end, until enough of them have. */
const CHECK_MS = 3000;

/** Milliseconds until the next poll, `sinceMs` after the message or the start of the wait. */
export function nextPollMs(sinceMs: number): number {
  // A job that is done within seconds is seen at work only early.
  if (sinceMs < SHORTEST_MS) return SHORTEST_MS / 2;
  return Math.min(LONGEST_MS, Math.max(SHORTEST_MS, sinceMs * SHARE_OF_ELAPSED));
}

export async function waitForAgent(run: Run, job: Job): Promise<End> {
  const { clock } = run.runtime;
  const { deadline } = run.plan;
  for (;;) {
    const certainty = isDone(job);
    if (certainty !== 'no') return doneEnd(job, certainty);
    const now = clock.now();
    const isLate = now >= deadline;
    if (!isLate) {
      // In a re-run, the agent may already be done.
      const nextMs = job.record === undefined ? 0 : nextCheckMs(job, now);
      await pause(run, Math.min(nextMs, deadline - now));
    }
    const end = isLate ? timedOutJob(run, job) : await pollInWait(run, job);
    if (end === undefined) continue;
    const last = isDone(job, true);
    return last === 'no' ? end : doneEnd(job, last);
  }
}

/** While a final status may belong to earlier work, the job is polled more often. */
function nextCheckMs(job: Job, now: number): number {
  const nextMs = nextPollMs(now - job.after.since);
  if (!isFinal(statusOf(job))) return nextMs;
  return job.after.work === 'our message' ? CHECK_MS : Math.min(CHECK_MS, nextMs);
}

/** If the message waits for it: polls until the agent is done with what it is at work on, or the job has to end. */
export async function waitForEarlierWork(
  run: Run,
  job: Job,
): Promise<End | 'waited' | 'not at work'> {
  const { plan, runtime } = run;
  const { clock } = runtime;
  const mustWait = plan.waitsForIdle && job.id !== NEW_JOB && !isFinal(statusBefore(job));
  if (!mustWait) return 'not at work';
  const startedAt = clock.now();
  // The comment says it already if the first poll has shown it.
  const isNew = !job.isWaiting;
  setWaiting(job, true);
  if (isNew) run.comment?.write();
  run.log.say(
    job,
    'The agent is at work. The message waits until it is done with what it is doing.',
  );
  while (!isFinal(statusBefore(job))) {
    const late = endIfTooLate(run, job);
    if (late !== undefined) return late;
    const now = clock.now();
    await pause(run, Math.min(nextPollMs(now - startedAt), plan.deadline - now));
    const end = await pollInWait(run, job);
    if (end !== undefined) return end;
  }
  recordWait(job, clock.now() - startedAt);
  return 'waited';
}
