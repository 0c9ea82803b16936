import { expect, it } from 'vitest';
import { createTransport, type Transport } from '../../src/agent/http.ts';
import { type Clock, systemClock } from '../../src/clock.ts';
import { startFaultServer } from '../sim/fault-server.ts';

function openTransport(baseUrl: string, clock = systemClock): Transport {
  return createTransport({
    baseUrl: new URL(baseUrl),
    apiKey: 'mint_key',
    proxy: { url: '', noProxy: '' },
    clock,
    signal: new AbortController().signal,
  });
}

it.each(['/v2/../admin', '/v2/./job', '/v2/%2e%2e/admin', '/v2/a b'])(
  'does not request a path that a URL would rewrite: %s',
  async (path) => {
    await using server = await startFaultServer();
    const transport = openTransport(`${server.origin}/base/`);
    const refused = {
      kind: 'failure',
      written: false,
      cause: 'network',
      why: 'the connection failed',
    };
    expect(await transport.get(path, 30_000)).toEqual(refused);
    expect(await transport.postOnce(path, {}, 30_000)).toEqual(refused);
    expect(server.connections).toBe(0);
  },
);

it('opens no connection for a read without time', async () => {
  await using server = await startFaultServer();
  const over: Clock = { ...systemClock, timeout: () => AbortSignal.abort() };
  const exchange = await openTransport(server.origin, over).get('/', -200);
  const why = 'no time was left for it';
  expect(exchange).toMatchObject({ kind: 'failure', written: false, why });
  expect(server.connections).toBe(0);
});

it('the clock takes any time for a timeout, without a warning of Node', async () => {
  const warnings: Error[] = [];
  const addWarning = (warning: Error): number => warnings.push(warning);
  process.on('warning', addWarning);
  for (const ms of [-200, 0, 0.5]) systemClock.timeout(ms);
  // Node emits warnings on the next tick.
  await new Promise(setImmediate);
  process.off('warning', addWarning);
  expect(warnings).toEqual([]);
});
