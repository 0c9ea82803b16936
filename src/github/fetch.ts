import type { ProxySettings } from '../runner/environment.ts';
import { explainConnection } from '../runner/network.ts';
import { type Request, sendRequest } from '../runner/request.ts';
import { GitHubError, unexpectedResponse } from './errors.ts';

// The part of `fetch` that GitHub's client needs. With undici's own `fetch`, a message with a comment would be sent 1.4 times
// as late.

/** Bytes of a body. Fifty long comments have fewer; a log of a job may have more. */
const MOST_ANSWER_BYTES = 16 * 1024 * 1024;
/** The runner uses no proxy for these either. */
const NEVER_BY_PROXY = 'localhost,127.0.0.1,::1';

function toGitHub(proxy: ProxySettings): ProxySettings {
  return { ...proxy, noProxy: `${proxy.noProxy},${NEVER_BY_PROXY}` };
}

interface FetchOptions extends Pick<Request, 'proxy' | 'signal' | 'onWrite'> {
  /** Otherwise a redirect is an error. None is followed. */
  readonly wantsRedirect?: boolean;
}

export function createFetch({ wantsRedirect = false, proxy, ...options }: FetchOptions) {
  return async (address: string, call: Pick<Request, 'method' | 'headers' | 'body'>) => {
    const { method, headers, body: sent } = call;
    const { status, ...response } = await sendRequest({
      ...{ url: new URL(address), method, body: sent, mostBytes: MOST_ANSWER_BYTES },
      ...{ headers: { ...headers, 'accept-encoding': 'identity' }, proxy: toGitHub(proxy) },
      ...options,
    });
    const { body } = response;
    if (body instanceof Error) throw body;
    // What is read again would be as large; whether something was created is not known.
    if (body === null) {
      throw new GitHubError(status === 200 ? 200 : 0, 'GitHub gave an answer that is too large');
    }
    // Octokit would take it for a success.
    if (status >= 300 && status < 400 && !wantsRedirect) {
      if (status === 304) throw unexpectedResponse();
      const why = `GitHub answered ${status}, a redirect, which is not followed`;
      throw new GitHubError(status, why);
    }
    const pairs = Object.entries(response.headers).map(
      ([name, value]) => [name, [value].flat().join(', ')] as const,
    );
    return {
      ...{ status, url: address, headers: new Map(pairs) },
      text: async () => new TextDecoder().decode(body),
      arrayBuffer: async () => new Uint8Array(body).buffer,
    };
  };
}

const LOOPBACK = /^(localhost|127\.0\.0\.1|\[::1\])$/;

/**
 * The log of a job, from the host that GitHub redirects to, which gets nothing of ours, so not the token. The address is signed:
 * whoever has it can read the log. So no text here has more of it than the host.
 */
export async function fetchLog(
  address: string,
  { apiUrl, proxy, signal }: Pick<Request, 'proxy' | 'signal'> & { readonly apiUrl: string },
): Promise<string> {
  const url = URL.parse(address);
  if (url === null || !isSafe(url, new URL(apiUrl))) {
    throw new GitHubError(0, 'GitHub did not redirect to an https URL');
  }
  const headers = { 'accept-encoding': 'identity' };
  const request = { url, headers, signal, method: 'GET', mostBytes: MOST_ANSWER_BYTES } as const;
  try {
    const { status, body } = await sendRequest({ ...request, proxy: toGitHub(proxy) });
    if (status !== 200) throw new GitHubError(status, `${url.hostname} answered ${status}`);
    if (body === null) throw new GitHubError(status, 'it has more than 16 MiB');
    if (body instanceof Error) throw body;
    return new TextDecoder().decode(body);
  } catch (error) {
    if (error instanceof GitHubError) throw error;
    const why = signal.aborted ? 'not in time' : explainConnection(error)[1];
    throw new GitHubError(0, `${url.hostname} did not answer: ${why}`, { cause: error });
  }
}

/** The runner, too, uses http only for what is on its own machine. */
function isSafe(url: URL, api: URL): boolean {
  if (url.username !== '' || url.password !== '') return false;
  if (url.protocol === 'https:') return true;
  return url.protocol === 'http:' && LOOPBACK.test(url.hostname) && LOOPBACK.test(api.hostname);
}
