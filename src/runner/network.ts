import { type Dispatcher, EnvHttpProxyAgent, HTTP1_ONLY } from '../vendor/undici.ts';
import type { ProxySettings } from './environment.ts';
import { codeOf } from './files.ts';

// What requests to the API and to GitHub have in common.

/** The version of package.json; a test holds the two equal. */
const VERSION = '1.0.0';

export const USER_AGENT = `agent-follow-up/${VERSION}`;

/** Always uses CONNECT: without it, a proxy would see the API key in requests over plain HTTP. */
export function createAgent(
  { url, noProxy }: ProxySettings,
  options: EnvHttpProxyAgent.Options = {},
): Dispatcher {
  const proxy = { httpProxy: url, httpsProxy: url, noProxy, proxyTunnel: true };
  return new EnvHttpProxyAgent({ ...HTTP1_ONLY, ...proxy, ...options });
}

/**
 * Calls back just before a request is written to an established connection. An error code does not
 * show whether a request was written: ECONNRESET, for example, occurs before and after that.
 */
export function onWrite(dispatcher: Dispatcher, callback: () => void): Dispatcher {
  return dispatcher.compose((dispatch) => (options, handler) => {
    const start = handler.onRequestStart?.bind(handler);
    handler.onRequestStart = (controller, context) => {
      callback();
      start?.(controller, context);
    };
    return dispatch(options, handler);
  });
}

/** Null if the body has more bytes than that. */
export async function readBody(
  { body }: Dispatcher.ResponseData,
  mostBytes: number,
): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > mostBytes) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

const NETWORK: Readonly<Record<string, string>> = {
  ENOTFOUND: 'the host name is not known to DNS',
  EAI_AGAIN: 'DNS did not answer',
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  ETIMEDOUT: 'connection timed out',
  UND_ERR_SOCKET: 'connection closed',
};

/** Node's "X509 certificate error codes", and its own code for a wrong host name. */
const CERTIFICATE =
  /^(UNABLE_TO_|CERT_|CRL_|ERROR_IN_C|DEPTH_ZERO|SELF_SIGNED|INVALID_(CA|PURPOSE)|PATH_LENGTH|HOSTNAME_MISMATCH|ERR_TLS_CERT)/;

/** Whether a setting has to be changed (`setup`), and why there was no response, a phrase without secrets. */
export function explainConnection(error: unknown): readonly ['network' | 'setup', string] {
  const root = rootOf(error);
  const code = codeOf(root);
  const proxyStatus = /^Proxy response \((\d+)\)/.exec(root.message)?.[1];
  if (proxyStatus === '407') {
    return [
      'setup',
      'the proxy requires other credentials (407); check the user name and password in HTTPS_PROXY',
    ];
  }
  if (proxyStatus !== undefined) {
    return ['network', `the proxy refused the connection (${proxyStatus})`];
  }
  if (code === 'CERT_HAS_EXPIRED') {
    const remedy = 'whoever runs that server must renew it';
    return ['setup', `the certificate has expired (${code}); ${remedy}`];
  }
  if (CERTIFICATE.test(code)) {
    return [
      'setup',
      `the certificate is not trusted (${code}); for a private CA, set NODE_EXTRA_CA_CERTS ` +
        'in the environment of the runner',
    ];
  }
  if (/^(ERR_SSL|EPROTO)/.test(code)) {
    return ['setup', `no secure TLS connection is possible (${code}); check the URL and the proxy`];
  }
  if (root.name === 'HTTPParserError') return ['network', 'the answer is not HTTP'];
  return ['network', NETWORK[code] ?? (code || 'the connection failed')];
}

/** The first cause that has a code: Node nests errors, and combines several into one. */
function rootOf(error: unknown): Error {
  if (!(error instanceof Error)) return new Error(String(error));
  if (error instanceof AggregateError && error.errors.length > 0) return rootOf(error.errors[0]);
  const code = codeOf(error);
  const isWrapper = code === '' || code === 'UND_ERR_PRX_TLS';
  return isWrapper && error.cause instanceof Error ? rootOf(error.cause) : error;
}
