// Pull requests and their commits, by REST.

import type { Answer } from '../agent.ts';
import type { Issue } from './issues.ts';
import { type Repository, SERVER_URL } from './repository.ts';

/** The list ends after this many: https://docs.github.com/en/rest/pulls/pulls#list-commits-on-a-pull-request */
const MAX_COMMITS = 250;

export function pullRequest({ name, pageOf }: Repository, issue: Issue): Answer {
  const { number, locked, commits } = issue;
  const repo = { full_name: name, html_url: `${SERVER_URL}/${name}` };
  const head = { ref: 'changes', sha: commits.at(-1), repo };
  const base = { ref: 'main', sha: 'b'.repeat(40), repo };
  const numbers = { number, commits: commits.length };
  return { body: { ...numbers, state: 'open', locked, html_url: pageOf(issue), head, base } };
}

export function listCommits(
  { messageOf }: Repository,
  { commits }: Issue,
  query: URLSearchParams,
): Answer {
  const size = Math.min(Number(query.get('per_page') ?? 30), 100);
  const end = Number(query.get('page') ?? 1) * size;
  const page = commits.slice(0, MAX_COMMITS).slice(end - size, end);
  return { body: page.map((sha) => ({ sha, commit: { message: messageOf(sha) } })) };
}
