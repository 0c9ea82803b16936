import { describe, expect, it } from 'vitest';
import { type GitHub, type GitHubOptions, startGitHub } from '../sim/github/server.ts';

const ME = 'github-actions[bot]';
const PULL = [{ number: 7, pullRequest: true }];
const CREATE = 'POST ~/issues/7/comments';

/** `~` is the repository. Resolves to the status, the headers and the body. */
async function call(github: GitHub, route: string, body?: object, scheme = 'token') {
  const [method = '', path = ''] = route.split(' ');
  const response = await fetch(github.apiUrl + path.replace('~', `/repos/${github.repository}`), {
    method,
    headers: { authorization: `${scheme} ${github.token}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what is tested here
  const json: any = text === '' ? null : JSON.parse(text);
  return { status: response.status, headers: response.headers, body: json };
}

async function statusOf(...parameters: Parameters<typeof call>): Promise<number> {
  return (await call(...parameters)).status;
}

function comments(page: string, fields: string, variables = ''): string {
  const list = `comments${page} { ${fields} }`;
  return `query ($owner: String!, $name: String!, $number: Int! ${variables}) {
    repository(owner: $owner, name: $name) { issueOrPullRequest(number: $number) {
      ... on Issue { ${list} } ... on PullRequest { ${list} }
    } }
  }`;
}
const PAGE = 'nodes { id viewerDidAuthor } pageInfo { hasPreviousPage startCursor }';
const LIST = comments('(last: 2, before: $before)', PAGE, '$before: String');
const NEWEST = comments('(last: 30)', 'nodes { id body url isMinimized viewerDidAuthor }');
const READ = 'query ($ids: [ID!]!) { nodes(ids: $ids) { ... on IssueComment { id body url } } }';
const MINIMIZE = `mutation ($id0: ID!, $id1: ID!) {
  c0: minimizeComment(input: { subjectId: $id0, classifier: OUTDATED }) { clientMutationId }
  c1: minimizeComment(input: { subjectId: $id1, classifier: OUTDATED }) { clientMutationId }
}`;

async function ask(github: GitHub, query: string, more: object = {}) {
  const [owner, name] = github.repository.split('/');
  const variables = { owner, name, number: 7, ...more };
  return (await call(github, 'POST /graphql', { query, variables }, 'Bearer')).body;
}

/** The comments of conversation 7 that a query returns. */
async function commentsIn(github: GitHub, query: string, more?: object) {
  return (await ask(github, query, more)).data.repository.issueOrPullRequest.comments;
}

/** A clock that stands still until it is set. */
function manualClock() {
  return {
    at: 1_000_400,
    now(): number {
      return this.at;
    },
  };
}

describe('REST', () => {
  it.each([
    [201, CREATE, { body: 'x'.repeat(65_536) }],
    [422, CREATE, { body: 'x'.repeat(65_537) }],
    [422, CREATE, { body: ' ' }],
    [403, 'POST ~/issues/9/comments', { body: 'locked' }],
    [404, 'POST ~/issues/1/comments', { body: 'x' }],
    [404, 'POST /repos/octo/other/issues/7/comments', { body: 'x' }],
    [404, 'PATCH ~/issues/comments/1', { body: 'x' }],
    [422, 'POST ~/issues/comments/3000000001/reactions', { content: 'shrug' }],
    [403, 'POST ~/issues/comments/3000000002/reactions', { content: 'eyes' }],
    [404, 'POST ~/pulls/comments/3000000001/reactions', { content: 'eyes' }],
    [404, 'DELETE ~/issues/comments/3000000001/reactions/1', undefined],
    [404, 'GET ~/pulls/8', undefined],
    [404, 'GET ~/pulls/8/commits', undefined],
    [404, 'GET ~/pulls/1/commits', undefined],
    [404, 'GET ~/collaborators/nobody/permission', undefined],
  ])('answers %i to %s', async (status, route, body) => {
    const old = [{ author: 'bob', body: 'old' }];
    const issues = [
      { number: 7, pullRequest: true, comments: old },
      { number: 9, locked: true, comments: old },
      { number: 8 },
    ];
    await using github = await startGitHub({ issues });
    expect(await statusOf(github, route, body)).toBe(status);
  });

  it('returns a permission in the same form as GitHub', async () => {
    await using github = await startGitHub({
      collaborators: {
        Alice: { id: 1, permission: 'write', role_name: 'maintain' },
        bob: { id: 2, permission: 'read', role_name: 'helper', user_permissions: { triage: true } },
        carol: { id: 3, permission: 'none', user_permissions: null },
      },
    });
    const get = async (login: string) =>
      (await call(github, `GET ~/collaborators/${login}/permission`)).body;
    const none = { pull: true, triage: true, push: false, maintain: false, admin: false };
    const permissions = { ...none, push: true, maintain: true };
    expect(await get('alice')).toEqual({
      permission: 'write',
      role_name: 'maintain',
      user: { login: 'Alice', id: 1, type: 'User', permissions, role_name: 'maintain' },
    });
    expect(await get('bob')).toMatchObject({ role_name: 'helper', user: { permissions: none } });
    expect(await get('carol')).not.toHaveProperty('user.permissions');
  });
});

describe('GraphQL', () => {
  const mine = { author: ME, body: 'mine' };
  const hi = { author: 'bob', body: 'hi' };
  const issues = [{ number: 7, pullRequest: true, comments: [mine, hi, mine] }];

  it.each([
    ['Cannot query field "x"', comments('(last: 1)', 'nodes { x }')],
    ['Variable "$ids" is never used', READ.replace(': $ids', ': ["IC_1"]')],
    ['Variable "$ids" has invalid value', READ],
    ['Syntax Error', '{ nodes'],
  ])('explains an error: %s', async (message, text) => {
    await using github = await startGitHub();
    const response = await ask(github, text);
    const error = expect.objectContaining({ message: expect.stringContaining(message) });
    expect(response).toEqual({ errors: expect.arrayContaining([error]) });
    expect(response.errors[0]).not.toHaveProperty('type');
  });

  it.each([
    ['EXCESSIVE_PAGINATION', comments('(last: 101)', 'nodes { id }'), {}],
    ['ARGUMENT_LIMIT', READ, { ids: Array(101).fill('IC_1') }],
    ['NOT_FOUND', NEWEST, { number: 8 }],
    ['NOT_FOUND', NEWEST, { name: 'other' }],
  ])('returns null with the error %s', async (type, text, variables) => {
    await using github = await startGitHub({ issues });
    expect((await ask(github, text, variables)).errors).toMatchObject([
      { type, path: expect.any(Array) },
    ]);
  });
});

describe('the inline comments of a review', () => {
  const INLINE = `query ($id: ID!, $first: Int, $after: String) { node(id: $id) {
    ... on PullRequestReview { comments(first: $first, after: $after) {
      nodes { body line originalLine author { login ... on Bot { databaseId } } editor { login } }
      pageInfo { hasNextPage endCursor }
    } }
  } }`;

  it('are on pages, the oldest first', async () => {
    await using github = await startGitHub({ issues: PULL });
    const id = `PRR_${github.addReview(7, ME, [
      { body: 'one', outdated: true },
      { body: 'two', line: 3, movedTo: 5, editor: 'bob' },
      { body: 'three', author: null },
    ])}`;
    const bot = { login: 'github-actions', databaseId: 41_898_282 };
    const first = (await ask(github, INLINE, { id, first: 2 })).data.node.comments;
    expect(first.nodes).toEqual([
      { body: 'one', line: null, originalLine: 12, author: bot, editor: null },
      { body: 'two', line: 5, originalLine: 3, author: bot, editor: { login: 'bob' } },
    ]);
    expect(first.pageInfo.hasNextPage).toBe(true);
    const after = first.pageInfo.endCursor;
    const { nodes, pageInfo } = (await ask(github, INLINE, { id, first: 100, after })).data.node
      .comments;
    expect(nodes).toMatchObject([{ body: 'three', author: null }]);
    expect(pageInfo.hasNextPage).toBe(false);
  });

  it.each<[object, string]>([
    [{ id: 'PRR_1' }, 'MISSING_PAGINATION_BOUNDARIES'],
    [{ id: 'PRR_1', first: 101 }, 'EXCESSIVE_PAGINATION'],
    [{ id: 'PR_1', first: 1 }, 'NOT_FOUND'],
  ])('are refused for %j', async (variables, type) => {
    await using github = await startGitHub({ issues: PULL });
    expect((await ask(github, INLINE, variables)).errors).toMatchObject([{ type }]);
  });
});

describe('the token', () => {
  it('is checked', async () => {
    await using github = await startGitHub({ issues: PULL });
    expect((await fetch(github.graphqlUrl, { method: 'POST' })).status).toBe(401);
    expect((await fetch(`${github.apiUrl}/repos/octo/agents/pulls/7`)).status).toBe(401);
  });

  it('has the permissions that the options leave it', async () => {
    const forbids: GitHubOptions['forbids'] = ({ name }) =>
      name === 'list' || name === 'GET pulls/#/commits';
    await using github = await startGitHub({ issues: PULL, readOnly: true, forbids });
    const { node_id: id } = github.addComment(7, 'bob', 'hi');
    expect(await statusOf(github, CREATE, { body: 'x' })).toBe(403);
    expect(await statusOf(github, 'GET ~/pulls/7')).toBe(200);
    expect(await statusOf(github, 'GET ~/pulls/7/commits')).toBe(403);
    const refused = (key: string) =>
      expect.objectContaining({
        type: 'FORBIDDEN',
        path: [key],
        message: 'Resource not accessible by integration',
      });
    expect(await ask(github, MINIMIZE, { id0: id, id1: id })).toEqual({
      data: { c0: null, c1: null },
      errors: [refused('c0'), refused('c1')],
    });
    expect(await ask(github, LIST, { before: null })).toEqual({
      data: { repository: null },
      errors: [refused('repository')],
    });
    expect((await commentsIn(github, NEWEST)).nodes).toMatchObject([{ isMinimized: false }]);
  });
});

describe('trouble', () => {
  const issues = [{ number: 7, comments: [{ author: 'bob', body: 'old' }] }];
  const create = (github: GitHub, body = 'new') => call(github, CREATE, { body });

  it('delays new comments in lists, but not by their ids', async () => {
    const clock = manualClock();
    await using github = await startGitHub({ issues, clock, trouble: { listLagMs: 2_500 } });
    const { id, node_id } = (await create(github)).body;
    const bodies = async () => {
      const { nodes } = await commentsIn(github, NEWEST);
      const { data } = await ask(github, READ, { ids: [node_id] });
      return [...nodes, ...data.nodes].map(({ body }: { body: string }) => body);
    };
    clock.at += 2_499;
    github.editComment(id, 'edited');
    expect(await bodies()).toEqual(['old', 'edited']);
    clock.at += 1;
    expect(await bodies()).toEqual(['old', 'edited', 'edited']);
  });

  it('loses responses of calls that took effect', async () => {
    await using github = await startGitHub({
      issues,
      trouble: { loses: ({ name, nth }) => name === 'POST issues/#/comments' && nth === 2 },
    });
    expect((await create(github, 'one')).status).toBe(201);
    await expect(create(github, 'two')).rejects.toThrow('fetch failed');
    expect(github.comments(7).map(({ body }) => body)).toEqual(['old', 'one', 'two']);
    expect(github.writes().map(({ status }) => status)).toEqual([201, null]);
  });
});
