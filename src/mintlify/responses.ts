import * as z from 'zod/mini';
import { inUtc } from '../clock.ts';
import type { JobRecord } from '../job/job.ts';
import { checkPrLink, ownPullRequest } from '../pull-request.ts';
import { ok, problem, type Result } from '../result.ts';
import type { Redact } from '../runner/logger.ts';
import { anyText, lenient } from '../schema.ts';
import {
  DASHBOARD_URL,
  isKnownStatus,
  KEYS_URL,
  MESSAGES_PER_HOUR,
  type PATHS,
  USAGE_URL,
} from '../service.ts';
import { oneLine, parseJson, quote, sentences } from '../text.ts';
import { askedPauseMs, isPassing4xx } from './retry.ts';
import { type AgentContext, type Answer, type Exchange, isFromApi } from './transport.ts';

// What the API answered: a job record, or why there is none and what to do about it. Comments quote
// that, and their readers did not write the workflow: so it says “the API key”, and not the name of
// the input.

const jobRecord = z.object({
  id: z.string(),
  status: lenient(z.string()),
  prLink: z.optional(z.unknown()),
});

/**
 * Reads the job record in a body. Unknown fields are ignored, and secrets are redacted before
 * anything is cut, quoted or compared, except for a status, whose words are known. A problem quotes
 * only an error that the API tells.
 */
export function readRecord(body: string, redact: Redact, repositoryUrl: string): Result<JobRecord> {
  if (body === '') return problem('an empty body');
  const json = parseJson(body);
  if (json === undefined) return problem(`invalid JSON (${Buffer.byteLength(body)} bytes)`);
  const parsed = jobRecord.safeParse(json);
  if (!parsed.success) {
    return problem(`JSON that is not a job record${quoteRefusal(body, redact)}`);
  }
  const { id, prLink } = parsed.data;
  const status = readStatus(parsed.data.status ?? '', redact);
  const link = readLink(prLink, redact);
  return ok({
    id,
    ...(status !== '' && { status }),
    ...(link.kind === 'problem' && { linkProblem: link.problem }),
    ...(link.kind === 'ok' &&
      prLink !== undefined && {
        prLink: link.value,
        prNumber: ownPullRequest(link.value, repositoryUrl),
      }),
  });
}

const LONGEST_LINK = 500;

/** Null if there is none. */
function readLink(prLink: unknown, redact: Redact): Result<string | null> {
  if (prLink === undefined || prLink === null || prLink === '') return ok(null);
  if (typeof prLink !== 'string') return problem('it is not a text');
  if (prLink.length > LONGEST_LINK) return problem(`it has more than ${LONGEST_LINK} characters`);
  return checkPrLink(redact(prLink));
}

/**
 * A status that the action knows, or text by others in one line; empty if nothing of it is visible.
 */
function readStatus(status: string, redact: Redact): string {
  const word = oneLine(status).toLowerCase();
  return isKnownStatus(word) ? word : oneLine(redact(status));
}

const message = z.object({ message: anyText });
/**
 * `error` is the API's own word, as a text or an object; `message` is that of a gateway before it.
 */
const refusal = z.extend(message, { error: z.catch(z.union([z.string(), message]), '') });

/** How the API explains a refusal: `: “error”`, or an empty text. */
function quoteRefusal(body: string, redact: Redact): string {
  const { error = '', message = '' } = refusal.safeParse(parseJson(body)).data ?? {};
  const said = (typeof error === 'string' ? error : error.message) || message;
  return said === '' ? '' : `: ${quote(redact(said))}`;
}

/** What the requests do. */
type Doing = keyof typeof PATHS;

const WHEN: Readonly<Record<Doing, string>> = {
  poll: 'when the status of the job was read',
  send: 'to the message',
  create: 'when the job was to be created',
};

