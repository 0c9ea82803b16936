import type { Delivery } from '../turn.ts';
import type { AgentContext } from './context.ts';
import type { Answer, Exchange } from './http.ts';

/** Milliseconds. If the API asks for a longer pause, the send is given up. */
const LONGEST_RETRY_AFTER_MS = 120_000;

/**
 * What the result of a POST says about the message. Only `repeats` has an effect; `when` and `delivery` are
 * for the generated table "Will it send twice?" of docs/delivery.md.
 */
export const SEND_RULES = {
  delivered: {
    when: '2xx with JSON or an empty body, even if the body is cut off or invalid',
    delivery: 'sent',
    repeats: 0,
  },
  unreachable: {
    when:
      'The request was not sent because of a temporary error: DNS failure; connection refused, ' +
      'reset or timed out; host unreachable; refused by a proxy',
    delivery: 'not-sent',
    repeats: 2,
  },
  'set-up-wrongly': {
    when:
      'The request was not sent because of the configuration: certificate, host name, TLS ' +
      'version, proxy credentials (407)',
    delivery: 'not-sent',
    repeats: 0,
  },
  'rate-limited': {
    when: `429, if the pause that the API asks for is ${LONGEST_RETRY_AFTER_MS / 60_000} minutes or less`,
    delivery: 'not-sent',
    repeats: 2,
  },
  'not-processed': { when: '425', delivery: 'not-sent', repeats: 1 },
  redirected: { when: '3xx; redirects are not followed', delivery: 'not-sent', repeats: 0 },
  refused: { when: 'Any other 4xx', delivery: 'not-sent', repeats: 0 },
  doubtful: {
    when:
      'Anything else after the request was sent: connection lost, no response, a response that ' +
      'is not HTTP, 408, 499, 500, 502, 503 (with or without `Retry-After`), 504 or any other 5xx, ' +
      '2xx with another content type or another job',
    delivery: 'unknown',
    repeats: 0,
  },
} as const satisfies Readonly<Record<string, SendRule>>;

interface SendRule {
  readonly when: string;
  readonly delivery: Delivery;
  /** How often the message may be sent again. What may have been delivered is never sent again. */
  readonly repeats: number;
}

export type SendClass = keyof typeof SEND_RULES;

export function classifySend(exchange: Exchange): SendClass {
  if (exchange.kind === 'failure') {
    if (exchange.written) return 'doubtful';
    return exchange.cause === 'setup' ? 'set-up-wrongly' : 'unreachable';
  }
  if (isDelivery(exchange)) return 'delivered';
  const { status } = exchange;
  if (status >= 300 && status < 400) return 'redirected';
  if (status === 429) return 'rate-limited';
  if (status === 425) return 'not-processed';
  // A proxy may send 408, 499 or 503, even with Retry-After, for a backend that accepted the message.
  return status >= 400 && status < 500 && !isTimeout(status) ? 'refused' : 'doubtful';
}

/** 499 is not standard: a proxy on the way, or what is behind it, has given up the request. */
export function isTimeout(status: number): boolean {
  return status === 408 || status === 499;
}

/** Whether the API accepted the message. */
export function isDelivery(exchange: Exchange): exchange is Answer {
  if (exchange.kind === 'failure') return false;
  const { status } = exchange;
  return status >= 200 && status < 300 && saysJsonOrNothing(exchange);
}

