import { untilAborted } from '../clock.ts';
import type { FailedJob } from '../github/api.ts';
import { GitHubError, isUnclear, lacksPermission, whyOf } from '../github/errors.ts';
import type { CommitTrigger } from '../github/event.ts';
import { code, dotted, sentenceToMarkdown } from '../markdown.ts';
import type { Redact } from '../runner/log.ts';
import type { Start } from '../start.ts';
import { listing, type Ok, ok, plural, quote } from '../text.ts';
import { withoutRepetition } from './alike.ts';
import type { Carried } from './content.ts';
import { DOWNLOAD_MS, download } from './download.ts';
import { type KeptLog, readLog } from './log.ts';
import { limited, type Output, tailOf, toOutput } from './output.ts';

// What a message carries of a check or a run of a workflow that failed.

/** What a message about a failure asks for if there is no prompt. */
export const FIX_IT =
  'Find out why, and fix it. If the cause lies outside the repository, say so and change nothing.';
/** Failed jobs or runs that are named. */
const MOST_NAMES = 20;
/** Failed jobs of all runs whose logs are read, the first ones. */
const MOST_LOGS = 8;
/** Names that are shown of jobs in the comment, and of steps without a log. */
const MOST_SHOWN = 8;
/** Milliseconds for all logs together; each has a limit of its own. */
const ALL_LOGS_MS = 60_000;
/** Milliseconds after which logs that could not be read are asked for once more: they may have been written by then. */
const PAUSE_MS = 5000;

/** An attempt of a run of a workflow that failed. */
export type FailedRun = Pick<CommitTrigger, 'id' | 'attempt' | 'name' | 'url' | 'sha' | 'failure'>;

export interface ReadingOptions {
  /** A time of the clock. */
  readonly until: number;
  /** The most characters of all logs in the message. */
  readonly room?: number;
  /** How it is told that something could not be read. */
  readonly level?: 'warning' | 'info';
}

const WHAT: Readonly<Record<CommitTrigger['kind'], string>> = {
  workflow_run: 'The workflow',
  check_run: 'The check',
};

function whatFailed(
  kind: CommitTrigger['kind'],
  { name, failure, sha, url }: FailedRun,
  redact: Redact,
): string {
  const link = url === '' ? '' : `: ${url}`;
  return `${WHAT[kind]} ${named(name, redact)} ${failure} on the commit ${sha}${link}`;
}

/** A name by others in a message, in one line. */
function named(name: string, redact: Redact): string {
  return quote(redact(name), 100);
}

/** The same in Markdown. */
function shown(name: string, redact: Redact): string {
  return code(redact(name), 60);
}

export function describeCheck(commit: CommitTrigger, redact: Redact): Carried {
  const { kind, name, sha, said, text, annotations } = commit;
  const parts = [whatFailed(kind, commit, redact)];
  if (annotations > 0) parts.push(tellAnnotations(annotations));
  if (said === '' && text === '') return { parts, outputs: [], attached: [] };
  const output = `output of the check ${named(name, redact)}`;
  return {
    parts,
    // The title and the summary explain the text, of which only the end may be shown.
    outputs: [
      ...(said === '' ? [] : [toOutput(`The ${output}`, tailOf(Buffer.from(said)), redact)]),
      ...(text === ''
        ? []
        : [toOutput(`The text of the ${output}`, tailOf(Buffer.from(text)), redact)]),
    ],
    attached: [`+ output of ${shown(name, redact)} (${sha.slice(0, 7)})`],
  };
}

function tellAnnotations(count: number): string {
  const verb = count === 1 ? 'is' : 'are';
  return `It has ${plural(count, 'annotation')}, which ${verb} not shown here.`;
}

/** Why something could not be read. */
interface Unread {
  readonly kind: 'problem';
  /** A phrase. */
  readonly problem: string;
  /** The same for people who read the comment. */
  readonly shown: string;
  /** Whether it may work a moment later. */
  readonly mayPass: boolean;
}

/** A run, and its failed jobs. */
interface ListedRun {
  readonly run: FailedRun;
  readonly jobs: Ok<readonly FailedJob[]> | Unread;
}

/** A failed job. */
interface Failed {
  readonly run: FailedRun;
  readonly job: FailedJob;
  /** Between “ and ”. */
  readonly name: string;
  /** Null if it is not asked for. */
  log: Ok<readonly Output[]> | Unread | null;
  /** The failed steps that the log does not show, between “ and ”. */
  without: readonly string[];
}

