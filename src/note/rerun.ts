import type { NoteData, NoteJob } from './data.ts';

// Whether a message may be sent, from the notes that are found. A re-run sends only with proof that
// nothing was sent: see the table "Re-runs" of docs/note.md.

/** What identifies a message in all attempts. */
export type Message = Pick<NoteData, 'run' | 'step' | 'leg' | 'command' | 'prompt' | 'attempt'>;

/**
 * What is known of the claim of a command. `pending`: it is still to be made, and decides. `why`: it was not possible.
 * `none`: the message is that of a step or a review, which cannot be claimed.
 */
export type Claim = 'pending' | 'none' | { readonly why: string };

export type Verdict =
  | { readonly kind: 'send' }
  /** An earlier attempt sent it: continue with that message. */
  | { readonly kind: 'resume'; readonly job: NoteJob; readonly isOtherPrompt: boolean }
  /** Another run, step or leg has taken the command. */
  | { readonly kind: 'taken' }
  | { readonly kind: 'refuse'; readonly why: string };

/** 0 is the strongest. */
function strength({ delivery }: NoteJob): number {
  return ['sent', 'unknown', 'sending', 'not-sent'].indexOf(delivery);
}

/** What a re-run does for a job. `notes` are all notes of the project in the conversation. */
export function judge(
  notes: readonly NoteData[],
  message: Message,
  jobId: string,
  claim: Claim,
): Verdict {
  const mine = notes
    .filter((note) => isSame(note, message) && note.attempt !== message.attempt)
    .flatMap((note) => {
      const job = note.jobs.find(({ id }) => id === jobId);
      return job === undefined ? [] : [{ note, job }];
    })
    .sort(
      (one, other) =>
        strength(one.job) - strength(other.job) || other.note.attempt - one.note.attempt,
    );
  const [strongest] = mine;
  const isTwice = new Set(mine.map(({ note }) => note.attempt)).size < mine.length;
  if (strongest?.job.delivery === 'sent' && !isTwice) {
    const isOtherPrompt = strongest.note.prompt !== message.prompt;
    return { kind: 'resume', job: strongest.job, isOtherPrompt };
  }
  if (claim === 'pending') return { kind: 'send' };
  if (isTwice) {
    const why =
      'an earlier attempt ran this step twice (in a reusable workflow or a composite action), and the comments ' +
      'do not tell the two apart';
    return { kind: 'refuse', why };
  }
  if (strongest !== undefined && strongest.job.delivery !== 'not-sent') {
    const attempt = `attempt ${strongest.note.attempt}`;
    const why =
      strongest.job.delivery === 'unknown'
        ? `${attempt} does not know whether it was delivered`
        : `the comment of ${attempt} does not say whether it was sent`;
    return { kind: 'refuse', why };
  }
  if (claim === 'none') return { kind: 'send' };
  const isTaken = notes.some(
    (note) =>
      note.command === message.command &&
      !isSame(note, message) &&
      note.jobs.some(({ delivery }) => delivery !== 'not-sent'),
  );
  return isTaken ? { kind: 'taken' } : { kind: 'refuse', why: claim.why };
}

/** Of the same run, step and leg, and for the same command. */
function isSame(note: NoteData, { run, step, leg, command }: Message): boolean {
  return note.run === run && note.step === step && note.leg === leg && note.command === command;
}

/** The newest message to a job, if its end was not seen; otherwise null. */
export function unfinished(notes: readonly NoteData[], jobId: string): NoteJob | null {
  const named = notes.flatMap(({ jobs }) => jobs).filter(({ id }) => id === jobId);
  const seen = named.map(({ ended, sentAt }) => (ended ? sentAt : 0));
  const newest = named
    .filter(({ delivery }) => delivery === 'sent')
    .toSorted((one, other) => other.sentAt - one.sentAt)[0];
  return newest === undefined || newest.sentAt <= Math.max(...seen) ? null : newest;
}

/** The jobs that the notes name and that certainly exist, the oldest first. */
export function namedJobs(notes: readonly NoteData[]): readonly string[] {
  const jobs = notes
    .flatMap((note) => note.jobs)
    .filter(({ delivery, known }) => known || delivery === 'sent' || delivery === 'unknown');
  return [...new Set(jobs.map(({ id }) => id))];
}
