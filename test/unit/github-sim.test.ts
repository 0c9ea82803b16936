import { describe, expect, it } from 'vitest';
import * as events from '../sim/events.ts';
import { type GitHub, startGitHub } from '../sim/github/server.ts';

const QUERY = `query ($owner: String!, $name: String!, $number: Int!, $older: String) {
  repository(owner: $owner, name: $name) { issueOrPullRequest(number: $number) {
    ... on PullRequest { comments(last: 2, before: $older) { nodes { body } } }
  } }
}`;

function call(github: GitHub, method: string, path: string, body?: object, scheme = 'token') {
  return fetch(`${github.apiUrl}${path.replace('~', `/repos/${github.repository}`)}`, {
    method,
    headers: { authorization: `${scheme} ${github.token}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
}

async function statusOf(...parameters: Parameters<typeof call>): Promise<number> {
  return (await call(...parameters)).status;
}

function ask(github: GitHub, number: number, older: string | null = null) {
  const [owner, name] = github.repository.split('/');
  const body = { query: QUERY, variables: { owner, name, number, older } };
  return call(github, 'POST', '/graphql', body, 'Bearer');
}

describe('comments', () => {
  it('are created, read, changed and deleted', async () => {
    const issues = [{ number: 7, pullRequest: true }, { number: 8 }];
    await using github = await startGitHub({ issues, clock: { now: () => 1_000 } });
    const answer = await call(github, 'POST', '~/issues/7/comments', { body: 'one' });
    expect(answer.status).toBe(201);
    const created = (await answer.json()) as { id: number };
    expect(created).toMatchObject({
      html_url: `https://github.com/octo/agents/pull/7#issuecomment-${created.id}`,
      user: { login: 'github-actions[bot]', id: 41_898_282, type: 'Bot' },
      created_at: '1970-01-01T00:00:01Z',
    });
    const path = `~/issues/comments/${created.id}`;
    expect(await statusOf(github, 'PATCH', path, { body: 'two' })).toBe(200);
    expect(await (await call(github, 'GET', path)).json()).toMatchObject({ body: 'two' });
    expect(github.comments(7)).toMatchObject([{ id: created.id, body: 'two' }]);
    expect(await statusOf(github, 'DELETE', path)).toBe(204);
    expect(await statusOf(github, 'PATCH', path, { body: 'three' })).toBe(404);
    expect(github.comments(7)).toEqual([]);
    expect(github.writes().map(({ status }) => status)).toEqual([201, 200, 204, 404]);
    expect(github.addComment(8, 'bob', 'hi').html_url).toContain('/octo/agents/issues/8#');
  });

  it('come in pages by REST, the oldest first', async () => {
    const comments = [1, 2, 3, 4, 5].map((n) => ({ author: 'bob', body: String(n) }));
    await using github = await startGitHub({ issues: [{ number: 7, comments }] });
    const path = '~/issues/7/comments?per_page=2';
    const first = await call(github, 'GET', path);
    const url = `${github.apiUrl}/repos/octo/agents/issues/7/comments?per_page=2`;
    expect(first.headers.get('link')).toBe(
      `<${url}&page=2>; rel="next", <${url}&page=3>; rel="last"`,
    );
    expect(await first.json()).toMatchObject([{ body: '1' }, { body: '2' }]);
    const last = await call(github, 'GET', `${path}&page=3`);
    expect(last.headers.get('link')).not.toContain('next');
    expect(await last.json()).toMatchObject([{ body: '5', user: { login: 'bob', type: 'User' } }]);
  });

  it('come in pages by GraphQL, from the newest on', async () => {
    const authors = ['github-actions[bot]', 'bob', 'bob'];
    const comments = authors.map((author) => ({ author, body: 'hello' }));
    await using github = await startGitHub({
      issues: [{ number: 7, pullRequest: true, comments }],
    });
    const [oldest, , newest] = github.comments(7);
    const page = async (cursor: string | null) => {
      const answer = await (await ask(github, 7, cursor)).json();
      // biome-ignore lint/suspicious/noExplicitAny: the shape is what is tested here
      const found = (answer as any).data.repository.issueOrPullRequest;
      expect(found).toMatchObject({ __typename: 'PullRequest', locked: false });
      return found.comments;
    };
    const late = await page(null);
    expect(late.nodes).toHaveLength(2);
    expect(late.nodes[1]).toMatchObject({ url: newest?.html_url, viewerDidAuthor: false });
    expect(late.pageInfo).toMatchObject({ hasPreviousPage: true, hasNextPage: false });
    github.addComment(7, 'bob', 'later still');
    const early = await page(late.pageInfo.startCursor);
    expect(early.nodes).toMatchObject([
      {
        databaseId: null,
        fullDatabaseId: String(oldest?.id),
        viewerDidAuthor: true,
        author: { login: 'github-actions' },
      },
    ]);
    expect(early.pageInfo).toMatchObject({ hasPreviousPage: false, hasNextPage: true });
  });

  it('are refused where GitHub refuses them', async () => {
    const issues = [{ number: 7 }, { number: 9, locked: true }];
    await using github = await startGitHub({ issues });
    const write = (number: number, body: unknown) =>
      statusOf(github, 'POST', `~/issues/${number}/comments`, { body });
    expect(await write(7, 'x'.repeat(65_536))).toBe(201);
    expect(await write(7, 'x'.repeat(65_537))).toBe(422);
    expect(await write(7, ' ')).toBe(422);
    expect(await write(8, 'x')).toBe(404);
    expect(await write(9, 'x')).toBe(403);
    expect(github.comments(7)).toHaveLength(1);
    expect(await (await ask(github, 8)).json()).toMatchObject({
      data: { repository: { issueOrPullRequest: null } },
      errors: [{ type: 'NOT_FOUND' }],
    });
  });
});

