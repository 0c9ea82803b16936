import type { FoundNote, NoteData, NoteJob } from './data.ts';

// Whether a message may be sent, from the notes that are found. A re-run sends only with proof that
// nothing was sent: see the table "Re-runs" of docs/note.md.

/** What identifies a message in all attempts. */
export type MessageId = Pick<NoteData, 'run' | 'step' | 'leg' | 'command' | 'attempt'>;

/**
 * What is known of the claim of a command. `pending`: it is still to be made, and decides. `why`: it was not possible.
 * `none`: the message is that of a step or a review, which cannot be claimed.
 */
export type Claim = 'pending' | 'none' | { readonly why: string };

export type Verdict =
  | { readonly kind: 'send' }
  /** An earlier attempt sent it. `isOutdone`: a later message to the job was sent, too. */
  | { readonly kind: 'resume'; readonly job: NoteJob; readonly isOutdone: boolean }
  /** Another run, step or leg has taken the command. */
  | { readonly kind: 'taken' }
  /** The notes are those that may say that it was sent. */
  | { readonly kind: 'refuse'; readonly why: string; readonly notes: readonly FoundNote[] };

interface Named {
  readonly note: FoundNote;
  readonly job: NoteJob;
}

/** What a re-run does for a job. `notes` are all notes of the project in the conversation. */
export function judge(
  notes: readonly FoundNote[],
  message: MessageId,
  jobId: string,
  claim: Claim,
): Verdict {
  const mine = namesOf(notes, message, jobId);
  const [strongest] = mine;
  if (strongest?.job.delivery === 'sent') {
    const { job } = strongest;
    return { kind: 'resume', job, isOutdone: isOutdone(notes, strongest) };
  }
  if (claim === 'pending') return { kind: 'send' };
  const found = mine.filter(({ job }) => job.delivery !== 'not-sent').map(({ note }) => note);
  if (strongest !== undefined && strongest.job.delivery !== 'not-sent') {
    const attempt = `attempt ${strongest.note.attempt}`;
    const why =
      strongest.job.delivery === 'unknown'
        ? `${attempt} does not know whether it was delivered`
        : `the comment of ${attempt} does not say whether it was sent`;
    return { kind: 'refuse', why, notes: found };
  }
  if (claim === 'none') return { kind: 'send' };
  return isTakenElsewhere(notes, message)
    ? { kind: 'taken' }
    : { kind: 'refuse', why: claim.why, notes: found };
}

/**
 * The prompt of the message, by its hash: that of the earlier attempts if nothing is left to send, and else that of this
 * one. A comment quotes no other.
 */
export function promptOf(
  notes: readonly FoundNote[],
  message: MessageId,
  jobIds: readonly string[],
  own: string,
): string {
  const strongest = jobIds.map((id) => namesOf(notes, message, id)[0]);
  const [first] = strongest;
  return first !== undefined && strongest.every((named) => named?.job.delivery === 'sent')
    ? first.note.prompt
    : own;
}

/** What other attempts of this message say of a job, the strongest first and of equals the latest. */
function namesOf(notes: readonly FoundNote[], message: MessageId, jobId: string): readonly Named[] {
  return notes
    .filter((note) => isSame(note, message) && note.attempt !== message.attempt)
    .flatMap((note) => note.jobs.filter(({ id }) => id === jobId).map((job) => ({ note, job })))
    .sort(
      (one, other) =>
        strength(one.job) - strength(other.job) || other.note.attempt - one.note.attempt,
    );
}

/** 0 is the strongest. */
function strength({ delivery }: NoteJob): number {
  return ['sent', 'unknown', 'sending', 'not-sent'].indexOf(delivery);
}

/**
 * Whether another message to the job was sent since, or may have been: its comment is below, or it was sent later although
 * its comment is above. Runners may have different times.
 */
function isOutdone(notes: readonly FoundNote[], { note, job }: Named): boolean {
  const own = notes.indexOf(note);
  return notes.some((other, index) => {
    const same = other.jobs.find(({ id }) => id === job.id);
    if (same === undefined || isSame(other, note)) return false;
    return index > own ? same.delivery !== 'not-sent' : same.sentAt > job.sentAt;
  });
}

function isTakenElsewhere(notes: readonly NoteData[], message: MessageId): boolean {
  return notes.some(
    (note) =>
      note.command === message.command &&
      !isSame(note, message) &&
      note.jobs.some(({ delivery }) => delivery !== 'not-sent'),
  );
}

/** Of the same run, step and leg, and for the same command. */
export function isSame(
  note: NoteData,
  { run, step, leg, command }: Omit<MessageId, 'attempt'>,
): boolean {
  return note.run === run && note.step === step && note.leg === leg && note.command === command;
}

/** The jobs that the notes name and that certainly exist, each with the first note that names it, the oldest first. */
export function namedJobs(notes: readonly FoundNote[]): ReadonlyMap<string, FoundNote> {
  const named = new Map<string, FoundNote>();
  for (const note of notes) {
    for (const { id, delivery, known } of note.jobs) {
      const exists = known || delivery === 'sent' || delivery === 'unknown';
      if (exists && !named.has(id)) named.set(id, note);
    }
  }
  return named;
}
