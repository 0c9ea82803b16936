import * as z from 'zod/mini';
import { GitHubError, whyOf } from '../github/errors.ts';
import { code } from '../report/markdown.ts';
import type { Runtime } from '../runner/environment.ts';
import type { Redact } from '../runner/log.ts';
import { listing, ok, problem, type Result, sentences } from '../text.ts';
import { type Carried, commit, failure, linkedTo, named, whatHappened } from './carried.ts';
import { DOWNLOAD_MS, download } from './download.ts';
import { readLog, type Step } from './log.ts';
import { type Output, toOutput } from './output.ts';

// What a message carries of a run of a workflow that failed: its failed jobs, and the logs of their failed steps.

/** Failed jobs that are named, and the first of them whose logs are read. */
const MOST_JOBS = 20;
const MOST_LOGS = 5;

const text = z.catch(z.string(), '');
const failedRun = z.object({
  id: z.int(),
  run_attempt: z.catch(z.int(), 1),
  name: text,
  head_sha: commit,
  html_url: text,
  conclusion: failure,
});
export type FailedRun = Readonly<z.infer<typeof failedRun>>;
const workflowRunEvent = z.object({ workflow_run: failedRun });

/** Null if the payload is not that of a run that failed. */
export function readFailedRun(payload: unknown): FailedRun | null {
  return workflowRunEvent.safeParse(payload).data?.workflow_run ?? null;
}

export interface FailedJob {
  readonly id: number;
  readonly name: string;
  /** Only those that failed. */
  readonly steps: readonly Step[];
}

/** The calls of GitHub's API for it. Each rejects with a `GitHubError`. */
export interface RunSource {
  failedJobs(runId: number, attempt: number): Promise<readonly FailedJob[]>;
  /** Where the log can be downloaded for a minute. The URL is a secret. */
  logUrl(jobId: number): Promise<string>;
}

export interface CarryOptions extends Pick<Runtime, 'env' | 'clock' | 'signal' | 'redact'> {
  readonly apiUrl: string;
}

/** A failed job, and what its log says; null if the log was not to be read. */
export interface ReadJob extends FailedJob {
  readonly log: Result<readonly Output[]> | null;
}

/** Never rejects: what cannot be read is only missing. It takes less than a minute. */
export async function carryFailedRun(
  run: FailedRun,
  source: RunSource,
  options: CarryOptions,
): Promise<Carried> {
  return describeFailedRun(run, await readJobs(run, source, options), options.redact);
}

async function readJobs(
  { id, run_attempt }: FailedRun,
  source: RunSource,
  options: CarryOptions,
): Promise<Result<readonly ReadJob[]>> {
  try {
    const jobs = await source.failedJobs(id, run_attempt);
    const read = jobs.map(async (job, index) => ({
      ...job,
      log: index < MOST_LOGS ? await readJobLog(job, source, options) : null,
    }));
    return ok(await Promise.all(read));
  } catch (error) {
    return problem(explain(error));
  }
}

async function readJobLog(
  job: FailedJob,
  source: RunSource,
  { env, clock, redact, apiUrl, signal: cancelled }: CarryOptions,
): Promise<Result<readonly Output[]>> {
  const signal = AbortSignal.any([clock.timeout(DOWNLOAD_MS), cancelled]);
  try {
    const url = await source.logUrl(job.id);
    return await download(url, { env, apiUrl, signal }, async (body) => {
      const parts = await readLog(body, job.steps);
      return parts.map(({ step, tail }) => toOutput(titleOf(job, step, redact), tail, redact));
    });
  } catch (error) {
    return problem(explain(error));
  }
}

/** Without a step, the log is that of the whole job. */
function titleOf({ name, steps }: FailedJob, step: string | null, redact: Redact): string {
  const job = `the job ${named(name, redact)}`;
  if (step !== null) return `The log of the step ${named(step, redact)} of ${job}`;
  const names = steps.map((failed) => named(failed.name, redact)).slice(0, MOST_LOGS);
  return names.length === 0
    ? `The log of ${job}`
    : `The log of ${job}, which failed at ${listing(names)}`;
}

/** A phrase and, if a permission may be missing, what to do. */
function explain(error: unknown): string {
  const isForbidden = error instanceof GitHubError && [403, 404].includes(error.status);
  const advice = isForbidden ? '; the job needs “permissions:” with “actions: read”' : '';
  return `${whyOf(error)}${advice}`;
}

/** The part of the message: which commit, which run, which jobs, and what could not be read. */
export function describeFailedRun(
  run: FailedRun,
  jobs: Result<readonly ReadJob[]>,
  redact: Redact,
): Carried {
  const what = `The workflow ${named(run.name, redact)} ${whatHappened(run)}${linkedTo(run.html_url)}`;
  const where = `(${code(redact(run.name), 60)}, ${run.head_sha.slice(0, 7)})`;
  if (jobs.kind === 'problem') {
    return {
      facts: [what, 'Which of its jobs failed could not be read.'],
      outputs: [],
      summary: `+ link to the run ${where}`,
      isFailure: true,
      warning: `The failed jobs of the run could not be read: ${jobs.problem}.`,
    };
  }
  const read = jobs.value.flatMap(({ name, log }) =>
    log?.kind === 'ok' ? { name, outputs: log.value } : [],
  );
  const shown = read.map(({ name }) => code(redact(name), 60));
  const missing = describeUnread(jobs.value, redact);
  return {
    facts: [what, sentences(listJobs(jobs.value, redact), missing.fact)],
    outputs: read.flatMap(({ outputs }) => outputs),
    summary: `+ ${shown.length === 0 ? 'link to the run' : `log of ${listing(shown)}`} ${where}`,
    isFailure: true,
    warning: missing.warning,
  };
}

/** One warning for all logs. The first reason stands for the others. */
function describeUnread(
  jobs: readonly ReadJob[],
  redact: Redact,
): { fact: string; warning: string } {
  const unread = jobs.flatMap(({ name, log }) =>
    log?.kind === 'problem' ? { name: named(name, redact), why: log.problem } : [],
  );
  const [first] = unread;
  if (first === undefined) return { fact: '', warning: '' };
  const what = `The log of ${listing(unread.map(({ name }) => name))} could not be read`;
  return { fact: `${what}.`, warning: `${what}: ${first.why}.` };
}

function listJobs(jobs: readonly ReadJob[], redact: Redact): string {
  if (jobs.length === 0) return 'GitHub names none of its jobs as failed.';
  const names = jobs.slice(0, MOST_JOBS).map(({ name }) => named(name, redact));
  const more = jobs.length - names.length;
  const all = more > 0 ? [...names, `${more} more`] : names;
  return `Failed ${jobs.length === 1 ? 'job' : 'jobs'}: ${listing(all)}.`;
}