/**
 * The failed jobs of runs, and the logs of their failed steps. Never rejects: what cannot be read is only missing, which the
 * message, the comment and the log say.
 */
export async function readFailedRuns(
  start: Start,
  runs: readonly FailedRun[],
  options: ReadingOptions,
): Promise<Carried> {
  const { redact } = start.runtime;
  const listed = await Promise.all(runs.map((run) => listRun(start, run, options)));
  const all = listed.flatMap((one) => failedOf(one, runs.length > 1, redact));
  await readLogs(start, all.slice(0, MOST_LOGS), options.until);
  tellUnread(start, all.filter(isUnread), options);
  const outputs = withoutRepetition(
    all.flatMap(({ name, log }) => (log?.kind === 'ok' ? { name, outputs: log.value } : [])),
  );
  return {
    parts: listed.flatMap((one) => [
      whatFailed('workflow_run', one.run, redact),
      listJobs(one, redact),
    ]),
    outputs: options.room === undefined ? outputs : limited(outputs, options.room),
    attached: listed.flatMap((one) => shownOf(one, all, redact)),
    omitted: omittedOf(all),
  };
}

/** One that could not start has no jobs. */
async function listRun(
  { runtime, github }: Start,
  run: FailedRun,
  { until, level = 'warning' }: ReadingOptions,
): Promise<ListedRun> {
  if (run.failure === 'could not start') return { run, jobs: ok([]) };
  const signal = runtime.clock.timeout(until - runtime.clock.now());
  try {
    const listing = github.failedJobs(run.id, run.attempt, until);
    return { run, jobs: ok(await untilAborted(listing, signal)) };
  } catch (error) {
    const jobs = signal.aborted ? inTime('GitHub did not answer in time') : explain(error);
    const what = 'The failed jobs of the run could not be read, so the message has no logs';
    tell(runtime, level, `${what}: ${jobs.problem}.`);
    return { run, jobs };
  }
}

function failedOf(
  { run, jobs }: ListedRun,
  isOneOfMany: boolean,
  redact: Redact,
): readonly Failed[] {
  if (jobs.kind === 'problem') return [];
  const of = isOneOfMany ? ` of ${named(run.name, redact)}` : '';
  return jobs.value.map((job) => {
    return { run, job, name: `${named(job.name, redact)}${of}`, log: null, without: [] };
  });
}

function listJobs({ run, jobs }: ListedRun, redact: Redact): string {
  if (run.failure === 'could not start') {
    return 'None of its jobs has run, so there is no log. Its page says why; often the file of the workflow has an error.';
  }
  if (jobs.kind === 'problem') return 'Which of its jobs failed could not be read.';
  const names = jobs.value.map(({ name }) => named(name, redact));
  if (names.length === 0) return 'GitHub lists no failed job of it. Its page may say more.';
  return `Failed ${names.length === 1 ? 'job' : 'jobs'}: ${firstOf(names)}.`;
}

/** `a, b and 12 more` */
export function firstOf(names: readonly string[], most = MOST_NAMES): string {
  const more = names.length - most;
  return listing(more > 0 ? [...names.slice(0, most), `${more} more`] : names);
}

/** Each log is asked for at most twice, with one pause for all. */
async function readLogs(start: Start, all: readonly Failed[], until: number): Promise<void> {
  const { clock, signal: cancelled } = start.runtime;
  const leftMs = Math.min(ALL_LOGS_MS, until - clock.now());
  const signal = AbortSignal.any([clock.timeout(leftMs), cancelled]);
  // One after the other: each may have tens of megabytes.
  for (const failed of all) await readJobLog(start, failed, signal);
  const again = all.filter(({ log }) => log?.kind === 'problem' && log.mayPass);
  if (again.length === 0) return;
  try {
    await clock.sleep(PAUSE_MS, signal);
  } catch {
    return;
  }
  for (const failed of again) await readJobLog(start, failed, signal);
}

async function readJobLog(
  { runtime, info, github }: Start,
  failed: Failed,
  over: AbortSignal,
): Promise<void> {
  const { env, clock, redact } = runtime;
  const { job, name } = failed;
  const signal = AbortSignal.any([clock.timeout(DOWNLOAD_MS), over]);
  try {
    over.throwIfAborted();
    const url = await untilAborted(github.logUrl(job.id), signal);
    const log = await download(url, { env, apiUrl: info.apiUrl, signal }, (body) =>
      readLog(body, job.steps),
    );
    if (log.kind === 'problem') {
      failed.log = { ...log, shown: sentenceToMarkdown(log.problem) };
      return;
    }
    failed.log = ok(outputsOf(name, log.value, redact));
    failed.without = log.value.without.map((step) => namedStep(step, redact));
  } catch (error) {
    if (over.aborted) failed.log ??= inTime('no time was left for it');
    else failed.log = signal.aborted ? inTime('GitHub did not answer in time') : explain(error);
  }
}

