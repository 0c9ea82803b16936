import type { RunContext } from '../context.ts';
import { countLabels, inWords, labelOfState } from '../labels.ts';
import { ours, type Reason, reasonToText, redactReason } from '../reason.ts';
import { codeOf } from '../runner/files.ts';
import type { Log } from '../runner/log.ts';
import type { Runtime } from '../runner/runtime.ts';
import { isFinal, type JobState } from '../turn.ts';
import { overallReason, type Report, toOutputs } from './outputs.ts';
import { failing, worst, worstFirst } from './ranking.ts';
import { renderSummary } from './summary.ts';

// All ways in which a run ends, each with its annotation, outputs, job summary and exit code.

/** Used instead of the code of an error if the runner names no file. */
const NO_FILE = 'no file is named for it';

/** There is nothing to do. The step succeeds if the outputs can be written. */
export function skip(
  runtime: Runtime,
  reason: string,
  commentUrl = '',
  level: 'notice' | 'warning' = 'notice',
): 0 | 1 {
  runtime.log[level](reason, 'Message skipped');
  const ended = { result: 'skipped', reason: runtime.redact(reason) };
  const report: Report = { states: [], ended, commentUrls: [commentUrl] };
  const problem = writeOutputs(runtime, report);
  if (problem === undefined) return 0;
  runtime.log.error(`${problem} They are: ${mainOutputs(report)}`);
  return 1;
}

/** The run was cancelled before it acted on a job. */
export function cancelled(runtime: Runtime): 1 {
  const reason = 'The run was cancelled before anything was sent.';
  runtime.log.error(reason, 'Run cancelled');
  writeOutputs(runtime, { states: [], ended: { result: 'cancelled', reason }, commentUrls: [] });
  return 1;
}

/** The run failed before it acted on a job. */
export function fail(runtime: Runtime, why: Reason, commentUrl = ''): 1 {
  const problem = redactReason(why, runtime.redact);
  const commentUrls = [commentUrl].filter((url) => url !== '');
  const reason = `Nothing was sent. ${reasonToText(problem)}`;
  runtime.log.error(reason, 'Nothing was sent');
  const ended = { result: 'error', reason };
  const report: Report = { states: [], ended, problem, commentUrls };
  writeOutputs(runtime, report);
  writeSummary(runtime, report);
  return 1;
}

/**
 * Reports the results. The outputs come first, because a second signal may end the process at once, and then
 * the comments: messages of other runs, which they show, may still change a result.
 */
export async function conclude(context: RunContext): Promise<0 | 1> {
  const { runtime, inputs, states, updates } = context;
  const { log, signal } = runtime;
  log.endGroup();
  let problem = writeOutputs(runtime, { states: [...states.values()], commentUrls: [] });
  const { urls, unwritten, reviewed } = await updates.flush();
  for (const state of reviewed) states.set(state.jobId, state);
  const report: Report = {
    states: [...states.values()],
    commentUrls: urls,
    unwrittenComment: unwritten,
  };
  const failed = failing(report.states, inputs.failOn);
  annotate(log, report.states, failed);
  if (urls.length > 0 || reviewed.length > 0) problem = writeOutputs(runtime, report);
  writeSummary(runtime, report);
  if (problem !== undefined) {
    const say = failed.length > 0 ? log.info : log.error;
    say(`${problem} They are: ${mainOutputs(report)}`);
  }
  return failed.length > 0 || problem !== undefined || signal.aborted ? 1 : 0;
}

/** A bug in this action. What is known of the jobs is reported. */
export function crash(runtime: Runtime, known: readonly JobState[], error: unknown): 1 {
  const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  const reason =
    'An unexpected error ended the run; please report it. The output delivery says whether the ' +
    `message was sent. ${runtime.redact(what).slice(0, 500)}`;
  const states = known.map((state) => ({
    ...state,
    turn: { ...state.turn, result: 'error' as const, reason: ours(reason) },
  }));
  runtime.log.endGroup();
  runtime.log.error(reason, 'Unexpected error');
  if (error instanceof Error) runtime.log.debug(error.stack ?? '');
  writeOutputs(runtime, { states, ended: { result: 'error', reason }, commentUrls: [] });
  return 1;
}

/** Returns a sentence if the outputs cannot be written. */
export function writeOutputs(runtime: Runtime, report: Report): string | undefined {
  try {
    runtime.writeOutputs(toOutputs(report));
    return undefined;
  } catch (error) {
    return `The outputs cannot be written (${codeOf(error, NO_FILE)}), so later steps do not see them.`;
  }
}

/** For the log, if the outputs cannot be written. */
function mainOutputs(report: Report): string {
  const { result, delivery, status } = toOutputs(report);
  return `result ${result}, delivery ${delivery}, status ${status || 'unknown'}.`;
}

/** One annotation at most: an error about a job that fails the step, else a warning or a notice. */
function annotate(log: Log, states: readonly JobState[], failed: readonly JobState[]): void {
  const main = worst(failed) ?? worst(states);
  if (main === undefined) return;
  const { result } = main.turn;
  const { title } = labelOfState(main);
  const reason = overallReason(main, states);
  // The annotation has the reason of a single job.
  if (states.length === 1) log.info(lineOf(main, ''));
  else listStates(log, states);
  // Only fail-on makes a failure of a result that needs no reason.
  const failure = reason || `Job ${main.jobId} is ${result}, which fails the step (fail-on).`;
  if (failed.length > 0) log.error(failure, title);
  else if (reason === '') return;
  else if (result === 'skipped') log.notice(reason, title);
  // It is unconfirmed because the agent was already working, and nothing is wrong.
  else if (result === 'completed' && wasWorking(main)) log.info(reason);
  else log.warning(reason, title);
}

/** The most lines in the closing list; if there are many jobs, a tenth of them. */
const LISTED = 20;

/** The jobs with a reason, the worst first. The end of each job is in the log already. */
function listStates(log: Log, states: readonly JobState[]): void {
  const explained = worstFirst(states).filter(({ turn }) => turn.reason.length > 0);
  const most = Math.max(LISTED, Math.ceil(states.length / 10));
  if (explained.length > 0) log.group('Reasons');
  for (const state of explained.slice(0, most)) {
    log.info(lineOf(state, reasonToText(state.turn.reason)));
  }
  const left = explained.length - most;
  if (left > 0) log.info(`The job summary has ${left} more.`);
  log.endGroup();
  log.info(`${states.length} jobs: ${countLabels(states.map(labelOfState))}.`);
}

function lineOf(state: JobState, reason: string): string {
  const ended = `Job ${state.jobId}: ${inWords(labelOfState(state))}.`;
  return [ended, reason, state.record?.prLink ?? ''].filter((text) => text !== '').join(' ');
}

function wasWorking({ turn: { base, evidence } }: JobState): boolean {
  return base !== null && !isFinal(base.status) && !evidence;
}

function writeSummary(runtime: Runtime, report: Report): void {
  try {
    runtime.writeSummary(renderSummary(report));
  } catch (error) {
    runtime.log.warning(`The job summary cannot be written (${codeOf(error, NO_FILE)}).`);
  }
}
