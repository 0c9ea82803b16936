import { doneEnd, unwantedEnd } from '../job/explain.ts';
import {
  goOn,
  type Job,
  markUnknown,
  NEW_JOB,
  recordResponse,
  setNthInARow,
  setWaiting,
  statusBefore,
  statusOf,
} from '../job/job.ts';
import { type End, endAs } from '../job/outcome.ts';
import { type Decision, decide } from '../ledger/decide.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { type RecordedJob, recordedEnd } from '../ledger/record.ts';
import { conversationOf, knownNotes, ownPull } from '../plan/own-pull-request.ts';
import { isFinal, isKnownStatus } from '../service.ts';
import type { Result } from '../text.ts';
import { announce } from './announce.ts';
import { readLate } from './late.ts';
import { pollNow } from './poll.ts';
import { endJob, pendingJobs, type Run, save } from './run-state.ts';
import { sendMessage } from './send.ts';
import { waitForAgent, waitForEarlierWork } from './wait.ts';

// All jobs of a step, from the first poll to the end; docs/delivery.md explains the note. Each stage may end some jobs; then
// one loop follows each job that is left.

export async function runJobs(run: Run): Promise<void> {
  const { jobs } = run;
  const decisions = decideAll(run, run.notes);
  // What earlier attempts sent comes first: no answer of the API may end that.
  for (const [job, decision] of decisions) {
    if (decision.kind === 'resume' || 'isInDoubt' in decision) apply(run, job, decision);
  }
  await Promise.all(pendingJobs(run).map((job) => pollFirst(run, job)));
  const unsent = pendingJobs(run);
  for (const [job, decision] of decisions) if (unsent.includes(job)) apply(run, job, decision);
  // A job that ends for another reason has reached no limit.
  const untold = unsent.filter((job) => isNews(decisions.get(job)));
  const above = await announce(run, untold);
  if (above !== undefined) decideAgain(run, above);
  await Promise.all(jobs.map((job) => followJob(run, job)));
}

function isNews(decision: Decision | undefined): boolean {
  return decision?.kind === 'stop' && decision.isNews === true;
}

function decideAll(run: Run, ledger: Result<Ledger>): ReadonlyMap<Job, Decision> {
  const { plan, messageId: message, past: outdated, inputs } = run;
  const { isRerun, limit, again } = plan;
  const { command, jobIds } = inputs;
  const isJobFound = jobIds.length === 0;
  const rest = { isRerun, isJobFound, limit, outdated, command, again: again.start };
  return new Map(
    pendingJobs(run).map((job) => [job, decide({ ledger, message, ...rest }, job.id)]),
  );
}

/** Below the own comment: those of other runs that came first may have been created since. */
function decideAgain(run: Run, above: Result<Ledger>): void {
  const unsent = pendingJobs(run).length;
  if (above.kind === 'ok') run.notes = above;
  run.hasDecided = true;
  for (const [job, decision] of decideAll(run, above)) apply(run, job, decision);
  if (pendingJobs(run).length < unsent) run.note?.write();
}

function apply(run: Run, job: Job, decision: Decision): void {
  switch (decision.kind) {
    case 'send':
      setNthInARow(job, decision.nthInARow);
      break;
    case 'resume':
      goOnWith(run, job, decision.sent);
      break;
    case 'stop':
      if (decision.isInDoubt) markUnknown(job, true);
      endJob(run, job, decision.end);
  }
}

/** Goes on with what an earlier attempt has sent. If that attempt saw the end, this is the end. */
function goOnWith(run: Run, job: Job, sent: RecordedJob): void {
  const { runtime, info, log } = run;
  const now = runtime.clock.now();
  const earlier = recordedEnd(sent);
  const { base, isOurs, prNumber } = sent;
  // What has changed since may be by others if the end was long ago.
  const head = earlier === undefined ? sent.head : undefined;
  goOn(job, { id: sent.id || job.id, sentAt: sent.sentAt ?? now, base, isOurs, head }, now);
  log.say(job, 'An earlier attempt sent the message; it is not sent again.');
  if (earlier === undefined) return;
  const pull = prNumber && { prLink: `${info.repositoryUrl}/pull/${prNumber}`, prNumber };
  recordResponse(job, { id: job.id, status: earlier.status, ...pull });
  const end = doneEnd(job, earlier.confirmed ? 'confirmed' : 'unconfirmed');
  endJob(run, job, end, earlier.at);
}

/** The first poll decides which jobs get the message, and which ones have to wait. */
async function pollFirst(run: Run, job: Job): Promise<void> {
  if (job.id === NEW_JOB) return;
  const end =
    (await run.queue.firstPolls(() => pollNow(run, job))) ??
    endOfUnwanted(run, job) ??
    endElsewhere(run, job);
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

/**
 * Checks also fail on the pull requests of people, where a comment may name the job of a command. The agent does not work
 * there; `job-id` says that it is meant all the same.
 */
function endElsewhere(run: Run, job: Job): End | undefined {
  const { inputs, trigger } = run;
  const number = conversationOf(run);
  if (trigger.kind !== 'check' || inputs.jobIds.length > 0 || number === null) return undefined;
  const own = ownPull(job, knownNotes(run));
  if (own === number) return undefined;
  const what = trigger.check.kind === 'workflow_run' ? 'run' : 'check';
  const failed = trigger.check.failure === null ? what : `failed ${what}`;
  const shown = own === undefined ? job.record?.prLink : `#${own}`;
  return endAs('another pull request', failed, number, shown);
}

/** The one loop that owns a job, from its message to its end. An earlier attempt may have sent the message. */
async function followJob(run: Run, job: Job): Promise<void> {
  if (job.end !== undefined) return;
  if (job.message.kind === 'pending') {
    const end = await sendToJob(run, job);
    if (end !== undefined) endJob(run, job, end);
    else if (!run.inputs.wait) endJob(run, job, endAs('sent'));
    tellIfAllAreOut(run);
  }
  if (job.end !== undefined) return;
  endJob(run, job, run.inputs.wait ? await waitForAgent(run, job) : endAs('sent'));
}

/** Resolves to the end of the job if the message is not sent. */
async function sendToJob(run: Run, job: Job): Promise<End | undefined> {
  for (;;) {
    const waited = await waitForEarlierWork(run, job);
    if (typeof waited === 'object') return waited;
    const unsent = await readLate(run, job);
    if (unsent !== undefined) return unsent;
    const sent = await run.queue.sends(() => sendMessage(run, job));
    if (sent === 'sent') return undefined;
    if (sent !== 'busy') return sent;
  }
}

/** Tells it whenever all messages are out that need not wait. If no job is left, the report follows. */
function tellIfAllAreOut(run: Run): void {
  const { jobs, note } = run;
  const left = jobs.filter(({ message }) => message.kind === 'sending');
  if (left.some(({ isWaiting }) => !isWaiting)) return;
  if (jobs.every(({ end }) => end !== undefined)) return;
  save(run);
  note?.write();
}
