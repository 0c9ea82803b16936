import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { download } from '../../src/carried/download.ts';
import { startFaultServer } from '../sim/fault-server.ts';

interface Site extends AsyncDisposable {
  readonly origin: string;
  /** The requests, with all of their headers. */
  readonly requests: readonly { readonly url: string; readonly headers: object }[];
}

async function serve(respond: RequestListener): Promise<Site> {
  const requests: Site['requests'][number][] = [];
  const server = createServer((request, response) => {
    requests.push({ url: request.url ?? '', headers: request.headers });
    respond(request, response);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await server[Symbol.asyncDispose]();
    },
  };
}

const SIGNED = '/log?sig=signature';
const LOCAL = 'http://127.0.0.1:1/api';

async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  let text = '';
  for await (const chunk of body) text += Buffer.from(chunk).toString();
  return text;
}

const { signal: NEVER } = new AbortController();
function get(address: string, { env = {}, apiUrl = LOCAL, signal = NEVER } = {}) {
  return download(address, { env, apiUrl, signal }, readText);
}

it('reads the body, sends nothing of its own, and uses no proxy for the own machine', async () => {
  await using site = await serve((_, response) => response.end('the log'));
  const { host } = new URL(site.origin);
  const env = { http_proxy: 'http://127.0.0.1:1' };
  expect(await get(site.origin + SIGNED, { env })).toEqual({ kind: 'ok', value: 'the log' });
  expect(site.requests).toEqual([
    { url: SIGNED, headers: { host, connection: 'keep-alive', 'accept-encoding': 'identity' } },
  ]);
});

it.each([
  ['no URL', '/relative?sig=signature', LOCAL],
  ['another scheme', 'file:///etc/passwd', LOCAL],
  ['http on another host', 'http://logs.example/?sig=signature', LOCAL],
  ['http on this machine', 'http://127.0.0.1:1/?sig=signature', 'https://api.github.com'],
  ['http on this machine for an API elsewhere', 'http://[::1]:1/', 'http://api.example'],
  ['a user name', 'https://user@logs.example/', LOCAL],
  ['a password', 'https://:word@logs.example/', LOCAL],
])('does not follow %s', async (_, address, apiUrl) => {
  expect(await get(address, { apiUrl })).toEqual({
    kind: 'problem',
    problem: 'GitHub did not redirect to an https URL',
  });
});

/** A body that ends after these bytes, of more. */
function cutOff(status: number): RequestListener {
  return (_, response) => {
    response.writeHead(status, { 'content-length': '10' });
    response.write('half', () => response.destroy());
  };
}

it.each<[string, RequestListener, string]>([
  [
    'a further redirect',
    (_, response) => response.writeHead(302, { location: '/again' }).end(),
    'answered 302',
  ],
  [
    'what is gone, with a large body',
    (_, response) => response.writeHead(410).end('x'.repeat(1_000_000)),
    'answered 410',
  ],
  [
    'a compressed body',
    (_, response) => {
      const head = response.writeHead(200, { 'content-encoding': 'gzip' });
      head.end(gzipSync(Buffer.alloc(10_000_000)));
    },
    'answered 200 with a compressed body',
  ],
  ['a body that ends too early', cutOff(200), 'did not answer: connection closed'],
  ['an unwanted body that ends too early', cutOff(500), 'did not answer: connection closed'],
  ['a reset', (request) => request.socket.resetAndDestroy(), 'did not answer: connection reset'],
])('explains %s', async (_, respond, why) => {
  await using site = await serve(respond);
  expect(await get(site.origin + SIGNED)).toEqual({ kind: 'problem', problem: `127.0.0.1 ${why}` });
  expect(site.requests).toHaveLength(1);
});

/** Turns of the event loop in which a client in this process gets what is written to it. */
async function received(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
}

it.each<[string, RequestListener]>([
  ['an answer', () => {}],
  ['the end of a body', (_, response) => void response.writeHead(200).write('half')],
  ['the end of an unwanted body', (_, response) => void response.writeHead(404).write('half')],
])('does not wait for ever for %s', async (_, respond) => {
  const late = new AbortController();
  await using site = await serve((request, response) => {
    respond(request, response);
    void received().then(() => late.abort());
  });
  expect(await get(site.origin + SIGNED, { signal: late.signal })).toEqual({
    kind: 'problem',
    problem: '127.0.0.1 did not answer: not in time',
  });
  expect(await get(site.origin + SIGNED, { signal: late.signal })).toMatchObject({
    kind: 'problem',
  });
  // Nothing begins after its time.
  expect(site.requests).toHaveLength(1);
});

it('does not wait for ever for a proxy, whose settings must be valid', async () => {
  const late = new AbortController();
  await using proxy = await startFaultServer({
    onConnection() {
      void received().then(() => late.abort());
      return 'hang';
    },
  });
  const hanging = { env: { https_proxy: `http://127.0.0.1:${proxy.port}` }, signal: late.signal };
  expect(await get(`https://logs.example${SIGNED}`, hanging)).toEqual({
    kind: 'problem',
    problem: 'logs.example did not answer: not in time',
  });
  const invalid = { env: { https_proxy: 'ftp://proxy' } };
  expect(await get(`https://logs.example${SIGNED}`, invalid)).toEqual({
    kind: 'problem',
    problem: 'the settings of the proxy are not valid',
  });
});
