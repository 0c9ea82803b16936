import { NEW_JOB } from '../job/job.ts';
import { type Details, type Stop, stop } from '../job/stop-reasons.ts';
import type { PullRequestHead } from '../pull-request.ts';
import type { Result } from '../result.ts';
import { listing } from '../text.ts';
import type { CommitTrigger } from '../trigger/trigger.ts';
import type { Ledger, LedgerEntry } from './ledger.ts';
import { isCreating, isSameMessage, type MessageId, type RecordedJob } from './record.ts';

// Whether a message to a job may be sent: one pure rule for re-runs, commits, heads and limits. It is asked twice, before the
// tracking comment and below it, so that it is exact for any number of runs at once. docs/delivery.md explains it.

/** What may stop messages in a row. */
export type Limit =
  | { readonly most: number }
  /** They cannot be counted, so none is sent. */
  | { readonly uncounted: Stop };

export interface Question {
  /** The records that count, or why they are not known. */
  readonly ledger: Result<Ledger>;
  readonly message: MessageId;
  /** Whether an earlier attempt may have sent the message. */
  readonly isRerun: boolean;
  /** Whether comments name the job, and not `job-id`: then an earlier attempt may have taken another one. */
  readonly isJobFound: boolean;
  readonly limit?: Limit | undefined;
  /** How it ends if the commit of the event needs no message any more. */
  readonly outdated?: Stop | undefined;
  /** The word of a command that sends what has failed since; null without one. */
  readonly command: string | null;
}

export type Decision =
  /** `nthInARow`: which message in a row it is, under a limit. */
  | { readonly kind: 'send'; readonly nthInARow?: number }
  /** An earlier attempt sent it. */
  | { readonly kind: 'resume'; readonly sent: RecordedJob }
  /** It is not sent. */
  | {
      readonly kind: 'stop';
      readonly why: Stop;
      /** An earlier attempt may have sent it. */
      readonly isInDoubt?: boolean;
      /** No comment tells it yet, and one has to: people get a mail only of that. */
      readonly isNews?: boolean;
    };

export function decide(question: Question, jobId: string): Decision {
  const { ledger, message, isRerun, limit } = question;
  if (ledger.kind === 'problem') return decideBlindly(question, jobId, ledger);
  const earlier = isRerun ? decideRerun(ledger.value, question, jobId) : undefined;
  if (earlier !== undefined) return earlier;
  const other = jobId === NEW_JOB ? commentOfOtherJob(ledger.value, message) : undefined;
  if (other !== undefined) return stopWith(stop('other-creation', { url: other }, 'when fixed'));
  if (limit !== undefined && 'uncounted' in limit) return stopWith(limit.uncounted);
  return decideNew(ledger.value, question, jobId, limit?.most);
}

function stopWith(why: Stop): Extract<Decision, { kind: 'stop' }> {
  return { kind: 'stop', why };
}

function decideBlindly(
  { message, isRerun, limit }: Question,
  jobId: string,
  { problem, mayPass = false }: Extract<Result<Ledger>, { kind: 'problem' }>,
): Decision {
  if (isRerun) return inDoubt(problem, [], mayPass);
  // Nothing that the records say could stop it.
  const isFree = limit === undefined && message.commit === '' && jobId !== NEW_JOB;
  return isFree
    ? { kind: 'send' }
    : stopWith(stop('no-records', { why: problem }, mayPass ? 'later' : 'when fixed'));
}

/** The URL of a comment that names a job, or may be creating one. Earlier attempts of this message are those of a re-run. */
function commentOfOtherJob(ledger: Ledger, message: MessageId): string | undefined {
  const other = ledger.find(
    (entry) =>
      (entry.attempt === message.attempt || !isSameMessage(entry, message)) &&
      entry.jobs.some((job) => job.id !== NEW_JOB || isCreating(job)),
  );
  return other?.url;
}

/** In the order in which they count: only a message that nothing else stops reaches the limit. */
function decideNew(
  ledger: Ledger,
  { message, outdated, command }: Question,
  jobId: string,
  most: number | undefined,
): Decision {
  const { commit } = message;
  const same = ledger.find(
    (entry) => commit !== '' && entry.commit === commit && isOfOtherRun(entry, message, jobId),
  );
  if (same !== undefined)
    return stopWith(stop('commit-taken', { url: same.url, ...(command !== null && { command }) }));
  if (outdated !== undefined) return stopWith(outdated);
  if (most === undefined) return { kind: 'send' };
  const nthInARow = countSinceCommand(ledger, message, jobId) + 1;
  if (nthInARow <= most) return { kind: 'send', nthInARow };
  return { ...stopWith(stop('limit', { most })), isNews: !isLimitTold(ledger, message, jobId) };
}

