import { expect, it } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { GitHub, type GitHubOptions } from '../../../src/github/client.ts';
import type { Reply } from '../../sim/agent.ts';
import { type GitHubOptions as SimOptions, startGitHub } from '../../sim/github/server.ts';

const NUMBER = 7;
const ACTIONS = 'github-actions[bot]';
const CREATE = 'POST issues/#/comments';
const REACT = 'react';
/** A time of a clock that a test sets. */
const UNTIL = 30_000;

type Simulation = Awaited<ReturnType<typeof startGitHub>>;
const simulate = (options: SimOptions = {}): Promise<Simulation> =>
  startGitHub({ issues: [{ number: NUMBER, pullRequest: true }], ...options });

function connect(sim: Simulation, parts: Partial<GitHubOptions> = {}): GitHub {
  const { token, repository, apiUrl } = sim;
  return new GitHub({
    ...{ token, repository, apiUrl, env: {}, clock: systemClock },
    ...{ redact: (text) => text, signal: new AbortController().signal },
    ...parts,
  });
}

/** The names of all calls. */
function callsOf(sim: Simulation): readonly string[] {
  return sim.calls().map(({ name }) => name);
}

const talk = (count: number, author: string) =>
  Array.from({ length: count }, (_, n) => ({ author, body: `${author} ${n}` }));

it('comments of the own identity are found on all pages, the oldest first', async () => {
  const own = [talk(60, ACTIONS), talk(1, ACTIONS)] as const;
  const comments = [...own[0], ...talk(150, 'mallory'), ...own[1]];
  await using sim = await simulate({ issues: [{ number: NUMBER, comments }] });
  const found = await connect(sim).ownComments(NUMBER, Infinity);
  expect(found.map(({ body }) => body)).toEqual(own.flat().map(({ body }) => body));
  const first = sim.comments(NUMBER)[0];
  expect(found[0]).toMatchObject({ id: first?.node_id, url: first?.html_url, isEdited: false });
  expect(callsOf(sim)).toHaveLength(5);
});

it.each([
  [{ pull: true }, 'none'],
  [{ triage: true }, 'triage'],
  [{ triage: true, push: true, maintain: true }, 'maintain'],
  [{ push: true, admin: true }, 'admin'],
  [{ admin: 'yes', push: true, custom: null }, 'write'],
])('the permissions %j are %s, whatever the role', async (permissions, permission) => {
  const user = { id: 1, login: 'alice', permissions };
  await using sim = await simulate({ on: () => ({ body: { role_name: 'admin', user } }) });
  const found = await connect(sim).collaborator('alice');
  expect(found).toMatchObject({ permission, id: 1, login: 'alice' });
});

it('collaborator of nobody and of a deleted account is null', async () => {
  await using sim = await simulate();
  expect(await connect(sim).collaborator('../../../x')).toBeNull();
  await using deleted = await simulate({ on: () => ({ body: { user: null } }) });
  expect(await connect(deleted).collaborator('alice')).toBeNull();
});

it('what became of a comment without an ID is not known, which needs no call', async () => {
  await using sim = await simulate();
  expect(await connect(sim).fetchFate('')).toBe('unknown');
  expect(callsOf(sim)).toEqual([]);
});

it('what was said and runs are found beside entries that cannot be read', async () => {
  const pageInfo = { hasMore: false };
  const lines = { line: 1, startLine: null, originalLine: 1, originalStartLine: null };
  const about = { ...lines, isResolved: false, isOutdated: false, path: 'a' };
  const thread = { ...about, first: { nodes: [] }, comments: { totalCount: 1, nodes: [null] } };
  const threads = { pageInfo, nodes: [null, thread, {}] };
  const page = { sha: 'a'.repeat(40), comments: { pageInfo, nodes: [null, {}] }, threads };
  const body = { data: { repository: { page } }, workflow_runs: [null, { id: 1 }] };
  await using sim = await simulate({ on: () => ({ body }) });
  const found = await connect(sim).conversation(NUMBER);
  expect(found.comments.all).toEqual([]);
  expect(found.threads?.all).toMatchObject([{ location: { path: 'a' }, posts: [], older: 1 }]);
  expect(await connect(sim).runsOn(page.sha, Infinity)).toEqual([]);
});

