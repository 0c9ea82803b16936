import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
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
  'a path that a URL would rewrite is not asked for: %s',
  async (path) => {
    await using server = await startFaultServer();
    const transport = openTransport(`${server.origin}/base/`);
    const timeoutMs = () => 30_000;
    const refused = {
      kind: 'failure',
      written: false,
      cause: 'network',
      why: 'the connection failed',
    };
    expect(await transport.get(path, timeoutMs, false)).toEqual(refused);
    expect(await transport.postOnce(path, {}, timeoutMs)).toEqual(refused);
    expect(server.connections).toBe(0);
  },
);

it('the limit of a read begins when it is its turn', async () => {
  // A connection each for 24 of them: the last ones wait for four rounds of 500 ms before.
  const server = createServer((_, response) => void setTimeout(() => response.end('{}'), 500));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const transport = openTransport(`http://127.0.0.1:${port}`);
  let started = 0;
  const timeoutMs = (): number => {
    started += 1;
    return 1450;
  };
  const reads = Array.from({ length: 100 }, () => transport.get('/', timeoutMs, false));
  await new Promise(setImmediate);
  expect(started).toBe(24);
  const exchanges = await Promise.all(reads);
  expect(started).toBe(100);
  expect(exchanges.filter(({ kind }) => kind === 'failure')).toEqual([]);
  server.close();
});

it('a read without time left makes no connection, and Node does not warn of its time', async () => {
  const warnings: Error[] = [];
  const note = (warning: Error): number => warnings.push(warning);
  process.on('warning', note);
  await using server = await startFaultServer();
  const transport = openTransport(server.origin);
  const exchange = await transport.get('/', () => -200, false);
  expect(exchange).toMatchObject({
    kind: 'failure',
    written: false,
    why: 'no time was left for it',
  });
  // Warnings come with the next tick.
  await new Promise(setImmediate);
  process.off('warning', note);
  expect(warnings).toEqual([]);
  expect(server.connections).toBe(0);
});

it('a read before a message waits for no other read', async () => {
  const held: ServerResponse[] = [];
  const server = createServer(({ url }, response) => {
    if (url === '/first') response.end('{}');
    else held.push(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const cancel = new AbortController();
  const transport = openTransport(`http://127.0.0.1:${port}`, cancel);
  const timeoutMs = () => 30_000;
  const others = Array.from({ length: 100 }, () => transport.get('/other', timeoutMs, false));
  const first = await transport.get('/first', timeoutMs, true);
  expect(first.kind).toBe('answer');
  expect(held.length).toBeLessThanOrEqual(24);
  cancel.abort();
  await Promise.all(others);
  server.close();
});
