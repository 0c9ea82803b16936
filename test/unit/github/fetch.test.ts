import { expect, it } from 'vitest';
import { createFetch, fetchLog } from '../../../src/github/fetch.ts';
import { answer, type Behaviour, head, startFaultServer, whole } from '../../sim/fault-server.ts';

const MIB = 1024 * 1024;
const GET = { method: 'GET', headers: { authorization: 'token t' } } as const;
const POST = { ...GET, method: 'POST', body: '{"body":"é"}' } as const;

function open(wantsRedirect = false) {
  const { signal } = new AbortController();
  const proxy = { url: '', noProxy: '' };
  return createFetch({ proxy, signal, clock: Date, redact: (text) => text, wantsRedirect });
}

it('has the status, headers and text that the server sent, and asks for no compression', async () => {
  const onRequest = () => answer(whole(201, 'é 🚀', { location: '/a' }));
  await using site = await startFaultServer({ onRequest });
  const response = await open()(`${site.origin}/a?b=c`, POST);
  expect(response).toMatchObject({ status: 201, url: `${site.origin}/a?b=c` });
  expect(response.headers.get('location')).toBe('/a');
  expect(await response.text()).toBe('é 🚀');
  const headers = { ...POST.headers, 'accept-encoding': 'identity' };
  expect(site.journal).toMatchObject([{ ...POST, path: '/a?b=c', headers }]);
});

it('refuses an answer that does not end, or is cut off', async () => {
  const bytes = head(200, { 'content-length': 2 ** 30 });
  const endless = { bytes, flood: { chunk: Buffer.alloc(MIB), times: 1024 } };
  await using flood = await startFaultServer({ onRequest: () => endless });
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
  expect([site.journal.length, other.connections()]).toEqual([3, 0]);
});

it('takes no 304 for a success', async () => {
  await using site = await startFaultServer({ onRequest: () => answer(whole(304, '')) });
  await expect(open()(site.origin, GET)).rejects.toThrow('an unexpected response');
});

// The log of a job is on another host, behind a signed address.
const SIGNED = '/log?sig=signature';
const LOCAL = 'http://127.0.0.1:1/api';
const { signal: NEVER } = new AbortController();

function get(address: string, { apiUrl = LOCAL, signal = NEVER } = {}) {
  const proxy = { url: 'http://127.0.0.1:1', noProxy: '' };
  return fetchLog(address, { proxy, apiUrl, signal });
}

it('is read, without a proxy on the own machine, and the other host gets nothing of ours', async () => {
  await using site = await startFaultServer({ onRequest: () => answer(whole(200, 'the log')) });
  expect(await get(site.origin + SIGNED)).toBe('the log');
  const { host } = new URL(site.origin);
  const headers = { host, 'accept-encoding': 'identity' };
  expect(site.journal).toMatchObject([{ path: SIGNED, headers }]);
  expect(site.journal[0]?.headers).not.toHaveProperty('authorization');
});

it.each([
  ['no URL', '/relative?sig=signature', LOCAL],
  ['another scheme', 'file:///etc/passwd', LOCAL],
  ['http on another host', 'http://logs.example/?sig=signature', LOCAL],
  ['http on this machine', 'http://127.0.0.1:1/?sig=signature', 'https://api.github.com'],
  ['a user name', 'https://user@logs.example/', LOCAL],
  ['a password', 'https://:word@logs.example/', LOCAL],
])('is not read from %s', async (_, address, apiUrl) => {
  await expect(get(address, { apiUrl })).rejects.toThrow('did not redirect to an https URL');
});

/** A body that ends after these bytes, of more. */
const cutOff = (status: number): Behaviour =>
  answer(`${head(status, { 'content-length': 10 })}half`, 'end');

it.each<[string, Behaviour, string]>([
  ['a further redirect', answer(whole(302, '', { location: '/again' })), '127.0.0.1 answered 302'],
  ['no log', answer(whole(404, 'x')), '127.0.0.1 answered 404'],
  ['more than 16 MiB', answer(whole(200, 'x'.repeat(17 * 1024 ** 2))), 'the answer has more'],
  ['a body that ends early', cutOff(200), '127.0.0.1 did not answer: .*'],
])('is told, with no more of the address than the host: %s', async (_, behaviour, why) => {
  await using site = await startFaultServer({ onRequest: () => behaviour });
  await expect(get(site.origin + SIGNED)).rejects.toThrow(RegExp(`^${why}`));
  expect(site.journal).toHaveLength(1);
});

it.each<[string, string]>([
  ['an answer', ''],
  ['the end of a body', `${head(200, { 'content-length': 10 })}half`],
])('is not waited for for ever: %s', async (_, bytes) => {
  const late = new AbortController();
  await using site = await startFaultServer({
    onRequest() {
      setTimeout(() => late.abort(), 50);
      return answer(bytes, 'hang');
    },
  });
  const log = get(site.origin + SIGNED, { signal: late.signal });
  await expect(log).rejects.toThrow(/^127\.0\.0\.1 did not answer: not in time$/);
});
