import { expect, it } from 'vitest';
import { explainConnection, readPause } from '../../../src/runner/http.ts';

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
  [coded('UND_ERR_CONNECT_TIMEOUT'), 'network', 'no connection within 10 s'],
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
