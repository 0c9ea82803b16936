import {
  DELIVERIES,
  type Delivery,
  type End,
  elapsedMs,
  type Job,
  type JobResult,
  RESULTS,
  statusOf,
} from '../job.ts';
import { kindOf, wordOf } from '../labels.ts';
import { endNow } from '../reasons.ts';
import { oneLine } from '../text.ts';

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
    status: main === undefined ? '' : (statusOf(main.job) ?? ''),
    'pr-link': prLinks,
    prLink: prLinks,
    delivery: overallDelivery(jobs, isUnsure),
    confirmed: overallConfirmed(ended),
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
    text === null || text === undefined ? null : oneLine(text, limit);
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

// Which of several jobs represents all of them, and whether they fail the step.

/** A job, and how it ends if the run ends now. */
export interface Ended {
  readonly job: Job;
  readonly end: End;
}

export function endedNow(jobs: readonly Job[], wait: boolean): readonly Ended[] {
  return jobs.map((job) => ({ job, end: endNow(job, { wait }) }));
}

/** The worst first; those of the same rank in the order of the inputs. */
export function worstFirst(ended: readonly Ended[]): readonly Ended[] {
  return ended.toSorted((one, other) => rank(one) - rank(other));
}

/** Of the same result, jobs with a reason come first, because they are not plain success. */
function rank({ end: { result, reason } }: Ended): number {
  return RESULTS.indexOf(result) + (reason === '' ? 0.5 : 0);
}

/**
 * Whether the message was delivered. `isUnsure`: any job that is still sending counts as unknown, for the
 * outputs of many jobs, which are not written again before each message.
 */
export function deliveryOf({ delivery, isPosting }: Job, isUnsure = false): Delivery {
  if (delivery !== 'sending') return delivery;
  return isPosting || isUnsure ? 'unknown' : 'not-sent';
}

/** The delivery that represents all: the first of unknown, sent, not-sent that occurs. */
export function overallDelivery(jobs: readonly Job[], isUnsure = false): Delivery {
  const found = new Set(jobs.map((job) => deliveryOf(job, isUnsure)));
  return DELIVERIES.find((delivery) => found.has(delivery)) ?? 'not-sent';
}

/** The jobs that fail the step. */
export function failing(ended: readonly Ended[], failOn: ReadonlySet<JobResult>): readonly Ended[] {
  return ended.filter(
    ({ end: { result } }) => result === 'error' || result === 'cancelled' || failOn.has(result),
  );
}
