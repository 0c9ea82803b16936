import { findStarter } from '../comment/cause.ts';
import { renderProblem, renderUsage } from '../comment/render.ts';
import { react, reply } from '../comment/reply.ts';
import type { EarlyEnd, Start } from '../context.ts';
import { A_RUN, explain, howToRetry, type RunFacts } from '../job/explain.ts';
import { STOP_REASONS, type Stop, stop } from '../job/stop-reasons.ts';
import { blocks, icon, sentenceToMarkdown } from '../markdown.ts';
import { type Runtime, readRunInfo } from '../runner/environment.ts';
import { sentences } from '../text.ts';
import { type Report, saveAtEnd, saveOutputs } from './outputs.ts';
import { writeSummary } from './summary.ts';

// A run that acts on no job: its annotation, outputs, job summary and answer.

/** What is true if the process is killed before it knows more, or ends because of a bug. */
export function saveUnfinished(runtime: Runtime): void {
  const why = stop('ended-early', { phase: 'early' });
  const reason = explain(why, factsOf(runtime));
  saveOutputs(runtime, { ended: [], withoutJobs: withoutJobs(runtime, why, reason) });
}

/** Without `start`, it is not known who has asked. */
export async function reportEarlyEnd(
  runtime: Runtime,
  end: EarlyEnd,
  start?: Start,
): Promise<0 | 1> {
  const { why, isWarning, isSummarized } = end;
  const { result } = STOP_REASONS[why.code];
  const facts = factsOf(runtime, start);
  const again = start ? howToRetry(why.retry, facts) : '';
  // What people do is told at once only if the cause passes by itself; the answer always tells it.
  const fact = runtime.redact(explain({ ...why, retry: 'never' }, facts));
  const url = start === undefined ? '' : await answer(start, end, sentences(fact, again));
  const nothing = facts.isRerun ? 'This attempt sent nothing' : 'Nothing was sent';
  const said = sentences(fact, why.retry === 'later' ? again : '');
  const isRefusal = end.isRefusal || result === 'error';
  const reason = sentences(isRefusal ? `${nothing}.` : '', said);
  const level = isWarning ? 'warning' : 'notice';
  runtime.log[result === 'skipped' ? level : 'error'](reason);
  const report = { ended: [], withoutJobs: withoutJobs(runtime, why, reason), commentUrls: [url] };
  const code = saveAtEnd(runtime, report, result === 'skipped' ? 0 : 1);
  if (result === 'error' || isSummarized) {
    const title = `## ${icon(result === 'error' ? '⚠️' : '⏭️')} ${nothing}`;
    writeSummary(runtime, blocks([title, sentenceToMarkdown(said)]));
  }
  return code;
}

function factsOf({ env }: Runtime, start?: Start): RunFacts {
  const isRerun = readRunInfo(env).attempt > 1;
  return { ...A_RUN, isCommand: Boolean(start?.asked), isRerun };
}

function withoutJobs(
  runtime: Runtime,
  { code }: Stop,
  reason: string,
): NonNullable<Report['withoutJobs']> {
  return { code, reason, delivery: factsOf(runtime).isRerun ? 'unknown' : 'not-sent' };
}

async function answer(start: Start, end: EarlyEnd, said: string): Promise<string> {
  if (typeof end.answer === 'object') {
    return reply(start, renderUsage(end.answer.usageOf), 'warning');
  }
  if (end.answer === undefined) return '';
  await react(start, end.answer === 'denied' ? '-1' : 'confused');
  if (end.answer === 'denied') return '';
  // The error of the run is an annotation already.
  return reply(start, renderProblem(said, start.info, findStarter(start.trigger)), 'info');
}
