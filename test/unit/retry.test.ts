import { describe, expect, it } from 'vitest';
import type { Exchange } from '../../src/agent/http.ts';
import {
  classifySend,
  pollRetryMs,
  retryAfterMs,
  SEND_RULES,
  type SendClass,
  sendRetryDelayMs,
} from '../../src/agent/retry.ts';
import { systemClock } from '../../src/clock.ts';

const JSON_BODY: Response['body'] = { kind: 'ok', value: '{"id":"job-1"}' };
const NOW = Date.UTC(2026, 10, 21, 12);
const BEFORE = { isPatient: false, isBefore: true };
const WAITING = { isPatient: true, isBefore: false };
const clock = { ...systemClock, now: () => NOW };

const ALL_4XX = Array.from({ length: 100 }, (_, index) => 400 + index);

type Response = Extract<Exchange, { kind: 'answer' }>;
function response(status: number, parts: Partial<Response> = {}): Exchange {
  return {
    kind: 'answer',
    status,
    contentType: 'application/json',
    retryAfter: [],
    body: JSON_BODY,
    ...parts,
  };
}
function failure(written: boolean, cause: 'network' | 'setup' = 'network'): Exchange {
  return { kind: 'failure', written, cause, why: 'connection refused' };
}
/** After `earlier` requests with the same result. */
function delayMs(
  exchange: Exchange,
  earlier: number,
  context: Parameters<typeof sendRetryDelayMs>[3],
) {
  const sendClass = classifySend(exchange);
  const failed = Array.from({ length: earlier }, () => sendClass);
  return sendRetryDelayMs(exchange, sendClass, [...failed, 'delivered'], context);
}
const broken: Response['body'] = { kind: 'problem', problem: 'cut off' };
const html = { contentType: 'text/html', body: { kind: 'ok', value: '<html>' } } as const;

describe('classifySend', () => {
  const table: readonly [string, Exchange, SendClass][] = [
    ['nothing written', failure(false), 'unreachable'],
    ['certificate', failure(false, 'setup'), 'set-up-wrongly'],
    ['written, then lost', failure(true), 'doubtful'],
    ['written, then a set-up error', failure(true, 'setup'), 'doubtful'],
    ['200', response(200), 'delivered'],
    ['201', response(201), 'delivered'],
    ['202', response(202), 'delivered'],
    [
      '200, JSON with charset',
      response(200, { contentType: 'application/json; charset=utf-8' }),
      'delivered',
    ],
    ['200, vendor JSON', response(200, { contentType: 'application/vnd.api+json' }), 'delivered'],
    ['200, JSON cut off', response(200, { body: broken }), 'delivered'],
    ['204', response(204, { contentType: '', body: { kind: 'ok', value: '' } }), 'delivered'],
    ['200, no content type, JSON object', response(200, { contentType: '' }), 'delivered'],
    ['200, no content type, cut off', response(200, { contentType: '', body: broken }), 'doubtful'],
    ['200, no content type, text', response(200, { contentType: '', body: html.body }), 'doubtful'],
    ['200, HTML', response(200, html), 'doubtful'],
    ['200, jsonp', response(200, { contentType: 'application/jsonp' }), 'doubtful'],
    ...[300, 301, 302, 303, 304, 307, 308].map((status): [string, Exchange, SendClass] => [
      `${status}`,
      response(status),
      'redirected',
    ]),
    ...ALL_4XX.filter((status) => ![408, 429, 499].includes(status)).map(
      (status): [string, Exchange, SendClass] => [`${status}`, response(status), 'refused'],
    ),
    ['408', response(408), 'doubtful'],
    ['499', response(499), 'doubtful'],
    ['408 with Retry-After', response(408, { retryAfter: ['1'] }), 'doubtful'],
    ['429', response(429), 'rate-limited'],
    ['503 with Retry-After', response(503, { retryAfter: ['1'] }), 'doubtful'],
    ...[500, 501, 502, 503, 504, 520, 527, 599].map((status): [string, Exchange, SendClass] => [
      `${status}`,
      response(status),
      'doubtful',
    ]),
    ['500 with Retry-After', response(500, { retryAfter: ['1'] }), 'doubtful'],
  ];
  it.each(table)('%s', (_, exchange, expected) => {
    expect(classifySend(exchange)).toBe(expected);
  });

  it('has a test for each rule, which repeats a message as often as documented', () => {
    expect(new Set(table.map(([, , sendClass]) => sendClass))).toEqual(
      new Set(Object.keys(SEND_RULES)),
    );
    for (const [, exchange, sendClass] of table) {
      const { repeats } = SEND_RULES[sendClass];
      const context = { clock, deadline: NOW + 1e9, random: () => 0 };
      const again = [0, 1, 2, 3].filter((earlier) => delayMs(exchange, earlier, context) !== null);
      // If the pause is too long, a message is not repeated.
      if (again.length > 0) expect(again).toHaveLength(repeats);
      else expect(repeats === 0 || sendClass === 'rate-limited').toBe(true);
    }
  });
});

