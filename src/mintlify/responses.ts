import * as z from 'zod/mini';
import { inUtc } from '../clock.ts';
import type { JobRecord } from '../job/job.ts';
import { checkPrLink, ownPullRequest } from '../pull-request.ts';
import type { Redact } from '../runner/logger.ts';
import { isRedirect } from '../runner/network.ts';
import { anyText, lenient } from '../schema.ts';
import {
  ADVICE,
  ADVICE_ELSEWHERE,
  ADVICE_ON_SIZE,
  DASHBOARD_URL,
  type Doing,
  isKnownStatus,
} from '../service.ts';
import {
  listing,
  ok,
  oneLine,
  parseJson,
  problem,
  quote,
  type Result,
  sentences,
} from '../text.ts';
import { isPassing4xx, isPassing5xx, retryAfterMs } from './retry.ts';
import {
  type AgentContext,
  type Answer,
  type Exchange,
  type Failure,
  isFromApi,
} from './transport.ts';

// What the API answered: a job record, or why there is none and what to do about it. Comments quote that, and
// their readers did not write the workflow: so it says “the API key”, and not the name of the input.

const jobRecord = z.object({
  id: z.string(),
  status: lenient(z.string()),
  prLink: z.optional(z.unknown()),
});

/**
 * Reads the job record in a body. Unknown fields are ignored, and secrets are redacted before anything is cut,
 * quoted or compared, except for a status, whose words are known. A problem quotes only an error that the API tells.
 */
export function readRecord(body: string, redact: Redact, repositoryUrl: string): Result<JobRecord> {
  if (body === '') return problem('an empty body');
  const json = parseJson(body);
  if (json === undefined) return problem(`invalid JSON (${Buffer.byteLength(body)} bytes)`);
  const parsed = jobRecord.safeParse(json);
  if (!parsed.success) {
    return problem(`JSON that is not a job record${quoteRefusal(body, redact)}`);
  }
  const { id, status, prLink } = parsed.data;
  const link = readLink(prLink, redact);
  const isTold = prLink !== undefined && link.kind === 'ok';
  const record = {
    id,
    status: status === undefined ? undefined : readStatus(status, redact),
    prLink: isTold ? link.value : undefined,
    prNumber: isTold ? ownPullRequest(link.value, repositoryUrl) : undefined,
    linkProblem: link.kind === 'problem' ? link.problem : undefined,
  };
  const told = Object.entries(record).filter(([, value]) => value !== undefined);
  return ok(Object.fromEntries(told) as unknown as JobRecord);
}

const LONGEST_LINK = 500;

/** Null if there is none. */
function readLink(prLink: unknown, redact: Redact): Result<string | null> {
  if (prLink === undefined || prLink === null || prLink === '') return ok(null);
  if (typeof prLink !== 'string') return problem('it is not a text');
  if (prLink.length > LONGEST_LINK) return problem(`it has more than ${LONGEST_LINK} characters`);
  return checkPrLink(redact(prLink));
}

/** A status that the action knows, or text by others in one line; undefined if nothing of it is visible. */
function readStatus(status: string, redact: Redact): string | undefined {
  const word = oneLine(status).toLowerCase();
  return isKnownStatus(word) ? word : oneLine(redact(status)) || undefined;
}

const message = z.object({ message: anyText });
/** `error` is the API's own word, as a text or an object; `message` is that of a gateway before it. */
const refusal = z.extend(message, { error: z.catch(z.union([z.string(), message]), '') });

/** How the API explains a refusal: `: “error”`, or an empty text. */
function quoteRefusal(body: string, redact: Redact): string {
  const { error = '', message = '' } = refusal.safeParse(parseJson(body)).data ?? {};
  const said = (typeof error === 'string' ? error : error.message) || message;
  return said === '' ? '' : `: ${quote(redact(said))}`;
}

const WHEN: Readonly<Record<Doing, string>> = {
  poll: 'when the status of the job was read',
  send: 'to the message',
  create: 'when the job was to be created',
};

