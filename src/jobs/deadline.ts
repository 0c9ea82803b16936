import { LEAST_POST_MS } from '../agent/retry.ts';
import type { End, Job } from '../job.ts';
import { cancelledEnd, timedOutEnd } from '../reasons.ts';
import type { Run } from './run.ts';

// When a job has to end although it is not done: at the deadline, after a cancellation, or when the API accepts no more
// messages.

/** How a loop goes on: what it was called for has happened, or the job has to end. */
export type Outcome<Kind extends string> = { readonly kind: Kind } | Over;
interface Over {
  readonly kind: 'over';
  readonly end: End;
}

export function over(end: End): Over {
  return { kind: 'over', end };
}

/**
 * Whether a message can still be sent after a pause of `afterMs`. If not, the job is over; `why` says why the last request
 * failed.
 */
export function canStillSend(run: Run, job: Job, afterMs = 0, why = ''): Outcome<'yes'> {
  const { clock, signal } = run.runtime;
  const stop = run.queue.stop.signal;
  if (signal.aborted) return over(cancelledEnd(job, run));
  if (stop.aborted) return over(stop.reason);
  if (run.plan.deadline - clock.now() - afterMs <= LEAST_POST_MS) {
    return over(timedOutEnd(job, run, why));
  }
  return { kind: 'yes' };
}

/** A cancellation ends the pause early. */
export function pause({ runtime: { clock, signal } }: Run, ms: number): Promise<void> {
  return clock.sleep(ms, signal).catch(() => {});
}
