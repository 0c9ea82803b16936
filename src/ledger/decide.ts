import { type Again, askAgain } from '../job/explain.ts';
import { NEW_JOB } from '../job/job.ts';
import { type End, endAs } from '../job/outcome.ts';
import type { PullRequestHead } from '../pull-request.ts';
import { listing, type Result } from '../text.ts';
import type { CommitTrigger } from '../trigger/payload.ts';
import {
  type FoundNote,
  isCreating,
  isSameMessage,
  type MessageId,
  type NoteJob,
} from './record.ts';

// Whether a message to a job may be sent: one pure rule for re-runs, commits, heads and limits. It is asked twice, before the
// note of the run and after it, so that it is exact for any number of runs at once. docs/delivery.md explains it.

/** What may stop messages in a row. */
export type Limit =
  | { readonly most: number }
  /** They cannot be counted, so none is sent. */
  | { readonly uncounted: End };

export interface Question {
  /** The notes that count, the oldest first, or why they are not known. */
  readonly notes: Result<readonly FoundNote[]>;
  readonly message: MessageId;
  /** Whether an earlier attempt may have sent the message. */
  readonly isRerun: boolean;
  readonly limit?: Limit;
  /** What people do for a message that was not sent. */
  readonly again: Again['start'];
  /** How it ends if the commit of the event needs no message any more. */
  readonly past?: End | undefined;
  /** The word of a command that sends what has failed since; null without one. */
  readonly command: string | null;
}

export type Verdict =
  /** `nthInARow`: which message in a row it is, under a limit. */
  | { readonly kind: 'send'; readonly nthInARow?: number }
  /** An earlier attempt sent it. `laterMessage`: another message to the job may have been sent since. */
  | { readonly kind: 'go on'; readonly sent: NoteJob; readonly laterMessage: boolean }
  /** An earlier attempt may have sent it. */
  | { readonly kind: 'in doubt'; readonly end: End }
  /** It is not sent. `isNews`: no comment tells it yet, and one has to. */
  | { readonly kind: 'end'; readonly end: End; readonly isNews: boolean };

function endWith(end: End, isNews = false): Verdict {
  return { kind: 'end', end, isNews };
}

export function decide(question: Question, jobId: string): Verdict {
  const { notes, isRerun, limit } = question;
  if (notes.kind === 'problem') {
    const { problem: why, mayPass = false } = notes;
    if (isRerun) return inDoubt(why, [], mayPass);
    // Nothing that they say could stop it.
    const isFree = limit === undefined && question.message.commit === '' && jobId !== NEW_JOB;
    if (isFree) return { kind: 'send' };
    const start = askAgain(question.again, mayPass);
    return endWith(endAs('not known what was sent', why, start));
  }
  const earlier = isRerun ? decideRerun(notes.value, question.message, jobId) : undefined;
  if (earlier !== undefined) return earlier;
  const other = jobId === NEW_JOB ? noteOfOtherJob(notes.value, question.message) : undefined;
  if (other !== undefined) {
    return endWith(endAs('other creation', other.url, askAgain(question.again, false)));
  }
  if (limit !== undefined && 'uncounted' in limit) return endWith(limit.uncounted);
  return decideNew(notes.value, { ...question, limit }, jobId);
}

/** `notes`: those that say that an earlier attempt may have sent it, each with the job. */
function inDoubt(why: string, named: readonly Named[], mayPass = false): Verdict {
  return { kind: 'in doubt', end: endAs('refused', why, mayPass, remedyOf(named)) };
}

/** What people do who want the message to be sent all the same. */
function remedyOf(named: readonly Named[]): string {
  if (named.length === 0) return 'To send the message all the same, start a new run.';
  // Without its comment, another job in it that got the message would get it again.
  const others = named.flatMap(({ note, job }) => note.jobs.filter(({ id }) => id !== job.id));
  if (others.some(({ delivery }) => delivery === 'sent')) {
    return 'To send the message all the same, start a new run with this job alone.';
  }
  const urls = listing(named.map(({ note }) => note.url));
  const what = named.length === 1 ? 'the comment' : 'the comments';
  return `To send the message all the same, delete ${what} ${urls}, and re-run the workflow.`;
}

/** A note that names a job, or that may be creating one. Earlier attempts of this message are those of a re-run. */
function noteOfOtherJob(notes: readonly FoundNote[], message: MessageId): FoundNote | undefined {
  return notes.find(
    (note) =>
      (note.attempt === message.attempt || !isSameMessage(note, message)) &&
      note.jobs.some((job) => job.id !== NEW_JOB || isCreating(job)),
  );
}

/** In the order in which they count: only a message that nothing else stops reaches the limit. */
function decideNew(
  notes: readonly FoundNote[],
  { message, limit, past, command }: NewQuestion,
  jobId: string,
): Verdict {
  const same = noteAboutCommit(notes, message, jobId);
  if (same !== undefined) return endWith(endAs('same commit', same.url, command));
  if (past !== undefined) return endWith(past);
  if (limit === undefined) return { kind: 'send' };
  const nthInARow = runsSinceCommand(notes, message, jobId).size + 1;
  if (nthInARow <= limit.most) return { kind: 'send', nthInARow };
  return endWith(endAs('limit', limit.most), !isLimitTold(notes, message, jobId));
}

/** Why no message about a commit is needed any more, as its pull request shows. */
export function whyPast(
  check: CommitTrigger,
  seen: Pick<PullRequestHead, 'number' | 'sha' | 'state'> | undefined,
): End | undefined {
  if (seen === undefined) return undefined;
  const { number, sha, state } = seen;
  if (state !== 'open' && check.failure !== null) {
    return endAs('pull request is over', number, state);
  }
  return sha === check.sha ? undefined : endAs('newer commits');
}

