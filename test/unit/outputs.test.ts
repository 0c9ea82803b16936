import { describe, expect, it, vi } from 'vitest';
import { ours, sentence } from '../../src/reason.ts';
import { serialise, toOutputs } from '../../src/report/outputs.ts';
import {
  deliveryOf,
  failing,
  overallDelivery,
  worst,
  worstFirst,
} from '../../src/report/ranking.ts';
import {
  type JobRecord,
  type JobState,
  RESULTS,
  type Turn,
  type TurnResult,
} from '../../src/turn.ts';
import { record, START, state } from './record.ts';

function job(jobId: string, turn: Partial<Turn>, seen: JobRecord | null = null): JobState {
  return state({ jobId, record: seen }, { result: 'completed', ...turn });
}

describe('toOutputs', () => {
  it('gives the worst job, and all links and ids, a line each', () => {
    const failed = record({ status: 'failed' });
    const link = (number: number) => `https://github.com/o/r/pull/${number}`;
    const states = [
      job('a', { confirmed: true }, record({ prLink: link(1) })),
      job('b', { result: 'failed', confirmed: false, reason: ['It failed.'] }, failed),
      job('c', { result: 'failed', confirmed: true, reason: ['It did, too.'] }, failed),
      job('d', { result: 'skipped', delivery: 'not-sent' }, record({ prLink: link(2) })),
    ];
    expect(toOutputs({ states, commentUrls: ['u1', 'u2'] })).toMatchObject({
      status: 'failed',
      result: 'failed',
      delivery: 'sent',
      confirmed: 'false',
      reason: '2 of 4 agent jobs failed, first b: It failed.',
      'pr-link': 'https://github.com/o/r/pull/1\nhttps://github.com/o/r/pull/2',
      'job-id': 'a\nb\nc\nd',
      'comment-url': 'u1\nu2',
    });
  });

  it.each<[string, Partial<Turn>, string]>([
    [
      'one of them',
      { result: 'failed', reason: ['It failed.'] },
      '1 of 3 agent jobs failed, b: It',
    ],
    [
      'one without a message',
      { result: 'error', delivery: 'not-sent', reason: ['It is wrong.'] },
      '1 of 3 agent jobs without a message, b: It is wrong.',
    ],
    [
      'one in doubt, beside two that are sure',
      { confirmed: false, reason: ['Possibly the earlier turn.'] },
      '1 of 3 agent jobs completed, b: Possibly',
    ],
  ])('counts those that stand as the worst does: %s', (_, parts, words) => {
    const states = [job('a', {}), job('b', parts), job('c', {})];
    expect(toOutputs({ states, commentUrls: [] }).reason).toContain(words);
  });

  it('quotes what others wrote', () => {
    const reason = sentence`Job ${'a'} said: ${'Go "away"'}.`;
    const { reason: text, results } = toOutputs({
      states: [job('a', { reason })],
      commentUrls: [],
    });
    expect(text).toBe(`Job a said: "Go 'away'".`);
    expect(JSON.parse(results)).toMatchObject([{ reason: text }]);
  });

  it('gives each result with just the promised fields', () => {
    const { results } = toOutputs({ states: [job('a', {})], commentUrls: [] });
    expect(Object.keys(JSON.parse(results)[0])).toEqual([
      'jobId',
      'delivery',
      'result',
      'confirmed',
      'status',
      'prLink',
      'model',
      'source',
      'createdAt',
      'archivedAt',
      'elapsedSeconds',
      'polls',
      'reason',
    ]);
  });

  it.each([
    [null, null, null],
    [START, null, null],
    [START, START + 5123, 5.1],
  ])('a message of %s whose turn ended at %s took so many seconds: %s', (sentAt, endedAt, took) => {
    const { results } = toOutputs({ states: [job('a', { sentAt, endedAt })], commentUrls: [] });
    expect(JSON.parse(results)).toMatchObject([{ elapsedSeconds: took }]);
  });

  it('is complete where there is no job', () => {
    expect(
      toOutputs({
        states: [],
        ended: { result: 'error', reason: 'Bad input.' },
        commentUrls: [],
      }),
    ).toEqual({
      status: '',
      'pr-link': '',
      prLink: '',
      result: 'error',
      delivery: 'not-sent',
      confirmed: '',
      reason: 'Bad input.',
      'job-id': '',
      results: '[]',
      'comment-url': '',
    });
  });

  it('takes a run of which nothing is known for an error', () => {
    expect(toOutputs({ states: [], commentUrls: [] })).toMatchObject({
      result: 'error',
      delivery: 'not-sent',
      reason: '',
    });
  });

  describe('of 500 jobs', () => {
    /** As long as what src/agent lets pass, and as many bytes in JSON as characters can be. */
    const longest = {
      status: 's'.repeat(64),
      prLink: `https://github.com/o/${'r'.repeat(460)}/pull/1234567890`,
      model: '\0'.repeat(4096),
      source: { repository: '\u001f'.repeat(4096), ref: '\ud800'.repeat(4096) },
      createdAt: '\u0001'.repeat(64),
      archivedAt: '\u0002'.repeat(64),
      reason: '\u3042'.repeat(2000),
    };
    const plain = {
      ...longest,
      ...{ model: 'sonnet', source: null, reason: 'It failed.', prLink: 'https://a/b/c/pull/1' },
      ...{ createdAt: '2026-11-21T12:00:00Z', archivedAt: null },
    };
    type Facts = Partial<JobRecord> & { readonly reason: string };
    const resultsOf = ({
      reason,
      ...facts
    }: Facts): readonly Readonly<Record<string, unknown>>[] => {
      const states = Array.from({ length: 500 }, (_, index) =>
        job(`${'j'.repeat(253)}${index}`.slice(-256), { reason: ours(reason) }, record(facts)),
      );
      const text = toOutputs({ states, commentUrls: [] }).results;
      expect(Buffer.byteLength(text)).toBeLessThan(500_000);
      const entries = JSON.parse(text);
      expect(entries.map(({ jobId }: JobState) => jobId)).toEqual(states.map(({ jobId }) => jobId));
      return entries;
    };

    it.each<[string, Facts, Readonly<Record<string, unknown>>]>([
      ['plain texts are whole', plain, { ...plain }],
      [
        'long reasons are cut',
        { ...plain, reason: 'x'.repeat(600) },
        { ...plain, reason: `${'x'.repeat(199)}…` },
      ],
      [
        'a cut leaves no half of a character',
        { ...plain, reason: '\u{1f680}'.repeat(300) },
        { ...plain, reason: `${'\u{1f680}'.repeat(39)}\ufffd…` },
      ],
      [
        'models and sources are cut with them',
        { ...plain, model: 'm'.repeat(4096), source: { repository: 'r'.repeat(4096), ref: null } },
        {
          ...plain,
          model: `${'m'.repeat(79)}…`,
          source: { repository: `${'r'.repeat(79)}…`, ref: null },
        },
      ],
      [
        'and where that is not enough, links and times are left out',
        longest,
        {
          ...{ status: longest.status, delivery: 'sent', result: 'completed' },
          ...{ prLink: null, createdAt: null, archivedAt: null },
          ...{ model: '…', source: { repository: '…', ref: '…' }, reason: '…' },
        },
      ],
    ])('%s', (_, parts, expected) => {
      for (const entry of resultsOf(parts)) expect(entry).toMatchObject(expected);
    });
  });

  it('has lines that every runner reads, whatever the texts', () => {
    const model = '\0'.repeat(4096);
    const long = { model, source: { repository: model, ref: model } };
    const states = [job('a', {}, record(long)), job('b', {})];
    const { results } = toOutputs({ states, commentUrls: [] });
    const lines = results.split('\n').map((line) => Buffer.byteLength(line));
    expect(lines).toHaveLength(2);
    expect(Math.max(...lines)).toBeLessThan(64 * 1024);
    expect(JSON.parse(results)).toMatchObject([{ jobId: 'a' }, { jobId: 'b' }]);
  });

  it('makes only the lines of jobs that have changed', () => {
    const states = Array.from({ length: 500 }, (_, index) => job(`job-${index}`, {}));
    const stringify = vi.spyOn(JSON, 'stringify');
    toOutputs({ states, commentUrls: [] });
    expect(stringify).toHaveBeenCalledTimes(500);
    const changed = states.with(7, job('job-7', { result: 'failed' }));
    const { results } = toOutputs({ states: changed, commentUrls: [] });
    expect(stringify).toHaveBeenCalledTimes(501);
    stringify.mockRestore();
    expect(JSON.parse(results)[7]).toMatchObject({ jobId: 'job-7', result: 'failed' });
  });

  it('is serialised in one piece', () => {
    const ended = { result: 'error', reason: 'a\nb' };
    const text = serialise(toOutputs({ states: [], ended, commentUrls: [] }), 'END');
    expect(text).toContain('reason<<END\na\nb\nEND\n');
    expect(text.match(/<<END\n/g)).toHaveLength(10);
  });
});

