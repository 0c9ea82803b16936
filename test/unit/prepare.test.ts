import { expect, it } from 'vitest';
import { ownPullRequest } from '../../src/job/prepare.ts';
import { readRunInfo } from '../../src/runner/environment.ts';

const INFO = readRunInfo({ GITHUB_REPOSITORY: 'octo/agents' });

it.each([
  ['https://github.com/octo/agents/pull/7', 7],
  ['https://GitHub.com/Octo/Agents/pull/7', 7],
  [null, null],
  ['https://github.com/octo/other/pull/7', null],
  ['https://ghe.example/octo/agents/pull/7', null],
  ['https://github.com/octo/agents/pull/', null],
  ['https://github.com/octo/agents/pull/7/files', null],
  ['https://github.com/octo/agents/pull/07', null],
  ['https://github.com/octo/agents/pull/12345678901', null],
])('%s is our own pull request: %s', (link, number) => {
  expect(ownPullRequest(link, INFO)).toBe(number);
});
