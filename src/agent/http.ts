import pLimit from 'p-limit';
import type { Clock } from '../clock.ts';
import type { ProxySettings } from '../runner/environment.ts';
import { type Dispatcher, EnvHttpProxyAgent, HTTP1_ONLY } from '../vendor/undici.ts';

/** Milliseconds until a connection, a proxy's tunnel and TLS included, must stand. */
const CONNECT_MS = 10_000;
/** Bytes of a body or of all headers; a job record has a few hundred. */
const SIZE_LIMIT = 1024 * 1024;
const HEADER_LIMIT = 64 * 1024;
/**
 * Reads under way at a time, each with a connection of its own. Twice as many connections may be
 * open while those of reads that failed are still ending.
 */
const MOST_READS = 28;

/** What came of one request. Nothing is thrown: each end of it is a value. */
export type Exchange =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly contentType: string;
      /** All Retry-After headers, as they came. */
      readonly retryAfter: readonly string[];
      readonly date: string;
      /** The host a redirect points to, never the whole URL. */
      readonly locationHost: string;
      /** As the service names the request; for its support. Empty if it does not. */
      readonly requestId: string;
      readonly body: Body;
    }
  | {
      readonly kind: 'failure';
      /** Whether any byte of the request may have left: then it may have been taken. */
      readonly written: boolean;
      readonly cause: FailureCause;
      /** A phrase for people, such as "connection refused"; free of secrets. */
      readonly why: string;
    };

export type Answer = Extract<Exchange, { kind: 'answer' }>;

export type Body =
  | { readonly kind: 'whole'; readonly text: string }
  | { readonly kind: 'broken'; readonly why: string };

/** `setup` failures stay until somebody changes something; `network` ones may pass. */
export type FailureCause = 'network' | 'setup' | 'deadline' | 'cancelled';

export interface Limits {
  /**
   * Milliseconds for the whole request, answer and body included. Asked when the request starts,
   * for a read may have to wait for its turn before.
   */
  readonly timeoutMs: () => number;
  readonly signal: AbortSignal;
}

/** The two requests that this action makes. Neither repeats itself: retry.ts says who may. */
export interface Transport {
  /** Reads; connections are kept alive between calls. */
  get(path: string, limits: Limits): Promise<Exchange>;
  /** Sends exactly one request on a connection of its own, and never repeats it. */
  postOnce(path: string, json: unknown, limits: Limits): Promise<Exchange>;
  /** Ends every connection at once. */
  close(): Promise<void>;
}

export interface TransportOptions {
  readonly baseUrl: URL;
  readonly apiKey: string;
  readonly userAgent: string;
  readonly proxy: ProxySettings;
  readonly clock: Clock;
}

export function createTransport(options: TransportOptions): Transport {
  const open = new Set<Dispatcher>();
  const inTurn = pLimit(MOST_READS);
  let reader: Dispatcher | undefined;

  function connect(): Dispatcher {
    const dispatcher = createDispatcher(options);
    open.add(dispatcher);
    return dispatcher;
  }

  /** Lets the other requests on it end first. */
  function retire(dispatcher: Dispatcher): void {
    const forget = (): boolean => open.delete(dispatcher);
    dispatcher.close().then(forget, forget);
  }

  async function release(dispatcher: Dispatcher): Promise<void> {
    open.delete(dispatcher);
    await dispatcher.destroy();
  }

  return {
    async get(path, limits) {
      let dispatcher: Dispatcher | undefined;
      const shared = (): Dispatcher => {
        reader ??= connect();
        dispatcher = reader;
        return dispatcher;
      };
      const get = { method: 'GET', path } as const;
      const exchange = await exchangeOver(shared, get, options, { ...limits, inTurn });
      // A request that hung may hold its connection for ever, and later ones would queue behind.
      if (exchange.kind === 'failure' && dispatcher !== undefined && reader === dispatcher) {
        reader = undefined;
        retire(dispatcher);
      }
      return exchange;
    },
    async postOnce(path, json, limits) {
      let own: Dispatcher | undefined;
      const fresh = (): Dispatcher => {
        own = connect();
        return own;
      };
      const body = JSON.stringify(json);
      const post = { method: 'POST', path, body } as const;
      const exchange = await exchangeOver(fresh, post, options, { ...limits, inTurn: atOnce });
      if (own !== undefined) await release(own);
      return exchange;
    },
    async close() {
      await Promise.all([...open].map(release));
    },
  };
}

/**
 * Proxies always by CONNECT: otherwise a plain-http target would show the key to the proxy. Time
 * limits are ours, because undici's do not cover a proxy that hangs.
 */
