import { expect, it } from 'vitest';
import { compressionsOf, explainConnection } from '../../../src/runner/network.ts';

const coded = (code: unknown, cause?: unknown): Error =>
  Object.assign(new Error('failed', { cause }), { code });

const CLOCK = 'check the clock of the runner; if it is right, whoever runs that server must';
const CHECK_HOST = 'check the host name in the URL and the proxy';
const TRUST =
  'for a private CA, NODE_EXTRA_CA_CERTS in the environment of the runner must name a file with its certificate';

it.each<readonly [unknown, string, string]>([
  [coded('ECONNREFUSED'), 'network', 'connection refused'],
  [
    new Error('request', { cause: coded(500, coded('ENOTFOUND')) }),
    'network',
    'the host name is not known to DNS',
  ],
  [new AggregateError([coded('ETIMEDOUT'), coded('EPIPE')]), 'network', 'connection timed out'],
  [coded('UND_ERR_PRX_TLS', coded('ECONNRESET')), 'network', 'connection reset'],
  [new Error('Proxy response (503) !== 200'), 'network', 'the proxy refused the connection (503)'],
  [
    coded('SELF_SIGNED_CERT_IN_CHAIN'),
    'setup',
    `the certificate is not trusted (SELF_SIGNED_CERT_IN_CHAIN); ${TRUST}`,
  ],
  ...(
    [
      ['CERT_HAS_EXPIRED', 'has expired', `${CLOCK} renew the certificate`],
      ['CERT_NOT_YET_VALID', 'is not valid yet', `${CLOCK} replace the certificate`],
      ['ERR_TLS_CERT_ALTNAME_INVALID', 'is for another host name', CHECK_HOST],
      ['HOSTNAME_MISMATCH', 'is for another host name', CHECK_HOST],
      ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', 'is not trusted', TRUST],
      ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', 'is not trusted', TRUST],
      ['CERT_REVOKED', 'is not valid', 'whoever runs that server must replace it'],
      ['UNSPECIFIED', 'is not valid', 'whoever runs that server must replace it'],
    ] as const
  ).map(
    ([code, what, remedy]) =>
      [coded(code), 'setup', `the certificate ${what} (${code}); ${remedy}`] as const,
  ),
  [
    coded('ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION'),
    'setup',
    'no secure TLS connection is possible (ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION); check the URL and the proxy',
  ],
  [
    coded('UND_ERR_PRX_CONN', coded('UND_ERR_SOCKET')),
    'network',
    'the proxy closed the connection',
  ],
  [coded('EHOSTUNREACH'), 'network', 'the host cannot be reached'],
  [coded('EPERM'), 'network', 'the system of the runner forbids the connection'],
  [coded('UND_ERR_OTHER'), 'network', 'the connection failed (UND_ERR_OTHER)'],
  [new Error('no code'), 'network', 'the connection failed'],
  ['no error', 'network', 'the connection failed'],
])('explainConnection of %o: %s, %s', (error, cause, why) => {
  expect(explainConnection(error)).toEqual([cause, why]);
});

it.each<[string | readonly string[], boolean]>([
  ...['gzip', 'identity, BR', 'x-gzip', 'zstd'].map((words): [string, boolean] => [words, true]),
  [['none', 'deflate'], true],
  ...['', 'utf-8', 'none', 'identity, identity', 'UTF8'].map((words): [string, boolean] => [
    words,
    false,
  ]),
])('content-encoding %j means compressed: %j', (words, expected) => {
  expect(compressionsOf({ 'content-encoding': [words].flat() }).length > 0).toBe(expected);
  expect(compressionsOf({})).toEqual([]);
});
