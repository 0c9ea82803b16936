import type { FinalStatus } from '../mintlify-api.ts';
import type { Label } from './labels.ts';

/** What the outputs say, from worst to best, and when it fails the step. */
const RESULTS = {
  error: 'always',
  cancelled: 'always',
  failed: 'by default',
  archived: 'by default',
  'timed-out': 'by default',
  sent: 'never',
  completed: 'if listed',
  skipped: 'if listed',
} as const;
export type JobResult = keyof typeof RESULTS;

export const RESULT_NAMES = Object.keys(RESULTS) as JobResult[];
export const ALWAYS_FAIL = RESULT_NAMES.filter((result) => RESULTS[result] === 'always');
export const FAIL_BY_DEFAULT = RESULT_NAMES.filter((result) => RESULTS[result] === 'by default');
export const FAIL_ON = RESULT_NAMES.filter((one) => !['always', 'never'].includes(RESULTS[one]));

/** Whether a comment of its own tells it. */
export function isBadResult(result: JobResult): boolean {
  return result === 'error' || FAIL_BY_DEFAULT.includes(result);
}

/** `label`: unless the message did not go out, or may not have. `means`: for the reference. */
function reason(result: JobResult, label: Label, means: string) {
  return { result, label, means };
}

export const STOP_REASONS = {
  completed: reason('completed', 'completed', 'The agent is done with the message.'),
  'completed-unconfirmed': reason('completed', 'unconfirmed', 'Done, perhaps with earlier work.'),
  failed: reason('failed', 'failed', 'The agent failed.'),
  'failed-unconfirmed': reason('failed', 'failed before', 'Failed, perhaps at earlier work.'),
  archived: reason('archived', 'archived', 'The job was archived while the agent worked.'),
  'archived-unconfirmed': reason('archived', 'archived', 'The job is archived.'),
  sent: reason('sent', 'sent', 'The message is sent, and `wait` is `false`.'),

  'timed-out': reason('timed-out', 'timed-out', '`timeout-minutes` are over.'),
  cancelled: reason('cancelled', 'cancelled', 'The run was cancelled, or GitHub stopped it.'),
  'ended-early': reason('error', 'unreachable', 'The runner ended the step before it was known.'),
  'ended-in-wait': reason('sent', 'sent', 'The runner ended the step before the agent was done.'),
  unreachable: reason('error', 'unreachable', 'The status can no longer be read.'),

  'no-answer': reason('error', 'delivery unknown', 'The API did not answer the message.'),
  'earlier-attempt': reason('error', 'delivery unknown', 'An earlier attempt may have sent it.'),

  'api-key': reason('error', 'not-sent', 'The key is missing, wrong, expired or lacks a scope.'),
  'no-credits': reason('error', 'not-sent', 'The API requires credits.'),
  'not-found': reason('error', 'not-sent', 'The project has no such job, or there is no project.'),
  'job-closed': reason('error', 'closed', 'The job takes no more messages.'),
  'rate-limit': reason('error', 'not-sent', 'The API accepts no more messages for now.'),
  'not-tried': reason('skipped', 'not-sent', 'As `rate-limit`, after the message to another job.'),
  api: reason('error', 'not-sent', 'The API refused the message, or could not be reached.'),

  // The run acts on no job.
  event: reason('error', 'not-sent', 'The file of the event cannot be read.'),
  runner: reason('error', 'not-sent', 'The runner is too old.'),
  inputs: reason('error', 'not-sent', 'Inputs are wrong.'),
  unchecked: reason('error', 'not-sent', 'It could not be checked who may send.'),
  'job-unknown': reason('error', 'not-sent', 'The comments that name the job cannot be read.'),
  'several-jobs': reason('error', 'not-sent', 'The newest comment names several jobs.'),
  'no-job': reason('error', 'not-sent', 'No comment names a job, and `job-id` is empty.'),
  'no-job-here': reason('skipped', 'skipped', 'As `no-job`, for a check, a review or no page.'),
  'not-allowed': reason('skipped', 'skipped', 'Whoever triggered the run may not send.'),
  'no-secrets': reason('skipped', 'skipped', 'GitHub gives the run no secrets.'),
  'no-words': reason('skipped', 'skipped', 'The command has no words.'),
  'no-pull-request': reason('skipped', 'skipped', 'The commit is on no open pull request.'),
  'several-pull-requests': reason('skipped', 'skipped', 'Several pull requests have the commit.'),
  'pull-request-unknown': reason('skipped', 'skipped', 'Its pull request could not be read.'),

  'no-content': reason('error', 'not-sent', 'What is to be sent could not be read.'),
  'no-comment': reason('error', 'not-sent', 'The comment could not be created.'),
  'comment-unclear': reason('error', 'not-sent', 'It is not known whether there is a comment.'),
  'no-records': reason('error', 'not-sent', 'It could not be read what was sent before.'),
  'other-creation': reason('error', 'not-sent', 'Another run creates the job, or may have.'),
  uncounted: reason('error', 'not-sent', '`max-messages` is set, but nothing can be counted.'),
  outputs: reason('error', 'not-sent', 'The outputs cannot be written.'),

  'nothing-to-send': reason('skipped', 'skipped', 'The event has nothing for the agent.'),
  'request-deleted': reason('skipped', 'skipped', 'The command was deleted while it waited.'),
  'only-when': reason('skipped', 'skipped', 'The status of the job is not one of `only-when`.'),
  'another-pull-request': reason('skipped', 'skipped', "The pull request is not the job's."),
  'pull-request-closed': reason('skipped', 'skipped', 'The pull request is merged or closed.'),
  'newer-commits': reason('skipped', 'skipped', 'The pull request has newer commits.'),
  'commit-taken': reason('skipped', 'skipped', 'Another run sends a message about the commit.'),
  limit: reason('skipped', 'limited', 'The limit of messages is reached; a person is needed.'),
  'uncounted-bot': reason('skipped', 'skipped', 'As `uncounted`, of what a bot triggers.'),
};

export type StopCode = keyof typeof STOP_REASONS;

export type Details = Readonly<Record<string, string | number>>;

export interface Stop {
  readonly code: StopCode;
  readonly details: Details;
  /** What people can do: nothing, or the same again at once, later, or once the cause is gone. */
  readonly retry: 'never' | 'now' | 'later' | 'when fixed' | 'in a new run';
}

export function stop(code: StopCode, details: Details = {}, retry: Stop['retry'] = 'never'): Stop {
  return { code, details, retry };
}

export function isStop(one: object): one is Stop {
  return 'code' in one && 'retry' in one;
}

export function agentStop(status: FinalStatus, isConfirmed = false, before = ''): Stop {
  return stop(isConfirmed ? status : `${status}-unconfirmed`, { status, before });
}

export interface Outcome {
  readonly code: StopCode;
  readonly result: JobResult;
  readonly label: Label;
  readonly explanation: string;
  /** Whether the agent was seen at work, and then done; missing without a wait. */
  readonly confirmed?: boolean;
}
