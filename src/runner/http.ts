import { untilAborted } from '../clock.ts';
import { quote } from '../text.ts';
import { type Dispatcher, EnvHttpProxyAgent, HTTP1_ONLY } from '../vendor/undici.ts';
import type { ProxySettings } from './environment.ts';
import { errorCode } from './files.ts';

export const USER_AGENT = 'agent-follow-up/1.0.0';

export interface HttpRequest {
  readonly url: URL;
  readonly method: Dispatcher.HttpMethod;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly proxy: ProxySettings;
  /** It also ends what undici does not: a proxy that hangs. */
  readonly signal: AbortSignal;
  readonly mostBytes: number;
  /** Called just before the request is written: ECONNRESET, for example, does not show that. */
  readonly onWrite?: () => void;
}

export type Response = Readonly<Awaited<ReturnType<typeof sendRequest>>>;

/** Not on a connection that is kept alive: it may be closed while the request is written. */
export async function sendRequest(request: HttpRequest) {
  const { url, method, body: sent = '', proxy, signal, mostBytes, onWrite = () => {} } = request;
  signal.throwIfAborted();
  // Without CONNECT, a proxy would see the API key in requests over plain HTTP.
  const proxies = { httpProxy: proxy.url, httpsProxy: proxy.url, noProxy: proxy.noProxy };
  const limits = { headersTimeout: 0, bodyTimeout: 0 };
  const agent = new EnvHttpProxyAgent({ ...HTTP1_ONLY, ...proxies, ...limits, proxyTunnel: true });
  const calling: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, handler) => {
    const start = handler.onRequestStart?.bind(handler);
    handler.onRequestStart = (...about) => {
      onWrite();
      start?.(...about);
    };
    return dispatch(options, handler);
  };
  try {
    const requested = agent.compose(calling).request({
      ...{ origin: url.origin, path: url.pathname + url.search, method, signal },
      ...{ headers: { ...request.headers, 'accept-encoding': 'identity' }, body: sent || null },
    });
    const { statusCode, headers, body } = await untilAborted(requested, signal);
    /** Null if it is too large, an error if it was cut off: the status counts all the same. */
    const read = untilAborted(readBody(body, mostBytes), signal);
    return { status: statusCode, headers, body: await read.catch((error: Error) => error) };
  } finally {
    await agent.destroy();
  }
}

async function readBody(body: AsyncIterable<Buffer>, mostBytes: number): Promise<Buffer | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > mostBytes) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

export function readHeader(headers: Response['headers'], name: string): string {
  return [headers[name] ?? []].flat()[0] ?? '';
}

/** In milliseconds. A date counts from that of the response. */
export function readPause(headers: Response['headers'], now: number): number | null {
  const value = readHeader(headers, 'retry-after');
  if (/^\d{1,9}$/.test(value)) return Number(value) * 1000;
  // `Date.parse` also takes numbers.
  const pauseMs = Date.parse(value.endsWith(' GMT') ? value : '') - readDate(headers, now);
  return Number.isNaN(pauseMs) ? null : Math.max(0, pauseMs);
}

export function readDate(headers: Response['headers'], now: number): number {
  return Date.parse(readHeader(headers, 'date')) || now;
}

const REMEDIES: readonly (readonly [code: RegExp, what: string])[] = [
  [/^ENOTFOUND$/, 'the host name is not known to DNS'],
  [/^EAI_AGAIN$/, 'DNS did not answer'],
  [/^UND_ERR_CONNECT_TIMEOUT$/, 'no connection within 10 s'],
  [
    /^(UNABLE_TO_(GET_ISSUER|VERIFY)|DEPTH_ZERO|SELF_SIGNED|INVALID_CA|CERT_UNTRUSTED)/,
    'the certificate is not trusted; for a private CA, NODE_EXTRA_CA_CERTS in the environment of ' +
      'the runner must name a file with its certificate',
  ],
  [/^(ERR_SSL|EPROTO)/, 'no secure TLS connection is possible; check the URL and the proxy'],
];

const TLS =
  /CERT|^ERR_SSL|^EPROTO$|^UNABLE_TO_|^CRL_|^INVALID_|^HOSTNAME_|^DEPTH_ZERO|^PATH_LENGTH/;

/** Whether a setting has to be changed (`setup`), and why there was no response: a phrase. */
export function explainConnection(error: unknown): readonly ['network' | 'setup', string] {
  const root = findRoot(error);
  const code = errorCode(root);
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
  const code = errorCode(error);
  const isWrapper = code === '' || code === 'UND_ERR_PRX_TLS';
  return isWrapper && error.cause instanceof Error ? findRoot(error.cause) : error;
}
