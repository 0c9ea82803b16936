import type { Clock } from '../clock.ts';

// When a comment may be written: all comments of a run share the rate limits of one author.

/** GitHub accepts 80 new or changed texts of one author per minute, and 500 per hour. */
const LIMITS = [
  { writes: 60, ms: 60_000 },
  { writes: 400, ms: 3_600_000 },
];
/** For a run that writes to several pull requests or issues. */
const ONE_A_SECOND = { writes: 1, ms: 1000 };

export class Pace {
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #writtenAt: number[] = [];
  readonly #conversations = new Set<number>();

  constructor(clock: Clock, signal: AbortSignal) {
    this.#clock = clock;
    this.#signal = signal;
  }

  /** Resolves when the comment there may be written; a cancellation ends the pause early. It never rejects. */
  async wait(conversation: number): Promise<void> {
    this.#conversations.add(conversation);
    const limits = this.#conversations.size === 1 ? LIMITS : [...LIMITS, ONE_A_SECOND];
    const now = this.#clock.now();
    const pauses = limits.map(
      ({ writes, ms }) => (this.#writtenAt.at(-writes) ?? -Infinity) + ms - now,
    );
    const afterMs = Math.max(0, ...pauses);
    this.#writtenAt.push(now + afterMs);
    if (afterMs > 0) await this.#clock.sleep(afterMs, this.#signal).catch(() => {});
  }
}
