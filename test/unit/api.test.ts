import { describe, expect, it } from 'vitest';
import { type CommentsQuery, connectOnce, type GitHub } from '../../src/github/api.ts';
import type { Reply } from '../sim/agent.ts';
import type { GitHubOptions } from '../sim/github/server.ts';
import { ACTIONS, type GitHubSimulation, NUMBER, simulateGitHub } from './github-simulation.ts';

const CREATE = 'POST issues/#/comments';
const COMMENT = { kind: 'comment', nodeId: '' } as const;

/** Reads every comment that the identity of the token wrote. */
const ALL: CommentsQuery = {
  ...{ nodeIds: [], isOurs: () => true, allPages: true, withVersions: false },
};

/** Runs the work with a client. */
async function withClient<T>(
  sim: GitHubSimulation,
  work: (github: GitHub) => Promise<T>,
): Promise<T> {
  const github = await sim.drive(sim.connect());
  return sim.drive(work(github));
}

function read(sim: GitHubSimulation, query: Partial<CommentsQuery> = {}) {
  return withClient(sim, (github) => github.readComments(NUMBER, { ...ALL, ...query }));
}

function withComments(...bodies: readonly string[]): GitHubOptions {
  const comments = bodies.map((body) => ({ author: ACTIONS, body }));
  return { issues: [{ number: NUMBER, comments }] };
}

