import { connectOnce } from './github/api.ts';
import { authorize, isTrusted } from './github/authorize.ts';
import { readRequest } from './github/command.ts';
import { getsNoSecrets, isCommentEvent, readTrigger } from './github/event.ts';
import { type Inputs, isDefaultUrl, NO_SECRETS, readInputs } from './inputs.ts';
import { answerWithUsage, complain, type Start, show } from './jobs/answer.ts';
import { updateComments } from './jobs/comments.ts';
import { MOST_JOBS_IN_DETAIL, type RunContext } from './jobs/context.ts';
import { runJobs } from './jobs/fleet.ts';
import { type Prepared, prepare } from './jobs/prepare.ts';
import { annotate, cancelled, crash, fail, saveOutputs, skip, summarize } from './report/finish.ts';
import { endedNow, failing, worstFirst } from './report/outputs.ts';
import type { Runtime } from './runner/environment.ts';
import { readRunInfo } from './runner/environment.ts';
import { readWhole } from './runner/files.ts';

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
  // Later ones replace these. The process may be killed at any time.
  const reason = 'The run ended before anything was sent.';
  saveOutputs(runtime, { ended: [], early: { result: 'error', reason }, commentUrls: [] });
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
  const { runtime } = start;
  introduce(runtime, inputs);
  const prepared = await prepare(start, inputs, text);
  if (runtime.signal.aborted) return cancelled(runtime);
  if (prepared.kind === 'problem') return complain(start, prepared.problem);
  known.context = prepared.value.run;
  tuneEngine(runtime, inputs, prepared.value.run.jobs.length);
  await runJobs(prepared.value.run);
  return report(start, prepared.value);
}

function introduce({ log }: Runtime, { baseUrl, apiKey }: Inputs): void {
  if (!isDefaultUrl(baseUrl)) log.info(`The API is at ${baseUrl.host} (base-url).`);
  if (isDefaultUrl(baseUrl) && !apiKey.startsWith('mint_')) {
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
async function report(start: Start, { run, story }: Prepared): Promise<0 | 1> {
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
