import { react, reply } from '../comment/answer.ts';
import { renderProblem, renderUsage } from '../comment/render.ts';
import { findStarter } from '../comment/starter.ts';
import type { Context } from '../context.ts';
import { describeRun, type Run } from '../delivery/run-state.ts';
import { A_RUN, explain, howToRetry, type RunFacts } from '../job/explain.ts';
import { labelOf, NEW_JOB } from '../job/job.ts';
import { countLabels, LABELS } from '../job/labels.ts';
import { type Ended, endedNow, failing, overallReason, worstFirst } from '../job/overall.ts';
import { STOP_REASONS, type Stop, type StopCode, stop } from '../job/stop-reasons.ts';
import { blocks, icon, sentenceToMarkdown } from '../markdown.ts';
import { type Runtime, readRunInfo } from '../runner/environment.ts';
import type { Log } from '../runner/logger.ts';
import { isFinal } from '../service.ts';
import { sentences } from '../text.ts';
import { readChanges } from './changes.ts';
import { notify } from './notify.ts';
import { type Report, saveAtEnd, saveOutputs } from './outputs.ts';
import { summarize, writeSummary } from './summary.ts';

/** The outputs come first: a second signal may end the process. What follows changes no result. */
export async function report(run: Run): Promise<0 | 1> {
  const { inputs, jobs, runtime, comment } = run;
  const ended = endedNow(jobs, inputs.wait);
  const failed = failing(ended, inputs.failOn);
  const isBad = failed.length > 0 || runtime.signal.aborted;
  const early = { ended, commentUrls: [comment?.url ?? ''] };
  const code = saveAtEnd(runtime, early, isBad ? 1 : 0);
  annotate(runtime.log, ended, failed);
  await readChanges(run);
  const { commentUrls, outdated } = await notify(run);
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
  const title = LABELS[labelOf(main)].title;
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

/** Each reason once, but not the one that the annotation tells. The log has the end of each job. */
function listReasons(log: Log, ended: readonly Ended[], told: string): void {
  const byReason = Map.groupBy(worstFirst(ended), ({ end }) => end.explanation);
  const untold = [...byReason].filter(([reason]) => reason !== '' && reason !== told);
  for (const [reason, jobs] of untold) {
    const [id = '', ...others] = jobs.map((job) => job.id);
    const [word = ''] = jobs.map((job) => LABELS[labelOf(job)].word);
    const more = others.length === 0 ? '' : ` and ${others.length} more`;
    log.info(`Job ${id}${more}: ${word}. ${reason}`);
  }
  log.info(`${ended.length} jobs: ${countLabels(ended.map(labelOf))}.`);
}

// A run that acts on no job.

/** What is true if the process is killed before it knows more, or ends because of a bug. */
export function saveUnfinished(runtime: Runtime): void {
  const why = stop('ended-early', { phase: 'early' });
  const reason = explain(why, readFacts(runtime));
  saveOutputs(runtime, toReport(runtime, why, reason));
}

/** Mistakes that whoever has asked is told: only those who may send get that far. */
const ANSWERED: ReadonlySet<StopCode> = new Set([
  ...(['api-key', 'inputs', 'no-content'] as const),
  ...(['no-job', 'job-unknown', 'several-jobs', 'other-creation'] as const),
]);

/** Without `context`, it is not known who has asked. */
export async function reportEarlyEnd(
  runtime: Runtime,
  why: Stop,
  context?: Context,
): Promise<0 | 1> {
  const { result } = STOP_REASONS[why.code];
  const facts = readFacts(runtime, context);
  const again = context ? howToRetry(why.retry, facts) : '';
  // What people do is told at once only if the cause passes by itself; the answer always tells it.
  const fact = runtime.redact(explain({ ...why, retry: 'never' }, facts));
  const url = context === undefined ? '' : await answer(context, why, sentences(fact, again));
  const nothing = facts.isRerun ? 'This attempt sent nothing' : 'Nothing was sent';
  const said = sentences(fact, why.retry === 'later' ? again : '');
  // Somebody wanted to send.
  const isRefusal = result === 'error' || ['not-allowed', 'no-secrets'].includes(why.code);
  const reason = sentences(isRefusal ? `${nothing}.` : '', said);
  const level = why.details.isWarning ? 'warning' : 'notice';
  runtime.log[result === 'skipped' ? level : 'error'](reason);
  const report = { ...toReport(runtime, why, reason), commentUrls: [url] };
  const code = saveAtEnd(runtime, report, result === 'skipped' ? 0 : 1);
  // Few read the log of a green run.
  if (result === 'error' || why.code === 'no-secrets') {
    const title = `## ${icon(result === 'error' ? '⚠️' : '⏭️')} ${nothing}`;
    writeSummary(runtime, blocks([title, sentenceToMarkdown(said)]));
  }
  return code;
}

function readFacts({ env }: Runtime, context?: Context): RunFacts {
  const isRerun = readRunInfo(env).attempt > 1;
  return { ...A_RUN, isCommand: Boolean(context?.asked), isRerun };
}

function toReport(runtime: Runtime, { code }: Stop, reason: string): Report {
  const delivery = readFacts(runtime).isRerun ? 'unknown' : 'not-sent';
  return { ended: [], withoutJobs: { code, reason, delivery } };
}

/** Strangers get none. */
async function answer(context: Context, { code, details }: Stop, said: string): Promise<string> {
  if (code === 'no-words') {
    return reply(context, renderUsage(String(details.command)), 'warning');
  }
  const { command } = context.inputs;
  if (details.isColleague && command !== null) await react(context, 'THUMBS_DOWN');
  if (!ANSWERED.has(code)) return '';
  await react(context, 'CONFUSED');
  // The error of the run is an annotation already.
  return reply(context, renderProblem(said, context.info, findStarter(context.trigger)), 'info');
}
