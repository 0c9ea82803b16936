import { renderStory, type Story } from '../comment/render.ts';
import { describeRun, type Run } from '../delivery/run-state.ts';
import { adviseOnFile, showStatus } from '../job/explain.ts';
import { type Job, labelOf, NEW_JOB, statusBefore } from '../job/job.ts';
import { countLabels, titleOf, wordOf } from '../job/labels.ts';
import { type Ended, endedNow, failing, overallReason, worstFirst } from '../job/overall.ts';
import { blocks, link, sentenceToMarkdown } from '../markdown.ts';
import { ok, problem, type Result } from '../result.ts';
import type { Runtime } from '../runner/environment.ts';
import { codeOf } from '../runner/files.ts';
import type { Log } from '../runner/logger.ts';
import { isFinal } from '../service.ts';
import { sentences } from '../text.ts';
import { finishOnGitHub } from './comments.ts';
import { type Report, toOutputs } from './outputs.ts';

// How a run ends: its annotation, outputs and job summary.

/** The outputs come first, because a second signal may end the process at once. What follows changes no result. */
export async function report(run: Run): Promise<0 | 1> {
  const { inputs, jobs, runtime, comment } = run;
  const ended = endedNow(jobs, inputs.wait);
  const failed = failing(ended, inputs.failOn);
  const isBad = failed.length > 0 || runtime.signal.aborted;
  const early = { ended, commentUrls: [comment?.url ?? ''] };
  const code = saveAtEnd(runtime, early, isBad ? 1 : 0);
  annotate(runtime.log, ended, failed);
  const { commentUrls, outdated } = await finishOnGitHub(run);
  // Only then, all comments are known, and what has changed.
  saveOutputs(runtime, { ended: endedNow(jobs, inputs.wait), commentUrls });
  summarize(runtime, describeRun(run), jobs, commentUrls, outdated);
  return code;
}

/** A bug in this action. The outputs stay as they were saved last. */
export function crash({ log, redact }: Pick<Runtime, 'log' | 'redact'>, error: unknown): 1 {
  const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  const reason =
    'An unexpected error ended the run; please report it. The output delivery says whether the ' +
    `message was sent. ${redact(what).slice(0, 500)}`;
  log.error(reason, 'Unexpected error');
  if (error instanceof Error) log.debug(error.stack ?? '');
  return 1;
}

/** Saves the outputs at the end. If that is not possible, the step fails, with one error at most. */
export function saveAtEnd(runtime: Runtime, report: Report, code: 0 | 1): 0 | 1 {
  const saved = saveOutputs(runtime, report);
  if (saved.kind === 'ok') return code;
  const { result, delivery, status } = toOutputs(report);
  const lost = `result ${result}, delivery ${delivery}, status ${status === '' ? 'unknown' : showStatus(status)}`;
  const text = sentences(
    `${saved.problem}, so later steps do not see them. They are: ${lost}.`,
    adviseOnFile(saved.problem),
  );
  runtime.log[code === 1 ? 'info' : 'error'](text);
  return 1;
}

/** Appends the outputs. A problem is a phrase. */
export function saveOutputs(runtime: Runtime, report: Report): Result<null> {
  try {
    runtime.writeOutputs(toOutputs(report));
    return ok(null);
  } catch (error) {
    return problem(`The outputs cannot be written (${codeOf(error)})`);
  }
}

/** One annotation at most: an error about a job that fails the step, else a warning or a notice. */
export function annotate(log: Log, ended: readonly Ended[], failed: readonly Ended[]): void {
  const [main] = worstFirst(failed.length > 0 ? failed : ended);
  if (main === undefined) return;
  const { id, record, end } = main;
  const title = titleOf(labelOf(main));
  const isOnly = ended.length === 1;
  if (isOnly) log.info(sentences(`${title}.`, record?.prLink ?? ''));
  else listReasons(log, ended, end.explanation);
  const about = isOnly && id !== NEW_JOB ? `Job ${id}: ` : '';
  const text = about + overallReason(main, ended);
  // Only fail-on makes a failure of a result that needs no reason.
  const failure =
    end.explanation === '' ? `Job ${id} is ${end.result}, which fails the step (“fail-on”).` : text;
  if (failed.length > 0) log.error(failure, title);
  else if (end.explanation === '') return;
  else if (end.result === 'skipped') log.notice(text, title);
  // It is unconfirmed because the agent was already at work, and nothing is wrong.
  else if (end.result === 'completed' && isAtWork(statusBefore(main))) log.info(text);
  else log.warning(text, title);
}

function isAtWork(status: string | undefined): boolean {
  return status !== undefined && !isFinal(status);
}

/** Each reason once, the worst first, but not the one that the annotation tells. The log has the end of each job. */
function listReasons(log: Log, ended: readonly Ended[], told: string): void {
  const byReason = Map.groupBy(worstFirst(ended), ({ end }) => end.explanation);
  const untold = [...byReason].filter(([reason]) => reason !== '' && reason !== told);
  for (const [reason, jobs] of untold) {
    const [id = '', ...others] = jobs.map((job) => job.id);
    const [word = ''] = jobs.map((job) => wordOf(labelOf(job)));
    const more = others.length === 0 ? '' : ` and ${others.length} more`;
    log.info(`Job ${id}${more}: ${word}. ${reason}`);
  }
  log.info(`${ended.length} jobs: ${countLabels(ended.map(labelOf))}.`);
}

/** Characters, to which the message may add 60,000, each of up to three bytes: the runner drops a summary of more than 1,048,576 bytes as a whole. */
const SUMMARY_LIMIT = 250_000;

/** `outdated`: why the comment is not up to date, in sentences; empty if it is. */
export function summarize(
  runtime: Runtime,
  story: Story,
  jobs: readonly Job[],
  commentUrls: readonly string[],
  outdated = '',
): void {
  const urls = commentUrls
    .map((url) => ({ url, number: Number(new URL(url).pathname.split('/').at(-1)) }))
    .sort((one, other) => one.number - other.number)
    .map(({ url, number }) => link(`#${number}`, url));
  const label = urls.length === 1 ? 'Comment' : 'Comments';
  const links = urls.length === 0 ? '' : `${label} on ${urls.join(', ')}`;
  const comments = blocks([links, sentenceToMarkdown(outdated)]);
  writeSummary(runtime, renderStory(story, jobs, { limit: SUMMARY_LIMIT, comments }));
}

export function writeSummary(runtime: Runtime, markdown: string): void {
  try {
    runtime.writeSummary(`${markdown}\n`);
  } catch (error) {
    runtime.log.warning(`The job summary cannot be written (${codeOf(error)}).`);
  }
}
