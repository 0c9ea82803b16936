import { gunzipSync } from 'node:zlib';
import type { ProxySettings } from '../runner/environment.ts';
import { type Dispatcher, EnvHttpProxyAgent, HTTP1_ONLY } from '../vendor/undici.ts';
import { GitHubError } from './errors.ts';

// As much of `fetch` as GitHub's client needs, over the parts of undici that the messages take as well.
// undici's own would add half as much again to what each job downloads.

/** What the client asks for. */
export interface FetchOptions {
  readonly method: Dispatcher.HttpMethod;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** What the client reads of an answer, whose body is there already. */
export interface FetchResponse {
  readonly status: number;
  readonly url: string;
  readonly headers: ReadonlyMap<string, string>;
  text(): Promise<string>;
  arrayBuffer(): Promise<ArrayBuffer>;
}

export type Fetch = (url: string, options: FetchOptions) => Promise<FetchResponse>;

/** GitHub redirects what is asked of a repository by its old name, and wants it asked again as it was. */
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 307, 308]);
const MOST_REDIRECTS = 5;
/** Bytes of a body: a hundred long comments with all that they once were have fewer. */
const SIZE_LIMIT = 64 * 1024 * 1024;
/** Reached without a proxy, as the runner does. */
const LOOPBACK = 'localhost,127.0.0.1,::1';

/** It has no time limits of its own, but the signal's. */
export function createFetch({ url: proxy, noProxy }: ProxySettings): Fetch {
  const dispatcher = new EnvHttpProxyAgent({
    ...HTTP1_ONLY,
    httpProxy: proxy,
    httpsProxy: proxy,
    noProxy: `${noProxy},${LOOPBACK}`,
    proxyTunnel: true,
  });
  return async (address, { method, headers, body = null, signal = null }) => {
    let url = new URL(address);
    for (let redirects = 0; ; redirects++) {
      const response = await dispatcher.request({
        origin: url.origin,
        path: url.pathname + url.search,
        method,
        headers: { ...headers, 'accept-encoding': 'gzip' },
        body,
        signal,
      });
      const bytes = await readBody(response);
      // Only then is its connection free for what may be asked next, which would open another.
      await new Promise(setImmediate);
      const { location } = response.headers;
      if (!REDIRECTS.has(response.statusCode) || typeof location !== 'string') {
        return toResponse(url, response, bytes);
      }
      const target = new URL(location, url);
      if (target.origin !== url.origin) {
        throw new GitHubError(0, 'GitHub redirects to another host, which never gets the token');
      }
      if (redirects === MOST_REDIRECTS) throw new GitHubError(0, 'GitHub redirects in circles');
      url = target;
    }
  };
}

async function readBody({ headers, body }: Dispatcher.ResponseData): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > SIZE_LIMIT) throw new GitHubError(0, 'GitHub gave an answer that is too large');
    chunks.push(chunk);
  }
  const bytes = Buffer.concat(chunks);
  const encoding = [headers['content-encoding'] ?? []].flat().join();
  return encoding === '' || size === 0 ? bytes : unpack(bytes, encoding);
}

function unpack(bytes: Buffer, encoding: string): Buffer {
  try {
    if (encoding === 'gzip') return gunzipSync(bytes, { maxOutputLength: SIZE_LIMIT });
  } catch {
    // What is damaged or becomes too large is of no more use than what was not asked for.
  }
  throw new GitHubError(0, 'GitHub gave an answer that cannot be unpacked');
}

function toResponse(
  { href }: URL,
  { statusCode, headers }: Dispatcher.ResponseData,
  bytes: Buffer,
): FetchResponse {
  const pairs = Object.entries(headers).map(
    ([name, value]) => [name, [value ?? ''].flat().join(', ')] as const,
  );
  return {
    status: statusCode,
    url: href,
    headers: new Map(pairs),
    text: async () => new TextDecoder().decode(bytes),
    arrayBuffer: async () => new Uint8Array(bytes).buffer,
  };
}
