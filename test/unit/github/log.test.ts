import { expect, it } from 'vitest';
import { fetchLog } from '../../../src/github/fetch.ts';
import { answer, type Behaviour, head, startFaultServer, whole } from '../../sim/fault-server.ts';

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
