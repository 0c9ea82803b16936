import type { SendClass } from '../agent/retry.ts';
import { type End, isFinal, type Job, setWaiting, statusBefore, statusOf } from '../job.ts';
import { doneEnd, endAs, unwantedEnd } from '../reasons.ts';
import { answerError } from './answer.ts';
import { claim } from './claim.ts';
import { announce } from './comments.ts';
import { canStillSend, endJob, type Outcome, openJobs, type Run, save } from './context.ts';
import { stopOvertaken, stopRepeated, stopUncounted } from './limits.ts';
import { poll } from './poll.ts';
import { followEarlierAttempts } from './rerun.ts';
import { endOfLoop, sendMessage } from './send.ts';
import { waitForAgent, waitForEarlierWork } from './wait.ts';

// All jobs of a step, from the first poll to the end. Each step of the way to the messages may end some jobs; then one
// loop follows each job that is left. A re-run claims a command as soon as it knows what earlier attempts did, the first
// attempt only if there is something to send.

export async function runJobs(run: Run): Promise<void> {
  const { plan, inputs, jobs } = run;
  if (!inputs.send) return readJobs(run);
  if (plan.isRerun) await followEarlierAttempts(run);
  stopUncounted(run);
  save(run);
  if (plan.pollsFirst) await Promise.all(openJobs(run).map((job) => selectJob(run, job)));
  stopRepeated(run);
  endLate(run);
  if (!plan.isRerun) await answerError(run, jobs);
  if (plan.claims && !plan.isRerun) await claim(run);
  endLate(run);
  await announce(run);
  await stopOvertaken(run);
  await Promise.all(jobs.map((job) => followJob(run, job)));
}

/** The first poll decides which jobs get the message, and which ones have to wait. */
async function selectJob(run: Run, job: Job): Promise<void> {
  const polled = await poll(run, job);
  const end =
    polled.kind === 'over' ? polled.end : (endOfLoop(run, job) ?? endOfUnwanted(run, job));
  if (end !== null) endJob(run, job, end);
  else setWaiting(job, run.plan.waitsForIdle && !isFinal(statusBefore(job)));
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
  for (const job of openJobs(run)) {
    const can = canStillSend(run, job);
    if (can.kind === 'over') endJob(run, job, can.end);
  }
}

/** The one loop that owns a job, from its message to its end. An earlier attempt may have sent the message. */
async function followJob(run: Run, job: Job): Promise<void> {
  if (job.end !== null) return;
  if (job.message.kind === 'open') {
    const hadToWait = job.isWaiting;
    const sent = await sendToJob(run, job);
    if (sent.kind === 'over') endJob(run, job, sent.end);
    else if (!run.inputs.wait) endJob(run, job, endAs('sent'));
    tellIfAllAreOut(run, hadToWait);
  }
  if (job.end !== null) return;
  endJob(run, job, run.inputs.wait ? await waitForAgent(run, job) : endAs('sent'));
}

/** Sends the message as soon as the agent is done with earlier work. */
async function sendToJob(run: Run, job: Job): Promise<Outcome<'sent' | 'busy'>> {
  const failed: SendClass[] = [];
  for (;;) {
    const waited = await waitForEarlierWork(run, job);
    if (waited.kind === 'over') return waited;
    const sent = await run.queue.sends(() => sendMessage(run, job, failed));
    if (sent.kind !== 'busy') return sent;
  }
}

/** Tells it when all messages are out that need not wait, and when all are. If no job is left, the report follows. */
function tellIfAllAreOut(run: Run, hadToWait: boolean): void {
  const { jobs, note } = run;
  const left = jobs.filter(({ message }) => message.kind === 'sending');
  if (left.length > 0 && (hadToWait || !left.every(({ isWaiting }) => isWaiting))) return;
  save(run);
  if (jobs.some(({ end }) => end === null)) note?.write();
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
  await announce(run);
  const open = jobs.filter(({ end }) => end === null);
  await Promise.all(open.map(async (job) => endJob(run, job, await waitForAgent(run, job))));
}

/** Null while the agent is at work, and the run waits for it. */
function endOfRead(job: Job, polled: Outcome<'polled'>, wait: boolean): End | null {
  if (polled.kind === 'over') return polled.end;
  if (isFinal(statusOf(job))) return doneEnd(job, 'no message', 0);
  return wait ? null : endAs('active');
}
