import type { FoundNote, NoteData } from './data.ts';
import { isSame } from './rerun.ts';

// What may stop a message because of earlier messages of the same step: their number, and their commit. Pure rules, with
// which the limit is exact for any number of runs at once: each run counts, creates its note, and counts again those
// before its own. docs/permissions.md explains them.

/** What a message is counted by. */
export type Counted = Pick<NoteData, 'step' | 'leg' | 'run' | 'commit'>;

/**
 * The runs of this step that sent a message to the job, or may still send one, since a person last sent it a command.
 * Attempts of one run count once, and this run does not count. `notes` are in the order of their comments.
 */
export function inARow(
  notes: readonly FoundNote[],
  message: Counted,
  jobId: string,
): ReadonlySet<string> {
  const made = withoutResumed(notes, jobId);
  const start = made.findLastIndex(
    (note) => note.command !== '' && !note.byBot && deliveryTo(note, jobId) === 'sent',
  );
  const counted = made.slice(start + 1).filter((note) => isCounted(note, message, jobId));
  return new Set(counted.map(({ run }) => run));
}

/** Whether a message of this step about the same commit was sent to the job, or may still be. */
export function isAboutSameCommit(
  notes: readonly FoundNote[],
  message: Counted,
  jobId: string,
): boolean {
  const { commit } = message;
  return (
    commit !== '' && notes.some((note) => note.commit === commit && isCounted(note, message, jobId))
  );
}

/** Whether a comment below the newest message that counts says already that the limit is reached. */
export function isLimitTold(notes: readonly FoundNote[], message: Counted, jobId: string): boolean {
  const made = withoutResumed(notes, jobId);
  const newest = made.findLastIndex((note) => isCounted(note, message, jobId));
  return made
    .slice(newest + 1)
    .some(
      (note) =>
        isOfStep(note, message) && note.jobs.some(({ id, limited }) => id === jobId && limited),
    );
}

/**
 * Without the notes of re-runs that went on with a message, which stands where it was sent. There, they would start a
 * count, or be counted, although nothing was sent.
 */
function withoutResumed(notes: readonly FoundNote[], jobId: string): readonly FoundNote[] {
  return notes.filter(
    (note, place) =>
      !notes
        .slice(0, place)
        .some((earlier) => isSame(earlier, note) && deliveryTo(earlier, jobId) === 'sent'),
  );
}

/** Whether the note is of another run of the step, and its message to the job was sent, or may still be. */
function isCounted(note: FoundNote, message: Counted, jobId: string): boolean {
  const delivery = deliveryTo(note, jobId);
  const isSent = delivery !== undefined && delivery !== 'not-sent';
  return isSent && isOfStep(note, message) && note.run !== message.run;
}

function isOfStep(note: NoteData, { step, leg }: Counted): boolean {
  return note.step === step && note.leg === leg;
}

function deliveryTo({ jobs }: NoteData, jobId: string): string | undefined {
  return jobs.find(({ id }) => id === jobId)?.delivery;
}
