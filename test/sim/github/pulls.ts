// Pull requests, by REST.

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