it('answers with a permission as the real one does', async () => {
  await using github = await startGitHub({
    collaborators: {
      Alice: { id: 1, permission: 'write', role_name: 'maintain' },
      bob: { id: 2, permission: 'read', role_name: 'helper', user_permissions: { triage: true } },
      carol: { id: 3, permission: 'none', user_permissions: null },
    },
  });
  const get = async (login: string): Promise<unknown> =>
    (await call(github, 'GET', `~/collaborators/${login}/permission`)).json();
  const none = { pull: true, triage: true, push: false, maintain: false, admin: false };
  expect(await get('alice')).toEqual({
    permission: 'write',
    role_name: 'maintain',
    user: {
      login: 'Alice',
      id: 1,
      type: 'User',
      permissions: { ...none, push: true, maintain: true },
      role_name: 'maintain',
    },
  });
  expect(await get('bob')).toMatchObject({ role_name: 'helper', user: { permissions: none } });
  expect(await get('carol')).not.toHaveProperty('user.permissions');
  const strange = '~/collaborators/github-actions%5Bbot%5D/permission';
  expect(await statusOf(github, 'GET', strange)).toBe(404);
});

it('takes reactions on issues and both kinds of comments, each once', async () => {
  await using github = await startGitHub({ issues: [{ number: 7, pullRequest: true }] });
  const { id } = github.addComment(7, 'bob', '/agent go');
  const line = github.addReviewComment(7, 'bob', '/agent here');
  const react = (path: string, content = 'eyes') =>
    statusOf(github, 'POST', `~/${path}/reactions`, { content });
  expect(await react(`issues/comments/${id}`)).toBe(201);
  expect(await react(`issues/comments/${id}`)).toBe(200);
  expect(await react(`pulls/comments/${line.id}`, 'rocket')).toBe(201);
  expect(await react('issues/7', 'confused')).toBe(201);
  expect(await react('issues/7', 'shrug')).toBe(422);
  expect(await react(`issues/comments/${line.id}`)).toBe(404);
  const user = 'github-actions[bot]';
  expect(github.reactions).toEqual([
    { subject: 'issue_comment', id, content: 'eyes', user },
    { subject: 'review_comment', id: line.id, content: 'rocket', user },
    { subject: 'issue', id: 7, content: 'confused', user },
  ]);
  const found = await call(github, 'GET', `~/pulls/comments/${line.id}`);
  expect(await found.json()).toMatchObject({ user: { login: 'bob' } });
});

