import { expect, it } from 'vitest';
import { type GitHub, startGitHub } from '../sim/github/server.ts';

// What the simulated GitHub refuses, delays and loses. If it did not, scenarios would pass without testing anything.

const CREATE = 'POST ~/issues/7/comments';
const BODIES = 'nodes { body }';
const READ = 'query ($ids: [ID!]!) { nodes(ids: $ids) { ... on IssueComment { body } } }';

/** `~` is the repository. Resolves to the status and the body. */
async function call(github: GitHub, route: string, body: object) {
  const [method = '', path = ''] = route.split(' ');
  const response = await fetch(github.apiUrl + path.replace('~', `/repos/${github.repository}`), {
    method,
    headers: { authorization: `token ${github.token}` },
    body: JSON.stringify(body),
  });
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what is tested here
  return { status: response.status, body: (await response.json()) as any };
}

function comments(page: string): string {
  return `{ repository(owner: "octo", name: "agents") {
    issueOrPullRequest(number: 7) { ... on Issue { comments${page} { ${BODIES} } } }
  } }`;
}

async function ask(github: GitHub, query: string, variables: object = {}) {
  return (await call(github, 'POST /graphql', { query, variables })).body;
}

const issues = [{ number: 7, comments: [{ author: 'bob', body: 'old' }] }];

it.each([
  [201, CREATE, { body: 'x'.repeat(65_536) }],
  [422, CREATE, { body: 'x'.repeat(65_537) }],
  [422, CREATE, { body: ' ' }],
  [404, 'POST /repos/octo/other/issues/7/comments', { body: 'x' }],
])('answers %i to %s', async (status, route, body) => {
  await using github = await startGitHub({ issues });
  expect((await call(github, route, body)).status).toBe(status);
});

it.each([
  ['EXCESSIVE_PAGINATION', comments('(last: 101)'), {}],
  ['ARGUMENT_LIMIT', READ, { ids: Array(101).fill('IC_1') }],
])('returns null with the error %s', async (type, text, variables) => {
  await using github = await startGitHub({ issues });
  const { errors } = await ask(github, text, variables);
  expect(errors).toMatchObject([{ type, path: expect.any(Array) }]);
});

it('delays new comments in lists, but not by their ids', async () => {
  let at = 1_000_400;
  const clock = { now: () => at };
  await using github = await startGitHub({ issues, clock, trouble: { listLagMs: 2_500 } });
  const { id, node_id } = (await call(github, CREATE, { body: 'new' })).body;
  const bodies = async () => {
    const { data } = await ask(github, comments('(last: 30)'));
    const { nodes } = data.repository.issueOrPullRequest.comments;
    const read = (await ask(github, READ, { ids: [node_id] })).data.nodes;
    return [...nodes, ...read].map(({ body }: { body: string }) => body);
  };
  at += 2_499;
  github.editComment(id, 'edited');
  expect(await bodies()).toEqual(['old', 'edited']);
  at += 1;
  expect(await bodies()).toEqual(['old', 'edited', 'edited']);
});

it('loses responses of calls that took effect', async () => {
  await using github = await startGitHub({ issues, trouble: { loses: () => true } });
  await expect(call(github, CREATE, { body: 'new' })).rejects.toThrow('fetch failed');
  expect(github.comments(7).map(({ body }) => body)).toEqual(['old', 'new']);
  expect(github.writes().map(({ status }) => status)).toEqual([null]);
});
