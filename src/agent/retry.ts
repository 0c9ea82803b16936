import type { Answer, Exchange } from './http.ts';

/**
 * What an answer, or the lack of one, says about the message. The README's table "Will it send
 * twice?" is made of these rows.
 */
export const SEND_RULES = {
  delivered: {
    when: '2xx with JSON or an empty body, even if the body is then cut off or invalid',
    delivery: 'sent',
    repeats: 0,
  },
  unreachable: {
    when:
      'Nothing was written and that may pass: DNS failure, connection refused, unreachable, ' +
      'timed out or reset before the request, a proxy that refuses',
    delivery: 'not-sent',
    repeats: 2,
  },
  'set-up-wrongly': {
    when:
      'Nothing was written and that will stay so: certificate, host name, TLS version, proxy ' +
      'credentials (407)',
    delivery: 'not-sent',
    repeats: 0,
  },
  'rate-limited': {
    when: '429; a pause of more than 2 minutes is not waited out',
    delivery: 'not-sent',
    repeats: 2,
  },
  'not-processed': { when: '425', delivery: 'not-sent', repeats: 1 },
  redirected: { when: '3xx; a redirect is never followed', delivery: 'not-sent', repeats: 0 },
  refused: { when: 'Any other 4xx', delivery: 'not-sent', repeats: 0 },
  doubtful: {
    when:
      'Anything else once the request was written: connection lost, no answer, an answer that ' +
      'is not HTTP, 408, 500, 502, 503 (with `Retry-After` or without), 504 and any other 5xx, ' +
      '2xx with another content type or another job',
    delivery: 'unknown',
    repeats: 0,
  },
} as const satisfies Record<string, SendRule> & NeverRepeated;

interface SendRule {
  readonly when: string;
  readonly delivery: 'sent' | 'not-sent' | 'unknown';
  /** How often the message may be sent again after this. */
  readonly repeats: number;
}

/** These ends leave the loop before anybody asks how often they may be repeated. */
type NeverRepeated = Readonly<Record<'delivered' | 'doubtful', SendRule & { readonly repeats: 0 }>>;

export type SendClass = keyof typeof SEND_RULES;

/** Sorts the end of a POST into the class that decides whether it may be sent again. */
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
  // A server in between says 408 and 503, also with Retry-After, of a backend that took the message.
  return status >= 400 && status < 500 && status !== 408 ? 'refused' : 'doubtful';
}

/** Whether the service took the message. */
export function isDelivery(exchange: Exchange): exchange is Answer {
  if (exchange.kind === 'failure') return false;
  const { status } = exchange;
  return status >= 200 && status < 300 && saysJsonOrNothing(exchange);
}

