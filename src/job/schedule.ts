/** Milliseconds. Short jobs are looked at often, long ones no more than twice a minute. */
const FIRST_LOOK_MS = 5000;
const SHORTEST_MS = 2000;
const LONGEST_MS = 30_000;
/** A look after each twentieth of the time so far wastes at most that share of the wait. */
const SHARE_OF_ELAPSED = 1 / 20;

interface Moment {
  readonly sinceSendMs: number;
  /** From the turn rules: look within this time, or null. */
  readonly pollWithinMs: number | null;
  /** The user's own interval, which beats every interval of ours; null is adaptive. */
  readonly fixedMs: number | null;
  /**
   * 1 for a job alone. Of many jobs each has one of its own, close to 1, so that their looks
   * drift apart instead of coming in bunches.
   */
  readonly pace: number;
}

/** Milliseconds until the next look at a job. */
export function nextPollMs({ sinceSendMs, pollWithinMs, fixedMs, pace }: Moment): number {
  if (fixedMs !== null) return fixedMs;
  if (pollWithinMs !== null) return pollWithinMs;
  const wait =
    sinceSendMs < FIRST_LOOK_MS
      ? Math.max(FIRST_LOOK_MS - sinceSendMs, SHORTEST_MS)
      : Math.min(LONGEST_MS, Math.max(SHORTEST_MS, sinceSendMs * SHARE_OF_ELAPSED));
  return wait * pace;
}

/** How far the paces of many jobs lie apart. */
const SPREAD = 0.1;
/** Multiples of it, taken from 0 to 1, never come close to each other (a golden section). */
const GOLDEN = 0.618_033_988_749_895;

/** The pace of one of `count` jobs: 1 on average, and unlike that of its neighbours. */
export function paceOf(index: number, count: number): number {
  return count === 1 ? 1 : 1 + SPREAD * (((index * GOLDEN) % 1) - 0.5);
}

/** Milliseconds between the first looks at jobs that no message sets apart. */
const FIRST_LOOKS_APART_MS = 50;

export function firstPollMs(index: number): number {
  return index * FIRST_LOOKS_APART_MS;
}
