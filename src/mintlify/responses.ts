import * as z from 'zod/mini';
import { inUtc } from '../clock.ts';
import type { JobRecord } from '../job/job.ts';
import { checkPrLink, ownPullRequest } from '../pull-request.ts';
import { ok, problem, type Result } from '../result.ts';
import type { Redact } from '../runner/logger.ts';
import { anyText } from '../schema.ts';
import {
  DASHBOARD_URL,
  isKnownStatus,
  KEYS_URL,
  MESSAGES_PER_HOUR,
  type PATHS,
  USAGE_URL,
} from '../service.ts';
import { oneLine, parseJson, quote, sentences } from '../text.ts';
import { isPassing4xx } from './retry.ts';
import {
  type AgentContext,
  type Answer,
  type Exchange,
  type Failure,
  isFromApi,
} from './transport.ts';

// A job record, or why there is none and what to do about it. Comments quote that, and their
// readers did not write the workflow: so it says “the API key”, and not the name of the input.

const jobRecord = z.object({
  id: z.string(),
  status: anyText,
  prLink: z.optional(z.unknown()),
});

/**
 * Reads the job record in a body. Secrets are redacted before anything is cut, quoted or compared,
 * except for a status, whose words are known. A problem quotes only an error that the API tells.
 */
export function readRecord(body: string, redact: Redact, repositoryUrl: string): Result<JobRecord> {
  if (body === '') return problem('an empty body');
  const json = parseJson(body);
  if (json === undefined) return problem(`invalid JSON (${Buffer.byteLength(body)} bytes)`);
  const parsed = jobRecord.safeParse(json);
  if (!parsed.success) return problem(`JSON that is not a job record${quoteError(body, redact)}`);
  const { id, prLink } = parsed.data;
  const word = oneLine(parsed.data.status).toLowerCase();
  const status = isKnownStatus(word) ? word : oneLine(redact(parsed.data.status));
  const record = { id, ...(status !== '' && { status }) };
  if (prLink === undefined) return ok(record);
  const link = readLink(prLink, redact);
  if (link.kind === 'problem') return ok({ ...record, linkProblem: link.problem });
  const prNumber = ownPullRequest(link.value, repositoryUrl);
  return ok({ ...record, prLink: link.value, prNumber });
}

const LONGEST_LINK = 500;

function readLink(prLink: unknown, redact: Redact): Result<string | null> {
  if (prLink === null || prLink === '') return ok(null);
  if (typeof prLink !== 'string') return problem('it is not a text');
  if (prLink.length > LONGEST_LINK) return problem(`it has more than ${LONGEST_LINK} characters`);
  return checkPrLink(redact(prLink));
}

const message = z.object({ message: anyText });
/** `error` is the API's own word; `message`, that of a gateway before it. */
const refusal = z.extend(message, { error: z.catch(z.union([z.string(), message]), '') });

/** How the API explains a refusal: `: “error”`, or an empty text. */
function quoteError(body: string, redact: Redact): string {
  const { error = '', message = '' } = refusal.safeParse(parseJson(body)).data ?? {};
  const said = (typeof error === 'string' ? error : error.message) || message;
  return said === '' ? '' : `: ${quote(redact(said))}`;
}

const WHEN = {
  poll: 'when the status of the job was read',
  send: 'to the message',
  create: 'when the job was to be created',
} as const satisfies Readonly<Record<keyof typeof PATHS, string>>;

/** How the API responded, and what to do about it. */
export function explainExchange(
  exchange: Exchange,
  doing: keyof typeof WHEN,
  context: AgentContext,
): string {
  if (exchange.kind === 'failure') return explainFailure(exchange, context);
  const { status, body } = exchange;
  const said = body.kind === 'ok' ? quoteError(body.value, context.redact) : '';
  const what = `${whoAnswered(exchange)} answered ${status} ${WHEN[doing]}${said}.`;
  return sentences(what, advise(exchange, context));
}

function explainFailure({ written, why, cause }: Failure, context: AgentContext): string {
  const api = `the API at ${context.where}`;
  if (written) return `The connection to ${api} was lost after the request was written: ${why}.`;
  const url = context.isDefaultUrl ? '' : 'base URL and the ';
  // What is set up wrongly is named by the reason.
  const advice = cause === 'setup' ? '' : `Check the ${url}DNS, firewall and proxy of the runner.`;
  return sentences(`Could not reach ${api}: ${why}.`, advice);
}

/** Pages for 5xx come as often from the edge of the API as from something else on the way. */
function whoAnswered({ status, body }: Answer): string {
  if (isFromApi(body)) return 'The API';
  return status >= 500
    ? 'The API, or something before it,'
    : 'Something before the API, such as a proxy or firewall,';
}

const CHECK_IDS = 'The project has no such job, or there is no such project; check the IDs';

/** 402 is not documented, but that agents use credits is. */
const ADVICE: Readonly<Record<number, string>> = {
  401:
    'The API key is expired (keys live 90 days by default) or wrong; create a new admin key at ' +
    `${KEYS_URL} and store it as the secret.`,
  402: `The API requires credits. Buy credits or allow overages at ${USAGE_URL}.`,
  403:
    'The API key may lack the read or write scope, or the IP address of this runner may not be ' +
    'on the IP allow list of the key; GitHub-hosted runners rarely are. ' +
    `Check the key at ${KEYS_URL}.`,
  404: `${CHECK_IDS}.`,
  409: 'Use another job.',
  429:
    `The API accepts ${MESSAGES_PER_HOUR} messages per project and hour ` +
    `(${MESSAGES_PER_HOUR}/h) from all senders together.`,
};

function advise({ status, contentType, location, body }: Answer, context: AgentContext): string {
  const { isDefaultUrl, redact } = context;
  const onTheWay = sentences(
    isDefaultUrl ? '' : 'Check the base URL. If it is right:',
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
  const mayPass = status >= 500 || isPassing4xx(status);
  if (!isFromApi(body)) return mayPass ? '' : onTheWay;
  if (status === 404 && !isDefaultUrl) return `${CHECK_IDS} and the base URL.`;
  const other = `Check the prompt and the job in the dashboard (${DASHBOARD_URL}).`;
  return ADVICE[status] ?? (mayPass ? '' : other);
}

/** Until when the API asks to wait, if it does: the next full minute. */
export function askedPause({ pauseMs }: Exchange, { clock }: AgentContext): string {
  if (pauseMs === null) return '';
  return `It asks to wait until ${inUtc(clock.now() + pauseMs + 60_000)}.`;
}
