// Virtual time for steps that run in this process. As in time.ts, it is a share of real time plus an
// offset, which grows only while a step just waits: it sleeps, and has no open request except those
// that a simulated server lets hang.

import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { setTimeout as pass, setImmediate as turn } from 'node:timers/promises';
import { type Clock, untilAborted } from '../../../src/clock.ts';
import { hanging, nameOf } from '../agent.ts';
import type { VirtualTime } from './process.ts';

interface Sleeper {
  readonly due: number;
  /** Whether it only limits the time of a request. */
  readonly isTimeout: boolean;
  readonly wake: () => void;
}

/** The steps that share a virtual time. */
interface Steps {
  running: number;
  isDriven: boolean;
  /** How much time was skipped. */
  aheadMs: number;
  readonly sleepers: Set<Sleeper>;
  /** The open requests, each with its connection after it is sent. */
  readonly requests: Map<object, string | undefined>;
  /** Milliseconds, and checks, since any of them was last active. */
  silentMs: number;
  checks: number;
}

const GRACE_MS = 1500;
/** Turns of the event loop in which earlier callbacks complete. */
const QUIET_TURNS = 10;
// If the whole machine stalls, the other side is not silent.
const LONGEST_CHECK_MS = 5;

const stepsIn = new WeakMap<VirtualTime, Steps>();
const current = new AsyncLocalStorage<Steps>();
const stepsOf = new WeakMap<object, Steps>();

// undici reports each request of each client in the async context of its caller.
subscribe('undici:request:create', (message) => {
  const { request } = message as { request: object };
  const steps = current.getStore();
  if (steps === undefined) return;
  stepsOf.set(request, steps);
  steps.requests.set(request, undefined);
  noteActivity(steps);
});
subscribe('undici:client:sendHeaders', (message) => {
  const { request, socket } = message as { request: object; socket: Socket };
  const requests = stepsOf.get(request)?.requests;
  if (requests?.has(request)) requests.set(request, nameOf(socket.localPort, socket.remotePort));
});
for (const end of ['undici:request:trailers', 'undici:request:error']) {
  subscribe(end, (message) => {
    const { request } = message as { request: object };
    const steps = stepsOf.get(request);
    if (steps?.requests.delete(request)) noteActivity(steps);
  });
}

/** Runs the work of a step in virtual time. After the last step, all sleepers are dropped. */
export async function inTime<T>(time: VirtualTime, work: (clock: Clock) => Promise<T>): Promise<T> {
  if (time.pace !== undefined || time.grainMs !== undefined) {
    throw new Error('Pace and grain need a step in a process of its own.');
  }
  const steps = stepsIn.get(time) ?? {
    ...{ running: 0, isDriven: false, aheadMs: 0, silentMs: 0, checks: 0 },
    sleepers: new Set(),
    requests: new Map(),
  };
  stepsIn.set(time, steps);
  if (steps.running === 0) steps.aheadMs = time.ahead();
  steps.running += 1;
  if (!steps.isDriven) void drive(steps, time);
  try {
    return await current.run(steps, () => work(clockOf(steps, time)));
  } finally {
    steps.running -= 1;
    if (steps.running === 0) steps.sleepers.clear();
  }
}

/** How many milliseconds of real time a call may take after its step has ended. */
const LONGEST_REST_MS = 1000;

/**
 * Waits for calls that are still open after a step. If the server closed first, they could reach
 * another server that got the same port.
 */
export async function callsEnd(time: VirtualTime): Promise<void> {
  const steps = stepsIn.get(time);
  for (let ms = 0; ms < LONGEST_REST_MS; ms++) {
    if (steps === undefined || onlySleep(steps)) return;
    await pass(1);
  }
}

function clockOf(steps: Steps, time: VirtualTime): Clock {
  const now = (): number => time.base() + steps.aheadMs;
  return {
    startedAt: now(),
    now,
    async sleep(ms, signal) {
      const { promise, resolve: wake } = Promise.withResolvers<void>();
      // Node truncates to whole milliseconds, and waits for at least one.
      const sleeper = { due: now() + Math.max(1, Math.trunc(ms)), isTimeout: false, wake };
      steps.sleepers.add(sleeper);
      noteActivity(steps);
      try {
        await untilAborted(promise, signal);
      } finally {
        if (steps.sleepers.delete(sleeper)) noteActivity(steps);
      }
    },
    timeout(ms) {
      const controller = new AbortController();
      const wake = (): void => controller.abort();
      steps.sleepers.add({ due: now() + Math.max(1, Math.ceil(ms)), isTimeout: true, wake });
      return controller.signal;
    },
  };
}

function noteActivity(steps: Steps): void {
  steps.silentMs = 0;
  steps.checks = 0;
}

/** Checks the steps as long as one of them runs: at each turn while they only sleep. */
async function drive(steps: Steps, time: VirtualTime): Promise<void> {
  steps.isDriven = true;
  noteActivity(steps);
  for (let checkedAt = performance.now(); steps.running > 0; ) {
    await (onlySleep(steps) && steps.sleepers.size > 0 ? turn() : pass(1));
    const now = performance.now();
    steps.checks += 1;
    steps.silentMs += Math.min(now - checkedAt, LONGEST_CHECK_MS);
    checkedAt = now;
    wakeNext(steps, time);
  }
  steps.isDriven = false;
}

function onlySleep({ requests }: Steps): boolean {
  return requests.values().every((name) => name !== undefined && hanging.has(name));
}

/** One at a time: what it triggers happens before the next one. */
function wakeNext(steps: Steps, time: VirtualTime): void {
  let next: Sleeper | undefined;
  for (const sleeper of steps.sleepers) {
    if (next === undefined || sleeper.due < next.due) next = sleeper;
  }
  if (next === undefined) return;
  if (next.isTimeout && steps.requests.size === 0) {
    // Nothing is left that it limits.
    steps.sleepers.delete(next);
    next.wake();
    return;
  }
  const missing = next.due - (time.base() + steps.aheadMs);
  if (missing > 0) {
    const maySkip = onlySleep(steps)
      ? steps.checks >= QUIET_TURNS
      : steps.silentMs >= (time.graceMs ?? GRACE_MS);
    if (!maySkip) return;
    time.skip(Math.ceil(missing));
    steps.aheadMs += Math.ceil(missing);
  }
  steps.sleepers.delete(next);
  noteActivity(steps);
  next.wake();
}
