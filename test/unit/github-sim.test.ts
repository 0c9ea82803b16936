import { describe, expect, it, vi } from 'vitest';
import * as events from '../sim/events.ts';
import type { Comment } from '../sim/github/issues.ts';
import { type GitHub, startGitHub } from '../sim/github/server.ts';

const QUERY = `query ($owner: String!, $name: String!, $number: Int!, $older: String) {
  repository(owner: $owner, name: $name) { issueOrPullRequest(number: $number) {
    __typename
    ... on PullRequest { locked comments(last: 2, before: $older) { nodes { ...comment } ...page } }
  } }
}
fragment comment on IssueComment {
  databaseId fullDatabaseId url viewerDidAuthor author { login }
}
fragment page on IssueCommentConnection { pageInfo { startCursor hasPreviousPage hasNextPage } }`;

const VARIABLES = '$owner: String!, $name: String!, $number: Int!, $before: String';
const PAGE = 'comments(last: 100, before: $before) { ...page }';
const COMMENTS = `repository(owner: $owner, name: $name) { issueOrPullRequest(number: $number) {
  ... on Issue { ${PAGE} } ... on PullRequest { ${PAGE} }
} }`;
const PAGE_FRAGMENT = `fragment page on IssueCommentConnection {
  nodes { ...comment } pageInfo { hasPreviousPage startCursor }
}`;
const OWN = 'id body url viewerDidAuthor updatedAt';
const HISTORY = 'userContentEdits(first: 100) { nodes { diff editedAt } }';

/** The query of the product, with or without comments by their ids and with the edit histories. */
function readQuery({ nodes = true, history = false } = {}): string {
  return `query (${VARIABLES}${nodes ? ', $ids: [ID!]!' : ''}) {
    ${COMMENTS}
    ${nodes ? 'nodes(ids: $ids) { ...comment }' : ''}
  }
  ${PAGE_FRAGMENT}
  fragment comment on IssueComment { ${OWN} ${history ? HISTORY : ''} }`;
}

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

function queryPage(github: GitHub, number: number, older: string | null = null) {
  return query(github, QUERY, { number, older });
}

function query(github: GitHub, text: string, more: object) {
  const [owner, name] = github.repository.split('/');
  const body = { query: text, variables: { owner, name, ...more } };
  return call(github, 'POST', '/graphql', body, 'Bearer');
}