it('knows the token, its identity and its limits', async () => {
  const issues = [{ number: 7, pullRequest: true, comments: [{ author: 'me', body: 'mine' }] }];
  await using robot = await startGitHub({ issues, readOnly: true });
  expect(await statusOf(robot, 'GET', '/user')).toBe(403);
  expect((await fetch(`${robot.apiUrl}/user`)).status).toBe(401);
  expect((await fetch(robot.graphqlUrl, { method: 'POST' })).status).toBe(401);
  expect(await statusOf(robot, 'POST', '~/issues/7/comments', { body: 'x' })).toBe(403);
  expect((await ask(robot, 7)).status).toBe(200);
  expect(robot.writes()).toMatchObject([{ status: 403 }]);
  expect(await statusOf(robot, 'GET', '~/pulls/7')).toBe(200);
  expect(await statusOf(robot, 'GET', '~/pulls/8')).toBe(404);
  expect(await statusOf(robot, 'GET', '/repos/octo/other/pulls/7')).toBe(404);

  const viewer = { login: 'me', id: 5, type: 'User' as const };
  await using person = await startGitHub({ viewer, graphql: false, issues });
  expect(await (await call(person, 'GET', '/user')).json()).toMatchObject({ login: 'me', id: 5 });
  expect((await ask(person, 7)).status).toBe(404);
});

it('lets a script have the first say', async () => {
  await using github = await startGitHub({
    on: ({ path }) => (path === '/user' ? { fault: 'reset' } : { status: 502, body: 'bad' }),
  });
  await expect(call(github, 'GET', '/user')).rejects.toThrow('fetch failed');
  expect(await statusOf(github, 'GET', '~/pulls/7')).toBe(502);
  expect(github.journal.map(({ status }) => status)).toEqual([null, 502]);
});

describe('events', () => {
  it.each([
    events.pullRequest({ number: 7 }),
    events.pullRequest({ number: 7, fork: 'bob/agents', target: true }),
    events.issueComment({ number: 7, body: '/agent go' }),
    events.reviewComment({ number: 7, body: '/agent here' }),
    events.review({ number: 7, body: null }),
    events.push(),
    events.schedule(),
    events.workflowDispatch(),
    events.workflowRun({ pullRequests: [7] }),
    events.mergeGroup({ number: 7 }),
    events.event('repository_dispatch', 'nudge', { client_payload: { job: 'job_1' } }),
  ])('$name is of our repository alone', ({ payload }) => {
    expect(payload.repository).toMatchObject({
      full_name: 'octo/agents',
      name: 'agents',
      owner: { login: 'octo' },
    });
    expect(JSON.stringify(payload)).not.toMatch(/Codertocat\/Hello-World|octo-org\/octo-repo/);
  });

  it('have what the examples lack', () => {
    const bob = { login: 'bob', id: 2, type: 'User' } as const;
    const sender = events.DEPENDABOT;
    const comment = { number: 7, body: '/agent go', author: bob, id: 55, viaApp: true, sender };
    expect(events.issueComment(comment).payload).toMatchObject({
      action: 'created',
      issue: { number: 7, pull_request: { merged_at: null } },
      comment: {
        id: 55,
        user: bob,
        performed_via_github_app: { slug: 'helper' },
        html_url: 'https://github.com/octo/agents/pull/7#issuecomment-55',
      },
      sender: { type: 'Bot' },
    });
    const onIssue = { ...comment, onPullRequest: false, action: 'edited' };
    expect(events.issueComment(onIssue).payload).not.toHaveProperty('issue.pull_request');
    expect(events.issueComment(onIssue).payload).toHaveProperty('changes.body');
    expect(events.pullRequest({ number: 7, fork: null })).toMatchObject({
      name: 'pull_request',
      payload: { action: 'opened', pull_request: { number: 7, head: { repo: null } } },
    });
    expect(events.pullRequest({ number: 7, fork: 'bob/copy', target: true })).toMatchObject({
      name: 'pull_request_target',
      payload: {
        pull_request: {
          head: { repo: { full_name: 'bob/copy', owner: { login: 'bob' } } },
          base: { repo: { full_name: 'octo/agents' } },
        },
      },
    });
    expect(events.schedule().payload).not.toHaveProperty('sender');
    expect(() => events.event('teapot')).toThrow('teapot');
  });
});
