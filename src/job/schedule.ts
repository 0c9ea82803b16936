/** Milliseconds. Short jobs are polled often, long ones at most twice a minute. */
const FIRST_POLL_MS = 5000;
const SHORTEST_MS = 2000;
const LONGEST_MS = 30_000;
/** An interval of a twentieth of the elapsed time wastes at most a twentieth of the wait. */
const SHARE_OF_ELAPSED = 1 / 20;

/** Milliseconds until the next poll of a job, unless its turn or the user sets the interval. */
export function nextPollMs(sinceSendMs: number): number {
  return sinceSendMs < FIRST_POLL_MS
    ? Math.max(FIRST_POLL_MS - sinceSendMs, SHORTEST_MS)
    : Math.min(LONGEST_MS, Math.max(SHORTEST_MS, sinceSendMs * SHARE_OF_ELAPSED));
}

/** The difference between the fastest and the slowest pace. */
const SPREAD = 0.1;
/** The multiples of the golden ratio, modulo 1, are spread evenly. */
const GOLDEN = 0.618_033_988_749_895;

/** The factor of the intervals of a job: 1 on average, and not that of its neighbours, so that polls spread out. */
export function paceOf(index: number, count: number): number {
  return count === 1 ? 1 : 1 + SPREAD * (((index * GOLDEN) % 1) - 0.5);
}

/** Milliseconds between the first polls of jobs that get no message. */
const FIRST_POLLS_APART_MS = 50;

export function firstPollMs(index: number): number {
  return index * FIRST_POLLS_APART_MS;
}
