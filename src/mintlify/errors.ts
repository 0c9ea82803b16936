import { inUtc } from '../clock.ts';
import {
  API_URL,
  DASHBOARD_URL,
  KEYS_URL,
  MESSAGES_PER_HOUR,
  type PATHS,
  USAGE_URL,
} from '../mintlify-api.ts';
import type { Redact } from '../runner/logger.ts';
import { parseJson, quote, sentences } from '../text.ts';
import { isPassing4xx } from './retry.ts';
import { type AgentContext, type Answer, type Exchange, isFromApi } from './transport.ts';

// Why a request failed, and what to do about it. Comments quote that, and their readers did not
// write the workflow: so it says “the API key”, and not the name of the input.

/** `: “…”`, or an empty text. `error` is the API's own word; `message`, that of a gateway. */
export function quoteError(body: string, redact: Redact): string {
  const { error, message } = Object(parseJson(body));
  const words: readonly unknown[] = [error, Object(error).message, message];
  const said = words.find((one) => typeof one === 'string' && one !== '');
  return said === undefined ? '' : `: ${quote(redact(String(said)))}`;
}

const WHEN = {
  poll: 'when the status of the job was read',
  send: 'to the message',
  create: 'when the job was to be created',
} as const satisfies Readonly<Record<keyof typeof PATHS, string>>;

export function explainExchange(
  exchange: Exchange,
  doing: keyof typeof WHEN,
  context: Pick<AgentContext, 'baseUrl' | 'redact'>,
): string {
  const isDefaultUrl = context.baseUrl.href === new URL(API_URL).href;
  if (exchange.kind === 'failure') {
    const { written, why, cause } = exchange;
    const api = `the API at ${quote(context.baseUrl.host)}`;
    if (written) return `The connection to ${api} was lost after the request was written: ${why}.`;
    const url = isDefaultUrl ? '' : 'base URL and the ';
    // What is set up wrongly is named by the reason.
    const advice =
      cause === 'setup' ? '' : `Check the ${url}DNS, firewall and proxy of the runner.`;
    return sentences(`Could not reach ${api}: ${why}.`, advice);
  }
  const { status, body } = exchange;
  const said =
    body.kind === 'ok' ? quoteError(body.value, context.redact) : `, with ${body.problem}`;
  const what = `${whoAnswered(exchange)} answered ${status} ${WHEN[doing]}${said}.`;
  const isCreation = doing === 'create' && isFromApi(body) && [400, 404, 422].includes(status);
  return sentences(what, isCreation ? ON_CREATION : advise(exchange, isDefaultUrl, context.redact));
}

/** Pages for 5xx come as often from the edge of the API as from something else on the way. */
function whoAnswered({ status, body }: Answer): string {
  if (isFromApi(body)) return 'The API';
  return status >= 500
    ? 'The API, or something before it,'
    : 'Something before the API, such as a proxy or firewall,';
}

const ON_CREATION =
  'Check the ID of the project, that the API key is of its organization, and the prompt.';

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
  404: 'The project has no such job, or there is no such project; check the IDs.',
  409: 'Use another job.',
  429:
    `The API accepts ${MESSAGES_PER_HOUR} messages per project and hour ` +
    `(${MESSAGES_PER_HOUR}/h) from all senders together, and as many new jobs.`,
};

function advise(answer: Answer, isDefaultUrl: boolean, redact: Redact): string {
  const { status, location, body } = answer;
  const ask = isDefaultUrl ? 'Ask' : 'Check the base URL, or ask';
  const onTheWay = `${ask} those who run it to let this runner through, or use another runner.`;
  if (status === 413) return 'The prompt is too long; make it shorter.';
  if (status >= 300 && status < 400) {
    const host = URL.parse(location)?.host ?? '';
    const target = host === '' ? '' : ` to ${quote(redact(host))}`;
    return `That is a redirect${target}, which is never followed. ${onTheWay}`;
  }
  if (status < 300) return `That is no record of this job. ${onTheWay}`;
  const mayPass = status >= 500 || isPassing4xx(status);
  if (!isFromApi(body)) return mayPass ? '' : onTheWay;
  const other = `Check the prompt and the job in the dashboard (${DASHBOARD_URL}).`;
  return ADVICE[status] ?? (mayPass ? '' : other);
}

/** Until when the API asks to wait, if it does: the next full minute. */
export function explainPause({ pauseMs }: Exchange, { clock }: AgentContext): string {
  if (pauseMs === null) return '';
  return `It asks to wait until ${inUtc(clock.now() + pauseMs + 60_000)}.`;
}
