import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import {
  classifySend,
  mayPass,
  pollAgainMs,
  pollNowAgainMs,
  retryAfterMs,
  SEND_RULES,
  type SendClass,
  sendRetryDelayMs,
} from '../../../src/mintlify/retry.ts';
import type { Exchange } from '../../../src/mintlify/transport.ts';

const NOW = Date.UTC(2026, 10, 21, 12);
const clock = { ...systemClock, now: () => NOW };

type Response = Extract<Exchange, { kind: 'answer' }>;
function response(status: number, parts: Partial<Response> = {}): Exchange {
  return {
    ...{ kind: 'answer', status, contentType: 'application/json', retryAfter: [] },
    ...{ date: NOW, location: '' },
    body: { kind: 'ok', value: '{"id":"job-1"}' },
    ...parts,
  };
}
function failure(written: boolean, cause: 'network' | 'setup' = 'network'): Exchange {
  return { kind: 'failure', written, cause, why: 'connection refused' };
}
function asking(status: number, retryAfter: string): Exchange {
  return response(status, { retryAfter: [retryAfter] });
}
const withType = (contentType: string, value = '{"id":"job-1"}'): Exchange =>
  response(200, { contentType, body: { kind: 'ok', value } });

const broken = { body: { kind: 'problem', problem: 'cut off' } } as const;
const statuses = (from: number, to: number): readonly number[] =>
  Array.from({ length: to - from }, (_, index) => from + index);
/** Some proxy has given up the request; or the API asks for another time. */
const PASSING_4XX = [408, 425, 429, 499];

const CLASSES: Readonly<Record<SendClass, readonly Exchange[]>> = {
  delivered: [
    ...[200, 201, 202, 203, 299].map((status) => response(status)),
    ...[
      'application/json; charset=utf-8',
      'application/json charset=utf-8',
      'application/vnd.api+json',
      '',
    ].map((type) => withType(type)),
    withType('application/json, application/json; charset=utf-8'),
    response(200, broken),
    response(204, { contentType: '', body: { kind: 'ok', value: '' } }),
  ],
  unreachable: [failure(false)],
  'set-up-wrongly': [failure(false, 'setup')],
  'rate-limited': [response(429)],
  redirected: statuses(300, 400)
    .filter((status) => status !== 303)
    .map((status) => response(status)),
  refused: statuses(400, 500)
    .filter((status) => ![408, 429, 499].includes(status))
    .map((status) => response(status)),
  doubtful: [
    ...[failure(true), failure(true, 'setup')],
    ...[101, 303, 408, 499, ...statuses(500, 600)].map((status) => response(status)),
    ...[408, 500, 503].map((status) => asking(status, '1')),
    ...['text/html', 'application/jsonp', 'text/plain'].map((type) => withType(type)),
    ...[withType('', 'It is fine.'), response(200, { contentType: '', ...broken })],
  ],
};

describe('a response to the message is', () => {
  it.each(Object.entries(CLASSES))('%s', (sendClass, exchanges) => {
    for (const exchange of exchanges) {
      expect([exchange, classifySend(exchange)]).toEqual([exchange, sendClass]);
    }
  });

  it('never repeated if the message may be delivered', () => {
    for (const [name, rule] of Object.entries(SEND_RULES)) {
      if (rule.delivery !== 'not-sent') expect([name, rule.repeats]).toEqual([name, 0]);
    }
  });
});

describe('a message is sent again after so many milliseconds:', () => {
  /** After `earlier` requests with the same result. */
  function delayMs(exchange: Exchange, earlier: number, leftMs = 600_000): number | null {
    const sendClass = classifySend(exchange);
    const failed = Array.from({ length: earlier }, () => sendClass);
    const context = { clock, deadline: NOW + leftMs, random: () => 0.5 };
    return sendRetryDelayMs(exchange, sendClass, [...failed, 'delivered'], context);
  }

  it.each<[string, Exchange, readonly (number | null)[]]>([
    ['unreachable', failure(false), [250, 500, null]],
    ['set up wrongly', failure(false, 'setup'), [null]],
    ['429', response(429), [15_500, 30_500, null]],
    ['429, 7 s', asking(429, '7'), [7500, 7500, null]],
    ['429, 120 s', asking(429, '120'), [120_500, 120_500, null]],
    ['429, 121 s', asking(429, '121'), [null]],
    ['redirected', response(307), [null]],
    ['425', asking(425, '1'), [null]],
    ['doubtful', asking(503, '1'), [null]],
    ['delivered', response(200), [null]],
  ])('%s', (_, exchange, expected) => {
    expect(expected.map((_, earlier) => delayMs(exchange, earlier))).toEqual(expected);
  });

  it('never later than 2 s before the deadline', () => {
    expect([62_499, 62_501].map((leftMs) => delayMs(asking(429, '60'), 0, leftMs))).toEqual([
      null,
      60_500,
    ]);
  });
});

