import type { GitHub } from '../github/api.ts';
import { type Change, type Head, isFinal, type Job, setChange, statusBefore } from '../job.ts';
import { pause, type Run, within } from './context.ts';

// What the agent has changed in the pull request of a job, as far as GitHub tells that. Nothing here changes a
// result: what cannot be read is not known.

/** Milliseconds that the message may be delayed, and each look after it. */
const BEFORE_MS = 1000;
const AFTER_MS = 5000;
/** Milliseconds until a push to a pull request is certainly shown there. */
const PUSH_MS = 5000;
/** GitHub lists so many commits at a time. */
const PAGE_SIZE = 100;

/** The pull request of the job before the message; null if it is not known. */
export async function readHead(run: Run, job: Job): Promise<Head | null> {
  const { jobs, inputs } = run;
  const number = job.record?.prNumber ?? null;
  // One job only: of many, the calls would take too long.
  if (number === null || jobs.length > 1 || !inputs.wait) return null;
  return within(run, BEFORE_MS, headOf(run.github, number));
}

/** Finds out what has changed since the message, after the end of the work on it. */
export async function readChanges(run: Run): Promise<void> {
  const [job, ...others] = run.jobs;
  if (job === undefined || others.length > 0) return;
  const { end, base, record, head } = job;
  if (end?.result !== 'completed' && end?.result !== 'failed') return;
  if (head !== null) {
    if (record?.prNumber === head.number) setChange(job, await compare(run, head));
  } else if (
    end.confirmed &&
    isFinal(statusBefore(job)) &&
    base?.prLink === null &&
    record?.prLink
  ) {
    setChange(job, { kind: 'created' });
  } else if (end.confirmed && end.result === 'completed' && record?.prLink === null) {
    setChange(job, { kind: 'no-pull-request' });
  }
}

async function compare(run: Run, before: Head): Promise<Change | null> {
  const first = await within(run, AFTER_MS, changeSince(run, before));
  if (first?.kind !== 'none') return first;
  // GitHub may still show the old commit.
  await pause(run, PUSH_MS);
  return within(run, AFTER_MS, changeSince(run, before));
}

async function changeSince({ github, runtime }: Run, before: Head): Promise<Change | null> {
  const { sha, commits } = await headOf(github, before.number);
  if (sha === before.sha) return { kind: 'none' };
  if (commits > PAGE_SIZE) return null;
  const listed = await github.commits(before.number);
  const old = listed.findIndex((commit) => commit.sha === before.sha);
  if (old === -1) return { kind: 'rewritten' };
  const count = commits - before.commits;
  if (count <= 0) return null;
  const titles = listed.slice(old + 1).map((one) => ({ ...one, title: runtime.redact(one.title) }));
  return { kind: 'commits', count, before: before.sha, after: sha, titles };
}

async function headOf(github: GitHub, number: number): Promise<Head> {
  const { head, commits } = await github.pullRequest(number);
  return { number, sha: head, commits };
}
