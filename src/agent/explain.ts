import type { Redact } from '../runner/secrets.ts';
import { oneLine } from '../sanitize.ts';
import type { Answer, Exchange } from './http.ts';
import { readRefusal } from './job-record.ts';

interface Subject {
  readonly doing: 'send' | 'poll';
  /** Names the service, and the proxy if there is one. */
  readonly where: string;
  /** The date until which the service asks to wait; null if it does not. */
  readonly retryAt: Date | null;
  /** Whether this run sends the message again. */
  readonly isRetried: boolean;
  readonly redact: Redact;
}

/** One or two sentences: what the service did, and what to do about it. */
export function explain(exchange: Exchange, subject: Subject): string {
  if (exchange.kind === 'failure') {
    return exchange.written
      ? `The connection to ${subject.where} was lost after the request was written: ${exchange.why}.`
      : `Could not reach ${subject.where}: ${exchange.why}.`;
  }
  const parts = [
    `The service answered ${exchange.status} ${subject.doing === 'send' ? 'to the message' : 'when the job was polled'}`,
    exchange.body.kind === 'ok' ? quoteRefusal(exchange.body.value, subject.redact) : '',
    exchange.requestId === '' ? '' : ` (request id ${subject.redact(exchange.requestId)})`,
    '.',
  ];
  const advice = advise(exchange, subject);
  return advice === '' ? parts.join('') : `${parts.join('')} ${advice}`;
}

/** Only this many details are shown. */
const MOST_DETAILS = 3;

function quoteRefusal(body: string, redact: Redact): string {
  const { sentence, details } = readRefusal(body, redact);
  if (sentence === '') return '';
  const shown = details.slice(0, MOST_DETAILS).map((detail) => `"${oneLine(detail, 120)}"`);
  const more = details.length > shown.length ? [`${details.length - shown.length} more`] : [];
  const list = shown.length === 0 ? '' : ` (${[...shown, ...more].join(', ')})`;
  return `: "${oneLine(sentence)}"${list}`;
}

function advise({ status, locationHost, contentType, body }: Answer, subject: Subject): string {
  if (status >= 300 && status < 400) {
    const target = locationHost === '' ? '' : ` to ${oneLine(subject.redact(locationHost))}`;
    return `That is a redirect${target}, which is never followed; check base-url.`;
  }
  switch (status) {
    case 401:
      return 'The api-key is expired (keys live 90 days by default) or wrong; store a new admin key.';
    case 403:
      return (
        `The api-key lacks the ${subject.doing === 'send' ? 'write' : 'read'} scope, or the IP address of ` +
        'this runner is not on the IP allow list of the key; GitHub-hosted runners rarely are.'
      );
    case 404:
      return 'The job was not found; check job-id and project-id.';
    case 429:
      if (subject.doing === 'poll') {
        return 'The service was polled too often; a longer poll-interval-seconds may help.';
      }
      return (
        'The service accepts 100 messages per project and hour (100/h) from all senders together' +
        (subject.isRetried
          ? '.'
          : subject.retryAt === null
            ? '; try again later.'
            : `; try again after ${inUtc(subject.retryAt)}.`)
      );
  }
  if (status >= 200 && status < 300) {
    if (body.kind === 'problem') return `The answer had ${body.problem}.`;
    const type =
      contentType === ''
        ? 'no content type'
        : `the content type ${oneLine(subject.redact(contentType), 60)}`;
    return `The answer, with ${type}, was not a record of this job; a proxy or captive portal may have sent it.`;
  }
  if (status >= 500) return 'The service itself has a problem.';
  const isUntimely = status === 408 || status === 425;
  return isUntimely ? '' : 'It refuses this request; check the prompt and the job.';
}

export function inUtc(date: Date): string {
  return `${date.toISOString().replace(/\.\d+Z$/, 'Z')} (UTC)`;
}
