import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { createTransport } from '../../src/agent/http.ts';
import type { Clock } from '../../src/clock.ts';
import { type Reply, serve } from '../sim/agent.ts';
import { startFaultServer } from '../sim/fault-server.ts';
import { callsEnd, inTime } from '../sim/runner/clock.ts';
import { runHere } from '../sim/runner/here.ts';
import { virtualTime } from '../sim/runner/process.ts';

const HALF_HOUR = 1_800_000;
const { signal } = new AbortController();

/** The body of the response to a request with a timeout, or why there is none. */
async function request(clock: Clock, origin: string, ms: number): Promise<string> {
  const transport = createTransport({
    baseUrl: new URL(origin),
    apiKey: 'mint_key',
    proxy: { url: '', noProxy: '' },
    clock,
    signal,
  });
  const exchange = await transport.get('/', ms);
  if (exchange.kind === 'failure') return exchange.why;
  return exchange.body.kind === 'ok' ? exchange.body.value : exchange.body.problem;
}

describe('the time of steps in this process', () => {
  test('passes at once while steps only wait, also for servers', async () => {
    using time = virtualTime();
    const requestTimes: number[] = [];
    await using server = await serve(time, ({ at }) => {
      requestTimes.push(at);
      return { body: 'x'.repeat(100_000) };
    });
    await inTime(time, async (clock) => {
      for (let count = 0; count < 5; count++) {
        expect(await request(clock, server.origin, HALF_HOUR)).toMatch(/^x+$/);
        await clock.sleep(HALF_HOUR, signal);
      }
    });
    expect(requestTimes).toHaveLength(5);
    const pauses = requestTimes.slice(1).map((at, index) => at - (requestTimes[index] ?? 0));
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(HALF_HOUR - 1);
    expect(time.elapsed()).toBeGreaterThanOrEqual(5 * HALF_HOUR - 5);
  });

  test('does not pass while a server prepares a response', async () => {
    using time = virtualTime();
    await using server = await serve(time, () => wait(150).then(() => ({ body: 'slow' })));
    expect(await inTime(time, (clock) => request(clock, server.origin, 30_000))).toBe('slow');
    expect(time.ahead()).toBe(0);
  });

  test('passes at once while a simulated server lets a request hang', async () => {
    using time = virtualTime({ graceMs: 3_600_000 });
    await using server = await serve(time, () => ({ fault: 'hang' }));
    expect(await inTime(time, (clock) => request(clock, server.origin, HALF_HOUR))).toBe(
      'no answer within 1800 s',
    );
    expect(time.elapsed()).toBeGreaterThanOrEqual(HALF_HOUR - 1);
  });

  test('passes while any other server does not respond for long', async () => {
    using time = virtualTime({ graceMs: 100 });
    await using server = await startFaultServer({ onConnection: () => 'hang' });
    expect(await inTime(time, (clock) => request(clock, server.origin, HALF_HOUR))).toBe(
      'no answer within 1800 s',
    );
    expect(time.elapsed()).toBeGreaterThanOrEqual(HALF_HOUR - 1);
  });

  test('passes for each step on its own', async () => {
    using time = virtualTime();
    using elsewhere = virtualTime();
    await using server = await serve(time, () => wait(150).then(() => ({ body: 'slow' })));
    const response = inTime(time, (clock) => request(clock, server.origin, 30_000));
    await inTime(elsewhere, (clock) => clock.sleep(HALF_HOUR, signal));
    expect(elsewhere.elapsed()).toBeGreaterThanOrEqual(HALF_HOUR - 1);
    expect(await response).toBe('slow');
    expect(time.ahead()).toBe(0);
  });

  test('ends sleeps in order, and none after the work is done', async () => {
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

  test('waits for the remaining calls of a step, except those that hang', async () => {
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

  test('aborts a sleep with the reason of the signal', async () => {
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
});

test.each([
  ['options of Node', { nodeArgs: ['--import', 'x'] }],
  ['a private CA', { env: { NODE_EXTRA_CA_CERTS: 'x' } }],
  ['a pace', { time: virtualTime({ pace: 60 }) }],
])('runHere refuses a step with %s, which needs its own process', async (_, step) => {
  await expect(runHere(step)).rejects.toThrow('process of');
});
