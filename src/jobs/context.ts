import pLimit, { type LimitFunction } from 'p-limit';
import { type AgentContext, createTransport } from '../agent/http.ts';
import { LEAST_POST_MS } from '../agent/retry.ts';
import { untilAborted } from '../clock.ts';
import type { GitHub } from '../github/api.ts';
import { composePrompt, type Request } from '../github/command.ts';
import type { CommentTrigger, Trigger } from '../github/event.ts';
import { CHECK_NAME, type Inputs, isDefaultUrl } from '../inputs.ts';
import { type End, ended, type Job, newJob } from '../job.ts';
import { type AboutNote, type FoundNote, hashOf } from '../note/data.ts';
import { inARow } from '../note/limit.ts';
import { type Note, readNotes } from '../note/note.ts';
import { namedJobs, promptOf } from '../note/rerun.ts';
import { cancelledEnd, timedOutEnd } from '../reasons.ts';
import { saveOutputs } from '../report/finish.ts';
import { endedNow } from '../report/outputs.ts';
import type { Story } from '../report/render.ts';
import type { RunInfo, Runtime } from '../runner/environment.ts';
import { listing, type Ok, ok, oneLine, problem, quote, type Result } from '../text.ts';
import { JobLog } from './log.ts';
import { makePlan, type Plan, whyNoNote } from './plan.ts';

// What a run works with.

/** What is known before the run is authorized. */
export interface Start {
  readonly runtime: Runtime;
  readonly info: RunInfo;
  readonly trigger: Trigger;
  readonly github: GitHub;
  /** The comment with the command that started the run; null without one. */
  readonly asked: CommentTrigger | null;
}

/** What an authorized run works with. */
export interface Run extends Start {
  readonly inputs: Inputs;
  readonly plan: Plan;
  /** What is sent; empty if nothing is. */
  readonly prompt: string;
  /** The notes on the pull request or issue, or why they are not known. Empty if the plan does not need them. */
  readonly notes: Result<readonly FoundNote[]>;
  /** Only requests to the API use it. */
  readonly agent: AgentContext;
  /** In the order of the inputs. */
  readonly jobs: readonly Job[];
  readonly log: JobLog;
  readonly queue: Queue;
  /** What the comments of this process say about it: to other runs, and to people. */
  readonly about: AboutNote;
  /** What its comments and its summary tell people. Only limits.ts changes it: others may have come first. */
  story: Story;
  /** The comment of this process; null if there is none, or none yet. Only comments.ts sets it. */
  note: Note | null;
  /** Takes back the claim of the command; null if this process has not claimed it. Only claim.ts sets it. */
  release: (() => Promise<unknown>) | null;
}

interface Queue {
  /** A few messages at a time, in the order of the jobs. All of them count against one rate limit. */
  readonly sends: LimitFunction;
  /** Polls do not wait for messages. */
  readonly polls: LimitFunction;
  /** Aborted, with the `End` of the others, when no more messages can be sent. */
  readonly stop: AbortController;
}

const MOST_SENDS_AT_ONCE = 4;
const MOST_POLLS_AT_ONCE = 24;

/** There is nothing to do. */
export interface Skipped {
  readonly kind: 'skipped';
  readonly reason: string;
}

/** It is not known which jobs the run is about. */
interface Unnamed {
  readonly kind: 'problem';
  readonly problem: string;
  /** The same for readers of comments, who did not write the workflow. */
  readonly shown: string;
}

type Named<T> = Ok<T> | Unnamed | Skipped;
type Prepared = Named<Run>;

