import { NEW_JOB } from '../job/job.ts';
import { type FoundNote, isSameMessage, type MessageId, type NoteJob } from '../note/data.ts';
import type { Result } from '../text.ts';

// Whether a message to a job may be sent: one pure rule for re-runs, commits, heads and limits. It is asked twice, before the
// note of the run and after it, so that it is exact for any number of runs at once. docs/delivery.md explains it.

/** What may stop messages in a row. `problem` is a phrase: why they cannot be counted. */
export interface Limit {
  readonly most: number;
  readonly problem?: string;
}

export interface Question {
  /** The notes that count, the oldest first, or why they are not known. */
  readonly notes: Result<readonly FoundNote[]>;
  readonly message: MessageId;
  /** Whether an earlier attempt may have sent the message. */
  readonly isRerun: boolean;
  readonly limit?: Limit;
  /** Whether the event is about a commit that is not the newest of its pull request. */
  readonly isOutdated: boolean;
}

export type Verdict =
  /** `number`: which message in a row it is, under a limit. */
  | { readonly kind: 'send'; readonly number?: number }
  /** An earlier attempt sent it. `laterMessage`: another message to the job may have been sent since. */
  | { readonly kind: 'go on'; readonly sent: NoteJob; readonly laterMessage: boolean }
  /** An earlier attempt may have sent it. The notes are those that say so. */
  | { readonly kind: 'refuse'; readonly why: string; readonly notes: readonly FoundNote[] }
  /** What was sent before is not known, or cannot be counted. */
  | { readonly kind: 'list failed' | 'cannot count'; readonly why: string }
  | { readonly kind: 'same commit'; readonly url: string }
  | { readonly kind: 'newer commit' }
  | { readonly kind: 'other creation'; readonly url: string }
  /** `isTold`: the newest note of the step about the job says it already. */
  | { readonly kind: 'limit'; readonly most: number; readonly isTold: boolean };

export function decide(question: Question, jobId: string): Verdict {
  const { notes, isRerun, limit } = question;
  if (notes.kind === 'problem') {
    const why = notes.problem;
    return isRerun ? { kind: 'refuse', why, notes: [] } : { kind: 'list failed', why };
  }
  const earlier = isRerun ? decideRerun(notes.value, question.message, jobId) : undefined;
  if (earlier !== undefined) return earlier;
  const other = jobId === NEW_JOB ? noteOfOtherJob(notes.value, question.message) : undefined;
  if (other !== undefined) return { kind: 'other creation', url: other.url };
  if (limit?.problem !== undefined) return { kind: 'cannot count', why: limit.problem };
  return decideNew(notes.value, question, jobId);
}

/** A note that names a job, or that may be creating one. Earlier attempts of this message are those of a re-run. */
function noteOfOtherJob(notes: readonly FoundNote[], message: MessageId): FoundNote | undefined {
  return notes.find(
    (note) =>
      (note.attempt === message.attempt || !isSameMessage(note, message)) &&
      note.jobs.some(({ id, delivery }) => id !== NEW_JOB || delivery !== 'not-sent'),
  );
}

/** In the order in which they count: only a message that nothing else stops reaches the limit. */
function decideNew(
  notes: readonly FoundNote[],
  { message, limit, isOutdated }: Question,
  jobId: string,
): Verdict {
  const same = noteAboutCommit(notes, message, jobId);
  if (same !== undefined) return { kind: 'same commit', url: same.url };
  if (isOutdated) return { kind: 'newer commit' };
  if (limit === undefined) return { kind: 'send' };
  const number = runsSinceCommand(notes, message, jobId).size + 1;
  if (number <= limit.most) return { kind: 'send', number };
  return { kind: 'limit', most: limit.most, isTold: isLimitTold(notes, message, jobId) };
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
      const found = mine.filter(({ job }) => job.delivery !== 'not-sent');
      return { kind: 'refuse', why, notes: found.map(({ note }) => note) };
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

function isLimitTold(notes: readonly FoundNote[], { step }: MessageId, jobId: string): boolean {
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
