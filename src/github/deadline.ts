import type { Clock } from '../clock.ts';
import { GitHubError } from './errors.ts';

/** A limit for the total time of several waits for GitHub. */
export interface Deadline {
  /**
   * Settles like the work, or rejects with a `GitHubError` once the time is used up or the signal
   * is aborted. The work itself continues.
   */
  waitFor<T>(work: Promise<T>, signal?: AbortSignal): Promise<T>;
}

/** A reason of its own: without one, each abort creates an error with its stack. */
const DONE = 'done';

/** Time in which several waits overlap counts once. */
export function createDeadline(clock: Clock, totalMs: number): Deadline {
  let leftMs = totalMs;
  let waiting = 0;
  let since = 0;
  const spentMs = (): number => clock.now() - since;

  return {
    async waitFor(work, signal) {
      if (waiting === 0) since = clock.now();
      waiting += 1;
      const done = new AbortController();
      const ends = signal === undefined ? done.signal : AbortSignal.any([done.signal, signal]);
      const late = async (): Promise<never> => {
        // The work is done, or the wait is called off: either way it is over.
        await clock.sleep(Math.max(0, leftMs - spentMs()), ends).catch(() => {});
        throw new GitHubError(0, 'GitHub did not answer in time');
      };
      try {
        return await Promise.race([work, late()]);
      } finally {
        done.abort(DONE);
        if (waiting === 1) leftMs -= spentMs();
        waiting -= 1;
      }
    },
  };
}