/** Resolves to the problem if it is not known which jobs the run is about. */
export async function prepare(
  start: Start,
  inputs: Inputs,
  { text, parts, summary }: Request,
): Promise<Prepared> {
  const { runtime, info, trigger, github } = start;
  const plan = makePlan(inputs, trigger, info, runtime.clock.startedAt);
  const notes = await findNotes(plan, github, inputs);
  const jobIds = whichJobs(inputs, plan, notes, trigger);
  if (jobIds.kind !== 'ok') return jobIds;
  const jobs = jobIds.value.map((id) => newJob(id, !inputs.send));
  const prompt = composePrompt(inputs.prompt, text, ...parts);
  // It is cut later: a part of a secret would not be recognized.
  const shownPrompt = summary === '' ? prompt : composePrompt(inputs.prompt, text);
  const about = aboutNote(start, inputs, plan, hashOf(prompt));
  const found = notes.kind === 'ok' ? notes.value : [];
  const sentPrompt = promptOf(found, about, jobIds.value, about.prompt);
  const isSent = sentPrompt === about.prompt;
  return ok({
    ...start,
    ...{ inputs, plan, prompt, notes, jobs },
    agent: agentContext(start, inputs, plan),
    log: new JobLog({ ...runtime, jobs, deadline: plan.deadline }),
    queue: {
      sends: pLimit(MOST_SENDS_AT_ONCE),
      polls: pLimit(MOST_POLLS_AT_ONCE),
      stop: new AbortController(),
    },
    about: { ...about, prompt: sentPrompt },
    story: storyOf(start, inputs, plan, {
      prompt: isSent ? runtime.redact(shownPrompt) : '',
      attached: isSent ? summary : '',
      count: countOf({ plan, about, jobs }, found),
    }),
    note: null,
    release: null,
  });
}

async function findNotes(
  { comments, readsNotes }: Plan,
  github: GitHub,
  { projectId }: Inputs,
): Promise<Result<readonly FoundNote[]>> {
  if (!readsNotes) return ok([]);
  if (comments.kind !== 'note') return problem(whyNoNote(comments));
  return readNotes(github, comments.conversation, hashOf(projectId));
}

function storyOf(
  { runtime, info, trigger }: Start,
  { command, wait, footer }: Inputs,
  { deadline }: Plan,
  words: Pick<Story, 'prompt' | 'attached' | 'count'>,
): Story {
  const { redact, clock } = runtime;
  const by = trigger.comment?.sender.login ?? (trigger.event === 'schedule' ? '' : info.actor);
  return {
    ...{ info, command, startedAt: clock.now(), until: wait ? deadline : null, footer },
    ...words,
    by: by === '' ? null : oneLine(redact(by), 100),
  };
}

/** `message 2 of 3`, if there is a limit. Several jobs have counts of their own, which are not shown. */
export function countOf(
  { plan: { counts, limit }, about, jobs }: Pick<Run, 'plan' | 'about' | 'jobs'>,
  notes: readonly FoundNote[],
): string {
  const [job, ...others] = jobs;
  if (!counts || limit === null || job === undefined || others.length > 0) return '';
  // A re-run that only goes on has the number of its message.
  const own = notes.findIndex(({ run }) => run === about.run);
  const earlier = own === -1 ? notes : notes.slice(0, own);
  const number = inARow(earlier, about, job.id).size + 1;
  return number > limit ? '' : `message ${number} of ${limit}`;
}

function aboutNote(
  { runtime, info, trigger, asked }: Start,
  { projectId, matrixLeg, send }: Inputs,
  { deadline, byBot }: Plan,
  prompt: string,
): AboutNote {
  // The runner passes `null` for a job without a matrix.
  const leg = ['', 'null', '{}'].includes(matrixLeg.trim()) ? '' : hashOf(matrixLeg);
  const step = hashOf(info.workflow, info.step);
  return {
    ...{ project: hashOf(projectId), step, leg, prompt, run: info.runId, attempt: info.attempt },
    command: asked === null ? '' : `${asked.kind}:${asked.id}`,
    // Each command has its own answer.
    series: asked !== null ? '' : hashOf(step, leg, String(send)),
    commit: trigger.commit?.sha ?? '',
    byBot,
    id: runtime.newId(),
    deadline: Math.round(deadline),
  };
}

