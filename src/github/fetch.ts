import { explainConnection, type HttpRequest, sendRequest } from '../runner/http.ts';
import { GitHubError, unexpectedResponse } from './errors.ts';

// The part of `fetch` that Octokit needs. With undici's own, a message with a comment would be sent
// 1.4 times as late.

/** Bytes of a body. Fifty long comments have fewer; a log of a job may have more. */
const MOST_ANSWER_BYTES = 16 * 1024 * 1024;
/** The runner uses no proxy for these either. */
const NEVER_BY_PROXY = 'localhost,127.0.0.1,::1';

/** `wantsRedirect`: otherwise a redirect is an error. None is followed. */
export function createFetch({
  wantsRedirect = false,
  proxy,
  ...options
}: Pick<HttpRequest, 'proxy' | 'signal' | 'onWrite'> & {
  readonly wantsRedirect?: boolean | undefined;
}) {
  const noProxy = `${proxy.noProxy},${NEVER_BY_PROXY}`;
  return async (address: string, call: Pick<HttpRequest, 'method' | 'headers' | 'body'>) => {
    const { status, headers, body } = await sendRequest({
      ...{ url: new URL(address), method: call.method, headers: call.headers, body: call.body },
      ...{ mostBytes: MOST_ANSWER_BYTES, proxy: { ...proxy, noProxy } },
      ...options,
    });
    if (body instanceof Error) throw body;
    // What is read again would be as large; whether something was created is not known.
    if (body === null)
      throw new GitHubError(status === 200 ? 200 : 0, 'the answer has more than 16 MiB');
    // Octokit would take it for a success.
    if (status === 304) throw unexpectedResponse();
    if (status >= 300 && status < 400 && !wantsRedirect) {
      const why = `GitHub answered ${status}, a redirect, which is not followed`;
      throw new GitHubError(status, why);
    }
    const pairs = Object.entries(headers).map(
      ([name, value]) => [name, [value].flat().join(', ')] as const,
    );
    return {
      ...{ status, url: address, headers: new Map(pairs) },
      text: async () => new TextDecoder().decode(body),
      arrayBuffer: async () => new Uint8Array(body).buffer,
    };
  };
}

/**
 * The log of a job, from the host that GitHub redirects to, which does not get the token. Whoever
 * has the address can read the log, so no text here has more of it than the host.
 */
export async function fetchLog(
  address: string,
  { apiUrl, proxy, signal }: Pick<HttpRequest, 'proxy' | 'signal'> & { readonly apiUrl: string },
): Promise<string> {
  const url = URL.parse(address);
  if (url === null || !isSafe(url, new URL(apiUrl))) {
    throw new GitHubError(0, 'GitHub did not redirect to an https URL');
  }
  try {
    const fetch = createFetch({ proxy, signal, wantsRedirect: true });
    const { status, text } = await fetch(address, { method: 'GET', headers: {} });
    if (status !== 200) throw new GitHubError(status, `${url.hostname} answered ${status}`);
    return await text();
  } catch (error) {
    if (error instanceof GitHubError) throw error;
    const why = signal.aborted ? 'not in time' : explainConnection(error)[1];
    throw new GitHubError(0, `${url.hostname} did not answer: ${why}`);
  }
}

const LOOPBACK = /^(localhost|127\.0\.0\.1|\[::1\])$/;

/** The runner, too, uses http only for what is on its own machine. */
function isSafe(url: URL, api: URL): boolean {
  if (url.username !== '' || url.password !== '') return false;
  if (url.protocol === 'https:') return true;
  return url.protocol === 'http:' && LOOPBACK.test(url.hostname) && LOOPBACK.test(api.hostname);
}