/** How the API responded, and what to do about it. */
export function explainExchange(exchange: Exchange, doing: Doing, context: AgentContext): string {
  const { where, redact, isDefaultUrl } = context;
  if (exchange.kind === 'failure') {
    const { written, why, cause } = exchange;
    if (written) {
      return `The connection to the API at ${where} was lost after the request was written: ${why}.`;
    }
    const url = isDefaultUrl ? '' : 'base URL and the ';
    // What is set up wrongly is named by the reason.
    const advice =
      cause === 'setup' ? '' : `Check the ${url}DNS, firewall and proxy of the runner.`;
    return sentences(`Could not reach the API at ${where}: ${why}.`, advice);
  }
  const { status, body } = exchange;
  const said = body.kind === 'ok' ? quoteRefusal(body.value, redact) : '';
  return sentences(
    `${whoAnswered(exchange)} answered ${status} ${WHEN[doing]}${said}.`,
    advise(exchange, context),
  );
}

/**
 * The API answers with a JSON object. Pages for 5xx come as often from its own edge as from
 * something else on the way.
 */
function whoAnswered({ status, body }: Answer): string {
  if (isFromApi(body)) return 'The API';
  return status >= 500
    ? 'The API, or something before it,'
    : 'Something before the API, such as a proxy or firewall,';
}

const CHECK_IDS = 'The project has no such job, or there is no such project; check the IDs';
const CHECK_PROMPT = `Check the prompt and the job in the dashboard (${DASHBOARD_URL}).`;

/**
 * What to do about a status with which the API answers. 402 is not documented, but that agents use
 * credits is.
 */
const ADVICE: Readonly<Record<number, string>> = {
  401: `The API key is expired (keys live 90 days by default) or wrong; create a new admin key at ${KEYS_URL} and store it as the secret.`,
  402: `The API requires credits. Buy credits or allow overages at ${USAGE_URL}.`,
  403: `The API key may lack the read or write scope, or the IP address of this runner may not be on the IP allow list of the key; GitHub-hosted runners rarely are. Check the key at ${KEYS_URL}.`,
  404: `${CHECK_IDS}.`,
  409: 'Use another job.',
  429: `The API accepts ${MESSAGES_PER_HOUR} messages per project and hour (${MESSAGES_PER_HOUR}/h) from all senders together.`,
};

function advise({ status, contentType, location, body }: Answer, context: AgentContext): string {
  const { isDefaultUrl, redact } = context;
  const checkUrl = isDefaultUrl ? '' : 'Check the base URL. If it is right:';
  const onTheWay = sentences(
    checkUrl,
    'Ask those who run it to let this runner through, or use another runner.',
  );
  if (status === 413) return 'The prompt is too long; make it shorter.';
  if (status >= 300 && status < 400) {
    const host = URL.parse(location)?.host ?? '';
    const target = host === '' ? '' : ` to ${quote(redact(host))}`;
    return `That is a redirect${target}, which is never followed. ${onTheWay}`;
  }
  if (status >= 200 && status < 300) {
    if (body.kind === 'problem') return `The answer had ${body.problem}.`;
    const type =
      contentType === '' ? 'no content type' : `the content type ${quote(redact(contentType), 60)}`;
    return `The answer, with ${type}, was not a record of this job. ${onTheWay}`;
  }
  if (!isFromApi(body)) return status >= 500 || isPassing4xx(status) ? '' : onTheWay;
  if (status === 404 && !isDefaultUrl) return `${CHECK_IDS} and the base URL.`;
  const isOther = status < 500 && !isPassing4xx(status);
  return ADVICE[status] ?? (isOther ? CHECK_PROMPT : '');
}

/**
 * Until when the API asks to wait, if it does. Times are shown without seconds, so it is the next
 * full minute.
 */
export function askedPause(exchange: Exchange, { clock }: AgentContext): string {
  const pauseMs = askedPauseMs(exchange);
  if (pauseMs === null) return '';
  return `It asks to wait until ${inUtc(clock.now() + pauseMs + 60_000)}.`;
}
