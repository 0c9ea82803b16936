import { A_RUN, adviseOnFile, explain, showStatus } from '../job/explain.ts';
import { countCommits, DELIVERIES, type Delivery, elapsedMs, toDelivery } from '../job/job.ts';
import { type Ended, overallReason, worstFirst } from '../job/outcome.ts';
import { STOP_REASONS, type StopCode, stop } from '../job/stop-reasons.ts';
import { oneLine, sentences } from '../text.ts';
import { ok, problem, type Result } from '../value-or-problem.ts';
import { type Runtime, readRunInfo } from './environment.ts';
import { errorCode } from './files.ts';

export interface Report {
  readonly ended: readonly Ended[];
  readonly commentUrls?: readonly string[];
  readonly withoutJobs?: Readonly<{ code: StopCode; reason: string; delivery?: Delivery }>;
}

/** In the order of `action.yml`. Each of them is written on every path. */
export function toOutputs({ ended, withoutJobs, commentUrls = [] }: Report) {
  const main = worstFirst(ended)[0];
  const waited = ended.flatMap(({ end }) => end.confirmed ?? []);
  const code = main?.end.code ?? withoutJobs?.code ?? 'ended-early';
  return {
    result: main?.end.result ?? STOP_REASONS[code].result,
    code,
    status: main === undefined ? '' : (main.record?.status ?? ''),
    prLink: ended.flatMap(({ record }) => record?.prLink ?? []).join('\n'),
    commits: ended.map(countCommits).join(''),
    delivery:
      DELIVERIES.find((one) => ended.some((job) => toDelivery(job) === one)) ??
      withoutJobs?.delivery ??
      'not-sent',
    confirmed: waited.length === 0 ? '' : String(waited.every((confirmed) => confirmed)),
    reason: main === undefined ? (withoutJobs?.reason ?? '') : overallReason(main, ended),
    'job-id': ended.map(({ id }) => id).join('\n'),
    // One line for each job; other runners lose all outputs if a line is long.
    results: `[${ended.map((job) => JSON.stringify(toEntry(job))).join(',\n')}]`,
    'comment-url': commentUrls.filter((url) => url !== '').join('\n'),
  };
}

/** `results` has up to 100 of them, and all outputs of a workflow job may have a megabyte. */
const LONGEST_TEXT = 500;

function toEntry(job: Ended) {
  const { id, record, end } = job;
  const elapsed = elapsedMs(job);
  return {
    jobId: id,
    delivery: toDelivery(job),
    result: end.result,
    code: end.code,
    confirmed: end.confirmed ?? null,
    status: job.record?.status ?? null,
    prLink: record?.prLink ?? null,
    elapsedSeconds: elapsed === undefined ? null : Math.round(elapsed / 100) / 10,
    reason: oneLine(end.explanation, LONGEST_TEXT),
  };
}

export function withoutJobs({ env }: Runtime, code: StopCode, reason: string): Report {
  const delivery = readRunInfo(env).attempt > 1 ? 'unknown' : 'not-sent';
  return { ended: [], withoutJobs: { code, reason, delivery } };
}

/** What is true if the process is killed before it knows more, or ends because of a bug. */
export function saveUnfinished(runtime: Runtime): void {
  const isRerun = readRunInfo(runtime.env).attempt > 1;
  const reason = explain(stop('ended-early', { phase: 'early' }), { ...A_RUN, isRerun });
  const unfinished = withoutJobs(runtime, 'ended-early', reason);
  saveOutputs(runtime, unfinished);
}

/** If that is not possible, the step fails, with one error at most. */
export function saveAtEnd(runtime: Runtime, report: Report, code: 0 | 1): 0 | 1 {
  const saved = saveOutputs(runtime, report);
  if (saved.kind === 'ok') return code;
  const { result, delivery, ...others } = toOutputs(report);
  const status = others.status === '' ? 'unknown' : showStatus(others.status);
  const lost = `result ${result}, delivery ${delivery}, status ${status}`;
  const text = sentences(
    `${saved.problem}, so later steps do not see them. They are: ${lost}.`,
    adviseOnFile(saved.problem),
  );
  runtime.log[code === 1 ? 'info' : 'error'](text);
  return 1;
}

export function saveOutputs(runtime: Runtime, report: Report): Result<null> {
  try {
    runtime.writeOutputs(toOutputs(report));
    return ok(null);
  } catch (error) {
    return problem(`The outputs cannot be written (${errorCode(error)})`);
  }
}

/**
 * What the runner reads from `GITHUB_OUTPUT` (FileCommandManager.cs). The delimiter must not occur
 * in a value. Of several values with the same name, the last one counts.
 */
export function serialise(outputs: Readonly<Record<string, string>>, delimiter: string): string {
  return Object.entries(outputs)
    .map(([name, value]) => `${name}<<${delimiter}\n${value}\n${delimiter}\n`)
    .join('');
}

export function saveSummary(runtime: Runtime, markdown: string): void {
  try {
    runtime.writeSummary(`${markdown}\n`);
  } catch (error) {
    runtime.log.warning(`The job summary cannot be written (${errorCode(error)}).`);
  }
}
