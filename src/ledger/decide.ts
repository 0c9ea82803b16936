import { NEW_JOB } from '../job/job.ts';
import { type Stop, stop } from '../job/stop-reasons.ts';
import type { PullRequestHead } from '../pull-request.ts';
import { listing } from '../text.ts';
import type { CommitTrigger } from '../trigger/trigger.ts';
import type { Result } from '../value-or-problem.ts';
import type { Ledger, LedgerEntry } from './ledger.ts';
import { isSameMessage, type MessageId, type RecordedJob } from './record.ts';

// Whether a message to a job may be sent: one pure rule for re-runs, commits and limits. It is
// asked before the tracking comment and below it, and so exact for any number of runs at once.

/** What may stop messages in a row; `uncounted`: they cannot be counted, so none is sent. */
export type Limit = { readonly most: number } | { readonly uncounted: Stop };

export interface Question {
  readonly ledger: Result<Ledger>;
  readonly message: MessageId;
  readonly isRerun: boolean;
  /** Whether comments name the job: then an earlier attempt may have taken another one. */
  readonly isJobFound: boolean;
  readonly limit?: Limit | undefined;
  readonly outdated?: Stop | undefined;
  /** The word of a command that sends what has failed since; null without one. */
  readonly command: string | null;
}

export type Decision =
  | { readonly kind: 'send'; readonly nthInARow?: number }
  | { readonly kind: 'resume'; readonly sent: RecordedJob }
  | {
      readonly kind: 'stop';
      readonly why: Stop;
      readonly isInDoubt?: boolean;
      /** No comment tells it yet, and one has to: people get a mail only of that. */
      readonly isNews?: boolean;
    };

export function decide(question: Question, jobId: string): Decision {
  const { ledger, message, isRerun, limit } = question;
  if (ledger.kind === 'problem') {
    const { problem, mayPass } = ledger;
    if (isRerun) return inDoubt(problem, [], mayPass);
    // Nothing that the records say could stop it.
    if (limit === undefined && message.commit === '' && jobId !== NEW_JOB) return { kind: 'send' };
    return refuse(stop('no-records', { why: problem }, mayPass ? 'later' : 'when fixed'));
  }
  const decided = isRerun ? decideRerun(ledger.value, question, jobId) : undefined;
  return decided ?? decideNew(ledger.value, question, jobId);
}

function refuse(why: Stop) {
  return { kind: 'stop', why } as const;
}

/** In the order in which they count: only a message that nothing else stops reaches the limit. */
function decideNew(ledger: Ledger, question: Question, jobId: string): Decision {
  const { message, limit, outdated, command } = question;
  if (jobId === NEW_JOB) {
    // A re-run has looked at the attempts of its own message.
    const other = ledger.find(
      (entry) =>
        (entry.attempt === message.attempt || !isSameMessage(entry, message)) &&
        entry.jobs.some(({ delivery }) => delivery !== 'not-sent'),
    );
    if (other) return refuse(stop('other-creation', { url: other.url }, 'when fixed'));
  }
  if (limit !== undefined && 'uncounted' in limit) return refuse(limit.uncounted);
  const others = ledger.filter((entry) => isOfOtherRun(entry, message, jobId));
  const same = others.find(({ commit }) => commit !== '' && commit === message.commit);
  if (same !== undefined) {
    return refuse(stop('commit-taken', { url: same.url, ...(command !== null && { command }) }));
  }
  if (outdated !== undefined) return refuse(outdated);
  if (limit === undefined) return { kind: 'send' };
  const nthInARow = countSinceCommand(ledger, message, jobId) + 1;
  if (nthInARow <= limit.most) return { kind: 'send', nthInARow };
  return { ...refuse(stop('limit', limit)), isNews: !isLimitTold(ledger, message, jobId) };
}

export function whyOutdated(
  { sha, failure }: CommitTrigger,
  seen: Pick<PullRequestHead, 'number' | 'sha' | 'state'> | undefined,
): Stop | undefined {
  if (seen === undefined) return undefined;
  const { number, state } = seen;
  if (failure !== null && state !== 'open') return stop('pull-request-closed', { number, state });
  return seen.sha === sha ? undefined : stop('newer-commits');
}

const STRENGTH: readonly RecordedJob['delivery'][] = ['sent', 'unknown', 'sending', 'not-sent'];

