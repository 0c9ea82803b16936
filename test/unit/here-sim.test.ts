import { setTimeout as wait } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type Reply, serve } from '../sim/agent.ts';
import { startFaultServer } from '../sim/fault-server.ts';
import { callsEnd, inTime } from '../sim/runner/clock.ts';
import { runHere } from '../sim/runner/here.ts';
import { virtualTime } from '../sim/runner/process.ts';

const HALF_HOUR = 1_800_000;
const { signal } = new AbortController();

type Clock = Parameters<Parameters<typeof inTime>[1]>[0];

/** The body of the response to a request with a timeout, or `late`. */
async function request(clock: Clock, origin: string): Promise<string> {
  const [done, late] = [new AbortController(), new AbortController()];
  const end = (): void => late.abort();
  clock.sleep(HALF_HOUR, done.signal).then(end, () => {});
  const read = fetch(origin, { signal: late.signal }).then((response) => response.text());
  return read.catch(() => 'late').finally(() => done.abort());
}

test('time passes at once while steps only wait, also for servers', async () => {
  using time = virtualTime();
  const times: number[] = [];
  await using server = await serve(time, ({ at }) => {
    times.push(at);
    return { body: 'x'.repeat(100_000) };
  });
  await inTime(time, async (clock) => {
    for (let count = 0; count < 3; count++) {
      expect(await request(clock, server.origin)).toMatch(/^x+$/);
      await clock.sleep(HALF_HOUR, signal);
    }
  });
  const [first = 0, second = 0, third = 0] = times;
  expect(Math.min(second - first, third - second)).toBeGreaterThanOrEqual(HALF_HOUR - 1);
  expect(time.elapsed()).toBeGreaterThanOrEqual(3 * HALF_HOUR - 3);
});

test.each([
  [
    'a simulated server lets a request hang',
    HALF_HOUR,
    () => serve(Date, () => ({ fault: 'hang' })),
  ],
  [
    'another server is silent for long',
    100,
    () => startFaultServer({ onConnection: () => 'hang' }),
  ],
])('time passes while %s', async (_, graceMs, start) => {
  using time = virtualTime({ graceMs });
  await using server = await start();
  expect(await inTime(time, (clock) => request(clock, server.origin))).toBe('late');
  expect(time.elapsed()).toBeGreaterThanOrEqual(HALF_HOUR - 1);
});

test('time passes for each step on its own, and not while a server prepares a response', async () => {
  using time = virtualTime();
  using elsewhere = virtualTime();
  await using server = await serve(time, () => wait(150).then(() => ({ body: 'slow' })));
  const response = inTime(time, (clock) => request(clock, server.origin));
  await inTime(elsewhere, (clock) => clock.sleep(HALF_HOUR, signal));
  expect(elsewhere.elapsed()).toBeGreaterThanOrEqual(HALF_HOUR - 1);
  expect(await response).toBe('slow');
  expect(time.ahead()).toBe(0);
});

test('sleeps end in order, and none after the work is done', async () => {
  using time = virtualTime();
  const woken: string[] = [];
  await inTime(time, async (clock) => {
    const sleep = (name: string, ms: number) =>
      clock.sleep(ms, signal).then(() => woken.push(name));
    void sleep('never', 40_000);
    await Promise.all([sleep('third', 30_000), sleep('first', 10_000), sleep('second', 20_000)]);
  });
  await inTime(time, (clock) => clock.sleep(60_000, signal));
  expect(woken).toEqual(['first', 'second', 'third']);
});

test('a sleep is aborted with the reason of the signal', async () => {
  using time = virtualTime();
  const reason = new Error('enough');
  const stop = new AbortController();
  await inTime(time, async (clock) => {
    const sleep = clock.sleep(60_000, stop.signal);
    stop.abort(reason);
    await expect(sleep).rejects.toBe(reason);
    await expect(clock.sleep(1, stop.signal)).rejects.toBe(reason);
  });
  expect(time.ahead()).toBe(0);
});

test('the remaining calls of a step are waited for, except those that hang', async () => {
  using time = virtualTime();
  let responses = 0;
  await using server = await serve(time, async ({ path }): Promise<Reply> => {
    if (path === '/hang') return { fault: 'hang' };
    await wait(50);
    responses += 1;
    return {};
  });
  const remaining = new AbortController();
  await inTime(time, async () => {
    for (const path of ['/hang', '/']) {
      void fetch(server.origin + path, { signal: remaining.signal }).catch(() => {});
    }
  });
  expect(responses).toBe(0);
  await callsEnd(time);
  expect(responses).toBe(1);
  remaining.abort();
});

test.each([
  ['options of Node', { nodeArgs: ['--import', 'x'] }],
  ['a private CA', { env: { NODE_EXTRA_CA_CERTS: 'x' } }],
  ['a pace', { time: virtualTime({ pace: 60 }) }],
])('runHere refuses a step with %s, which needs its own process', async (_, step) => {
  await expect(runHere(step)).rejects.toThrow('process of');
});
