import { expect, it } from 'vitest';
import { A_RUN, explain, type RunFacts } from '../../../src/job/explain.ts';
import type { JobState } from '../../../src/job/job.ts';
import { outcomeNow, toOutcome } from '../../../src/job/outcome.ts';
import {
  agentStop,
  type Details,
  type Outcome,
  STOP_REASONS,
  type Stop,
  type StopCode,
  stop,
} from '../../../src/job/stop-reasons.ts';
import { job, NOT_SENT, SENDING, SENT, UNKNOWN } from '../record.ts';

const IN_DOUBT = 'may have arrived, so it was not sent again';
const AGAIN = ' To keep waiting, re-run the workflow; the message is not sent again.';
const ALONE = { ...A_RUN, hasRecords: false };
const AFTER = { phase: 'after', limitMs: 1_800_000, status: 'active' };
const BEFORE = { phase: 'before', limitMs: 1_800_000 };

it.each<[StopCode, Details, string, RunFacts?, Stop['retry']?]>([
  ['completed', {}, ''],
  ['sent', {}, ''],
  ['api', { why: 'So.' }, 'So.'],
  ['failed', {}, 'The API does not say why the agent failed. Open the job'],
  ['archived', {}, 'was at work on the message, but now'],
  ['archived-unconfirmed', {}, 'the agent may not have worked on'],
  ['timed-out', AFTER, 'not seen to be done within 30 min. Its last known status is'],
  ['timed-out', AFTER, AGAIN],
  ['timed-out', AFTER, 'keep working. Check the job in the dashboard', ALONE],
  ['timed-out', { ...AFTER, why: 'So {x}.' }, 'keep working. The last poll failed: So {x}.'],
  ['timed-out', { ...AFTER, status: 'failed' }, 'is failed, but within 30 min it was not'],
  ['timed-out', { ...BEFORE, why: 'So.' }, 'be sent within 30 min. So. Re-run the workflow.'],
  ['timed-out', { ...BEFORE, phase: 'waiting', why: 'So.' }, 'what it was already doing. The last'],
  ['timed-out', { ...BEFORE, phase: 'waiting' }, ' Re-run the workflow later.', A_RUN, 'later'],
  ['unreachable', { why: 'So.' }, 'can no longer be read. So. The agent may keep'],
  ['cancelled', AFTER, `no longer waits. The agent may keep working.${AGAIN}`],
  ['cancelled', BEFORE, 'stopped before the message was sent. Re-run the'],
  ['cancelled', { phase: 'during', jobId: 'job-1' }, IN_DOUBT],
  ['no-answer', { why: 'So.', jobId: 'job-1' }, `So. The message ${IN_DOUBT}`],
  ['no-answer', { why: 'So.', jobId: '' }, 'So. The job may have been created, so'],
  ['commit-taken', { url: 'u' }, 'commit: u. Its message has what GitHub showed as failed then.'],
  ['commit-taken', { url: 'u', command: '/docs' }, 'as failed then; “/docs” sends'],
  ['comment-unclear', { why: 'So.' }, 'comment of this run appears later, delete it.'],
  ['comment-unclear', {}, 'appears later, delete only', { ...A_RUN, isRerun: true }],
  ['earlier-attempt', { why: 'so' }, 'because so. Re-run again later. Check', A_RUN, 'later'],
  ['earlier-attempt', { why: 'so' }, 'all the same, start a new run with “Run workflow”.'],
  ['earlier-attempt', { comments: 'a', count: 1 }, 'delete the comment a, and re-run'],
])('explain %s, %j: %s', (code, details, words, facts = A_RUN, retry = 'never') => {
  const said = explain(stop(code, details, retry), facts);
  expect(said).toContain(words);
  expect(said === '').toBe(words === '');
});

it('leaves nothing open, whatever is known', () => {
  for (const code of Object.keys(STOP_REASONS) as StopCode[]) {
    expect(explain(stop(code))).not.toMatch(/[{}]|undefined| {2}/);
  }
});

it.each<[string | undefined, string]>([
  ['completed', 'before the message, and did not change for 1 min'],
  ['failed', 'was not seen at work, so'],
  ['active', 'was already at work when'],
  [undefined, 'before the message is not known'],
])('explains why an end is unconfirmed, if the status before was %s', (before, words) => {
  expect(explain(agentStop('completed', false, before))).toContain(words);
});

const SEVERAL = { hasRecords: false, hasSeveralJobs: true };
it.each<[Partial<RunFacts>, Stop['retry'], string]>([
  [{}, 'never', 'So.'],
  [{}, 'now', 'So. Re-run the workflow.'],
  [{}, 'when fixed', 'So. Once this is fixed, re-run the workflow.'],
  [{ isCommand: true }, 'later', 'So. Comment again later.'],
  [{ isCommand: true, isRerun: true }, 'now', 'So. Re-run the workflow.'],
  [{ hasRecords: false }, 'now', 'So. Start a new run (“Run workflow” needs “workflow_dispatch”).'],
  [{ hasRecords: false, isCommand: true, isRerun: true }, 'now', 'So. Comment again.'],
  [SEVERAL, 'later', 'So. Later, start a new run with only the jobs that got no message.'],
])('says what people can do, by %j and %s', (facts, retry, said) => {
  expect(explain(stop('api', { why: 'So.' }, retry), { ...A_RUN, ...facts })).toBe(said);
});

it.each<[Partial<JobState>, StopCode, Outcome['label'], boolean?]>([
  [SENT, 'completed', 'completed', true],
  [SENT, 'completed-unconfirmed', 'unconfirmed', false],
  [SENT, 'timed-out', 'timed-out', false],
  [NOT_SENT, 'timed-out', 'not-sent'],
  [UNKNOWN, 'cancelled', 'delivery unknown', false],
  [NOT_SENT, 'job-closed', 'closed'],
  [NOT_SENT, 'limit', 'limited'],
])('the outcome, %j, of %s is %s', (parts, code, label, confirmed) => {
  const outcome = toOutcome(job(parts), stop(code, AFTER), A_RUN, true);
  expect([outcome.label, outcome.confirmed]).toEqual([label, confirmed]);
});

it.each<[Partial<JobState>, boolean, Outcome['result'], string, boolean?]>([
  [NOT_SENT, true, 'error', 'The run ended before the message was sent.'],
  [SENDING, true, 'error', IN_DOUBT, false],
  [UNKNOWN, true, 'error', IN_DOUBT, false],
  [SENT, false, 'sent', ''],
  [SENT, true, 'sent', 'The run ended before the agent was done.', false],
])('the outcome if the run is killed, %j', (parts, wait, result, words, confirmed) => {
  const end = outcomeNow(job(parts), wait);
  expect([end.result, end.confirmed]).toEqual([result, confirmed]);
  expect(end.explanation).toContain(words);
});
