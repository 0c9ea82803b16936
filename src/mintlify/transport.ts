import { untilAborted } from '../clock.ts';
import type { Runtime } from '../runner/environment.ts';
import type { Inputs } from '../runner/inputs.ts';
import {
  compressionsOf,
  createAgent,
  explainConnection,
  onWrite,
  readBody,
  readDate,
  USER_AGENT,
  valuesOf,
} from '../runner/network.ts';
import { keyHeaders } from '../service.ts';
import { isJsonObject, ok, problem, type Result } from '../text.ts';
import type { Dispatcher } from '../vendor/undici.ts';

/** Milliseconds to set up a connection, including the tunnel of a proxy and TLS. */
const CONNECT_MS = 10_000;
/** Bytes of a body; a job record has a few hundred. */
const MOST_RECORD_BYTES = 1024 * 1024;

/** The result of one request. Requests never throw. */
export type Exchange = Answer | Failure;

export interface Answer {
  readonly kind: 'answer';
  readonly status: number;
  readonly contentType: string;
  /** All Retry-After headers, unparsed. */
  readonly retryAfter: readonly string[];
  /** When it was made, in milliseconds since 1970: by its own Date header or, without one, by this clock. */
  readonly date: number;
  /** Where a redirect leads; empty if the answer does not say so. */
  readonly location: string;
  /** The whole text, or a problem such as "a body that is not UTF-8". */
  readonly body: Result<string>;
}

export interface Failure {
  readonly kind: 'failure';
  /** Whether any byte of the request may have been sent. If so, it may have been processed. */
  readonly written: boolean;
  /** A `setup` failure lasts until a setting is changed; any other may pass. */
  readonly cause: 'network' | 'setup';
  /** A phrase for people, such as "connection refused"; without secrets. */
  readonly why: string;
}

/** What requests to the API need; the same for every job. */
export interface AgentContext extends Pick<Runtime, 'clock' | 'random' | 'log' | 'redact'> {
  readonly transport: ReturnType<typeof createTransport>;
  /** The host of the API, and the proxy if there is one, for messages. */
  readonly where: string;
  readonly isDefaultUrl: boolean;
  readonly projectId: string;
  /** The repository of this workflow, to tell which pull requests are its own. */
  readonly repositoryUrl: string;
  /** A time of the clock: later, no message is sent again. */
  readonly deadline: number;
}

/** Whether these are words of the API, and not those of a gateway, a firewall or a captive portal before it. */
export function isFromApi(body: Answer['body']): boolean {
  return body.kind === 'ok' && isJsonObject(body.value);
}

type TransportOptions = Pick<Inputs, 'baseUrl' | 'apiKey' | 'proxy'> &
  Pick<Runtime, 'clock' | 'signal'>;

/**
 * The two kinds of request that this action makes. Neither is retried here: see retry.ts. `timeoutMs` is
 * for the whole request, including the body of the answer. Open connections end with the process.
 */
export function createTransport(options: TransportOptions) {
  let shared: Dispatcher | undefined;
  let hasAnswered = false;
  const note = (exchange: Exchange): Exchange => {
    hasAnswered ||= exchange.kind === 'answer' && isFromApi(exchange.body);
    return exchange;
  };
  return {
    /** Whether the API itself has answered a request, and not only something before it. */
    hasAnswered: (): boolean => hasAnswered,
    /** Reads; connections are kept alive between calls. */
    async get(path: string, timeoutMs: number): Promise<Exchange> {
      shared ??= createDispatcher(options);
      const used = shared;
      const exchange = await makeRequest(used, path, null, timeoutMs, options);
      // A request that hangs may block its connection forever, and with it all requests that wait for it.
      // After a cancellation, no further request is made.
      if (exchange.kind === 'failure' && shared === used && !options.signal.aborted) {
        shared = undefined;
        // Its other requests go on.
        used.close().catch(() => {});
      }
      return note(exchange);
    },
    /** Sends exactly one request, on a connection of its own: one that is kept alive may be closed as it is written. */
    async postOnce(path: string, json: unknown, timeoutMs: number): Promise<Exchange> {
      const own = createDispatcher(options);
      const exchange = await makeRequest(own, path, JSON.stringify(json), timeoutMs, options);
      await own.destroy();
      return note(exchange);
    },
  };
}