/** A captive portal returns 200 with HTML. The API returns JSON or an empty body. */
function saysJsonOrNothing({ contentType, body }: Answer): boolean {
  if (/^application\/([\w.+-]+\+)?json\s*(;|$)/i.test(contentType)) return true;
  if (body.kind === 'problem') return false;
  return body.value === '' || (contentType === '' && /^\s*\{/.test(body.value));
}

/** Milliseconds. The pause doubles with each retry, and a random part of it is waited for. */
const FIRST_BACKOFF_MS = 500;
const LONGEST_BACKOFF_MS = 8000;
/** Milliseconds, if a 429 does not say how long to wait. */
const FIRST_RATE_LIMIT_PAUSE_MS = 15_000;

/** Milliseconds until a message may be sent again, or null. `earlier` sends of it ended in the same class. */
export function sendRetryDelayMs(
  exchange: Exchange,
  earlier: number,
  { clock, deadline, random }: Pick<AgentContext, 'clock' | 'deadline' | 'random'>,
): number | null {
  const sendClass = classifySend(exchange);
  if (earlier >= SEND_RULES[sendClass].repeats) return null;
  if (sendClass !== 'rate-limited')
    return random() * Math.min(LONGEST_BACKOFF_MS, FIRST_BACKOFF_MS * 2 ** earlier);
  const now = clock.now();
  const pause = retryAfterMs(exchange, now) ?? FIRST_RATE_LIMIT_PAUSE_MS * 2 ** earlier;
  const isTooLong = pause > Math.min(LONGEST_RETRY_AFTER_MS, deadline - now);
  return isTooLong ? null : pause + random() * 1000;
}

/** Failed polls in a row after which polling is given up. */
const MOST_FAILED_POLLS = 8;
const MOST_NETWORK_ERRORS_BEFORE_SEND = 3;
/** Milliseconds after a send in which the API may still return 404 for the job. */
const GRACE_FOR_404_MS = 30_000;

/**
 * Milliseconds until a failed poll is repeated; null if the answer is final. `failures` counts the failed
 * polls in a row, with this one. `sinceSendMs` is Infinity without a message.
 */
export function pollRetryDelayMs(
  exchange: Exchange,
  failures: number,
  sinceSendMs: number,
  { clock, random }: Pick<AgentContext, 'clock' | 'random'>,
): number | null {
  const isMissing = exchange.kind === 'answer' && exchange.status === 404;
  const isTolerated = isMissing && sinceSendMs < GRACE_FOR_404_MS;
  const isHopeless = isFinalRefusal(exchange) || failures >= MOST_FAILED_POLLS;
  if (isHopeless && !isTolerated) return null;
  const backoff = random() * Math.min(30_000, 1000 * 2 ** Math.min(failures - 1, 10));
  return Math.max(backoff, retryAfterMs(exchange, clock.now()) ?? 0);
}

/** The same before a message, when fewer errors are waited out. */
export function retryDelayBeforeSendMs(
  exchange: Exchange,
  failures: number,
  networkErrors: number,
  context: Pick<AgentContext, 'clock' | 'random'>,
): number | null {
  const isSetUpWrongly = exchange.kind === 'failure' && exchange.cause === 'setup';
  const isHopeless = isSetUpWrongly || networkErrors >= MOST_NETWORK_ERRORS_BEFORE_SEND;
  return isHopeless ? null : pollRetryDelayMs(exchange, failures, Infinity, context);
}

function isFinalRefusal(exchange: Exchange): boolean {
  if (exchange.kind === 'failure') return false;
  const { status } = exchange;
  const passing = isTimeout(status) || status === 425 || status === 429;
  return status >= 300 && status < 500 && !passing;
}

/** The date until which the API asks to wait; null if none, or beyond the range of Date. */
export function retryDate(exchange: Exchange, { clock }: Pick<AgentContext, 'clock'>): Date | null {
  const now = clock.now();
  const ms = retryAfterMs(exchange, now);
  return ms === null || ms > 1e14 ? null : new Date(now + ms);
}

/**
 * The longest pause in milliseconds that Retry-After asks for, in seconds or as an HTTP date (RFC 9110,
 * 5.6.7), or null. A date is compared with the Date header, because the clock of the runner may be wrong.
 */
export function retryAfterMs(exchange: Exchange, now: number): number | null {
  if (exchange.kind === 'failure') return null;
  const sent = httpDate(exchange.date) ?? now;
  const waits = exchange.retryAfter.flatMap((value) => {
    const text = value.trim();
    if (/^[0-9]+$/.test(text)) return [Math.min(Number(text) * 1000, LONGEST_WAIT_MS)];
    const at = httpDate(text);
    return at === null ? [] : [Math.max(0, at - sent)];
  });
  return waits.length === 0 ? null : Math.max(...waits);
}

/** Milliseconds: far beyond any wait, and small enough for exact arithmetic. */
const LONGEST_WAIT_MS = 9e14;

/** Milliseconds since 1970 of an IMF-fixdate, the only form that servers may send. */
function httpDate(text: string): number | null {
  if (!/^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), /.test(text)) return null;
  const time = Date.parse(text);
  // It also accepts other forms, and dates that do not exist: 31 February would be 3 March.
  return new Date(time).toUTCString().slice(3) === text.slice(3) ? time : null;
}
