import type { SendClass } from '../agent/retry.ts';
import { addLogs } from '../carried/read.ts';
import {
  type End,
  goOn,
  isFinal,
  isKnownStatus,
  type Job,
  markUnknown,
  NEW_JOB,
  recordAnswer,
  setNumber,
  setWaiting,
  statusBefore,
  statusOf,
} from '../job/job.ts';
import {
  doneEnd,
  endAs,
  limitEnd,
  newerCommitEnd,
  otherCreationEnd,
  refusedEnd,
  sameCommitEnd,
  uncountedEnd,
  unknownBeforeEnd,
  unwantedEnd,
} from '../job/reasons.ts';
import { endOfWork, type FoundNote } from '../note/data.ts';
import { listing, type Result } from '../text.ts';
import { announce, listAgain } from './comments.ts';
import { decide, type Verdict } from './decide.ts';
import { pollNow, waitForAgent, waitForEarlierWork } from './poll.ts';
import { endIfTooLate, endJob, openJobs, type Run, save, setContent } from './run.ts';
import { sendMessage } from './send.ts';
import { whichJobs } from './which-job.ts';

// All jobs of a step, from the first poll to the end; docs/delivery.md explains the note. Each stage may end some jobs; then
// one loop follows each job that is left.

export async function runJobs(run: Run): Promise<void> {
  const { inputs, jobs } = run;
  if (!inputs.send) return readJobs(run);
  const verdicts = decideOn(run, run.notes);
  // First what earlier attempts sent: no answer of the API may end that.
  for (const [job, verdict] of verdicts) applyEarlier(run, job, verdict);
  await Promise.all(openJobs(run).map((job) => selectJob(run, job)));
  for (const job of openJobs(run)) applyNew(run, job, verdicts.get(job));
  if (openJobs(run).length > 0) setContent(run, await addLogs(run, run.content, run.plan.deadline));
  endLate(run);
  await announce(
    run,
    [...verdicts].filter(isUntoldLimit).map(([job]) => job),
  );
  await decideAgain(run);
  await Promise.all(jobs.map((job) => followJob(run, job)));
}

/** A limit is told by a new comment, once: people get a mail only of that. */
function isUntoldLimit([, verdict]: readonly [Job, Verdict]): boolean {
  return verdict.kind === 'limit' && !verdict.isTold;
}

function decideOn(
  run: Run,
  notes: Result<readonly FoundNote[]>,
  isOutdated = isOutdatedEvent(run),
): ReadonlyMap<Job, Verdict> {
  const { plan, message } = run;
  const { isRerun, limit } = plan;
  const question = { notes, message, isRerun, isOutdated, ...(limit && { limit }) };
  return new Map(openJobs(run).map((job) => [job, decide(question, job.id)]));
}

/** Whether the commit was outdated when the event happened. The last poll shows whether it is now. */
function isOutdatedEvent({ plan, trigger }: Run): boolean {
  return plan.headOf !== undefined && trigger.commit?.head !== trigger.commit?.sha;
}

/** After the note: the notes of other runs that came first may have been created since. */
async function decideAgain(run: Run): Promise<void> {
  const open = openJobs(run);
  const decidesAgain = run.plan.decidesAgain || open.some(({ id }) => id === NEW_JOB);
  if (!decidesAgain || open.length === 0) return;
  const notes = await listAgain(run);
  // A cancelled run reports that, and needs the time to say so in its comment.
  if (run.runtime.signal.aborted) return;
  endIfOtherJob(run, notes);
  for (const [job, verdict] of decideOn(run, notes, false)) {
    applyEarlier(run, job, verdict);
    if (job.end === undefined) applyNew(run, job, verdict);
  }
  if (openJobs(run).length < open.length) run.note?.write();
}

/** Without `job-id`, the comments that the first list lacked may name another job. A run that creates one decides by itself. */
function endIfOtherJob(run: Run, notes: Result<readonly FoundNote[]>): void {
  const { inputs, plan, trigger, jobs } = run;
  const [job] = jobs;
  if (inputs.jobIds.length > 0 || notes.kind === 'problem') return;
  if (job === undefined || job.id === NEW_JOB) return;
  const named = whichJobs(inputs, plan.comments, notes, trigger);
  if (named.kind === 'ok' && named.value[0] === job.id) return;
  const why = named.kind === 'problem' ? named.problem : 'The comments here name another job now.';
  if (plan.isRerun) markUnknown(job, true);
  const nothing = plan.isRerun ? 'This attempt sent nothing.' : 'Nothing was sent.';
  endJob(run, job, endAs('error', nothing, why));
}

/** What an earlier attempt sent, or may have sent. */
function applyEarlier(run: Run, job: Job, verdict: Verdict): void {
  if (verdict.kind === 'go on') goOnWith(run, job, verdict);
  if (verdict.kind !== 'refuse') return;
  markUnknown(job, true);
  endJob(run, job, refusedEnd(verdict.why, remedyOf(job, verdict.notes)));
}

function applyNew(run: Run, job: Job, verdict: Verdict | undefined): void {
  const end = verdict && endOf(run, verdict);
  if (end !== undefined) endJob(run, job, end);
  else if (verdict?.kind === 'send' && verdict.number !== undefined) setNumber(job, verdict.number);
}

function endOf({ inputs }: Run, verdict: Verdict): End | undefined {
  switch (verdict.kind) {
    case 'list failed':
      return unknownBeforeEnd(verdict.why);
    case 'cannot count':
      return uncountedEnd(verdict.why, inputs.maxMessages === null);
    case 'other creation':
      return otherCreationEnd(verdict.url);
    case 'same commit':
      return sameCommitEnd(verdict.url);
    case 'newer commit':
      return newerCommitEnd();
    case 'limit':
      return limitEnd(verdict.most);
    case 'send':
    case 'go on':
    case 'refuse':
      return undefined;
  }
}

