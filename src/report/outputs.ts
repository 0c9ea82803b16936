import { elapsedMs, statusOf } from '../job.ts';
import { kindOf, wordOf } from '../labels.ts';
import { cut } from '../text.ts';
import { deliveryOf, type Ended, overallDelivery, worstFirst } from './ranking.ts';

// The jobs -> the declared outputs, as one text.

export interface Report {
  readonly ended: readonly Ended[];
  readonly commentUrls: readonly string[];
  /** How a run ended that did not act on a job. */
  readonly early?: Readonly<Record<'result' | 'reason', string>>;
  /** Whether jobs that are still sending count as unknown: see `deliveryOf`. */
  readonly isUnsure?: boolean;
}

/** The declared outputs, in the order of `action.yml`. Each of them is written on every path. */
export function toOutputs({ ended, early, commentUrls, isUnsure = false }: Report) {
  const jobs = ended.map(({ job }) => job);
  const main = worstFirst(ended)[0];
  const prLinks = jobs.flatMap(({ record }) => record?.prLink ?? []).join('\n');
  return {
    result: main?.end.result ?? early?.result ?? 'error',
    delivery: overallDelivery(jobs, isUnsure),
    confirmed: overallConfirmed(ended),
    status: main === undefined ? '' : (statusOf(main.job) ?? ''),
    'pr-link': prLinks,
    prLink: prLinks,
    reason: main === undefined ? (early?.reason ?? '') : overallReason(main, ended),
    'job-id': jobs.map(({ id }) => id).join('\n'),
    results: renderResults(ended, isUnsure),
    'comment-url': commentUrls.join('\n'),
  };
}

/** `true` if it is true for every job with a wait; empty if there is none. */
function overallConfirmed(ended: readonly Ended[]): string {
  const waited = ended.flatMap(({ end }) => end.confirmed ?? []);
  return waited.length === 0 ? '' : String(waited.every((confirmed) => confirmed));
}

/** For several jobs: how many have the same label as the worst one, and the reason of the first of them. */
export function overallReason({ job, end }: Ended, ended: readonly Ended[]): string {
  if (ended.length === 1 || end.reason === '') return end.reason;
  const kind = kindOf({ ...job, end });
  const same = ended.filter((one) => kindOf({ ...one.job, end: one.end }) === kind);
  const first = same.length === 1 ? '' : 'first ';
  return `${same.length} of ${ended.length} jobs: ${wordOf(kind)}, ${first}${job.id}: ${end.reason}`;
}

/** Characters of all texts in `results` together, and of each: all outputs of a job may have a megabyte. */
const ALL_TEXTS = 200_000;
const LONGEST_TEXT = 1000;

/** One line per job; other runners lose all outputs if a line is long. */
function renderResults(ended: readonly Ended[], isUnsure: boolean): string {
  const limit = Math.min(LONGEST_TEXT, Math.floor(ALL_TEXTS / 4 / Math.max(1, ended.length)));
  const lines = ended.map((one) => JSON.stringify(toEntry(one, isUnsure, limit)));
  return `[${lines.join(',\n')}]`;
}

/** An object of `results`, with its fields in this order. */
function toEntry({ job, end }: Ended, isUnsure: boolean, limit: number) {
  const { id, record, polls } = job;
  const elapsed = elapsedMs(job);
  const short = (text: string | null | undefined): string | null =>
    text === null || text === undefined ? null : cut(text, limit);
  const { source } = record ?? {};
  return {
    jobId: id,
    delivery: deliveryOf(job, isUnsure),
    result: end.result,
    confirmed: end.confirmed,
    status: statusOf(job),
    prLink: record?.prLink ?? null,
    model: short(record?.model),
    source: source ? { repository: short(source.repository), ref: short(source.ref) } : null,
    createdAt: record?.createdAt ?? null,
    archivedAt: record?.archivedAt ?? null,
    elapsedSeconds: elapsed === null ? null : Math.round(elapsed / 100) / 10,
    polls,
    reason: short(end.reason),
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
