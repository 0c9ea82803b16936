import { describe, expect, it } from 'vitest';
import { failsStep, type JobResult, type Outcome, unknownJob } from '../../src/outcome.ts';
import { OUTPUT_NAMES, serialise, toOutputs } from '../../src/outputs.ts';

function job(jobId: string, parts: Partial<JobResult>): JobResult {
  return {
    ...unknownJob(jobId, { delivery: 'sent', outcome: 'completed', reason: '' }),
    ...parts,
  };
}

describe('toOutputs', () => {
  it('gives the worst job, and all links and ids, a line each', () => {
    const results = [
      job('a', { status: 'completed', confirmed: true, prLink: 'https://github.com/o/r/pull/1' }),
      job('b', { outcome: 'failed', status: 'failed', confirmed: false, reason: 'It failed.' }),
      job('c', { outcome: 'failed', status: 'failed', confirmed: true, reason: 'It did, too.' }),
      job('d', {
        outcome: 'skipped',
        delivery: 'not-sent',
        prLink: 'https://github.com/o/r/pull/2',
      }),
    ];
    expect(toOutputs({ results, commentUrls: ['u1', 'u2'] })).toMatchObject({
      status: 'failed',
      outcome: 'failed',
      delivery: 'sent',
      confirmed: 'false',
      reason: 'Job b: It failed. (2 of 4 jobs: failed)',
      'pr-link': 'https://github.com/o/r/pull/1\nhttps://github.com/o/r/pull/2',
      'job-id': 'a\nb\nc\nd',
      'comment-url': 'u1\nu2',
    });
  });

  it('gives each result with just the promised fields', () => {
    const { results } = toOutputs({ results: [job('a', {})], commentUrls: [] });
    expect(Object.keys(JSON.parse(results)[0])).toEqual([
      'jobId',
      'delivery',
      'outcome',
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

  it('is complete where there is no job', () => {
    expect(
      toOutputs({
        results: [],
        ended: { outcome: 'error', reason: 'Bad input.' },
        commentUrls: [],
      }),
    ).toEqual({
      status: '',
      'pr-link': '',
      prLink: '',
      outcome: 'error',
      delivery: 'not-sent',
      confirmed: '',
      reason: 'Bad input.',
      'job-id': '',
      results: '[]',
      'comment-url': '',
    });
  });

  it('takes a run of which nothing is known for an error', () => {
    expect(toOutputs({ results: [], commentUrls: [] })).toMatchObject({
      outcome: 'error',
      delivery: 'not-sent',
      reason: '',
    });
  });

  it('is serialised in one piece', () => {
    const text = serialise(
      toOutputs({ results: [], ended: { outcome: 'error', reason: 'a\nb' }, commentUrls: [] }),
      'END',
    );
    expect(text).toContain('reason<<END\na\nb\nEND\n');
    expect(text.match(/<<END\n/g)).toHaveLength(OUTPUT_NAMES.length);
  });
});

it.each<[Outcome, readonly Outcome[], boolean]>([
  ['error', [], true],
  ['cancelled', [], true],
  ['failed', [], false],
  ['failed', ['failed'], true],
  ['timed-out', ['failed'], false],
  ['skipped', ['skipped'], true],
  ['sent', ['failed', 'archived'], false],
])('%s with fail-on %j fails: %s', (outcome, failOn, expected) => {
  const results = [job('a', {}), job('b', { outcome })];
  expect(failsStep(results, new Set(failOn))).toBe(expected);
});
