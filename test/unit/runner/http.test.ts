import { expect, it } from 'vitest';
import { explainConnection, readPause, sendRequest } from '../../../src/runner/http.ts';
import { answer, head, startFaultServer, whole } from '../../sim/fault-server.ts';

const MIB = 1024 * 1024;

function request(origin: string, parts: Partial<Parameters<typeof sendRequest>[0]> = {}) {
  return sendRequest({
    ...{ url: new URL('/a?b=c', origin), method: 'GET', headers: {} },
    proxy: { url: '', noProxy: '' },
    ...{ signal: new AbortController().signal, mostBytes: MIB },
    ...parts,
  });
}

it('has a connection of its own, and says when it is about to be written', async () => {
  let written = 0;
  const onWrite = (): void => {
    written += 1;
  };
  const site = await startFaultServer({ onRequest: () => answer(whole(201, 'é')) });
  for (const method of ['GET', 'POST'] as const) {
    const response = await request(site.origin, { method, onWrite });
    expect(response).toMatchObject({ status: 201, body: Buffer.from('é') });
  }
  expect([site.connections, written, site.journal[0]?.path]).toEqual([2, 2, '/a?b=c']);
  await site[Symbol.asyncDispose]();
  await expect(request(site.origin, { onWrite })).rejects.toThrow();
  expect(written).toBe(2);
});

it('reads no more of a body than it may, and keeps the status of one that is cut off', async () => {
  const bytes = head(200, { 'content-length': 2 ** 30 });
  await using flood = await startFaultServer({
    onRequest: () => ({ kind: 'flood', bytes, chunk: Buffer.alloc(MIB), times: 1024 }),
  });
  expect(await request(flood.origin)).toMatchObject({ status: 200, body: null });
  expect(flood.written).toBeLessThan(64 * MIB);
  await using cut = await startFaultServer({ onRequest: () => answer(`${bytes}{`, 'end') });
  expect(await request(cut.origin)).toMatchObject({ status: 200, body: expect.any(Error) });
});

const NOW = Date.UTC(2026, 10, 21, 12);
it.each<[string, string, number | null]>([
  ['', '', null],
  ['0', '', 0],
  ['10', '', 10_000],
  ['9'.repeat(40), '', null],
  ['Sat, 21 Nov 2026 12:01:30 GMT', '', 90_000],
  ['Sat, 21 Nov 2026 12:01:30 GMT', 'Sat, 21 Nov 2026 12:01:00 GMT', 30_000],
  ['Sat, 21 Nov 2026 11:59:59 GMT', '', 0],
  ...['Sat, 99 Nov 2026 12:01:30 GMT', 'Sat, 21 Nov 2026', 'soon', '-1', '1e3', '0.5', '90s'].map(
    (value): [string, string, null] => [value, '', null],
  ),
])('Retry-After %j, by a server at %j, asks for %j ms', (asked, date, expected) => {
  expect(readPause({ 'retry-after': asked, date }, NOW)).toBe(expected);
});

const coded = (code: unknown, cause?: unknown): Error =>
  Object.assign(new Error('failed', { cause }), { code });

const failed = (message: string): string => `“${message}”`;

it.each<readonly [unknown, string, string | RegExp]>([
  [new Error('a', { cause: coded(500, coded('ENOTFOUND')) }), 'network', /^the host name is not/],
  [new AggregateError([coded('EAI_AGAIN'), coded('EPIPE')]), 'network', 'DNS did not answer'],
  [coded('UND_ERR_PRX_TLS', new Error('reset')), 'network', failed('reset')],
  [new Error('Proxy response (503) !== 200'), 'network', 'the proxy refused the connection (503)'],
  [new Error('Proxy response (407) !== 200'), 'setup', /^the proxy requires other credentials/],
  ...['SELF_SIGNED_CERT_IN_CHAIN', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'].map(
    (code) => [coded(code), 'setup', /^the certificate is not trusted; .*NODE_EXTRA_CA/] as const,
  ),
  ...['CERT_HAS_EXPIRED', 'ERR_TLS_CERT_ALTNAME_INVALID', 'HOSTNAME_MISMATCH'].map(
    (code) => [coded(code), 'setup', failed('failed')] as const,
  ),
  [coded('ERR_SSL_X'), 'setup', /^no secure TLS connection is possible; check the URL/],
  [Object.assign(new Error(), { code: 'EPERM' }), 'network', failed('EPERM')],
  ['no error', 'network', failed('no error')],
])('explainConnection of %o: %s, %s', (error, cause, why) => {
  const expected = typeof why === 'string' ? why : expect.stringMatching(why);
  expect(explainConnection(error)).toEqual([cause, expected]);
});
