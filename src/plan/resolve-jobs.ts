import { type Context, complaint, type EarlyEnd, endEarly } from '../context.ts';
import { NEW_JOB } from '../job/job.ts';
import { stop } from '../job/stop-reasons.ts';
import type { Ledger, LedgerEntry } from '../ledger/ledger.ts';
import { isCreating, isSameMessage, type MessageId, type RecordedJob } from '../ledger/record.ts';
import { type Ok, ok, type Result } from '../result.ts';
import { CHECK_NAME, CHECK_OUTPUT, type Inputs } from '../runner/inputs.ts';
import { sentences } from '../text.ts';
import { isPerson } from '../trigger/account.ts';
import { isTrusted } from '../trigger/authorize.ts';
import { BY_PROGRAMS, type Trigger } from '../trigger/trigger.ts';

// Which jobs a run is about: those of `job-id`, the one that the comments there name, or a new one.

/** Where the job is looked for. */
interface Found {
  /** The pull request or issue of which the comments are read; null for none. */
  readonly page: number | null;
  readonly message: MessageId;
  readonly ledger: Result<Ledger>;
}

/** In a re-run, the records of the message itself come first. */
export function resolveJobs(
  { inputs, isRerun, trigger }: Pick<Context, 'inputs' | 'isRerun' | 'trigger'>,
  { page, message, ledger }: Found,
): Ok<readonly string[]> | EarlyEnd {
  if (inputs.jobIds.length > 0) return ok(inputs.jobIds);
  if (page === null) return whenNobodyNames(inputs, page, trigger);
  if (ledger.kind === 'problem') {
    return complaint('job-unknown', ledger.problem, ledger.mayPass);
  }
  const entries = ledger.value;
  const own = entries.filter((entry) => isRerun && isSameMessage(entry, message));
  const sent = own.flatMap(({ jobs }) => namedIn(jobs));
  if (sent.length > 0) return ok([...new Set(sent)]);
  const all = entries.flatMap(({ jobs }) => jobs);
  const here = new Set(namedIn(all.filter(({ prNumber }) => prNumber === page)));
  if (here.size === 1) return ok([...here]);
  const newest = entries.findLast(({ jobs }) => namedIn(jobs.filter(mayHaveGot)).length > 0);
  if (newest !== undefined) return jobOf(newest);
  const creating = entries.find(({ jobs }) => jobs.some(isCreating));
  if (creating === undefined) return whenNobodyNames(inputs, page, trigger);
  const why = stop('other-creation', { url: creating.url }, 'when fixed');
  return endEarly(why, { answer: 'problem' });
}

function namedIn(jobs: readonly RecordedJob[]): readonly string[] {
  return jobs.map(({ id }) => id).filter((id) => id !== NEW_JOB);
}

function mayHaveGot({ delivery }: RecordedJob): boolean {
  return delivery !== 'not-sent';
}

function jobOf({ jobs, url }: LedgerEntry): Ok<readonly string[]> | EarlyEnd {
  const [id, ...others] = namedIn(jobs.filter(mayHaveGot));
  if (id !== undefined && others.length === 0) return ok([id]);
  return endEarly(stop('several-jobs', { url }, 'when fixed'), { answer: 'problem' });
}

const NAMED_LATER =
  'The job of a new pull request is named when the agent is done; use two steps instead, the second with the output “job-id” of the first.';

function whenNobodyNames(
  { createJob, command, prNumber }: Inputs,
  page: number | null,
  trigger: Trigger,
): Ok<readonly string[]> | EarlyEnd {
  const isRead = page !== null;
  const none = isRead
    ? 'No comment of this action names an agent job here, and “job-id” is empty'
    : '“job-id” is empty';
  const later = trigger.event.startsWith('pull_request') && !isByPerson(trigger) ? NAMED_LATER : '';
  const checks = sentences(CHECK_NAME, CHECK_OUTPUT);
  // Checks also fail on pull requests of people.
  if (trigger.kind === 'check') {
    return withoutJob(`${none}${createJob ? '; runs and checks create no job' : ''}.`);
  }
  if (createJob) {
    if (mayCreate(trigger)) return ok([NEW_JOB]);
    const others = BY_PROGRAMS.has(trigger.event) ? `the event “${trigger.event}”` : 'a bot';
    return withoutJob(sentences(`${none}; ${others} creates no job.`, later));
  }
  // A list in a variable may well be empty, and there is nobody who waits for an answer.
  if (!isRead && (prNumber ?? trigger.conversation) === null) {
    const reason = `${none}, so there is no job to send to. Look at the variable or expression that sets it.`;
    return withoutJob(sentences(reason, checks));
  }
  // Who pushes or sets a clock may know nothing of it; and without comments, each run would create
  // a job.
  const mayAdvise = isRead && isByPerson(trigger) && !isTrusted(trigger);
  const creation = mayAdvise ? '“create-job: true” to create a job, or ' : '';
  const remedy = `Set ${creation}“job-id” to the ID of a job.`;
  const reason = sentences(`${none}.`, remedy, later || (isRead ? '' : checks));
  // People also review pull requests of people.
  const isReview = trigger.kind === 'comment' && trigger.comment.kind === 'review';
  return isRead && isReview && command === null ? withoutJob(reason) : complaint('no-job', reason);
}

/** There need not be one. */
function withoutJob(why: string): EarlyEnd {
  return endEarly(stop('no-job-here', { why }));
}

/**
 * A person, or an event that needs push access or a clock. If checks or bots could, the checks of
 * the pull request of a new job would create the next one, without end.
 */
function mayCreate(trigger: Trigger): boolean {
  return isTrusted(trigger) || isByPerson(trigger);
}

function isByPerson({ sender, event }: Trigger): boolean {
  return sender !== null && isPerson(sender) && !BY_PROGRAMS.has(event);
}
