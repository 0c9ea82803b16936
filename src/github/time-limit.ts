import type { Clock } from '../clock.ts';
import { GitHubError } from './errors.ts';

/** A reason of its own: without one, each abort creates an error with its stack. */
const DONE = 'done';

/** A limit for the total time of several waits for GitHub. Time in which they overlap counts once. */
export class TimeLimit {
  readonly #clock: Clock;
  #leftMs: number;
  #waiting = 0;
  #since = 0;

  constructor(clock: Clock, totalMs: number) {
    this.#clock = clock;
    this.#leftMs = totalMs;
  }

  /** Settles like the work, or rejects with a `GitHubError` when it is too late or aborted. The work goes on. */
  async waitFor<T>(work: Promise<T>, signal?: AbortSignal): Promise<T> {
    if (this.#waiting === 0) this.#since = this.#clock.now();
    this.#waiting += 1;
    const done = new AbortController();
    const ends = signal === undefined ? done.signal : AbortSignal.any([done.signal, signal]);
    const late = async (): Promise<never> => {
      // The work is done, or the wait is called off: either way it is over.
      await this.#clock.sleep(Math.max(0, this.#leftMs - this.#spentMs()), ends).catch(() => {});
      throw new GitHubError(0, 'GitHub did not answer in time');
    };
    try {
      return await Promise.race([work, late()]);
    } finally {
      done.abort(DONE);
      if (this.#waiting === 1) this.#leftMs -= this.#spentMs();
      this.#waiting -= 1;
    }
  }

  #spentMs(): number {
    return this.#clock.now() - this.#since;
  }
}