describe('sendRetryDelayMs', () => {
  const context = { clock, deadline: NOW + 600_000, random: () => 0.5 };

  it.each([
    ['unreachable, first', failure(false), 0, 250],
    ['unreachable, second', failure(false), 1, 500],
    ['unreachable, third', failure(false), 2, null],
    ['set up wrongly', failure(false, 'setup'), 0, null],
    ['425', response(425), 0, null],
    ['408', response(408), 0, null],
    ['429, first', response(429), 0, 15_500],
    ['429, second', response(429), 1, 30_500],
    ['429, third', response(429), 2, null],
    ['429, 7 s', response(429, { retryAfter: ['7'] }), 0, 7500],
    ['429, 120 s', response(429, { retryAfter: ['120'] }), 0, 120_500],
    ['429, 121 s', response(429, { retryAfter: ['121'] }), 0, null],
    ['503, 1 s', response(503, { retryAfter: ['1'] }), 0, null],
    ['delivered', response(200), 0, null],
    ['redirected', response(307), 0, null],
    ['refused', response(404), 0, null],
    ['doubtful', failure(true), 0, null],
  ] as const)('%s', (_, exchange, earlier, expected) => {
    expect(delayMs(exchange, earlier, context)).toBe(expected);
  });

  it('does not wait longer than the remaining time', () => {
    const exchange = response(429, { retryAfter: ['60'] });
    expect(delayMs(exchange, 0, { ...context, deadline: NOW + 59_000 })).toBeNull();
  });

  it('never repeats a message that may be delivered', () => {
    for (const [name, rule] of Object.entries(SEND_RULES)) {
      if (rule.delivery !== 'not-sent') expect([name, rule.repeats]).toEqual([name, 0]);
    }
  });
});

describe('a failed poll is repeated after so many milliseconds', () => {
  const MINUTE_MS = 60_000;
  const PASSING = [408, 425, 429, 499];
  /** A job that is not found may be new. */
  const LASTING = ALL_4XX.filter((status) => ![404, ...PASSING].includes(status));
  /** How many polls have failed, all like this one, and for how long. */
  interface Before {
    readonly count?: number;
    readonly forMs?: number;
  }
  it.each<[string, Exchange, Before, number | null, number | null]>([
    ['a lost connection', failure(true), {}, 1000, 1000],
    ['the second network error', failure(false), { count: 2 }, 2000, 2000],
    ['the eighth network error', failure(false), { count: 8 }, null, 30_000],
    ['the fifth in a row', response(500), { count: 5 }, 16_000, 16_000],
    ['the seventh in a row', response(502), { count: 7 }, 30_000, 30_000],
    ['the eighth in a row', response(502), { count: 8 }, null, 30_000],
    ['the thousandth in a row', response(502), { count: 1000 }, null, 30_000],
    ['after almost 10 minutes', response(503), { forMs: 10 * MINUTE_MS - 1 }, null, 1000],
    ['after 10 minutes', response(503), { forMs: 10 * MINUTE_MS }, null, null],
    ['with Retry-After', response(429, { retryAfter: ['120'] }), {}, 120_000, 120_000],
    ['with a long Retry-After', response(429, { retryAfter: ['121'] }), {}, null, 121_000],
    ['after almost 2 minutes', response(500), { forMs: 2 * MINUTE_MS - 1000 }, 1000, 1000],
    ['after 2 minutes', response(500), { forMs: 2 * MINUTE_MS - 999 }, null, 1000],
    ...PASSING.map((status): [string, Exchange, Before, number, number] => [
      ...([`${status}`, response(status), {}, 1000, 1000] as const),
    ]),
    ['a bad body', response(200), {}, 1000, 1000],
    ['404', response(404), {}, null, 1000],
    ...[302, ...LASTING].map((status): [string, Exchange, Before, null, null] => [
      ...([`${status}`, response(status), {}, null, null] as const),
    ]),
    ['404 after 30 s', response(404), { forMs: 30_000 }, null, null],
    ['a bad certificate', failure(false, 'setup'), {}, null, null],
  ])('%s', (_, exchange, { count = 1, forMs = 0 }, before, waiting) => {
    expect(pollRetryMs(exchange, count, forMs, BEFORE, () => 1)).toBe(before);
    expect(pollRetryMs(exchange, count, forMs, WAITING, () => 1)).toBe(waiting);
  });

  it('of a job that is read once as before a message, but it may be new', () => {
    const once = { isPatient: false, isBefore: false };
    expect(pollRetryMs(response(404), 1, 0, once, () => 1)).toBe(1000);
    expect(pollRetryMs(response(404), 1, 30_000, once, () => 1)).toBeNull();
    expect(pollRetryMs(failure(false), 8, 0, once, () => 1)).toBeNull();
  });
});

describe('retryAfterMs', () => {
  it.each([
    [[], null],
    [['0'], 0],
    [['120'], 120_000],
    [[' 5 '], 5000],
    [['0000000000010'], 10_000],
    [['1', '9', '3'], 9000],
    [['soon', '3'], 3000],
    [['9'.repeat(40)], 3e12],
    ...['Sat, 21 Nov 2026 12:01:30 GMT', '-1', '1e3', '0x10', '1.5', ''].map(
      (value) => [[value], null] as const,
    ),
  ] as const)('%j is %j', (retryAfter, expected) => {
    expect(retryAfterMs(response(429, { retryAfter }))).toBe(expected);
  });

  it('is null without a response', () => {
    expect(retryAfterMs(failure(true))).toBeNull();
  });
});
