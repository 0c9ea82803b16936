import { expect, it } from 'vitest';
import { createTransport, type Transport } from '../../src/agent/http.ts';
import { systemClock } from '../../src/clock.ts';
import { startFaultServer } from '../sim/fault-server.ts';

function openTransport(baseUrl: string, { signal } = new AbortController()): Transport {
  return createTransport({
    baseUrl: new URL(baseUrl),
    apiKey: 'mint_key',
    proxy: { url: '', noProxy: '' },
    clock: systemClock,
    signal,
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

it('says that a read had no time, without a warning of Node about the timeout', async () => {
  const warnings: Error[] = [];
  const addWarning = (warning: Error): number => warnings.push(warning);
  process.on('warning', addWarning);
  await using server = await startFaultServer();
  const transport = openTransport(server.origin);
  const exchange = await transport.get('/', -200);
  expect(exchange).toMatchObject({
    kind: 'failure',
    written: false,
    why: 'no time was left for it',
  });
  // Node emits warnings on the next tick.
  await new Promise(setImmediate);
  process.off('warning', addWarning);
  expect(warnings).toEqual([]);
});
