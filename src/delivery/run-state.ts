import pLimit, { type LimitFunction } from 'p-limit';
import { askerOf, failureOf, occasionOf } from '../comment/occasion.ts';
import type { Story } from '../comment/render.ts';
import type { TrackingComment } from '../comment/tracking-comment.ts';
import type { Start } from '../context.ts';
import type { GitHub } from '../github/client.ts';
import { cancelledEnd, timedOutEnd } from '../job/explain.ts';
import { type Job, markUnknown, newJob, recordEnd } from '../job/job.ts';
import { type End, unsureEnd } from '../job/outcome.ts';
import { endedNow } from '../job/overall.ts';
import { whyOutdated } from '../ledger/decide.ts';
import { fetchLedger, type Ledger } from '../ledger/ledger.ts';
import { type MessageId, randomWord, shortHash, validLogin } from '../ledger/record.ts';
import { LEAST_POST_MS } from '../mintlify/retry.ts';
import { type AgentContext, createTransport } from '../mintlify/transport.ts';
import { readHead, sayPlace, whatIsOver } from '../plan/own-pull-request.ts';
import { makePlan, type Plan, whyNoNote } from '../plan/plan.ts';
import { resolveJobs, type Skipped } from '../plan/resolve-jobs.ts';
import type { Located } from '../plan/resolve-pull-request.ts';
import { Message } from '../prompt/prompt.ts';
import type { Content } from '../prompt/request.ts';
import type { PullRequestHead } from '../pull-request.ts';
import { saveOutputs } from '../report/finish.ts';
import { type Inputs, isDefaultUrl } from '../runner/inputs.ts';
import { ok, problem, quote, type Result } from '../text.ts';
import { keyOfComment } from '../trigger/trigger.ts';
import { JobLog } from './progress.ts';

// What a run works with.

export interface Run extends Start {
  readonly inputs: Inputs;
  readonly plan: Plan;
  readonly message: Message;
  /** What people read, besides the message. */
  readonly story: Omit<Story, keyof Message['shown']>;
  /** How it ends if the commit of the event needs no message any more, as was seen before the note. */
  readonly past: End | undefined;
  /**
   * The notes on the pull request or issue, or why they are not known. Empty if the plan does not list them. Once the run has
   * decided again, those above its own.
   */
  notes: Result<Ledger>;
  /** Whether it has decided below its own comment, and so knows what earlier attempts have sent. Only deliver.ts sets it. */
  hasDecided: boolean;
  /** Only requests to the API use it. */
  readonly agent: AgentContext;
  readonly jobs: readonly Job[];
  readonly log: JobLog;
  readonly queue: Queue;
  /** Which message it is, for other runs and attempts. */
  readonly messageId: MessageId;
  /** The comment of this process, once there is one. Only announce.ts sets it. */
  note?: TrackingComment;
  /** Whether GitHub has taken no comment because of a rate limit. */
  takesNoComment?: boolean;
}

interface Queue {
  /** The first polls of all jobs would come at once, and come back together if the API limits their rate. */
  readonly firstPolls: LimitFunction;
  /** A few messages at a time, in the order of the jobs. All of them count against one rate limit. */
  readonly sends: LimitFunction;
  /** Aborted, with the `End` of the others, when no more messages can be sent. */
  readonly stop: AbortController;
}

const MOST_FIRST_POLLS_AT_ONCE = 10;
const MOST_SENDS_AT_ONCE = 4;

/** Resolves to the problem if it is not known which jobs the run is about. */
export async function prepare(
  started: Start,
  inputs: Inputs,
  content: Content,
): Promise<Result<Run> | Skipped> {
  const located = await locateCommit(started, inputs);
  if (located.kind !== 'ok') return located;
  const { start, seen } = located.value;
  const { runtime, info, trigger, github } = start;
  const plan = makePlan(inputs, trigger, info, runtime.clock.startedAt);
  const [notes, past] = await Promise.all([
    listNotes(plan, github, inputs),
    readWhyPast(start, plan, seen),
  ]);
  const messageId = messageIdOf(start, inputs, plan);
  const jobIds = resolveJobs(inputs, plan, notes, trigger, messageId);
  if (jobIds.kind !== 'ok') {
    // An earlier attempt may have sent the message.
    const isPast = past !== undefined && !plan.isRerun;
    return isPast ? { kind: 'skipped', reason: past.explanation } : jobIds;
  }
  const jobs = jobIds.value.map((id) => newJob(id));
  return ok({
    ...start,
    inputs,
    plan,
    past,
    notes,
    jobs,
    messageId,
    hasDecided: false,
    message: new Message(runtime, content, sayPlace({ ...start, inputs, notes, jobs })),
    agent: agentContext(start, inputs, plan),
    log: new JobLog({ ...runtime, jobs, deadline: plan.deadline }),
    queue: createQueue(),
    story: beginStory(start, inputs, plan),
  });
}

function createQueue(): Queue {
  return {
    firstPolls: pLimit(MOST_FIRST_POLLS_AT_ONCE),
    sends: pLimit(MOST_SENDS_AT_ONCE),
    stop: new AbortController(),
  };
}

/** Only events about a commit can leave out their pull request. */
async function locateCommit(start: Start, inputs: Inputs): Promise<Result<Located> | Skipped> {
  if (start.trigger.kind !== 'check') return ok({ start });
  const { locate } = await import(
    /* webpackChunkName: "carried" */ '../plan/resolve-pull-request.ts'
  );
  return locate(start, inputs);
}

