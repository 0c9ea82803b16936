import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { createConnections, createFetch, type FetchOptions } from '../../src/github/fetch.ts';

const MIB = 1024 * 1024;
const GET: FetchOptions = { method: 'GET', headers: { authorization: 'token t' } };
const POST: FetchOptions = { ...GET, method: 'POST', body: '{"body":"é"}' };

interface Site extends AsyncDisposable {
  readonly origin: string;
  /** `METHOD path authorization body` of each request. */
  readonly requests: readonly string[];
}

async function serve(respond: RequestListener): Promise<Site> {
  const requests: string[] = [];
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    const { method, url, headers } = request;
    requests.push([method, url, headers.authorization, body].join(' ').trim());
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

/** A `fetch` with connections of its own. */
function open({ wantsRedirect = false, written = (): void => {} } = {}) {
  return createFetch(createConnections({ url: '', noProxy: '' }), wantsRedirect, written);
}
function fetch(url: string, options = GET) {
  return open()(url, options);
}

describe('a response', () => {
  it('has the status, headers and text that the server sent', async () => {
    await using site = await serve((_, response) => {
      const headers = { 'X-Several': ['a', 'b'], 'Content-Type': 'text/plain' };
      response.writeHead(201, headers).end('é 🚀');
    });
    const response = await fetch(`${site.origin}/a?b=c`, POST);
    expect(response).toMatchObject({ status: 201, url: `${site.origin}/a?b=c` });
    expect(response.headers.get('x-several')).toBe('a, b');
    expect(await response.text()).toBe('é 🚀');
    expect(Buffer.from(await response.arrayBuffer()).toString()).toBe('é 🚀');
    expect(site.requests).toEqual(['POST /a?b=c token t {"body":"é"}']);
  });

  it('is not decompressed', async () => {
    await using site = await serve(({ headers }, response) => {
      expect(headers['accept-encoding']).toBe('identity');
      response.setHeader('content-encoding', 'gzip').end(gzipSync(Buffer.alloc(65 * MIB)));
    });
    expect((await (await fetch(site.origin)).arrayBuffer()).byteLength).toBeLessThan(MIB);
  });

  it('is refused if it does not end', async () => {
    const chunk = Buffer.alloc(MIB);
    await using site = await serve((_, response) => {
      const flood = (): void => {
        while (!response.destroyed && response.write(chunk));
      };
      response.on('drain', flood);
      flood();
    });
    await expect(fetch(site.origin)).rejects.toThrow('an answer that is too large');
  });
});

it.each([300, 301, 302, 303, 304, 307, 308])(
  'a redirect with status %i is refused, and nothing gets the token',
  async (status) => {
    await using other = await serve((_, response) => response.end('caught'));
    await using site = await serve((_, response) =>
      response.writeHead(status, { location: other.origin }).end(),
    );
    for (const options of [GET, POST]) {
      await expect(fetch(site.origin, options)).rejects.toMatchObject({
        status,
        message: expect.stringContaining(`answered ${status}, a redirect, which is not followed`),
      });
    }
    expect(site.requests).toHaveLength(2);
    expect(other.requests).toEqual([]);
  },
);

it('a redirect is the response if the caller wants it, and is not followed', async () => {
  const location = 'https://logs.example/1?signature=x';
  await using site = await serve((_, response) => response.writeHead(302, { location }).end());
  const { status, headers } = await open({ wantsRedirect: true })(site.origin, GET);
  expect([status, headers.get('location')]).toEqual([302, location]);
});

it('says when the request is about to be written: without a connection, it never is', async () => {
  let written = 0;
  const count = open({ written: () => (written += 1) });
  const site = await serve((_, response) => response.end());
  await count(site.origin, POST);
  expect(written).toBe(1);
  await site[Symbol.asyncDispose]();
  await expect(open({ written: () => (written += 1) })(site.origin, POST)).rejects.toThrow();
  expect(written).toBe(1);
});

it('consecutive requests use one connection', async () => {
  const sockets = new Set<unknown>();
  await using site = await serve(({ socket }, response) => {
    sockets.add(socket);
    response.end('{}');
  });
  const fetchMore = open();
  for (const options of [GET, POST, GET, POST]) {
    await (await fetchMore(site.origin, options)).text();
  }
  expect(sockets.size).toBe(1);
});

describe('a signal', () => {
  it.each([
    ['before it starts', false],
    ['in the middle of the response', true],
  ])('aborts a request %s', async (_, hasStarted) => {
    const stop = new AbortController();
    await using site = await serve((_, response) => {
      response.writeHead(200).write('{');
      setTimeout(() => stop.abort(new Error('enough')), 20);
    });
    if (!hasStarted) stop.abort(new Error('enough'));
    const response = fetch(site.origin, { ...GET, signal: stop.signal });
    await expect(response).rejects.toThrow('enough');
    expect(site.requests).toHaveLength(hasStarted ? 1 : 0);
  });
});
