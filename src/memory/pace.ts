import type { Clock } from '../clock.ts';

// When a comment may be written: all conversations of a run share what GitHub allows one author.

/** At the most one author's new and changed texts on GitHub are 80 a minute and 500 an hour. */
const LIMITS = [
  { writes: 60, ms: 60_000 },
  { writes: 400, ms: 3_600_000 },
];
/** Milliseconds between the writes of a run that writes to several conversations. */
const APART_MS = 1000;

export interface Pace {
  /** Resolves when this conversation may write; a cancel ends the pause early. It never rejects. */
  turn(conversation: number): Promise<void>;
}

export function createPace(clock: Clock, signal: AbortSignal): Pace {
  const writtenAt: number[] = [];
  const conversations = new Set<number>();
  return {
    async turn(conversation) {
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

/** Milliseconds until another comment may be written, from when the earlier ones were. */
export function pauseMs(
  writtenAt: readonly number[],
  now: number,
  limits: readonly { readonly writes: number; readonly ms: number }[] = LIMITS,
): number {
  const pauses = limits.map(({ writes, ms }) => (writtenAt.at(-writes) ?? -Infinity) + ms - now);
  return Math.max(0, ...pauses);
}
