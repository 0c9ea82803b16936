import { expect, it } from 'vitest';
import { checkPrLink, ownPullRequest, pullRequestName } from '../../src/pull-request.ts';

it.each([
  ['https://github.com/o/r/pull/1/', 'https://github.com/o/r/pull/1', 'o/r', '#1'],
  ['https://github.com/o/r/pull/1?x=[a](b)#c', 'https://github.com/o/r/pull/1', 'o/r', '#1'],
  ['https://github.com/o/r/pull/1/commits/abc?w=1', 'https://github.com/o/r/pull/1', 'o/r', '#1'],
  ['https://github.com/o/r/pull/1/changes/a..b/', 'https://github.com/o/r/pull/1', 'o/r', '#1'],
  ['https://GitHub.com/o/r.js/pull/12', 'https://github.com/o/r.js/pull/12', 'o/r.js', '#12'],
  ['https://ghe.example:8443/o/r/pull/5', 'https://ghe.example:8443/o/r/pull/5', 'o/r', '#5'],
])('checkPrLink accepts %s', (given, link, repository, number) => {
  expect(checkPrLink(given)).toEqual({ kind: 'ok', value: link });
  const { host } = new URL(link);
  const where = host === 'github.com' ? repository : `${host}/${repository}`;
  expect(pullRequestName(link, true)).toBe(number);
  expect(pullRequestName(link, false)).toBe(where + number);
});

it.each([
  ['http://github.com/o/r/pull/1', 'https'],
  ['javascript:alert(1)', 'https'],
  ['https://user@github.com/o/r/pull/1', 'https'],
  ['https://github.com@evil.example/o/r/pull/1', 'https'],
  ['https://[::1]/o/r/pull/1', 'plain name'],
  ['https://a_b.example/o/r/pull/1', 'plain name'],
  ['https://github.com/o/r/pull/0', 'pull request'],
  [`https://github.com/o/${'r'.repeat(101)}/pull/1`, 'pull request'],
  [`https://${'a'.repeat(254)}/o/r/pull/1`, 'plain name'],
  ['https://github.com/o/r/pull/1x/files', 'pull request'],
  ['https://github.com/login/oauth?next=/o/r/pull/1', 'pull request'],
  ['https://github.com/o/r)/pull/1', 'pull request'],
  ['https://github.com/o/.../pull/1', 'pull request'],
  ['https://gitlab.com/g/r/-/merge_requests/3', 'pull request on GitHub'],
  ['https://github.com/o/r/pull/3/../../x', 'pull request'],
  ['https://github.com/o/r/pull/1 [x](y)', 'URL'],
  ['https://github.com/o/r\n/pull/1', 'URL'],
  ['https://github.com\\o\\r\\pull\\1', 'URL'],
  ['o/r#1', 'URL'],
])('checkPrLink refuses %j', (link, why) => {
  expect(checkPrLink(link)).toEqual({ kind: 'problem', problem: expect.stringContaining(why) });
});

it.each([
  ['https://github.com/octo/agents/pull/7', 7],
  ['https://GitHub.com/Octo/Agents/pull/7', 7],
  [null, null],
  ['https://github.com/octo/other/pull/7', null],
  ['https://ghe.example/octo/agents/pull/7', null],
  ['https://github.com/octo/agents/pull/7/files', null],
  ['https://github.com/octo/agents/pull/12345678901', null],
])('ownPullRequest of %s is %s', (link, number) => {
  expect(ownPullRequest(link, 'https://github.com/octo/agents')).toBe(number);
});
