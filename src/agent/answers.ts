import * as z from 'zod/mini';
import { inUtc } from '../clock.ts';
import { KEYS_URL } from '../inputs.ts';
import { isKnownStatus, type JobRecord } from '../job.ts';
import { checkPrLink } from '../link.ts';
import type { Redact } from '../runner/secrets.ts';
import { ok, problem, quote, type Result, sentences } from '../text.ts';
import type { Answer, Exchange } from './http.ts';
import { isTimeout, retryAfterMs } from './retry.ts';

// What the API answered: a job record, or why there is none and what to do about it.

/** A field of the wrong type or length counts as missing. */
function lenient<T extends z.core.SomeType>(schema: T) {
  return z.catch(z.optional(schema), undefined);
}
const time = z.iso.datetime({ offset: true }).check(z.maxLength(64));
const text = (limit: number) => lenient(z.string().check(z.maxLength(limit)));

const jobRecord = z.object({
  id: z.string(),
  status: lenient(z.string().check(z.regex(/^[\w-]{1,64}$/))),
  prLink: lenient(z.nullable(z.string().check(z.maxLength(500)))),
  model: text(4096),
  source: lenient(
    z.object({
      repository: z.string().check(z.maxLength(4096)),
      ref: z.catch(z.nullable(z.string().check(z.maxLength(4096))), null),
    }),
  ),
  createdAt: lenient(time),
  archivedAt: lenient(z.nullable(time)),
});

/**
 * Reads the job record in a body. Unknown fields are ignored, and secrets are redacted before anything is cut,
 * quoted or compared. A problem never quotes the body.
 */
export function readRecord(body: string, redact: Redact, serverUrl: string): Result<JobRecord> {
  if (body === '') return problem('an empty body');
  const json = parseJson(body);
  if (json === undefined) return problem(`invalid JSON (${Buffer.byteLength(body)} bytes)`);
  const parsed = jobRecord.safeParse(json);
  if (!parsed.success) return problem('JSON that is not a job record');
  const { id, status, prLink, source, ...others } = parsed.data;
  const host = source?.repository ?? '';
  const link = prLink ? checkPrLink(redact(prLink), [serverUrl, host]) : { link: null };
  const record = {
    id,
    status: isKnownStatus(status ?? null) ? status : status && redact(status),
    prLink: prLink === undefined || 'problem' in link ? undefined : link.link,
    linkProblem: 'problem' in link ? link.problem : undefined,
    source: source && { repository: redact(host), ref: source.ref && redact(source.ref) },
    ...others,
    model: others.model && redact(others.model),
  };
  const told = Object.entries(record).filter(([, value]) => value !== undefined);
  return ok(Object.fromEntries(told) as unknown as JobRecord);
}

const words = z.catch(z.string(), '');
/** `error` is the API's own word, `message` that of a gateway before it. */
const refusal = z.object({ error: words, message: words });

/** How the API explains a refusal: `: “error”`, or an empty text. */
function quoteRefusal(body: string, redact: Redact): string {
  const { data } = refusal.safeParse(parseJson(body));
  const said = data?.error || data?.message || '';
  return said === '' ? '' : `: ${quote(redact(said))}`;
}

function parseJson(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** What the explanation of an answer depends on. */
export interface Explaining {
  readonly doing: 'send' | 'poll';
  /** Whether this run makes the same request again. */
  readonly isRetried: boolean;
  /** The host of the API, and the proxy if there is one. */
  readonly where: string;
  /** Whether that is the default one. */
  readonly isDefaultUrl: boolean;
  readonly redact: Redact;
  readonly now: number;
}

/** How the API responded, and what to do about it. */
export function explain(exchange: Exchange, about: Explaining): string {
  const { doing, where, redact } = about;
  if (exchange.kind === 'failure') {
    return exchange.written
      ? `The connection to ${where} was lost after the request was written: ${exchange.why}.`
      : `Could not reach ${where}: ${exchange.why}.`;
  }
  const { status, body } = exchange;
  const when = doing === 'send' ? 'to the message' : 'when the job was polled';
  const said = body.kind === 'ok' ? quoteRefusal(body.value, redact) : '';
  const advice = status === 429 ? adviseOnLimit(exchange, about) : advise(exchange, about);
  return sentences(`The API answered ${status} ${when}${said}.`, advice);
}

function advise(answer: Answer, { doing, isDefaultUrl, redact }: Explaining): string {
  const { status, locationHost, contentType, body } = answer;
  if (status >= 300 && status < 400) {
    const target = locationHost === '' ? '' : ` to ${quote(redact(locationHost))}`;
    return `That is a redirect${target}, which is never followed; check base-url.`;
  }
  if (status >= 200 && status < 300) {
    if (body.kind === 'problem') return `The answer had ${body.problem}.`;
    const type =
      contentType === '' ? 'no content type' : `the content type ${quote(redact(contentType), 60)}`;
    return `The answer, with ${type}, was not a record of this job; a proxy or captive portal may have sent it.`;
  }
  switch (status) {
    case 401:
      return (
        'The api-key is expired (keys live 90 days by default) or wrong; create a new admin key at ' +
        `${KEYS_URL} and store it as the secret.`
      );
    case 403:
      return (
        `The api-key lacks the ${doing === 'send' ? 'write' : 'read'} scope, or the IP address of this runner ` +
        'is not on the IP allow list of the key; GitHub-hosted runners rarely are. Check the key at ' +
        `${KEYS_URL}.`
      );
    case 404:
      return `The job was not found; check job-id${isDefaultUrl ? '' : ', base-url'} and project-id.`;
  }
  if (status >= 500) return 'The API itself has a problem.';
  const isUntimely = isTimeout(status) || status === 425;
  return isUntimely ? '' : 'It refuses this request; check the prompt and the job.';
}

function adviseOnLimit(exchange: Exchange, { doing, isRetried, now }: Explaining): string {
  if (doing === 'poll') {
    return 'The API was polled too often; a longer poll-interval-seconds may help.';
  }
  const limit =
    'The API accepts 100 messages per project and hour (100/h) from all senders together';
  if (isRetried) return `${limit}.`;
  const pauseMs = retryAfterMs(exchange);
  // Times are shown without seconds, so it is the next full minute.
  return `${limit}; try again ${pauseMs === null ? 'later' : `after ${inUtc(now + pauseMs + 60_000)}`}.`;
}
