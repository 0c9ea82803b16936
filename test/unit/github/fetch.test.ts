import { expect, it } from 'vitest';
import { createConnections, createFetch, type FetchOptions } from '../../../src/github/fetch.ts';
import { answer, head, startFaultServer, whole } from '../../sim/fault-server.ts';

const MIB = 1024 * 1024;
const GET: FetchOptions = { method: 'GET', headers: { authorization: 'token t' } };
const POST: FetchOptions = { ...GET, method: 'POST', body: '{"body":"é"}' };

/** A `fetch` with connections of its own. */
function open({ wantsRedirect = false, written = (): void => {} } = {}) {
  return createFetch(createConnections({ url: '', noProxy: '' }), wantsRedirect, written);
}

it('has the status, headers and text that the server sent, and asks for no compression', async () => {
  const headers = { 'X-Several': ['a', 'b'], 'Content-Type': 'text/plain, text/plain; x=y' };
  await using site = await startFaultServer({
    onRequest: () => answer(whole(201, 'é 🚀', headers)),
  });
  const response = await open()(`${site.origin}/a?b=c`, POST);
  expect(response).toMatchObject({ status: 201, url: `${site.origin}/a?b=c` });
  expect(response.headers.get('x-several')).toBe('a, b');
  expect(response.headers.get('content-type')).toBe('text/plain');
  expect(await response.text()).toBe('é 🚀');
  expect(Buffer.from(await response.arrayBuffer()).toString()).toBe('é 🚀');
  expect(site.journal).toMatchObject([
    {
      ...{ method: 'POST', path: '/a?b=c', body: '{"body":"é"}' },
      headers: { authorization: 'token t', 'accept-encoding': 'identity' },
    },
  ]);
});

it('refuses an answer that does not end', async () => {
  await using site = await startFaultServer({
    onRequest: () => ({
      ...{ kind: 'flood', bytes: head(200, { 'content-length': 2 ** 30 }) },
      ...{ chunk: Buffer.alloc(MIB), times: 1024 },
    }),
  });
  await expect(open()(site.origin, GET)).rejects.toMatchObject({
    status: 200,
    message: 'GitHub gave an answer that is too large',
  });
  expect(site.written).toBeLessThan(64 * MIB);
});

it.each([301, 307])('follows no redirect with status %i', async (status) => {
  await using other = await startFaultServer();
  await using site = await startFaultServer({
    onRequest: () => answer(whole(status, '', { location: other.origin })),
  });
  for (const options of [GET, POST]) {
    await expect(open()(site.origin, options)).rejects.toMatchObject({
      status,
      message: expect.stringContaining(`answered ${status}, a redirect, which is not followed`),
    });
  }
  const wanted = await open({ wantsRedirect: true })(site.origin, GET);
  expect([wanted.status, wanted.headers.get('location')]).toEqual([status, other.origin]);
  expect(site.journal).toHaveLength(3);
  expect(other.connections).toBe(0);
});

it('takes no 304 for a redirect, or for a success', async () => {
  await using site = await startFaultServer({ onRequest: () => answer(whole(304, '')) });
  await expect(open()(site.origin, GET)).rejects.toThrow('an unexpected response');
});

it('says when the request is about to be written: without a connection, it never is', async () => {
  let written = 0;
  const count = { written: () => (written += 1) };
  const site = await startFaultServer({ onRequest: () => answer(whole(200, {})) });
  await open(count)(site.origin, POST);
  expect(written).toBe(1);
  await site[Symbol.asyncDispose]();
  await expect(open(count)(site.origin, POST)).rejects.toThrow();
  expect(written).toBe(1);
});

it('uses one connection for consecutive requests', async () => {
  await using site = await startFaultServer({ onRequest: () => answer(whole(200, {})) });
  const fetchMore = open();
  for (const options of [GET, POST, GET, POST]) {
    await (await fetchMore(site.origin, options)).text();
  }
  expect(site.connections).toBe(1);
});
