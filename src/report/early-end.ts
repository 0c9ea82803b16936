import { renderProblem, renderUsage } from '../comment/render.ts';
import { react, reply } from '../comment/reply.ts';
import type { EarlyEnd, Start } from '../context.ts';
import { A_RUN, howToRetry } from '../job/explain.ts';
import { blocks, icon, sentenceToMarkdown } from '../markdown.ts';
import { type Runtime, readRunInfo } from '../runner/environment.ts';
import { sentences } from '../text.ts';
import { type Report, saveAtEnd, saveOutputs } from './outputs.ts';
import { writeSummary } from './summary.ts';

// A run that acts on no job: its annotation, outputs, job summary and answer.

/** What is true if the process is killed before it knows more, or ends because of a bug. */
export function saveUnfinished(runtime: Runtime): void {
  const reason = `${isRerun(runtime) ? 'This attempt ended before it sent anything' : 'The run ended before anything was sent'}.`;
  saveOutputs(runtime, { ended: [], withoutJobs: withoutJobs(runtime, 'error', reason) });
}

export function cancelled(runtime: Runtime): EarlyEnd {
  const reason = isRerun(runtime)
    ? 'This attempt was cancelled before it sent anything.'
    : 'The run was cancelled before anything was sent.';
  return { kind: 'early end', result: 'cancelled', reason };
}

/** Ends the run, and returns its exit code. Without `start`, it is not known who has asked. */
export async function endEarly(runtime: Runtime, end: EarlyEnd, start?: Start): Promise<0 | 1> {
  const { result, isRefusal, isSummarized } = end;
  const facts = { ...A_RUN, isCommand: Boolean(start?.asked), isRerun: isRerun(runtime) };
  const again = start ? howToRetry(end.mayPass ? 'later' : 'when fixed', facts) : '';
  const url = start === undefined ? '' : await answer(start, end, again);
  const nothing = isRerun(runtime) ? 'This attempt sent nothing' : 'Nothing was sent';
  const said = runtime.redact(sentences(end.reason, end.mayPass ? again : ''));
  const reason = sentences(isRefusal ? `${nothing}.` : '', said);
  const level = end.isWarning ? 'warning' : 'notice';
  runtime.log[result === 'skipped' ? level : 'error'](reason);
  const report = {
    ended: [],
    withoutJobs: withoutJobs(runtime, result, reason),
    commentUrls: [url],
  };
  const code = saveAtEnd(runtime, report, result === 'skipped' ? 0 : 1);
  if (result === 'error' || isSummarized) {
    const title = `## ${icon(result === 'error' ? '⚠️' : '⏭️')} ${nothing}`;
    writeSummary(runtime, blocks([title, sentenceToMarkdown(said)]));
  }
  return code;
}

function isRerun({ env }: Runtime): boolean {
  return readRunInfo(env).attempt > 1;
}

function withoutJobs(
  runtime: Runtime,
  result: EarlyEnd['result'],
  reason: string,
): NonNullable<Report['withoutJobs']> {
  return { result, reason, delivery: isRerun(runtime) ? 'unknown' : 'not-sent' };
}

/** Resolves to the URL of the comment, or to an empty text. */
async function answer(start: Start, end: EarlyEnd, again: string): Promise<string> {
  if (typeof end.answer === 'object') {
    return reply(start, renderUsage(end.answer.usageOf), 'warning');
  }
  if (end.answer === undefined) return '';
  await react(start, end.answer === 'denied' ? '-1' : 'confused');
  if (end.answer === 'denied') return '';
  const said = sentences(start.runtime.redact(end.reason), again);
  // The error of the run is an annotation already.
  return reply(start, renderProblem(said, start.info), 'info');
}
