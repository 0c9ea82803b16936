import { isFinal } from '../service.ts';
import { A_RUN, explain, type RunFacts } from './explain.ts';
import { type Delivery, deliveryOf, type Job } from './job.ts';
import type { Label } from './labels.ts';
import { type Outcome, STOP_REASONS, type Stop, type StopCode, stop } from './stop-reasons.ts';

/** `wait`: whether the run waits for the agent. */
export function toOutcome(job: Job, stopped: Stop, facts: RunFacts, wait: boolean): Outcome {
  const { code } = stopped;
  const { result } = STOP_REASONS[code];
  const delivery = deliveryOf(job);
  const known = isFinal(result) ? !code.endsWith('-unconfirmed') : undefined;
  // After a wait that saw no end, nothing is confirmed.
  const confirmed = known ?? (wait && delivery !== 'not-sent' ? false : undefined);
  return {
    code,
    result,
    label: labelAfter(code, delivery),
    explanation: explain(stopped, facts),
    ...(confirmed !== undefined && { confirmed }),
  };
}

function labelAfter(code: StopCode, delivery: Delivery): Label {
  const { result, label } = STOP_REASONS[code];
  if (result === 'skipped' || isFinal(result) || delivery === 'sent') return label;
  if (delivery === 'unknown') return 'delivery unknown';
  return label === 'closed' ? label : 'not-sent';
}

/** What is true if the process is killed now. */
export function outcomeNow(job: Job, wait: boolean): Outcome {
  return job.end ?? toOutcome(job, stopNow(job, wait), A_RUN, wait);
}

function stopNow(job: Job, wait: boolean): Stop {
  switch (deliveryOf(job)) {
    case 'not-sent':
      return stop('ended-early', { phase: 'before' });
    case 'unknown':
      return stop('ended-early', { phase: 'during', jobId: job.id });
    case 'sent':
      return stop(wait ? 'ended-in-wait' : 'sent');
  }
}
