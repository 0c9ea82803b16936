import { untilAborted } from '../clock.ts';
import type { FailedJob } from '../github/api.ts';
import { lacksPermission, whyOf } from '../github/errors.ts';
import type { CommitTrigger } from '../github/event.ts';
import { code } from '../markdown.ts';
import type { Redact } from '../runner/log.ts';
import type { Start } from '../start.ts';
import { listing, problem, quote, type Result, sentences } from '../text.ts';
import type { Carried } from './content.ts';
import { DOWNLOAD_MS, download } from './download.ts';
import { readLog } from './log.ts';
import { type Output, tailOf, toOutput } from './output.ts';

// What a message carries of a check or a run of a workflow that failed.

/** What a message about a failure asks for if there is no prompt. */
export const FIX_IT = 'Find out why, and fix it.';
/** Failed jobs that are named, and the first of them whose logs are read. */
const MOST_JOBS = 20;
const MOST_LOGS = 5;
/** Milliseconds for all logs together; each has a limit of its own. */
const ALL_LOGS_MS = 60_000;

const WHAT: Readonly<Record<CommitTrigger['kind'], string>> = {
  workflow_run: 'The workflow',
  check_run: 'The check',
};

function whatFailed({ kind, name, failure, sha, url }: CommitTrigger, redact: Redact) {
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
  const { name, sha, said } = commit;
  const parts = [whatFailed(commit, redact)];
  if (said === '') return { parts, outputs: [], attached: [] };
  const title = `The output of the check ${named(name, redact)}`;
  return {
    parts,
    outputs: [toOutput(title, tailOf(Buffer.from(said)), redact)],
    attached: [`+ output of ${shown(name, redact)} (${sha.slice(0, 7)})`],
  };
}

/**
 * Its failed jobs, and the logs of their failed steps, which are read until a time of the clock. Never rejects: what cannot be
 * read is only missing.
 */
export async function readFailedRun(
  start: Start,
  run: CommitTrigger,
  until: number,
): Promise<Carried> {
  const { redact, clock, signal: cancelled } = start.runtime;
  const what = whatFailed(run, redact);
  let jobs: readonly FailedJob[];
  try {
    jobs = await start.github.failedJobs(run.id, run.attempt);
  } catch (error) {
    warn(
      start,
      `The failed jobs of the run could not be read, so the message has no logs: ${explain(error)}.`,
    );
    const parts = [what, 'Which of its jobs failed could not be read.'];
    return { parts, outputs: [], attached: [] };
  }
  const logs: { readonly name: string; readonly log: Result<readonly Output[]> }[] = [];
  const leftMs = Math.min(ALL_LOGS_MS, until - clock.now());
  const signal = AbortSignal.any([clock.timeout(leftMs), cancelled]);
  // One after the other: each may have tens of megabytes.
  for (const job of jobs.slice(0, MOST_LOGS)) {
    const log = signal.aborted
      ? problem('no time was left for it')
      : await readJobLog(start, job, signal);
    logs.push({ name: job.name, log });
  }
  const found = logs.flatMap(({ name, log }) => (log.kind === 'ok' ? shown(name, redact) : []));
  const where = `(${shown(run.name, redact)}, ${run.sha.slice(0, 7)})`;
  return {
    parts: [what, sentences(listJobs(jobs, redact), tellUnread(start, logs))],
    outputs: logs.flatMap(({ log }) => (log.kind === 'ok' ? log.value : [])),
    attached: found.length === 0 ? [] : [`+ log of ${listing(found)} ${where}`],
  };
}

function listJobs(jobs: readonly FailedJob[], redact: Redact): string {
  if (jobs.length === 0) return 'No failed job was found.';
  const names = jobs.slice(0, MOST_JOBS).map(({ name }) => named(name, redact));
  const more = jobs.length - names.length;
  const all = more > 0 ? [...names, `${more} more`] : names;
  return `Failed ${jobs.length === 1 ? 'job' : 'jobs'}: ${listing(all)}.`;
}

async function readJobLog(
  { runtime, info, github }: Start,
  job: FailedJob,
  over: AbortSignal,
): Promise<Result<readonly Output[]>> {
  const { env, clock, redact } = runtime;
  const signal = AbortSignal.any([clock.timeout(DOWNLOAD_MS), over]);
  const ofJob = `the job ${named(job.name, redact)}`;
  try {
    const url = await untilAborted(github.logUrl(job.id), signal);
    return await download(url, { env, apiUrl: info.apiUrl, signal }, async (body) => {
      const parts = await readLog(body, job.steps);
      return parts.map(({ step, tail }) => {
        const what = step === null ? ofJob : `the step ${named(step, redact)} of ${ofJob}`;
        return toOutput(`The log of ${what}`, tail, redact);
      });
    });
  } catch (error) {
    return problem(signal.aborted ? 'GitHub did not answer in time' : explain(error));
  }
}

/** One warning for all logs. The first reason stands for the others. */
function tellUnread(
  start: Start,
  logs: readonly { readonly name: string; readonly log: Result<unknown> }[],
): string {
  const unread = logs.flatMap(({ name, log }) =>
    log.kind === 'problem' ? { name: named(name, start.runtime.redact), why: log.problem } : [],
  );
  const [first] = unread;
  if (first === undefined) return '';
  const what = `The log of ${listing(unread.map(({ name }) => name))} could not be read`;
  warn(start, `${what}, so the message does not have it: ${first.why}.`);
  return `${what}.`;
}

/** A cancelled run reports that alone. */
function warn({ runtime }: Start, text: string): void {
  if (!runtime.signal.aborted) runtime.log.warning(text);
}

/** A phrase and, if a permission may be missing, what to do. */
function explain(error: unknown): string {
  const advice = lacksPermission(error)
    ? '; the job needs “permissions:” with “actions: read”'
    : '';
  return `${whyOf(error)}${advice}`;
}
