import { untilAborted } from '../../clock.ts';
import { createConnections } from '../../github/fetch.ts';
import { type Runtime, readProxy } from '../../runner/environment.ts';
import { codeOf } from '../../runner/files.ts';
import { compressionsOf, explainConnection } from '../../runner/network.ts';
import { ok, problem, type Result } from '../../text.ts';

// Downloads the log of a job from the host that GitHub redirects to. The URL is signed: whoever has it can read the log.
// So no text here has more of it than the host.

/** Milliseconds for a whole download, together with the call that leads to it. */
export const DOWNLOAD_MS = 30_000;
const LOOPBACK = /^(localhost|127\.0\.0\.1|\[::1\])$/;

interface DownloadOptions extends Pick<Runtime, 'env'> {
  /** Of GitHub's API, which redirected to the URL. */
  readonly apiUrl: string;
  /** Limits the time: no other limit covers a proxy that hangs. */
  readonly signal: AbortSignal;
}

/**
 * Follows no further redirect. The other host gets nothing of ours, so not the token. `read` gets the body and reads it
 * to its end. The problem is a phrase; GitHub answers 404 while a log is being written.
 */
export async function download<T>(
  address: string,
  { env, apiUrl, signal }: DownloadOptions,
  read: (body: AsyncIterable<Uint8Array>) => Promise<T>,
): Promise<Result<T>> {
  const url = URL.parse(address);
  if (url === null || !isSafe(url, new URL(apiUrl))) {
    return problem('GitHub did not redirect to an https URL');
  }
  const proxy = readProxy(env, url);
  if (proxy.kind === 'problem') return problem('the settings of the proxy are not valid');
  const dispatcher = createConnections(proxy.value);
  try {
    signal.throwIfAborted();
    const { origin, pathname, search } = url;
    const headers = { 'accept-encoding': 'identity' };
    const request = { origin, path: pathname + search, method: 'GET', headers, signal } as const;
    const response = await untilAborted(dispatcher.request(request), signal);
    return await untilAborted(readResponse(response, url.hostname, read), signal);
  } catch (error) {
    // All errors of connections have a code. Without one, it is a bug in what reads the body.
    if (error instanceof TypeError && codeOf(error) === '') throw error;
    const why = signal.aborted ? 'not in time' : explainConnection(error)[1];
    return problem(`${url.hostname} did not answer: ${why}`, true);
  } finally {
    dispatcher.destroy().catch(() => {});
  }
}

async function readResponse<T>(
  {
    statusCode,
    headers,
    body,
  }: Awaited<ReturnType<ReturnType<typeof createConnections>['request']>>,
  host: string,
  read: (body: AsyncIterable<Uint8Array>) => Promise<T>,
): Promise<Result<T>> {
  // Without a listener, the error of a body that nobody reads to its end would end the process.
  body.on('error', () => {});
  const used = compressionsOf(headers);
  if (statusCode === 200 && used.length === 0) return ok(await read(body));
  // Not destroyed: that raises an error which nothing can handle.
  for await (const _ of body);
  const what = statusCode === 200 ? ` with a body in ${used.join(', ')}` : '';
  return problem(`${host} answered ${statusCode}${what}`, statusCode === 404 || statusCode >= 500);
}

/** The runner, too, uses http only for what is on its own machine. */
function isSafe(url: URL, api: URL): boolean {
  if (url.username !== '' || url.password !== '') return false;
  if (url.protocol === 'https:') return true;
  return url.protocol === 'http:' && LOOPBACK.test(url.hostname) && LOOPBACK.test(api.hostname);
}
