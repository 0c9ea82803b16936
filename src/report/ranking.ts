import { type Label, labelOf } from '../labels.ts';
import { DELIVERIES, type Delivery, type JobState, RESULTS, type TurnResult } from '../turn.ts';

// Which of several jobs stands for all of them, and whether they fail the step.

/** The job that stands for all: the first, in input order, of the worst. */
export function worst(states: readonly JobState[]): JobState | undefined {
  return states.reduce<JobState | undefined>(
    (found, state) => (found === undefined || rank(state) < rank(found) ? state : found),
    undefined,
  );
}

/**
 * By result, and of the same result first what has a reason: it is not plain success. What is left
 * equal stays in input order.
 */
export function worstFirst(states: readonly JobState[]): readonly JobState[] {
  return states.toSorted((one, other) => rank(one) - rank(other));
}

function rank({ turn: { result, reason } }: JobState): number {
  return RESULTS.indexOf(result) + (reason.length === 0 ? 0.5 : 0);
}

/** What became of this run's message: a look sends none, and one that was announced is not sent. */
export function deliveryOf({ isLook, turn: { delivery } }: JobState): Delivery {
  return isLook || delivery === 'sending' ? 'not-sent' : delivery;
}

/** The delivery that stands for all: the first of unknown, sent, not-sent that occurs. */
export function overallDelivery(states: readonly JobState[]): Delivery {
  const found = new Set(states.map(deliveryOf));
  return DELIVERIES.find((delivery) => found.has(delivery)) ?? 'not-sent';
}

/** Whether the step fails: `error` and `cancelled` always do, the others if they are listed. */
export function failsStep(states: readonly JobState[], failOn: ReadonlySet<TurnResult>): boolean {
  return states.some(
    ({ turn: { result } }) => result === 'error' || result === 'cancelled' || failOn.has(result),
  );
}

/** How a job stands, in the words for people. */
export function labelOfState({ isLook, record, turn }: JobState): Label {
  return labelOf(turn, record?.status ?? null, isLook);
}