function createDispatcher({ proxy }: TransportOptions): Dispatcher {
  return new EnvHttpProxyAgent({
    ...HTTP1_ONLY,
    httpProxy: proxy.url,
    httpsProxy: proxy.url,
    noProxy: proxy.noProxy,
    proxyTunnel: true,
    pipelining: 1,
    connections: MOST_READS,
    connect: { timeout: 0 },
    headersTimeout: 0,
    bodyTimeout: 0,
    maxHeaderSize: HEADER_LIMIT,
  });
}

function atOnce<T>(work: () => Promise<T>): Promise<T> {
  return work();
}

interface Outgoing {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: string;
}

async function exchangeOver(
  connect: () => Dispatcher,
  outgoing: Outgoing,
  { baseUrl, apiKey, userAgent, clock }: TransportOptions,
  { inTurn, ...limits }: Limits & { readonly inTurn: <T>(work: () => Promise<T>) => Promise<T> },
): Promise<Exchange> {
  const stop = new AbortController();
  const connected = new AbortController();
  const ended = new AbortController();
  const stopAfter = (ms: number, reason: Stopped, unless: AbortSignal): void => {
    clock.sleep(ms, unless).then(
      () => stop.abort(reason),
      () => {},
    );
  };
  let written = false;
  // Assigned in a callback, which the compiler does not follow.
  let head = undefined as AnswerHead | undefined;
  const cancel = (): void => stop.abort(new Stopped('cancelled', 'the run was cancelled'));
  if (limits.signal.aborted) cancel();
  else limits.signal.addEventListener('abort', cancel, { once: true });

  try {
    const ask = async (): Promise<Exchange> => {
      stop.signal.throwIfAborted();
      const timeoutMs = limits.timeoutMs();
      if (timeoutMs <= 0) throw new Stopped('deadline', 'no time was left for it');
      const late = new Stopped('deadline', `no answer within ${Math.ceil(timeoutMs / 1000)} s`);
      stopAfter(timeoutMs, late, ended.signal);
      const lost = new Stopped('network', `no connection within ${CONNECT_MS / 1000} s`);
      stopAfter(CONNECT_MS, lost, connected.signal);
      const { origin, pathname } = resolvePath(baseUrl, outgoing.path);
      const dispatcher = onWrite(connect(), () => {
        written = true;
        connected.abort();
      });
      const response = await untilStopped(
        dispatcher.request({
          origin,
          path: pathname,
          method: outgoing.method,
          headers: {
            authorization: `Bearer ${apiKey}`,
            'user-agent': userAgent,
            accept: 'application/json',
            'accept-encoding': 'identity',
            ...(outgoing.body === undefined ? {} : { 'content-type': 'application/json' }),
          },
          body: outgoing.body ?? null,
          // A connection that was kept alive may be closed just when the POST is written to it.
          reset: outgoing.method === 'POST',
          signal: stop.signal,
        }),
        stop.signal,
      );
      const known = readHead(response);
      head = known;
      const body = await untilStopped(readBody(response), stop.signal);
      return { kind: 'answer', ...known, body };
    };
    return await untilStopped(inTurn(ask), stop.signal);
  } catch (error) {
    const failure = describeFailure(error);
    // Once the status is known it decides; only the body is lost.
    return head === undefined
      ? { kind: 'failure', written, ...failure }
      : {
          kind: 'answer',
          ...head,
          body: { kind: 'broken', why: `a body cut off (${failure.why})` },
        };
    /* v8 ignore next -- V8 counts a way past a catch that always returns */
  } finally {
    connected.abort();
    ended.abort();
    limits.signal.removeEventListener('abort', cancel);
  }
}

/** The URL of an API path below the base; its path is then just what was asked for. */
function resolvePath(baseUrl: URL, path: string): URL {
  const expected = baseUrl.pathname.replace(/\/+$/, '') + path;
  const url = new URL(baseUrl);
  url.pathname = expected;
  if (url.pathname !== expected || url.origin !== baseUrl.origin) {
    throw new Error('the address of the job would not be the expected one');
  }
  return url;
}

/**
 * Calls back when a request is about to be written on an established connection. Error codes
 * cannot tell "sent" from "not sent" (ECONNRESET happens in both); this can.
 */
function onWrite(dispatcher: Dispatcher, callback: () => void): Dispatcher {
  return dispatcher.compose((dispatch) => (options, handler) => {
    return dispatch(options, {
      onRequestStart(controller, context) {
        callback();
        handler.onRequestStart?.(controller, context);
      },
      onRequestUpgrade: (...args) => handler.onRequestUpgrade?.(...args),
      onResponseStart: (...args) => handler.onResponseStart?.(...args),
      onResponseData: (...args) => handler.onResponseData?.(...args),
      onResponseEnd: (...args) => handler.onResponseEnd?.(...args),
      onResponseError: (...args) => handler.onResponseError?.(...args),
    });
  });
}

