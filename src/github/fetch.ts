import type { ProxySettings } from '../runner/environment.ts';
import { createAgent, isRedirect, onWrite, readBody, valuesOf } from '../runner/network.ts';
import type { Dispatcher } from '../vendor/undici.ts';
import { GitHubError, unexpectedResponse } from './errors.ts';

// The part of `fetch` that GitHub's client needs. It uses the same parts of undici as `agent/http.ts`.
// With undici's own `fetch`, a message with a comment would be sent 1.4 times as late.

export type FetchOptions = Pick<
  Dispatcher.RequestOptions,
  'method' | 'headers' | 'body' | 'signal'
>;

/** Bytes of a body. Fifty long comments have fewer. */
const MOST_ANSWER_BYTES = 16 * 1024 * 1024;
/** The runner uses no proxy for these either. */
const NEVER_BY_PROXY = 'localhost,127.0.0.1,::1';

/** Connections to GitHub. */
export function createConnections(proxy: ProxySettings): Dispatcher {
  return createAgent({ ...proxy, noProxy: `${proxy.noProxy},${NEVER_BY_PROXY}` });
}

/**
 * The caller limits the time by the signal. `written` is called just before the request is written. No redirect is followed;
 * it is an error unless it is what the caller wants.
 */
export function createFetch(connections: Dispatcher, wantsRedirect: boolean, written: () => void) {
  const dispatcher = onWrite(connections, written);
  return async (address: string, options: FetchOptions) => {
    const url = new URL(address);
    const response = await dispatcher.request({
      ...options,
      origin: url.origin,
      path: url.pathname + url.search,
      headers: { ...options.headers, 'accept-encoding': 'identity' },
    });
    const bytes = await readBody(response, MOST_ANSWER_BYTES);
    if (bytes === null) throw tooLarge(response);
    // undici reuses the connection only after that; the next request would open another one.
    await new Promise(setImmediate);
    if (!wantsRedirect) refuseRedirect(response);
    return toResponse(url, response, bytes);
  };
}

/** What is read again would be as large; whether something was created is not known. */
function tooLarge({ statusCode }: Dispatcher.ResponseData): GitHubError {
  const status = statusCode === 200 ? statusCode : 0;
  return new GitHubError(status, 'GitHub gave an answer that is too large');
}

/** Octokit would take it for a success. */
function refuseRedirect({ statusCode }: Dispatcher.ResponseData): void {
  if (statusCode < 300 || statusCode >= 400) return;
  if (!isRedirect(statusCode)) throw unexpectedResponse();
  const why = `GitHub answered ${statusCode}, a redirect, which is not followed`;
  throw new GitHubError(statusCode, `${why}; if the repository was renamed, start a new run`);
}

/** The parts of a response that the client reads. */
function toResponse(
  { href }: URL,
  { statusCode, headers }: Dispatcher.ResponseData,
  bytes: Buffer,
) {
  const pairs = Object.entries(headers).map(
    ([name, value]) => [name, [value].flat().join(', ')] as const,
  );
  const all = new Map(pairs);
  // Octokit reads no body whose type is given twice.
  const [type] = valuesOf(headers, 'content-type').join().split(',');
  if (type !== undefined && type !== '') all.set('content-type', type);
  return {
    status: statusCode,
    url: href,
    headers: all,
    text: async () => new TextDecoder().decode(bytes),
    arrayBuffer: async () => new Uint8Array(bytes).buffer,
  };
}
