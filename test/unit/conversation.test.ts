import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { connectGitHub, GitHubError } from '../../src/github/api.ts';
import { type Conversation, openConversation } from '../../src/memory/conversation.ts';
import { fromMarker, type Ledger, toMarker } from '../../src/memory/ledger.ts';
import type { JournalEntry, Reply } from '../sim/agent.ts';
import { type GitHub, startGitHub } from '../sim/github/server.ts';
import { turn } from './record.ts';

const NUMBER = 7;
const PROJECT = 'proj-1';

/** What a run of this job writes: one turn, whose key is the job and the time. */
function ledger(id: string, minute: string): Ledger {
  const startedAt = Date.parse(`2026-11-21T12:${minute}:00.000Z`);
  const own = turn({ key: `${id}:${minute}`, startedAt, endedAt: null });
  return { projectId: PROJECT, jobs: [{ id, record: null, turns: [own] }] };
}

interface Scene extends AsyncDisposable {
  readonly github: GitHub;
  open(): Promise<Conversation>;
  /** The jobs that each comment remembers. */
  remembered(): readonly (readonly string[])[];
}

type Script = (request: JournalEntry, github: GitHub) => Reply | undefined;

/** Several runs on one conversation; `on` sees each request before GitHub does. */
async function scene(on: Script = () => undefined): Promise<Scene> {
  let isOpen = false;
  const github = await startGitHub({
    issues: [{ number: NUMBER, pullRequest: true }],
    on(request) {
      return isOpen ? on(request, github) : undefined;
    },
  });
  isOpen = true;
  return {
    github,
    async open() {
      const client = await connectGitHub({
        token: github.token,
        repository: github.repository,
        apiUrl: github.apiUrl,
        graphqlUrl: github.graphqlUrl,
        userAgent: 'test',
        clock: systemClock,
        redact: (text) => text,
      });
      return openConversation(client, {
        number: NUMBER,
        projectId: PROJECT,
        render: ({ jobs }) => jobs.map(({ id }) => id).join(', '),
        redact: (text) => text,
      });
    },
    remembered: () =>
      github.comments(NUMBER).map(({ body }) => {
        const marker = fromMarker(body, PROJECT);
        return marker.kind === 'ledger' ? marker.ledger.jobs.map(({ id }) => id) : [marker.kind];
      }),
    [Symbol.asyncDispose]: () => github[Symbol.asyncDispose](),
  };
}

/** Acts at the first request of this method for a comment. */
function atFirst(
  method: string,
  act: (github: GitHub, request: JournalEntry) => Reply | undefined,
): Script {
  let done = false;
  return (request, github) => {
    if (done || request.method !== method || !request.path.includes('/comments')) return undefined;
    done = true;
    return act(github, request);
  };
}

const ours = (github: GitHub, body: string) =>
  github.addComment(NUMBER, 'github-actions[bot]', body);
