import { untilAborted } from '../clock.ts';
import type { GitHub } from '../github/api.ts';
import { type Change, isBaseFinal, type Job } from '../job.ts';
import type { RunContext } from './context.ts';

// What the agent has changed in the pull request of a job, as far as GitHub tells that. Nothing here changes a
// result: what cannot be read is not known.

/** Milliseconds that the message may be delayed, and the report. */
const BEFORE_MS = 1000;
const AFTER_MS = 5000;
/** GitHub lists so many commits at a time. */
const PAGE_SIZE = 100;

/** Remembers the newest commit before the message. */
export async function readChangesBefore(run: RunContext, job: Job): Promise<void> {
  const { jobs, inputs } = run;
  const number = job.record?.prNumber ?? null;
  // One job only: of hundreds, the calls would take too long.
  if (number === null || jobs.length > 1 || !inputs.wait) return;
  const pull = await within(run, BEFORE_MS, run.github.pullRequest(number));
  job.commitsBefore = pull && { ...pull, number };
}

/** Finds out what has changed since the message, after the end of the work on it. */
export async function readChangesAfter(run: RunContext): Promise<void> {
  const [job, ...others] = run.jobs;
  if (job === undefined || others.length > 0) return;
  const { end, base, record, commitsBefore } = job;
  if (end?.result !== 'completed' && end?.result !== 'failed') return;
  if (commitsBefore !== null) {
    if (record?.prNumber !== commitsBefore.number) return;
    job.change = await within(run, AFTER_MS, compare(run.github, commitsBefore));
  } else if (end.confirmed && isBaseFinal(base) && base?.prLink === null && record?.prLink) {
    job.change = { kind: 'created' };
  } else if (end.confirmed && end.result === 'completed' && record?.prLink === null) {
    // The API documents that the link is null if no file was changed.
    job.change = { kind: 'no-files' };
  }
}

async function compare(
  github: GitHub,
  before: NonNullable<Job['commitsBefore']>,
): Promise<Change | null> {
  const { number } = before;
  const { head, commits } = await github.pullRequest(number);
  if (head === before.head) return { kind: 'none' };
  if (commits > PAGE_SIZE) return null;
  const listed = await github.commits(number);
  if (!listed.includes(before.head)) return { kind: 'rewritten' };
  const count = commits - before.commits;
  return count > 0 ? { kind: 'commits', count, before: before.head, after: head } : null;
}

/** Null if that fails or takes longer. */
async function within<T>(
  { clock, signal }: RunContext,
  ms: number,
  reading: Promise<T>,
): Promise<T | null> {
  const late = AbortSignal.any([signal, clock.timeout(ms)]);
  return untilAborted(reading, late).catch(() => null);
}
