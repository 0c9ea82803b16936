// Virtual time for steps that run in this process, beside others. As in time.ts it is real time plus
// an offset, which grows only while a step has nothing to do but wait: it sleeps, and no request of
// its own is under way, or only such as a simulated server lets hang. Others that stay silent are
// waited out in real time, as there.

import { AsyncLocalStorage } from 'node:async_hooks';
import { subscribe } from 'node:diagnostics_channel';
import type { Socket } from 'node:net';
import { setTimeout as pass, setImmediate as turn } from 'node:timers/promises';
import { type Clock, systemClock } from '../../../src/clock.ts';
import { hanging } from '../agent.ts';
import type { VirtualTime } from './process.ts';

interface Sleeper {
  readonly due: number;
  readonly wake: () => void;
}

/** What the steps that share a virtual time are up to. */
interface Steps {
  running: number;
  isDriven: boolean;
  /** How far time was ahead when the first of them began, and how far it is by now. */
  aheadMs: number;
  readonly sleepers: Set<Sleeper>;
  /** Those under way, each with the port that it was sent from, once it was. */
  readonly requests: Map<object, number | undefined>;
  /** Since any of them last did something: milliseconds, and looks at them. */
  silentMs: number;
  looks: number;
}

const GRACE_MS = 1500;
/** Turns of the event loop, in which whatever was set off before comes to its end. */
const QUIET_TURNS = 10;
// A stall of the whole machine is not silence of the other side.
const LONGEST_LOOK_MS = 5;

const stepsIn = new WeakMap<VirtualTime, Steps>();
const current = new AsyncLocalStorage<Steps>();
const stepsOf = new WeakMap<object, Steps>();

// undici tells of each request, of whichever client it is, in the context of whoever makes it.
subscribe('undici:request:create', (message) => {
  const { request } = message as { request: object };
  const steps = current.getStore();
  if (steps === undefined) return;
  stepsOf.set(request, steps);
  steps.requests.set(request, undefined);
  stir(steps);
});
subscribe('undici:client:sendHeaders', (message) => {
  const { request, socket } = message as { request: object; socket: Socket };
  const requests = stepsOf.get(request)?.requests;
  if (requests?.has(request)) requests.set(request, socket.localPort);
});
for (const end of ['undici:request:trailers', 'undici:request:error']) {
  subscribe(end, (message) => {
    const { request } = message as { request: object };
    const steps = stepsOf.get(request);
    if (steps?.requests.delete(request)) stir(steps);
  });
}

/** Does the work of a step by a clock in virtual time; once it is done, nothing of it wakes up. */
export async function inTime<T>(time: VirtualTime, work: (clock: Clock) => Promise<T>): Promise<T> {
  if (time.pace !== undefined || time.grainMs !== undefined) {
    throw new Error('Pace and grain are for steps in a process of their own.');
  }
  const steps = stepsIn.get(time) ?? {
    ...{ running: 0, isDriven: false, aheadMs: 0, silentMs: 0, looks: 0 },
    sleepers: new Set(),
    requests: new Map(),
  };
  stepsIn.set(time, steps);
  if (steps.running === 0) steps.aheadMs = time.ahead();
  steps.running += 1;
  if (!steps.isDriven) void drive(steps, time);
  try {
    return await current.run(steps, () => work(clockOf(steps)));
  } finally {
    steps.running -= 1;
    if (steps.running === 0) steps.sleepers.clear();
  }
}

/** Milliseconds, of real time, that a call of a step which is over may still take. */
const LONGEST_REST_MS = 1000;

/**
 * Waits for the calls that steps have left behind, such as a read whose result was not needed any more.
 * A server that closes before lets them look for another one at its port, which may be given out again.
 */
export async function callsEnd(time: VirtualTime): Promise<void> {
  const steps = stepsIn.get(time);
  for (let ms = 0; ms < LONGEST_REST_MS; ms++) {
    if (steps === undefined || onlySleep(steps)) return;
    await pass(1);
  }
}

function clockOf(steps: Steps): Clock {
  const now = (): number => systemClock.now() + steps.aheadMs;
  return {
    startedAt: now(),
    now,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal.aborted) {
          reject(signal.reason);
          return;
        }
        // Node cuts off the fraction of a millisecond, and never waits for less than one.
        const sleeper = { due: now() + Math.max(1, Math.trunc(ms)), wake };
        function wake(): void {
          signal.removeEventListener('abort', callOff);
          resolve();
        }
        function callOff(): void {
          if (steps.sleepers.delete(sleeper)) stir(steps);
          reject(signal.reason);
        }
        signal.addEventListener('abort', callOff, { once: true });
        steps.sleepers.add(sleeper);
        stir(steps);
      }),
  };
}

/** Whoever gets on is not silent. */
function stir(steps: Steps): void {
  steps.silentMs = 0;
  steps.looks = 0;
}

/** Looks at the steps for as long as one of them runs: at each turn where they only sleep. */
async function drive(steps: Steps, time: VirtualTime): Promise<void> {
  steps.isDriven = true;
  stir(steps);
  for (let lookedAt = performance.now(); steps.running > 0; ) {
    await (onlySleep(steps) && steps.sleepers.size > 0 ? turn() : pass(1));
    const now = performance.now();
    steps.looks += 1;
    steps.silentMs += Math.min(now - lookedAt, LONGEST_LOOK_MS);
    lookedAt = now;
    wakeNext(steps, time);
  }
  steps.isDriven = false;
}

function onlySleep({ requests }: Steps): boolean {
  return requests.values().every((port) => port !== undefined && hanging.has(port));
}

/** One at a time: what it sets off comes before the next one. */
function wakeNext(steps: Steps, time: VirtualTime): void {
  let next: Sleeper | undefined;
  for (const sleeper of steps.sleepers) {
    if (next === undefined || sleeper.due < next.due) next = sleeper;
  }
  if (next === undefined) return;
  const missing = next.due - (systemClock.now() + steps.aheadMs);
  if (missing > 0) {
    const maySkip = onlySleep(steps)
      ? steps.looks >= QUIET_TURNS
      : steps.silentMs >= (time.graceMs ?? GRACE_MS);
    if (!maySkip) return;
    time.skip(Math.ceil(missing));
    steps.aheadMs += Math.ceil(missing);
  }
  steps.sleepers.delete(next);
  stir(steps);
  next.wake();
}
