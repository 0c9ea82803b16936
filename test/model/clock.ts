import type { Clock } from '../../src/clock.ts';

/**
 * Time that stands still while anything works and jumps to the next timer when all wait. The process
 * starts at 0; `seen` is the same time as the product counts it, since 1970.
 */
export interface VirtualClock {
  readonly seen: Clock;
  now(): number;
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** Calls back in `ms`, and returns what calls that off. */
  after(ms: number, callback: () => void): () => void;
  /** Timers that nobody has called off and that have not fired. */
  pending(): number;
  /**
   * Lets time pass until the work is done, but not while something is busy that takes real time; how
   * often that was asked since time passed is told. It is an error if nothing can bring it on.
   */
  drive<T>(work: Promise<T>, isBusy?: (asked: number) => boolean): Promise<T>;
}

/** A `sleep` by something that calls back after some milliseconds, and returns what calls that off. */
export function sleepBy(after: VirtualClock['after']): VirtualClock['sleep'] {
  return (ms, signal) =>
    new Promise((resolve, reject) => {
      if (signal.aborted) {
        reject(signal.reason);
        return;
      }
      const stop = (): void => {
        callOff();
        reject(signal.reason);
      };
      const callOff = after(ms, () => {
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

/** Milliseconds. Each look at the clock takes a moment, as it does on a real machine. */
const MOMENT = 0.001;
/** More timers than any sequence needs: beyond them the work is going round in circles. */
const MOST_JUMPS = 50_000;
export const EPOCH = Date.UTC(2026, 10, 21, 12);

export function virtualClock(startsAt: number): VirtualClock {
  const timers: Timer[] = [];
  let time = startsAt;

  function after(ms: number, callback: () => void): () => void {
    // Node cuts off the fraction of a millisecond, and never waits for less than one.
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
    if (next === undefined) throw new Error('The work is not done, but waits for nothing.');
    remove(next);
    time = Math.max(time, next.due);
    next.callback();
  }

  function now(): number {
    time += MOMENT;
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
      for (let jumps = 0; jumps < MOST_JUMPS; jumps++) {
        await everybodyWaits();
        for (let asked = 0; !done && isBusy(asked); asked++) {
          await new Promise((resolve) => setTimeout(resolve, 1));
        }
        if (done) return work;
        jump();
      }
      throw new Error('The work does not come to an end.');
    },
  };
}

/** All that can go on without time goes on before the next turn of the event loop. */
function everybodyWaits(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
