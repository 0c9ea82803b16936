import { describe, expect, it } from 'vitest';
import type { Exchange } from '../../src/agent/http.ts';
import {
  classifySend,
  pollRetryDelayMs,
  retryAfterMs,
  retryDelayBeforeSendMs,
  SEND_RULES,
  type SendClass,
  sendRetryDelayMs,
} from '../../src/agent/retry.ts';
import { systemClock } from '../../src/clock.ts';

const JSON_BODY: Answer['body'] = { kind: 'ok', value: '{"id":"job-1"}' };
const NOW = Date.UTC(2026, 10, 21, 12);
const clock = { ...systemClock, now: () => NOW };

type Answer = Extract<Exchange, { kind: 'answer' }>;
function answer(status: number, parts: Partial<Answer> = {}): Exchange {
  return {
    kind: 'answer',
    status,
    contentType: 'application/json',
    retryAfter: [],
    date: '',
    locationHost: '',
    requestId: '',
    body: JSON_BODY,
    ...parts,
  };
}
function failure(written: boolean, cause: 'network' | 'setup' = 'network'): Exchange {
  return { kind: 'failure', written, cause, why: 'connection refused' };
}
const broken: Answer['body'] = { kind: 'problem', problem: 'cut off' };
const html = { contentType: 'text/html', body: { kind: 'ok', value: '<html>' } } as const;

