import type { Clock } from '../../src/clock.ts';

/**
 * Time that does not pass while code runs, and jumps to the next timer when everything waits. It
 * starts at 0; `seen` is the same time since 1970.
 */
export interface VirtualClock {
  readonly seen: Clock;
  now(): number;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** Calls back after `ms`, and returns a function that cancels this. */
  after(ms: number, callback: () => void): () => void;
  /** Lets time pass until the work is done. Throws if it is not, but no timer is left. */
  drive<T>(work: Promise<T>): Promise<T>;
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

/** `turns` of the event loop, until everything waits. */
export function virtualClock(startsAt: number, turns = 1): VirtualClock {
  const timers = new Set<Timer>();
  let time = startsAt;

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

  function sleep(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
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

  function timeout(ms: number): AbortSignal {
    const controller = new AbortController();
    after(ms, () => controller.abort());
    return controller.signal;
  }

  async function letPass(isOver: () => boolean): Promise<void> {
    for (let jumps = 0; jumps < MAX_JUMPS; jumps++) {
      for (let turn = 0; turn < turns; turn++) await untilIdle();
      if (isOver()) return;
      jump();
    }
    throw new Error('The work does not end.');
  }

  return {
    seen: { startedAt: EPOCH, now: () => EPOCH + now(), sleep, timeout },
    now,
    sleep,
    after,
    async drive(work) {
      let done = false;
      const finish = (): void => {
        done = true;
      };
      work.then(finish, finish);
      await letPass(() => done);
      return work;
    },
  };
}

/** Everything that does not wait for time runs before the next turn of the event loop. */
function untilIdle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
