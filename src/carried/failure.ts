import { untilAborted } from '../clock.ts';
import type { FailedJob } from '../github/answers.ts';
import { GitHubError, isUnclear } from '../github/errors.ts';
import type { CommitTrigger } from '../github/event.ts';
import type { Redact } from '../runner/log.ts';
import type { Start } from '../start.ts';
import { listing, type Ok, ok, plural, quote, type Result } from '../text.ts';
import { withoutRepetition } from './alike.ts';
import { DOWNLOAD_MS, download } from './download.ts';
import { type KeptLog, readLog } from './log.ts';
import { type Output, tailOf, toOutput } from './output.ts';
import { ask, type Missing, type Thing, whyNot } from './things.ts';

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

/** What logs and lists of runs and jobs need. */
export const ACTIONS = 'actions: read';

/** An attempt of a run of a workflow that failed. */
export type FailedRun = Pick<CommitTrigger, 'id' | 'attempt' | 'name' | 'url' | 'sha' | 'failure'>;

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

/** The same for people. */
function namedShort(name: string, redact: Redact): string {
  return quote(redact(name), 60);
}

export function describeCheck(commit: CommitTrigger, redact: Redact): readonly Thing[] {
  const { kind, name, sha, said, text, annotations } = commit;
  const parts = [whatFailed(kind, commit, redact)];
  if (annotations > 0) parts.push(tellAnnotations(annotations));
  const about: Thing = { place: 'about', parts };
  if (said === '' && text === '') return [about];
  const output = `output of the check ${named(name, redact)}`;
  // The title and the summary explain the text, of which only the end may be shown.
  const outputs = [
    ...(said === '' ? [] : [toOutput(`The ${output}`, tailOf(Buffer.from(said)), redact)]),
    ...(text === ''
      ? []
      : [toOutput(`The text of the ${output}`, tailOf(Buffer.from(text)), redact)]),
  ];
  const shown = `output of ${namedShort(name, redact)} (${sha.slice(0, 7)})`;
  return [about, { place: 'logs', outputs, shown }];
}

function tellAnnotations(count: number): string {
  const verb = count === 1 ? 'is' : 'are';
  return `It has ${plural(count, 'annotation')}, which ${verb} not shown here.`;
}

/** Why a log could not be read. */
interface Unread {
  readonly kind: 'problem';
  /** A phrase. */
  readonly problem: string;
  /** Whether it may work a moment later. */
  readonly mayPass: boolean;
}