/** Why no message about a commit is needed any more, as its pull request shows. */
export function whyOutdated(
  check: CommitTrigger,
  seen: Pick<PullRequestHead, 'number' | 'sha' | 'state'> | undefined,
): Stop | undefined {
  if (seen === undefined) return undefined;
  const { number, sha, state } = seen;
  if (state !== 'open' && check.failure !== null) {
    return stop('pull-request-closed', { number, state });
  }
  return sha === check.sha ? undefined : stop('newer-commits');
}

// Re-runs.

interface Named {
  readonly entry: LedgerEntry;
  readonly job: RecordedJob;
}

/** Undefined if no earlier attempt can have sent the message. */
function decideRerun(ledger: Ledger, question: Question, jobId: string): Decision | undefined {
  const named = earlierAttempts(ledger, question, jobId);
  const [strongest] = named;
  if (strongest === undefined || strongest.job.delivery === 'not-sent') return undefined;
  const { job, entry } = strongest;
  if (job.delivery === 'sent') return { kind: 'resume', sent: job };
  const attempt = `attempt ${entry.attempt}`;
  const why =
    job.delivery === 'unknown'
      ? `${attempt} does not know whether it was delivered`
      : `the comment of ${attempt} does not say whether it was sent`;
  return inDoubt(
    why,
    named.filter(({ job: { delivery } }) => delivery !== 'not-sent'),
  );
}

/** `named`: what says that an earlier attempt may have sent it. */
function inDoubt(why: string, named: readonly Named[], mayPass = false): Decision {
  const details = { why, ...namesToDelete(named) };
  return {
    ...stopWith(stop('earlier-attempt', details, mayPass ? 'later' : 'never')),
    isInDoubt: true,
  };
}

/** The comments to delete for who wants the message to be sent all the same. */
function namesToDelete(named: readonly Named[]): Details {
  if (named.length === 0) return {};
  // Without its comment, another job in it that got the message would get it again.
  const others = named.flatMap(({ entry, job }) => entry.jobs.filter(({ id }) => id !== job.id));
  const isWithOthers = others.some(({ delivery }) => delivery === 'sent');
  const comments = listing(named.map(({ entry }) => entry.url));
  return { comments, count: named.length, isWithOthers: Number(isWithOthers) };
}

/** From the strongest. */
const STRENGTH: readonly RecordedJob['delivery'][] = ['sent', 'unknown', 'sending', 'not-sent'];

/**
 * What other attempts of this message say of a job, the strongest first and of equals the latest. One that was creating a job
 * counts for every job, and every one counts for a creation, and for a job that comments name.
 */
function earlierAttempts(
  ledger: Ledger,
  { message, isJobFound }: Question,
  jobId: string,
): readonly Named[] {
  const isAny = isJobFound || jobId === NEW_JOB;
  return ledger
    .filter((entry) => isSameMessage(entry, message) && entry.attempt !== message.attempt)
    .flatMap((entry) =>
      entry.jobs
        .filter(({ id }) => isAny || id === jobId || id === NEW_JOB)
        .map((job) => ({ entry, job })),
    )
    .sort(
      (one, other) =>
        STRENGTH.indexOf(one.job.delivery) - STRENGTH.indexOf(other.job.delivery) ||
        other.entry.attempt - one.entry.attempt,
    );
}

// Limits and commits.

/** How many messages other runs of this step sent to the job, or may still send, since a person last sent it a command. */
function countSinceCommand(ledger: Ledger, message: MessageId, jobId: string): number {
  const sent = ledger.filter((entry) => mayHaveSent(entry, jobId));
  // Attempts of a message count once, where the earliest stands: a re-run that goes on starts no count, nor is it counted.
  const messages = sent.filter(
    (entry, place) => sent.findIndex((other) => isSameMessage(other, entry)) === place,
  );
  const command = messages.findLastIndex(
    (entry) => entry.command !== '' && !entry.byBot && deliveryTo(entry, jobId) === 'sent',
  );
  return messages.slice(command + 1).filter((entry) => isOfOtherRun(entry, message, jobId)).length;
}

/** Whether it is that of another run of the step, and its message to the job was sent, or may still be. */
function isOfOtherRun(entry: LedgerEntry, { step, run }: MessageId, jobId: string): boolean {
  return mayHaveSent(entry, jobId) && entry.step === step && entry.run !== run;
}

/** Whether the newest record of this step about the job tells the limit. */
export function isLimitTold(ledger: Ledger, { step }: MessageId, jobId: string): boolean {
  const newest = ledger.findLast(
    (entry) => entry.step === step && deliveryTo(entry, jobId) !== undefined,
  );
  return newest?.jobs.some(({ id, limited }) => id === jobId && limited) === true;
}

function mayHaveSent(entry: LedgerEntry, jobId: string): boolean {
  const delivery = deliveryTo(entry, jobId);
  return delivery !== undefined && delivery !== 'not-sent';
}

function deliveryTo({ jobs }: LedgerEntry, jobId: string): RecordedJob['delivery'] | undefined {
  return jobs.find(({ id }) => id === jobId)?.delivery;
}
