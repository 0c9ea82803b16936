import pLimit from 'p-limit';
import { createTransport } from '../agent/http.ts';
import { composePrompt } from '../github/command.ts';
import { CHECK_NAME, type Inputs, isDefaultUrl } from '../inputs.ts';
import { newJob } from '../job.ts';
import { type AboutNote, composeNote, hashOf, type NoteData, noteOf } from '../note/data.ts';
import { Note, readNotes } from '../note/note.ts';
import { namedJobs } from '../note/rerun.ts';
import { saveOutputs } from '../report/finish.ts';
import { endedNow } from '../report/outputs.ts';
import { renderStory, type Story } from '../report/render.ts';
import { listing, ok, oneLine, problem, quote, type Result, sentences } from '../text.ts';
import type { Start } from './answer.ts';
import { MOST_JOBS_IN_DETAIL, type RunContext } from './context.ts';
import { JobLog } from './log.ts';

// What a run works with: the notes of earlier runs, the jobs, and what is said about them.

/** Resolves to the problem if it is not known which jobs the run is about. `text` is that of the command. */
export async function prepare(
  start: Start,
  inputs: Inputs,
  text: string,
): Promise<Result<Prepared>> {
  const { info, trigger, connect, command } = start;
  const conversation = inputs.prNumber ?? trigger.conversation;
  const isRerun = inputs.send && info.attempt > 1;
  const isNeeded = isRerun || inputs.jobIds.length === 0 || (!inputs.send && inputs.wait);
  const notes =
    isNeeded && conversation !== null && inputs.comment
      ? await readNotes(connect, conversation, hashOf(inputs.projectId))
      : null;
  const jobIds = whichJobs(inputs, command, notes);
  if (jobIds.kind === 'problem') return jobIds;
  const context = trigger.comment?.context ?? null;
  const prompt = command === null ? inputs.prompt : composePrompt(inputs.prompt, text, context);
  return ok(openContext({ start, inputs, conversation, notes, prompt }, jobIds.value));
}

export interface Prepared {
  readonly run: RunContext;
  readonly story: Story;
}

function openContext(
  {
    start,
    inputs,
    conversation,
    notes,
    prompt,
  }: Pick<RunContext, 'inputs' | 'conversation' | 'notes' | 'prompt'> & { readonly start: Start },
  jobIds: readonly string[],
): Prepared {
  const { runtime, info, trigger, connect, command } = start;
  const { clock, redact } = runtime;
  const jobs = jobIds.map((id) => newJob(id, !inputs.send));
  const agent = agentContext(runtime, inputs, info);
  const about = aboutNote(start, inputs, prompt, agent.deadline);
  const by = trigger.comment?.author.login ?? (trigger.event === 'schedule' ? '' : info.actor);
  const story: Story = {
    ...{ info, command, startedAt: clock.now() },
    by: by === '' ? null : oneLine(redact(by), 100),
    // Redacted before it is cut: a part of a secret would not be recognized.
    prompt: redact(prompt).slice(0, SHOWN_PROMPT).toWellFormed(),
  };
  const isMany = jobs.length > MOST_JOBS_IN_DETAIL;
  let hasStarted = false;
  const run: RunContext = {
    ...{ runtime, inputs, info, trigger, agent, connect, prompt, conversation, notes, about, jobs },
    log: new JobLog(runtime.log, clock, jobs, agent.deadline),
    limitSends: pLimit(MOST_SENDS_AT_ONCE),
    limitPolls: pLimit(MOST_POLLS_AT_ONCE),
    stop: new AbortController(),
    ...{ note: null, claim: null, isOver: false },
    openNote: (number, some, deadline) => {
      const render = (limit: number): string =>
        renderStory(story, some, { heading: '###', conversation: number, mostOpen: 10, limit });
      const compose = (): string => composeNote(noteOf(about, some, run.isOver), render);
      return new Note({
        ...{ ...runtime, connect, conversation: number, deadline, compose, id: about.id },
      });
    },
    save: (isDetail) => {
      if (isDetail && isMany && hasStarted) return;
      hasStarted ||= isDetail;
      const urls = [run.note?.url ?? ''].filter((url) => url !== '');
      const isUnsure = isDetail && isMany;
      saveOutputs(runtime, { ended: endedNow(jobs, inputs.wait), commentUrls: urls, isUnsure });
    },
  };
  return { run, story };
}

const MOST_SENDS_AT_ONCE = 4;
const MOST_POLLS_AT_ONCE = 24;
/** The most characters of the prompt that are shown. */
const SHOWN_PROMPT = 1000;

function aboutNote(
  { runtime, info, trigger, command }: Start,
  { projectId, matrixLeg, send }: Inputs,
  prompt: string,
  deadline: number,
): AboutNote {
  const { comment } = trigger;
  // The runner passes `null` for a job without a matrix.
  const leg = ['', 'null', '{}'].includes(matrixLeg.trim()) ? '' : hashOf(matrixLeg);
  return {
    project: hashOf(projectId),
    step: hashOf(info.step),
    leg,
    prompt: hashOf(prompt),
    run: info.runId,
    command: comment !== null && command !== null ? `${comment.kind}:${comment.id}` : '',
    // Each command has its own answer.
    series: command !== null ? '' : hashOf(info.workflow, info.step, leg, String(send)),
    attempt: info.attempt,
    id: runtime.newId(),
    deadline: Math.round(deadline),
  };
}

/** The jobs in `job-id`, or the one that the comments name. */
function whichJobs(
  { jobIds }: Inputs,
  command: string | null,
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
  const listed = listing(ids.slice(0, 10).map((id) => quote(id, 256)));
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
