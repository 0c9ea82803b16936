import { expect, it } from 'vitest';
import { readNetworkSettings, readRunInfo } from '../../../src/runner/environment.ts';
import { redactor } from '../../../src/runner/logger.ts';

const SERVER = 'https://ghe.example';
const RUNNER = {
  ...{ GITHUB_SERVER_URL: SERVER, GITHUB_API_URL: `${SERVER}/api/v3` },
  ...{ GITHUB_REPOSITORY: 'octo/agents', GITHUB_RUN_ID: '7', GITHUB_RUN_ATTEMPT: '2' },
  ...{ GITHUB_JOB: 'build', GITHUB_ACTION: 'step' },
  ...{ GITHUB_WORKFLOW: 'CI', GITHUB_WORKFLOW_REF: 'o/r/w.yml@main' },
  ...{ GITHUB_ACTOR: 'alice', GITHUB_TRIGGERING_ACTOR: 'bob' },
};

const NOTHING = {
  ...{ apiUrl: 'https://api.github.com', repository: '', repositoryUrl: 'https://github.com/' },
  ...{ runId: '', attempt: 1, step: ':', workflow: '', triggeringActor: '' },
};
const ALL = {
  ...{ apiUrl: `${SERVER}/api/v3`, repository: 'octo/agents', runId: '7', attempt: 2 },
  ...{ repositoryUrl: `${SERVER}/octo/agents`, step: 'build:step', workflow: 'o/r/w.yml' },
  triggeringActor: 'bob',
};
const SLASHES = { GITHUB_SERVER_URL: `${SERVER}/`, GITHUB_API_URL: `${SERVER}/api/v3/` };
it.each<[string, Record<string, string>, object]>([
  ['no variables', {}, NOTHING],
  ['the variables of the runner', RUNNER, ALL],
  ['slashes', SLASHES, { repositoryUrl: `${SERVER}/`, apiUrl: `${SERVER}/api/v3` }],
  ['no URL', { GITHUB_SERVER_URL: 'x y' }, { repositoryUrl: 'https://github.com/' }],
  ['no attempt', { GITHUB_RUN_ATTEMPT: '1e9' }, { attempt: 1 }],
])('readRunInfo reads %s', (_, env, expected) => {
  expect(readRunInfo(env)).toMatchObject(expected);
});

const https = new URL('https://api.example');

it.each<[Record<string, string>, string]>([
  [{}, ''],
  [{ https_proxy: 'http://p:1' }, 'http://p:1/'],
  [{ https_proxy: ' http://l:1 ', HTTPS_PROXY: 'http://u:1' }, 'http://l:1/'],
  [{ https_proxy: 'p:1' }, 'http://p:1/'],
  [{ http_proxy: 'http://p:1', NODE_TLS_REJECT_UNAUTHORIZED: '1' }, ''],
  [{ HTTPS_PROXY: '[::1]:1' }, 'http://[::1]:1/'],
  [{ HTTPS_PROXY: 'CORP%5Cbob:p%2Fw@p:1' }, 'http://CORP%5Cbob:p%2Fw@p:1/'],
])('readNetworkSettings for https, %j is "%s"', (env, url) => {
  expect(readNetworkSettings(env, https)).toEqual({ kind: 'ok', value: { url, noProxy: '' } });
});

it('readNetworkSettings for http on localhost, uses http_proxy, and passes on no_proxy', () => {
  const env = { http_proxy: 'http://p:1', NO_PROXY: 'a.example' };
  expect(readNetworkSettings(env, new URL('http://localhost'))).toMatchObject({
    value: { url: 'http://p:1/', noProxy: 'a.example' },
  });
});

it.each([
  ...['http://', 'socks5://p:1', 'http://p:99999', '::', 'http://u:100%@p:1', 'http://p p:1'],
  ...['http://p:1/proxy.pac', 'http://p:1?x', 'http://p:1#x', 'http://CORP\\bob:pw@p', "'p:1'"],
  ...['http://bob:48151/x@p', 'http:/p:1', 'http://p:0', 'p:1, q:1', '{{ p }}', 'file:///p'],
])('readNetworkSettings refuses %j without quoting it', (proxy) => {
  const problem = expect.stringMatching('^HTTPS_PROXY must be the URL of an http or https proxy');
  expect(readNetworkSettings({ HTTPS_PROXY: proxy }, https)).toEqual({ kind: 'problem', problem });
});

it.each<[readonly string[], string, string]>([
  [['mint_s3cret "key"+/'], 'a mint_s3cret "key"+/, b', 'a ***, b'],
  [['1234567', 'ab', ''], 'about the number 1234567', 'about the number 1234567'],
  [['12345678', '12345678-more'], '12345678-more 12345678 12345678', '*** *** ***'],
  [['abcdefg\ud800'], 'x abcdefg\ud800', 'x ***'],
  [['mint_s3cret'], 'a mi\u200bnt_s3\u00adcret\u200b, b\u200b', 'a ***, b'],
  [['mint_s3cret'], 'joined:\u200b none', 'joined:\u200b none'],
  [['x'.repeat(48_000)], `${'x'.repeat(48_000)} y`, '*** y'],
])('redactor of %.40j', (secrets, text, left) => {
  expect(redactor(secrets)(text)).toBe(left);
});
