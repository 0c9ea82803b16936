import { DELIVERIES, type Delivery, type JobState, RESULTS, type TurnResult } from '../turn.ts';

// Which of several jobs represents all of them, and whether they fail the step.

/** The job that represents all: the first of the worst ones. */
export function worst(states: readonly JobState[]): JobState | undefined {
  return states.reduce<JobState | undefined>(
    (found, state) => (found === undefined || rank(state) < rank(found) ? state : found),
    undefined,
  );
}

export function worstFirst(states: readonly JobState[]): readonly JobState[] {
  return states.toSorted((one, other) => rank(one) - rank(other));
}

/** Of the same result, jobs with a reason come first, because they are not plain success. */
function rank({ turn: { result, reason } }: JobState): number {
  return RESULTS.indexOf(result) + (reason.length === 0 ? 0.5 : 0);
}

/** Whether this run's message was delivered: a read-only run sends none, and `sending` means not yet. */
export function deliveryOf({ isReadOnly, turn: { delivery } }: JobState): Delivery {
  return isReadOnly || delivery === 'sending' ? 'not-sent' : delivery;
}

/** The delivery that represents all: the first of unknown, sent, not-sent that occurs. */
export function overallDelivery(states: readonly JobState[]): Delivery {
  const found = new Set(states.map(deliveryOf));
  return DELIVERIES.find((delivery) => found.has(delivery)) ?? 'not-sent';
}

/** The jobs that fail the step. */
export function failing(
  states: readonly JobState[],
  failOn: ReadonlySet<TurnResult>,
): readonly JobState[] {
  return states.filter(
    ({ turn: { result } }) => result === 'error' || result === 'cancelled' || failOn.has(result),
  );
}
