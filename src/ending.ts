import { isFinal } from './agent/wire.ts';
import type { Console } from './console.ts';
import { codeOf } from './files.ts';
import type { Host } from './host.ts';
import {
  countOutcomes,
  failsStep,
  type JobResult,
  type Outcome,
  worst,
  worstFirst,
} from './outcome.ts';
import { type Ended, type Report, reasonOf, toOutputs } from './outputs.ts';
import { headline } from './report/comment.ts';
import { renderSummary } from './report/summary.ts';
import type { Reporter } from './reporter.ts';

// The ways in which a run ends, each with its annotation, outputs, summary and exit code.

/** Stands in for the code of an error where the runner gave no path at all. */
const NO_FILE = 'no file is named for it';

/** Nothing is to be done here: green, and with its reason, if later steps are told so. */
export function skip(
  host: Host,
  reason: string,
  commentUrl = '',
  level: 'notice' | 'warning' = 'notice',
): 0 | 1 {
  host.console[level](reason);
  const ended: Ended = { result: 'skipped', reason: host.redact(reason) };
  const report: Report = { results: [], ended, commentUrls: [commentUrl] };
  const problem = writeOutputs(host, report);
  if (problem === undefined) return 0;
  host.console.error(`${problem} They are: ${factsOf(report)}`);
  return 1;
}

/** It was cancelled before it came to any job. */
export function cancelled(host: Host): 1 {
  const reason = 'The run was cancelled before anything was sent.';
  host.console.error(reason);
  writeOutputs(host, { results: [], ended: { result: 'cancelled', reason }, commentUrls: [] });
  return 1;
}

/** It went wrong before it came to any job. */
export function fail(host: Host, why: string): 1 {
  const reason = host.redact(why);
  host.console.error(reason);
  writeOutputs(host, { results: [], ended: { result: 'error', reason }, commentUrls: [] });
  writeSummary(host, { results: [], problem: reason, commentUrls: [], unwrittenComment: '' });
  return 1;
}

/** Tells the end in every place. The outputs come first: a second signal may end it at once. */
export async function conclude(
  host: Host,
  results: readonly JobResult[],
  failOn: ReadonlySet<Outcome>,
  reporter: Reporter,
): Promise<0 | 1> {
  const { console } = host;
  const failed = failsStep(results, failOn);
  console.endGroup();
  announce(console, results, failed);
  let problem = writeOutputs(host, { results, commentUrls: [] });
  const { urls, unwritten } = await reporter.finish();
  if (urls.length > 0) problem = writeOutputs(host, { results, commentUrls: urls });
  writeSummary(host, { results, problem: '', commentUrls: urls, unwrittenComment: unwritten });
  if (problem !== undefined) {
    const say = failed ? console.info : console.error;
    say(`${problem} They are: ${factsOf({ results, commentUrls: urls })}`);
  }
  return failed || problem !== undefined || host.signal.aborted ? 1 : 0;
}

/** A bug of ours. What was known before stays true and is kept. */
export function crash(host: Host, known: readonly JobResult[], error: unknown): 1 {
  const what = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  const reason =
    'An unexpected error ended the run; please report it. The output delivery tells whether the ' +
    `message went out. ${host.redact(what).slice(0, 500)}`;
  const results = known.map((result) => ({ ...result, result: 'error' as const, reason }));
  host.console.endGroup();
  host.console.error(reason);
  if (error instanceof Error) host.console.debug(error.stack ?? '');
  writeOutputs(host, { results, ended: { result: 'error', reason }, commentUrls: [] });
  return 1;
}

/** Returns a sentence if the runner's file cannot be written. */
export function writeOutputs(host: Host, report: Report): string | undefined {
  try {
    host.writeOutputs(toOutputs(report));
    return undefined;
  } catch (error) {
    return `The outputs cannot be written (${codeOf(error, NO_FILE)}), so later steps do not see them.`;
  }
}

/** For the log, where the outputs do not reach later steps. */
function factsOf(report: Report): string {
  const { result, delivery, status } = toOutputs(report);
  return `result ${result}, delivery ${delivery}, status ${status || 'unknown'}.`;
}

/** One annotation at most: an error if the step fails, else a warning or a notice. */
function announce(console: Console, results: readonly JobResult[], failed: boolean): void {
  for (const result of worstFirst(results)) {
    const link = result.prLink === null ? '' : ` ${result.prLink}`;
    // Of several jobs the annotation names the reason of one.
    const reason = results.length === 1 || result.reason === '' ? '' : ` ${result.reason}`;
    console.info(`Job ${result.jobId}: ${headline(result, result.status)}.${reason}${link}`);
  }
  if (results.length > 1) console.info(`${results.length} jobs: ${countOutcomes(results)}.`);
  const main = worst(results);
  const reason = main === undefined ? '' : reasonOf(main, results);
  if (reason === '') return;
  if (failed) console.error(reason);
  else if (main?.result === 'skipped') console.notice(reason);
  // It could not be confirmed from the beginning, and nothing is wrong.
  else if (main?.result === 'completed' && wasAtWork(main)) console.info(reason);
  else console.warning(reason);
}

function wasAtWork({ resumption: { base } }: JobResult): boolean {
  return base !== null && !isFinal(base.status);
}

function writeSummary(host: Host, parts: Parameters<typeof renderSummary>[0]): void {
  try {
    host.writeSummary(renderSummary(parts));
  } catch (error) {
    host.console.warning(`The job summary cannot be written (${codeOf(error, NO_FILE)}).`);
  }
}
