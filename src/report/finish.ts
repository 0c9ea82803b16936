import { describeRun, type Run } from '../delivery/run-state.ts';
import { labelOf, NEW_JOB, statusBefore } from '../job/job.ts';
import { countLabels, titleOf, wordOf } from '../job/labels.ts';
import { type Ended, endedNow, failing, overallReason, worstFirst } from '../job/overall.ts';
import type { Runtime } from '../runner/environment.ts';
import type { Log } from '../runner/logger.ts';
import { isFinal } from '../service.ts';
import { sentences } from '../text.ts';
import { finishOnGitHub } from './comments.ts';
import { saveAtEnd, saveOutputs } from './outputs.ts';
import { summarize } from './summary.ts';

/**
 * The outputs come first, because a second signal may end the process at once. What follows changes
 * no result.
 */
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

export function crash({ log, redact }: Pick<Runtime, 'log' | 'redact'>, error: unknown): 1 {
  const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  const reason =
    'An unexpected error ended the run; please report it. The output delivery says whether the ' +
    `message was sent. ${redact(what).slice(0, 500)}`;
  log.error(reason, 'Unexpected error');
  if (error instanceof Error) log.debug(error.stack ?? '');
  return 1;
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

/**
 * Each reason once, the worst first, but not the one that the annotation tells. The log has the end
 * of each job.
 */
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