describe('readComments', () => {
  it('returns all fields of a comment', async () => {
    await using sim = await simulateGitHub(withComments('one'));
    const [comment] = sim.github.comments(NUMBER);
    expect(await read(sim)).toEqual([
      {
        ...{ id: comment?.id, nodeId: comment?.node_id, body: 'one', url: comment?.html_url },
        ...{ updatedAt: Date.parse(comment?.updated_at ?? ''), versions: ['one'] },
      },
    ]);
  });

  it('returns only comments that the identity of the token wrote and that are ours', async () => {
    const comments = [
      { author: 'mallory', body: 'ours' },
      { author: ACTIONS, body: 'ours' },
      { author: ACTIONS, body: 'not ours' },
    ];
    await using sim = await simulateGitHub({ issues: [{ number: NUMBER, comments }] });
    const found = await read(sim, { isOurs: (body) => body === 'ours' });
    expect(found.map(({ id }) => id)).toEqual([sim.github.comments(NUMBER)[1]?.id]);
  });

  it('reads all pages, or only up to the newest page with a comment of ours', async () => {
    const talk = Array.from({ length: 250 }, (_, n) => ({ author: ACTIONS, body: `talk ${n}` }));
    const ours = (body: string) => ({ author: ACTIONS, body });
    const comments = [ours('a'), ...talk, ours('b'), ours('c'), ...talk];
    await using sim = await simulateGitHub({ issues: [{ number: NUMBER, comments }] });
    const isOurs = (body: string): boolean => body.length === 1;
    const bodies = async (allPages: boolean) =>
      (await read(sim, { isOurs, allPages })).map(({ body }) => body);
    expect(await bodies(false)).toEqual(['b', 'c']);
    expect(sim.names()).toHaveLength(3);
    expect(await bodies(true)).toEqual(['a', 'b', 'c']);
    expect(sim.names()).toHaveLength(3 + 6);
  });

  it('also reads comments by their ids, without duplicates and deleted ones', async () => {
    await using sim = await simulateGitHub({ trouble: { listLagMs: 60_000 } });
    const add = (body: string) => sim.github.addComment(NUMBER, ACTIONS, body);
    const [first, second, third] = [add('one'), add('two'), add('three')];
    sim.github.deleteComment(second.id);
    const nodeIds = [third, second, first].map(({ node_id }) => node_id);
    expect(await read(sim)).toEqual([]);
    expect((await read(sim, { nodeIds })).map(({ body }) => body)).toEqual(['one', 'three']);
    await sim.pass(60_000);
    expect((await read(sim, { nodeIds })).map(({ body }) => body)).toEqual(['one', 'three']);
  });

  it('returns the edit history on request, the oldest version first', async () => {
    await using sim = await simulateGitHub(withComments('one', 'only'));
    const [first] = sim.github.comments(NUMBER);
    for (const body of ['two', 'three']) sim.github.editComment(first?.id ?? 0, body);
    const versions = (await read(sim, { withVersions: true })).map((one) => one.versions);
    expect(versions).toEqual([['one', 'two', 'three'], ['only']]);
    expect((await read(sim)).map((one) => one.versions)).toEqual([['three'], ['only']]);
  });

  it('requests the edit history only once from a host that has none', async () => {
    await using sim = await simulateGitHub({
      ...withComments('one'),
      trouble: { lacks: ['userContentEdits'] },
    });
    const both = await withClient(sim, async (github) => [
      await github.readComments(NUMBER, { ...ALL, withVersions: true }),
      await github.readComments(NUMBER, { ...ALL, withVersions: true }),
    ]);
    expect(both).toMatchObject([[{ versions: ['one'] }], [{ versions: ['one'] }]]);
    // A query that fails is repeated once.
    expect(sim.names()).toEqual(['read+history', 'read+history', 'read', 'read']);
  });

  /** GitHub returns this comment. */
  function returningComment(more: object): GitHubOptions {
    const node = {
      ...{ id: 'IC_1', body: 'x', viewerDidAuthor: true, updatedAt: '2026-11-21T12:00:00Z' },
      ...more,
    };
    const comments = { nodes: [node], pageInfo: { hasPreviousPage: false, startCursor: null } };
    const data = { repository: { issueOrPullRequest: { comments } }, nodes: [{}, null] };
    return { on: () => ({ body: { data } }) };
  }

  it('ignores a comment if its URL does not name it', async () => {
    const url = 'https://github.com/octo/agents/pull/7';
    await using sim = await simulateGitHub(returningComment({ url }));
    expect(await read(sim)).toEqual([]);
  });

  it('skips versions that someone has deleted from the edit history', async () => {
    const url = 'https://github.com/octo/agents/pull/7#issuecomment-1';
    const userContentEdits = { nodes: [{ diff: 'x' }, { diff: null }, null, { diff: 'first' }] };
    await using sim = await simulateGitHub(returningComment({ url, userContentEdits }));
    const [comment] = await read(sim, { withVersions: true });
    expect(comment?.versions).toEqual(['first', 'x']);
  });

  it('fails if a comment in the response is malformed', async () => {
    await using sim = await simulateGitHub({
      on: () => ({
        body: {
          data: {
            repository: {
              issueOrPullRequest: {
                comments: { nodes: [], pageInfo: { hasPreviousPage: false, startCursor: null } },
              },
            },
            nodes: [{ id: 'IC_1', body: 'x' }],
          },
        },
      }),
    });
    await expect(read(sim)).rejects.toThrow('GitHub returned an unexpected response');
  });

  const pageInfo = { hasPreviousPage: true, startCursor: 'again' };
  const emptyPage = {
    repository: { issueOrPullRequest: { comments: { nodes: [], pageInfo } } },
    nodes: [],
  };

  it.each<[string, GitHubOptions, string]>([
    [
      'pages do not end',
      { on: () => ({ body: { data: emptyPage } }) },
      'GitHub lists comments without end',
    ],
    [
      'the conversation does not exist',
      { issues: [] },
      'GitHub answered NOT_FOUND: "Could not resolve to an issue or pull request with the number of 7."',
    ],
    [
      'the host has no GraphQL API',
      { graphql: false },
      'this host has no GraphQL API, which the comment needs; set comment: false',
    ],
    [
      'the response is the page of a portal',
      { on: () => ({ body: '<html>' }) },
      'GitHub returned an unexpected response; it may be from a proxy or captive portal',
    ],
    [
      'a part of the response is missing',
      { on: () => ({ body: { data: { repository: null } } }) },
      'GitHub returned an unexpected response; it may be from a proxy or captive portal',
    ],
  ])('fails if %s', async (_, options, why) => {
    await using sim = await simulateGitHub(options);
    await expect(read(sim)).rejects.toThrow(why);
  });
});

