import { DELIVERIES, type Delivery, deliveryOf, elapsedMs, statusOf } from '../job/job.ts';
import { type Ended, overallReason, worstFirst } from '../job/overall.ts';
import { oneLine } from '../text.ts';

// The jobs -> the declared outputs, as one text.

export interface Report {
  readonly ended: readonly Ended[];
  readonly commentUrls?: readonly string[];
  /** How a run ended that did not act on a job. */
  readonly withoutJobs?: Readonly<{ result: string; reason: string; delivery?: Delivery }>;
}

/** The declared outputs, in the order of `action.yml`. Each of them is written on every path. */
export function toOutputs({ ended, withoutJobs, commentUrls = [] }: Report) {
  const main = worstFirst(ended)[0];
  return {
    result: main?.end.result ?? withoutJobs?.result ?? 'error',
    status: main === undefined ? '' : (statusOf(main) ?? ''),
    prLink: ended.flatMap(({ record }) => record?.prLink ?? []).join('\n'),
    commits: commitsOf(ended),
    // The worst that occurs.
    delivery:
      DELIVERIES.find((one) => ended.some((job) => deliveryOf(job) === one)) ??
      withoutJobs?.delivery ??
      'not-sent',
    confirmed: overallConfirmed(ended),
    reason: main === undefined ? (withoutJobs?.reason ?? '') : overallReason(main, ended),
    'job-id': ended.map(({ id }) => id).join('\n'),
    results: renderResults(ended),
    'comment-url': commentUrls.filter((url) => url !== '').join('\n'),
  };
}

/** How many new commits were seen; empty if that was not looked at, as for several jobs. */
function commitsOf([job, ...others]: readonly Ended[]): string {
  const change = others.length === 0 ? job?.change : undefined;
  switch (change?.kind) {
    case 'commits':
    case 'created':
      return String(change.count ?? '');
    case 'none':
    case 'no-pull-request':
      return '0';
    default:
      return '';
  }
}

/** `true` if it is true for every job with a wait; empty if there is none. */
function overallConfirmed(ended: readonly Ended[]): string {
  const waited = ended.flatMap(({ end }) => end.confirmed ?? []);
  return waited.length === 0 ? '' : String(waited.every((confirmed) => confirmed));
}

/** Characters of a reason in `results`: all outputs of a job, which may have 100 lines, may have a megabyte. */
const LONGEST_TEXT = 500;

/** One line per job; other runners lose all outputs if a line is long. */
function renderResults(ended: readonly Ended[]): string {
  const lines = ended.map((job) => JSON.stringify(toEntry(job)));
  return `[${lines.join(',\n')}]`;
}

/** An object of `results`, with its fields in this order. */
function toEntry(job: Ended) {
  const { id, record, end } = job;
  const elapsed = elapsedMs(job);
  return {
    jobId: id,
    delivery: deliveryOf(job),
    result: end.result,
    confirmed: end.confirmed ?? null,
    status: statusOf(job) ?? null,
    prLink: record?.prLink ?? null,
    elapsedSeconds: elapsed === undefined ? null : Math.round(elapsed / 100) / 10,
    reason: oneLine(end.explanation, LONGEST_TEXT),
  };
}

/**
 * The text that the runner reads from the file `GITHUB_OUTPUT` names (FileCommandManager.cs):
 * `name<<DELIMITER`, the value, the delimiter. The delimiter must not occur in a value. Of several values
 * with the same name, the last one counts.
 */
export function serialise(outputs: Readonly<Record<string, string>>, delimiter: string): string {
  return Object.entries(outputs)
    .map(([name, value]) => `${name}<<${delimiter}\n${value}\n${delimiter}\n`)
    .join('');
}
