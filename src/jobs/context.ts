import pLimit, { type LimitFunction } from 'p-limit';
import { type AgentContext, createTransport } from '../agent/http.ts';
import type { GitHub } from '../github/api.ts';
import { composePrompt } from '../github/command.ts';
import {
  type Account,
  type CommentTrigger,
  isBot,
  isPullRequestEvent,
  type Trigger,
} from '../github/event.ts';
import { CHECK_NAME, type Inputs, isDefaultUrl } from '../inputs.ts';
import { type End, type Job, newJob } from '../job.ts';
import { type AboutNote, hashOf, type NoteData } from '../note/data.ts';
import { type Note, readNotes } from '../note/note.ts';
import { namedJobs } from '../note/rerun.ts';
import { saveOutputs } from '../report/finish.ts';
import { endedNow } from '../report/outputs.ts';
import type { Story } from '../report/render.ts';
import type { RunInfo, Runtime } from '../runner/environment.ts';
import { listing, ok, oneLine, problem, quote, type Result } from '../text.ts';
import { JobLog } from './log.ts';

// What a run works with: the notes of earlier runs, the jobs, and what is said about them.

/** What is known before the run is authorized. */
export interface Start extends Runtime {
  readonly info: RunInfo;
  readonly trigger: Trigger;
  readonly github: GitHub;
  /** The comment with the command that started the run; null without one. */
  readonly asked: CommentTrigger | null;
  /** The 👀 on the command, which nothing waits for until the end. */
  seen: Promise<unknown>;
}

/** What an authorized run works with. */
export interface RunContext extends Start {
  readonly inputs: Inputs;
  /** Only requests to the API use it. */
  readonly agent: AgentContext;
  /** When messages and waits end. */
  readonly deadline: number;
  /** What is sent; empty if nothing is. */
  readonly prompt: string;
  /** The pull request or issue that the event or `pr-number` names; null if they name none. */
  readonly conversation: number | null;
  /** The notes found there, or why they are not known; null if nobody needs them. */
  readonly notes: Result<readonly NoteData[]> | null;
  /** What the comments of this process say about it. */
  readonly about: AboutNote;
  readonly story: Story;
  /** In the order of the inputs. */
  readonly jobs: readonly Job[];
  readonly jobLog: JobLog;
  /** A few messages at a time, in the order of the jobs. All of them count against one rate limit. */
  readonly limitSends: LimitFunction;
  /** Polls do not wait for messages. */
  readonly limitPolls: LimitFunction;
  /** Aborted, with the reason, when the rate limit refuses a message: it would refuse the others as well. */
  readonly stop: AbortController;
  /** The comment of this process; null if there is none, or none yet. */
  note: Note | null;
  /** Takes back the claim of the command; null if this process has not claimed it. */
  release: (() => Promise<unknown>) | null;
  /** Whether a message may have been sent. */
  hasStarted: boolean;
}

/** Resolves to the problem if it is not known which jobs the run is about. `text` is that of the command. */
export async function prepare(
  start: Start,
  inputs: Inputs,
  text: string,
): Promise<Result<RunContext>> {
  const { info, trigger, github, asked, log, clock } = start;
  const conversation = inputs.prNumber ?? trigger.conversation;
  const isRerun = inputs.send && info.attempt > 1;
  const isNeeded = isRerun || inputs.jobIds.length === 0 || (!inputs.send && inputs.wait);
  const notes =
    isNeeded && conversation !== null && inputs.comment
      ? await readNotes(github, conversation, hashOf(inputs.projectId))
      : null;
  const jobIds = whichJobs(inputs, notes);
  if (jobIds.kind === 'problem') return jobIds;
  const jobs = jobIds.value.map((id) => newJob(id, !inputs.send));
  const prompt = asked === null ? inputs.prompt : composePrompt(inputs.prompt, text, asked.context);
  const deadline = clock.startedAt + inputs.timeoutMs;
  return ok({
    ...{ ...start, inputs, deadline, prompt, conversation, notes, jobs },
    agent: agentContext(start, inputs, deadline),
    about: aboutNote(start, inputs, prompt, deadline),
    story: storyOf(start, inputs, prompt, deadline),
    jobLog: new JobLog({ log, clock, jobs, deadline }),
    limitSends: pLimit(MOST_SENDS_AT_ONCE),
    limitPolls: pLimit(MOST_POLLS_AT_ONCE),
    stop: new AbortController(),
    note: null,
    release: null,
    hasStarted: false,
  });
}

const MOST_SENDS_AT_ONCE = 4;
const MOST_POLLS_AT_ONCE = 24;
/** The most characters of the prompt that are shown. */
const SHOWN_PROMPT = 1000;

