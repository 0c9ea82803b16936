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

/** What comes of a request that may take so many milliseconds of the step's time. */
async function ask(clock: Clock, origin: string, ms: number): Promise<string> {
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
  test('passes at once where they only wait, and servers see it', async () => {
    using time = virtualTime();
    const seen: number[] = [];
    await using server = await serve(time, ({ at }) => {
      seen.push(at);
      return { body: 'x'.repeat(100_000) };
    });
    await inTime(time, async (clock) => {
      for (let count = 0; count < 5; count++) {
        expect(await ask(clock, server.origin, HALF_HOUR)).toMatch(/^x+$/);
        await clock.sleep(HALF_HOUR, signal);
      }
    });
    expect(seen).toHaveLength(5);
    const pauses = seen.slice(1).map((at, index) => at - (seen[index] ?? 0));
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(HALF_HOUR - 1);
    expect(time.elapsed()).toBeGreaterThanOrEqual(5 * HALF_HOUR - 5);
  });

  test('stands still while a server takes its time', async () => {
    using time = virtualTime();
    await using server = await serve(time, () => wait(150).then(() => ({ body: 'slow' })));
    expect(await inTime(time, (clock) => ask(clock, server.origin, 30_000))).toBe('slow');
    expect(time.ahead()).toBe(0);
  });

  test('passes at once while a simulated server lets a request hang', async () => {
    using time = virtualTime({ graceMs: 3_600_000 });
    await using server = await serve(time, () => ({ fault: 'hang' }));
    expect(await inTime(time, (clock) => ask(clock, server.origin, HALF_HOUR))).toBe(
      'no answer within 1800 s',
    );
    expect(time.elapsed()).toBeGreaterThanOrEqual(HALF_HOUR - 1);
  });

  test('passes while any other server is silent for long', async () => {
    using time = virtualTime({ graceMs: 100 });
    await using server = await startFaultServer({ onConnection: () => 'hang' });
    expect(await inTime(time, (clock) => ask(clock, server.origin, HALF_HOUR))).toBe(
      'no answer within 1800 s',
    );
    expect(time.elapsed()).toBeGreaterThanOrEqual(HALF_HOUR - 1);
  });

  test('is their own: it passes for one while another is under way', async () => {
    using time = virtualTime();
    using elsewhere = virtualTime();
    await using server = await serve(time, () => wait(150).then(() => ({ body: 'slow' })));
    const asked = inTime(time, (clock) => ask(clock, server.origin, 30_000));
    await inTime(elsewhere, (clock) => clock.sleep(HALF_HOUR, signal));
    expect(elsewhere.elapsed()).toBeGreaterThanOrEqual(HALF_HOUR - 1);
    expect(await asked).toBe('slow');
    expect(time.ahead()).toBe(0);
  });

  test('wakes them in order, and nobody once the work is done', async () => {
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

  test('ends with the calls that a step has left behind, but for such as hang', async () => {
    using time = virtualTime();
    let answered = 0;
    await using server = await serve(time, async ({ path }): Promise<Reply> => {
      if (path === '/hang') return { fault: 'hang' };
      await wait(50);
      answered += 1;
      return {};
    });
    const left = new AbortController();
    await inTime(time, async () => {
      for (const path of ['/hang', '/']) {
        void fetch(server.origin + path, { signal: left.signal }).catch(() => {});
      }
    });
    expect(answered).toBe(0);
    await callsEnd(time);
    expect(answered).toBe(1);
    left.abort();
  });

  test('calls a sleep off with the reason of the signal', async () => {
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
  ['what Node is told', { nodeArgs: ['--import', 'x'] }],
  ['authorities', { env: { NODE_EXTRA_CA_CERTS: 'x' } }],
  ['a pace', { time: virtualTime({ pace: 60 }) }],
])('a step with %s needs a process of its own', async (_, step) => {
  await expect(runHere(step)).rejects.toThrow('process of');
});
