/** Milliseconds. Short jobs are polled often, long ones at most twice a minute. */
const FIRST_POLL_MS = 5000;
const SHORTEST_MS = 2000;
const LONGEST_MS = 30_000;
/** An interval of a twentieth of the elapsed time wastes at most a twentieth of the wait. */
const SHARE_OF_ELAPSED = 1 / 20;

/** What the interval until the next poll depends on. */
interface PollTiming {
  readonly sinceSendMs: number;
  /** The longest interval that the rules of the turn allow, or null. */
  readonly pollWithinMs: number | null;
  /** The interval that the user set, which overrides all others; null is adaptive. */
  readonly fixedMs: number | null;
  /**
   * 1 for a single job. With many jobs, each has a pace of its own, close to 1, so that their polls
   * spread out instead of coming in bursts.
   */
  readonly pace: number;
}

/** Milliseconds until the next poll of a job. */
export function nextPollMs({ sinceSendMs, pollWithinMs, fixedMs, pace }: PollTiming): number {
  if (fixedMs !== null) return fixedMs;
  if (pollWithinMs !== null) return pollWithinMs;
  const wait =
    sinceSendMs < FIRST_POLL_MS
      ? Math.max(FIRST_POLL_MS - sinceSendMs, SHORTEST_MS)
      : Math.min(LONGEST_MS, Math.max(SHORTEST_MS, sinceSendMs * SHARE_OF_ELAPSED));
  return wait * pace;
}

/** The difference between the fastest and the slowest pace. */
const SPREAD = 0.1;
/** The multiples of the golden ratio, modulo 1, are spread evenly. */
const GOLDEN = 0.618_033_988_749_895;

/** The pace of one of `count` jobs: 1 on average, and different from that of its neighbours. */
export function paceOf(index: number, count: number): number {
  return count === 1 ? 1 : 1 + SPREAD * (((index * GOLDEN) % 1) - 0.5);
}

/** Milliseconds between the first polls of jobs that get no message. */
const FIRST_POLLS_APART_MS = 50;

export function firstPollMs(index: number): number {
  return index * FIRST_POLLS_APART_MS;
}
