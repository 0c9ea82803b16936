import { expect, it } from 'vitest';
import type { JobState } from '../../../src/job/job.ts';
import { type Ended, endedNow, failing, worstFirst } from '../../../src/job/outcome.ts';
import { type JobResult, type Outcome, RESULT_NAMES } from '../../../src/job/stop-reasons.ts';
import { toOutputs } from '../../../src/runner/outputs.ts';
import { ended, NOT_SENT, record, SENT, START, UNKNOWN } from '../record.ts';

function endOf(id: string, end: Partial<Outcome>, parts: Partial<JobState> = {}): Ended {
  const [one] = endedNow([ended(end, { id, ...parts })], true);
  if (one === undefined) throw new Error('There is no job.');
  return one;
}
function outputsOf(...all: readonly Ended[]) {
  return toOutputs({ ended: all });
}

it('toOutputs returns the worst job, and all links and IDs, one per line', () => {
  const failed = { record: record({ status: 'failed' }) };
  const link = (n: number) => ({ record: record({ prLink: `https://github.com/o/r/pull/${n}` }) });
  const all = [
    endOf('a', { confirmed: true }, link(1)),
    endOf('b', { result: 'failed', confirmed: false, explanation: 'It failed.' }, failed),
    endOf('c', { result: 'failed', confirmed: true, explanation: 'It did, too.' }, failed),
    endOf('d', { result: 'skipped' }, { ...NOT_SENT, ...link(2) }),
  ];
  const links = 'https://github.com/o/r/pull/1\nhttps://github.com/o/r/pull/2';
  expect(toOutputs({ ended: all, commentUrls: ['u1', 'u2'] })).toMatchObject({
    ...{ status: 'failed', result: 'failed', delivery: 'sent', confirmed: 'false' },
    reason: '2 of 4 jobs need attention (first “c”): It did, too.',
    ...{ prLink: links, 'job-id': 'a\nb\nc\nd', 'comment-url': 'u1\nu2' },
  });
});

it.each<[string, readonly Partial<Outcome>[]]>([
  ['', [{}, {}]],
  ['true', [{ confirmed: true }, {}]],
  ['false', [{ confirmed: true }, { confirmed: false }]],
])('toOutputs: confirmed is "%s" for %j', (expected, all) => {
  expect(outputsOf(...all.map((end) => endOf('a', end))).confirmed).toBe(expected);
});

it('toOutputs has a text for each output, whatever is known', () => {
  const withoutJobs = { code: 'inputs', reason: 'Bad input.' } as const;
  const outputs = toOutputs({ ended: [], withoutJobs });
  const none = { delivery: 'not-sent', status: '', results: '[]', 'comment-url': '' };
  expect(outputs).toMatchObject({ ...withoutJobs, ...none });
  expect(Object.values(outputs).filter((value) => typeof value !== 'string')).toEqual([]);
  expect(outputsOf()).toMatchObject({ result: 'error', delivery: 'not-sent', reason: '' });
});

it.each<[Partial<JobState>, number | null]>([
  [NOT_SENT, null],
  [{ endedAt: START + 5123 }, 5.1],
])('toOutputs, results: %j took %s seconds', (parts, elapsedSeconds) => {
  const [entry] = JSON.parse(outputsOf(endOf('a', {}, parts)).results);
  expect(entry).toMatchObject({ prLink: null, status: null, elapsedSeconds });
});

it('toOutputs: results name each of 100 jobs, below the limit of a megabyte', () => {
  const prLink = `https://github.com/o/${'r'.repeat(460)}/pull/1234567890`;
  const longest = { record: record({ status: 's'.repeat(64), prLink }) };
  const ids = Array.from({ length: 100 }, (_, n) => `${'j'.repeat(253)}${n}`.slice(-256));
  const end = { result: 'failed', explanation: '\u3042'.repeat(2000) } as const;
  const { results } = outputsOf(...ids.map((id) => endOf(id, end, longest)));
  const entries: readonly { readonly jobId: string }[] = JSON.parse(results);
  expect(Buffer.byteLength(results)).toBeLessThan(1_048_576);
  expect(entries.map(({ jobId }) => jobId)).toEqual(ids);
  // Other runners lose all outputs if a line is long.
  expect(Math.max(...results.split('\n').map((line) => line.length))).toBeLessThan(64 * 1024);
});

it.each<[JobResult, readonly JobResult[], boolean]>([
  ['error', [], true],
  ['cancelled', [], true],
  ['failed', [], false],
  ['failed', ['failed'], true],
  ['timed-out', ['failed'], false],
  ['skipped', ['skipped'], true],
  ['sent', ['failed', 'archived'], false],
])('the result %s with fail-on %j fails the step: %s', (result, failOn, expected) => {
  const all = [endOf('a', {}), endOf('b', { result })];
  expect(failing(all, new Set(failOn))).toEqual(expected ? all.slice(1) : []);
});

it('worstFirst sorts by result, then by label, then in input order', () => {
  const ids = (all: readonly Ended[]): string =>
    worstFirst(all)
      .map(({ id }) => id)
      .join('');
  const results = ['skipped', 'error', 'sent', 'error', 'failed', 'sent'] as const;
  expect(ids(results.map((result, n) => endOf(`${n}`, { result })))).toBe('134250');
  const reversed = RESULT_NAMES.toReversed().map((result, n) => endOf(`${n}`, { result }));
  expect([...ids(reversed)].toReversed().join('')).toBe(reversed.map(({ id }) => id).join(''));
  expect(ids([endOf('a', {}), endOf('b', { confirmed: false }), endOf('c', {})])).toBe('bac');
});

it.each([
  [[], 'not-sent'],
  [[NOT_SENT, NOT_SENT], 'not-sent'],
  [[NOT_SENT, SENT, NOT_SENT], 'sent'],
  [[SENT, NOT_SENT, UNKNOWN], 'unknown'],
] as const)('the output delivery of %j is %s', (all, expected) => {
  const ended = all.map((parts) => endOf('a', {}, parts));
  expect(toOutputs({ ended }).delivery).toBe(expected);
});
