import { expect, it } from 'vitest';
import { createFetch } from '../../../src/github/fetch.ts';
import { answer, head, startFaultServer, whole } from '../../sim/fault-server.ts';

const MIB = 1024 * 1024;
const GET = { method: 'GET', headers: { authorization: 'token t' } } as const;
const POST = { ...GET, method: 'POST', body: '{"body":"é"}' } as const;

function open(wantsRedirect = false) {
  const { signal } = new AbortController();
  const proxy = { url: '', noProxy: '' };
  return createFetch({ proxy, signal, clock: Date, redact: (text) => text, wantsRedirect });
}

it('has the status, headers and text that the server sent, and asks for no compression', async () => {
  const headers = { 'X-Several': ['a', 'b'] };
  const onRequest = () => answer(whole(201, 'é 🚀', headers));
  await using site = await startFaultServer({ onRequest });
  const response = await open()(`${site.origin}/a?b=c`, POST);
  expect(response).toMatchObject({ status: 201, url: `${site.origin}/a?b=c` });
  expect(response.headers.get('x-several')).toBe('a, b');
  expect(await response.text()).toBe('é 🚀');
  expect(site.journal).toMatchObject([
    {
      ...{ method: 'POST', path: '/a?b=c', body: '{"body":"é"}' },
      headers: { authorization: 'token t', 'accept-encoding': 'identity' },
    },
  ]);
});

it('refuses an answer that does not end, or is cut off', async () => {
  const bytes = head(200, { 'content-length': 2 ** 30 });
  await using flood = await startFaultServer({
    onRequest: () => ({ kind: 'flood', bytes, chunk: Buffer.alloc(MIB), times: 1024 }),
  });
  const message = 'the answer has more than 16 MiB';
  await expect(open()(flood.origin, GET)).rejects.toMatchObject({ status: 200, message });
  await using cut = await startFaultServer({ onRequest: () => answer(`${bytes}{`, 'end') });
  await expect(open()(cut.origin, GET)).rejects.toMatchObject({
    ...{ status: 0, wasWritten: true },
    message: expect.stringMatching(/^GitHub could not be reached: .*; check the DNS, firewall/),
  });
  await expect(open()('http://127.0.0.1:1', GET)).rejects.toMatchObject({ wasWritten: false });
});

it('follows no redirect', async () => {
  await using other = await startFaultServer();
  const reply = answer(whole(307, '', { location: other.origin }));
  await using site = await startFaultServer({ onRequest: () => reply });
  for (const options of [GET, POST]) {
    const asked = open()(site.origin, options);
    await expect(asked).rejects.toThrow('answered 307, a redirect, which is not followed');
  }
  const wanted = await open(true)(site.origin, GET);
  expect([wanted.status, wanted.headers.get('location')]).toEqual([307, other.origin]);
  expect([site.journal.length, other.connections]).toEqual([3, 0]);
});

it('takes no 304 for a success', async () => {
  await using site = await startFaultServer({ onRequest: () => answer(whole(304, '')) });
  await expect(open()(site.origin, GET)).rejects.toThrow('answered 304, a redirect');
});
