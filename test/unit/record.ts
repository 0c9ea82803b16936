import { type End, type Job, type JobRecord, newJob } from '../../src/job.ts';
import type { NoteData } from '../../src/note/data.ts';
import { type RunInfo, readRunInfo } from '../../src/runner/environment.ts';

/** When the runs of a test start. */
export const START = Date.UTC(2026, 10, 21, 12);
export const PULL = 'https://github.com/octo/docs/pull/12';

export const INFO: RunInfo = readRunInfo({
  ...{ GITHUB_REPOSITORY: 'octo/agents', GITHUB_RUN_ID: '1', GITHUB_JOB: 'build' },
  ...{ GITHUB_ACTION: 'step', GITHUB_WORKFLOW: 'Follow up' },
});

export function record(parts: Partial<JobRecord> = {}): JobRecord {
  return { id: 'job-1', status: 'completed', ...parts };
}

export function job(parts: Partial<Job> = {}): Job {
  return { ...newJob(parts.id ?? 'job-1', parts.isReadOnly ?? false), ...parts };
}

/** A job that got its message, and that this run has ended. */
export function ended(end: Partial<End>, parts: Partial<Job> = {}): Job {
  return job({
    ...{ delivery: 'sent', sentAt: START, endedAt: START },
    end: { result: 'completed', reason: '', confirmed: null, ...end },
    ...parts,
  });
}

export const NOTE: NoteData = {
  ...{ project: 'aa', step: 'bb', leg: '', prompt: 'cc', run: '1', command: '', series: 'dd' },
  ...{ attempt: 1, id: 'random', deadline: START, over: false, jobs: [] },
};
