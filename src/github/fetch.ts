import type { ProxySettings } from '../runner/environment.ts';
import { createAgent, readBody } from '../runner/network.ts';
import type { Dispatcher } from '../vendor/undici.ts';
import { GitHubError } from './errors.ts';

// The part of `fetch` that GitHub's client needs. It uses the same parts of undici as `agent/http.ts`.
// With undici's own `fetch`, the archive that each job downloads would be half as large again.

export interface FetchOptions {
  readonly method: Dispatcher.HttpMethod;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * GitHub redirects requests for a repository that was renamed. It expects the same method and body
 * again: https://docs.github.com/en/rest/using-the-rest-api/best-practices-for-using-the-rest-api#follow-redirects
 */
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 307, 308]);
const MOST_REDIRECTS = 5;
/** Bytes of a body. Fifty long comments have fewer. */
const SIZE_LIMIT = 16 * 1024 * 1024;
/** The runner uses no proxy for these either. */
const LOOPBACK = 'localhost,127.0.0.1,::1';

/** The caller limits the time by the signal. */
export function createFetch(proxy: ProxySettings) {
  const dispatcher = createAgent({ ...proxy, noProxy: `${proxy.noProxy},${LOOPBACK}` });
  return async (address: string, options: FetchOptions) => {
    const { method, headers, body = null, signal = null } = options;
    let url = new URL(address);
    for (let redirects = 0; redirects <= MOST_REDIRECTS; redirects++) {
      const response = await dispatcher.request({
        origin: url.origin,
        path: url.pathname + url.search,
        method,
        headers: { ...headers, 'accept-encoding': 'identity' },
        body,
        signal,
      });
      const bytes = await readBody(response, SIZE_LIMIT);
      if (bytes === null) throw new GitHubError(0, 'GitHub gave an answer that is too large');
      // undici reuses the connection only after that; the next request would open another one.
      await new Promise(setImmediate);
      const { location } = response.headers;
      if (!REDIRECTS.has(response.statusCode) || typeof location !== 'string') {
        return toResponse(url, response, bytes);
      }
      const target = new URL(location, url);
      if (target.origin !== url.origin) {
        throw new GitHubError(0, 'GitHub redirects to another host, which never gets the token');
      }
      url = target;
    }
    throw new GitHubError(0, 'GitHub redirects in circles');
  };
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
  return {
    status: statusCode,
    url: href,
    headers: new Map(pairs),
    text: async () => new TextDecoder().decode(bytes),
    arrayBuffer: async () => new Uint8Array(bytes).buffer,
  };
}
