import { type End, isFinal, type Job, statusOf, waits } from '../job.ts';
import { doneEnd, endAs, unwantedEnd } from '../reasons.ts';
import { claim } from './claim.ts';
import { announce } from './comments.ts';
import { canStillSend, endJob, type Outcome, type Run, save, unsentJobs } from './context.ts';
import { stopOvertaken, stopRepeated, stopUncounted } from './limits.ts';
import { poll } from './poll.ts';
import { followEarlierAttempts } from './rerun.ts';
import { endOfLoop, sendMessage } from './send.ts';
import { waitForAgent, waitForEarlierWork } from './wait.ts';

// All jobs of a step, from the first poll to the end. The way to a message: what earlier attempts did, the
// first poll, the claim of the command, the note, and then each message by itself.

export async function runJobs(run: Run): Promise<void> {
  if (!run.inputs.send) return readJobs(run);
  if (run.plan.isRerun) await followEarlierAttempts(run);
  stopUncounted(run);
  save(run);
  if (run.plan.pollsFirst) await Promise.all(unsentJobs(run).map((job) => selectJob(run, job)));
  stopRepeated(run);
  endLate(run);
  // In a re-run, the claim came first.
  if (run.plan.claims && !run.plan.isRerun) await claim(run);
  endLate(run);
  await announce(run);
  await stopOvertaken(run);
  const sends = new Map(unsentJobs(run).map((job) => [job, sendToJob(run, job)]));
  const ends = run.jobs.map(async (job) => {
    await sends.get(job);
    if (job.end === null) await finishJob(run, job);
  });
  await Promise.all(sends.values());
  save(run);
  // If nothing is left to wait for, the last edit follows.
  if (sends.size > 0 && run.jobs.some(({ end }) => end === null)) run.note?.write();
  await Promise.all(ends);
}

/** The first poll decides which jobs get the message, and which ones have to wait. */
async function selectJob(run: Run, job: Job): Promise<void> {
  const polled = await poll(run, job);
  const end =
    polled.kind === 'over' ? polled.end : (endOfLoop(run, job) ?? endOfUnwanted(run, job));
  if (end !== null) endJob(run, job, end);
  else waits(job, run.plan.waitsForIdle && !isFinal(statusOf(job)));
}

/** Null if `only-when` does not leave the job out. */
function endOfUnwanted({ inputs: { onlyWhen } }: Run, job: Job): End | null {
  const status = statusOf(job);
  // An undocumented status counts as active: the agent is not done.
  const counted = isFinal(status) ? status : 'active';
  return onlyWhen === null || onlyWhen.has(counted) ? null : unwantedEnd(job, onlyWhen);
}

/** Ends the jobs whose message can no longer be sent. */
function endLate(run: Run): void {
  for (const job of unsentJobs(run)) {
    const can = canStillSend(run, job);
    if (can.kind === 'over') endJob(run, job, can.end);
  }
}

/** Sends the message to a job, or ends it without one. */
async function sendToJob(run: Run, job: Job): Promise<void> {
  const failed: Parameters<typeof sendMessage>[2] = [];
  let tried: Awaited<ReturnType<typeof sendMessage>> = { kind: 'busy' };
  while (tried.kind === 'busy') {
    const waited = await waitForEarlierWork(run, job);
    tried =
      waited.kind === 'over' ? waited : await run.queue.sends(() => sendMessage(run, job, failed));
  }
  if (tried.kind === 'over') endJob(run, job, tried.end);
}

/** After the message. Without a wait, that is the end. */
async function finishJob(run: Run, job: Job): Promise<void> {
  endJob(run, job, run.inputs.wait ? await waitForAgent(run, job) : endAs('sent'));
}

/** With `send: false`: gets the status of each job once or, with a wait, until the agent is done. */
async function readJobs(run: Run): Promise<void> {
  const { jobs, inputs } = run;
  save(run);
  await Promise.all(
    jobs.map(async (job) => {
      const end = endOfRead(job, await poll(run, job), inputs.wait);
      if (end !== null) endJob(run, job, end);
    }),
  );
  // From now on, a command there knows the job.
  if (jobs.some(({ record }) => record !== null)) await announce(run);
  const open = jobs.filter(({ end }) => end === null);
  await Promise.all(open.map((job) => finishJob(run, job)));
}

/** Null while the agent is at work, and the run waits for it. */
function endOfRead(job: Job, polled: Outcome<'polled'>, wait: boolean): End | null {
  if (polled.kind === 'over') return polled.end;
  if (isFinal(statusOf(job))) return doneEnd(job, 'no message', 0);
  return wait ? null : endAs('active');
}
