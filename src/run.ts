import pLimit from 'p-limit';
import { createTransport } from './agent/http.ts';
import { type Connect, connectOnce } from './github/api.ts';
import { authorize, isTrusted } from './github/authorize.ts';
import { composePrompt, readRequest } from './github/command.ts';
import { hintFor, whyOf } from './github/errors.ts';
import { getsNoSecrets, isCommentEvent, readTrigger, type Trigger } from './github/event.ts';
import { CHECK_NAME, DEFAULT_BASE_URL, type Inputs, NO_SECRETS, readInputs } from './inputs.ts';
import { newJob } from './job.ts';
import { updateComments } from './jobs/comments.ts';
import { MOST_JOBS_IN_DETAIL, type RunContext } from './jobs/context.ts';
import { runJobs } from './jobs/fleet.ts';
import { JobLog } from './jobs/log.ts';
import {
  type AboutNote,
  composeAnswer,
  composeNote,
  hashOf,
  type NoteData,
  noteOf,
} from './note/data.ts';
import { Note, readNotes } from './note/note.ts';
import { react } from './note/reactions.ts';
import { namedJobs } from './note/rerun.ts';
import { annotate, cancelled, crash, fail, saveOutputs, skip, summarize } from './report/finish.ts';
import { endedNow, failing, worstFirst } from './report/outputs.ts';
import { renderProblem, renderStory, renderUsage, type Story } from './report/render.ts';
import { ok, problem, type Result } from './result.ts';
import { type RunInfo, readRunInfo } from './runner/environment.ts';
import { readWhole } from './runner/files.ts';
import type { Runtime } from './runner/runtime.ts';
import { listing, oneLine, quote, sentences } from './text.ts';

/** What is known before the run is authorized. */
interface Start {
  readonly runtime: Runtime;
  readonly info: RunInfo;
  readonly trigger: Trigger;
  readonly connect: Connect;
  /** The word of the command that started the run; null without one. */
  readonly command: string | null;
  /** The 👀 on the command, which nothing waits for until the end. */
  seen: Promise<unknown>;
}

/** One run of the action, from the inputs to the exit code. It never throws. */
export async function run(runtime: Runtime): Promise<0 | 1> {
  const known: { context: RunContext | null } = { context: null };
  try {
    return await Promise.race([runSteps(runtime, known), runtime.crashed]);
  } catch (error) {
    const { jobs = [], inputs } = known.context ?? {};
    return crash(runtime, endedNow(jobs, inputs?.wait ?? false), error);
  }
}

async function runSteps(runtime: Runtime, known: { context: RunContext | null }): Promise<0 | 1> {
  const info = readRunInfo(runtime.env);
  const { access, inputs, problems } = readInputs(runtime.env, runtime.redact);
  const event = runtime.env.GITHUB_EVENT_NAME ?? '';
  const trigger = readTrigger(event, readWhole(runtime.env.GITHUB_EVENT_PATH ?? ''));
  const trusted = isTrusted(trigger);
  if (trigger.problem !== null && !trusted) {
    return fail(runtime, `The run does not know what started it: ${trigger.problem}.`);
  }
  const hasKey = (runtime.env['INPUT_API-KEY'] ?? '').trim() !== '';
  if (!hasKey && getsNoSecrets(trigger)) return skip(runtime, NO_SECRETS);
  // On other events, anyone may have started the run, and must not be able to make it fail.
  if (trusted && inputs === null) return fail(runtime, problems.join(' '));
  if (trigger.problem !== null) {
    runtime.log.warning(`The step runs without a pull request or issue: ${trigger.problem}.`);
  }
  const request = readRequest(trigger.comment, access);
  if (request.kind === 'problem') return skip(runtime, request.problem);

  const connect = connectOnce({ ...info, ...runtime, token: access.githubToken });
  const command = trigger.comment === null ? null : access.command;
  const start: Start = { runtime, info, trigger, connect, command, seen: Promise.resolve() };
  const authorization = await authorize(trigger, info, access, connect);
  if (runtime.signal.aborted) return cancelled(runtime);
  if (authorization.kind === 'denied') return refuse(start, authorization.reason);
  if (authorization.kind === 'failed') return fail(runtime, authorization.reason);

  if (inputs === null) return complain(start, problems.join(' '));
  // A bare command sends the standing prompt.
  if (command !== null && request.value === '' && inputs.prompt === '') {
    return answerWithUsage(start, command);
  }
  if (problems.length > 0) return complain(start, problems.join(' '));
  start.seen = show(start, 'eyes');
  return followUp(start, inputs, request.value, known);
}

/** Called only if the run is allowed and its settings are valid. */
async function followUp(
  start: Start,
  inputs: Inputs,
  text: string,
  known: { context: RunContext | null },
): Promise<0 | 1> {
  const { runtime, info, trigger, connect, command } = start;
  introduce(runtime, inputs);
  const conversation = inputs.prNumber ?? trigger.conversation;
  const isRerun = inputs.send && info.attempt > 1;
  const isNeeded = isRerun || inputs.jobIds.length === 0 || (!inputs.send && inputs.wait);
  const project = hashOf(inputs.projectId);
  const notes =
    isNeeded && conversation !== null && inputs.comment
      ? await readNotes(connect, conversation, project)
      : null;
  const jobIds = whichJobs(inputs, command, notes);
  if (runtime.signal.aborted) return cancelled(runtime);
  if (jobIds.kind === 'problem') return complain(start, jobIds.problem);

  const { comment } = trigger;
  const prompt =
    command === null ? inputs.prompt : composePrompt(inputs.prompt, text, comment?.context ?? null);
  const context = openContext({ start, inputs, conversation, notes, prompt }, jobIds.value);
  known.context = context.run;
  tuneEngine(runtime, inputs, jobIds.value.length);
  await runJobs(context.run);
  return report(start, context);
}

