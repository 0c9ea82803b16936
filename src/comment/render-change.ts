import { changedNothing, type JobRecord, type JobState, type Pushed, toLabel } from '../job/job.ts';
import { LABELS } from '../job/labels.ts';
import { blocks, code, dotted, link, sentenceToMarkdown } from '../markdown.ts';
import { DASHBOARD_URL } from '../mintlify-api.ts';
import { pullRequestName } from '../pull-request.ts';
import { listSome, plural, quote, sentences } from '../text.ts';

// What is told of the work of the agent. Over a merge, only the number of commits is true.

const MOST_LISTED = 5;
const LONGEST_HEADLINE = 72;

const FAILURE = /^(.*) (?:failed|timed out|could not start) on (\w{7})$/;
const CHECK_NOW = {
  failed: '$1 still fails on $2: the agent pushed nothing',
  passed: 'Agent finished: $1 has passed since',
  running: 'Agent finished: $1 runs again',
};

/** What the agent has done, if that is known. `isHere`: in the pull request with the comment. */
export function renderTitle(job: JobState, isHere: boolean, failure = ''): string {
  const label = toLabel(job);
  const { change, record = {} } = job;
  if (label === 'failed' && change?.kind === 'commits') {
    return `Agent failed after pushing ${nameCommits(change) || 'commits'}`;
  }
  const isDone = label === 'completed' || label === 'still failing';
  if (!isDone || change === undefined) return LABELS[label].title;
  switch (change.kind) {
    case 'commits':
      return dotted(['Agent pushed', nameCommits(change)], ' ');
    case 'created':
      return `Agent opened ${isHere ? 'this pull request' : pullRequestLink(record)}`;
    case 'rewritten':
      return 'The branch was rewritten';
    case 'none': {
      const { check, byOthers } = change;
      if (check && failure) return failure.replace(FAILURE, CHECK_NOW[check]);
      if (byOthers) return `${plural(byOthers.count, 'new commit')}, by ${list(byOthers.authors)}`;
      return 'Agent finished: no new commit seen';
    }
    case 'no-pull-request':
      return 'Agent finished without a pull request';
  }
}

/** The link was checked before, and there is a number only in this repository. */
export function pullRequestLink({ prLink, prNumber }: Partial<JobRecord>): string {
  if (!prLink) return '';
  // A name may begin with `_`, which is Markdown there.
  return link(pullRequestName(prLink, Boolean(prNumber)).replaceAll('_', '\\_'), prLink);
}

function nameCommits({ count, told }: Pushed): string {
  if (count === undefined) return '';
  if (told !== 'a merge') return plural(count, 'commit');
  return count === 1 ? told : `${plural(count, 'commit')}, with ${told}`;
}

function list(names: readonly (string | null)[]): string {
  const shown = names.map((name) => (name === null ? 'somebody' : code(name, 100)));
  return listSome(shown, MOST_LISTED);
}

/** The answer of an agent that has changed no file is not in the API. */
export function renderChange(job: JobState): string {
  if (changedNothing(job)) {
    const where = `the dashboard (${DASHBOARD_URL}): look for ${quote(job.id, 256)}`;
    return sentenceToMarkdown(`Its answer, if it gave one, is in ${where}.`);
  }
  return job.change?.kind === 'commits' ? renderCommits(job.change) : '';
}

function renderCommits({ count, told }: Pushed): string {
  if (told === undefined || told === 'a merge') return '';
  const { files = [], untouched, headlines, authors } = told;
  const also = [...untouched].map(([path, n]) => `${code(path, 100)} (${plural(n, 'comment')})`);
  const changed = sentences(
    files.length === 0 ? '' : `${plural(files.length, 'file')}: ${list(files)}.`,
    also.length === 0 ? '' : `Not in these commits: ${listSome(also, MOST_LISTED)}.`,
  );
  const shown = headlines.map((line) => code(line, LONGEST_HEADLINE)).filter((line) => line !== '');
  const more = shown.length > MOST_LISTED ? ` and ${shown.length - MOST_LISTED} more` : '';
  const lines = `${dotted(shown.slice(0, MOST_LISTED))}${more}`;
  const pushed = count === undefined ? 'Commits' : plural(count, 'commit');
  const by = authors.length < 2 ? '' : `${pushed} by ${list(authors)}`;
  return blocks([changed, dotted([by, lines], ': ')]);
}
