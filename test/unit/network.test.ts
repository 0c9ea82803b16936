import { expect, it } from 'vitest';
import { explainConnection } from '../../src/runner/network.ts';

const coded = (code: unknown, cause?: unknown): Error =>
  Object.assign(new Error('failed', { cause }), { code });

it.each<[unknown, string, string]>([
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
    'the certificate is not trusted (SELF_SIGNED_CERT_IN_CHAIN); for a private CA, set ' +
      'NODE_EXTRA_CA_CERTS in the environment of the runner',
  ],
  [
    coded('CERT_HAS_EXPIRED'),
    'setup',
    'the certificate has expired (CERT_HAS_EXPIRED); whoever runs that server must renew it',
  ],
  [coded('EOTHER'), 'network', 'EOTHER'],
  [new Error('no code'), 'network', 'the connection failed'],
  ['no error', 'network', 'the connection failed'],
])('explainConnection of %o: %s, %s', (error, cause, why) => {
  expect(explainConnection(error)).toEqual([cause, why]);
});