/** What people do who want the message to be sent all the same. */
function remedyOf({ id }: Job, notes: readonly FoundNote[]): string {
  if (notes.length === 0) return 'To send the message all the same, start a new run.';
  // Without its comment, another job in it that got the message would get it again.
  const others = notes.flatMap(({ jobs }) => jobs).filter((other) => other.id !== id);
  if (others.some(({ delivery }) => delivery === 'sent')) {
    return 'To send the message all the same, start a new run with this job alone.';
  }
  const urls = listing(notes.map(({ url }) => url));
  const what = notes.length === 1 ? 'the comment' : 'the comments';
  return `To send the message all the same, delete ${what} ${urls}, and re-run the workflow.`;
}

/** Goes on with what an earlier attempt has sent. If that attempt saw the end, this is the end. */
function goOnWith(run: Run, job: Job, { sent, laterMessage }: Verdict & { kind: 'go on' }): void {
  const { runtime, info, log } = run;
  const now = runtime.clock.now();
  const earlier = endOfWork(sent);
  // If another message was sent before the end was seen, an end is perhaps that of its work.
  const isClear = !laterMessage || earlier !== undefined;
  const id = sent.id || job.id;
  const known = isClear && { base: sent.base, isOurs: sent.isOurs };
  goOn(job, { id, sentAt: sent.sentAt ?? now, ...known }, now);
  log.say(job, 'An earlier attempt sent the message; it is not sent again.');
  if (earlier === undefined) return;
  const { prNumber } = sent;
  const pull = prNumber && { prLink: `${info.repositoryUrl}/pull/${prNumber}`, prNumber };
  recordAnswer(job, { id: job.id, status: earlier.result, ...pull });
  const end = doneEnd(job, earlier.confirmed ? 'confirmed' : 'unconfirmed');
  endJob(run, job, end, earlier.at);
}

/** The first poll decides which jobs get the message, and which ones have to wait. */
async function selectJob(run: Run, job: Job): Promise<void> {
  if (job.id === NEW_JOB) return;
  const end = (await pollNow(run, job)) ?? endOfUnwanted(run, job);
  if (end !== undefined) endJob(run, job, end);
  else setWaiting(job, run.plan.waitsForIdle && !isFinal(statusBefore(job)));
}

/** Undefined if `only-when` does not leave the job out. */
function endOfUnwanted({ inputs: { onlyWhen } }: Run, job: Job): End | undefined {
  const status = statusOf(job);
  // An undocumented status counts as active: the agent is not done.
  const counted = isKnownStatus(status) ? status : 'active';
  return onlyWhen === null || onlyWhen.has(counted) ? undefined : unwantedEnd(job, onlyWhen);
}

function endLate(run: Run): void {
  for (const job of openJobs(run)) {
    const end = endIfTooLate(run, job);
    if (end !== undefined) endJob(run, job, end);
  }
}

/** The one loop that owns a job, from its message to its end. An earlier attempt may have sent the message. */
async function followJob(run: Run, job: Job): Promise<void> {
  if (job.end !== undefined) return;
  if (job.message.kind === 'open') {
    const hadToWait = job.isWaiting;
    const end = await sendToJob(run, job);
    if (end !== undefined) endJob(run, job, end);
    else if (!run.inputs.wait) endJob(run, job, endAs('sent'));
    tellIfAllAreOut(run, hadToWait);
  }
  if (job.end !== undefined) return;
  endJob(run, job, run.inputs.wait ? await waitForAgent(run, job) : endAs('sent'));
}

/** Resolves to the end of the job if the message is not sent. */
async function sendToJob(run: Run, job: Job): Promise<End | undefined> {
  const failed: SendClass[] = [];
  for (;;) {
    const end = await waitForEarlierWork(run, job);
    if (end !== undefined) return end;
    const sent = await run.queue.sends(() => sendMessage(run, job, failed));
    if (sent === 'sent') return undefined;
    if (sent !== 'busy') return sent;
  }
}

/** Tells it when all messages are out that need not wait, and when all are. If no job is left, the report follows. */
function tellIfAllAreOut(run: Run, hadToWait: boolean): void {
  const { jobs, note } = run;
  const left = jobs.filter(({ message }) => message.kind === 'sending');
  if (left.length > 0 && (hadToWait || !left.every(({ isWaiting }) => isWaiting))) return;
  if (jobs.every(({ end }) => end !== undefined)) return;
  save(run);
  note?.write();
}

/** With `send: false`: gets the status of each job once or, with a wait, until the agent is done. */
async function readJobs(run: Run): Promise<void> {
  const { jobs, inputs } = run;
  await Promise.all(
    jobs.map(async (job) => {
      const end = (await pollNow(run, job)) ?? endOfRead(job, inputs.wait);
      if (end !== undefined) endJob(run, job, end);
    }),
  );
  // From now on, a command there knows the job.
  await announce(run, []);
  const open = jobs.filter(({ end }) => end === undefined);
  await Promise.all(open.map(async (job) => endJob(run, job, await waitForAgent(run, job))));
}

/** Undefined while the agent is at work, and the run waits for it. */
function endOfRead(job: Job, wait: boolean): End | undefined {
  if (isFinal(statusOf(job))) return doneEnd(job, 'no message');
  return wait ? undefined : endAs('active');
}
