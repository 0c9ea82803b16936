import { expect, it } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import {
  classifySend,
  mayPass,
  pollAgainMs,
  pollNowAgainMs,
  resendAfterMs,
  type SEND_RULES,
} from '../../../src/mintlify/retry.ts';
import type { Exchange } from '../../../src/mintlify/transport.ts';

const NOW = Date.UTC(2026, 10, 21, 12);
const clock = { ...systemClock, now: () => NOW };

type Response = Extract<Exchange, { kind: 'answer' }>;
function response(status: number, parts: Partial<Response> = {}): Exchange {
  return {
    ...{ kind: 'answer', status, contentType: 'application/json', location: '' },
    ...{ pauseMs: null, body: { kind: 'ok', value: '{"id":"job-1"}' } },
    ...parts,
  };
}
function failure(written: boolean, cause: 'network' | 'setup' = 'network'): Exchange {
  return { kind: 'failure', written, cause, why: 'connection refused', pauseMs: null };
}
function asking(status: number, seconds: number): Exchange {
  return response(status, { pauseMs: seconds * 1000 });
}
const withType = (contentType: string, value = '{"id":"job-1"}'): Exchange =>
  response(200, { contentType, body: { kind: 'ok', value } });

const broken = { body: { kind: 'problem', problem: 'cut off' } } as const;
const statuses = (from: number, to: number): readonly number[] =>
  Array.from({ length: to - from }, (_, index) => from + index);
/** Some proxy has given up the request; or the API asks for another time. */
const PASSING_4XX = [408, 425, 429, 499];

const KINDS: Readonly<Record<keyof typeof SEND_RULES, readonly Exchange[]>> = {
  delivered: [
    ...[200, 201, 202, 203, 299].map((status) => response(status)),
    ...['application/json charset=utf-8', 'application/vnd.api+json', ''].map((type) =>
      withType(type),
    ),
    response(200, broken),
    response(204, { contentType: '', body: { kind: 'ok', value: '' } }),
  ],
  unreachable: [failure(false)],
  'rate-limited': [response(429)],
  refused: [
    failure(false, 'setup'),
    ...statuses(300, 500)
      .filter((status) => ![303, 408, 429, 499].includes(status))
      .map((status) => response(status)),
  ],
  doubtful: [
    ...[failure(true), failure(true, 'setup')],
    ...[101, 303, 408, 499, ...statuses(500, 600)].map((status) => response(status)),
    ...[408, 500, 503].map((status) => asking(status, 1)),
    ...['text/html', 'application/jsonp', 'text/plain'].map((type) => withType(type)),
    ...[withType('', 'It is fine.'), response(200, { contentType: '', ...broken })],
  ],
};

it.each(Object.entries(KINDS))('a response to the message is %s', (kind, exchanges) => {
  for (const exchange of exchanges) {
    expect([exchange, classifySend(exchange)]).toEqual([exchange, kind]);
  }
});

it('a message is sent again until 2 s before the deadline, after 120 s at most', () => {
  const delayMs = (seconds: number, leftMs: number): number | null =>
    resendAfterMs(asking(429, seconds), 1, { clock, deadline: NOW + leftMs, random: () => 0.5 });
  expect([delayMs(60, 62_499), delayMs(60, 62_501)]).toEqual([null, 60_500]);
  expect([delayMs(120, 600_000), delayMs(121, 600_000)]).toEqual([120_500, null]);
});

it.each<[string, Exchange, number, number]>([
  ['the first', failure(true), 1, 1000],
  ['the sixth', response(502), 6, 30_000],
  ['that asks for a pause, and a second on top', asking(429, 20), 1, 21_000],
  ['that asks for a long pause', asking(503, 3600), 1, 30_000],
])('a failed poll is repeated after a pause: %s', (_, exchange, failedInARow, ms) => {
  expect(pollAgainMs(exchange, failedInARow, () => 1)).toBe(ms);
});

it.each<[string, Exchange, number, number, number | null]>([
  ['twice after 500', response(500), 2, 99, 1000],
  ['not after three of them', response(500), 3, 99, null],
  ['after the pause that a rate limit asks for', asking(429, 120), 0, 0, 120_500],
  ['not later', asking(429, 41), 0, 80, null],
  ['after a pause of its own', response(429), 0, 105, 15_500],
  ['not after two minutes of them', response(429), 0, 106, null],
])('a failed poll outside a wait is repeated %s', (_, exchange, failed, forSeconds, expected) => {
  const forMs = forSeconds * 1000;
  expect(pollNowAgainMs(exchange, { failed, forMs }, () => 0.5)).toBe(expected);
});

it('a failed poll may pass by itself, unless something is set up wrongly', () => {
  const passing = [200, ...PASSING_4XX, 500, 503, 511, 599].map((status) => response(status));
  for (const exchange of [failure(true), failure(false), ...passing]) {
    expect([exchange, mayPass(exchange)]).toEqual([exchange, true]);
  }
  const lasting = statuses(300, 500).filter((status) => !PASSING_4XX.includes(status));
  for (const exchange of [failure(false, 'setup'), ...lasting.map((one) => response(one))]) {
    expect([exchange, mayPass(exchange)]).toEqual([exchange, false]);
  }
});
