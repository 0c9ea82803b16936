import { ok, problem, type Result } from '../result.ts';
import type { Runtime } from '../runner/environment.ts';
import type { Inputs } from '../runner/inputs.ts';
import { explainConnection, USER_AGENT } from '../runner/network.ts';
import { headerOf, type Response, readPause, sendRequest } from '../runner/request.ts';
import { keyHeaders } from '../service.ts';
import { isJsonObject } from '../text.ts';

// The limits of a request, in milliseconds. The deadline cuts off neither: that would only destroy
// knowledge.
const GET_MS = 30_000;
const POST_MS = 60_000;
/** To set up a connection, including the tunnel of a proxy and TLS. */
const CONNECT_MS = 10_000;
/** Bytes of a body; a job record has a few hundred. */
const MOST_RECORD_BYTES = 1024 * 1024;

/** The result of one request. Requests never throw. */
export type Exchange = Answer | Failure;

export interface Answer {
  readonly kind: 'answer';
  readonly status: number;
  readonly contentType: string;
  /** Where a redirect leads; empty if the answer does not say so. */
  readonly location: string;
  /** The pause in milliseconds that it asks for, or null. */
  readonly pauseMs: number | null;
  /** The whole text, or a problem such as "a body that is not UTF-8". */
  readonly body: Result<string>;
}

export interface Failure {
  readonly kind: 'failure';
  /** Whether any byte of the request may have been sent. If not, the API certainly got nothing. */
  readonly written: boolean;
  /** `setup` stays until somebody changes a setting; `network` may pass. */
  readonly cause: 'network' | 'setup';
  /** A phrase for people, without secrets. */
  readonly why: string;
}

/** What requests to the API need; the same for every job. */
export interface AgentContext extends Pick<Runtime, 'clock' | 'random' | 'log' | 'redact'> {
  readonly transport: ReturnType<typeof createTransport>;
  /** The host of the API, for messages. */
  readonly where: string;
  readonly isDefaultUrl: boolean;
  readonly projectId: string;
  /** The repository of this workflow, to tell which pull requests are its own. */
  readonly repositoryUrl: string;
  /** A time of the clock: later, no message is sent again. */
  readonly deadline: number;
}

/**
 * Whether these are words of the API, and not those of a gateway, a firewall or a captive portal
 * before it.
 */
export function isFromApi(body: Answer['body']): boolean {
  return body.kind === 'ok' && isJsonObject(body.value);
}

type TransportOptions = Pick<Inputs, 'baseUrl' | 'apiKey' | 'proxy'> &
  Pick<Runtime, 'clock' | 'signal'>;

/** The two kinds of request that this action makes. Neither is repeated here: see retry.ts. */
export function createTransport(options: TransportOptions) {
  return {
    get: (path: string) => exchange(path, undefined, GET_MS, options),
    postOnce: (path: string, json: unknown) =>
      exchange(path, JSON.stringify(json), POST_MS, options),
  };
}

/** A GET if there is no body, otherwise a POST. */
async function exchange(
  path: string,
  body: string | undefined,
  limitMs: number,
  { baseUrl, apiKey, proxy, clock, signal: cancelled }: TransportOptions,
): Promise<Exchange> {
  const late = clock.timeout(limitMs);
  const connecting = clock.timeout(CONNECT_MS);
  const unconnected = new AbortController();
  let written = false;
  connecting.addEventListener('abort', () => written || unconnected.abort());
  const signal = AbortSignal.any([cancelled, late, unconnected.signal]);
  // Without “no-cache”, an end of earlier work was seen.
  const special =
    body === undefined ? { 'cache-control': 'no-cache' } : { 'content-type': 'application/json' };
  const headers = {
    ...keyHeaders(apiKey),
    'user-agent': USER_AGENT,
    accept: 'application/json',
    'accept-encoding': 'identity',
    ...special,
  };
  try {
    const response = await sendRequest({
      ...{
        url: resolvePath(baseUrl, path),
        method: body === undefined ? 'GET' : 'POST',
        headers,
        body,
      },
      ...{ proxy, signal, mostBytes: MOST_RECORD_BYTES },
      onWrite: () => {
        written = true;
      },
    });
    return {
      kind: 'answer',
      status: response.status,
      contentType: headerOf(response, 'content-type'),
      location: headerOf(response, 'location'),
      pauseMs: readPause(response, clock.now()),
      body: readText(response.body, (error) => explain(error)[1]),
    };
  } catch (error) {
    const [cause, why] = explain(error);
    return { kind: 'failure', written, cause, why };
  }

  function explain(error: unknown): ReturnType<typeof explainConnection> {
    if (!signal.aborted) return explainConnection(error);
    if (cancelled.aborted) return ['network', 'the run was cancelled'];
    if (late.aborted) return ['network', `no answer within ${limitMs / 1000} s`];
    return ['network', `no connection within ${CONNECT_MS / 1000} s`];
  }
}

/** The URL of an API path below the base URL. Throws if the URL parser would rewrite the path. */
function resolvePath(baseUrl: URL, path: string): URL {
  const expected = baseUrl.pathname.replace(/\/+$/, '') + path;
  const url = new URL(baseUrl);
  url.pathname = expected;
  if (url.pathname !== expected) throw new Error('the URL parser would rewrite the path');
  return url;
}

/** A compressed body, which was not asked for and may be a bomb, is not UTF-8. */
function readText(body: Response['body'], explain: (error: Error) => string): Result<string> {
  if (body === null) return problem(`a body of more than ${MOST_RECORD_BYTES} bytes`);
  if (body instanceof Error) return problem(`a body that was cut off (${explain(body)})`);
  try {
    return ok(new TextDecoder('utf-8', { fatal: true }).decode(body));
  } catch {
    return problem('a body that is not UTF-8');
  }
}