// Of what other attempts of this message say of a job, the strongest counts and, of equals, the
// latest. A creation counts for every job, and every job for a creation.
function decideRerun(
  ledger: Ledger,
  { message, isJobFound }: Question,
  jobId: string,
): Decision | undefined {
  const isAny = isJobFound || jobId === NEW_JOB;
  const named = ledger
    .filter((entry) => isSameMessage(entry, message) && entry.attempt !== message.attempt)
    .flatMap((entry) => entry.jobs.map((job) => ({ entry, job })))
    .filter(({ job: { id } }) => isAny || id === jobId || id === NEW_JOB)
    .filter(({ job }) => job.delivery !== 'not-sent')
    .sort(
      (one, other) =>
        STRENGTH.indexOf(one.job.delivery) - STRENGTH.indexOf(other.job.delivery) ||
        other.entry.attempt - one.entry.attempt,
    );
  const [strongest] = named;
  if (strongest === undefined) return undefined;
  const { job, entry } = strongest;
  if (job.delivery === 'sent') return { kind: 'resume', sent: job };
  const why =
    job.delivery === 'unknown'
      ? `attempt ${entry.attempt} does not know whether it was delivered`
      : `the comment of attempt ${entry.attempt} does not say whether it was sent`;
  return inDoubt(why, named);
}

/** `named`: what to delete for who wants the message to be sent all the same. */
function inDoubt(
  why: string,
  named: readonly { readonly entry: LedgerEntry; readonly job: RecordedJob }[],
  mayPass = false,
): Decision {
  // Without its comment, another job in it that got the message would get it again.
  const others = named.flatMap(({ entry, job }) => entry.jobs.filter(({ id }) => id !== job.id));
  const isWithOthers = others.some(({ delivery }) => delivery === 'sent');
  const comments = listing(named.map(({ entry }) => entry.url));
  const toDelete = { comments, count: named.length, isWithOthers: Number(isWithOthers) };
  const details = { why, ...(named.length > 0 && toDelete) };
  const doubt = stop('earlier-attempt', details, mayPass ? 'later' : 'never');
  return { ...refuse(doubt), isInDoubt: true };
}

/** How many messages other runs of this step sent, or may still send, since a person's command. */
function countSinceCommand(ledger: Ledger, message: MessageId, jobId: string): number {
  const sent = ledger.filter((entry) => deliveryTo(entry, jobId) !== 'not-sent');
  // Attempts of a message count once, where the earliest stands.
  const messages = sent.filter((entry) => entry === sent.find((one) => isSameMessage(one, entry)));
  const command = messages.findLastIndex(
    (entry) => entry.command !== '' && !entry.byBot && deliveryTo(entry, jobId) === 'sent',
  );
  return messages.slice(command + 1).filter((entry) => isOfOtherRun(entry, message, jobId)).length;
}

function isOfOtherRun(entry: LedgerEntry, { step, run }: MessageId, jobId: string): boolean {
  return deliveryTo(entry, jobId) !== 'not-sent' && entry.step === step && entry.run !== run;
}

export function isLimitTold(ledger: Ledger, { step }: MessageId, jobId: string): boolean {
  const ofStep = ledger.filter((entry) => entry.step === step).flatMap(({ jobs }) => jobs);
  return ofStep.findLast(({ id }) => id === jobId)?.limited === true;
}

function deliveryTo({ jobs }: LedgerEntry, jobId: string): RecordedJob['delivery'] {
  return jobs.find(({ id }) => id === jobId)?.delivery ?? 'not-sent';
}

/** In which a run may still write its last record after its deadline. */
const LAST_RECORD_MS = 60_000;

// Messages to a job go out in the order of their comments: what stands above may be at work, or be
// sent before. That of a killed run counts until its deadline.
export function messageBefore(
  above: Ledger,
  { message, jobId, now }: { message: MessageId; jobId: string; now: number },
): LedgerEntry | undefined {
  const isOpen = ({ id, delivery, ended }: RecordedJob): boolean =>
    id === jobId && ended === undefined && (delivery === 'sending' || delivery === 'sent');
  return above.findLast((entry) => {
    const isLive = now < (entry.deadline ?? 0) + LAST_RECORD_MS;
    // Legs of a matrix share a message, but an attempt waits for none of its own.
    const isEarlier = isSameMessage(entry, message) && entry.attempt !== message.attempt;
    return isLive && !isEarlier && entry.jobs.some(isOpen);
  });
}
