import { DELIVERIES, type Delivery, type End, type Job, type JobResult, RESULTS } from '../job.ts';
import { endNow } from '../jobs/reasons.ts';

// Which of several jobs represents all of them, and whether they fail the step.

/** A job, and how it ends if the run ends now. */
export interface Ended {
  readonly job: Job;
  readonly end: End;
}

export function endedNow(jobs: readonly Job[], wait: boolean): readonly Ended[] {
  return jobs.map((job) => ({ job, end: endNow(job, { wait }) }));
}

/** The worst first; those of the same rank in the order of the inputs. */
export function worstFirst(ended: readonly Ended[]): readonly Ended[] {
  return ended.toSorted((one, other) => rank(one) - rank(other));
}

/** Of the same result, jobs with a reason come first, because they are not plain success. */
function rank({ end: { result, reason } }: Ended): number {
  return RESULTS.indexOf(result) + (reason === '' ? 0.5 : 0);
}

/**
 * Whether the message was delivered. `isUnsure`: any job that is still sending counts as unknown, for the
 * outputs of many jobs, which are not written again before each message.
 */
export function deliveryOf({ delivery, isPosting }: Job, isUnsure = false): Delivery {
  if (delivery !== 'sending') return delivery;
  return isPosting || isUnsure ? 'unknown' : 'not-sent';
}

/** The delivery that represents all: the first of unknown, sent, not-sent that occurs. */
export function overallDelivery(jobs: readonly Job[], isUnsure = false): Delivery {
  const found = new Set(jobs.map((job) => deliveryOf(job, isUnsure)));
  return DELIVERIES.find((delivery) => found.has(delivery)) ?? 'not-sent';
}

/** The jobs that fail the step. */
export function failing(ended: readonly Ended[], failOn: ReadonlySet<JobResult>): readonly Ended[] {
  return ended.filter(
    ({ end: { result } }) => result === 'error' || result === 'cancelled' || failOn.has(result),
  );
}