/** The jobs in `job-id`, or the one that the comments name. */
function whichJobs(
  { jobIds, prNumber }: Inputs,
  { comments }: Plan,
  notes: Result<readonly FoundNote[]>,
  { commit, conversation }: Trigger,
): Named<readonly string[]> {
  if (jobIds.length > 0) return ok(jobIds);
  const isEmpty = `job-id is empty. ${CHECK_NAME}`;
  if (commit !== null && (prNumber ?? conversation) === null) {
    const reason =
      'The commit does not belong to exactly one pull request of this repository, so no comment ' +
      'can name an agent job.';
    return { kind: 'skipped', reason };
  }
  if (comments.kind !== 'note') return unnamed(isEmpty, 'The workflow does not name an agent job.');
  if (notes.kind === 'problem') {
    const why = `It cannot be taken from a comment: ${notes.problem}.`;
    return unnamed(
      `${isEmpty} ${why}`,
      `It is not known which agent job is meant: ${notes.problem}.`,
    );
  }
  const named = [...namedJobs(notes.value)];
  const [first, ...others] = named;
  if (first === undefined && commit !== null) {
    // Checks also fail on pull requests of people.
    return { kind: 'skipped', reason: 'No comment of this action names an agent job here.' };
  }
  if (first === undefined) {
    const none = 'No comment of this action names an agent job here yet';
    return unnamed(
      `${isEmpty} ${none}; set job-id, or run a workflow with job-id for this pull request or issue once.`,
      `${none}.`,
    );
  }
  if (others.length === 0) return ok([first[0]]);
  const shown = named.slice(0, MOST_NAMED).map(([id, { url }]) => `${quote(id, 256)} in ${url}`);
  const left = named.length - shown.length;
  const listed = listing([...shown, ...(left > 0 ? [`${left} more`] : [])]);
  const several = `comments of this action name ${named.length} jobs: ${listed}.`;
  return unnamed(`job-id is empty, and the ${several} Set job-id.`, `The ${several}`);
}

function unnamed(said: string, shown: string): Unnamed {
  return { kind: 'problem', problem: said, shown: `${shown} The log says how to name the job.` };
}

/** Jobs in an error. */
const MOST_NAMED = 10;

function agentContext({ runtime, info }: Start, inputs: Inputs, plan: Plan): AgentContext {
  const { baseUrl, projectId, proxy } = inputs;
  const isDefault = isDefaultUrl(baseUrl);
  const through = proxy.url === '' ? '' : ` (proxy ${quote(new URL(proxy.url).host)})`;
  return {
    ...runtime,
    transport: createTransport({ ...inputs, ...runtime }),
    where: `${quote(baseUrl.host)}${through}`,
    isDefaultUrl: isDefault,
    projectId,
    repositoryUrl: info.repositoryUrl,
    deadline: plan.deadline,
  };
}

/** How a loop goes on: what it was called for has happened, or the job has to end. */
export type Outcome<Kind extends string> = { readonly kind: Kind } | Over;
interface Over {
  readonly kind: 'over';
  readonly end: End;
}

export function over(end: End): Over {
  return { kind: 'over', end };
}

/** Writes the outputs as they are now. A problem says that this was not possible. */
export function save({ runtime, inputs, jobs, note }: Run): Result<null> {
  return saveOutputs(runtime, {
    ended: endedNow(jobs, inputs.wait),
    commentUrls: [note?.url ?? ''],
  });
}

/** The jobs that nothing has stopped, as long as no message is sent. */
export function openJobs({ jobs }: Run): readonly Job[] {
  return jobs.filter((job) => job.end === null && job.message.kind === 'open');
}

export function endJob(run: Run, job: Job, end: End): void {
  // After a wait that saw no end, nothing is confirmed.
  const isOpen = run.inputs.wait && ['sent', 'unknown'].includes(job.message.kind);
  const confirmed = end.confirmed ?? (isOpen ? false : null);
  ended(job, { ...end, confirmed }, run.runtime.clock.now());
  run.log.ended(job);
}

/**
 * Whether a message can still be sent after a pause of `afterMs`. If not, the job is over; `why` says why the last request
 * failed.
 */
export function canStillSend(run: Run, job: Job, afterMs = 0, why = ''): Outcome<'yes'> {
  const { clock, signal } = run.runtime;
  const stop = run.queue.stop.signal;
  if (signal.aborted) return over(cancelledEnd(job, run));
  if (stop.aborted) return over(stop.reason);
  if (run.plan.deadline - clock.now() - afterMs <= LEAST_POST_MS) {
    return over(timedOutEnd(job, run, why));
  }
  return { kind: 'yes' };
}

/** A cancellation ends the pause early. */
export function pause({ runtime: { clock, signal } }: Run, ms: number): Promise<void> {
  return clock.sleep(ms, signal).catch(() => {});
}

/** Null if `reading` fails or takes longer than `ms` milliseconds, or the run is cancelled. */
export function within<T>({ runtime }: Run, ms: number, reading: Promise<T>): Promise<T | null> {
  const late = AbortSignal.any([runtime.signal, runtime.clock.timeout(ms)]);
  return untilAborted(reading, late).catch(() => null);
}
