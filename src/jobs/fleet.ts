import type { SendClass } from '../agent/retry.ts';
import { type End, isFinal, type Job, statusOf } from '../job.ts';
import type { NoteData } from '../note/data.ts';
import { readNotes } from '../note/note.ts';
import { doneEnd, endAs, unwantedEnd } from '../reasons.ts';
import type { Result } from '../text.ts';
import { announce, claim, freshJobs, goOn, recall } from './announce.ts';
import { endJob, isDetailed, type RunContext, save, waitsForIdle } from './context.ts';
import { poll } from './poll.ts';
import { endOfLoop, sendMessage } from './send.ts';
import { waitForAgent, waitForEarlierWork } from './wait.ts';

// All jobs of a step, from the first poll to the end. The way to a message: what earlier attempts did, the
// first poll, the claim of the command, the note, and then each message by itself.

export async function runJobs(run: RunContext): Promise<void> {
  const { jobs, inputs, info } = run;
  if (!inputs.send) {
    save(run);
    await Promise.all(jobs.map((job) => readJob(run, job)));
    return;
  }
  await recall(run);
  const resumed = jobs.filter(({ end, delivery }) => end === null && delivery === 'sent');
  save(run);
  await selectJobs(run);
  if (info.attempt === 1) await claim(run);
  await announce(run);
  save(run);
  const sending = freshJobs(run).map((job) => sendJob(run, job));
  const ending = [
    ...sending.map(async (sent) => finishJob(run, await sent)),
    ...resumed.map((job) => finishJob(run, job)),
  ];
  await Promise.all(sending);
  // If nothing is left to wait for, the last edit follows.
  if (sending.length > 0 && jobs.some(({ end }) => end === null)) run.note?.write();
  save(run);
  await Promise.all(ending);
}

/** Polls the jobs if their status or their pull request decides whether they get the message. */
async function selectJobs(run: RunContext): Promise<void> {
  if (run.inputs.onlyWhen === null && !waitsForIdle(run)) return;
  const select = async (job: Job): Promise<void> => {
    const end = (await poll(run, job)) ?? endOfLoop(run, job) ?? endOfUnwanted(run, job);
    if (end !== null) endJob(run, job, end);
    else job.isWaiting = waitsForIdle(run) && !isFinal(statusOf(job));
  };
  await Promise.all(freshJobs(run).map(select));
}

function endOfUnwanted({ inputs: { onlyWhen } }: RunContext, job: Job): End | null {
  const status = statusOf(job);
  // An undocumented status counts as active: the agent is not done.
  const counted = isFinal(status) ? status : 'active';
  return onlyWhen === null || onlyWhen.has(counted) ? null : unwantedEnd(job, onlyWhen);
}

/** Sends the message to a job, or ends it without one. */
async function sendJob(run: RunContext, job: Job): Promise<Job> {
  const failed: SendClass[] = [];
  let end: End | 'active' | null = 'active';
  while (end === 'active') {
    end = waitsForIdle(run) ? await waitForEarlierWork(run, job) : null;
    end ??= await run.limitSends(() => sendMessage(run, job, failed));
  }
  if (end !== null) endJob(run, job, end);
  run.note?.touch();
  if (isDetailed(run)) save(run);
  return job;
}

/** After the message. Without a wait, that is the end. */
async function finishJob(run: RunContext, job: Job): Promise<void> {
  if (job.end !== null) return;
  endJob(run, job, run.inputs.wait ? await waitForAgent(run, job) : endAs('sent'));
}

/** With `send: false`: gets the status of a job once or, with a wait, until the agent is done. */
async function readJob(run: RunContext, job: Job): Promise<void> {
  let end = await poll(run, job);
  if (end === null && run.inputs.wait) {
    goOn(run, job, run.notes ?? (await notesOfJob(run, job)));
    end = await waitForAgent(run, job);
  }
  endJob(run, job, end ?? (isFinal(statusOf(job)) ? doneEnd(job, null, 0) : endAs('active')));
}

/** The notes on the pull request of the job itself. */
async function notesOfJob(
  { inputs, github, about }: RunContext,
  { record }: Job,
): Promise<Result<readonly NoteData[]> | null> {
  const number = record?.prNumber ?? null;
  if (number === null || !inputs.comment || inputs.githubToken === '') return null;
  return readNotes(github, number, about.project);
}