interface NewQuestion extends Pick<Question, 'message' | 'past' | 'command'> {
  readonly limit: Extract<Limit, { most: number }> | undefined;
}

// Re-runs.

interface Named {
  readonly note: FoundNote;
  readonly job: NoteJob;
}

/** Undefined if no earlier attempt can have sent the message. */
function decideRerun(
  notes: readonly FoundNote[],
  message: MessageId,
  jobId: string,
): Verdict | undefined {
  const mine = namesOf(notes, message, jobId);
  const [strongest] = mine;
  switch (strongest?.job.delivery) {
    case undefined:
    case 'not-sent':
      return undefined;
    case 'sent':
      return {
        kind: 'go on',
        sent: strongest.job,
        laterMessage: hasLaterMessage(notes, strongest),
      };
    case 'unknown':
    case 'sending': {
      const attempt = `attempt ${strongest.note.attempt}`;
      const why =
        strongest.job.delivery === 'unknown'
          ? `${attempt} does not know whether it was delivered`
          : `the comment of ${attempt} does not say whether it was sent`;
      return inDoubt(
        why,
        mine.filter(({ job }) => job.delivery !== 'not-sent'),
      );
    }
  }
}

/** From the strongest. */
const STRENGTH: readonly NoteJob['delivery'][] = ['sent', 'unknown', 'sending', 'not-sent'];

/**
 * What other attempts of this message say of a job, the strongest first and of equals the latest. One that was creating a job
 * counts for every job, and every one counts for a creation.
 */
function namesOf(notes: readonly FoundNote[], message: MessageId, jobId: string): readonly Named[] {
  return notes
    .filter((note) => isSameMessage(note, message) && note.attempt !== message.attempt)
    .flatMap((note) =>
      note.jobs
        .filter(({ id }) => id === jobId || id === NEW_JOB || jobId === NEW_JOB)
        .map((job) => ({ note, job })),
    )
    .sort(
      (one, other) =>
        STRENGTH.indexOf(one.job.delivery) - STRENGTH.indexOf(other.job.delivery) ||
        other.note.attempt - one.note.attempt,
    );
}

/** Whether each earlier attempt has a note that names the job, and none of them may have sent the message to it. */
export function isKnownUnsent(
  notes: readonly FoundNote[],
  message: MessageId,
  jobId: string,
): boolean {
  const named = namesOf(notes, message, jobId);
  const attempts = new Set(named.map(({ note }) => note.attempt));
  const areAll = attempts.size === message.attempt - 1;
  return areAll && named.every(({ job }) => job.delivery === 'not-sent');
}

/**
 * Whether another message to the job was sent since, or may have been: its comment is below, or it was sent later although
 * its comment is above. Runners may have different times.
 */
function hasLaterMessage(notes: readonly FoundNote[], { note, job }: Named): boolean {
  const own = notes.indexOf(note);
  return notes.some((other, place) => {
    const same = other.jobs.find(({ id }) => id === job.id);
    if (same === undefined || isSameMessage(other, note)) return false;
    return place > own ? same.delivery !== 'not-sent' : (same.sentAt ?? 0) > (job.sentAt ?? 0);
  });
}

// Limits and commits.

/**
 * The runs of this step that sent a message to the job, or may still send one, since a person last sent it a command.
 * Attempts of one run count once, and this run does not count.
 */
function runsSinceCommand(
  notes: readonly FoundNote[],
  message: MessageId,
  jobId: string,
): ReadonlySet<string> {
  const made = withoutGoingOn(notes, jobId);
  const command = made.findLastIndex(
    (note) => note.command !== '' && !note.byBot && deliveryTo(note, jobId) === 'sent',
  );
  const counted = made.slice(command + 1).filter((note) => isCounted(note, message, jobId));
  return new Set(counted.map(({ run }) => run));
}

/** The note of a message of this step about the same commit that was sent to the job, or may still be. */
function noteAboutCommit(
  notes: readonly FoundNote[],
  message: MessageId,
  jobId: string,
): FoundNote | undefined {
  if (message.commit === '') return undefined;
  return notes.find((note) => note.commit === message.commit && isCounted(note, message, jobId));
}

/** Whether the newest note of this step about the job tells the limit. */
export function isLimitTold(
  notes: readonly FoundNote[],
  { step }: MessageId,
  jobId: string,
): boolean {
  const newest = notes.findLast(
    (note) => note.step === step && deliveryTo(note, jobId) !== undefined,
  );
  return newest?.jobs.some(({ id, limited }) => id === jobId && limited) === true;
}

/**
 * Without the notes of re-runs that went on with a message, which stands where it was sent. There, they would start a
 * count, or be counted, although nothing was sent. The earlier note may still say `sending`, if its last edit is late.
 */
function withoutGoingOn(notes: readonly FoundNote[], jobId: string): readonly FoundNote[] {
  return notes.filter(
    (note, place) =>
      !notes
        .slice(0, place)
        .some(
          (earlier) =>
            isSameMessage(earlier, note) &&
            earlier.attempt < note.attempt &&
            mayHaveSent(earlier, jobId),
        ),
  );
}

function mayHaveSent(note: FoundNote, jobId: string): boolean {
  const delivery = deliveryTo(note, jobId);
  return delivery !== undefined && delivery !== 'not-sent';
}

/** Whether the note is of another run of the step, and its message to the job was sent, or may still be. */
function isCounted(note: FoundNote, { step, run }: MessageId, jobId: string): boolean {
  return mayHaveSent(note, jobId) && note.step === step && note.run !== run;
}

function deliveryTo({ jobs }: FoundNote, jobId: string): NoteJob['delivery'] | undefined {
  return jobs.find(({ id }) => id === jobId)?.delivery;
}