/** The time limits of undici are off, because they do not cover a proxy that hangs. */
function createDispatcher({ proxy }: TransportOptions): Dispatcher {
  return createAgent(proxy, { connect: { timeout: 0 }, headersTimeout: 0, bodyTimeout: 0 });
}

/** A GET if there is no body, otherwise a POST. */
async function makeRequest(
  dispatcher: Dispatcher,
  path: string,
  body: string | null,
  timeoutMs: number,
  options: TransportOptions,
): Promise<Exchange> {
  const { clock, signal: cancelled } = options;
  const late = clock.timeout(timeoutMs);
  const unconnected = new AbortController();
  const signal = AbortSignal.any([cancelled, late, unconnected.signal]);
  let written = false;
  const connecting = clock.timeout(CONNECT_MS);
  const giveUp = (): void => unconnected.abort();
  connecting.addEventListener('abort', giveUp);
  try {
    signal.throwIfAborted();
    const hooked = onWrite(dispatcher, () => {
      written = true;
      connecting.removeEventListener('abort', giveUp);
    });
    const request = hooked.request(dispatchOptions(path, body, options, signal));
    const response = await untilAborted(request, signal);
    // Once the status is known, only the body is lost.
    const text = await untilAborted(readText(response), signal).catch((error) =>
      problem(`a body that was cut off (${explain(error)[1]})`),
    );
    return { ...readHeaders(response, clock.now()), body: text };
  } catch (error) {
    const [cause, why] = explain(error);
    return { kind: 'failure', written, cause, why };
  }

  function explain(error: unknown): ReturnType<typeof explainConnection> {
    if (!signal.aborted) return explainConnection(error);
    if (cancelled.aborted) return ['network', 'the run was cancelled'];
    if (late.aborted) return ['network', `no answer within ${timeoutMs / 1000} s`];
    return ['network', `no connection within ${CONNECT_MS / 1000} s`];
  }
}

function dispatchOptions(
  path: string,
  body: string | null,
  { baseUrl, apiKey }: TransportOptions,
  signal: AbortSignal,
): Dispatcher.RequestOptions {
  const { origin, pathname } = resolvePath(baseUrl, path);
  const isPost = body !== null;
  return {
    origin,
    path: pathname,
    method: isPost ? 'POST' : 'GET',
    headers: {
      ...keyHeaders(apiKey),
      'user-agent': USER_AGENT,
      accept: 'application/json',
      'accept-encoding': 'identity',
      ...(isPost ? { 'content-type': 'application/json' } : { 'cache-control': 'no-cache' }),
    },
    body,
    signal,
  };
}

/** The URL of an API path below the base URL. Throws if the URL parser would rewrite the path. */
function resolvePath(baseUrl: URL, path: string): URL {
  const expected = baseUrl.pathname.replace(/\/+$/, '') + path;
  const url = new URL(baseUrl);
  url.pathname = expected;
  if (url.pathname !== expected || url.origin !== baseUrl.origin) {
    throw new Error('the URL parser would rewrite the path of the job');
  }
  return url;
}

function readHeaders(
  { statusCode, headers }: Dispatcher.ResponseData,
  now: number,
): Omit<Answer, 'body'> {
  const first = (name: string): string => valuesOf(headers, name)[0] ?? '';
  return {
    kind: 'answer',
    status: statusCode,
    contentType: first('content-type'),
    retryAfter: valuesOf(headers, 'retry-after'),
    date: readDate(first('date')) ?? now,
    location: first('location'),
  };
}

/** Rejects compressed bodies unread: none was requested, and one may be a decompression bomb. */
async function readText(response: Dispatcher.ResponseData): Promise<Result<string>> {
  if (compressionsOf(response.headers).length > 0) {
    const nothing = await readBody(response, 0);
    return nothing === null
      ? problem('a body with a content encoding that was not requested')
      : ok('');
  }
  const bytes = await readBody(response, MOST_RECORD_BYTES);
  if (bytes === null) return problem(`a body of more than ${MOST_RECORD_BYTES} bytes`);
  try {
    return ok(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    return problem('a body that is not UTF-8');
  }
}