it.each<[TurnResult, readonly TurnResult[], boolean]>([
  ['error', [], true],
  ['cancelled', [], true],
  ['failed', [], false],
  ['failed', ['failed'], true],
  ['timed-out', ['failed'], false],
  ['skipped', ['skipped'], true],
  ['sent', ['failed', 'archived'], false],
])('%s with fail-on %j fails: %s', (result, failOn, expected) => {
  const states = [job('a', {}), job('b', { result })];
  expect(failing(states, new Set(failOn))).toEqual(expected ? states.slice(1) : []);
});

it('worstFirst puts the worst result first, and jobs of the same in input order', () => {
  const ids = (results: readonly TurnResult[]): string =>
    worstFirst(results.map((result, index) => job(String(index), { result })))
      .map(({ jobId }) => jobId)
      .join('');
  expect(ids(['skipped', 'error', 'sent', 'error', 'failed', 'sent'])).toBe('134250');
  expect(ids(RESULTS.toReversed())).toBe('876543210');
  expect(worst([])).toBeUndefined();
});

it('worstFirst puts what has a reason before plain success', () => {
  const [sure, unsure] = [job('a', {}), job('b', { reason: ['Possibly the earlier turn.'] })];
  expect(worstFirst([sure, unsure])).toEqual([unsure, sure]);
});

it.each([
  [[], 'not-sent'],
  [['not-sent', 'not-sent'], 'not-sent'],
  [['not-sent', 'sent', 'not-sent'], 'sent'],
  [['sent', 'not-sent', 'unknown'], 'unknown'],
] as const)('the delivery of %j is %s', (deliveries, expected) => {
  const states = deliveries.map((delivery) => job('a', { delivery }));
  expect(overallDelivery(states)).toBe(expected);
});

it.each([
  ['a message that was only announced', { delivery: 'sending' }, false, 'not-sent'],
  ['the message of another run, in a look', { delivery: 'sent' }, true, 'not-sent'],
  ['its own message', { delivery: 'unknown' }, false, 'unknown'],
] as const)('of %s a run says what became of it', (_, turn, isReadOnly, expected) => {
  expect(deliveryOf(state({ isReadOnly }, turn))).toBe(expected);
});
