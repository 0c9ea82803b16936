import { messageSender } from '../agent/client.ts';
import { type End, isFinal, type Job, observe, STATUSES, type Status, statusOf } from '../job.ts';
import { ownPullRequest } from '../link.ts';
import type { NoteData } from '../note/data.ts';
import { readNotes } from '../note/note.ts';
import { unfinished } from '../note/rerun.ts';
import { activeEnd, doneEnd, loopEnd, notSentEnd, sentEnd, unwantedEnd } from '../reasons.ts';
import type { Result } from '../text.ts';
import { announce, claim, freshJobs, recall, takeOver } from './announce.ts';
import { endJob, isByBot, type RunContext, save, waitsForIdle } from './context.ts';
import { pollBefore } from './poll.ts';
import { sendMessage } from './send.ts';
import { waitForAgent, waitForEarlierWork } from './wait.ts';

// All jobs of a step, from the first poll to the end. The way to a message: what earlier attempts did, the
// first poll, the claim of the command, the note, and then each message by itself.

export async function runJobs(run: RunContext): Promise<void> {
  const { jobs, inputs } = run;
  if (!inputs.send) {
    save(run, false);
    await Promise.all(jobs.map((job) => readJob(run, job)));
    return;
  }
  recall(run);
  const resumed = jobs.filter(({ end, delivery }) => end === null && delivery === 'sent');
  save(run, false);
  await pollFirst(run);
  await claim(run);
  await announce(run);
  save(run, false);
  const sends = freshJobs(run);
  let left = sends.length;
  const onSent = (): void => {
    save(run, true);
    left -= 1;
    if (left > 0) return;
    // If nothing is left to wait for, the last edit follows.
    if (jobs.some(({ end }) => end === null)) run.note?.write();
    save(run, false);
  };
  await Promise.all([
    ...sends.map((job) => sendJob(run, job, onSent)),
    ...resumed.map(async (job) => {
      endJob(run, job, inputs.wait ? await waitForAgent(run, job) : sentEnd());
    }),
  ]);
}

/** Polls the jobs if their status or their pull request decides whether they get the message. */
async function pollFirst(run: RunContext): Promise<void> {
  const { inputs } = run;
  if (inputs.onlyWhen === null && !waitsForIdle(run)) return;
  const poll = async (job: Job): Promise<void> => {
    const answer = await pollBefore(run, job);
    if (answer.kind === 'polled') {
      leaveOut(run, job);
      job.isWaiting = job.end === null && waitsForIdle(run) && !isFinal(statusOf(job));
    } else {
      endJob(run, job, notSentEnd(job, inputs, answer));
    }
  };
  await Promise.all(freshJobs(run).map(poll));
}

/** Ends a job that gets no message because of what the first poll shows. */
function leaveOut(run: RunContext, job: Job): void {
  const { onlyWhen } = run.inputs;
  // An undocumented status counts as active: the agent is not done.
  const status: Status = STATUSES.find((known) => known === statusOf(job)) ?? 'active';
  if (isLoop(run, job)) endJob(run, job, loopEnd(run.trigger.sender?.login ?? ''));
  else if (onlyWhen !== null && !onlyWhen.has(status)) endJob(run, job, unwantedEnd(job, onlyWhen));
}

/** Whether a bot has triggered the run on the pull request of the job itself. */
function isLoop(run: RunContext, { record }: Job): boolean {
  const number = ownPullRequest(record?.prLink, run.info.repositoryUrl);
  return isByBot(run) && number !== null && number === run.trigger.conversation;
}

/** Sends the message to a job, and waits for the agent. */
async function sendJob(run: RunContext, job: Job, onSent: () => void): Promise<void> {
  const end = await sendWhenIdle(run, job);
  const { wait } = run.inputs;
  if (end !== null) endJob(run, job, end);
  else if (!wait) endJob(run, job, sentEnd());
  run.note?.touch();
  onSent();
  if (end === null && wait) endJob(run, job, await waitForAgent(run, job));
}

/** Null if the message was sent. */
async function sendWhenIdle(run: RunContext, job: Job): Promise<End | null> {
  const { inputs, agent, prompt } = run;
  const post = messageSender(agent, job.id, prompt);
  for (;;) {
    const over = waitsForIdle(run) ? await waitForEarlierWork(run, job) : null;
    if (over !== null) return notSentEnd(job, inputs, over);
    if (isLoop(run, job)) return loopEnd(run.trigger.sender?.login ?? '');
    const end = await run.limitSends(() => sendMessage(run, job, post));
    if (end !== 'active') return end;
  }
}

/** With `send: false`: gets the status of a job once or, with a wait, until the agent is done. */
async function readJob(run: RunContext, job: Job): Promise<void> {
  const { inputs, conversation } = run;
  if (inputs.wait && conversation !== null) {
    goOn(run, job, run.notes);
    endJob(run, job, await waitForAgent(run, job));
    return;
  }
  const answer = await pollBefore(run, job);
  if (answer.kind !== 'polled') {
    endJob(run, job, notSentEnd(job, inputs, answer));
  } else if (!inputs.wait) {
    endJob(run, job, isFinal(statusOf(job)) ? doneEnd(job, null, 0) : activeEnd());
  } else {
    goOn(run, job, await notesOfJob(run, job));
    observe(job, answer.record.status, answer.from, answer.to);
    endJob(run, job, await waitForAgent(run, job));
  }
}

/** Takes over the newest message to the job whose end was not seen. */
function goOn(run: RunContext, job: Job, notes: Result<readonly NoteData[]> | null): void {
  if (notes?.kind === 'problem') {
    run.log.warn(job, `It is not known whether a message is unfinished: ${notes.problem}.`);
  }
  const found = notes?.kind === 'ok' ? unfinished(notes.value, job.id) : null;
  if (found !== null) takeOver(run, job, found);
}

/** The notes on the pull request of the job itself. */
async function notesOfJob(
  { info, inputs, connect, about }: RunContext,
  { record }: Job,
): Promise<Result<readonly NoteData[]> | null> {
  const number = ownPullRequest(record?.prLink, info.repositoryUrl);
  if (number === null || !inputs.comment || inputs.githubToken === '') return null;
  return readNotes(connect, number, about.project);
}
