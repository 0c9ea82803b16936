import { isDone, type JobState, NEW_JOB, update } from '../job/job.ts';
import { agentStop, type Stop } from '../job/stop-reasons.ts';
import { messageBefore } from '../ledger/decide.ts';
import { knownRecords } from '../ledger/ledger.ts';
import { type FinalStatus, isFinal } from '../mintlify-api.ts';
import { listAbove } from './announce.ts';
import { pollInWait } from './poll.ts';
import { pause, type Run, stopIfTooLate, stopWork } from './run-state.ts';

const WAITS = 'The agent is at work. The message waits until it is done with what it is doing.';

/** Short jobs are polled often, long ones at most twice a minute. */
const SHORTEST_MS = 2000;
const LONGEST_MS = 30_000;
/** An interval of a twentieth of the elapsed time wastes at most a twentieth of the wait. */
const SHARE_OF_ELAPSED = 1 / 20;
/** Milliseconds between polls that show an end, until enough of them have. */
const CHECK_MS = 3000;

/** `sinceMs`: after the message, or the start of the wait. */
export function nextPollMs(sinceMs: number): number {
  // A job that is done within seconds is seen at work only early.
  if (sinceMs < SHORTEST_MS) return SHORTEST_MS / 2;
  return Math.min(LONGEST_MS, Math.max(SHORTEST_MS, sinceMs * SHARE_OF_ELAPSED));
}

export async function waitForAgent(run: Run, job: JobState): Promise<Stop> {
  const { clock } = run.runtime;
  const { deadline } = run.plan;
  for (;;) {
    const certainty = isDone(job);
    if (certainty !== 'no') return stopDone(job, certainty === 'confirmed');
    const now = clock.now();
    const isLate = now >= deadline;
    if (!isLate) {
      // In a re-run, the agent may already be done.
      const nextMs = job.record === undefined ? 0 : nextCheckMs(job, now);
      await pause(run, Math.min(nextMs, deadline - now));
    }
    const why = isLate ? stopWork(run, job) : await pollInWait(run, job);
    if (why === undefined) continue;
    const last = isDone(job, true);
    return last === 'no' ? why : stopDone(job, last === 'confirmed');
  }
}

function stopDone(job: JobState, isConfirmed: boolean): Stop {
  return agentStop(job.record?.status as FinalStatus, isConfirmed, job.base?.status);
}

/** While a final status may belong to earlier work, the job is polled more often. */
function nextCheckMs(job: JobState, now: number): number {
  const nextMs = nextPollMs(now - job.after.since);
  if (!isFinal(job.record?.status)) return nextMs;
  return job.after.work === 'our message' ? CHECK_MS : Math.min(CHECK_MS, nextMs);
}

const LIST_MS = 30_000;
/**
 * A run on another page, whose message no comment here tells of, has to see the end of the work on
 * that before this message starts new work: a poll, and its answer.
 */
const OTHER_PAGE_MS = 65_000;

/** Waits until the agent is done with earlier work, and no other message comes first. */
export async function waitForTurn(run: Run, job: JobState): Promise<Stop | undefined> {
  const { plan, runtime } = run;
  const { clock } = runtime;
  if (!plan.waitsForIdle || job.id === NEW_JOB) return undefined;
  const startedAt = clock.now();
  let listedAt = startedAt;
  const own = { message: plan.message, jobId: job.id };
  // Before a further wait, some of them may have ended.
  const above = job.hasWaited ? await listAbove(run) : knownRecords(run.ledger);
  let first = messageBefore(above, { ...own, now: startedAt });
  // Whether a run on another page may still wait for the end that was seen.
  let isOfOthers = false;
  for (let isFirst = true; ; isFirst = false) {
    const isIdle = isFinal(job.base?.status);
    if (isIdle && first === undefined && !isOfOthers) break;
    // The comment says it already if the first poll has shown it.
    if (!job.isWaiting) run.comment?.write();
    update(job, { isWaiting: true, waitsFor: first?.url });
    if (isFirst) run.log.say(job, WAITS);
    const tooLate = stopIfTooLate(run, job);
    if (tooLate !== undefined) return tooLate;
    const now = clock.now();
    const pauseMs = isIdle && first === undefined ? OTHER_PAGE_MS : nextPollMs(now - startedAt);
    isOfOthers = !isIdle && first === undefined;
    await pause(run, Math.min(pauseMs, plan.deadline - now));
    const why = await pollInWait(run, job);
    if (why !== undefined) return why;
    if (first !== undefined && clock.now() - listedAt >= LIST_MS) {
      listedAt = clock.now();
      first = messageBefore(await listAbove(run), { ...own, now: listedAt });
    }
  }
  if (!job.isWaiting) return undefined;
  update(job, { isWaiting: false, hasWaited: true });
  return undefined;
}
