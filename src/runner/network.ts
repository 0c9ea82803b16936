import { quote } from '../text.ts';
import { codeOf } from './files.ts';

/** As in package.json. */
const VERSION = '1.0.0';

export const ACTION_URL = 'https://github.com/OWNER/agent-follow-up';

export const USER_AGENT = `agent-follow-up/${VERSION}`;

/** Errors that Node does not explain well, or that people can mend. */
const REMEDIES: readonly (readonly [code: RegExp, what: string])[] = [
  [/^ENOTFOUND$/, 'the host name is not known to DNS'],
  [/^EAI_AGAIN$/, 'DNS did not answer'],
  [
    /^(UNABLE_TO_(GET_ISSUER|VERIFY)|DEPTH_ZERO|SELF_SIGNED|INVALID_CA|CERT_UNTRUSTED)/,
    'the certificate is not trusted; for a private CA, NODE_EXTRA_CA_CERTS in the environment of ' +
      'the runner must name a file with its certificate',
  ],
  [/^(ERR_SSL|EPROTO)/, 'no secure TLS connection is possible; check the URL and the proxy'],
];

/** The codes of Node for certificates and a wrong host name, and those of TLS itself. */
const TLS =
  /CERT|^ERR_SSL|^EPROTO$|^UNABLE_TO_|^CRL_|^INVALID_|^HOSTNAME_|^DEPTH_ZERO|^PATH_LENGTH/;

/** Whether a setting has to be changed (`setup`), and why there was no response: a phrase. */
export function explainConnection(error: unknown): readonly ['network' | 'setup', string] {
  const root = findRoot(error);
  const code = codeOf(root);
  const proxyStatus = /^Proxy response \((\d+)\)/.exec(root.message)?.[1];
  if (proxyStatus === '407') {
    const check = 'check the user name and password in HTTPS_PROXY';
    return ['setup', `the proxy requires other credentials (407); ${check}`];
  }
  if (proxyStatus !== undefined) {
    return ['network', `the proxy refused the connection (${proxyStatus})`];
  }
  const remedy = REMEDIES.find(([pattern]) => pattern.test(code))?.[1];
  return [TLS.test(code) ? 'setup' : 'network', remedy ?? quote(root.message || code, 150)];
}

/** The first cause that has a code: Node nests errors, and combines several into one. */
function findRoot(error: unknown): Error {
  if (!(error instanceof Error)) return new Error(String(error));
  if (error instanceof AggregateError && error.errors.length > 0) return findRoot(error.errors[0]);
  const code = codeOf(error);
  const isWrapper = code === '' || code === 'UND_ERR_PRX_TLS';
  return isWrapper && error.cause instanceof Error ? findRoot(error.cause) : error;
}
