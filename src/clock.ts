/** The one source of time. All times are in milliseconds. */
export interface Clock {
  /** When the process started, since 1970. */
  readonly startedAt: number;
  /** Since 1970; goes on evenly even if somebody sets the machine's clock. */
  now(): number;
  /** Resolves after `ms`, or rejects with the signal's reason as soon as it is aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  startedAt: performance.timeOrigin,
  now: () => performance.timeOrigin + performance.now(),
  sleep,
};

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason);
      return;
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop);
      resolve();
    }, ms);
    function stop(): void {
      clearTimeout(timer);
      reject(signal.reason);
    }
    signal.addEventListener('abort', stop, { once: true });
  });
}
