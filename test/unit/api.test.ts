import { describe, expect, it } from 'vitest';
import { type CommentsQuery, connectOnce, type GitHub } from '../../src/github/api.ts';
import type { Reply } from '../sim/agent.ts';
import type { GitHubOptions } from '../sim/github/server.ts';
import { ACTIONS, type GitHubSimulation, NUMBER, simulateGitHub } from './github-simulation.ts';

const CREATE = 'POST issues/#/comments';
const COMMENT = { kind: 'comment', nodeId: '' } as const;

/** Asks for every comment of the token's own identity. */
const ALL: CommentsQuery = {
  ...{ nodeIds: [], isOurs: () => true, allPages: true, withVersions: false },
};

/** What comes of the work of a client. */
async function on<T>(sim: GitHubSimulation, work: (github: GitHub) => Promise<T>): Promise<T> {
  const github = await sim.drive(sim.connect());
  return sim.drive(work(github));
}

function read(sim: GitHubSimulation, query: Partial<CommentsQuery> = {}) {
  return on(sim, (github) => github.readComments(NUMBER, { ...ALL, ...query }));
}

function withComments(...bodies: readonly string[]): GitHubOptions {
  const comments = bodies.map((body) => ({ author: ACTIONS, body }));
  return { issues: [{ number: NUMBER, comments }] };
}

