import { isFinal, type Job, statusOf } from '../job.ts';
import { ownPullRequest } from '../link.ts';
import type { NoteData } from '../note/data.ts';
import { readNotes } from '../note/note.ts';
import { unfinished } from '../note/rerun.ts';
import type { Result } from '../result.ts';
import { pollBefore } from './poll.ts';
import { activeEnd, doneEnd, notSentEnd, sentEnd } from './reasons.ts';
import { observePoll, waitForAgent } from './wait.ts';
import { endJob, type Work } from './work.ts';

// Jobs that get no message from this attempt: with `send: false`, or because an earlier attempt sent it.

/** Goes on with the message of an earlier attempt. */
export async function resumeJob(work: Work, job: Job, hasEnded: boolean): Promise<void> {
  const { wait } = work.context.inputs;
  endJob(work, job, wait ? await waitForAgent(work, job, hasEnded) : sentEnd());
}

/** Gets the status of a job once or, with a wait, until the agent is done. */
export async function readJob(work: Work, job: Job): Promise<void> {
  const { inputs, conversation, agent } = work.context;
  if (inputs.wait && conversation !== null) {
    goOn(job, work.context.notes, agent.clock.now());
    endJob(work, job, await waitForAgent(work, job));
    return;
  }
  const answer = await pollBefore(work, job);
  if (answer.kind !== 'polled') {
    endJob(work, job, notSentEnd(job, inputs, answer));
  } else if (!inputs.wait) {
    const isDone = isFinal(statusOf(job));
    endJob(work, job, isDone ? doneEnd(job, null, 0) : activeEnd());
  } else {
    goOn(job, await notesOfJob(work, job), agent.clock.now());
    observePoll(job, answer);
    endJob(work, job, await waitForAgent(work, job));
  }
}

/** Takes over the newest message to the job whose end was not seen. */
function goOn(job: Job, notes: Result<readonly NoteData[]> | null, now: number): void {
  const found = notes?.kind === 'ok' ? unfinished(notes.value, job.id) : null;
  if (found === null) return;
  job.sentAt = Math.min(found.sentAt ?? now, now);
  job.evidence = found.evidence ?? false;
  if (found.base !== undefined) job.base = { status: found.base };
}

/** The notes on the pull request of the job itself. */
async function notesOfJob(
  { context }: Work,
  { record }: Job,
): Promise<Result<readonly NoteData[]> | null> {
  const { info, inputs, connect, about } = context;
  const number = ownPullRequest(record?.prLink, info.repositoryUrl);
  if (number === null || !inputs.comment || inputs.githubToken === '') return null;
  return readNotes(connect, number, about.project);
}
