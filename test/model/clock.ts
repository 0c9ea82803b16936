import type { Clock } from '../../src/clock.ts';

/**
 * Time that does not pass while code runs, and jumps to the next timer when everything waits. The process
 * starts at 0; `seen` is the same time as the action counts it, since 1970.
 */
export interface VirtualClock {
  readonly seen: Clock;
  now(): number;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** Calls back after `ms`, and returns a function that cancels this. */
  after(ms: number, callback: () => void): () => void;
  /** How many timers have neither fired nor been cancelled. */
  pending(): number;
  /**
   * Lets time pass until the work is done, but not while `isBusy` returns true, for work that takes real
   * time. `isBusy` gets the number of its calls since time last passed. Throws if the work is not done
   * but no timer is left.
   */
  drive<T>(work: Promise<T>, isBusy?: (calls: number) => boolean): Promise<T>;
}

/** A `sleep` that uses `after`. */
export function sleepBy(after: VirtualClock['after']): VirtualClock['sleep'] {
  return (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      const stop = (): void => {
        cancelTimer();
        reject(signal.reason);
      };
      const cancelTimer = after(ms, () => {
        signal.removeEventListener('abort', stop);
        resolve();
      });
      signal.addEventListener('abort', stop, { once: true });
    });
}

interface Timer {
  readonly due: number;
  readonly callback: () => void;
}

/** Milliseconds that each call of `now` takes, as on a real machine. */
const CALL_MS = 0.001;
/** More than any sequence needs: after so many jumps, the work is in an infinite loop. */
const MAX_JUMPS = 50_000;
export const EPOCH = Date.UTC(2026, 10, 21, 12);

export function virtualClock(startsAt: number): VirtualClock {
  const timers: Timer[] = [];
  let time = startsAt;

  function after(ms: number, callback: () => void): () => void {
    // Node truncates to whole milliseconds, and waits for at least one.
    const timer = { due: time + Math.max(1, Math.trunc(ms)), callback };
    timers.push(timer);
    return () => remove(timer);
  }

  function remove(timer: Timer): void {
    const index = timers.indexOf(timer);
    if (index >= 0) timers.splice(index, 1);
  }

  function jump(): void {
    const next = timers.reduce<Timer | undefined>(
      (first, timer) => (first === undefined || timer.due < first.due ? timer : first),
      undefined,
    );
    if (next === undefined) throw new Error('The work is not done, but no timer is left.');
    remove(next);
    time = Math.max(time, next.due);
    next.callback();
  }

  function now(): number {
    time += CALL_MS;
    return time;
  }

  const sleep = sleepBy(after);

  return {
    seen: { startedAt: EPOCH, now: () => EPOCH + now(), sleep },
    now,
    sleep,
    after,
    pending: () => timers.length,
    async drive(work, isBusy = () => false) {
      let done = false;
      const finish = (): void => {
        done = true;
      };
      work.then(finish, finish);
      for (let jumps = 0; jumps < MAX_JUMPS; jumps++) {
        await waitUntilIdle();
        for (let calls = 0; !done && isBusy(calls); calls++) {
          await new Promise((resolve) => setTimeout(resolve, 1));
        }
        if (done) return work;
        jump();
      }
      throw new Error('The work does not end.');
    },
  };
}

/** Everything that does not wait for time runs before the next turn of the event loop. */
function waitUntilIdle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
