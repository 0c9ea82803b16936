// Pull requests and their commits, by REST.

import type { Answer } from '../agent.ts';
import type { Issue } from './issues.ts';
import { type Repository, SERVER_URL } from './repository.ts';

export function pullRequest({ name, pageOf }: Repository, issue: Issue): Answer {
  const { number, locked, commits } = issue;
  const repo = { full_name: name, html_url: `${SERVER_URL}/${name}` };
  const head = { ref: 'changes', sha: commits.at(-1), repo };
  const base = { ref: 'main', sha: 'b'.repeat(40), repo };
  const numbers = { number, commits: commits.length };
  return { body: { ...numbers, state: 'open', locked, html_url: pageOf(issue), head, base } };
}

/** https://docs.github.com/en/rest/commits/commits#compare-two-commits */
export function compare({ issues, changes }: Repository, basehead: string): Answer | undefined {
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
        const {
          isMerge,
          message = 'Update the docs',
          author = 'mintlify[bot]',
        } = changes[sha] ?? {};
        const parents = isMerge ? [{}, {}] : [{}];
        return { sha, parents, commit: { message }, author: author && { login: author } };
      }),
      files: files.map((file) =>
        typeof file === 'string'
          ? { filename: file, status: 'modified' }
          : { filename: file[1], previous_filename: file[0], status: 'renamed' },
      ),
    },
  };
}