/** How the API responded, and what to do about it. */
export function explainExchange(exchange: Exchange, doing: Doing, context: AgentContext): string {
  const { where, redact } = context;
  if (exchange.kind === 'failure') {
    return exchange.written
      ? `The connection to the API at ${where} was lost after the request was written: ${exchange.why}.`
      : sentences(
          `Could not reach the API at ${where}: ${exchange.why}.`,
          adviseOnNetwork(exchange, context),
        );
  }
  const { status, body } = exchange;
  const said = body.kind === 'ok' ? quoteRefusal(body.value, redact) : '';
  return sentences(
    `${whoAnswered(exchange)} answered ${status} ${WHEN[doing]}${said}.`,
    advise(exchange, doing, context),
  );
}

/** The API answers with a JSON object. Pages for 5xx come as often from its own edge as from something else on the way. */
function whoAnswered({ status, body }: Answer): string {
  if (isFromApi(body)) return 'The API';
  return isPassing5xx(status)
    ? 'The API, or something before it,'
    : 'Something before the API, such as a proxy or firewall,';
}

/** What is set up wrongly is named by the reason. */
function adviseOnNetwork({ cause }: Failure, { isDefaultUrl }: AgentContext): string {
  if (cause === 'setup') return '';
  const suspects = [...(isDefaultUrl ? [] : ['base URL']), 'DNS, firewall and proxy of the runner'];
  return `Check the ${listing(suspects, 'and the')}.`;
}

function advise(answer: Answer, doing: Doing, context: AgentContext): string {
  const { status, contentType, body } = answer;
  const { isDefaultUrl, redact } = context;
  if (isRedirect(status)) {
    const host = URL.parse(answer.location)?.host ?? '';
    const target = host === '' ? '' : ` to ${quote(redact(host))}`;
    return `That is a redirect${target}, which is never followed. ${adviseOnWay(context)}`;
  }
  if (status >= 200 && status < 300) {
    if (body.kind === 'problem') return `The answer had ${body.problem}.`;
    const type =
      contentType === '' ? 'no content type' : `the content type ${quote(redact(contentType), 60)}`;
    return `The answer, with ${type}, was not a record of this job. ${adviseOnWay(context)}`;
  }
  const whoever = ADVICE_ON_SIZE[status];
  if (whoever !== undefined) return whoever;
  if (!isFromApi(body)) return adviseOnStranger(status, doing, context);
  const elsewhere = isDefaultUrl ? undefined : ADVICE_ELSEWHERE[status]?.[doing];
  const known = elsewhere ?? ADVICE[status]?.[doing];
  if (known !== undefined) return known;
  if (status >= 500) return 'The API itself has a problem.';
  if (isPassing4xx(status) || status < 400) return '';
  const suspects = doing === 'poll' ? [] : ['the prompt'];
  if (!isDefaultUrl) suspects.push('the base URL');
  return `Check ${listing([...suspects, `the job in the dashboard (${DASHBOARD_URL})`])}.`;
}

/** What to do about something on the way to the API. */
function adviseOnWay({ isDefaultUrl }: AgentContext): string {
  const through = 'sk those who run it to let this runner through, or use another runner.';
  return isDefaultUrl ? `A${through}` : `Check the base URL. If it is right, a${through}`;
}

/** Of an answer that is not the API's. Firewalls look into messages, too: one that has let a poll through may refuse a text. */
function adviseOnStranger(status: number, doing: Doing, context: AgentContext): string {
  if (isPassing4xx(status) || isPassing5xx(status)) return '';
  const refusesText = status === 403 || status === 406;
  if (refusesText && doing !== 'poll' && context.transport.hasAnswered()) {
    return 'It may refuse what the message says, such as commands in a log. Ask those who run it to let such messages through to the API.';
  }
  return adviseOnWay(context);
}

/** Until when the API asks to wait, if it does. Times are shown without seconds, so it is the next full minute. */
export function askedPause(exchange: Exchange, { clock }: AgentContext): string {
  const pauseMs = retryAfterMs(exchange);
  if (pauseMs === null) return '';
  return `It asks to wait until ${inUtc(clock.now() + pauseMs + 60_000)}.`;
}
