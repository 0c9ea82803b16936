import { LEAST_POST_MS } from '../agent/retry.ts';
import { doubtMs, type End, isConfirmed, isFinal, type Job, observe, statusOf } from '../job.ts';
import { CANCELLED, doneEnd, type GiveUp, lostEnd, stoppedEnd, timedOutEnd } from '../reasons.ts';
import { readChangesBefore } from './changes.ts';
import { isDetailed, pause, type RunContext } from './context.ts';
import { isFromBefore, mustGiveUp, pollInWait, pollOnce, setBase } from './poll.ts';

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
  const startedAt = clock.now();
  const since = job.sentAt ?? startedAt;
  // It reads the note of this one, or sends nothing either.
  const canRerun = run.note !== null || job.isReadOnly;
  // Without a message, and if the end was seen before, any final status is the end.
  const settleMs = job.sentAt === null || job.hadEnded ? 0 : inputs.settleMs;
  // After a re-run or with send: false, the agent may already be done.
  let isDue = job.record === null;
  let isNew = true;
  for (;;) {
    const now = clock.now();
    const confirmed = isConfirmed(job, settleMs);
    if (confirmed !== null) return doneEnd(job, job.sentAt === null ? null : confirmed, settleMs);
    if (now >= deadline) return timedOutEnd(job, inputs, '', canRerun);
    const regularMs = nextPollMs(now - since, !isDetailed(run));
    const nextMs = inputs.pollIntervalMs ?? Math.min(regularMs, doubtMs(job, now, settleMs));
    if (!isDue && !(await pause(run, Math.min(nextMs, deadline - now))))
      return stoppedEnd(canRerun);
    isDue = false;
    const before = statusOf(job);
    const looked = await pollInWait(run, job, startedAt);
    if (looked.kind === 'timed-out') return timedOutEnd(job, inputs, looked.why, canRerun);
    if (looked.kind === 'refused') return lostEnd(job, looked.why, canRerun);
    if (looked.kind !== 'polled') return stoppedEnd(canRerun);
    observe(job, looked.record.status, looked.from, looked.to);
    if (isNew && statusOf(job) === before && isFromBefore(job)) {
      run.jobLog.say(job, `The job still shows ${before} from before.`);
    }
    isNew = false;
    run.jobLog.beat(`The job is ${statusOf(job) ?? 'in an unknown status'}`);
  }
}

/** Milliseconds: the agent is done, but another message may be about to be sent to it. */
const SHORTEST_LOOK_AGAIN_MS = 2000;
const LONGEST_LOOK_AGAIN_MS = 15_000;

/**
 * With `when-active: wait`: polls until the agent is done with what it is at work on. Of several runs that wait
 * for the same end, each polls again after a random time, and keeps waiting if another one was faster.
 */
export async function waitForEarlierWork(run: RunContext, job: Job): Promise<GiveUp | null> {
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
    if (leftMs <= 0) return stillActive('');
    if (!(await pause(run, Math.min(nextMs, leftMs)))) return CANCELLED;
    const looked = await pollInWait(run, job, startedAt);
    if (looked.kind === 'timed-out') return stillActive(looked.why);
    if (looked.kind !== 'polled') return looked;
    const over = mustGiveUp(run, 0);
    if (over !== null) return over;
    run.jobLog.beat(
      `Waiting for earlier work: the job is ${statusOf(job) ?? 'in an unknown status'}`,
    );
    const isDone = isFinal(statusOf(job));
    if (isDone && (isAgain || nextMs >= leftMs)) {
      job.isWaiting = false;
      setBase(job, looked);
      // What the agent has pushed for the earlier work does not count.
      await readChangesBefore(run, job);
      return null;
    }
    isAgain = isDone;
  }
}

function stillActive(why: string): GiveUp {
  const said =
    'The agent was still at work on something else. Increase “timeout-minutes”, or send it later.';
  return { kind: 'timed-out', why: why === '' ? said : `${said} The last poll failed: ${why}` };
}

/** Milliseconds for which a job is polled to confirm a delivery. */
const CONFIRM_MS = 30_000;

/** Whether a doubtful message arrived. Only a job that was done before can show that. */
export async function confirmDelivery(run: RunContext, job: Job): Promise<boolean> {
  const { clock, deadline, signal } = run;
  const end = Math.min(clock.now() + CONFIRM_MS, deadline);
  for (;;) {
    const answer = await pollOnce(run, job, end);
    if (answer.kind === 'polled') observe(job, answer.record.status, answer.from, answer.to);
    if (job.evidence) return true;
    const leftMs = end - clock.now();
    if (leftMs <= 0 || signal.aborted) return false;
    if (!(await pause(run, Math.min(SHORTEST_MS, leftMs)))) return false;
  }
}
