import { setTimeout as wait } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { type Reply, serve } from '../sim/agent.ts';
import { startFaultServer } from '../sim/fault-server.ts';
import { callsEnd, inTime } from '../sim/runner/clock.ts';
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
