import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { download } from '../../src/carried/download.ts';

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

function get(address: string, { env = {}, apiUrl = LOCAL, ms = 60_000 } = {}) {
  const signal = AbortSignal.timeout(ms);
  return download(address, { env, apiUrl, signal }, readText);
}

it('reads the body, and sends nothing of its own', async () => {
  await using site = await serve((_, response) => response.end('the log'));
  const { host } = new URL(site.origin);
  expect(await get(site.origin + SIGNED)).toEqual({ kind: 'ok', value: 'the log' });
  expect(site.requests).toEqual([
    { url: SIGNED, headers: { host, connection: 'keep-alive', 'accept-encoding': 'identity' } },
  ]);
});

it('uses no proxy for the own machine', async () => {
  await using site = await serve((_, response) => response.end('the log'));
  const env = { http_proxy: 'http://127.0.0.1:1' };
  expect(await get(site.origin, { env })).toMatchObject({ kind: 'ok' });
});

it.each([
  ['no URL', '/relative?sig=signature', LOCAL],
  ['no URL at all', '', LOCAL],
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

it.each<[string, RequestListener, string]>([
  [
    'a further redirect',
    (_, response) => response.writeHead(302, { location: '/again' }).end(),
    '127.0.0.1 answered 302',
  ],
  [
    'what is gone, with a large body',
    (_, response) => response.writeHead(410).end('x'.repeat(1_000_000)),
    '127.0.0.1 answered 410',
  ],
  [
    'a compressed body',
    (_, response) => {
      const head = response.writeHead(200, { 'content-encoding': 'gzip' });
      head.end(gzipSync(Buffer.alloc(10_000_000)));
    },
    '127.0.0.1 answered 200 with a compressed body',
  ],
  [
    'a body that ends too early',
    (_, response) => {
      response.writeHead(200, { 'content-length': '10' }).write('half');
      setTimeout(() => response.destroy(), 50);
    },
    '127.0.0.1 did not answer: connection closed',
  ],
  [
    'an unwanted body that ends too early',
    (_, response) => {
      response.writeHead(500, { 'content-length': '10' }).write('half');
      setTimeout(() => response.destroy(), 50);
    },
    '127.0.0.1 did not answer: connection closed',
  ],
  [
    'a reset',
    (request) => request.socket.resetAndDestroy(),
    '127.0.0.1 did not answer: connection reset',
  ],
])('explains %s', async (_, respond, why) => {
  await using site = await serve(respond);
  expect(await get(site.origin + SIGNED)).toEqual({ kind: 'problem', problem: why });
  expect(site.requests).toHaveLength(1);
});

it.each<[string, RequestListener]>([
  ['an answer', () => {}],
  ['the end of a body', (_, response) => void response.writeHead(200).write('half')],
  ['the end of an unwanted body', (_, response) => void response.writeHead(404).write('half')],
])('does not wait for ever for %s', async (_, respond) => {
  await using site = await serve(respond);
  expect(await get(site.origin + SIGNED, { ms: 300 })).toEqual({
    kind: 'problem',
    problem: '127.0.0.1 did not answer: not in time',
  });
});

it('does not begin after its time', async () => {
  await using site = await serve((_, response) => response.end());
  const options = { env: {}, apiUrl: LOCAL, signal: AbortSignal.abort() };
  expect(await download(site.origin, options, readText)).toMatchObject({ kind: 'problem' });
  expect(site.requests).toEqual([]);
});

it('does not wait for ever for a proxy', async () => {
  // The agent leaves its connection to a proxy open, until the process ends.
  await using server = createTcpServer((socket) => setTimeout(() => socket.destroy(), 1000));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const env = { https_proxy: `http://127.0.0.1:${port}` };
  expect(await get(`https://logs.example${SIGNED}`, { env, ms: 300 })).toEqual({
    kind: 'problem',
    problem: 'logs.example did not answer: not in time',
  });
});

it('needs valid settings of a proxy', async () => {
  const env = { https_proxy: 'ftp://proxy' };
  expect(await get(`https://logs.example${SIGNED}`, { env })).toEqual({
    kind: 'problem',
    problem: 'the settings of the proxy are not valid',
  });
});