/** A captive portal answers 200 with HTML: only JSON, or nothing at all, is the service's. */
function saysJsonOrNothing({ contentType, body }: Answer): boolean {
  if (/^application\/([\w.+-]+\+)?json\s*(;|$)/i.test(contentType)) return true;
  if (body.kind === 'problem') return false;
  return body.value === '' || (contentType === '' && /^\s*\{/.test(body.value));
}

export type Repeat =
  | { readonly kind: 'again'; readonly afterMs: number }
  /** Wait no more; `untilMs` is how long the service asked to be left alone, if it did. */
  | { readonly kind: 'give-up'; readonly untilMs: number | null };

interface SendHistory {
  readonly exchange: Exchange;
  /** How many sends have ended in this class before this one. */
  readonly earlier: number;
  readonly remainingMs: number;
  readonly now: Date;
  /** 0 to 1, uniform. */
  readonly random: number;
}

/** The longest wait, in milliseconds, that a service may ask for before the send gives up. */
const LONGEST_RETRY_AFTER_MS = 120_000;

/** May the message be sent again, and when? Only if it is certain that it was not taken. */
export function repeatSend(history: SendHistory): Repeat {
  const { exchange, earlier, remainingMs, random } = history;
  const sendClass = classifySend(exchange);
  const asked = retryAfterMs(exchange, history.now);
  if (earlier >= SEND_RULES[sendClass].repeats) return { kind: 'give-up', untilMs: asked };
  if (sendClass !== 'rate-limited') {
    return { kind: 'again', afterMs: random * Math.min(8000, 500 * 2 ** earlier) };
  }
  const pause = asked ?? 15_000 * 2 ** earlier;
  return pause > Math.min(LONGEST_RETRY_AFTER_MS, remainingMs)
    ? { kind: 'give-up', untilMs: asked }
    : { kind: 'again', afterMs: pause + random * 1000 };
}

interface PollHistory {
  readonly exchange: Exchange;
  /** How many looks in a row have failed, this one included, and how many in the network. */
  readonly failures: number;
  readonly networkErrors: number;
  /** Milliseconds since the service took the message; null before the send. */
  readonly sinceSendMs: number | null;
  readonly now: Date;
  readonly random: number;
}

/** Failed looks in a row that end the wait; before the send, network errors end it sooner. */
const MOST_FAILED_POLLS = 8;
const MOST_NETWORK_ERRORS_BEFORE_SEND = 3;
/** How long after a send, in milliseconds, a job may still be unknown to the service's reads. */
const GRACE_FOR_404_MS = 30_000;

/** May a failed look be repeated? Reads may, whatever happened, unless the answer is final. */
export function repeatPoll(history: PollHistory): Repeat {
  const { exchange, failures, networkErrors, sinceSendMs, random } = history;
  const beforeSend = sinceSendMs === null;
  const tolerated = !beforeSend && sinceSendMs < GRACE_FOR_404_MS && isMissing(exchange);
  const hopeless =
    isFinalRefusal(exchange) ||
    failures >= MOST_FAILED_POLLS ||
    (beforeSend && networkErrors >= MOST_NETWORK_ERRORS_BEFORE_SEND) ||
    (beforeSend && exchange.kind === 'failure' && exchange.cause === 'setup');
  if (hopeless && !tolerated) return { kind: 'give-up', untilMs: null };
  const backoff = random * Math.min(30_000, 1000 * 2 ** Math.min(failures - 1, 10));
  return { kind: 'again', afterMs: Math.max(backoff, retryAfterMs(exchange, history.now) ?? 0) };
}

function isMissing(exchange: Exchange): boolean {
  return exchange.kind === 'answer' && exchange.status === 404;
}

function isFinalRefusal(exchange: Exchange): boolean {
  if (exchange.kind === 'failure') return false;
  const { status } = exchange;
  const passing = status === 408 || status === 425 || status === 429;
  return status >= 300 && status < 500 && !passing;
}

/**
 * The longest wait that the answer asks for, in milliseconds, or null. Digits are seconds; else a
 * full HTTP date (RFC 9110, 5.6.7), measured against the answer's own Date so that a wrong clock
 * here does not matter; anything else is ignored.
 */
export function retryAfterMs(exchange: Exchange, now: Date): number | null {
  if (exchange.kind === 'failure') return null;
  const sent = httpDate(exchange.date) ?? now.getTime();
  const waits = exchange.retryAfter.flatMap((value) => {
    const text = value.trim();
    if (/^[0-9]+$/.test(text)) return [Math.min(Number(text) * 1000, LONGEST_WAIT_MS)];
    const at = httpDate(text);
    return at === null ? [] : [Math.max(0, at - sent)];
  });
  return waits.length === 0 ? null : Math.max(...waits);
}

/** Milliseconds; far beyond any wait, and still a number to calculate with. */
const LONGEST_WAIT_MS = 9e14;

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];

/** Milliseconds since 1970 of an IMF-fixdate, the one form that servers may still produce. */
function httpDate(text: string): number | null {
  const parts =
    /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), (\d\d) ([A-Z][a-z]{2}) (\d{4}) (\d\d):(\d\d):(\d\d) GMT$/.exec(
      text,
    );
  if (parts === null) return null;
  const [, day, name = '', year, hour, minute, second] = parts;
  const month = MONTHS.indexOf(name);
  // A leap second has no number of its own in a Date.
  const whole = text.replace(':60 GMT', ':59 GMT');
  const time = Date.UTC(
    Number(year),
    month,
    Number(day),
    Number(hour),
    Number(minute),
    Math.min(59, Number(second)),
  );
  // Date.UTC carries over what is too large; a date that does not exist comes back as another one.
  const exists = month >= 0 && new Date(time).toUTCString().slice(5) === whole.slice(5);
  return exists ? time : null;
}