describe('the client', () => {
  it('creates, updates and deletes a comment', async () => {
    await using sim = await simulateGitHub();
    await withClient(sim, async (github) => {
      const created = await github.createComment(NUMBER, 'one');
      const [comment] = sim.github.comments(NUMBER);
      expect(created).toEqual({
        ...{ id: comment?.id, nodeId: comment?.node_id, body: 'one', url: comment?.html_url },
        ...{ updatedAt: Date.parse(comment?.updated_at ?? ''), versions: ['one'] },
      });
      await sim.clock.sleep(5000, new AbortController().signal);
      const updated = await github.updateComment(created.id, 'two');
      expect(updated).toMatchObject({ id: created.id, body: 'two', versions: ['two'] });
      expect(updated?.updatedAt).toBe(created.updatedAt + 5000);
      await github.deleteComment(created.id);
      expect(await github.updateComment(created.id, 'three')).toBeNull();
      await expect(github.deleteComment(created.id)).rejects.toMatchObject({ status: 404 });
    });
    expect(sim.github.comments(NUMBER)).toEqual([]);
  });

  it('fails if the token cannot write comments', async () => {
    await using sim = await simulateGitHub({ ...withComments('one'), readOnly: true });
    const [comment] = sim.github.comments(NUMBER);
    await withClient(sim, async (github) => {
      const forbidden = { status: 403 };
      await expect(github.createComment(NUMBER, 'x')).rejects.toMatchObject(forbidden);
      await expect(github.updateComment(comment?.id ?? 0, 'x')).rejects.toMatchObject(forbidden);
    });
  });
});

describe('a reaction', () => {
  it('is new only the first time', async () => {
    await using sim = await simulateGitHub(withComments('one'));
    const id = sim.github.comments(NUMBER)[0]?.id ?? 0;
    await withClient(sim, async (github) => {
      const first = await github.react({ ...COMMENT, id }, 'rocket');
      expect(first).toEqual({ id: expect.any(Number), isNew: true });
      expect(await github.react({ ...COMMENT, id }, 'rocket')).toEqual({ ...first, isNew: false });
      expect(await github.react({ ...COMMENT, id }, 'eyes')).toMatchObject({ isNew: true });
      await github.removeReaction({ ...COMMENT, id }, first?.id ?? 0);
    });
    expect(sim.github.reactions.map(({ content }) => content)).toEqual(['eyes']);
  });

  it('to a review comment is added and removed', async () => {
    await using sim = await simulateGitHub();
    const { id } = sim.github.addReviewComment(NUMBER, 'alice', '/agent go');
    const to = { kind: 'review-comment', id, nodeId: '' } as const;
    await withClient(sim, async (github) => {
      const added = await github.react(to, 'rocket');
      expect(added).toMatchObject({ isNew: true });
      expect(sim.github.reactions).toMatchObject([{ subject: 'review_comment', id }]);
      await github.removeReaction(to, added?.id ?? 0);
    });
    expect(sim.github.reactions).toEqual([]);
  });

  it('to a review returns nothing, and cannot be removed', async () => {
    await using sim = await simulateGitHub();
    const to = { kind: 'review', id: 1, nodeId: 'PRR_1' } as const;
    await withClient(sim, async (github) => {
      expect(await github.react(to, 'rocket')).toBeNull();
      await github.removeReaction(to, 1);
    });
    expect(sim.github.reactions).toMatchObject([{ subject: 'review', id: 'PRR_1' }]);
    expect(sim.names()).toEqual(['react']);
  });
});

it('collaborator returns null for a login without an account', async () => {
  await using sim = await simulateGitHub();
  expect(await withClient(sim, (github) => github.collaborator('nobody'))).toBeNull();
});

