/** Milliseconds. Short jobs are looked at often, long ones no more than twice a minute. */
const FIRST_LOOK_MS = 5000;
const SHORTEST_MS = 2000;
const LONGEST_MS = 30_000;
/** A look after each twentieth of the time so far wastes at most that share of the wait. */
const SHARE_OF_ELAPSED = 1 / 20;

interface Moment {
  readonly sinceSendMs: number;
  /** From the turn rules: look within this time, or null. */
  readonly lookWithinMs: number | null;
  /** The user's own interval, which beats every interval of ours; null is adaptive. */
  readonly fixedMs: number | null;
}

/** Milliseconds until the next look at a job. */
export function nextLookMs({ sinceSendMs, lookWithinMs, fixedMs }: Moment): number {
  if (fixedMs !== null) return fixedMs;
  if (lookWithinMs !== null) return lookWithinMs;
  if (sinceSendMs < FIRST_LOOK_MS) return Math.max(FIRST_LOOK_MS - sinceSendMs, SHORTEST_MS);
  return Math.min(LONGEST_MS, Math.max(SHORTEST_MS, sinceSendMs * SHARE_OF_ELAPSED));
}
