import { labelOfState } from '../labels.ts';
import { ours, type Reason, reasonToText, sentence } from '../reason.ts';
import { cut } from '../sanitize.ts';
import { elapsedMs, type JobState } from '../turn.ts';
import { deliveryOf, overallDelivery, worst } from './ranking.ts';

// The states of all jobs -> the declared outputs, as one text.

export interface Report {
  readonly states: readonly JobState[];
  readonly commentUrls: readonly string[];
  /** For the outputs: how a run ended that did not act on a job. */
  readonly ended?: Readonly<Record<'result' | 'reason', string>>;
  /** For the job summary: why nothing was sent to any job. */
  readonly problem?: Reason;
  /** For the job summary: the text of comments that could not be written, or empty. */
  readonly unwrittenComment?: string;
}

/** The declared outputs, in the order of `action.yml`. Each of them is written on every path. */
export function toOutputs({ states, ended, commentUrls }: Report) {
  const main = worst(states);
  const prLinks = states.flatMap(({ record }) => record?.prLink ?? []).join('\n');
  return {
    status: main?.record?.status ?? '',
    'pr-link': prLinks,
    prLink: prLinks,
    result: main?.turn.result ?? ended?.result ?? 'error',
    delivery: overallDelivery(states),
    confirmed: overallConfirmed(states),
    reason: main === undefined ? (ended?.reason ?? '') : overallReason(main, states),
    'job-id': states.map(({ jobId }) => jobId).join('\n'),
    results: renderResults(states),
    'comment-url': commentUrls.join('\n'),
  };
}

/** An object of `results`, with its fields in this order. */
function toEntry(state: JobState) {
  const { jobId, record, turn, polls } = state;
  const elapsed = elapsedMs(turn, null);
  return {
    jobId,
    delivery: deliveryOf(state),
    result: turn.result,
    confirmed: turn.confirmed,
    status: record?.status ?? null,
    prLink: record?.prLink ?? null,
    model: record?.model ?? null,
    source: record?.source ?? null,
    createdAt: record?.createdAt ?? null,
    archivedAt: record?.archivedAt ?? null,
    elapsedSeconds: elapsed === null ? null : Math.round(elapsed / 100) / 10,
    polls,
    reason: reasonToText(turn.reason),
  };
}

/** Bytes of `results`. All outputs of a job may have a megabyte together. */
const RESULTS_LIMIT = 480_000;
/** Characters of a text in `results`, tried in this order; if none is enough, texts, links and times go. */
const TEXT_LIMITS = [Infinity, 500, 200, 80, 20];
const TEXTS: ReadonlySet<string> = new Set(['model', 'repository', 'ref', 'reason']);
const LINKS_AND_TIMES: ReadonlySet<string> = new Set(['prLink', 'createdAt', 'archivedAt']);

/** Bytes of one line with its separator: other runners lose all outputs if a line is longer. */
const LINE_LIMIT = 60_000;

/** One line per job. If there are too many long texts, each is cut; links and times are complete or `null`. */
function renderResults(states: readonly JobState[]): string {
  const linesAt = (limit: number): readonly string[] => states.map((state) => lineOf(state, limit));
  const limit = TEXT_LIMITS.find((one) => isSmall(linesAt(one))) ?? 0;
  return `[${linesAt(limit).join(SEPARATOR)}]`;
}

const SEPARATOR = ',\n';

function isSmall(lines: readonly string[]): boolean {
  const sizes = lines.map((line) => Buffer.byteLength(line) + SEPARATOR.length);
  const total = sizes.reduce((sum, bytes) => sum + bytes, 0);
  return total <= RESULTS_LIMIT && sizes.every((bytes) => bytes <= LINE_LIMIT);
}

/** By state, which never changes, and by limit: if one of 500 jobs changes, only its line is made again. */
const LINES = new WeakMap<JobState, Map<number, string>>();

function lineOf(state: JobState, limit: number): string {
  const known = LINES.get(state)?.get(limit);
  if (known !== undefined) return known;
  const line = JSON.stringify(toEntry(state), (name, value) => shorten(name, value, limit));
  LINES.set(state, (LINES.get(state) ?? new Map()).set(limit, line));
  return line;
}

function shorten(name: string, value: unknown, limit: number): unknown {
  if (typeof value !== 'string') return value;
  if (LINKS_AND_TIMES.has(name)) return limit === 0 ? null : value;
  return TEXTS.has(name) ? cut(value, limit) : value;
}

/**
 * The text that the runner reads from the file `GITHUB_OUTPUT` names (FileCommandManager.cs):
 * `name<<DELIMITER`, the value, the delimiter. The delimiter must not occur in a value.
 */
export function serialise(outputs: Readonly<Record<string, string>>, delimiter: string): string {
  return Object.entries(outputs)
    .map(([name, value]) => `${name}<<${delimiter}\n${value}\n${delimiter}\n`)
    .join('');
}

/** `true` if it is true for every job with a wait; empty if there is none. */
function overallConfirmed(states: readonly JobState[]): string {
  const waited = states.flatMap(({ turn }) => turn.confirmed ?? []);
  return waited.length === 0 ? '' : String(waited.every((confirmed) => confirmed));
}

/** For several jobs: how many have the same label as the worst one, and the reason of the first of them. */
export function overallReason(main: JobState, states: readonly JobState[]): string {
  const { reason } = main.turn;
  if (states.length === 1 || reason.length === 0) return reasonToText(reason);
  const { kind, phrase } = labelOfState(main);
  const { length } = states.filter(
    (state) => labelOfState(state).kind === kind && state.turn.reason.length > 0,
  );
  const counts = ours(`${length} of ${states.length} agent jobs ${phrase}, `);
  const first = ours(length === 1 ? '' : 'first ');
  return reasonToText(sentence`${counts}${first}${main.jobId}: ${reason}`);
}
