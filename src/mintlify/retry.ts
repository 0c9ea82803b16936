import type { Delivery } from '../job/job.ts';
import type { AgentContext, Answer, Exchange } from './transport.ts';

/** A message, or a poll before it, is given up if the API asks for a longer pause. */
const LONGEST_PAUSE_MS = 120_000;

/** Of each POST. docs/delivery.md has the same in words, in this order. */
export const SEND_RULES = {
  delivered: { delivery: 'sent', repeats: 0 },
  unreachable: { delivery: 'not-sent', repeats: 2 },
  'rate-limited': { delivery: 'not-sent', repeats: 2 },
  refused: { delivery: 'not-sent', repeats: 0 },
  doubtful: { delivery: 'unknown', repeats: 0 },
} as const satisfies Readonly<Record<string, { delivery: Delivery; repeats: number }>>;

export function classifySend(exchange: Exchange): keyof typeof SEND_RULES {
  if (exchange.kind === 'failure') {
    if (exchange.written) return 'doubtful';
    return exchange.cause === 'setup' ? 'refused' : 'unreachable';
  }
  if (isDelivery(exchange)) return 'delivered';
  if (isRateLimited(exchange)) return 'rate-limited';
  const { status } = exchange;
  // 303 says that the request was processed (RFC 9110, 15.4.4). A proxy may send 408, 499 or 503,
  // even with Retry-After, for a backend that took the message.
  const isRefusal = status >= 300 && status < 500 && ![303, 408, 499].includes(status);
  return isRefusal ? 'refused' : 'doubtful';
}

/** Whether the API accepted the message. A captive portal returns 200 with HTML. */
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

export function isRateLimited(exchange: Exchange): boolean {
  return exchange.kind === 'answer' && exchange.status === 429;
}

/** Doubles with each retry; a random part of it is waited for. */
const FIRST_BACKOFF_MS = 500;
/** If a 429 does not say how long to wait. */
const FIRST_RATE_LIMIT_PAUSE_MS = 15_000;
/** On top of the pause that the API asks for: many jobs must not come back together. */
const MOST_JITTER_MS = 1000;
/** What must be left before the deadline when a POST starts. */
export const LEAST_POST_MS = 2000;
/** How often the first poll, and the last one before the message, may fail. */
const MOST_POLLS = 3;

/** Milliseconds until a message may be sent again after so many failed requests, or null. */
export function resendAfterMs(
  exchange: Exchange,
  failed: number,
  { clock, deadline, random }: Pick<AgentContext, 'clock' | 'deadline' | 'random'>,
): number | null {
  if (failed > SEND_RULES[classifySend(exchange)].repeats) return null;
  const double = 2 ** (failed - 1);
  if (!isRateLimited(exchange)) return random() * FIRST_BACKOFF_MS * double;
  const pauseMs = exchange.pauseMs ?? FIRST_RATE_LIMIT_PAUSE_MS * double;
  const delayMs = pauseMs + random() * MOST_JITTER_MS;
  const isLate = clock.now() + delayMs >= deadline - LEAST_POST_MS;
  return isLate || pauseMs > LONGEST_PAUSE_MS ? null : delayMs;
}

/** For so long, all polls of a wait may fail. */
export const LONGEST_OUTAGE_MS = 600_000;
const FIRST_POLL_BACKOFF_MS = 1000;
/** After a longer one, an end would be seen late. */
const LONGEST_POLL_BACKOFF_MS = 30_000;

export function pollAgainMs(exchange: Exchange, failed: number, random: () => number): number {
  const backoffMs = random() * FIRST_POLL_BACKOFF_MS * 2 ** Math.min(failed - 1, 10);
  const { pauseMs } = exchange;
  const requestedMs = pauseMs === null ? 0 : pauseMs + random() * MOST_JITTER_MS;
  return Math.min(LONGEST_POLL_BACKOFF_MS, Math.max(backoffMs, requestedMs));
}

/** Milliseconds until a poll outside a wait is repeated, or null, after all have failed `forMs`. */
export function pollNowAgainMs(
  exchange: Exchange,
  { failed, forMs }: { readonly failed: number; readonly forMs: number },
  random: () => number,
): number | null {
  if (!isRateLimited(exchange)) {
    return mayPass(exchange) && failed < MOST_POLLS ? pollAgainMs(exchange, failed, random) : null;
  }
  const requestedMs = exchange.pauseMs ?? FIRST_RATE_LIMIT_PAUSE_MS;
  return forMs + requestedMs > LONGEST_PAUSE_MS ? null : requestedMs + random() * MOST_JITTER_MS;
}

export function mayPass(exchange: Exchange): boolean {
  if (exchange.kind === 'failure') return exchange.cause === 'network';
  const { status } = exchange;
  return status < 300 || status >= 500 || isPassing4xx(status);
}

export function isPassing4xx(status: number): boolean {
  return [408, 425, 429, 499].includes(status);
}