/** Settles with the promise or the signal, whichever is first: undici may ignore the signal. */
function untilStopped<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
    promise.then(resolve, reject);
  });
}

type AnswerHead = Omit<Answer, 'kind' | 'body'>;

function readHead({ statusCode, headers }: Dispatcher.ResponseData): AnswerHead {
  const all = (name: string): readonly string[] => [headers[name] ?? []].flat();
  const first = (name: string): string => all(name)[0] ?? '';
  const location = first('location');
  return {
    status: statusCode,
    contentType: first('content-type'),
    retryAfter: all('retry-after'),
    date: first('date'),
    locationHost: URL.canParse(location) ? new URL(location).host : '',
    requestId:
      ['x-request-id', 'request-id', 'cf-ray']
        .map(first)
        .find((id) => /^[\w.:+/=-]{1,128}$/.test(id)) ?? '',
  };
}

/** Compressed bodies are refused unread: they were not asked for, and may be bombs. */
async function readBody({ headers, body }: Dispatcher.ResponseData): Promise<Body> {
  const encoding = [headers['content-encoding'] ?? []].flat().join(', ');
  if (!/^(identity)?$/i.test(encoding)) {
    body.on('error', () => {}).destroy();
    return { kind: 'broken', why: 'a body in a content encoding that was not asked for' };
  }
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > SIZE_LIMIT)
      return { kind: 'broken', why: `a body of more than ${SIZE_LIMIT} bytes` };
    chunks.push(chunk);
  }
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
    return { kind: 'whole', text };
  } catch {
    return { kind: 'broken', why: 'a body that is not UTF-8' };
  }
}

class Stopped extends Error {
  readonly failure: FailureCause;
  constructor(failure: FailureCause, why: string) {
    super(why);
    this.failure = failure;
  }
}

interface Failure {
  readonly cause: FailureCause;
  readonly why: string;
}

const NETWORK: Readonly<Record<string, string>> = {
  ENOTFOUND: 'the host name is not known to DNS',
  EAI_AGAIN: 'DNS did not answer',
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  EHOSTUNREACH: 'host unreachable',
  ENETUNREACH: 'network unreachable',
  ETIMEDOUT: 'connection timed out',
  EPIPE: 'connection closed',
  UND_ERR_SOCKET: 'connection closed',
  UND_ERR_PRX_CONN: 'the proxy closed the connection',
  UND_ERR_HEADERS_OVERFLOW: 'an answer with too large headers',
};

/** The codes of Node's "X509 certificate error codes", and its own for a wrong host name. */
const CERTIFICATE =
  /^(UNABLE_TO_|CERT_|CRL_|ERROR_IN_C|DEPTH_ZERO|SELF_SIGNED|INVALID_(CA|PURPOSE)|PATH_LENGTH|HOSTNAME_MISMATCH|ERR_TLS_CERT)/;

function describeFailure(error: unknown): Failure {
  if (error instanceof Stopped) return { cause: error.failure, why: error.message };
  const { code, message, name } = rootOf(error as Error);
  const proxyStatus = /^Proxy response \((\d+)\)/.exec(message)?.[1];
  if (proxyStatus !== undefined) {
    return {
      cause: proxyStatus === '407' ? 'setup' : 'network',
      why:
        proxyStatus === '407'
          ? 'the proxy asks for other credentials (407); check the user and password in its variable'
          : `the proxy answered CONNECT with ${proxyStatus}`,
    };
  }
  if (CERTIFICATE.test(code)) {
    return {
      cause: 'setup',
      why:
        `the certificate is not trusted (${code}); for an authority of your own set ` +
        'NODE_EXTRA_CA_CERTS in the environment of the runner',
    };
  }
  if (/^(ERR_SSL|EPROTO)/.test(code)) {
    return {
      cause: 'setup',
      why: `no safe TLS connection is possible (${code}); check base-url and proxy`,
    };
  }
  if (name === 'HTTPParserError') return { cause: 'network', why: 'an answer that is not HTTP' };
  return { cause: 'network', why: NETWORK[code] ?? (code || 'the connection failed') };
}

interface Root {
  readonly code: string;
  readonly message: string;
  readonly name: string;
}

/** The code and text of the first cause that has a code; Node nests them, and gathers several. */
function rootOf(error: Error): Root {
  if (error instanceof AggregateError && error.errors.length > 0) return rootOf(error.errors[0]);
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (error.cause instanceof Error && (code === '' || code === 'UND_ERR_PRX_TLS')) {
    return rootOf(error.cause);
  }
  return { code, message: error.message, name: error.name };
}
