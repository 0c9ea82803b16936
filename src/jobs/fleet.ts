import { messageSender, type Polled } from '../agent/client.ts';
import { isAboutJobs } from '../github/event.ts';
import { type End, isFinal, type Job, STATUSES, type Status, statusOf } from '../job.ts';
import { ownPullRequest } from '../link.ts';
import type { NoteData } from '../note/data.ts';
import { readNotes } from '../note/note.ts';
import { unfinished } from '../note/rerun.ts';
import { activeEnd, doneEnd, loopEnd, notSentEnd, sentEnd, unwantedEnd } from '../reasons.ts';
import type { Result } from '../text.ts';
import { announce, claim, freshJobs, type Resumed, recall } from './announce.ts';
import { readChangesBefore } from './changes.ts';
import { endJob, isByBot, type RunContext, waitsForIdle } from './context.ts';
import { pollBefore } from './poll.ts';
import { sendMessage } from './send.ts';
import { observePoll, waitForAgent, waitForEarlierWork } from './wait.ts';

// All jobs of a step, from the first poll to the end. The way to a message: what earlier attempts did, the
// first poll, the claim of the command, the note, and then each message by itself.

export async function runJobs(run: RunContext): Promise<void> {
  const { jobs, inputs } = run;
  if (!inputs.send) {
    run.save(false);
    await Promise.all(jobs.map((job) => readJob(run, job)));
    return;
  }
  const resumed = recall(run);
  run.save(false);
  const polls = await pollFirst(run);
  await claim(run);
  await announce(run, polls);
  run.save(false);
  const sends = freshJobs(run);
  let left = sends.length;
  const onSent = (): void => {
    run.save(true);
    left -= 1;
    if (left > 0) return;
    // If nothing is left to wait for, the last edit follows.
    if (jobs.some(({ end }) => end === null)) run.note?.write();
    run.save(false);
  };
  await Promise.all([
    ...sends.map((job) => sendJob(run, job, polls.get(job) ?? null, onSent)),
    ...resumed.map((one) => resumeJob(run, one)),
  ]);
}

/** Polls the jobs if their status or their pull request decides whether they get the message. */
async function pollFirst(run: RunContext): Promise<Map<Job, Polled>> {
  const { inputs } = run;
  const polls = new Map<Job, Polled>();
  if (inputs.onlyWhen === null && !waitsForIdle(run)) return polls;
  const poll = async (job: Job): Promise<void> => {
    const answer = await pollBefore(run, job);
    if (answer.kind === 'polled') {
      polls.set(job, answer);
      leaveOut(run, job);
      job.isWaiting = job.end === null && waitsForIdle(run) && !isFinal(statusOf(job));
    } else {
      endJob(run, job, notSentEnd(job, inputs, answer));
    }
  };
  await Promise.all(freshJobs(run).map(poll));
  return polls;
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

/** Sends the message to a job, and waits for the agent. `polled` is its first poll, if there was one. */
async function sendJob(
  run: RunContext,
  job: Job,
  polled: Polled | null,
  onSent: () => void,
): Promise<void> {
  const end = await sendWhenIdle(run, job, polled);
  const { wait } = run.inputs;
  if (end !== null) endJob(run, job, end);
  else if (!wait) endJob(run, job, sentEnd());
  run.note?.touch();
  onSent();
  if (end === null && wait) endJob(run, job, await waitForAgent(run, job));
}

/** Null if the message was sent. */
async function sendWhenIdle(run: RunContext, job: Job, polled: Polled | null): Promise<End | null> {
  const { inputs, trigger, agent, prompt } = run;
  const post = messageSender(agent, job.id, prompt);
  const showsPullRequest = inputs.comment && inputs.prNumber === null && isAboutJobs(trigger);
  let newest = polled;
  for (;;) {
    const earlier = waitsForIdle(run) ? await waitForEarlierWork(run, job) : null;
    if (earlier !== null && earlier.kind !== 'polled') return notSentEnd(job, inputs, earlier);
    // What the agent has pushed for the earlier work does not count.
    if (earlier !== null) await readChangesBefore(run, job);
    if (isLoop(run, job)) return loopEnd(trigger.sender?.login ?? '');
    newest = earlier ?? newest;
    const basePolls =
      inputs.wait || waitsForIdle(run)
        ? 'fresh'
        : newest !== null || showsPullRequest
          ? 'once'
          : 'none';
    const from = newest;
    const end = await run.limitSends(() => sendMessage(run, job, post, basePolls, from));
    if (end !== 'active') return end;
  }
}

/** Continues with the message of an earlier attempt. */
async function resumeJob(run: RunContext, { job, hasEnded }: Resumed): Promise<void> {
  endJob(run, job, run.inputs.wait ? await waitForAgent(run, job, hasEnded) : sentEnd());
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
    observePoll(job, answer);
    endJob(run, job, await waitForAgent(run, job));
  }
}

/** Takes over the newest message to the job whose end was not seen. */
function goOn(run: RunContext, job: Job, notes: Result<readonly NoteData[]> | null): void {
  const now = run.agent.clock.now();
  if (notes?.kind === 'problem') {
    run.log.warn(job, `It is not known whether a message is unfinished: ${notes.problem}.`);
  }
  const found = notes?.kind === 'ok' ? unfinished(notes.value, job.id) : null;
  if (found === null) return;
  job.sentAt = Math.min(found.sentAt ?? now, now);
  job.evidence = found.evidence ?? false;
  if (found.base !== undefined) job.base = { status: found.base };
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
