import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { createFetch, type FetchOptions } from '../../src/github/fetch.ts';

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

function fetch(url: string, options = GET) {
  return createFetch({ url: '', noProxy: '' })(url, options);
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

describe('a redirect', () => {
  it.each([301, 302, 307, 308])(
    'with status %i is followed with the same request',
    async (status) => {
      await using site = await serve(({ url }, response) => {
        if (url === '/new?a=b') response.end('done');
        else response.writeHead(status, { location: '/new?a=b' }).end('moved');
      });
      for (const options of [GET, POST]) {
        const response = await fetch(`${site.origin}/old`, options);
        expect([response.status, response.url]).toEqual([200, `${site.origin}/new?a=b`]);
        expect(await response.text()).toBe('done');
      }
      expect(site.requests).toEqual([
        'GET /old token t',
        'GET /new?a=b token t',
        'POST /old token t {"body":"é"}',
        'POST /new?a=b token t {"body":"é"}',
      ]);
    },
  );

  it.each([303, 300, 200])('with status %i is not followed', async (status) => {
    await using site = await serve((_, response) =>
      response.writeHead(status, { location: '/new' }).end(),
    );
    expect((await fetch(site.origin)).status).toBe(status);
    expect(site.requests).toHaveLength(1);
  });

  it('without a location is not followed', async () => {
    await using site = await serve((_, response) => response.writeHead(301).end());
    expect((await fetch(site.origin)).status).toBe(301);
  });

  it.each(['http://', '//', 'https://'])(
    'to another host by %s is refused without a request to it',
    async (form) => {
      await using other = await serve((_, response) => response.end('caught'));
      const location = `${form}${new URL(other.origin).host}/`;
      await using site = await serve((_, response) => response.writeHead(307, { location }).end());
      await expect(fetch(site.origin, POST)).rejects.toThrow('another host');
      expect(other.requests).toEqual([]);
    },
  );

  it('to an invalid URL is refused', async () => {
    await using site = await serve((_, response) =>
      response.writeHead(301, { location: 'http://[' }).end(),
    );
    await expect(fetch(site.origin)).rejects.toThrow();
    expect(site.requests).toHaveLength(1);
  });

  it('to itself is followed five times, then refused', async () => {
    await using site = await serve((_, response) =>
      response.writeHead(302, { location: '/' }).end(),
    );
    await expect(fetch(site.origin)).rejects.toThrow('redirects in circles');
    expect(site.requests).toHaveLength(6);
  });
});

it('consecutive requests use one connection', async () => {
  const sockets = new Set<unknown>();
  await using site = await serve(({ socket }, response) => {
    sockets.add(socket);
    response.end('{}');
  });
  const fetchMore = createFetch({ url: '', noProxy: '' });
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
