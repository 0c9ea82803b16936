// Pull requests and their commits, by REST.

import type { Answer } from '../agent.ts';
import type { Issue } from './issues.ts';
import { type Repository, SERVER_URL } from './repository.ts';

export function pullRequest({ name, pageOf }: Repository, issue: Issue): Answer {
  return { body: { ...describe({ name, pageOf }, issue), commits: issue.commits.length } };
}

/** https://docs.github.com/en/rest/commits/commits#list-pull-requests-associated-with-a-commit */
export function pullsOf(repository: Repository, sha: string): Answer {
  const pulls = [...repository.issues.values()].filter(
    ({ pullRequest, commits }) => pullRequest && commits.includes(sha),
  );
  return { body: pulls.map((issue) => describe(repository, issue)) };
}

function describe({ name, pageOf }: Pick<Repository, 'name' | 'pageOf'>, issue: Issue) {
  const { number, locked, commits, branch, fork, over } = issue;
  const repo = { id: 1, full_name: name, html_url: `${SERVER_URL}/${name}` };
  const forked = fork === null ? null : { ...repo, id: 2, full_name: fork };
  return {
    ...{ number, locked, html_url: pageOf(issue) },
    state: over === null ? 'open' : 'closed',
    merged_at: over === 'merged' ? '2026-11-01T10:00:00Z' : null,
    head: { ref: branch, sha: commits.at(-1), repo: fork === undefined ? repo : forked },
    base: { ref: 'main', sha: 'b'.repeat(40), repo },
  };
}

/** https://docs.github.com/en/rest/commits/commits#compare-two-commits */
export function compare({ issues, changes, account }: Repository, basehead: string) {
  const [base = '', head = ''] = basehead.split('...');
  const commits = [...issues.values()].find((issue) => issue.commits.includes(head))?.commits;
  if (commits === undefined) return undefined;
  const before = commits.indexOf(base);
  const added = commits.slice(before + 1, commits.indexOf(head) + 1);
  const files = added.flatMap((sha) => changes[sha]?.files ?? []);
  return {
    body: {
      status: before === -1 ? 'diverged' : 'ahead',
      total_commits: added.length,
      commits: added.map((sha) => {
        const { isMerge, message = 'Update', author = 'mintlify[bot]' } = changes[sha] ?? {};
        const parents = isMerge ? [{}, {}] : [{}];
        return { sha, parents, commit: { message }, author: author && account(author) };
      }),
      files: files.map((file) => {
        if (typeof file === 'string') return { filename: file, status: 'modified' };
        return { filename: file[1], previous_filename: file[0], status: 'renamed' };
      }),
    },
  };
}