describe('a call', () => {
  /** GitHub answers the first calls with these replies. */
  function answers(...replies: readonly Reply[]): GitHubOptions {
    let next = 0;
    return { ...withComments('one'), on: () => replies[next++] };
  }
  const rateLimited = (seconds: number): Reply => ({
    ...{ status: 403, headers: { 'retry-after': String(seconds) } },
    body: { message: 'You have exceeded a secondary rate limit.' },
  });
  const serverError: Reply = { status: 502 };

  it.each<[string, Reply]>([
    ['a lost response', { fault: 'reset' }],
    ['a server error', serverError],
  ])('that reads is repeated once after %s', async (_, reply) => {
    await using sim = await simulateGitHub(answers(reply));
    expect(await read(sim)).toHaveLength(1);
    await using failing = await simulateGitHub(answers(reply, reply));
    await expect(read(failing)).rejects.toThrow('GitHub');
    expect(failing.names()).toHaveLength(2);
  });

  it.each<[string, Reply]>([
    ['a lost response', { fault: 'reset' }],
    ['a server error', serverError],
  ])('that writes is not repeated after %s', async (_, reply) => {
    await using sim = await simulateGitHub(answers(reply));
    const writing = withClient(sim, (github) => github.createComment(NUMBER, 'x'));
    await expect(writing).rejects.toThrow('GitHub');
    expect(sim.names()).toEqual([CREATE]);
  });

  it('waits once for a rate limit of 5 s or less', async () => {
    await using sim = await simulateGitHub(answers(rateLimited(4), rateLimited(4)));
    await withClient(sim, async (github) => {
      await expect(github.createComment(NUMBER, 'x')).rejects.toMatchObject({ status: 429 });
      expect(sim.seconds()).toBe(4);
      await github.createComment(NUMBER, 'x');
    });
    await using second = await simulateGitHub(answers(rateLimited(5)));
    await withClient(second, (github) => github.createComment(NUMBER, 'x'));
    expect(second.seconds()).toBe(5);
  });

  it('does not wait for a longer rate limit', async () => {
    await using sim = await simulateGitHub(answers(rateLimited(6)));
    const writing = withClient(sim, (github) => github.createComment(NUMBER, 'x'));
    await expect(writing).rejects.toMatchObject({ status: 429, retryAfterMs: 6000 });
    expect(sim.seconds()).toBe(0);
  });

  it('times out after 10 s', async () => {
    await using sim = await simulateGitHub(answers({ fault: 'hang' }));
    const writing = withClient(sim, (github) => github.createComment(NUMBER, 'x'));
    await expect(writing).rejects.toThrow('GitHub did not answer in time');
    expect(sim.seconds()).toBe(10);
  });

  const TOO_LATE = 'the run had no more time for it';

  it('times out after 4 s if the run is cancelled, and later calls are not made', async () => {
    await using sim = await simulateGitHub(answers({ fault: 'hang' }));
    const cancel = new AbortController();
    const connect = connectOnce({ ...sim.connection, signal: cancel.signal });
    const github = await connect();
    const writing = github.createComment(NUMBER, 'x');
    cancel.abort();
    await expect(sim.drive(writing)).rejects.toThrow(TOO_LATE);
    expect(sim.seconds()).toBe(4);
    await expect(github.createComment(NUMBER, 'x')).rejects.toThrow(TOO_LATE);
    await expect(github.readComments(NUMBER, ALL)).rejects.toThrow(TOO_LATE);
    expect(sim.names()).toEqual([CREATE]);
  });

  it('that starts in a cancelled run times out after 4 s', async () => {
    await using sim = await simulateGitHub(answers({ fault: 'hang' }));
    const connect = connectOnce({ ...sim.connection, signal: AbortSignal.abort() });
    const writing = sim.drive(connect().then((github) => github.createComment(NUMBER, 'x')));
    await expect(writing).rejects.toThrow(TOO_LATE);
    expect(sim.seconds()).toBe(4);
  });
});
