import { type JobRecord, type JobState, newJob } from '../../src/job/job.ts';
import { LABEL_NAMES, type Label } from '../../src/job/labels.ts';
import {
  agentStop,
  type Outcome,
  STOP_REASONS,
  type StopCode,
} from '../../src/job/stop-reasons.ts';
import type { LedgerEntry } from '../../src/ledger/ledger.ts';
import type { CommentRecord } from '../../src/ledger/record.ts';
import { isFinal } from '../../src/mintlify-api.ts';
import { type RunInfo, readRunInfo } from '../../src/runner/environment.ts';
import { readInputs } from '../../src/runner/inputs.ts';

/** When the runs of a test start. */
export const START = Date.UTC(2026, 10, 21, 12);
export const PULL = 'https://github.com/octo/docs/pull/12';

export const INFO: RunInfo = readRunInfo({
  ...{ GITHUB_REPOSITORY: 'octo/agents', GITHUB_RUN_ID: '1', GITHUB_JOB: 'build' },
  ...{ GITHUB_ACTION: 'step', GITHUB_WORKFLOW: 'Follow up' },
});

/** Those of a step with a job, a prompt and a minute. */
export const INPUTS = readInputs(
  {
    ...{ 'INPUT_PROJECT-ID': 'proj-1', 'INPUT_JOB-ID': 'job-1', 'INPUT_API-KEY': 'mint_01234567' },
    ...{ INPUT_PROMPT: 'Go.', 'INPUT_GITHUB-TOKEN': 'ghs_x', 'INPUT_TIMEOUT-MINUTES': '1' },
  },
  (text) => text,
).inputs;

export function record(parts: Partial<JobRecord> = {}): JobRecord {
  return { id: 'job-1', status: 'completed', ...parts };
}

export function job(parts: Partial<JobState> = {}): JobState {
  return { ...newJob(parts.id ?? 'job-1'), ...parts };
}

/** What became of the message of a job. */
export const SENT = {
  message: { kind: 'sent', at: START, isEarlier: false },
  after: { since: START, work: 'nothing' },
} as const;
export const SENDING = { message: { kind: 'sending' } } as const;
export const UNKNOWN = { message: { kind: 'unknown', isEarlier: false } } as const;
export const NOT_SENT = { message: { kind: 'not-sent' } } as const;

/** A job that got its message, and that this run has ended. */
export function ended(end: Partial<Outcome>, parts: Partial<JobState> = {}): JobState {
  const { result = 'completed' } = end;
  const { message } = { ...SENT, ...parts };
  return job({
    ...{ ...SENT, endedAt: START },
    ...parts,
    end: {
      ...{ code: codeFor({ ...end, result }), result },
      ...{ label: labelFor({ ...end, result }, message), explanation: '', ...end },
    },
  });
}

type End = Pick<Outcome, 'result' | 'confirmed'>;

/** A code that fits a result. */
function codeFor({ result, confirmed }: End): StopCode {
  if (isFinal(result)) return agentStop(result, confirmed !== false).code;
  if (result === 'error') return 'api';
  return result === 'skipped' ? 'only-when' : result;
}

/** The label that fits a result and what became of the message. */
export function labelFor({ result, confirmed }: End, message: JobState['message']): Label {
  if (isFinal(result)) return STOP_REASONS[agentStop(result, confirmed !== false).code].label;
  if (result === 'sent' || result === 'skipped') return result;
  if (message.kind === 'unknown') return 'delivery unknown';
  if (message.kind === 'not-sent') return 'not-sent';
  return LABEL_NAMES.find((label) => label === result) ?? 'unreachable';
}

export const NOTE: CommentRecord = {
  ...{ project: 'aaaaaaaaaaaaaaaa', step: 'bbbbbbbbbbbbbbbb', run: '1', attempt: 1 },
  ...{ command: '', commit: '', byBot: false, process: 'cccccccccccccccc', jobs: [] },
};

/** A note in a comment of its own. */
export function found(parts: Partial<CommentRecord> = {}): LedgerEntry {
  const { run, attempt } = { ...NOTE, ...parts };
  const url = `https://github.com/octo/agents/pull/7#issuecomment-${run}${attempt}`;
  const createdAt = '2026-11-21T19:32:00Z';
  return { ...NOTE, ...parts, url, nodeId: `IC_${run}${attempt}`, createdAt };
}
