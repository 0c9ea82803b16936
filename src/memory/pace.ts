import type { Clock } from '../clock.ts';

// When a comment may be written: all comments of a run share the rate limits of one author.

/** GitHub accepts 80 new or changed texts of one author per minute, and 500 per hour. */
const LIMITS = [
  { writes: 60, ms: 60_000 },
  { writes: 400, ms: 3_600_000 },
];
/** Milliseconds between the writes of a run that writes to several pull requests or issues. */
const APART_MS = 1000;

export interface Pace {
  /** Resolves when the comment there may be written; a cancellation ends the pause early. It never rejects. */
  wait(conversation: number): Promise<void>;
}

export function createPace(clock: Clock, signal: AbortSignal): Pace {
  const writtenAt: number[] = [];
  const conversations = new Set<number>();
  return {
    async wait(conversation) {
      conversations.add(conversation);
      const limits = conversations.size === 1 ? LIMITS : [...LIMITS, ONE_A_SECOND];
      const afterMs = pauseMs(writtenAt, clock.now(), limits);
      writtenAt.push(clock.now() + afterMs);
      // A cancel ends the pause early.
      if (afterMs > 0) await clock.sleep(afterMs, signal).catch(() => {});
    },
  };
}

const ONE_A_SECOND = { writes: 1, ms: APART_MS };

/** Milliseconds until the next comment may be written, given the times of the earlier ones. */
export function pauseMs(
  writtenAt: readonly number[],
  now: number,
  limits: readonly { readonly writes: number; readonly ms: number }[] = LIMITS,
): number {
  const pauses = limits.map(({ writes, ms }) => (writtenAt.at(-writes) ?? -Infinity) + ms - now);
  return Math.max(0, ...pauses);
}
