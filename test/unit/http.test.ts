import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { pollAfterSend, pollBeforeSend } from '../../src/agent/client.ts';
import type { AgentContext } from '../../src/agent/context.ts';
import { createTransport, type Transport } from '../../src/agent/http.ts';
import { openSendQueue } from '../../src/agent/send-queue.ts';
import { systemClock } from '../../src/clock.ts';
import { sentence } from '../../src/reason.ts';
import type { Log } from '../../src/runner/log.ts';
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

function openContext(baseUrl: string, cancel = new AbortController()): AgentContext {
  return {
    ...{
      transport: openTransport(baseUrl, cancel),
      queue: openSendQueue(),
      where: sentence`${'here'}`,
    },
    ...{ projectId: 'proj-1', serverUrl: 'https://github.com', clock: systemClock },
    ...{ deadline: systemClock.now() + 60_000, signal: cancel.signal, random: () => 0 },
    ...{ log: { debug: () => {} } as unknown as Log, redact: (text: string) => text },
  };
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

it('starts the timeout of a poll when the poll leaves the queue', async () => {
  // 24 connections poll at a time: the last polls wait for four rounds of 500 ms.
  const server = createServer((_, response) => {
    setTimeout(() => response.end('{"id":"job-1"}'), 500);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const context = openContext(`http://127.0.0.1:${port}`);
  let started = 0;
  const remainingMs = (): number => {
    started += 1;
    return 1450;
  };
  const polls = Array.from({ length: 100 }, () => pollAfterSend(context, 'job-1', remainingMs));
  await new Promise(setImmediate);
  expect(started).toBe(24);
  const ends = await Promise.all(polls);
  expect(started).toBe(100);
  expect(ends.filter(({ kind }) => kind !== 'fetched')).toEqual([]);
  server.close();
});

it('opens no connection for a read without time, and causes no warning of Node about the timeout', async () => {
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
  expect(server.connections).toBe(0);
});

it('does not delay a poll before a message for polls after other messages', async () => {
  const pending: ServerResponse[] = [];
  const server = createServer(({ url }, response) => {
    if (url?.endsWith('/first')) response.end('{"id":"first"}');
    else pending.push(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const cancel = new AbortController();
  const context = openContext(`http://127.0.0.1:${port}`, cancel);
  const others = Array.from({ length: 100 }, () => pollAfterSend(context, 'other', () => 30_000));
  const ignore = (): void => {};
  const first = await pollBeforeSend(context, 'first', ignore, ignore)();
  expect(first.kind).toBe('fetched');
  expect(pending.length).toBeLessThanOrEqual(24);
  cancel.abort();
  await Promise.all(others);
  server.close();
});
