import type { Run } from '../delivery/run-state.ts';
import { GitHubError, lacking, lacksPermission, whyOf } from '../github/errors.ts';
import type { Comparison } from '../github/responses.ts';
import {
  type Change,
  type CommitRange,
  type HeadBefore,
  isCreated,
  type Job,
  type PlainCommits,
  type Pushed,
  statusBefore,
  statusOf,
  update,
} from '../job/job.ts';

import { fetchCurrentPullRequest } from '../plan/own-pull-request.ts';

import type { Redact } from '../runner/logger.ts';
import { isFinal } from '../service.ts';
import { sentences } from '../text.ts';

// What the agent has changed in the pull request of a job, as far as GitHub tells that. Nothing here changes a
// result: what cannot be read is not known.

/** Finds out what has changed since the message, after the end of the work on it. The log has told the end already. */
export async function readChanges(run: Run): Promise<void> {
  const [job, ...others] = run.jobs;
  if (job === undefined || others.length > 0) return;
  await readChange(run, job);
  if (job.change !== undefined) run.log.say(job, sayChange(job.change));
}

function sayChange(change: Change): string {
  switch (change.kind) {
    case 'commits':
      return change.count === undefined
        ? 'New commits were seen.'
        : `New commits seen: ${change.count}.`;
    case 'none':
      return 'No new commit was seen.';
    case 'created':
      return 'The agent opened the pull request.';
    case 'rewritten':
      return 'The agent rewrote the branch.';
    case 'no-pull-request':
      return 'There is no pull request.';
  }
}

async function readChange(run: Run, job: Job): Promise<void> {
  const { end, base, record, head } = job;
  const status = statusOf(job);
  if (end === undefined || !isFinal(status) || !isFinal(end.result)) return;
  if (status === 'archived') return;
  if (head !== undefined) {
    if (record?.prNumber === head.number) await compare(run, job, head);
    return;
  }
  if (end.confirmed !== true) return;
  if ((isFinal(statusBefore(job)) || isCreated(job)) && base?.prLink === null && record?.prLink) {
    const opened = await fetchCurrentPullRequest(run.github, record.prNumber ?? undefined);
    update(job, { change: { kind: 'created', count: opened?.commits } });
  } else if (end.result === 'completed' && record?.prLink === null) {
    update(job, { change: { kind: 'no-pull-request' } });
  }
}

async function compare(run: Run, job: Job, before: HeadBefore): Promise<void> {
  const now = await fetchCurrentPullRequest(run.github, before.number);
  if (now === undefined) return;
  if (now.sha === before.sha) return update(job, { change: { kind: 'none' } });
  const range = { before: before.sha, after: now.sha };
  try {
    const compared = await run.github.compare(before.sha, now.sha);
    const more = now.commits - (before.commits ?? now.commits);
    const { commentsOn } = run.message;
    update(job, { change: changeOf(compared, more, range, commentsOn, run.runtime.redact) });
  } catch (error) {
    run.log.say(job, sayUncompared(error));
    update(job, { change: { kind: 'commits', ...range } });
  }
}

/** GitHub also answers 404 if the token may not read the commits. */
function sayUncompared(error: unknown): string {
  const isHidden = error instanceof GitHubError && [403, 404].includes(error.status);
  const why = lacksPermission(error) ? lacking('contents: read') : whyOf(error);
  const hint = isHidden && !lacksPermission(error) ? 'They need “contents: read”.' : '';
  return sentences(`The answer does not name the new commits and files: ${why}.`, hint);
}

/** GitHub lists no more. */
const MOST_LISTED_FILES = 300;

/**
 * `more`: how many more commits the pull request has. Over a merge, GitHub compares all commits and files of the other branch as
 * well, so their number is not that of the commits. `commentsOn`: how many inline comments the message carries on each file.
 */
export function changeOf(
  { status, total_commits, commits, files }: Comparison,
  more: number,
  range: CommitRange,
  commentsOn: ReadonlyMap<string, number>,
  redact: Redact,
): Change {
  if (status !== 'ahead') return { kind: 'rewritten' };
  const pushed: Pushed = { kind: 'commits', count: more > 0 ? more : undefined, ...range };
  if (commits.length < total_commits) return pushed;
  if (commits.some(({ parents }) => parents.length > 1)) return { ...pushed, told: 'a merge' };
  const authors = new Set(commits.map(({ author }) => author && redact(author.login)));
  const told: PlainCommits = {
    ...filesOf(files, commentsOn, redact),
    headlines: commits.map(({ commit }) => headlineOf(redact(commit.message))),
    authors: [...authors],
  };
  return { ...pushed, told };
}

/** What is not listed may have changed. */
function filesOf(
  changed: Comparison['files'],
  commentsOn: ReadonlyMap<string, number>,
  redact: Redact,
): Pick<PlainCommits, 'files' | 'untouched'> {
  if (changed === null || changed.length >= MOST_LISTED_FILES) return { untouched: new Map() };
  const touched = new Set(changed.flatMap((one) => [one.filename, one.previous_filename]));
  const left = [...commentsOn].filter(([path]) => !touched.has(path));
  const untouched = new Map(left.map(([path, count]) => [redact(path), count]));
  return { files: changed.map(({ filename }) => redact(filename)), untouched };
}

function headlineOf(message: string): string {
  const [line = ''] = message.trimStart().split(/[\r\n]/, 1);
  return line;
}
