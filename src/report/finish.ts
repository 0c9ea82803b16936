import { type RunReport, renderReport } from '../comment/render.ts';
import { answer } from '../comment/reply.ts';
import type { Context } from '../context.ts';
import { type Delivered, describeRun } from '../delivery/run-state.ts';
import { A_RUN, explain, howToRetry } from '../job/explain.ts';
import { type JobState, NEW_JOB, toLabel } from '../job/job.ts';
import { countLabels, LABELS } from '../job/labels.ts';
import { type Ended, endedNow, failing, overallReason, worstFirst } from '../job/outcome.ts';
import { STOP_REASONS, type Stop } from '../job/stop-reasons.ts';
import { blocks, icon, link, sentenceToMarkdown } from '../markdown.ts';
import { isFinal } from '../mintlify-api.ts';
import { type Runtime, readRunInfo } from '../runner/environment.ts';
import type { Log } from '../runner/logger.ts';
import { saveAtEnd, saveOutputs, saveSummary, withoutJobs } from '../runner/outputs.ts';
import { sentences } from '../text.ts';
import { readChanges } from './changes.ts';
import { notify } from './notify.ts';

/** The outputs come first: a second signal may end the process. What follows changes no result. */
export async function report(run: Delivered): Promise<0 | 1> {
  const { inputs, jobs, runtime, comment } = run;
  const about = describeRun(run);
  const ended = endedNow(jobs, inputs.wait);
  const failed = failing(ended, inputs.failOn);
  const isBad = failed.length > 0 || runtime.signal.aborted;
  const early = { ended, commentUrls: [comment?.url ?? ''] };
  const code = saveAtEnd(runtime, early, isBad ? 1 : 0);
  annotate(runtime.log, ended, failed);
  await readChanges(run);
  const changed = endedNow(jobs, inputs.wait);
  const { commentUrls, outdated } = await notify(run, about, changed);
  // Only then, all comments are known.
  saveOutputs(runtime, { ended: changed, commentUrls });
  const summary = renderSummary(about, jobs, commentUrls, outdated);
  saveSummary(runtime, summary);
  return code;
}

/** Characters. The message may add 60,000 of three bytes; the runner drops more than 1 MiB. */
const SUMMARY_LIMIT = 250_000;

export function renderSummary(
  about: RunReport,
  jobs: readonly JobState[],
  commentUrls: readonly string[],
  outdated = '',
): string {
  const links = commentUrls.map((url) => link(`#${new URL(url).pathname.split('/').at(-1)}`, url));
  const label = links.length === 1 ? 'Comment on' : 'Comments on';
  const linked = links.length === 0 ? '' : `${label} ${links.join(', ')}`;
  const comments = blocks([linked, sentenceToMarkdown(outdated)]);
  return renderReport(about, jobs, { limit: SUMMARY_LIMIT, comments });
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
  const title = LABELS[toLabel(main)].title;
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
  else if (end.result === 'completed' && !isFinal(main.base?.status ?? 'completed')) log.info(text);
  else log.warning(text, title);
}

/** Each reason once, but not the one that the annotation tells. */
function listReasons(log: Log, ended: readonly Ended[], told: string): void {
  const byReason = Map.groupBy(worstFirst(ended), ({ end }) => end.explanation);
  const untold = [...byReason].filter(([reason]) => reason !== '' && reason !== told);
  for (const [reason, jobs] of untold) {
    const [id = '', ...others] = jobs.map((job) => job.id);
    const [word = ''] = jobs.map((job) => LABELS[toLabel(job)].word);
    const more = others.length === 0 ? '' : ` and ${others.length} more`;
    log.info(`Job ${id}${more}: ${word}. ${reason}`);
  }
  log.info(`${ended.length} jobs: ${countLabels(ended.map(toLabel))}.`);
}

/** Without `context`, it is not known who has asked. */
export async function reportEarlyEnd(
  runtime: Runtime,
  why: Stop,
  context?: Context,
): Promise<0 | 1> {
  const { result } = STOP_REASONS[why.code];
  const isRerun = readRunInfo(runtime.env).attempt > 1;
  const facts = { ...A_RUN, isCommand: Boolean(context?.source), isRerun };
  const again = context ? howToRetry(why.retry, facts) : '';
  // What people do is told at once only if the cause passes by itself; the answer always tells it.
  const fact = runtime.redact(explain({ ...why, retry: 'never' }, facts));
  const nothing = isRerun ? 'This attempt sent nothing' : 'Nothing was sent';
  const said = sentences(fact, why.retry === 'later' ? again : '');
  // Somebody wanted to send.
  const isRefusal = result === 'error' || ['not-allowed', 'no-secrets'].includes(why.code);
  const reason = sentences(isRefusal ? `${nothing}.` : '', said);
  const url = context === undefined ? '' : await answer(context, why, sentences(fact, again));
  const level = why.details.event === undefined ? 'notice' : 'warning';
  runtime.log[result === 'skipped' ? level : 'error'](reason);
  const ended = { ...withoutJobs(runtime, why.code, reason), commentUrls: [url] };
  const code = saveAtEnd(runtime, ended, result === 'skipped' ? 0 : 1);
  // Few read the log of a green run.
  if (result === 'error' || why.code === 'no-secrets') {
    const title = `## ${icon(result === 'error' ? '⚠️' : '⏭️')} ${nothing}`;
    saveSummary(runtime, blocks([title, sentenceToMarkdown(said)]));
  }
  return code;
}
