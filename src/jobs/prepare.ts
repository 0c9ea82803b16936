import pLimit from 'p-limit';
import { createTransport } from '../agent/http.ts';
import { composePrompt } from '../github/command.ts';
import { CHECK_NAME, type Inputs, isDefaultUrl } from '../inputs.ts';
import { newJob } from '../job.ts';
import { type AboutNote, hashOf, type NoteData } from '../note/data.ts';
import { readNotes } from '../note/note.ts';
import { namedJobs } from '../note/rerun.ts';
import type { Story } from '../report/render.ts';
import { listing, ok, oneLine, problem, quote, type Result, sentences } from '../text.ts';
import type { Start } from './answer.ts';
import type { RunContext } from './context.ts';
import { JobLog } from './log.ts';

// What a run works with: the notes of earlier runs, the jobs, and what is said about them.

/** Resolves to the problem if it is not known which jobs the run is about. `text` is that of the command. */
export async function prepare(
  start: Start,
  inputs: Inputs,
  text: string,
): Promise<Result<RunContext>> {
  const { runtime, info, trigger, connect, asked } = start;
  const conversation = inputs.prNumber ?? trigger.conversation;
  const isRerun = inputs.send && info.attempt > 1;
  const isNeeded = isRerun || inputs.jobIds.length === 0 || (!inputs.send && inputs.wait);
  const notes =
    isNeeded && conversation !== null && inputs.comment
      ? await readNotes(connect, conversation, hashOf(inputs.projectId))
      : null;
  const jobIds = whichJobs(inputs, notes);
  if (jobIds.kind === 'problem') return jobIds;
  const jobs = jobIds.value.map((id) => newJob(id, !inputs.send));
  const prompt = asked === null ? inputs.prompt : composePrompt(inputs.prompt, text, asked.context);
  const agent = agentContext(runtime, inputs, info);
  return ok({
    ...{ ...start, inputs, agent, prompt, conversation, notes, jobs },
    about: aboutNote(start, inputs, prompt, agent.deadline),
    story: storyOf(start, inputs, prompt),
    log: new JobLog(runtime.log, runtime.clock, jobs, agent.deadline),
    limitSends: pLimit(MOST_SENDS_AT_ONCE),
    limitPolls: pLimit(MOST_POLLS_AT_ONCE),
    stop: new AbortController(),
    ...{ note: null, release: null, isOver: false, hasStarted: false },
  });
}

const MOST_SENDS_AT_ONCE = 4;
const MOST_POLLS_AT_ONCE = 24;
/** The most characters of the prompt that are shown. */
const SHOWN_PROMPT = 1000;

function storyOf({ runtime, info, trigger }: Start, { command }: Inputs, prompt: string): Story {
  const { redact, clock } = runtime;
  const by = trigger.comment?.author.login ?? (trigger.event === 'schedule' ? '' : info.actor);
  return {
    ...{ info, command, startedAt: clock.now() },
    by: by === '' ? null : oneLine(redact(by), 100),
    // Redacted before it is cut: a part of a secret would not be recognized.
    prompt: redact(prompt).slice(0, SHOWN_PROMPT).toWellFormed(),
  };
}

function aboutNote(
  { runtime, info, asked }: Start,
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
    id: runtime.newId(),
    deadline: Math.round(deadline),
  };
}

/** The jobs in `job-id`, or the one that the comments name. */
function whichJobs(
  { jobIds, command }: Inputs,
  notes: Result<readonly NoteData[]> | null,
): Result<readonly string[]> {
  if (jobIds.length > 0) return ok(jobIds);
  const isEmpty = `job-id is empty. ${CHECK_NAME}`;
  if (notes === null) return problem(isEmpty);
  if (notes.kind === 'problem') {
    return problem(
      `job-id is empty, and the comments that may name the job are not known: ${notes.problem}.`,
    );
  }
  const ids = namedJobs(notes.value);
  const [first, ...others] = ids;
  if (first === undefined) {
    const none =
      'No comment of this action names an agent job here yet; set job-id, or run a workflow with job-id for ' +
      'this pull request or issue once.';
    return problem(command === null ? sentences(isEmpty, none) : `job-id is empty. ${none}`);
  }
  if (others.length === 0) return ok(ids);
  const more = ids.length > 10 ? [`${ids.length - 10} more`] : [];
  const listed = listing([...ids.slice(0, 10).map((id) => quote(id, 256)), ...more]);
  return problem(
    `job-id is empty, and the comments of this action name ${ids.length} jobs: ${listed}. Set job-id to one of ` +
      'them, or use one workflow with a command of its own for each.',
  );
}

function agentContext(
  runtime: Start['runtime'],
  inputs: Inputs,
  { serverUrl }: Start['info'],
): RunContext['agent'] {
  const { baseUrl, projectId, proxy, timeoutMs } = inputs;
  const through = proxy.url === '' ? '' : ` (proxy ${quote(new URL(proxy.url).host)})`;
  return {
    ...runtime,
    transport: createTransport({ ...inputs, ...runtime }),
    where: `${quote(baseUrl.host)}${through}`,
    isDefaultUrl: isDefaultUrl(baseUrl),
    projectId,
    serverUrl,
    deadline: runtime.clock.startedAt + timeoutMs,
  };
}
