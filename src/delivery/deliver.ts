import pLimit, { type LimitFunction } from 'p-limit';
import { showStatus } from '../job/explain.ts';
import { goOn, type JobState, NEW_JOB, recordResponse, update } from '../job/job.ts';
import { agentStop, type Stop, stop } from '../job/stop-reasons.ts';
import { type Decision, decide } from '../ledger/decide.ts';
import { knownRecords, type Ledger } from '../ledger/ledger.ts';
import { type RecordedJob, recordedEnd } from '../ledger/record.ts';
import { isFinal, isKnownStatus } from '../mintlify-api.ts';
import { findOwnPull } from '../plan/pull-request.ts';
import { listing } from '../text.ts';
import type { Result } from '../value-or-problem.ts';
import { announce } from './announce.ts';
import { pollNow } from './poll.ts';
import { type Delivered, endJob, pendingJobs, type Run, save } from './run-state.ts';
import { completeMessage, sendMessage } from './send.ts';
import { waitForAgent, waitForTurn } from './wait.ts';

// All jobs of a step, from the first poll to the end. Each stage may end some jobs; then one loop
// follows each job that is left.

/** They would come at once, and come back together after a rate limit. */
const MOST_FIRST_POLLS_AT_ONCE = 10;
/** In the order of the jobs: they count against one rate limit. */
const MOST_SENDS_AT_ONCE = 4;

export async function deliver(ready: Run): Promise<Delivered> {
  const { ledger } = ready;
  const decisions = decideAll(ready, ledger);
  // What earlier attempts sent comes first: no answer of the API may end that.
  for (const [job, decision] of decisions) {
    if (decision.kind === 'resume' || 'isInDoubt' in decision) apply(ready, job, decision);
  }
  const polls = pLimit(MOST_FIRST_POLLS_AT_ONCE);
  await Promise.all(pendingJobs(ready).map((job) => polls(() => pollFirst(ready, job))));
  const unsent = pendingJobs(ready);
  for (const [job, decision] of decisions) if (unsent.includes(job)) apply(ready, job, decision);
  // A job that ends for another reason has reached no limit.
  const untold = unsent.filter((job) => {
    const decision = decisions.get(job);
    return decision?.kind === 'stop' && decision.isNews === true;
  });
  const { above, ...announced } = await announce(ready, untold);
  const isUnsure = ready.isUnsure && above === undefined;
  // What is known of the queue stays if the second list fails.
  const run = { ...ready, ...announced, isUnsure, ledger: above?.kind === 'ok' ? above : ledger };
  if (above !== undefined) {
    // Other runs may have come first since the first list.
    const left = pendingJobs(run);
    for (const [job, decision] of decideAll(run, above)) apply(run, job, decision);
    if (pendingJobs(run).length < left.length) run.comment?.write();
  }
  const sends = pLimit(MOST_SENDS_AT_ONCE);
  await Promise.all(run.jobs.map((job) => followJob(run, job, sends)));
  return run;
}

function decideAll(run: Run, ledger: Result<Ledger>): ReadonlyMap<JobState, Decision> {
  const { inputs, isRerun, plan } = run;
  const { command, jobIds } = inputs;
  const question = { ...plan, ledger, isRerun, command, isJobFound: jobIds.length === 0 };
  return new Map(pendingJobs(run).map((job) => [job, decide(question, job.id)]));
}

function apply(run: Run, job: JobState, decision: Decision): void {
  switch (decision.kind) {
    case 'send':
      update(job, { nthInARow: decision.nthInARow });
      break;
    case 'resume':
      goOnWith(run, job, decision.sent);
      break;
    case 'stop':
      if (decision.isInDoubt) update(job, { message: { kind: 'unknown', isEarlier: true } });
      endJob(run, job, decision.why);
  }
}

