import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createTransport } from '../../src/agent/http.ts';

const OK = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}';
const CONTINUE = 'HTTP/1.1 100 Continue\r\nx-note: y\r\n\r\n';

it.each([
  ['in one piece', [CONTINUE + OK]],
  ['by itself', [CONTINUE, OK]],
  ['twice', [CONTINUE + CONTINUE, OK]],
  ['in the middle of its first word', ['HTT', `${CONTINUE.slice(3)}${OK}`]],
  ['in the middle of its number', ['HTTP/1.1 1', `${CONTINUE.slice(10)}${OK}`]],
  ['in the middle of its headers', [CONTINUE.slice(0, 30), CONTINUE.slice(30), OK]],
  ['between others', [`HTTP/1.1 103 Early Hints\r\nlink: <x>\r\n\r\n${CONTINUE}`, OK]],
  ['not at all', ['HTTP/1.1 2', OK.slice(10)]],
])('100 Continue is ignored, where it comes %s', async (_, pieces) => {
  const server = createServer((socket) => {
    socket.once('data', async () => {
      for (const piece of pieces) {
        socket.write(piece);
        // A piece of its own for the reader, not for a clock.
        await wait(20);
      }
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const transport = createTransport({
    baseUrl: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
    apiKey: 'mint_key',
    userAgent: 'test',
    proxy: { url: '', noProxy: '' },
  });
  const limits = { timeoutMs: 30_000, signal: new AbortController().signal };
  const exchange = await transport.postOnce('/x', {}, limits);
  expect(exchange).toMatchObject({ kind: 'answer', status: 200, body: { text: '{}' } });
  await transport.close();
  server.close();
});
