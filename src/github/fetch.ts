import type { ProxySettings } from '../runner/environment.ts';
import { createAgent } from '../runner/network.ts';
import { type Request, sendRequest } from '../runner/request.ts';
import type { Dispatcher } from '../vendor/undici.ts';
import { GitHubError, unexpectedResponse } from './errors.ts';

// The part of `fetch` that GitHub's client needs. With undici's own `fetch`, a message with a comment would be sent 1.4 times
// as late.

/** Bytes of a body. Fifty long comments have fewer. */
const MOST_ANSWER_BYTES = 16 * 1024 * 1024;
/** The runner uses no proxy for these either. */
const NEVER_BY_PROXY = 'localhost,127.0.0.1,::1';

/** Connections to the host of logs. */
export function createConnections(proxy: ProxySettings): Dispatcher {
  return createAgent(toGitHub(proxy));
}

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