function outputsOf(name: string, { parts, errors }: KeptLog, redact: Redact): readonly Output[] {
  return parts.map(({ step, tail, red }, index) => {
    const of = step === null ? '' : `the step ${namedStep(step, redact)} of `;
    const title = `The log of ${of}the job ${name}`;
    return toOutput(title, tail, redact, index === 0 ? `${errors}\n${red}` : red);
  });
}

function namedStep(step: string, redact: Redact): string {
  return quote(redact(step), 60);
}

function isUnread(failed: Failed): failed is Failed & { readonly log: Unread } {
  return failed.log?.kind === 'problem';
}

/** One line for all logs. The first reason stands for the others. */
function tellUnread(
  { runtime }: Start,
  unread: readonly (Failed & { readonly log: Unread })[],
  { level = 'warning' }: ReadingOptions,
): void {
  const [first] = unread;
  if (first === undefined) return;
  const what = `The log of ${listing(unread.map(({ name }) => name))} could not be read`;
  tell(runtime, level, `${what}, so the message does not have it: ${first.log.problem}.`);
}

/** A cancelled run reports that alone. */
function tell({ signal, log }: Start['runtime'], level: 'warning' | 'info', text: string): void {
  if (!signal.aborted) log[level](text);
}

/** For people: whose logs of a run the message has, whose not, and why. */
function shownOf(
  { run, jobs }: ListedRun,
  all: readonly Failed[],
  redact: Redact,
): readonly string[] {
  const where = `(${code(redact(run.name), 60)}, ${run.sha.slice(0, 7)})`;
  if (jobs.kind === 'problem') return [`without logs ${where}: ${jobs.shown}`];
  const own = all.filter((failed) => failed.run === run);
  const logOf = (some: readonly Failed[]): string => {
    const names = some.map(({ job }) => code(redact(job.name), 60));
    return `log of ${firstOf(names, MOST_SHOWN)}`;
  };
  const read = own.filter(({ log }) => log?.kind === 'ok');
  const unread = own.filter(isUnread);
  const left = own.filter(({ log }) => log === null);
  const parts = [
    read.length > 0 ? `+ ${logOf(read)} ${where}` : '',
    unread.length > 0 ? `without the ${logOf(unread)}: ${unread[0]?.log.shown}` : '',
    left.length > 0 ? `without the ${logOf(left)}: a message has ${MOST_LOGS} logs at most` : '',
  ];
  return own.length > 0 ? [dotted(parts, ', ')] : [];
}

/** For the agent: what it does not get. */
function omittedOf(all: readonly Failed[]): readonly string[] {
  const logOf = (some: readonly Failed[], why: string): readonly string[] => {
    const names = some.map(({ name }) => name);
    return names.length > 0 ? [`the log of ${firstOf(names)}${why}`] : [];
  };
  const left = all.filter(({ log }) => log === null);
  return [
    ...logOf(all.filter(isUnread), ', which could not be read'),
    ...logOf(left, `, because only the logs of ${MOST_LOGS} jobs are read`),
    ...all.flatMap(({ name, without }) =>
      without.length > 0 ? `the log of the step ${firstOf(without, MOST_SHOWN)} of ${name}` : [],
    ),
  ];
}

function inTime(problem: string): Unread {
  return { kind: 'problem', problem, shown: problem, mayPass: true };
}

/** A phrase and, if a permission may be missing, what to do. */
export function explain(error: unknown): Unread {
  const why = whyOf(error);
  const status = error instanceof GitHubError ? error.status : 0;
  if (lacksPermission(error)) {
    const problem = `${why}; the workflow job needs “permissions:” with “actions: read”`;
    const shown = 'the workflow job lacks `actions: read`';
    return { kind: 'problem', problem, shown, mayPass: false };
  }
  const pauseMs = error instanceof GitHubError ? (error.pauseMs ?? Infinity) : 0;
  const mayPass = status === 404 || (status === 429 && pauseMs <= PAUSE_MS) || isUnclear(error);
  return { kind: 'problem', problem: why, shown: sentenceToMarkdown(why), mayPass };
}
