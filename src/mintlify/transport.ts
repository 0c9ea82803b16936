import type { Runtime } from '../runner/environment.ts';
import {
  explainConnection,
  type Response,
  readHeader,
  readPause,
  sendRequest,
  USER_AGENT,
} from '../runner/http.ts';
import type { Inputs } from '../runner/inputs.ts';
import { parseJson } from '../text.ts';
import { ok, problem, type Result } from '../value-or-problem.ts';

/** For a request. The deadline does not cut it off, which would only destroy knowledge. */
const LIMITS_MS = { GET: 30_000, POST: 60_000 };
const HEADERS = {
  // Without “no-cache”, an end of earlier work was seen.
  GET: { 'cache-control': 'no-cache' },
  POST: { 'content-type': 'application/json' },
};
const MOST_RECORD_BYTES = 1024 * 1024;

export type Exchange = Readonly<Awaited<ReturnType<typeof exchange>>>;
export type Answer = Extract<Exchange, { kind: 'answer' }>;

export interface AgentContext
  extends Pick<Runtime, 'clock' | 'random' | 'redact'>,
    Pick<Inputs, 'baseUrl' | 'projectId'> {
  readonly transport: ReturnType<typeof createTransport>;
  readonly repositoryUrl: string;
  readonly deadline: number;
}

/** Whether these are words of the API, and not of a gateway, firewall or portal before it. */
export function isFromApi(body: Answer['body']): boolean {
  const json = body.kind === 'ok' ? parseJson(body.value) : undefined;
  return typeof json === 'object' && json !== null && !Array.isArray(json);
}

type TransportOptions = Pick<Inputs, 'baseUrl' | 'apiKey' | 'proxy'> &
  Pick<Runtime, 'clock' | 'log' | 'signal'>;

export function createTransport(options: TransportOptions) {
  return {
    get: (path: string) => exchange(path, undefined, options),
    postOnce: (path: string, json: unknown) => exchange(path, JSON.stringify(json), options),
  };
}

async function exchange(path: string, body: string | undefined, options: TransportOptions) {
  const { baseUrl, apiKey, proxy, clock, log } = options;
  const method = body === undefined ? 'GET' : 'POST';
  /** Whether any byte of the request may have been sent. */
  let written = false;
  const { signal, explain } = limitRequest(method, options);
  try {
    const response = await sendRequest({
      ...{ url: new URL(baseUrl.href.replace(/\/+$/, '') + path), method, body },
      headers: {
        ...{ authorization: `Bearer ${apiKey}`, 'user-agent': USER_AGENT },
        accept: 'application/json',
        ...HEADERS[method],
      },
      ...{ proxy, signal, mostBytes: MOST_RECORD_BYTES },
      onWrite: () => {
        written = true;
      },
    });
    const { status, headers } = response;
    const contentType = readHeader(headers, 'content-type');
    log.debug(`${method} ${path}: ${status} ${contentType}`);
    return {
      ...{ kind: 'answer' as const, status, contentType },
      location: readHeader(headers, 'location'),
      pauseMs: readPause(headers, clock.now()),
      body: readText(response.body, (error) => explain(error)[1]),
    };
  } catch (error) {
    const [cause, why] = explain(error);
    log.debug(`${method} ${path}: ${why} (request ${written ? 'written' : 'not written'})`);
    return { kind: 'failure' as const, written, cause, why, pauseMs: null };
  }
}

/** `explain` says why there was no response: a limit, or the error. */
function limitRequest(
  method: keyof typeof LIMITS_MS,
  { clock, signal: cancelled }: Pick<TransportOptions, 'clock' | 'signal'>,
) {
  const limitMs = LIMITS_MS[method];
  const timeOut = clock.timeout(limitMs);
  const signal = AbortSignal.any([cancelled, timeOut]);
  const explain = (error: unknown): ReturnType<typeof explainConnection> => {
    if (!signal.aborted) return explainConnection(error);
    const noAnswer = `no answer within ${limitMs / 1000} s`;
    return ['network', cancelled.aborted ? 'the run was stopped' : noAnswer];
  };
  return { signal, explain };
}

/** A compressed body, which was not asked for and may be a bomb, stays as it is. */
function readText(body: Response['body'], explain: (error: Error) => string): Result<string> {
  if (body === null) return problem(`a body of more than ${MOST_RECORD_BYTES} bytes`);
  if (body instanceof Error) return problem(`a body that was cut off (${explain(body)})`);
  return ok(new TextDecoder().decode(body));
}