/** The comments of conversation 7, and some comments by their ids. */
async function read(github: GitHub, ids: readonly string[] = [], history = false) {
  const text = readQuery({ history });
  const response = await query(github, text, { number: 7, before: null, ids });
  expect(response.status).toBe(200);
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what is tested here
  const { data, errors } = (await response.json()) as any;
  return { listed: data.repository.issueOrPullRequest.comments.nodes, nodes: data.nodes, errors };
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

describe('comments', () => {
  it('are created, read, changed and deleted', async () => {
    const issues = [{ number: 7, pullRequest: true }, { number: 8 }];
    await using github = await startGitHub({ issues, clock: { now: () => 1_000 } });
    const response = await call(github, 'POST', '~/issues/7/comments', { body: 'one' });
    expect(response.status).toBe(201);
    const created = (await response.json()) as { id: number };
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

  it('have REST pages that start with the oldest', async () => {
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

  it('have GraphQL pages that start with the newest', async () => {
    const authors = ['github-actions[bot]', 'bob', 'bob'];
    const comments = authors.map((author) => ({ author, body: 'hello' }));
    await using github = await startGitHub({
      issues: [{ number: 7, pullRequest: true, comments }],
    });
    const [oldest, , newest] = github.comments(7);
    const page = async (cursor: string | null) => {
      const response = await (await queryPage(github, 7, cursor)).json();
      // biome-ignore lint/suspicious/noExplicitAny: the shape is what is tested here
      const found = (response as any).data.repository.issueOrPullRequest;
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

  it('are refused for the same reasons as by GitHub', async () => {
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
    expect(await (await queryPage(github, 8)).json()).toMatchObject({
      data: { repository: { issueOrPullRequest: null } },
      errors: [{ type: 'NOT_FOUND' }],
    });
  });
});

describe('a note in three reads', () => {
  const comments = (fields: string, before = '') =>
    `query ($owner: String!, $name: String!, $number: Int! ${before}) {
      repository(owner: $owner, name: $name) { issueOrPullRequest(number: $number) {
        ... on Issue { ${fields} } ... on PullRequest { ${fields} }
      } }
    }`;
  const page = 'nodes { id viewerDidAuthor } pageInfo { hasPreviousPage startCursor }';
  const list = comments(`comments(last: 100, before: $before) { ${page} }`, '$before: String');
  const newest = comments('comments(last: 30) { nodes { id body isMinimized viewerDidAuthor } }');
  const bodies = `query ($ids: [ID!]!) {
    nodes(ids: $ids) { ... on IssueComment { id body url } }
  }`;
  const minimize = (count: number) => {
    const ids = Array.from({ length: count }, (_, n) => n);
    return `mutation (${ids.map((n) => `$id${n}: ID!`)}) { ${ids
      .map(
        (n) => `c${n}: minimizeComment(input: { subjectId: $id${n}, classifier: OUTDATED }) {
        clientMutationId
      }`,
      )
      .join(' ')} }`;
  };
  const own = { author: 'github-actions[bot]', body: 'mine' };
  const issues = [{ number: 7, comments: [{ author: 'bob', body: 'hi' }, own, own] }];
  const ask = async (github: GitHub, text: string, more: object = {}) =>
    // biome-ignore lint/suspicious/noExplicitAny: the shape is what is tested here
    (await (await query(github, text, { number: 7, before: null, ...more })).json()) as any;

  it('are lists of ids, bodies by ids, and the newest comments, which a mutation collapses', async () => {
    await using github = await startGitHub({ issues });
    const { data } = await ask(github, list);
    const { nodes } = data.repository.issueOrPullRequest.comments;
    const [bob, ...mine] = nodes.map(({ id }: { id: string }) => id);
    expect(nodes).toEqual([
      { id: bob, viewerDidAuthor: false },
      ...mine.map((id: string) => ({ id, viewerDidAuthor: true })),
    ]);
    const url = github.comments(7)[1]?.html_url;
    const read = await ask(github, bodies, { ids: [mine[0]] });
    expect(read).toEqual({ data: { nodes: [{ id: mine[0], body: 'mine', url }] } });
    expect(await ask(github, minimize(2), { id0: mine[0], id1: mine[1] })).toEqual({
      data: { c0: { clientMutationId: null }, c1: { clientMutationId: null } },
    });
    const shown = (await ask(github, newest)).data.repository.issueOrPullRequest.comments.nodes;
    expect(shown.map((one: Comment) => one.isMinimized)).toEqual([false, true, true]);
    expect(await ask(github, minimize(2), { id0: bob, id1: 'IC_none' })).toMatchObject({
      data: { c0: { clientMutationId: null }, c1: null },
      errors: [{ type: 'NOT_FOUND', path: ['c1'] }],
    });
    const names = github.calls().map(({ name }) => name);
    expect(names).toEqual(['list', 'read', 'minimize', 'newest', 'minimize']);
  });

  it('are refused without the permission', async () => {
    await using robot = await startGitHub({
      issues,
      readOnly: true,
      forbids: ({ name }) => name === 'list',
    });
    const [id0, id1] = robot.comments(7).map(({ node_id }) => node_id);
    const refused = (key: string) => ({
      type: 'FORBIDDEN',
      path: [key],
      message: 'Resource not accessible by integration',
    });
    expect(await ask(robot, minimize(2), { id0, id1 })).toEqual({
      data: { c0: null, c1: null },
      errors: [refused('c0'), refused('c1')],
    });
    expect(robot.comments(7).some(({ isMinimized }) => isMinimized)).toBe(false);
    expect(await ask(robot, list)).toEqual({
      data: { repository: null },
      errors: [refused('repository')],
    });
    expect(await ask(robot, newest)).not.toHaveProperty('errors');
  });
});

describe('pull requests', () => {
  const issues = [{ number: 7, pullRequest: true }, { number: 8 }];
  const read = async (github: GitHub, path: string) =>
    // biome-ignore lint/suspicious/noExplicitAny: the shape is what is tested here
    (await (await call(github, 'GET', `~/pulls/${path}`)).json()) as any;

  it('have commits, which people add and replace', async () => {
    await using github = await startGitHub({ issues });
    const shown = async () => {
      const { head, commits } = await read(github, '7');
      const list = (await read(github, '7/commits')).map(({ sha }: { sha: string }) => sha);
      expect([list.at(-1), list.length]).toEqual([head.sha, commits]);
      return list;
    };
    expect(await shown()).toEqual(['a'.repeat(40)]);
    github.push(7, 'c1', 'c2');
    expect(await shown()).toEqual(['a'.repeat(40), 'c1', 'c2']);
    github.forcePush(7, 'd1');
    expect(await shown()).toEqual(['d1']);
    expect(() => github.push(8, 'e1')).toThrow('#8 is not a pull request');
    for (const path of ['8', '8/commits', '9', '9/commits']) {
      expect(await statusOf(github, 'GET', `~/pulls/${path}`)).toBe(404);
    }
  });

  it('list 250 commits, in pages that start with the oldest', async () => {
    const commits = Array.from({ length: 260 }, (_, n) => `c${n}`);
    await using github = await startGitHub({
      issues: [{ number: 7, pullRequest: true, commits }],
      forbids: ({ name, nth }) => name === 'GET pulls/#/commits' && nth === 4,
    });
    expect(await read(github, '7')).toMatchObject({ commits: 260, head: { sha: 'c259' } });
    const page = (n: number) => read(github, `7/commits?per_page=100&page=${n}`);
    const pages = [...(await page(1)), ...(await page(2)), ...(await page(3))];
    expect(pages).toEqual(commits.slice(0, 250).map((sha) => ({ sha })));
    expect(await statusOf(github, 'GET', '~/pulls/7/commits')).toBe(403);
  });
});

describe('GraphQL', () => {
  it.each([
    { nodes: true, history: true },
    { nodes: true, history: false },
    { nodes: false, history: true },
    { nodes: false, history: false },
  ])(
    'returns the requested fields and no others: nodes $nodes, history $history',
    async ({ nodes, history }) => {
      const comments = [{ author: 'github-actions[bot]', body: 'one' }];
      await using github = await startGitHub({
        issues: [{ number: 7, comments }],
        clock: manualClock(),
      });
      const [comment] = github.comments(7);
      const ids = [comment?.node_id];
      const variables = { number: 7, before: null, ...(nodes && { ids }) };
      const response = await query(github, readQuery({ nodes, history }), variables);
      const found = {
        id: comment?.node_id,
        body: 'one',
        url: comment?.html_url,
        viewerDidAuthor: true,
        updatedAt: '1970-01-01T00:16:40Z',
        ...(history && { userContentEdits: { nodes: [] } }),
      };
      const pageInfo = { hasPreviousPage: false, startCursor: expect.any(String) };
      expect(await response.json()).toEqual({
        data: {
          repository: { issueOrPullRequest: { comments: { nodes: [found], pageInfo } } },
          ...(nodes && { nodes: [found] }),
        },
      });
    },
  );

  it('returns null and an error for a deleted comment', async () => {
    await using github = await startGitHub({ issues: [{ number: 7 }] });
    const [one, two] = [github.addComment(7, 'bob', 'one'), github.addComment(7, 'bob', 'two')];
    github.deleteComment(one.id);
    const { nodes, errors } = await read(github, [two.node_id, one.node_id, 'IC_none']);
    expect(nodes).toEqual([expect.objectContaining({ body: 'two' }), null, null]);
    const notFound = (index: number, id: string) => ({
      type: 'NOT_FOUND',
      path: ['nodes', index],
      message: `Could not resolve to a node with the global id of '${id}'.`,
    });
    expect(errors).toEqual([notFound(1, one.node_id), notFound(2, 'IC_none')]);
  });

  it.each([
    ['{ viewer { login name } }', /^Field 'name' doesn't exist on type 'User'$/],
    ['{ viewer }', /^Field must have selections \(field 'viewer' returns User/],
    ['{ viewer { login { name } } }', /^Selections can't be made on scalars \(field 'login'/],
    ['{ viewer { ... on Ghost { login } } }', /^No such type Ghost, so it can't be a fragment/],
    ['{ viewer { ...more } }', /^Fragment more was used, but not defined$/],
    ['{ viewer { id: login } } fragment more on User { login }', /^Fragment more was defined, but/],
    [
      'query ($ids: ID) { node(id: 1) { id } }',
      /^Variable \$ids is declared by anonymous query but/,
    ],
    ['query Read { nodes(ids: $ids) { id } }', /^Variable \$ids is used by Read but not declared$/],
    [
      'query ($no: [ID!]!) { nodes(ids: $no) { id } }',
      /^Variable \$no of type \[ID!\]! was provided/,
    ],
    ['{ viewer { login }', /^Parse error on "the end"$/],
    ['{ viewer % }', /^Parse error on "%"$/],
    ['{ nodes(ids: [) { id } }', /JSON/],
    ['{ viewer @defer(if: true) { login } }', /@defer/],
    ['subscription { viewer { login } }', /^Parse error on "subscription"$/],
    ['', /^A query attribute must be specified/],
  ])('explains the error in %s', async (text, message) => {
    await using github = await startGitHub();
    const response = await query(github, text, { ids: 'IC_1' });
    const error = expect.objectContaining({ message: expect.stringMatching(message) });
    expect(await response.json()).toEqual({ errors: [error] });
  });

  it.each([
    ['comments { totalCount }', 'MISSING_PAGINATION_BOUNDARIES'],
    ['comments(last: 101) { totalCount }', 'EXCESSIVE_PAGINATION'],
  ])('refuses %s because of the page size', async (field, type) => {
    await using github = await startGitHub({ issues: [{ number: 7 }] });
    const text = `query ($owner: String!, $name: String!) { repository(owner: $owner, name: $name) {
      issueOrPullRequest(number: 7) { ... on Issue { ${field} } }
    } }`;
    const path = ['repository', 'issueOrPullRequest', 'comments'];
    expect(await (await query(github, text, {})).json()).toMatchObject({
      errors: [{ type, path }],
    });
    const { nodes, errors } = await read(github, Array(101).fill('IC_1'));
    expect([nodes, errors]).toMatchObject([null, [{ type: 'ARGUMENT_LIMIT', path: ['nodes'] }]]);
  });

  it('supports aliases, conditions and inline values', async () => {
    await using github = await startGitHub({ issues: [{ number: 7 }] });
    const { node_id } = github.addComment(7, 'bob', 'one');
    const text = `query Read($no: Boolean!) { # what the queries of the product do not use
      me: viewer { __typename login @skip(if: $no) ... @include(if: $no) { login } }
      node(id: "${node_id}") { ... on IssueComment { body } ... on Node { id } }
      node(id: "${node_id}") { ... on IssueComment { isMinimized @include(if: true) } }
    }`;
    expect(await (await query(github, text, { no: false })).json()).toEqual({
      data: {
        me: { __typename: 'User', login: 'github-actions' },
        node: { body: 'one', id: node_id, isMinimized: false },
      },
    });
  });

  it('refuses edit histories if it simulates a host without them', async () => {
    await using github = await startGitHub({
      issues: [{ number: 7 }],
      trouble: { lacks: ['userContentEdits'] },
    });
    const variables = { number: 7, before: null, ids: [] };
    const response = await query(github, readQuery({ history: true }), variables);
    expect(await response.json()).toEqual({
      errors: [
        {
          path: ['fragment comment', 'userContentEdits'],
          extensions: {
            code: 'undefinedField',
            typeName: 'IssueComment',
            fieldName: 'userContentEdits',
          },
          message: "Field 'userContentEdits' doesn't exist on type 'IssueComment'",
        },
      ],
    });
    expect(await read(github)).toMatchObject({ listed: [], errors: undefined });
  });
});

describe('edit histories', () => {
  it('start with the first edit, and are deleted with the comment', async () => {
    const clock = manualClock();
    await using github = await startGitHub({ issues: [{ number: 7 }], clock });
    const created = await call(github, 'POST', '~/issues/7/comments', { body: 'one' });
    const { id, node_id } = (await created.json()) as { id: number; node_id: string };
    const history = async () => {
      const { listed, nodes, errors } = await read(github, [node_id], true);
      expect(nodes).toEqual(listed.length === 0 ? [null] : listed);
      return errors?.[0].type ?? [listed[0].updatedAt, ...listed[0].userContentEdits.nodes];
    };
    const [first, second, third] = ['00:16:40', '00:16:42', '00:16:43'].map(
      (time) => `1970-01-01T${time}Z`,
    );
    expect(await history()).toEqual([first]);

    clock.at += 2_000;
    const path = `~/issues/comments/${id}`;
    const patched = await call(github, 'PATCH', path, { body: 'two' });
    expect(await patched.json()).toMatchObject({ id, node_id, body: 'two', updated_at: second });
    const one = { diff: 'one', editedAt: first };
    const two = { diff: 'two', editedAt: second };
    expect(await history()).toEqual([second, two, one]);

    clock.at += 1_000;
    // What another run has written in the meantime is overwritten in the comment, but stays in the history.
    github.editComment(id, 'three');
    expect(await statusOf(github, 'PATCH', path, { body: 'four' })).toBe(200);
    const three = { diff: 'three', editedAt: third };
    const four = { diff: 'four', editedAt: third };
    expect(await history()).toEqual([third, four, three, two, one]);
    expect(await statusOf(github, 'PATCH', path, { body: 'four' })).toBe(200);
    expect(await history()).toHaveLength(5);

    const editsOf = async (field: string) => {
      const text = `{ node(id: "${node_id}") { ... on IssueComment { edits: ${field} {
        nodes { diff } pageInfo { endCursor }
      } } } }`;
      // biome-ignore lint/suspicious/noExplicitAny: the shape is what is tested here
      const { edits } = ((await (await query(github, text, {})).json()) as any).data.node;
      return [edits.pageInfo.endCursor, ...edits.nodes.map(({ diff }: typeof one) => diff)];
    };
    expect(await editsOf('userContentEdits(last: 2)')).toEqual([expect.any(String), 'two', 'one']);
    const [cursor, ...newest] = await editsOf('userContentEdits(first: 2)');
    expect(newest).toEqual(['four', 'three']);
    github.editComment(id, 'five');
    const next = await editsOf(`userContentEdits(first: 1, after: "${cursor}")`);
    expect(next.slice(1)).toEqual(['two']);

    github.deleteComment(id);
    expect(await history()).toBe('NOT_FOUND');
  });

  it('are also kept for minimized comments', async () => {
    const comments = [{ author: 'bob', body: 'one', minimized: true }];
    await using github = await startGitHub({ issues: [{ number: 7, comments }] });
    const [minimized] = github.comments(7);
    const other = github.addComment(7, 'bob', 'other');
    expect([minimized?.isMinimized, other.isMinimized]).toEqual([true, false]);
    github.minimizeComment(other.id);
    const path = `~/issues/comments/${other.id}`;
    expect(await statusOf(github, 'PATCH', path, { body: 'still written' })).toBe(200);
    const { listed } = await read(github, [], true);
    expect(listed[1]).toMatchObject({ body: 'still written' });
    expect(github.comments(7).map(({ isMinimized }) => isMinimized)).toEqual([true, true]);
  });
});

it('returns a permission in the same form as GitHub', async () => {
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
  const unknown = '~/collaborators/github-actions%5Bbot%5D/permission';
  expect(await statusOf(github, 'GET', unknown)).toBe(404);
});

it('accepts each reaction once, to issues and both kinds of comments', async () => {
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

it('removes reactions', async () => {
  const issues = [{ number: 7, pullRequest: true }];
  await using github = await startGitHub({ issues });
  const comment = github.addComment(7, 'bob', '/agent go');
  const line = github.addReviewComment(7, 'bob', '/agent here');
  for (const path of [`~/issues/comments/${comment.id}`, `~/pulls/comments/${line.id}`]) {
    const react = async () => {
      const response = await call(github, 'POST', `${path}/reactions`, { content: 'rocket' });
      return { status: response.status, ...((await response.json()) as { id: number }) };
    };
    const { id, ...first } = await react();
    expect(first).toMatchObject({ status: 201, content: 'rocket' });
    expect(await react()).toMatchObject({ status: 200, id });
    const remove = (number: number) => statusOf(github, 'DELETE', `${path}/reactions/${number}`);
    expect(await remove(id + 1)).toBe(404);
    expect(await remove(id)).toBe(204);
    expect(await remove(id)).toBe(404);
    expect(await react()).toMatchObject({ status: 201, id: id + 1 });
  }
  expect(github.reactions).toHaveLength(2);
  github.deleteComment(comment.id);
  const path = `~/issues/comments/${comment.id}/reactions`;
  expect(await statusOf(github, 'DELETE', `${path}/1`)).toBe(404);
  expect(await statusOf(github, 'POST', path, { content: 'rocket' })).toBe(404);
});

it('counts the reactions of each user separately', async () => {
  await using github = await startGitHub({ issues: [{ number: 7 }] });
  const { id } = github.addComment(7, 'bob', '/agent go');
  const reaction = { subject: 'issue_comment', id } as const;
  github.addReaction({ ...reaction, content: 'rocket', user: 'alice' });
  github.addReaction({ ...reaction, content: 'eyes', user: 'github-actions[bot]' });
  const react = (content: string) =>
    statusOf(github, 'POST', `~/issues/comments/${id}/reactions`, { content });
  expect([await react('rocket'), await react('eyes')]).toEqual([201, 200]);
});

it('does not show whether a reaction to a review is new', async () => {
  const react = async (github: GitHub) => {
    const text = `mutation ($id: ID!, $content: ReactionContent!) {
      addReaction(input: { subjectId: $id, content: $content }) { clientMutationId }
    }`;
    return (await query(github, text, { id: 'PRR_1', content: 'ROCKET' })).json();
  };
  await using github = await startGitHub();
  const response = { data: { addReaction: { clientMutationId: null } } };
  expect([await react(github), await react(github)]).toEqual([response, response]);
  const user = 'github-actions[bot]';
  expect(github.reactions).toEqual([{ subject: 'review', id: 'PRR_1', content: 'rocket', user }]);
  await using robot = await startGitHub({ readOnly: true });
  expect(await react(robot)).toMatchObject({
    data: { addReaction: null },
    errors: [{ type: 'FORBIDDEN', path: ['addReaction'] }],
  });
});

it('checks the token, and knows its identity and permissions', async () => {
  const issues = [{ number: 7, pullRequest: true, comments: [{ author: 'me', body: 'mine' }] }];
  await using robot = await startGitHub({ issues, readOnly: true });
  expect(await statusOf(robot, 'GET', '/user')).toBe(403);
  expect((await fetch(`${robot.apiUrl}/user`)).status).toBe(401);
  expect((await fetch(robot.graphqlUrl, { method: 'POST' })).status).toBe(401);
  expect(await statusOf(robot, 'POST', '~/issues/7/comments', { body: 'x' })).toBe(403);
  expect((await queryPage(robot, 7)).status).toBe(200);
  expect(robot.writes()).toMatchObject([{ status: 403 }]);
  expect(await statusOf(robot, 'GET', '~/pulls/7')).toBe(200);
  expect(await statusOf(robot, 'GET', '~/pulls/8')).toBe(404);
  expect(await statusOf(robot, 'GET', '/repos/octo/other/pulls/7')).toBe(404);

  const viewer = { login: 'me', id: 5, type: 'User' as const };
  await using person = await startGitHub({ viewer, graphql: false, issues });
  expect(await (await call(person, 'GET', '/user')).json()).toMatchObject({ login: 'me', id: 5 });
  expect((await queryPage(person, 7)).status).toBe(404);
});

it('sends a scripted reply instead of its own', async () => {
  await using github = await startGitHub({
    on: ({ path }) => (path === '/user' ? { fault: 'reset' } : { status: 502, body: 'bad' }),
  });
  await expect(call(github, 'GET', '/user')).rejects.toThrow('fetch failed');
  expect(await statusOf(github, 'GET', '~/pulls/7')).toBe(502);
  expect(github.journal.map(({ status }) => status)).toEqual([null, 502]);
});

describe('trouble', () => {
  const issues = [{ number: 7, comments: [{ author: 'bob', body: 'old' }] }];
  const create = (github: GitHub, body = 'new') =>
    call(github, 'POST', '~/issues/7/comments', { body });

  it('delays the response, but not the effect of the call', async () => {
    await using github = await startGitHub({ issues, trouble: { latencyMs: 300 } });
    const startedAt = performance.now();
    let isAnswered = false;
    const response = create(github).finally(() => {
      isAnswered = true;
    });
    await vi.waitFor(() => expect(github.comments(7)).toHaveLength(2), {
      interval: 5,
      timeout: 30_000,
    });
    expect(isAnswered).toBe(false);
    expect((await response).status).toBe(201);
    // Timers may fire a millisecond early.
    expect(performance.now() - startedAt).toBeGreaterThan(290);
    await using quick = await startGitHub({ issues, trouble: { latencyMs: [1, 20] } });
    expect(await Promise.all([create(quick), create(quick)])).toMatchObject([
      { status: 201 },
      { status: 201 },
    ]);
  });

  it('delays new comments in lists, but not by their ids', async () => {
    const clock = manualClock();
    await using github = await startGitHub({ issues, clock, trouble: { listLagMs: 2_500 } });
    const { id, node_id } = (await (await create(github)).json()) as Comment;
    github.addComment(7, 'bob', 'of another run');
    const readAll = async () => {
      const page = await (await call(github, 'GET', '~/issues/7/comments')).json();
      const { listed, nodes } = await read(github, [node_id]);
      const single = (await (
        await call(github, 'GET', `~/issues/comments/${id}`)
      ).json()) as Comment;
      const bodies = (list: unknown) => (list as Comment[]).map(({ body }) => body);
      expect(bodies(page)).toEqual(bodies(listed));
      return { listed: bodies(listed), byId: [...bodies(nodes), single.body] };
    };
    expect(await readAll()).toEqual({ listed: ['old'], byId: ['new', 'new'] });
    clock.at += 2_499;
    github.editComment(id, 'edited');
    expect(await readAll()).toEqual({ listed: ['old'], byId: ['edited', 'edited'] });
    clock.at += 1;
    const listed = ['old', 'edited', 'of another run'];
    expect(await readAll()).toEqual({ listed, byId: ['edited', 'edited'] });
  });

  it('loses responses of calls that took effect', async () => {
    await using github = await startGitHub({
      issues,
      trouble: { loses: ({ name, nth }) => name === 'POST issues/#/comments' && nth === 2 },
    });
    expect((await create(github, 'one')).status).toBe(201);
    await expect(create(github, 'two')).rejects.toThrow('fetch failed');
    expect((await create(github, 'three')).status).toBe(201);
    expect(github.comments(7).map(({ body }) => body)).toEqual(['old', 'one', 'two', 'three']);
    expect(github.writes().map(({ status }) => status)).toEqual([201, null, 201]);
  });

  it('limits the rate as scripted, or after too many comments', async () => {
    const clock = manualClock();
    await using github = await startGitHub({
      issues,
      clock,
      trouble: {
        limits: ({ n }) => (n === 1 ? 60 : undefined),
        textLimit: { most: 2, withinMs: 60_000 },
      },
    });
    const refused = async (response: Response) => {
      const { message } = (await response.json()) as { message: string };
      expect([response.status, message]).toEqual([
        403,
        expect.stringMatching(/secondary rate limit/),
      ]);
      return Number(response.headers.get('retry-after'));
    };
    expect(await refused(await create(github))).toBe(60);
    const { id } = (await (await create(github)).json()) as Comment;
    clock.at += 20_000;
    const path = `~/issues/comments/${id}`;
    expect(await statusOf(github, 'PATCH', path, { body: 'two' })).toBe(200);
    clock.at += 10_500;
    expect(await refused(await create(github))).toBe(30);
    expect(await refused(await call(github, 'PATCH', path, { body: 'three' }))).toBe(30);
    expect(await statusOf(github, 'GET', path)).toBe(200);
    clock.at += 29_500;
    expect((await create(github, 'later')).status).toBe(201);
    expect(await refused(await create(github))).toBe(20);
    expect(github.comments(7).map(({ body }) => body)).toEqual(['old', 'two', 'later']);
  });

  it('lets other runs act just before a call takes effect', async () => {
    await using github = await startGitHub({
      issues,
      trouble: {
        meanwhile({ name, nth }, others) {
          const { id = 0 } = github.comments(7)[0] ?? {};
          if (name === 'PATCH issues/comments/#' && nth === 2) others.deleteComment(id);
          if (name === 'POST issues/#/comments') others.lock(7);
        },
      },
    });
    const path = `~/issues/comments/${github.comments(7)[0]?.id}`;
    expect(await statusOf(github, 'PATCH', path, { body: 'one' })).toBe(200);
    expect(await statusOf(github, 'PATCH', path, { body: 'two' })).toBe(404);
    expect((await create(github)).status).toBe(403);
    expect(() => github.deleteComment(1)).toThrow('There is no comment 1');
    expect(() => github.lock(8)).toThrow('has no issue 8');
  });
});

it('counts calls by name', async () => {
  await using github = await startGitHub({ issues: [{ number: 7 }] });
  const { id } = github.addComment(7, 'bob', 'one');
  await read(github);
  await read(github, [], true);
  await read(github);
  await query(github, '{ viewer { login } }', {});
  await query(github, '{ viewer', {});
  const text =
    'mutation ($id: ID!) { addReaction(input: { subjectId: $id }) { clientMutationId } }';
  await query(github, text, { id: 'PRR_1' });
  await call(github, 'PATCH', `~/issues/comments/${id}`, { body: 'two' });
  await call(github, 'DELETE', `~/issues/comments/${id}/reactions/5`);
  await call(github, 'GET', '~/collaborators/123/permission');
  await call(github, 'GET', '/user');
  expect(github.calls().map(({ name }) => name)).toEqual([
    'read',
    'read+history',
    'read',
    'other',
    'other',
    'react',
    'PATCH issues/comments/#',
    'DELETE issues/comments/#/reactions/#',
    'GET collaborators/*/permission',
    'GET user',
  ]);
  expect(github.calls('read')).toMatchObject([
    { n: 1, nth: 1, method: 'POST', route: 'graphql', operation: 'read', request: { status: 200 } },
    { n: 3, nth: 2 },
  ]);
  expect(github.calls('PATCH issues/comments/#')).toMatchObject([
    { method: 'PATCH', route: 'issues/comments/#', operation: null, request: { status: 200 } },
  ]);
  expect(github.counts()).toEqual({ rest: 4, graphql: 6 });
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
  ])('$name names only our repository', ({ payload }) => {
    expect(payload.repository).toMatchObject({
      full_name: 'octo/agents',
      name: 'agents',
      owner: { login: 'octo' },
    });
    expect(JSON.stringify(payload)).not.toMatch(/Codertocat\/Hello-World|octo-org\/octo-repo/);
  });

  it('have properties that GitHub’s examples lack', () => {
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
