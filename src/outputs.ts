import { type JobResult, overallDelivery, worst } from './outcome.ts';

/** The declared outputs, in the order of `action.yml`. Each of them is written on every path. */
export const OUTPUT_NAMES = [
  'status',
  'pr-link',
  'prLink',
  'result',
  'delivery',
  'confirmed',
  'reason',
  'job-id',
  'results',
  'comment-url',
] as const;
export type Outputs = Readonly<Record<(typeof OUTPUT_NAMES)[number], string>>;

/** The fields of an object in `results`, in this order, and those of `source` in it. */
const RESULT_FIELDS = [
  'jobId',
  'delivery',
  'result',
  'confirmed',
  'status',
  'prLink',
  'model',
  'source',
  'repository',
  'ref',
  'createdAt',
  'archivedAt',
  'elapsedSeconds',
  'polls',
  'reason',
];

/** How a run ended that came to no job. */
export interface Ended {
  readonly result: 'skipped' | 'cancelled' | 'error';
  readonly reason: string;
}

/** What a run has to tell. */
export interface Report {
  readonly results: readonly JobResult[];
  /** Counts only where there is no result. */
  readonly ended?: Ended;
  readonly commentUrls: readonly string[];
}

export function toOutputs({ results, ended, commentUrls }: Report): Outputs {
  const main = worst(results);
  const prLinks = results.map(({ prLink }) => prLink ?? '').filter((link) => link !== '');
  return {
    status: main?.status ?? '',
    'pr-link': prLinks.join('\n'),
    prLink: prLinks.join('\n'),
    result: main?.result ?? ended?.result ?? 'error',
    delivery: overallDelivery(results),
    confirmed: overallConfirmed(results),
    reason: main === undefined ? (ended?.reason ?? '') : reasonOf(main, results),
    'job-id': results.map(({ jobId }) => jobId).join('\n'),
    results: renderResults(results),
    'comment-url': commentUrls.join('\n'),
  };
}

/** Bytes that `results` may have; the outputs of a job may be a megabyte altogether. */
const RESULTS_LIMIT = 480_000;
/** Characters of a text in `results`, the first with which it is small enough. */
const TEXT_LIMITS = [Infinity, 500, 200, 80, 20];

/** Bytes that one line may have: other runners read no longer ones, and lose all outputs. */
const LINE_LIMIT = 60_000;

/**
 * One line a job. Where many long texts come together, each of them is cut; links and times are
 * whole or `null`.
 */
function renderResults(results: readonly JobResult[]): string {
  for (const limit of TEXT_LIMITS) {
    const lines = toLines(results.map((result) => shorten(result, limit)));
    const bytes = lines.map((line) => Buffer.byteLength(line) + ',\n'.length);
    const total = bytes.reduce((sum, count) => sum + count, 0);
    if (total <= RESULTS_LIMIT && Math.max(0, ...bytes) <= LINE_LIMIT) return toArray(lines);
  }
  return toArray(
    toLines(
      results.map((result) => ({
        ...shorten(result, 0),
        ...{ prLink: null, createdAt: null, archivedAt: null },
      })),
    ),
  );
}

function toLines(results: readonly JobResult[]): readonly string[] {
  return results.map((result) => JSON.stringify(result, RESULT_FIELDS));
}

function toArray(lines: readonly string[]): string {
  return `[${lines.join(',\n')}]`;
}

function shorten(result: JobResult, limit: number): JobResult {
  const cut = (text: string): string =>
    text.length <= limit ? text : `${text.slice(0, Math.max(0, limit - 1)).toWellFormed()}…`;
  const cutOrNull = (text: string | null): string | null => (text === null ? null : cut(text));
  const { source } = result;
  return {
    ...result,
    model: cutOrNull(result.model),
    source: source && { repository: cut(source.repository), ref: cutOrNull(source.ref) },
    reason: cut(result.reason),
  };
}

/**
 * The text that the runner reads from the file `GITHUB_OUTPUT` names (FileCommandManager.cs):
 * `name<<DELIMITER`, the value, the delimiter. The delimiter must not stand in any value.
 */
export function serialise(outputs: Outputs, delimiter: string): string {
  return OUTPUT_NAMES.map((name) => `${name}<<${delimiter}\n${outputs[name]}\n${delimiter}\n`).join(
    '',
  );
}

/** `true` only if it is so for every job that was waited for; empty if none was. */
function overallConfirmed(results: readonly JobResult[]): string {
  const waited = results.filter(({ confirmed }) => confirmed !== null);
  return waited.length === 0 ? '' : String(waited.every(({ confirmed }) => confirmed === true));
}

/** The sentence for all: that of the worst job, which it names, and how many share its result. */
export function reasonOf(main: JobResult, results: readonly JobResult[]): string {
  const sharing = results.filter(({ result }) => result === main.result).length;
  if (results.length === 1 || main.reason === '') return main.reason;
  const namesIt = main.reason.toLowerCase().includes(`job ${main.jobId.toLowerCase()}`);
  const named = namesIt ? main.reason : `Job ${main.jobId}: ${main.reason}`;
  return `${named} (${sharing} of ${results.length} jobs: ${main.result})`;
}