describe('own comments', () => {
  it('are read with all that is to be known of them', async () => {
    await using sim = await simulateGitHub(withComments('one'));
    const [comment] = sim.github.comments(NUMBER);
    expect(await read(sim)).toEqual([
      {
        ...{ id: comment?.id, nodeId: comment?.node_id, body: 'one', url: comment?.html_url },
        ...{ updatedAt: Date.parse(comment?.updated_at ?? ''), versions: ['one'] },
      },
    ]);
  });

  it('are only those of the token, and only those that are ours', async () => {
    const comments = [
      { author: 'mallory', body: 'ours' },
      { author: ACTIONS, body: 'ours' },
      { author: ACTIONS, body: 'not ours' },
    ];
    await using sim = await simulateGitHub({ issues: [{ number: NUMBER, comments }] });
    const found = await read(sim, { isOurs: (body) => body === 'ours' });
    expect(found.map(({ id }) => id)).toEqual([sim.github.comments(NUMBER)[1]?.id]);
  });

  it('come from all pages, or from the newest one that has any, the oldest first', async () => {
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

  it('are read by their ids as well, once, unless they are deleted', async () => {
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

  it('have their histories, the oldest version first, if they are asked for', async () => {
    await using sim = await simulateGitHub(withComments('one', 'only'));
    const [first] = sim.github.comments(NUMBER);
    for (const body of ['two', 'three']) sim.github.editComment(first?.id ?? 0, body);
    const versions = (await read(sim, { withVersions: true })).map((one) => one.versions);
    expect(versions).toEqual([['one', 'two', 'three'], ['only']]);
    expect((await read(sim)).map((one) => one.versions)).toEqual([['three'], ['only']]);
  });

  it('have none on a host that keeps none, which is asked for them once', async () => {
    await using sim = await simulateGitHub({
      ...withComments('one'),
      trouble: { lacks: ['userContentEdits'] },
    });
    const both = await on(sim, async (github) => [
      await github.readComments(NUMBER, { ...ALL, withVersions: true }),
      await github.readComments(NUMBER, { ...ALL, withVersions: true }),
    ]);
    expect(both).toMatchObject([[{ versions: ['one'] }], [{ versions: ['one'] }]]);
    // A query that fails is tried once more.
    expect(sim.names()).toEqual(['read+history', 'read+history', 'read', 'read']);
  });

  /** GitHub answers with this comment. */
  function answersWith(more: object): GitHubOptions {
    const node = {
      ...{ id: 'IC_1', body: 'x', viewerDidAuthor: true, updatedAt: '2026-11-21T12:00:00Z' },
      ...more,
    };
    const comments = { nodes: [node], pageInfo: { hasPreviousPage: false, startCursor: null } };
    const data = { repository: { issueOrPullRequest: { comments } }, nodes: [{}, null] };
    return { on: () => ({ body: { data } }) };
  }

  it('whose address names no comment are left out', async () => {
    const url = 'https://github.com/octo/agents/pull/7';
    await using sim = await simulateGitHub(answersWith({ url }));
    expect(await read(sim)).toEqual([]);
  });

  it('are read without versions that somebody has deleted from the history', async () => {
    const url = 'https://github.com/octo/agents/pull/7#issuecomment-1';
    const userContentEdits = { nodes: [{ diff: 'x' }, { diff: null }, null, { diff: 'first' }] };
    await using sim = await simulateGitHub(answersWith({ url, userContentEdits }));
    const [comment] = await read(sim, { withVersions: true });
    expect(comment?.versions).toEqual(['first', 'x']);
  });

  it('are not left out if the answer says something odd of one', async () => {
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
      'pages without end',
      { on: () => ({ body: { data: emptyPage } }) },
      'GitHub lists comments without end',
    ],
    [
      'a conversation that is not there',
      { issues: [] },
      'GitHub answered NOT_FOUND: "Could not resolve to an issue or pull request with the number of 7."',
    ],
    [
      'a host without GraphQL',
      { graphql: false },
      'this host has no GraphQL API, which the comment needs; set comment: false',
    ],
    [
      'a page of a portal',
      { on: () => ({ body: '<html>' }) },
      'GitHub returned an unexpected response; it may be from a proxy or captive portal',
    ],
    [
      'a part of it',
      { on: () => ({ body: { data: { repository: null } } }) },
      'GitHub returned an unexpected response; it may be from a proxy or captive portal',
    ],
  ])('cannot be read: %s', async (_, options, why) => {
    await using sim = await simulateGitHub(options);
    await expect(read(sim)).rejects.toThrow(why);
  });
});

describe('a comment', () => {
  it('is made, changed and deleted', async () => {
    await using sim = await simulateGitHub();
    await on(sim, async (github) => {
      const made = await github.createComment(NUMBER, 'one');
      const [comment] = sim.github.comments(NUMBER);
      expect(made).toEqual({
        ...{ id: comment?.id, nodeId: comment?.node_id, body: 'one', url: comment?.html_url },
        ...{ updatedAt: Date.parse(comment?.updated_at ?? ''), versions: ['one'] },
      });
      await sim.clock.sleep(5000, new AbortController().signal);
      const changed = await github.updateComment(made.id, 'two');
      expect(changed).toMatchObject({ id: made.id, body: 'two', versions: ['two'] });
      expect(changed?.updatedAt).toBe(made.updatedAt + 5000);
      await github.deleteComment(made.id);
      expect(await github.updateComment(made.id, 'three')).toBeNull();
      await expect(github.deleteComment(made.id)).rejects.toMatchObject({ status: 404 });
    });
    expect(sim.github.comments(NUMBER)).toEqual([]);
  });

  it('that may not be written is an error', async () => {
    await using sim = await simulateGitHub({ ...withComments('one'), readOnly: true });
    const [comment] = sim.github.comments(NUMBER);
    await on(sim, async (github) => {
      const refused = { status: 403 };
      await expect(github.createComment(NUMBER, 'x')).rejects.toMatchObject(refused);
      await expect(github.updateComment(comment?.id ?? 0, 'x')).rejects.toMatchObject(refused);
    });
  });
});

describe('a reaction', () => {
  it('is new to the first who gives it', async () => {
    await using sim = await simulateGitHub(withComments('one'));
    const id = sim.github.comments(NUMBER)[0]?.id ?? 0;
    await on(sim, async (github) => {
      const first = await github.react({ ...COMMENT, id }, 'rocket');
      expect(first).toEqual({ id: expect.any(Number), isNew: true });
      expect(await github.react({ ...COMMENT, id }, 'rocket')).toEqual({ ...first, isNew: false });
      expect(await github.react({ ...COMMENT, id }, 'eyes')).toMatchObject({ isNew: true });
      await github.removeReaction({ ...COMMENT, id }, first?.id ?? 0);
    });
    expect(sim.github.reactions.map(({ content }) => content)).toEqual(['eyes']);
  });

  it('to a comment on code is given and taken back there', async () => {
    await using sim = await simulateGitHub();
    const { id } = sim.github.addReviewComment(NUMBER, 'alice', '/agent go');
    const to = { kind: 'review-comment', id, nodeId: '' } as const;
    await on(sim, async (github) => {
      const given = await github.react(to, 'rocket');
      expect(given).toMatchObject({ isNew: true });
      expect(sim.github.reactions).toMatchObject([{ subject: 'review_comment', id }]);
      await github.removeReaction(to, given?.id ?? 0);
    });
    expect(sim.github.reactions).toEqual([]);
  });

  it('to a review tells nothing, and stays', async () => {
    await using sim = await simulateGitHub();
    const to = { kind: 'review', id: 1, nodeId: 'PRR_1' } as const;
    await on(sim, async (github) => {
      expect(await github.react(to, 'rocket')).toBeNull();
      await github.removeReaction(to, 1);
    });
    expect(sim.github.reactions).toMatchObject([{ subject: 'review', id: 'PRR_1' }]);
    expect(sim.names()).toEqual(['react']);
  });
});

it('nobody is no collaborator', async () => {
  await using sim = await simulateGitHub();
  expect(await on(sim, (github) => github.collaborator('nobody'))).toBeNull();
});

describe('a call', () => {
  /** The first calls are answered like this. */
  function answers(...replies: readonly Reply[]): GitHubOptions {
    let next = 0;
    return { ...withComments('one'), on: () => replies[next++] };
  }
  const limit = (seconds: number): Reply => ({
    ...{ status: 403, headers: { 'retry-after': String(seconds) } },
    body: { message: 'You have exceeded a secondary rate limit.' },
  });
  const trouble: Reply = { status: 502 };

  it.each<[string, Reply]>([
    ['no answer', { fault: 'reset' }],
    ['trouble', trouble],
  ])('that reads is made once more after %s', async (_, reply) => {
    await using sim = await simulateGitHub(answers(reply));
    expect(await read(sim)).toHaveLength(1);
    await using failing = await simulateGitHub(answers(reply, reply));
    await expect(read(failing)).rejects.toThrow('GitHub');
    expect(failing.names()).toHaveLength(2);
  });

  it.each<[string, Reply]>([
    ['no answer', { fault: 'reset' }],
    ['trouble', trouble],
  ])('that writes is made once, whatever comes of it: %s', async (_, reply) => {
    await using sim = await simulateGitHub(answers(reply));
    const writing = on(sim, (github) => github.createComment(NUMBER, 'x'));
    await expect(writing).rejects.toThrow('GitHub');
    expect(sim.names()).toEqual([CREATE]);
  });

  it('that is refused for a short time waits for it, once', async () => {
    await using sim = await simulateGitHub(answers(limit(4), limit(4)));
    await on(sim, async (github) => {
      await expect(github.createComment(NUMBER, 'x')).rejects.toMatchObject({ status: 429 });
      expect(sim.seconds()).toBe(4);
      await github.createComment(NUMBER, 'x');
    });
    await using second = await simulateGitHub(answers(limit(5)));
    await on(second, (github) => github.createComment(NUMBER, 'x'));
    expect(second.seconds()).toBe(5);
  });

  it('that is refused for a long time does not wait', async () => {
    await using sim = await simulateGitHub(answers(limit(6)));
    const writing = on(sim, (github) => github.createComment(NUMBER, 'x'));
    await expect(writing).rejects.toMatchObject({ status: 429, retryAfterMs: 6000 });
    expect(sim.seconds()).toBe(0);
  });

  it('takes no longer than 10 s', async () => {
    await using sim = await simulateGitHub(answers({ fault: 'hang' }));
    const writing = on(sim, (github) => github.createComment(NUMBER, 'x'));
    await expect(writing).rejects.toThrow('GitHub did not answer in time');
    expect(sim.seconds()).toBe(10);
  });

  const TOO_LATE = 'the run had no more time for it';

  it('takes no longer than 4 s once the run is cancelled, and then none is made', async () => {
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

  it('that a cancelled run begins takes no longer than 4 s', async () => {
    await using sim = await simulateGitHub(answers({ fault: 'hang' }));
    const connect = connectOnce({ ...sim.connection, signal: AbortSignal.abort() });
    const writing = sim.drive(connect().then((github) => github.createComment(NUMBER, 'x')));
    await expect(writing).rejects.toThrow(TOO_LATE);
    expect(sim.seconds()).toBe(4);
  });
});
