import { fetchJob } from '../agent/client.ts';
import { pollRetryDelayMs } from '../agent/retry.ts';
import type { Clock } from '../clock.ts';
import { evaluateTurn, isFinal } from '../turn.ts';
import { countPoll, emit, type Job, takePoll } from './job.ts';
import { done, type End, lost, stoppedWaiting, timedOut } from './reasons.ts';
import { nextPollMs } from './schedule.ts';

// The polling loops: until the agent is done, and until a doubtful message shows.

/** Milliseconds: how long and how often a doubtful message is looked for. */
const DOUBT_MS = 30_000;
const DOUBT_INTERVAL_MS = 5000;
/** Milliseconds for the poll that starts at the deadline. */
const LAST_POLL_MS = 1500;

/**
 * Settles a doubtful send by polling. Only a job that had come to rest before can show by a change
 * that the message reached it.
 */
export async function confirmDelivery(job: Job, why: string): Promise<boolean> {
  const { context, options } = job;
  const { clock, signal } = context;
  const { jobId, turn } = job.state;
  if (turn.base === null || !isFinal(turn.base.status)) return false;
  const end = Math.min(clock.now() + DOUBT_MS, context.deadline);
  if (!signal.aborted) {
    emit(job, { kind: 'doubted', why, pollMs: Math.max(0, end - clock.now()) });
  }
  for (;;) {
    const remainingMs = end - clock.now();
    countPoll(job);
    const look = await fetchJob(context, jobId, () => pollMs(end, clock));
    if (look.kind === 'fetched') {
      takePoll(job, look);
      if (job.state.turn.evidence) return true;
    }
    // A poll that may outlast the window is the last one.
    if (remainingMs <= LAST_POLL_MS || signal.aborted) return false;
    const interval = options.pollIntervalMs ?? DOUBT_INTERVAL_MS;
    const pauseMs = Math.min(interval, Math.max(0, end - clock.now()));
    // A cancel ends the pause early, and then the loop.
    await clock.sleep(pauseMs, signal).catch(() => {});
    if (signal.aborted) return false;
  }
}

/** Polls until the turn is done, the deadline is there or the run is cancelled. */
export async function waitUntilDone(job: Job): Promise<End> {
  const { options, context } = job;
  const { clock, signal, deadline } = context;
  const { jobId } = job.state;
  const isPlainLook = job.state.turn.sentAt === null;
  const since = job.state.turn.sentAt ?? clock.now();
  // Without a message, there is no earlier turn that a final status may stem from.
  const settleMs = isPlainLook ? 0 : options.settleMs;
  let failures = 0;
  // A message of an earlier attempt may be done by now.
  let pollAfterMs: number | null = job.state.record === null ? options.firstPollMs : null;
  let lastMiss = '';
  for (;;) {
    const now = clock.now();
    const verdict = evaluateTurn(job.state.turn, now, settleMs);
    if (verdict.kind === 'done') {
      const { isOvertaken } = job;
      return done(job.state, options, { isSure: verdict.confirmed, isOvertaken });
    }
    if (now >= deadline) return timedOut(job.state, options, lastMiss);
    const scheduled = nextPollMs({
      sinceSendMs: now - since,
      pollWithinMs: verdict.pollWithinMs,
      fixedMs: options.pollIntervalMs,
      pace: options.pace,
    });
    const pauseMs = Math.min(deadline - now, pollAfterMs ?? scheduled);
    emit(job, { kind: 'waiting', nextPollMs: pauseMs, remainingMs: deadline - now });
    // A cancel ends the pause early.
    await clock.sleep(pauseMs, signal).catch(() => {});
    if (signal.aborted) return stoppedWaiting(job.state);
    const remainingMs = deadline - clock.now();
    countPoll(job);
    const look = await fetchJob(context, jobId, () => pollMs(deadline, clock));
    if (signal.aborted) return stoppedWaiting(job.state);
    if (look.kind === 'fetched') {
      failures = 0;
      pollAfterMs = null;
      lastMiss = '';
      takePoll(job, look);
      continue;
    }
    failures += 1;
    // At the deadline all jobs are polled once more, and not each may get its turn in time.
    if (remainingMs > 0) lastMiss = look.why;
    const retryMs = pollRetryDelayMs({
      exchange: look.exchange,
      failures,
      networkErrors: 0,
      // A job that got no message may not be unknown for a while.
      sinceSendMs: isPlainLook ? Infinity : clock.now() - since,
      now: clock.now(),
      random: context.random(),
    });
    if (retryMs === null && clock.now() < deadline) return lost(job.state, failures, look.why);
    pollAfterMs = retryMs ?? 0;
    const leftMs = deadline - clock.now();
    // The last poll comes at the deadline, however long the service wants to be left alone.
    if (leftMs > 0) {
      emit(job, { kind: 'missed', why: look.why, afterMs: Math.min(pollAfterMs, leftMs) });
    }
  }
}

/** Milliseconds that a poll may take: until `end`, or for one that starts close to it a little longer. */
function pollMs(end: number, clock: Clock): number {
  const leftMs = end - clock.now();
  return leftMs < LAST_POLL_MS ? leftMs + LAST_POLL_MS : leftMs;
}
