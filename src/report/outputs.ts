import { endNow } from '../job/explain.ts';
import {
  DELIVERIES,
  type Delivery,
  deliveryOf,
  elapsedMs,
  type Job,
  labelOf,
  statusOf,
} from '../job/job.ts';
import { byAttention, isBad, type Label, wordOf } from '../job/labels.ts';
import { type End, type JobResult, RESULT_NAMES, RESULTS } from '../job/outcome.ts';
import { pullRequestName } from '../pull-request.ts';
import { oneLine, quote } from '../text.ts';

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
  const prLinks = ended.flatMap(({ record }) => record?.prLink ?? []).join('\n');
  return {
    result: main?.end.result ?? withoutJobs?.result ?? 'error',
    status: main === undefined ? '' : (statusOf(main) ?? ''),
    'pr-link': prLinks,
    prLink: prLinks,
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

/**
 * For several jobs: how many need attention as the worst one does, or have its word, and the reason of the first of them, which
 * people know by its pull request.
 */
export function overallReason(main: Ended, ended: readonly Ended[]): string {
  const { id, end, record } = main;
  if (ended.length === 1 || end.explanation === '') return end.explanation;
  const words = ended
    .map(labelOf)
    .filter(isLike(labelOf(main)))
    .map(wordOf);
  const isOneWord = new Set(words).size === 1;
  const needs = words.length === 1 ? 'needs attention' : 'need attention';
  const first = words.length === 1 ? '' : 'first ';
  const prLink = record?.prLink;
  const pull = prLink ? `, ${pullRequestName(prLink, Boolean(record.prNumber))}` : '';
  const count = `${words.length} of ${ended.length} jobs ${isOneWord ? words[0] : needs}`;
  return `${count} (${first}${quote(id, 256)}${pull}): ${end.explanation}`;
}

/** Those that need attention are counted together, as in the title of the summary. */
function isLike(label: Label): (other: Label) => boolean {
  return isBad(label) ? isBad : (other) => wordOf(other) === wordOf(label);
}

/** Characters of a text in `results`: all outputs of a job, which may have 100 lines, may have a megabyte. */
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
  const short = (text: string | null | undefined): string | null =>
    typeof text === 'string' ? oneLine(text, LONGEST_TEXT) : null;
  const { source } = record ?? {};
  return {
    jobId: id,
    delivery: deliveryOf(job),
    result: end.result,
    confirmed: end.confirmed ?? null,
    status: statusOf(job) ?? null,
    prLink: record?.prLink ?? null,
    model: short(record?.model),
    source: source ? { repository: short(source.repository), ref: short(source.ref) } : null,
    createdAt: record?.createdAt ?? null,
    archivedAt: record?.archivedAt ?? null,
    elapsedSeconds: elapsed === undefined ? null : Math.round(elapsed / 100) / 10,
    reason: short(end.explanation),
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

// Which of several jobs represents all of them, and whether they fail the step.

/** A job as it is if the run ends now. */
export type Ended = Job & { readonly end: End };

export function endedNow(jobs: readonly Job[], wait: boolean): readonly Ended[] {
  return jobs.map((job) => ({ ...job, end: endNow(job, wait) }));
}

/** The worst first, by result and then by label; those with the same label in the order of the inputs. */
export function worstFirst(ended: readonly Ended[]): readonly Ended[] {
  return ended.toSorted(
    (one, other) =>
      RESULT_NAMES.indexOf(one.end.result) - RESULT_NAMES.indexOf(other.end.result) ||
      byAttention(labelOf(one), labelOf(other)),
  );
}

export function failing(ended: readonly Ended[], failOn: ReadonlySet<JobResult>): readonly Ended[] {
  return ended.filter(
    ({ end: { result } }) => RESULTS[result].fails === 'always' || failOn.has(result),
  );
}