it.each([[[{ filename: 'a' }, null]], [[{ filename: 'a', previous_filename: 1 }]], [undefined]])(
  'of the changed files %j, none is told',
  async (files) => {
    const body = { status: 'ahead', total_commits: 1, commits: [{ parents: [] }], files };
    await using sim = await simulate({ on: () => ({ body }) });
    expect(await connect(sim).compare('a', 'b')).toMatchObject({ files: null });
  },
);

const portal = 'GitHub returned an unexpected response; it may be from a proxy or captive portal';

it.each<[string, SimOptions, string]>([
  ['there is no such conversation', { issues: [] }, 'GitHub answered with an error: “Could not'],
  ['the host has no GraphQL', { graphql: false }, 'GitHub answered 404'],
  ['a portal answers', { on: () => ({ body: '<html>' }) }, portal],
  ['a part is missing', { on: () => ({ body: { data: { repository: null } } }) }, portal],
])('a call fails if %s', async (_, options, why) => {
  await using sim = await simulate(options);
  await expect(connect(sim).ownComments(NUMBER, Infinity)).rejects.toThrow(why);
});

const json = { 'content-type': 'application/json' };
it.each(['null', '[]', '"x"', '7', '{}', '{"data":null}', ''])(
  'a call of GraphQL fails if the answer is %s',
  async (body) => {
    await using sim = await simulate({ on: () => ({ body, headers: json }) });
    await expect(connect(sim).newestOwnComments(NUMBER)).rejects.toThrow(portal);
    await expect(connect(sim).hide([['x', 'OUTDATED']])).rejects.toThrow(portal);
    await expect(connect(sim).updateComment(1, 'x')).rejects.toThrow(portal);
  },
);

it.each<[string, Partial<GitHubOptions>, string]>([
  ['a token is missing', { token: '' }, '“github-token” is empty'],
  ['the token is odd', { token: 'ghs x' }, '“github-token” contains a space'],
  ['checks are off', { env: { NODE_TLS_REJECT_UNAUTHORIZED: '0' } }, 'checks are turned off'],
  ['the proxy is odd', { env: { http_proxy: 'a://x' } }, 'http_proxy must be the URL'],
])('a call is not made if %s', async (_, parts, why) => {
  await using sim = await simulate();
  await expect(connect(sim, parts).collaborator('alice')).rejects.toThrow(why);
  expect(callsOf(sim)).toEqual([]);
});

it.each<Reply>([{ fault: 'reset' }, { status: 502 }])(
  'a call is repeated once after %j, but no comment is written twice',
  async (reply) => {
    let fails = 1;
    await using sim = await simulate({ on: () => (fails-- > 0 ? reply : undefined) });
    const github = connect(sim);
    expect(await github.newestOwnComments(NUMBER)).toEqual([]);
    fails = 1;
    await github.react(sim.addComment(NUMBER, 'alice', 'x').node_id, 'EYES');
    fails = 2;
    await expect(github.newestOwnComments(NUMBER)).rejects.toThrow('GitHub');
    fails = 1;
    await expect(github.createComment(NUMBER, 'x')).rejects.toThrow('GitHub');
    expect(callsOf(sim)).toEqual(['list', 'list', REACT, REACT, 'list', 'list', CREATE]);
  },
);

