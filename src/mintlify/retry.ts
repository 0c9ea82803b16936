import type { Delivery } from '../job/job.ts';
import { readRetryAfter } from '../runner/network.ts';
import type { AgentContext, Answer, Exchange } from './transport.ts';

/** Milliseconds. A message, or a poll before it, is given up if the API asks for a longer pause. */
const LONGEST_RETRY_AFTER_MS = 120_000;

/**
 * What the result of a POST says about the message, and how often it may be sent again: what may have been
 * delivered never is. The table "Will it send twice?" of docs/delivery.md is generated from this.
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
  redirected: {
    when: 'Any other 3xx; redirects are not followed',
    delivery: 'not-sent',
    repeats: 0,
  },
  refused: { when: 'Any other 4xx', delivery: 'not-sent', repeats: 0 },
  doubtful: {
    when:
      'Anything else after the request was sent: connection lost, no response, a response that ' +
      'is not HTTP, 303, 408, 499, 500, 502, 503 (with or without `Retry-After`), 504 or any other 5xx, ' +
      '2xx with another content type or another job',
    delivery: 'unknown',
    repeats: 0,
  },
} as const satisfies Readonly<
  Record<string, { when: string; delivery: Delivery; repeats: number }>
>;

export type SendClass = keyof typeof SEND_RULES;

export function classifySend(exchange: Exchange): SendClass {
  if (exchange.kind === 'failure') {
    if (exchange.written) return 'doubtful';
    return exchange.cause === 'setup' ? 'set-up-wrongly' : 'unreachable';
  }
  if (isDelivery(exchange)) return 'delivered';
  const { status } = exchange;
  // 303 says that the request was processed, and where its result is (RFC 9110, 15.4.4).
  if (status >= 300 && status < 400) return status === 303 ? 'doubtful' : 'redirected';
  if (status === 429) return 'rate-limited';
  // A proxy may send 408, 499 or 503, even with Retry-After, for a backend that accepted the message.
  return status >= 400 && status < 500 && !isTimeout(status) ? 'refused' : 'doubtful';
}

/** 499 is not standard: a proxy on the way, or what is behind it, has given up the request. */
function isTimeout(status: number): boolean {
  return status === 408 || status === 499;
}

/** Whether the API accepted the message. It returns JSON or an empty body; a captive portal, 200 with HTML. */
export function isDelivery(exchange: Exchange): exchange is Answer {
  if (exchange.kind === 'failure') return false;
  const { status, contentType, body } = exchange;
  if (status < 200 || status >= 300) return false;
  // The media type is the first word: some servers give it twice, or forget a semicolon.
  const [type = ''] = contentType.split(/[;,\s]/);
  if (/^application\/([\w.+-]+\+)?json$/i.test(type)) return true;
  if (body.kind === 'problem') return false;
  return body.value === '' || (contentType === '' && /^\s*\{/.test(body.value));
}

/** Milliseconds. The pause doubles with each retry, and a random part of it is waited for. */
const FIRST_BACKOFF_MS = 500;
/** Milliseconds, if a 429 does not say how long to wait. */
const FIRST_RATE_LIMIT_PAUSE_MS = 15_000;

/** Milliseconds on top of the pause that the API asks for. */
const MOST_JITTER_MS = 1000;

/** Milliseconds that must be left before the deadline when a POST starts. */
export const LEAST_POST_MS = 2000;

/** Milliseconds until a message may be sent again, or null. `failed` has the classes of the earlier times. */
export function sendRetryDelayMs(
  exchange: Exchange,
  sendClass: SendClass,
  failed: readonly SendClass[],
  { clock, deadline, random }: Pick<AgentContext, 'clock' | 'deadline' | 'random'>,
): number | null {
  const earlier = failed.filter((one) => one === sendClass).length;
  if (earlier >= SEND_RULES[sendClass].repeats) return null;
  if (sendClass !== 'rate-limited') {
    return random() * FIRST_BACKOFF_MS * 2 ** earlier;
  }
  const pause = retryAfterMs(exchange) ?? FIRST_RATE_LIMIT_PAUSE_MS * 2 ** earlier;
  const delay = pause + random() * MOST_JITTER_MS;
  const isLate = clock.now() + delay >= deadline - LEAST_POST_MS;
  return isLate || pause > LONGEST_RETRY_AFTER_MS ? null : delay;
}

/** How often the first poll, and the last one before the message, may fail. */
const MOST_POLLS = 3;
/** Milliseconds for which all polls of a wait may fail. */
export const LONGEST_OUTAGE_MS = 600_000;
/** Milliseconds. The pause doubles with each failed poll. If it were longer, an end would be seen late. */
const FIRST_POLL_BACKOFF_MS = 1000;
const LONGEST_POLL_BACKOFF_MS = 30_000;

/** Milliseconds until the next poll in a wait, after `failedInARow` have failed. */
export function pollAgainMs(
  exchange: Exchange,
  failedInARow: number,
  random: () => number,
): number {
  const backoffMs = random() * FIRST_POLL_BACKOFF_MS * 2 ** Math.min(failedInARow - 1, 10);
  const pauseMs = Math.max(backoffMs, askedMs(exchange, random));
  return Math.min(LONGEST_POLL_BACKOFF_MS, pauseMs);
}

/** The pause that the API asks for, and a random time: the polls of many jobs must not come back together. */
function askedMs(exchange: Exchange, random: () => number): number {
  const asked = retryAfterMs(exchange);
  return asked === null ? 0 : asked + random() * MOST_JITTER_MS;
}

export interface FailedPoll {
  readonly exchange: Exchange;
  /** A time of the clock. */
  readonly at: number;
}

/**
 * Milliseconds until a poll outside a wait is repeated, after all of these have failed; null if it is not. A poll that is
 * refused because of the rate limit does not count, and is repeated for two minutes.
 */
export function pollNowAgainMs(failed: readonly FailedPoll[], random: () => number): number | null {
  const refused = failed.filter(({ exchange }) => isRateLimited(exchange));
  const last = failed.at(-1);
  if (last === undefined || !mayPass(last.exchange)) return null;
  if (failed.length - refused.length >= MOST_POLLS) return null;
  const [first] = refused;
  if (first === undefined || !isRateLimited(last.exchange)) {
    return pollAgainMs(last.exchange, failed.length, random);
  }
  const untilMs = last.at - first.at + (retryAfterMs(last.exchange) ?? 0);
  if (untilMs > LONGEST_RETRY_AFTER_MS) return null;
  return Math.max(
    pollAgainMs(last.exchange, failed.length, random),
    askedMs(last.exchange, random),
  );
}

function isRateLimited(exchange: Exchange): boolean {
  return exchange.kind === 'answer' && exchange.status === 429;
}

/** Whether the same poll may succeed later, with the same settings. */
export function mayPass(exchange: Exchange): boolean {
  if (exchange.kind === 'failure') return exchange.cause === 'network';
  const { status } = exchange;
  return status < 300 || isPassing5xx(status) || isPassing4xx(status);
}

/** The network wants the runner to log in (RFC 6585, 6). */
const NETWORK_LOGIN = 511;

export function isPassing5xx(status: number): boolean {
  return status >= 500 && status !== NETWORK_LOGIN;
}

/** All 4xx that pass by themselves, without a change of the settings; docs/delivery.md lists them. */
export function isPassing4xx(status: number): boolean {
  return isTimeout(status) || status === 425 || status === 429;
}

/** The longest pause in milliseconds that the API asks for, or null. */
export function retryAfterMs(exchange: Exchange): number | null {
  return exchange.kind === 'failure' ? null : readRetryAfter(exchange.retryAfter, exchange.date);
}
