import { whyNoWords } from '../comment/reply.ts';
import { askAgain, doneEnd, lostEnd, unwantedEnd } from '../job/explain.ts';
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
import { decide, type Verdict } from '../ledger/decide.ts';
import { endOfWork, type FoundNote } from '../ledger/record.ts';
import type { SendClass } from '../mintlify/retry.ts';
import { conversationOf, knownNotes, ownPull, sayPlace } from '../plan/own-pull-request.ts';
import { confirmNote, createNote, listAgain } from '../report/comments.ts';
import { isFinal, isKnownStatus } from '../service.ts';
import { type Result, sentences } from '../text.ts';
import { readLate } from './late.ts';
import { pollNow, waitForAgent, waitForEarlierWork } from './poll.ts';
import { endJob, pendingJobs, type Run, save } from './run-state.ts';
import { sendMessage } from './send.ts';

// All jobs of a step, from the first poll to the end; docs/delivery.md explains the note. Each stage may end some jobs; then
// one loop follows each job that is left.

export async function runJobs(run: Run): Promise<void> {
  const { jobs } = run;
  const verdicts = decideOn(run, run.notes);
  // What earlier attempts sent comes first: no answer of the API may end that.
  for (const [job, verdict] of verdicts) {
    if (verdict.kind === 'go on' || verdict.kind === 'in doubt') apply(run, job, verdict);
  }
  if (run.plan.isRerun) await readWhatIsLeft(run);
  await Promise.all(pendingJobs(run).map((job) => pollFirst(run, job)));
  const unsent = pendingJobs(run);
  for (const [job, verdict] of verdicts) if (unsent.includes(job)) apply(run, job, verdict);
  // A job that ends for another reason has reached no limit.
  await createNote(
    run,
    unsent.filter((job) => isNews(verdicts.get(job))),
  );
  await decideAgain(run);
  await Promise.all(jobs.map((job) => followJob(run, job)));
}

/**
 * A re-run reads only now what it would send, and only if something is left to send: what was sent does not need it, and it may
 * be gone since. The same is true of the key.
 */
async function readWhatIsLeft(run: Run): Promise<void> {
  const { inputs, jobs, source } = run;
  const { keyProblem, command } = inputs;
  const { again } = run.plan;
  const needKey = keyProblem === '' ? [] : jobs.filter((job) => isLeft(job, inputs.wait));
  for (const job of needKey)
    endJob(run, job, lostEnd(job, again, keyProblem, askAgain(again.start, false)));
  if (pendingJobs(run).length === 0) return;
  const read = await source();
  if (run.runtime.signal.aborted) return;
  if (read.kind === 'ok') return run.message.setContent(read.value, sayPlace(run));
  const end =
    read.kind === 'problem'
      ? endAs(
          'could not send',
          sentences(read.problem, askAgain(again.start, read.mayPass === true)),
        )
      : endAs(
          'nothing to send',
          read.kind === 'usage' ? whyNoWords(run.asked, command ?? '') : read.reason,
        );
  for (const job of pendingJobs(run)) endJob(run, job, end);
}

function isLeft({ end, message }: Job, wait: boolean): boolean {
  return end === undefined && (message.kind === 'pending' || wait);
}

/** Told by a new comment, once: people get a mail only of that. */
function isNews(verdict: Verdict | undefined): boolean {
  return verdict?.kind === 'end' && verdict.isNews;
}

function decideOn(run: Run, notes: Result<readonly FoundNote[]>): ReadonlyMap<Job, Verdict> {
  const { plan, messageId: message, past } = run;
  const { isRerun, limit, again } = plan;
  const { command } = run.inputs;
  const about = { notes, message, isRerun, past, command, again: again.start };
  const question = limit === undefined ? about : { ...about, limit };
  return new Map(pendingJobs(run).map((job) => [job, decide(question, job.id)]));
}

/** After the note: the notes of other runs that came first may have been created since. */
async function decideAgain(run: Run): Promise<void> {
  const unsent = pendingJobs(run);
  const decidesAgain = run.plan.decidesAgain || unsent.some(({ id }) => id === NEW_JOB);
  if (!decidesAgain || unsent.length === 0) return;
  const notes = await listAgain(run);
  // A cancelled run reports that, and needs the time to say so in its comment.
  if (run.runtime.signal.aborted) return;
  if (notes.kind === 'ok') run.notes = notes;
  run.hasDecided = true;
  for (const [job, verdict] of decideOn(run, notes)) apply(run, job, verdict);
  if (pendingJobs(run).length < unsent.length) run.note?.write();
}

function apply(run: Run, job: Job, verdict: Verdict): void {
  switch (verdict.kind) {
    case 'send':
      setNthInARow(job, verdict.nthInARow);
      break;
    case 'go on':
      goOnWith(run, job, verdict);
      break;
    case 'in doubt':
      markUnknown(job, true);
      endJob(run, job, verdict.end);
      break;
    case 'end':
      endJob(run, job, verdict.end);
  }
}

/** Goes on with what an earlier attempt has sent. If that attempt saw the end, this is the end. */
function goOnWith(run: Run, job: Job, { sent, laterMessage }: Verdict & { kind: 'go on' }): void {
  const { runtime, info, log } = run;
  const now = runtime.clock.now();
  const earlier = endOfWork(sent);
  // If another message was sent before the end was seen, an end is perhaps that of its work.
  const isAlone = !laterMessage || earlier !== undefined;
  const id = sent.id || job.id;
  // What has changed since may be by others if the end was long ago.
  const head = earlier === undefined ? sent.head : undefined;
  const known = isAlone && { base: sent.base, isOurs: sent.isOurs, head };
  goOn(job, { id, sentAt: sent.sentAt ?? now, ...known }, now);
  log.say(job, 'An earlier attempt sent the message; it is not sent again.');
  if (earlier === undefined) return;
  const { prNumber } = sent;
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
  const failed: SendClass[] = [];
  for (;;) {
    const waited = await waitForEarlierWork(run, job);
    if (typeof waited === 'object') return waited;
    const end = waited === 'waited' ? await confirmNote(run, job) : undefined;
    if (end !== undefined) return end;
    const unsent = await readLate(run, job);
    if (unsent !== undefined) return unsent;
    const sent = await run.queue.sends(() => sendMessage(run, job, failed));
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