/** If the earlier attempt saw the end, this is the end. */
function goOnWith(run: Run, job: JobState, sent: RecordedJob): void {
  const { runtime, info, log } = run;
  const now = runtime.clock.now();
  const earlier = recordedEnd(sent);
  const { base, isOurs, prNumber, sentAt = now } = sent;
  const id = sent.id || job.id;
  const all = knownRecords(run.ledger).flatMap(({ jobs }) => jobs);
  const isFollowed = all.some((one) => one.id === id && (one.sentAt ?? 0) > sentAt);
  // What has changed since may be by others if the end was long ago.
  const head = earlier === undefined ? sent.head : undefined;
  // What the agent shows now may belong to a later message.
  const seen = earlier === undefined && isFollowed ? {} : { base, isOurs, head };
  goOn(job, { id, sentAt, ...seen }, now);
  log.say(job, 'An earlier attempt sent the message; it is not sent again.');
  if (earlier === undefined) return;
  const pull = prNumber && { prLink: `${info.repositoryUrl}/pull/${prNumber}`, prNumber };
  recordResponse(job, { id: job.id, status: earlier.status, ...pull });
  endJob(run, job, agentStop(earlier.status, earlier.confirmed, base));
  update(job, { endedAt: earlier.at });
}

/** The first poll decides which jobs get the message, and which ones have to wait. */
async function pollFirst(run: Run, job: JobState): Promise<void> {
  if (job.id === NEW_JOB) return;
  const why = (await pollNow(run, job)) ?? stopUnwanted(run, job) ?? stopElsewhere(run, job);
  if (why !== undefined) endJob(run, job, why);
  else update(job, { isWaiting: run.plan.waitsForIdle && !isFinal(job.base?.status) });
}

function stopUnwanted({ inputs: { onlyWhen } }: Run, job: JobState): Stop | undefined {
  const status = job.record?.status;
  // An undocumented status counts as active: the agent is not done.
  const counted = isKnownStatus(status) ? status : 'active';
  if (onlyWhen === null || onlyWhen.has(counted)) return undefined;
  return stop('only-when', { status: showStatus(status), wanted: listing([...onlyWhen], 'or') });
}

/** Checks also fail on pull requests of people, where a comment may name the job of a command. */
function stopElsewhere(run: Run, job: JobState): Stop | undefined {
  const { inputs, trigger, ledger, plan } = run;
  const { page } = plan;
  if (trigger.kind !== 'check' || inputs.jobIds.length > 0 || page === null) return undefined;
  const own = findOwnPull(job, ledger);
  if (own === page) return undefined;
  const what = trigger.check.kind === 'workflow_run' ? 'run' : 'check';
  const failed = trigger.check.failure === null ? what : `failed ${what}`;
  const shown = own === undefined ? job.record?.prLink : `#${own}`;
  const described =
    shown === null
      ? 'the job has no pull request in this repository yet'
      : `the pull request of the job is ${shown ?? 'not known'}`;
  return stop('another-pull-request', { what: failed, number: page, own: described });
}

async function followJob(run: Run, job: JobState, sends: LimitFunction): Promise<void> {
  if (job.end !== undefined) return;
  if (job.message.kind === 'pending') {
    const why = await sendToJob(run, job, sends);
    if (why !== undefined) endJob(run, job, why);
    else if (!run.inputs.wait) endJob(run, job, stop('sent'));
    writeIfAllAreOut(run);
  }
  if (job.end !== undefined) return;
  endJob(run, job, run.inputs.wait ? await waitForAgent(run, job) : stop('sent'));
}

async function sendToJob(run: Run, job: JobState, sends: LimitFunction): Promise<Stop | undefined> {
  for (;;) {
    const unsent = (await waitForTurn(run, job)) ?? (await completeMessage(run));
    if (unsent !== undefined) return unsent;
    const sent = await sends(() => sendMessage(run, job));
    if (sent === 'sent') return undefined;
    if (sent !== 'busy') return sent;
  }
}

/** Tells when all messages are out that need not wait. If no job is left, the report follows. */
function writeIfAllAreOut(run: Run): void {
  const { jobs, comment } = run;
  const left = jobs.filter(({ message }) => message.kind === 'sending');
  if (left.some(({ isWaiting }) => !isWaiting)) return;
  if (jobs.every(({ end }) => end !== undefined)) return;
  save(run);
  comment?.write();
}