function storyOf(start: Start, { command, wait }: Inputs, prompt: string, deadline: number): Story {
  const { info, trigger, redact, clock } = start;
  const by = trigger.comment?.sender.login ?? (trigger.event === 'schedule' ? '' : info.actor);
  return {
    ...{ info, command, startedAt: clock.now(), until: wait ? deadline : null },
    by: by === '' ? null : oneLine(redact(by), 100),
    // Redacted before it is cut: a part of a secret would not be recognized.
    prompt: redact(prompt).slice(0, SHOWN_PROMPT).toWellFormed(),
  };
}

function aboutNote(
  { info, asked, newId }: Start,
  { projectId, matrixLeg, send }: Inputs,
  prompt: string,
  deadline: number,
): AboutNote {
  // The runner passes `null` for a job without a matrix.
  const leg = ['', 'null', '{}'].includes(matrixLeg.trim()) ? '' : hashOf(matrixLeg);
  return {
    project: hashOf(projectId),
    step: hashOf(info.step),
    leg,
    prompt: hashOf(prompt),
    run: info.runId,
    command: asked === null ? '' : `${asked.kind}:${asked.id}`,
    // Each command has its own answer.
    series: asked !== null ? '' : hashOf(info.workflow, info.step, leg, String(send)),
    attempt: info.attempt,
    id: newId(),
    deadline: Math.round(deadline),
  };
}

/** The jobs in `job-id`, or the one that the comments name. */
function whichJobs(
  { jobIds }: Inputs,
  notes: Result<readonly NoteData[]> | null,
): Result<readonly string[]> {
  if (jobIds.length > 0) return ok(jobIds);
  const isEmpty = `job-id is empty. ${CHECK_NAME}`;
  if (notes === null) return problem(isEmpty);
  if (notes.kind === 'problem') {
    return problem(`${isEmpty} It cannot be taken from a comment: ${notes.problem}.`);
  }
  const ids = namedJobs(notes.value);
  const [first, ...others] = ids;
  if (first === undefined) {
    return problem(
      `${isEmpty} No comment of this action names an agent job here yet; set job-id, or run a workflow with job-id ` +
        'for this pull request or issue once.',
    );
  }
  if (others.length === 0) return ok(ids);
  const more = ids.length > 10 ? [`${ids.length - 10} more`] : [];
  const listed = listing([...ids.slice(0, 10).map((id) => quote(id, 256)), ...more]);
  return problem(
    `job-id is empty, and the comments of this action name ${ids.length} jobs: ${listed}. Set job-id to one of ` +
      'them, or use one workflow with a command of its own for each.',
  );
}

function agentContext(start: Start, inputs: Inputs, deadline: number): AgentContext {
  const { baseUrl, projectId, proxy } = inputs;
  const isDefault = isDefaultUrl(baseUrl);
  const through = proxy.url === '' ? '' : ` (proxy ${quote(new URL(proxy.url).host)})`;
  return {
    ...start,
    transport: createTransport({ ...inputs, ...start }),
    where: `${isDefault ? '' : 'base-url '}${quote(baseUrl.host)}${through}`,
    isDefaultUrl: isDefault,
    projectId,
    repositoryUrl: start.info.repositoryUrl,
    deadline,
  };
}

/** If there are more jobs, they are polled less often, and the outputs are written less often. */
const MOST_JOBS_IN_DETAIL = 20;

export function isDetailed({ jobs }: RunContext): boolean {
  return jobs.length <= MOST_JOBS_IN_DETAIL;
}

/** Writes the outputs as they are now. */
export function save(run: RunContext): void {
  const { inputs, jobs, note } = run;
  saveOutputs(run, { ended: endedNow(jobs, inputs.wait), commentUrls: [note?.url ?? ''] });
}

/** The bot that has triggered the run on a pull request, which may be that of the job; null if none has. */
export function botOf({ trigger: { event, sender } }: RunContext): Account | null {
  return isPullRequestEvent(event) && sender !== null && isBot(sender) ? sender : null;
}

/**
 * Whether messages wait until the agent is done with earlier work. Those of bots do, because a job at work does not
 * show its pull request yet.
 */
export function waitsForIdle(run: RunContext): boolean {
  return run.inputs.whenActiveWait || botOf(run) !== null;
}

/** Ends a job. What may have been delivered has its delivery already. */
export function endJob(run: RunContext, job: Job, end: End): void {
  const { inputs, jobs, note } = run;
  if (job.delivery === 'open') job.delivery = 'not-sent';
  // After a wait that saw no end, nothing is confirmed.
  const isOpen = inputs.wait && !job.isReadOnly && job.delivery !== 'not-sent';
  job.end = { ...end, confirmed: end.confirmed ?? (isOpen ? false : null) };
  job.endedAt = run.clock.now();
  job.isWaiting = false;
  // The last edit follows the end of the last job.
  if (jobs.some((other) => other.end === null)) note?.touch();
  run.jobLog.ended(job);
}

/** A cancellation ends the pause early. */
export function pause({ clock, signal }: RunContext, ms: number): Promise<void> {
  return clock.sleep(ms, signal).catch(() => {});
}