const limit = (headers: object): Reply => ({
  ...{ status: 403, body: { message: 'No.' } },
  headers: { 'x-ratelimit-remaining': '0', ...headers },
});
const date = Date.UTC(2026, 10, 21, 12);
const until = String(date / 1000 + 20);
const reset = { date: new Date(date).toUTCString(), 'x-ratelimit-reset': until };
it.each<[string, Reply, RegExp]>([
  ['Retry-After', limit({ 'retry-after': '60' }), /^60000$/],
  ['the reset', limit(reset), /^20000$/],
  ['nothing, if the pause is too long', limit({ 'retry-after': '61' }), /^$/],
  ['nothing, if no pause is named', limit({}), /^$/],
])('a call that reads waits once for a rate limit, until %s', async (_, reply, expected) => {
  const slept: number[] = [];
  const clock = { ...systemClock, sleep: async (ms: number) => void slept.push(ms) };
  const waits = !expected.test('');
  for (const fails of [1, 2]) {
    let left = fails;
    await using sim = await simulate({ on: () => (left-- > 0 ? reply : undefined) });
    const read = connect(sim, { clock }).newestOwnComments(NUMBER);
    if (waits && fails === 1) expect(await read).toEqual([]);
    else await expect(read).rejects.toThrow('because of a rate limit: “No.”');
    expect(slept.splice(0).join()).toMatch(expected);
    expect(callsOf(sim)).toHaveLength(waits ? 2 : 1);
  }
});

it.each([
  [10_000, 'at any time', false],
  [6000, 'after a cancellation, for all calls together', true],
])('a call takes %i ms at most %s', async (limit, _, isCancelled) => {
  await using sim = await simulate({ on: () => ({ fault: 'hang' }) });
  const slept: number[] = [];
  const limits: number[] = [];
  const clock = {
    ...systemClock,
    sleep: async (ms: number) => void slept.push(ms),
    timeout(ms: number) {
      limits.push(ms);
      return isCancelled ? new AbortController().signal : AbortSignal.abort();
    },
  };
  const cancel = new AbortController();
  const github = connect(sim, { clock, signal: cancel.signal });
  if (isCancelled) cancel.abort();
  for (const _ of [1, 2]) {
    await expect(github.createComment(NUMBER, 'one')).rejects.toThrow('did not answer in time');
  }
  expect([limits, slept]).toEqual([[10_000, 10_000], isCancelled ? [limit] : []]);
});

it.each<[string, (github: GitHub) => Promise<unknown>]>([
  ['comments', (github) => github.ownComments(NUMBER, UNTIL)],
  ['inline comments', (github) => github.reviewComments('PRR_1', UNTIL)],
])('a call is not made for ever if the pages of a list of %s do not end', async (_, list) => {
  let cursors = 0;
  const page = (cursor: string | null) => {
    const comments = { nodes: [], pageInfo: { hasMore: true, cursor } };
    return { body: { data: { repository: { page: { comments } }, review: { comments } } } };
  };
  await using sim = await simulate({ on: () => page(`page ${cursors++}`) });
  let now = 0;
  const clock = { ...systemClock, now: () => (now += 2500) };
  const github = connect(sim, { clock });
  await expect(list(github)).rejects.toThrow('did not list everything in time');
  expect(callsOf(sim)).toHaveLength(6);
  for (const cursor of [null, 'the same']) {
    await using other = await simulate({ on: () => page(cursor) });
    const patient = connect(other, { clock: { ...systemClock, now: () => 0 } });
    await expect(list(patient)).rejects.toThrow('unexpected response');
  }
});

it('the checks on a commit are found on all pages, unless their time is over', async () => {
  const [sha, checks] = ['a'.repeat(40), Array.from({ length: 200 }, (_, n) => `check ${n}`)];
  await using sim = await simulate({ checks: checks.map((name) => ({ sha, name })) });
  const found = await connect(sim).checksOn(sha, Infinity);
  expect(found.map(({ name }) => name)).toEqual(checks.toReversed());
  await expect(connect(sim).checksOn(sha, 0)).rejects.toThrow('did not list everything in time');
  expect(callsOf(sim)).toHaveLength(2);
});