describe('classifySend', () => {
  const table: readonly [string, Exchange, SendClass][] = [
    ['nothing written', failure(false), 'unreachable'],
    ['certificate', failure(false, 'setup'), 'set-up-wrongly'],
    ['written, then lost', failure(true), 'doubtful'],
    ['written, then a set-up error', failure(true, 'setup'), 'doubtful'],
    ['200', answer(200), 'delivered'],
    ['201', answer(201), 'delivered'],
    ['202', answer(202), 'delivered'],
    [
      '200, JSON with charset',
      answer(200, { contentType: 'application/json; charset=utf-8' }),
      'delivered',
    ],
    ['200, vendor JSON', answer(200, { contentType: 'application/vnd.api+json' }), 'delivered'],
    ['200, JSON cut off', answer(200, { body: broken }), 'delivered'],
    ['204', answer(204, { contentType: '', body: { kind: 'ok', value: '' } }), 'delivered'],
    ['200, no content type, JSON object', answer(200, { contentType: '' }), 'delivered'],
    ['200, no content type, cut off', answer(200, { contentType: '', body: broken }), 'doubtful'],
    ['200, no content type, text', answer(200, { contentType: '', body: html.body }), 'doubtful'],
    ['200, HTML', answer(200, html), 'doubtful'],
    ['200, jsonp', answer(200, { contentType: 'application/jsonp' }), 'doubtful'],
    ...[300, 301, 302, 303, 304, 307, 308].map((status): [string, Exchange, SendClass] => [
      `${status}`,
      answer(status),
      'redirected',
    ]),
    ...[400, 401, 403, 404, 405, 409, 410, 413, 415, 422, 451].map(
      (status): [string, Exchange, SendClass] => [`${status}`, answer(status), 'refused'],
    ),
    ['408', answer(408), 'doubtful'],
    ['499', answer(499), 'doubtful'],
    ['408 with Retry-After', answer(408, { retryAfter: ['1'] }), 'doubtful'],
    ['425', answer(425), 'not-processed'],
    ['429', answer(429), 'rate-limited'],
    ['503 with Retry-After', answer(503, { retryAfter: ['1'] }), 'doubtful'],
    ...[500, 501, 502, 503, 504, 520, 527, 599].map((status): [string, Exchange, SendClass] => [
      `${status}`,
      answer(status),
      'doubtful',
    ]),
    ['500 with Retry-After', answer(500, { retryAfter: ['1'] }), 'doubtful'],
  ];
  it.each(table)('%s', (_, exchange, expected) => {
    expect(classifySend(exchange)).toBe(expected);
  });

  it('each row of the table "Will it send twice?" is tried, as often as it says', () => {
    expect(new Set(table.map(([, , sendClass]) => sendClass))).toEqual(
      new Set(Object.keys(SEND_RULES)),
    );
    for (const [, exchange, sendClass] of table) {
      const { repeats } = SEND_RULES[sendClass];
      const context = { clock, deadline: NOW + 1e9, random: () => 0 };
      const again = [0, 1, 2, 3].filter(
        (earlier) => sendRetryDelayMs(exchange, earlier, context) !== null,
      );
      // A pause that is too long for any attempt is not waited out.
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
    ['425, first', answer(425), 0, 250],
    ['425, second', answer(425), 1, null],
    ['408', answer(408), 0, null],
    ['429, first', answer(429), 0, 15_500],
    ['429, second', answer(429), 1, 30_500],
    ['429, third', answer(429), 2, null],
    ['429, 7 s', answer(429, { retryAfter: ['7'] }), 0, 7500],
    ['429, 120 s', answer(429, { retryAfter: ['120'] }), 0, 120_500],
    ['429, 121 s', answer(429, { retryAfter: ['121'] }), 0, null],
    ['503, 1 s', answer(503, { retryAfter: ['1'] }), 0, null],
    ['delivered', answer(200), 0, null],
    ['redirected', answer(307), 0, null],
    ['refused', answer(404), 0, null],
    ['doubtful', failure(true), 0, null],
  ] as const)('%s', (_, exchange, earlier, expected) => {
    expect(sendRetryDelayMs(exchange, earlier, context)).toBe(expected);
  });

  it('does not wait beyond the time that is left', () => {
    const exchange = answer(429, { retryAfter: ['60'] });
    expect(sendRetryDelayMs(exchange, 0, { ...context, deadline: NOW + 59_000 })).toBeNull();
  });

  it('never repeats what may have been delivered', () => {
    for (const [name, rule] of Object.entries(SEND_RULES)) {
      if (rule.delivery !== 'not-sent') expect([name, rule.repeats]).toEqual([name, 0]);
    }
  });
});

describe('pollRetryDelayMs', () => {
  const context = { clock, random: () => 1 };

  it.each([
    ['a lost connection', failure(true), {}, 1000],
    ['the fifth in a row', answer(500), { failures: 5 }, 16_000],
    ['the seventh in a row', answer(502), { failures: 7 }, 30_000],
    ['the eighth in a row', answer(502), { failures: 8 }, null],
    ['429 with Retry-After', answer(429, { retryAfter: ['30'] }), {}, 30_000],
    ['408', answer(408), {}, 1000],
    ['a bad body', answer(200), {}, 1000],
    ['401', answer(401), {}, null],
    ['403', answer(403), {}, null],
    ['302', answer(302), {}, null],
    ['400', answer(400), {}, null],
    ['404 soon after the send', answer(404), { sinceSendMs: 29_999 }, 1000],
    ['404 later', answer(404), { sinceSendMs: 30_000 }, null],
    ['404 without a send', answer(404), { sinceSendMs: Infinity }, null],
    ['the third network error', failure(false), { failures: 3 }, 4000],
    ['a bad certificate', failure(false, 'setup'), {}, 1000],
  ] as const)('%s', (_, exchange, parts, expected) => {
    const { failures, sinceSendMs } = { failures: 1, sinceSendMs: 60_000, ...parts };
    expect(pollRetryDelayMs(exchange, failures, sinceSendMs, context)).toEqual(expected);
  });

  it.each([
    ['404', answer(404), 1, 0, null],
    ['the second network error', failure(false), 2, 2, 2000],
    ['the third network error', failure(false), 3, 3, null],
    ['a bad certificate', failure(false, 'setup'), 1, 1, null],
    ['the third 500', answer(500), 3, 0, 4000],
  ] as const)('before the send: %s', (_, exchange, failures, networkErrors, expected) => {
    expect(retryDelayBeforeSendMs(exchange, failures, networkErrors, context)).toEqual(expected);
  });
});

describe('retryAfterMs', () => {
  const date = 'Sat, 21 Nov 2026 12:00:00 GMT';
  it.each([
    [[], null],
    [['0'], 0],
    [['120'], 120_000],
    [[' 5 '], 5000],
    [['1', '9', '3'], 9000],
    [['soon', '3'], 3000],
    [['Sat, 21 Nov 2026 12:01:30 GMT'], 90_000],
    [['Sat, 21 Nov 2026 11:00:00 GMT'], 0],
    [['-1'], null],
    [['1e3'], null],
    [['0x10'], null],
    [['1.5'], null],
    [[''], null],
    [['2026-11-21T12:01:30Z'], null],
    [['Sat, 31 Feb 2026 12:01:30 GMT'], null],
    [['Sat, 21 Foo 2026 12:01:30 GMT'], null],
    [['9'.repeat(40)], 9e14],
    [['0000000000010'], 10_000],
    [['Sat, 21 Nov 2026 12:00:60 GMT'], null],
  ] as const)('%j is %j', (retryAfter, expected) => {
    expect(retryAfterMs(answer(429, { retryAfter, date }), NOW)).toBe(expected);
  });

  it('measures a date by our clock where the answer has no Date', () => {
    const exchange = answer(429, { retryAfter: ['Sat, 21 Nov 2026 12:00:10 GMT'] });
    expect(retryAfterMs(exchange, NOW)).toBe(10_000);
  });

  it('knows no wait where there was no answer', () => {
    expect(retryAfterMs(failure(true), NOW)).toBeNull();
  });
});
