/** Times are in milliseconds. */
export const systemClock = {
  startedAt: performance.timeOrigin,
  /** Since 1970. It does not jump, even if the clock of the machine is set. */
  now: (): number => performance.timeOrigin + performance.now(),
  sleep,
  /** Aborted after `ms`, of which Node takes only whole numbers. Keeps no process alive. */
  timeout: (ms: number): AbortSignal => AbortSignal.timeout(Math.max(0, Math.ceil(ms))),
};
export type Clock = Readonly<typeof systemClock>;

export function duration(ms: number): string {
  const whole = Math.round(ms / 1000);
  if (whole < 60) return `${whole} s`;
  const [minutes, rest] = [Math.floor(whole / 60), whole % 60];
  if (minutes < 60) return rest === 0 ? `${minutes} min` : `${minutes} min ${rest} s`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

export function afterPause(ms: number): string {
  return ms < 500 ? 'at once' : `in ${duration(ms)}`;
}

export function inUtc(time: number): string {
  return `${new Date(time).toISOString().slice(0, 16).replace('T', ' ')} UTC`;
}

/** Node keeps a signal with a listener alive, and with it all that the listener can reach. */
export async function untilAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const stop = (): void => reject(signal.reason);
  if (signal.aborted) stop();
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** Resolves after `ms`, or rejects with the signal's reason once the signal is aborted. */
async function sleep(ms: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  try {
    await untilAborted(promise, signal);
  } finally {
    clearTimeout(timer);
  }
}