/**
 * Why no message about the commit is needed any more, before the note: by the event and, if that shows nothing, by what GitHub
 * shows. What it does not tell stops nothing.
 */
async function readWhyPast(
  { trigger, github }: Start,
  { headOf: number }: Plan,
  seen: PullRequestHead | undefined,
): Promise<End | undefined> {
  if (trigger.kind !== 'check' || number === undefined) return undefined;
  const { check } = trigger;
  if (seen !== undefined) return whyOutdated(check, seen);
  const sha = check.head ?? check.sha;
  const atEvent = whyOutdated(check, { number, sha, state: 'open' });
  if (atEvent !== undefined || check.failure === null) return atEvent;
  return whyOutdated(check, await readHead(github, number));
}

async function listNotes(
  { comments, listsNotes, isRerun, deadline }: Plan,
  github: GitHub,
  { projectId }: Inputs,
): Promise<Result<Ledger>> {
  if (!listsNotes) return ok([]);
  if ('conversation' in comments) {
    return fetchLedger(github, comments.conversation, shortHash(projectId), deadline);
  }
  // Only an earlier attempt has sent what no comment tells.
  return isRerun ? problem(whyNoNote(comments)) : ok([]);
}

/** What people read of the run now. */
export function storyOf(run: Run): Story {
  return { ...run.story, ...run.message.shown };
}

function beginStory(start: Start, inputs: Inputs, plan: Plan): Run['story'] {
  const { command, wait, createJob, jobIds } = inputs;
  const { info, runtime } = start;
  const { deadline, limit } = plan;
  return {
    info,
    command,
    startedAt: runtime.clock.now(),
    failure: failureOf(start),
    occasion: occasionOf(start),
    mergedOrClosed: whatIsOver({ ...start, inputs }),
    ...(wait && { until: deadline }),
    ...(limit !== undefined && 'most' in limit && { most: limit.most }),
    createsJobs: createJob && jobIds.length === 0,
  };
}

function messageIdOf(start: Start, { projectId }: Inputs, { byBot }: Plan): MessageId {
  return {
    ...whichMessage(start),
    project: shortHash(projectId),
    attempt: start.info.attempt,
    commit: start.trigger.kind === 'check' ? start.trigger.check.sha : '',
    byBot,
    askedBy: validLogin(askerOf(start.trigger)),
    process: randomWord(),
  };
}

/** What tells the message of a run from others. */
export function whichMessage({ info, asked }: Start): Pick<MessageId, 'run' | 'step' | 'command'> {
  const command = asked === null ? '' : keyOfComment(asked);
  return { run: info.runId, step: shortHash(info.workflow, info.step), command };
}

function agentContext({ runtime, info }: Start, inputs: Inputs, plan: Plan): AgentContext {
  const { baseUrl, projectId } = inputs;
  return {
    ...runtime,
    transport: createTransport({ ...inputs, ...runtime }),
    where: quote(baseUrl.host),
    isDefaultUrl: isDefaultUrl(baseUrl),
    projectId,
    repositoryUrl: info.repositoryUrl,
    deadline: plan.deadline,
  };
}

/** Writes the outputs as they are now. A problem says that this was not possible. */
export function save({ runtime, inputs, jobs, note }: Run): Result<null> {
  return saveOutputs(runtime, {
    ended: endedNow(jobs, inputs.wait),
    commentUrls: [note?.url ?? ''],
  });
}

export function pendingJobs({ jobs }: Run): readonly Job[] {
  return jobs.filter((job) => job.end === undefined && job.message.kind === 'pending');
}

/** `at`: a time of the clock, or when an earlier attempt saw the end. */
export function endJob(run: Run, job: Job, end: End, at = run.runtime.clock.now()): void {
  // After a wait that saw no end, nothing is confirmed.
  const isOpen = run.inputs.wait && ['sent', 'unknown'].includes(job.message.kind);
  const confirmed = end.confirmed ?? (isOpen ? false : undefined);
  // Before its second list, a re-run does not know for certain what earlier attempts have sent.
  const isUnsure = run.plan.isRerun && !run.hasDecided && job.message.kind === 'pending';
  if (isUnsure) markUnknown(job, true);
  const known = isUnsure ? unsureEnd(end) : end;
  recordEnd(job, { ...known, ...(confirmed !== undefined && { confirmed }) }, at);
  run.log.ended(job);
}

// When a job has to end although it is not done: at the deadline, after a cancellation, or when the API accepts no more
// messages.

/**
 * How the job ends if a message can no longer be sent after a pause of `afterMs`; undefined if it can. `why` says why the
 * last request failed.
 */
export function endIfTooLate(run: Run, job: Job, afterMs = 0, why = ''): End | undefined {
  const { clock, signal } = run.runtime;
  const stop = run.queue.stop.signal;
  if (signal.aborted) return cancelledJob(run, job);
  if (stop.aborted) return stop.reason;
  const leftMs = run.plan.deadline - clock.now() - afterMs;
  return leftMs <= LEAST_POST_MS ? timedOutJob(run, job, why) : undefined;
}

/** How the job ends at the deadline. */
export function timedOutJob({ plan, inputs }: Run, job: Job, why = ''): End {
  return timedOutEnd(job, plan.again, inputs.timeoutMs, why);
}

export function cancelledJob({ plan, inputs }: Run, job: Job): End {
  return cancelledEnd(job, plan.again, inputs.wait);
}

/** A cancellation ends the pause early. */
export function pause({ runtime: { clock, signal } }: Run, ms: number): Promise<void> {
  return clock.sleep(ms, signal).catch(() => {});
}