/** A run, and its failed jobs. */
interface ListedRun {
  readonly run: FailedRun;
  readonly jobs: Result<readonly FailedJob[]>;
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

/** The failed jobs of runs, and the logs of their failed steps. `until`: a time of the clock. */
export async function readFailedRuns(
  start: Start,
  runs: readonly FailedRun[],
  until: number,
): Promise<readonly Thing[]> {
  const { redact } = start.runtime;
  const listed = await Promise.all(runs.map((run) => listRun(start, run, until)));
  const all = listed.flatMap((one) => failedOf(one, runs.length > 1, redact));
  await readJobLogs(start, all.slice(0, MOST_LOGS), until);
  const outputs = withoutRepetition(
    all.flatMap(({ name, log }) => (log?.kind === 'ok' ? { name, outputs: log.value } : [])),
  );
  return [
    ...listed.map((one) => describeRun(one, redact)),
    { place: 'logs', outputs, missing: missingLogs(all) },
    ...listed.map(({ run }) => tellLogs(run, all, redact)),
  ];
}

/** One that could not start has no jobs. */
async function listRun(
  { runtime, github }: Start,
  run: FailedRun,
  until: number,
): Promise<ListedRun> {
  if (run.failure === 'could not start') return { run, jobs: ok([]) };
  const list = () => github.failedJobs(run.id, run.attempt, until);
  const signal = runtime.clock.timeout(until - runtime.clock.now());
  return { run, jobs: await ask(list, ACTIONS, signal) };
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

function describeRun({ run, jobs }: ListedRun, redact: Redact): Thing {
  const parts = [whatFailed('workflow_run', run, redact), describeJobs(run, jobs, redact)];
  if (jobs.kind === 'ok') return { place: 'about', parts };
  const what = `the failed jobs of ${namedShort(run.name, redact)}`;
  return { place: 'about', parts, missing: [{ what, why: jobs.problem, isFault: true }] };
}

function describeJobs(run: FailedRun, jobs: ListedRun['jobs'], redact: Redact): string {
  if (run.failure === 'could not start') {
    return 'None of its jobs has run, so there is no log. Its page says why; often the file of the workflow has an error.';
  }
  if (jobs.kind === 'problem') return '';
  const names = jobs.value.map(({ name }) => named(name, redact));
  if (names.length === 0) return 'GitHub lists no failed job of it. Its page may say more.';
  return `Failed ${names.length === 1 ? 'job' : 'jobs'}: ${listFirst(names)}.`;
}

/** `a, b and 12 more` */
export function listFirst(names: readonly string[], most = MOST_NAMES): string {
  const more = names.length - most;
  return listing(more > 0 ? [...names.slice(0, most), `${more} more`] : names);
}

/** Each log is asked for at most twice, with one pause for all. */
async function readJobLogs(start: Start, all: readonly Failed[], until: number): Promise<void> {
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
      failed.log = log;
      return;
    }
    failed.log = ok(outputsOf(name, log.value, redact));
    failed.without = log.value.without.map((step) => namedShort(step, redact));
  } catch (error) {
    if (over.aborted) failed.log ??= inTime('no time was left for it');
    else failed.log = signal.aborted ? inTime('GitHub did not answer in time') : unread(error);
  }
}

function outputsOf(name: string, { parts, errors }: KeptLog, redact: Redact): readonly Output[] {
  return parts.map(({ step, tail, red }, index) => {
    const of = step === null ? '' : `the step ${namedShort(step, redact)} of `;
    const title = `The log of ${of}the job ${name}`;
    return toOutput(title, tail, redact, index === 0 ? `${errors}\n${red}` : red);
  });
}

function inTime(problem: string): Unread {
  return { kind: 'problem', problem, mayPass: true };
}

function unread(error: unknown): Unread {
  const { status = 0, pauseMs = Infinity } = error instanceof GitHubError ? error : {};
  const mayPass = status === 404 || (status === 429 && pauseMs <= PAUSE_MS) || isUnclear(error);
  return { kind: 'problem', problem: whyNot(error, ACTIONS), mayPass };
}

/** For people: whose logs of a run the message has. */
function tellLogs(run: FailedRun, all: readonly Failed[], redact: Redact): Thing {
  const read = all.filter((failed) => failed.run === run && failed.log?.kind === 'ok');
  if (read.length === 0) return { place: 'logs' };
  const names = read.map(({ job }) => namedShort(job.name, redact));
  const where = `(${namedShort(run.name, redact)}, ${run.sha.slice(0, 7)})`;
  return { place: 'logs', shown: `log of ${listFirst(names, MOST_SHOWN)} ${where}` };
}

function missingLogs(all: readonly Failed[]): readonly Missing[] {
  const byReason = Map.groupBy(all, ({ log }) => (log?.kind === 'problem' ? log.problem : ''));
  byReason.delete('');
  const left = all.filter(({ log }) => log === null);
  const logOf = (some: readonly Failed[]): string =>
    `the log of ${listFirst(some.map(({ name }) => name))}`;
  return [
    ...[...byReason].map(([why, some]) => ({ what: logOf(some), why, isFault: true })),
    ...(left.length > 0
      ? [{ what: logOf(left), why: `a message has the logs of ${MOST_LOGS} jobs at most` }]
      : []),
    ...all.flatMap(({ name, without }) =>
      without.length > 0
        ? { what: `the log of the step ${listFirst(without, MOST_SHOWN)} of ${name}`, why: '' }
        : [],
    ),
  ];
}
