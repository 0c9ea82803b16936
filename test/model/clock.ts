import type { Clock } from '../../src/clock.ts';

interface Timer {
  readonly due: number;
  readonly callback: () => void;
}

/** Milliseconds that each call of `now` takes, as on a real machine. */
const CALL_MS = 0.001;
/** More than any sequence needs: after so many jumps, the work is in an infinite loop. */
const MAX_JUMPS = 50_000;
/** In which everything waits that does not wait for time; streams and Octokit need more than one. */
const TURNS = 3;
export const EPOCH = Date.UTC(2026, 10, 21, 12);

/**
 * Time that does not pass while code runs, and jumps to the next timer when everything waits. It
 * starts at 0; `seen` is the same time since 1970.
 */
export function virtualClock() {
  const timers = new Set<Timer>();
  let time = 0;

  /** Calls back after `ms`, and returns a function that cancels this. */
  function after(ms: number, callback: () => void): () => void {
    // Node truncates to whole milliseconds, and waits for at least one.
    const timer = { due: time + Math.max(1, Math.trunc(ms)), callback };
    timers.add(timer);
    return () => timers.delete(timer);
  }

  function jump(): void {
    let next: Timer | undefined;
    for (const timer of timers) if (next === undefined || timer.due < next.due) next = timer;
    if (next === undefined) throw new Error('The work is not done, but no timer is left.');
    timers.delete(next);
    time = Math.max(time, next.due);
    next.callback();
  }

  function now(): number {
    time += CALL_MS;
    return time;
  }

  async function sleep(ms: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const stop = (): void => {
      cancel();
      reject(signal.reason);
    };
    const cancel = after(ms, () => {
      signal.removeEventListener('abort', stop);
      resolve();
    });
    signal.addEventListener('abort', stop, { once: true });
    return promise;
  }

  function timeout(ms: number): AbortSignal {
    const controller = new AbortController();
    after(ms, () => controller.abort());
    return controller.signal;
  }

  const seen: Clock = { startedAt: EPOCH, now: () => EPOCH + now(), sleep, timeout };
  return {
    ...{ seen, now, after },
    pass: (ms: number) => new Promise<void>((resolve) => void after(ms, resolve)),
    /** Lets time pass until the work is done. Throws if it is not, but no timer is left. */
    async drive<T>(work: Promise<T>): Promise<T> {
      let isDone = false;
      const finish = (): void => {
        isDone = true;
      };
      work.then(finish, finish);
      for (let jumps = 0; jumps < MAX_JUMPS; jumps++) {
        for (let turn = 0; turn < TURNS; turn++) await new Promise(setImmediate);
        if (isDone) return work;
        jump();
      }
      throw new Error('The work does not end.');
    },
  };
}
