import type { Context } from '../context.ts';
import { NEW_JOB } from '../job/job.ts';
import { type Stop, stop } from '../job/stop-reasons.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { isSameMessage, type MessageId, type RecordedJob } from '../ledger/record.ts';
import { CHECK_NAME, CHECK_OUTPUT, type Inputs } from '../runner/inputs.ts';
import { sentences } from '../text.ts';
import { isTrusted } from '../trigger/authorize.ts';
import { BY_PROGRAMS, isPerson, type Trigger } from '../trigger/trigger.ts';
import type { Result } from '../value-or-problem.ts';

// Which jobs a run is about: those of `job-id`, the one that the comments there name, or a new one.

/** In a re-run, the records of the message itself come first. `page`: null if none is read. */
export function resolveJobs(
  { inputs, isRerun, trigger }: Pick<Context, 'inputs' | 'isRerun' | 'trigger'>,
  about: { readonly page: number | null; readonly message: MessageId },
  ledger: Result<Ledger>,
): readonly string[] | Stop {
  if (inputs.jobIds.length > 0) return inputs.jobIds;
  const { page, message } = about;
  if (page === null) return withoutName(inputs, trigger, false);
  if (ledger.kind === 'problem') {
    const retry = ledger.mayPass ? 'later' : 'when fixed';
    return stop('job-unknown', { why: ledger.problem }, retry);
  }
  const entries = ledger.value;
  const own = entries.filter((entry) => isRerun && isSameMessage(entry, message));
  const sent = own.flatMap(({ jobs }) => namedIn(jobs));
  if (sent.length > 0) return [...new Set(sent)];
  const all = entries.flatMap(({ jobs }) => jobs);
  const here = new Set(namedIn(all.filter(({ prNumber }) => prNumber === page)));
  if (here.size === 1) return [...here];
  // What was not sent names no job.
  const told = entries.map(({ jobs, url }) => {
    return { url, ids: namedIn(jobs.filter(({ delivery }) => delivery !== 'not-sent')) };
  });
  const newest = told.findLast(({ ids }) => ids.length > 0);
  if (newest?.ids.length === 1) return newest.ids;
  const creating = entries.find(({ jobs }) =>
    jobs.some(({ id, delivery }) => id === NEW_JOB && delivery !== 'not-sent'),
  );
  if (newest === undefined && creating === undefined) return withoutName(inputs, trigger, true);
  const { url = '' } = newest ?? creating ?? {};
  return stop(newest ? 'several-jobs' : 'other-creation', { url }, 'when fixed');
}

function namedIn(jobs: readonly RecordedJob[]): readonly string[] {
  return jobs.map(({ id }) => id).filter((id) => id !== NEW_JOB);
}

/** `isRead`: whether comments could have named a job. */
function withoutName(
  { createJob, command, comment, prNumber }: Inputs,
  trigger: Trigger,
  isRead: boolean,
): readonly string[] | Stop {
  const { kind, event, sender, conversation } = trigger;
  const skip = (why: string) => stop('no-job-here', { why });
  const unread = comment ? '' : ', and with “comment: false” no comment is read';
  const none = isRead
    ? 'No comment of this action names a job of this project here, and “job-id” is empty'
    : `“job-id” is empty${unread}`;
  const checks = isRead ? '' : sentences(CHECK_NAME, CHECK_OUTPUT);
  // If checks or bots created jobs, the checks of the pull request of one would create the next.
  const isByPerson = sender !== null && isPerson(sender) && !BY_PROGRAMS.has(event);
  const mayCreate = kind !== 'check' && (isTrusted(trigger) || isByPerson);
  if (createJob)
    return mayCreate ? [NEW_JOB] : skip(`${none}; bots, runs and checks create no job.`);
  // Checks also fail on pull requests of people.
  if (kind === 'check') return skip(`${none}.`);
  // A list in a variable may well be empty, and there is nobody who waits for an answer.
  if (!isRead && (prNumber ?? conversation) === null) {
    return skip(
      sentences(`${none}. Set it, or “create-job: true” to create a job in each run.`, checks),
    );
  }
  // Who pushes or sets a clock may know nothing of it; without comments, each run would create one.
  const mayAdvise = isRead && isByPerson && !isTrusted(trigger);
  const creation = mayAdvise ? '“create-job: true” to create a job, or ' : '';
  const reason = sentences(`${none}. Set ${creation}“job-id” to the ID of a job.`, checks);
  const isReview = kind === 'comment' && trigger.comment.kind === 'review' && command === null;
  return isRead && isReview ? skip(reason) : stop('no-job', { why: reason }, 'in a new run');
}
