// A preload that makes time virtual: `node --import <this file> <program>`. It is a share of real time
// plus an offset, which grows only while the program just waits. `timers/promises` stays real.

import { AsyncLocalStorage } from 'node:async_hooks';
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { enableCompileCache, syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers';

type Callback = (...values: unknown[]) => void;

class Timer {
  readonly delay: number;
  readonly call: () => void;
  due = 0;
  keepsAlive = true;
  /** Whether it only limits the time of something, as `AbortSignal.timeout` does. */
  isTimeout = false;
  isCleared = false;

  constructor(callback: Callback, delay: unknown, values: unknown[]) {
    const inContext = AsyncLocalStorage.snapshot();
    const ms = Number(delay ?? 1);
    this.delay = ms >= 1 && ms <= 2 ** 31 - 1 ? Math.trunc(ms) : 1;
    this.call = () => inContext(() => callback.apply(this, values));
  }

  ref(keepsAlive = true): this {
    this.keepsAlive = keepsAlive;
    updatePump();
    return this;
  }

  unref(): this {
    return this.ref(false);
  }

  refresh(): this {
    if (!this.isCleared) arm(this);
    return this;
  }
}

/** As runner/process.ts gives them. */
const options = JSON.parse(process.env.SIM_TIME ?? '{}');
delete process.env.SIM_TIME;
const { file, started: START = 0, share: SHARE = 1, graceMs: GRACE_MS = 1500 } = options;
const { pace: PACE = Number.POSITIVE_INFINITY, grainMs: GRAIN_MS = 0 } = options;

// The tests load the same bundle a thousand times; compiling it takes a third of each start.
if (process.env.NODE_V8_COVERAGE === undefined) enableCompileCache();

const PUMP_MS = PACE === Number.POSITIVE_INFINITY ? 1 : 10;
const QUIET_TICKS = 2;
// If the whole machine stalls, the other side is not silent.
const LONGEST_TICK_MS = 20;
// Handles that keep the event loop alive while the program only waits, each with the highest allowed
// number: three for the standard streams. Any other handle counts as activity.
const IDLE = new Map([
  ['PipeWrap', 3],
  ['TTYWrap', 3],
  ['SignalWrap', Number.POSITIVE_INFINITY],
  ['Timeout', Number.POSITIVE_INFINITY],
]);

const real = {
  Date,
  dateNow: Date.now,
  now: performance.now.bind(performance),
  setTimeout,
  clearTimeout,
  setInterval,
  clearInterval,
};

const startOffset = file !== undefined && existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0;
/** In the order in which they were armed, in which those of the same time fire. */
const armed = new Set<Timer>();
let offset = startOffset;
let pump: NodeJS.Timeout | undefined;
let tickedAt = 0;
let quietTicks = 0;
let activeMs = 0;
let lastEvents = 0;

function now(): number {
  return real.now() * SHARE + offset;
}

function today(): number {
  return Math.floor(counted(real.dateNow()) + offset);
}

/** A time since 1970, without the offset. */
function counted(time: number): number {
  return START + (time - START) * SHARE;
}

function jump(ms: number): void {
  offset += ms;
  if (file === undefined) return;
  // A reader sees the old offset or the new one, never an empty file.
  writeFileSync(`${file}.${process.pid}`, String(offset));
  renameSync(`${file}.${process.pid}`, file);
}

function arm(timer: Timer): void {
  timer.due = now() + timer.delay;
  armed.delete(timer);
  armed.add(timer);
  updatePump();
}

function updatePump(): void {
  if (armed.size === 0) {
    real.clearInterval(pump);
    pump = undefined;
    return;
  }
  if (pump === undefined) {
    pump = real.setInterval(tick, PUMP_MS);
    tickedAt = real.now();
    quietTicks = 0;
  }
  if (armed.values().some(({ keepsAlive }) => keepsAlive)) pump.ref();
  else pump.unref();
}

function earliest(): Timer | undefined {
  let first: Timer | undefined;
  for (const timer of armed) {
    if (first === undefined || timer.due < first.due) first = timer;
  }
  return first;
}

function tick(): void {
  const elapsed = real.now() - tickedAt;
  tickedAt += elapsed;
  const next = earliest();
  if (next === undefined) return;
  if (next.isTimeout && isIdle()) {
    fireTimeouts();
    return;
  }
  if (next.due > now() && mayJump(elapsed)) {
    const missing = next.due + GRAIN_MS - now();
    const paced = Math.min(missing, elapsed * Math.max(PACE - 1, 0));
    jump(PACE === Number.POSITIVE_INFINITY ? Math.ceil(missing) : paced);
  }
  // Without a grain, one timer per tick: what it triggers happens before the next one fires.
  if (next.due <= now()) fire(next);
  if (GRAIN_MS > 0) fireDue();
}

/** Nothing is left that they limit, so all of them that come before the next timer fire at once. */
function fireTimeouts(): void {
  const timers = [...armed].sort((one, other) => one.due - other.due);
  for (const timer of timers) {
    if (!timer.isTimeout) return;
    fire(timer);
  }
}

function fireDue(): void {
  const end = now();
  for (let next = earliest(); next !== undefined && next.due <= end; next = earliest()) fire(next);
}

/**
 * Time also jumps to unref'd timers, such as the timeouts of undici and of `AbortSignal.timeout`: they
 * fire as long as anything keeps the process alive.
 */
function mayJump(elapsed: number): boolean {
  // Work in the thread pool (zlib, WebCrypto) is visible only by the event that ends it.
  const { events } = performance.nodeTiming.uvMetricsInfo;
  const idle = isIdle();
  quietTicks = idle && events === lastEvents ? quietTicks + 1 : 0;
  lastEvents = events;
  if (idle) {
    activeMs = 0;
    return quietTicks >= QUIET_TICKS;
  }
  activeMs += Math.min(elapsed, LONGEST_TICK_MS);
  return activeMs >= GRACE_MS;
}

function isIdle(): boolean {
  const names = process.getActiveResourcesInfo();
  const countOf = (name: string): number => names.filter((one) => one === name).length;
  return names.every((name) => countOf(name) <= (IDLE.get(name) ?? 0));
}

function fire(timer: Timer): void {
  armed.delete(timer);
  if (!timer.isTimeout) quietTicks = 0;
  if (timer.keepsAlive) activeMs = 0;
  updatePump();
  timer.call();
}

function virtualSetTimeout(callback: Callback, delay?: unknown, ...values: unknown[]): Timer {
  const timer = new Timer(callback, delay, values);
  // A program that sets timers is active.
  activeMs = 0;
  arm(timer);
  return timer;
}

function clear(given: unknown): void {
  if (!(given instanceof Timer)) {
    real.clearTimeout(given as NodeJS.Timeout);
    return;
  }
  given.isCleared = true;
  if (!armed.delete(given)) return;
  activeMs = 0;
  updatePump();
}

function timeoutSignal(ms: number): AbortSignal {
  const controller = new AbortController();
  const abort = (): void => {
    // Created late, as in Node: it has a stack, which takes more memory than the rest of the timer.
    const reason = new DOMException('The operation was aborted due to timeout', 'TimeoutError');
    controller.abort(reason);
  };
  virtualSetTimeout(abort, ms).unref().isTimeout = true;
  return controller.signal;
}

const replaced = { setTimeout: virtualSetTimeout, clearTimeout: clear };
Object.assign(globalThis, replaced);
Object.assign(timers, replaced);
AbortSignal.timeout = timeoutSignal;
syncBuiltinESMExports();

// Monotonic time starts near zero in each process, whatever the offset is.
performance.now = () => now() - startOffset;
Object.defineProperty(performance, 'timeOrigin', {
  value: counted(performance.timeOrigin) + startOffset,
  configurable: true,
});
Date.now = today;
globalThis.Date = new Proxy(Date, {
  construct: (target, values, newTarget) =>
    Reflect.construct(target, values.length === 0 ? [today()] : values, newTarget),
});
real.Date.prototype.constructor = globalThis.Date;
