import { expect, it } from 'vitest';
import type { RunReport } from '../../../src/comment/render.ts';
import { type JobState, toLabel } from '../../../src/job/job.ts';
import { LABELS } from '../../../src/job/labels.ts';
import { endedNow, failing } from '../../../src/job/outcome.ts';
import type { Outcome } from '../../../src/job/stop-reasons.ts';
import { annotate, crash, renderSummary } from '../../../src/report/finish.ts';
import { ended, INFO, NOT_SENT, record, START } from '../record.ts';
import { recordingRuntime } from '../recording-runtime.ts';

function logOf(jobs: readonly JobState[], failOn: readonly 'failed'[] = ['failed']) {
  const { runtime, logged } = recordingRuntime();
  const all = endedNow(jobs, true);
  annotate(runtime.log, all, failing(all, new Set(failOn)));
  return logged;
}
const failed = (id: string): JobState =>
  ended({ result: 'failed', explanation: 'It failed.' }, { id });
const explanation = 'So.';
const unconfirmed = { confirmed: false, explanation };

it.each<[string, Partial<Outcome>, Partial<JobState>, string]>([
  ['a failure', { result: 'failed', explanation }, {}, 'error'],
  ['an end without a result', { result: 'archived', explanation }, {}, 'warning'],
  ['a message that is not sent', { result: 'skipped', explanation }, NOT_SENT, 'notice'],
  ['a doubt', unconfirmed, { base: { status: 'completed' } }, 'warning'],
])('annotate gives the reason of %s', (_, end, parts, level) => {
  const one = ended(end, parts);
  const title = LABELS[toLabel(one)].title;
  expect(logOf([one])).toEqual([`info: ${title}.`, `${level} (${title}): Job job-1: So.`]);
});

const FAIL_ON = `error (${LABELS.failed.title}): Job job-1 is failed, which fails the step (“fail-on”).`;
const AT_WORK = ended(unconfirmed, { base: { status: 'active' } });
it.each<[string, JobState, string[]]>([
  ['nothing more of a success', ended({}), []],
  ['what fails the step if there is no reason', ended({ result: 'failed' }), [FAIL_ON]],
  ['a doubt as a line if the agent was at work', AT_WORK, ['info: Job job-1: So.']],
])('annotate says %s', (_, one, more) => {
  expect(logOf([one]).slice(1)).toEqual(more);
});

const skipped = (id: string): JobState =>
  ended({ result: 'skipped', explanation: 'Not now.' }, { id, ...NOT_SENT });

it('annotate tells each reason of several jobs once, the worst one in the annotation', () => {
  const jobs = [skipped('a'), failed('b'), ended({ result: 'sent' }, { id: 'c' }), skipped('d')];
  expect(logOf([...jobs, failed('e')])).toEqual([
    `info: Job a and 1 more: ${LABELS.skipped.word}. Not now.`,
    `info: 5 jobs: 2 ${LABELS.failed.word}, 1 ${LABELS.sent.word}, 2 ${LABELS.skipped.word}.`,
    `error (${LABELS.failed.title}): 2 of 5 jobs ${LABELS.failed.word} (first “b”): It failed.`,
  ]);
});

it('crash reports the beginning of what is no error', () => {
  const { runtime, logged } = recordingRuntime();
  expect(crash(runtime, 'x'.repeat(600))).toBe(1);
  expect(logged).toEqual([expect.stringMatching(/^error \(Unexpected error\): .* x{500}$/)]);
});

const story: RunReport = {
  ...{ info: INFO, cause: '', prompt: '', attached: '', message: '' },
  ...{ startedAt: START, command: null },
};

it('renderSummary links to the comments', () => {
  const [one, other] = ['https://a.b/o/r/pull/7#issue-1', 'https://a.b/o/r/issues/8#i-2'];
  const of = (...urls: string[]) => renderSummary(story, [ended({})], urls);
  expect(of(one)).toContain(`\n\nComment on [#7](${one})\n\n<sub>`);
  expect(of(one, other)).toContain(`\n\nComments on [#7](${one}), [#8](${other})\n`);
});

it('renderSummary is small enough for 100 jobs with the longest texts', () => {
  const jobs = Array.from({ length: 500 }, (_, n) => {
    const prLink = `https://github.com/o/${'r'.repeat(440)}/pull/${n}`;
    const id = `${'j'.repeat(250)}${n}`;
    return ended({ explanation: `${'あ'.repeat(2000)}${n}` }, { id, record: record({ prLink }) });
  });
  const text = renderSummary(story, jobs, []);
  expect(Buffer.byteLength(text)).toBeLessThan(1_000_000);
  expect(text).toMatch(/\n- Jobs not shown for lack of room: \d+\./);
});
