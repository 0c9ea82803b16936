// Pull requests and their commits, by REST.

import type { Answer } from '../agent.ts';
import type { Issue } from './issues.ts';
import { page } from './page.ts';
import { type Repository, SERVER_URL } from './repository.ts';

/** The list ends after this many: https://docs.github.com/en/rest/pulls/pulls#list-commits-on-a-pull-request */
const MAX_COMMITS = 250;

export function pullRequest({ name, pageOf }: Repository, issue: Issue): Answer {
  const { number, locked, commits } = issue;
  const repo = { full_name: name, html_url: `${SERVER_URL}/${name}` };
  const head = { ref: 'changes', sha: commits.at(-1), repo };
  const base = { ref: 'main', sha: 'b'.repeat(40), repo };
  const numbers = { number, commits: commits.length };
  return { body: { ...numbers, state: 'open', locked, html_url: pageOf(number), head, base } };
}

export function listCommits({ commits }: Issue, url: URL): Answer {
  return page(commits.slice(0, MAX_COMMITS), url, (sha) => ({ sha }));
}
