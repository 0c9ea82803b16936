import { BEFORE_CREATION } from '../job/job.ts';
import type { FoundNote, NoteJob } from './record.ts';

// What the jobs of a run have got before, by the notes of the conversation.

interface Known {
  /** When the last message that a person asked for went to all jobs, in milliseconds since 1970; -Infinity for none. */
  readonly since: number;
  /** Whether it may be that a job has got no message here. */
  readonly isNew: boolean;
  /** The kinds and IDs of comments and reviews that have been sent, or may have been. */
  readonly sent: ReadonlySet<string>;
}

/** `isOwn`: whether the conversation is the pull request of the only job, whose text it has written itself. */
export function whatIsKnown(
  notes: readonly FoundNote[],
  jobIds: readonly string[],
  isOwn: boolean,
): Known {
  const sent = notes.filter(({ command, jobs }) => command !== '' && jobs.some(mayHave));
  return {
    since: Math.min(...jobIds.map((id) => lastAsked(notes, id, isOwn))),
    isNew: !isOwn && !jobIds.every((id) => notes.some((note) => hasGot(note, id))),
    sent: new Set(sent.map(({ command }) => command)),
  };
}

/** The comment on the pull request of a job that was created elsewhere tells what was asked there. */
function lastAsked(notes: readonly FoundNote[], jobId: string, isOwn: boolean): number {
  const asked = notes.findLast(
    (note) => note.command !== '' && hasGot(note, jobId) && !(isOwn && hasCreated(note, jobId)),
  );
  return asked === undefined ? -Infinity : Date.parse(asked.createdAt);
}

function hasGot({ jobs }: FoundNote, jobId: string): boolean {
  return jobs.some(({ id, delivery }) => id === jobId && delivery === 'sent');
}

function hasCreated({ jobs }: FoundNote, jobId: string): boolean {
  return jobs.some(({ id, base }) => id === jobId && base === BEFORE_CREATION);
}

function mayHave({ delivery }: NoteJob): boolean {
  return delivery !== 'not-sent';
}
