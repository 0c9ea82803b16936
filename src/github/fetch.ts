import type { Clock } from '../clock.ts';
import type { Runtime } from '../runner/environment.ts';
import { explainConnection, type HttpRequest, readHeader, sendRequest } from '../runner/http.ts';
import { GitHubError, readRefusal, unexpectedResponse } from './errors.ts';

// The part of `fetch` that Octokit needs. With undici's own, a message with a comment would be sent
// 1.4 times as late.

/** Fifty long comments have fewer; a log of a job may have more. */
const MOST_ANSWER_BYTES = 16 * 1024 * 1024;
/** The runner uses no proxy for these either. */
const NEVER_BY_PROXY = 'localhost,127.0.0.1,::1';

interface FetchOptions extends Pick<HttpRequest, 'proxy' | 'signal'>, Pick<Runtime, 'redact'> {
  readonly clock: Pick<Clock, 'now'>;
  /** Otherwise a redirect is an error. None is followed. */
  readonly wantsRedirect?: boolean | undefined;
}

/** Rejects with a `GitHubError`, also for a refusal. */
export function createFetch({ wantsRedirect = false, redact, clock, ...options }: FetchOptions) {
  return async (address: string, call: Pick<HttpRequest, 'method' | 'headers' | 'body'>) => {
    let wasWritten = false;
    const onWrite = (): void => {
      wasWritten = true;
    };
    const { method, headers, body } = call;
    const request = { url: new URL(address), method, headers, body, ...options, onWrite };
    const answer = await read(request).catch((error) => {
      if (error instanceof GitHubError) throw error;
      const { aborted } = options.signal;
      if (aborted) throw new GitHubError(0, 'GitHub did not answer in time', { wasWritten });
      const [cause, why] = explainConnection(error);
      const isSetup = cause === 'setup';
      const advice = isSetup ? '' : '; check the DNS, firewall and proxy of the runner';
      const what = `GitHub could not be reached: ${why}${advice}`;
      throw new GitHubError(0, what, { wasWritten, isSetup });
    });
    const { status, text } = answer;
    if (status === 304) throw unexpectedResponse();
    if (status >= 300 && status < 400 && !wantsRedirect) {
      const why = `GitHub answered ${status}, a redirect, which is not followed`;
      throw new GitHubError(status, why);
    }
    const refusal = readRefusal(answer, { redact, now: clock.now() });
    if (refusal !== undefined) throw refusal;
    const location = readHeader(answer.headers, 'location');
    // Octokit reads a body of another type in ways of its own.
    const received = new Map(Object.entries({ location, 'content-type': 'application/json' }));
    return { status, url: address, headers: received, text: async () => text };
  };
}

async function read({ proxy, ...request }: Omit<HttpRequest, 'mostBytes'>) {
  const noProxy = `${proxy.noProxy},${NEVER_BY_PROXY}`;
  const mostBytes = MOST_ANSWER_BYTES;
  const response = await sendRequest({ ...request, mostBytes, proxy: { ...proxy, noProxy } });
  const { status, headers, body } = response;
  if (body instanceof Error) throw body;
  if (body !== null) return { status, headers, text: new TextDecoder().decode(body) };
  // What is read again would be as large; whether something was created is not known.
  throw new GitHubError(status === 200 ? 200 : 0, 'the answer has more than 16 MiB');
}

/**
 * The log of a job, from the host that GitHub redirects to, which does not get the token. Whoever
 * has the address can read the log, so no text here has more of it than the host.
 */
export async function fetchLog(
  address: string,
  { apiUrl, ...options }: Pick<HttpRequest, 'proxy' | 'signal'> & { readonly apiUrl: string },
): Promise<string> {
  const url = URL.parse(address);
  if (url === null || !isSafe(url, new URL(apiUrl))) {
    throw new GitHubError(0, 'GitHub did not redirect to an https URL');
  }
  const { status, text } = await read({ url, method: 'GET', headers: {}, ...options }).catch(
    (error) => {
      if (error instanceof GitHubError) throw error;
      const why = options.signal.aborted ? 'not in time' : explainConnection(error)[1];
      throw new GitHubError(0, `${url.hostname} did not answer: ${why}`);
    },
  );
  if (status !== 200) throw new GitHubError(status, `${url.hostname} answered ${status}`);
  return text;
}

const LOOPBACK = /^(localhost|127\.0\.0\.1|\[::1\])$/;

/** The runner, too, uses http only for what is on its own machine. */
function isSafe(url: URL, api: URL): boolean {
  if (url.username !== '' || url.password !== '') return false;
  if (url.protocol === 'https:') return true;
  return url.protocol === 'http:' && LOOPBACK.test(url.hostname) && LOOPBACK.test(api.hostname);
}
