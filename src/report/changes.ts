import type { Delivered } from '../delivery/run-state.ts';
import type { GitHub } from '../github/client.ts';
import { describeError, GitHubError, lacking, lacksPermission } from '../github/errors.ts';
import type { Comparison } from '../github/responses.ts';
import { type Change, isCreated, type JobState, type Pushed, update } from '../job/job.ts';
import { isFinal } from '../mintlify-api.ts';
import { fetchCurrentPullRequest } from '../plan/pull-request.ts';
import { isOwnCheck } from '../prompt/checks/select.ts';
import type { Redact } from '../runner/logger.ts';
import { sentences } from '../text.ts';
import { type CommitTrigger, FAILURES } from '../trigger/trigger.ts';

// What the agent has changed in the pull request of a job, as far as GitHub tells that.

export async function readChanges(run: Delivered): Promise<void> {
  const [job, ...others] = run.jobs;
  if (job === undefined || others.length > 0) return;
  const change = await fetchChange(run, job);
  if (change === undefined) return;
  update(job, { change });
  const isCounted = change.kind === 'commits' && change.count !== undefined;
  run.runtime.log.info(isCounted ? `New commits seen: ${change.count}.` : IN_WORDS[change.kind]);
}

const IN_WORDS = {
  commits: 'New commits were seen.',
  none: 'No new commit by the agent was seen.',
  created: 'The agent opened the pull request.',
  rewritten: 'The branch was rewritten.',
  'no-pull-request': 'There is no pull request.',
};

async function fetchChange(run: Delivered, job: JobState): Promise<Change | undefined> {
  const { end, base, record, head } = job;
  const isOver = isFinal(record?.status) && record?.status !== 'archived';
  if (!isOver || end === undefined || !isFinal(end.result)) return undefined;
  if (head !== undefined) {
    return record?.prNumber === head.number ? compare(run, job, head) : undefined;
  }
  if (end.confirmed !== true) return undefined;
  if ((isFinal(base?.status) || isCreated(job)) && base?.prLink === null && record?.prLink) {
    const opened = await fetchCurrentPullRequest(run.github, record.prNumber ?? undefined);
    return { kind: 'created', count: opened?.commits };
  }
  const hasNone = end.result === 'completed' && record?.prLink === null;
  return hasNone ? { kind: 'no-pull-request' } : undefined;
}

async function compare(
  run: Delivered,
  job: JobState,
  before: NonNullable<JobState['head']>,
): Promise<Change | undefined> {
  const now = await fetchCurrentPullRequest(run.github, before.number);
  if (now === undefined) return undefined;
  // It may have ended while the agent worked.
  update(job, { head: { ...before, state: now.state } });
  const { trigger } = run;
  if (now.sha === before.sha) {
    const isRed = trigger.kind === 'check' && trigger.check.failure !== null;
    const reading = isRed ? fetchCheckState(run.github, trigger.check) : undefined;
    return { kind: 'none', check: await reading?.catch(() => undefined) };
  }
  const range = { before: before.sha, after: now.sha };
  try {
    const { commentsOn } = run.prompt.request;
    const more = now.commits - (before.commits ?? now.commits);
    const compared = await run.github.compare(before.sha, now.sha);
    return parseComparison(compared, { more, range, commentsOn, redact: run.runtime.redact });
  } catch (error) {
    run.runtime.log.info(whyUncompared(error));
    return { kind: 'commits', ...range };
  }
}

/** What has become of a failed run or check; undefined if GitHub does not list it. */
async function fetchCheckState(github: GitHub, check: CommitTrigger) {
  const now =
    check.kind === 'workflow_run'
      ? (await github.runsOn(check.sha, Infinity)).find(({ id }) => id === check.id)
      : (await github.checksOn(check.sha, Infinity)).find((one) => isOwnCheck(one, check));
  if (now === undefined) return undefined;
  if (now.conclusion === null) return 'running';
  if (FAILURES.has(now.conclusion)) return 'failed';
  return now.conclusion === 'success' ? 'passed' : undefined;
}

/** GitHub also answers 404 if the token may not read the commits. */
function whyUncompared(error: unknown): string {
  const isHidden = error instanceof GitHubError && [403, 404].includes(error.status);
  const why = lacksPermission(error) ? lacking('contents: read') : describeError(error);
  const hint = isHidden && !lacksPermission(error) ? 'They need “contents: read”.' : '';
  return sentences(`The answer does not name the new commits and files: ${why}.`, hint);
}

const MOST_LISTED_FILES = 300;

/** Over a merge, GitHub compares all commits and files of the other branch as well. */
export function parseComparison(
  { status, total_commits, commits, files }: Comparison,
  about: {
    readonly more: number;
    readonly range: Pick<Pushed, 'before' | 'after'>;
    readonly commentsOn: ReadonlyMap<string, number>;
    readonly redact: Redact;
  },
): Change {
  const { more, range, commentsOn, redact } = about;
  if (status !== 'ahead') return { kind: 'rewritten' };
  // The agent is a bot.
  const people = commits.flatMap(({ author }) => (author?.type === 'User' ? [author.login] : []));
  if (people.length > 0 && people.length === total_commits) {
    const authors = [...new Set(people)].map(redact);
    return { kind: 'none', byOthers: { count: more > 0 ? more : people.length, authors } };
  }
  const pushed: Pushed = { kind: 'commits', count: more > 0 ? more : undefined, ...range };
  if (commits.length < total_commits) return pushed;
  if (commits.some(({ parents }) => parents.length > 1)) return { ...pushed, told: 'a merge' };
  const touched = files?.flatMap((one) => [one.filename, one.previous_filename]) ?? [];
  // What is not listed may have changed.
  const listed = files === null || files.length >= MOST_LISTED_FILES ? undefined : files;
  const left = [...commentsOn].filter(([path]) => listed && !touched.includes(path));
  const told: Pushed['told'] = {
    ...(listed && { files: listed.map(({ filename }) => redact(filename)) }),
    untouched: new Map(left.map(([path, count]) => [redact(path), count])),
    headlines: commits.flatMap(({ commit }) =>
      redact(commit.message)
        .trimStart()
        .split(/[\r\n]/, 1),
    ),
    authors: [...new Set(commits.map(({ author }) => author && redact(author.login)))],
  };
  return { ...pushed, told };
}
