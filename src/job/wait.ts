import { type Fetched, type Missed, pollAfterSend } from '../agent/client.ts';
import type { AgentContext } from '../agent/context.ts';
import { pollRetryDelayMs } from '../agent/retry.ts';
import { NO_REASON, type Reason } from '../reason.ts';
import { isConfirmed, isFinal, pollWithinMs } from '../turn.ts';
import { countPoll, emit, type Job, takePoll } from './job.ts';
import { done, doubtOf, type End, lost, OVERTAKEN, stoppedWaiting, timedOut } from './reasons.ts';
import { nextPollMs } from './schedule.ts';

// The two polling loops: until the agent is done, and until a doubtful delivery is confirmed.

/** Milliseconds: how long and how often a job is polled to confirm a delivery. */
const CONFIRM_MS = 30_000;
const CONFIRM_INTERVAL_MS = 5000;
/** Milliseconds for a poll that starts at the deadline. */
const LAST_POLL_MS = 1500;

/** Whether a doubtful message arrived. A change of the job shows that only if the agent was done before. */
export async function confirmDelivery(job: Job, why: Reason): Promise<boolean> {
  const { context, inputs } = job;
  const { clock, signal } = context;
  const { turn } = job.state;
  if (turn.base === null || !isFinal(turn.base.status)) return false;
  const end = Math.min(clock.now() + CONFIRM_MS, context.deadline);
  if (!signal.aborted) {
    emit(job, { kind: 'doubted', why, pollMs: Math.max(0, end - clock.now()) });
  }
  for (;;) {
    const remainingMs = end - clock.now();
    const poll = await pollOnce(job, end);
    if (poll.kind === 'fetched') {
      takePoll(job, poll);
      if (job.state.turn.evidence) return true;
    }
    // No further poll would end in time.
    if (remainingMs <= LAST_POLL_MS || signal.aborted) return false;
    const interval = inputs.pollIntervalMs ?? CONFIRM_INTERVAL_MS;
    const pauseMs = Math.min(interval, Math.max(0, end - clock.now()));
    if (!(await pause(context, pauseMs))) return false;
  }
}

/** Polls until the turn is done, the deadline is reached or the run is cancelled. */
export async function waitUntilDone(job: Job, isOvertaken = false): Promise<End> {
  const { inputs, context, pace } = job;
  const { clock, signal, deadline } = context;
  const { turn, record } = job.state;
  const since = turn.sentAt ?? clock.now();
  // Without a message, any final status is the end.
  const settleMs = turn.sentAt === null ? 0 : inputs.settleMs;
  // After a re-run or with send: false, the agent may already be done.
  let retryMs = record === null ? job.firstPollMs : null;
  let failures = 0;
  let lastMiss = NO_REASON;
  for (;;) {
    const now = clock.now();
    const confirmed = isConfirmed(job.state.turn, settleMs);
    if (confirmed !== null) {
      const doubt = confirmed ? NO_REASON : doubtOf(turn, settleMs);
      return done(job.state, isOvertaken ? OVERTAKEN : doubt);
    }
    if (now >= deadline) return timedOut(job.state, inputs, lastMiss);
    const nextMs =
      retryMs ??
      inputs.pollIntervalMs ??
      pollWithinMs(job.state.turn, now, settleMs) ??
      nextPollMs(now - since) * pace;
    const pauseMs = Math.min(deadline - now, nextMs);
    emit(job, { kind: 'waiting', nextPollMs: pauseMs, remainingMs: deadline - now });
    if (!(await pause(context, pauseMs))) return stoppedWaiting(job.state);
    const poll = await pollOnce(job, deadline);
    if (signal.aborted) return stoppedWaiting(job.state);
    if (poll.kind === 'fetched') {
      takePoll(job, poll);
      retryMs = null;
      failures = 0;
      lastMiss = NO_REASON;
      continue;
    }
    failures += 1;
    retryMs = retryAfterMiss(job, poll, failures);
    if (retryMs === null) return lost(job.state, failures, poll.why);
    // What the deadline has cut off may have had no time for an answer: that is no reason.
    if (clock.now() < deadline) lastMiss = poll.why;
  }
}

/** Milliseconds until the next poll after failed ones in a row, or null if there is none. */
function retryAfterMiss(job: Job, { exchange, why }: Missed, failures: number): number | null {
  const { clock, deadline } = job.context;
  const { sentAt } = job.state.turn;
  const now = clock.now();
  // A 404 is tolerated for a while after a message, and only then.
  const sinceSendMs = sentAt === null ? Infinity : now - sentAt;
  const delayMs = pollRetryDelayMs(exchange, failures, sinceSendMs, job.context);
  const leftMs = deadline - now;
  // The wait ends at the deadline, not because of this failure.
  if (leftMs <= 0) return 0;
  if (delayMs === null) return null;
  // The last poll starts at the deadline, even if the API asks for a longer pause.
  emit(job, { kind: 'missed', why, afterMs: Math.min(delayMs, leftMs) });
  return delayMs;
}

/** Returns false if the run was cancelled, which ends the pause early. */
async function pause({ clock, signal }: AgentContext, ms: number): Promise<boolean> {
  await clock.sleep(ms, signal).catch(() => {});
  return !signal.aborted;
}

/** The poll may last until `end`, or a little longer if it starts close to it. */
function pollOnce(job: Job, end: number): Promise<Fetched | Missed> {
  const { context, state } = job;
  countPoll(job);
  return pollAfterSend(context, state.jobId, () => {
    const leftMs = end - context.clock.now();
    return leftMs < LAST_POLL_MS ? leftMs + LAST_POLL_MS : leftMs;
  });
}