interface Opened {
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
): Opened {
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
  runtime: Runtime,
  inputs: Inputs,
  { serverUrl }: RunInfo,
): RunContext['agent'] {
  const { baseUrl, projectId, proxy, timeoutMs } = inputs;
  const through = proxy.url === '' ? '' : ` (proxy ${quote(new URL(proxy.url).host)})`;
  return {
    ...runtime,
    transport: createTransport({ ...inputs, ...runtime }),
    where: `${quote(baseUrl.host)}${through}`,
    isDefaultUrl: isDefault(baseUrl),
    projectId,
    serverUrl,
    deadline: runtime.clock.startedAt + timeoutMs,
  };
}

function isDefault(baseUrl: URL): boolean {
  return baseUrl.href === new URL(DEFAULT_BASE_URL).href;
}

function introduce({ log }: Runtime, { baseUrl, apiKey }: Inputs): void {
  if (!isDefault(baseUrl)) log.info(`The API is at ${baseUrl.host} (base-url).`);
  if (isDefault(baseUrl) && !apiKey.startsWith('mint_')) {
    log.warning('api-key does not begin with “mint_”; the API may not accept it.');
  }
}

function tuneEngine(runtime: Runtime, { wait }: Inputs, jobs: number): void {
  // A run with many jobs takes long, and without this V8 would use twice the memory.
  if (jobs > MOST_JOBS_IN_DETAIL) runtime.saveMemory();
  // The end of a run with many requests would wait for V8.
  if (wait) runtime.deferTierUp();
}

/** The outputs come first, because a second signal may end the process at once. */
async function report(start: Start, { run, story }: Opened): Promise<0 | 1> {
  const { runtime, inputs, jobs, claim } = run;
  run.isOver = true;
  const ended = endedNow(jobs, inputs.wait);
  const failed = failing(ended, inputs.failOn);
  const first = [run.note?.url ?? ''].filter((url) => url !== '');
  let unsaved = saveOutputs(runtime, { ended, commentUrls: first });
  annotate(runtime.log, ended, failed);
  const [worst] = worstFirst(ended);
  const isGood = worst?.end.result === 'completed' && worst.end.confirmed !== false;
  const isBad = ended.some(({ end }) => end.result === 'error' || end.result === 'failed');
  const reacted = [
    start.seen,
    ...(isGood ? [show(start, 'hooray')] : []),
    ...(isBad ? [show(start, 'confused')] : []),
  ];
  const urls = await updateComments(run);
  if (urls.length > first.length) unsaved = saveOutputs(runtime, { ended, commentUrls: urls });
  if (unsaved !== null) runtime.log[failed.length > 0 ? 'info' : 'error'](unsaved);
  summarize(runtime, story, jobs, urls);
  await Promise.all(reacted);
  // As the last call, and only if no request can have been accepted.
  if (claim?.kind === 'added' && jobs.every(({ delivery }) => delivery === 'not-sent')) {
    await claim.remove();
  }
  return failed.length > 0 || unsaved !== null || runtime.signal.aborted ? 1 : 0;
}

/** On comments, a refusal is normal. On other events, the workflow probably needs a change: a warning. */
function refuse({ runtime, trigger }: Start, reason: string): 0 | 1 {
  const level = isCommentEvent(trigger.event) ? 'notice' : 'warning';
  return skip(runtime, `Nothing was sent. ${reason}`, '', level);
}

/**
 * Ends a run that the settings of the workflow stop. It is called after the authorization, so that
 * strangers do not get an answer. A command is answered once: GitHub says whether the reaction is new.
 */
async function complain(start: Start, said: string): Promise<1> {
  const { runtime, info } = start;
  const clean = runtime.redact(said);
  const confused = await show(start, 'confused');
  const isFirst = confused === 'added' || (confused === 'failed' && info.attempt === 1);
  const url = isFirst ? await answer(start, renderProblem(clean, info)) : '';
  await start.seen;
  return fail(runtime, clean, url);
}

async function answerWithUsage(start: Start, command: string): Promise<0 | 1> {
  const { runtime, info } = start;
  const reason = `${command} has no prompt; write the prompt after it, in the same comment.`;
  // An earlier attempt of this run has already answered.
  if (info.attempt > 1) return skip(runtime, reason);
  return skip(runtime, reason, await answer(start, renderUsage(command)));
}

/** Posts an answer to a command, if there is one. Resolves to its URL, or to an empty text. */
async function answer(
  { runtime, trigger, command, connect }: Start,
  visible: string,
): Promise<string> {
  if (trigger.comment === null || command === null) return '';
  try {
    const github = await connect();
    const { url } = await github.createComment(
      trigger.comment.conversation,
      composeAnswer(visible),
    );
    return url;
  } catch (error) {
    runtime.log.warning(
      sentences(`The answer could not be posted: ${whyOf(error)}.`, hintFor(error)),
    );
    return '';
  }
}

/** Shows the progress of a command to its author. Without one, nothing is shown. */
async function show(
  { runtime, trigger, command, connect }: Start,
  content: 'eyes' | 'hooray' | 'confused',
): Promise<'added' | 'there' | 'failed' | 'none'> {
  if (trigger.comment === null || command === null) return 'none';
  return (await react(trigger.comment, content, connect, runtime.log)).kind;
}