describe('a failed poll', () => {
  it.each<[string, Exchange, number, number]>([
    ['the first', failure(true), 1, 1000],
    ['the sixth', response(502), 6, 30_000],
    ['with Retry-After, and a second on top', asking(429, '20'), 1, 21_000],
    ['with a long Retry-After', asking(503, '3600'), 1, 30_000],
    ['with a short Retry-After', asking(503, '1'), 3, 4000],
  ])('is repeated after a pause: %s', (_, exchange, failedInARow, ms) => {
    expect(pollAgainMs(exchange, failedInARow, () => 1)).toBe(ms);
  });

  /** Each of them fails so many seconds after the first one. */
  const again = (...failed: readonly (readonly [seconds: number, Exchange])[]): number | null =>
    pollNowAgainMs(
      failed.map(([seconds, exchange]) => ({ exchange, at: NOW + seconds * 1000 })),
      () => 0.5,
    );
  const refused = (seconds: number, retryAfter: string) =>
    [seconds, asking(429, retryAfter)] as const;
  const broken = [0, response(500)] as const;

  it.each<[string, ReturnType<typeof again>, number | null]>([
    ['twice after 500', again(broken, broken), 1000],
    ['not after three of them', again(broken, broken, broken), null],
    ['not if something is set up wrongly', again([0, response(401)]), null],
    ['not without a failure', again(), null],
    ['after the pause that a rate limit asks for', again(refused(0, '120')), 120_500],
    ['not if that is longer', again(refused(0, '121')), null],
    ['however often, for two minutes', again(...Array(99).fill(refused(9, '110'))), 110_500],
    ['not later', again(refused(0, '1'), refused(80, '41')), null],
    ['after a pause of its own', again(refused(0, 'soon'), refused(120, 'soon')), 1000],
    ['not after two minutes of them', again(refused(0, 'soon'), refused(121, 'soon')), null],
    [
      'after three failures of which a rate limit is one',
      again(broken, refused(0, '1'), broken),
      2000,
    ],
  ])('outside a wait is repeated %s', (_, found, expected) => {
    expect(found).toBe(expected);
  });

  it('may pass by itself, unless something is set up wrongly', () => {
    const passing = [200, ...PASSING_4XX, 500, 503, 510, 512, 599].map((status) =>
      response(status),
    );
    for (const exchange of [failure(true), failure(false), ...passing]) {
      expect([exchange, mayPass(exchange)]).toEqual([exchange, true]);
    }
    const lasting = [...statuses(300, 500), 511].filter((status) => !PASSING_4XX.includes(status));
    for (const exchange of [failure(false, 'setup'), ...lasting.map((one) => response(one))]) {
      expect([exchange, mayPass(exchange)]).toEqual([exchange, false]);
    }
  });
});

describe('retryAfterMs', () => {
  it.each([
    [[], null],
    [['0'], 0],
    [[' 5 '], 5000],
    [['0000000000010'], 10_000],
    [['1', '9', '3'], 9000],
    [['soon', '3'], 3000],
    [['9'.repeat(40)], 3e12],
    [['Sat, 21 Nov 2026 12:01:30 GMT', '3'], 90_000],
    [['Saturday, 21-Nov-26 12:01:30 GMT'], 90_000],
    [['5, Sat, 21 Nov 2026 12:01:30 GMT, 10'], 90_000],
    [['5,10'], 10_000],
    [['Sat, 21 Nov 2026 11:59:59 GMT'], 0],
    [['89.997'], 90_000],
    [['0.5', '1'], 1000],
    ...[
      'Sat, 99 Nov 2026 12:01:30 GMT',
      'Sat, 21 Nov 2026',
      '-1',
      '1e3',
      '0x10',
      '1.',
      '.5',
      '90s',
      '',
    ].map((value) => [[value], null] as const),
  ] as const)('%j is %j', (retryAfter, expected) => {
    expect(retryAfterMs(response(429, { retryAfter }))).toBe(expected);
  });
});