describe('a comment of several runs', () => {
  it('that two make at once becomes one: the older stays, with what both say', async () => {
    await using all = await scene();
    const [one, other] = [await all.open(), await all.open()];
    expect([await one.load(), await other.load()]).toEqual([null, null]);
    const first = await one.write(ledger('a', '01'), false);
    const second = await other.write(ledger('b', '02'), false);
    expect(second).toBe(first);
    expect(all.remembered()).toEqual([['b', 'a']]);
    expect(all.github.writes().map(({ method }) => method)).toEqual([
      'POST',
      'POST',
      'PATCH',
      'DELETE',
    ]);
  });

  it('is found where it was not looked for before', async () => {
    await using all = await scene();
    await (await all.open()).write(ledger('a', '01'), false);
    await (await all.open()).write(ledger('b', '02'), false);
    expect(all.remembered()).toEqual([['b', 'a']]);
  });

  it('is made anew where somebody deleted it between two writes', async () => {
    await using all = await scene();
    const run = await all.open();
    await run.load();
    await run.write(ledger('a', '01'), false);
    all.github.deleteComment(all.github.comments(NUMBER)[0]?.id ?? 0);
    const url = await run.write(ledger('a', '01'), true);
    expect(all.github.comments(NUMBER).map(({ html_url }) => html_url)).toEqual([url]);
  });

  it('is the other run’s, where that made a new one between two writes', async () => {
    await using all = await scene();
    const run = await all.open();
    await run.write(ledger('a', '01'), false);
    const [old] = all.github.comments(NUMBER);
    all.github.deleteComment(old?.id ?? 0);
    ours(all.github, old?.body ?? '');
    await run.write(ledger('b', '02'), true);
    expect(all.remembered()).toEqual([['b', 'a']]);
    expect(all.github.writes().map(({ method }) => method)).toEqual(['POST', 'PATCH']);
  });

  it('that GitHub takes for gone and lists all the same is not asked for again and again', async () => {
    await using all = await scene(atFirst('PATCH', () => ({ status: 404 })));
    const run = await all.open();
    await run.write(ledger('a', '01'), false);
    await run.write(ledger('b', '02'), true);
    expect(all.remembered()).toEqual([['b', 'a']]);
    expect(all.github.writes().map(({ method }) => method)).toEqual([
      'POST',
      'PATCH',
      'POST',
      'PATCH',
      'DELETE',
    ]);
  });

  it('is the other run’s, where that made a new one after somebody deleted it', async () => {
    await using all = await scene(
      atFirst('PATCH', (github) => {
        const [old] = github.comments(NUMBER);
        github.deleteComment(old?.id ?? 0);
        ours(github, old?.body ?? '');
        return undefined;
      }),
    );
    const run = await all.open();
    await run.write(ledger('a', '01'), false);
    await run.write(ledger('b', '02'), true);
    expect(all.remembered()).toEqual([['b', 'a']]);
    expect(all.github.writes().map(({ method }) => method)).toEqual(['POST', 'PATCH', 'PATCH']);
  });

  it('is not looked after any more, where it is gone once it was written', async () => {
    let written = false;
    await using all = await scene((request, github) => {
      const [comment] = github.comments(NUMBER);
      // The look after the write finds nothing.
      if (written && request.path === '/graphql' && comment !== undefined) {
        github.deleteComment(comment.id);
      }
      written ||= request.method === 'POST' && request.path.endsWith('/comments');
      return undefined;
    });
    const run = await all.open();
    await run.load();
    expect(await run.write(ledger('a', '01'), true)).toMatch(/#issuecomment-\d+$/);
    expect(all.remembered()).toEqual([]);
    expect(all.github.writes()).toHaveLength(1);
  });

  it('that another run keeps overwriting is written thrice at most, and once more at the end', async () => {
    await using all = await scene(({ method }, { comments, apiUrl }) => {
      const [comment] = comments(NUMBER);
      if (method !== 'GET' || comment === undefined) return undefined;
      const body = `${toMarker(ledger('b', '00'))}\nb`;
      return { body: { id: comment.id, body, html_url: `${apiUrl}#issuecomment-${comment.id}` } };
    });
    const run = await all.open();
    await run.load();
    const counts: number[] = [];
    for (const [minute, isLast] of [
      ['01', false],
      ['02', false],
      ['03', false],
      ['04', true],
    ] as const) {
      await run.write(ledger('a', minute), isLast);
      counts.push(all.github.writes().length);
    }
    expect(counts).toEqual([1, 2, 2, 4]);
    expect(all.remembered()).toEqual([['a', 'b']]);
  });

  it('is found behind one that cannot be read, which may be another project’s', async () => {
    await using all = await scene();
    ours(all.github, '<!-- agent-follow-up:v1 {"projectId": -->');
    ours(all.github, `${toMarker(ledger('a', '01'))}\na`);
    const run = await all.open();
    expect((await run.load())?.jobs.map(({ id }) => id)).toEqual(['a']);
  });

  it('that lost its memory between two writes gets back what this run knows', async () => {
    const edited = atFirst('GET', (github) => ({
      body: { ...github.comments(NUMBER)[0], body: 'Edited.', user: null },
    }));
    await using all = await scene(edited);
    ours(all.github, `${toMarker(ledger('b', '02'))}\nb`);
    const run = await all.open();
    await run.load();
    await run.write(ledger('a', '01'), false);
    expect(all.remembered()).toEqual([['a']]);
  });

  it('that was edited by hand is left as it is', async () => {
    await using all = await scene();
    const run = await all.open();
    ours(all.github, `<!-- agent-follow-up:v1 {"projectId":"${PROJECT}"} -->`);
    await expect(run.load()).rejects.toThrow(GitHubError);
    await expect(run.write(ledger('a', '01'), true)).rejects.toThrow('edited by hand');
    expect(all.github.writes()).toEqual([]);
  });
});
