import { join, NO_REASON, ours, type Reason, sentence } from '../reason.ts';
import type { Redact } from '../runner/secrets.ts';
import { oneLine } from '../sanitize.ts';
import type { AgentContext } from './context.ts';
import type { Answer, Exchange } from './http.ts';
import { readRefusal } from './job-record.ts';
import { isTimeout, retryDate } from './retry.ts';

/** How the API responded, and what to do about it. `isRetried`: whether this run sends the message again. */
export function explain(
  exchange: Exchange,
  doing: 'send' | 'poll',
  isRetried: boolean,
  context: Pick<AgentContext, 'where' | 'redact' | 'clock'>,
): Reason {
  const { where, redact } = context;
  if (exchange.kind === 'failure') {
    const why = ours(exchange.why);
    return exchange.written
      ? sentence`The connection to ${where} was lost after the request was written: ${why}.`
      : sentence`Could not reach ${where}: ${why}.`;
  }
  const { status, body, requestId } = exchange;
  const when = ours(doing === 'send' ? 'to the message' : 'when the job was polled');
  const said = body.kind === 'ok' ? quoteRefusal(body.value, redact) : NO_REASON;
  const id = requestId === '' ? NO_REASON : sentence` (request id ${redact(requestId)})`;
  const answered = sentence`The API answered ${status} ${when}${said}${id}.`;
  if (status !== 429) return join([answered, advise(exchange, doing, redact)]);
  return join([answered, ours(adviseOnLimit(doing, isRetried, retryDate(exchange, context)))]);
}

const MOST_DETAILS = 3;

function quoteRefusal(body: string, redact: Redact): Reason {
  const [refusal = '', ...details] = readRefusal(body, redact);
  if (refusal === '') return NO_REASON;
  const shown = details.slice(0, MOST_DETAILS).map((detail) => sentence`${oneLine(detail, 120)}`);
  const more = ours(details.length > shown.length ? `${details.length - shown.length} more` : '');
  const list = shown.length === 0 ? NO_REASON : sentence` (${join([...shown, more], ', ')})`;
  return sentence`: ${oneLine(refusal)}${list}`;
}

function advise(
  { status, locationHost, contentType, body }: Answer,
  doing: 'send' | 'poll',
  redact: Redact,
): Reason {
  if (status >= 300 && status < 400) {
    const target = locationHost === '' ? NO_REASON : sentence` to ${redact(locationHost)}`;
    return sentence`That is a redirect${target}, which is never followed; check base-url.`;
  }
  switch (status) {
    case 401:
      return ours(
        'The api-key is expired (keys live 90 days by default) or wrong; store a new admin key.',
      );
    case 403:
      return ours(
        `The api-key lacks the ${doing === 'send' ? 'write' : 'read'} scope, or the IP address of ` +
          'this runner is not on the IP allow list of the key; GitHub-hosted runners rarely are.',
      );
    case 404:
      return ours('The job was not found; check job-id and project-id.');
  }
  if (status >= 200 && status < 300) {
    if (body.kind === 'problem') return ours(`The answer had ${body.problem}.`);
    const type =
      contentType === ''
        ? ours('no content type')
        : sentence`the content type ${oneLine(redact(contentType), 60)}`;
    return sentence`The answer, with ${type}, was not a record of this job; a proxy or captive portal
      may have sent it.`;
  }
  if (status >= 500) return ours('The API itself has a problem.');
  const isUntimely = isTimeout(status) || status === 425;
  return ours(isUntimely ? '' : 'It refuses this request; check the prompt and the job.');
}

function adviseOnLimit(doing: 'send' | 'poll', isRetried: boolean, retryAt: Date | null): string {
  if (doing === 'poll') {
    return 'The API was polled too often; a longer poll-interval-seconds may help.';
  }
  const limit =
    'The API accepts 100 messages per project and hour (100/h) from all senders together';
  if (isRetried) return `${limit}.`;
  return retryAt === null
    ? `${limit}; try again later.`
    : `${limit}; try again after ${inUtc(retryAt)}.`;
}

export function inUtc(date: Date): string {
  return `${date.toISOString().replace(/\.\d+Z$/, 'Z')} (UTC)`;
}
