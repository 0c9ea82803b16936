import { describe, expect, it } from 'vitest';
import { Deadline } from '../../src/github/deadline.ts';
import { GitHubError } from '../../src/github/errors.ts';
import { Conversation, type MemoryOptions } from '../../src/memory/conversation.ts';
import type { Ledger } from '../../src/memory/ledger.ts';
import { commentText, composeText, readText } from '../../src/memory/text.ts';
import { renderUsage } from '../../src/report/comment.ts';
import type { Turn } from '../../src/turn.ts';
import type { Call } from '../sim/github/call-log.ts';
import type { PageActions } from '../sim/github/issues.ts';
import type { GitHubOptions } from '../sim/github/server.ts';
import { ACTIONS, type GitHubSimulation, NUMBER, simulateGitHub } from './github-simulation.ts';
import { job, ledger, turn } from './record.ts';
import { stand } from './stand.ts';

const PROJECT = 'proj-1';
const CREATE = 'POST issues/#/comments';
const PATCH = 'PATCH issues/comments/#';
const DELETE = 'DELETE issues/comments/#';

/** What a run writes: a turn of a job, both with the name of the run. */
function own(owner: string, writes = 1, parts: Partial<Turn> = {}): Ledger {
  const open = { delivery: 'sending', endedAt: null } as const;
  return ledger(job(owner, turn({ mark: owner, owner, writes, ...open, ...parts })));
}

function render({ jobs }: Ledger): string {
  return jobs.map(({ id }) => id).join(', ');
}

/** The body of a comment that such runs have written. */
function bodyOf(...parts: readonly Ledger[]): string {
  const jobs = parts.flatMap((part) => part.jobs);
  return composeText(PROJECT, ledger(...jobs), render);
}

function open(
  sim: Pick<GitHubSimulation, 'clock' | 'connect'>,
  owner: string,
  more: Partial<MemoryOptions> = {},
): Conversation {
  return new Conversation(NUMBER, {
    ...stand().runtime,
    ...{ comment: true, wait: true, attempt: 1, owner, clock: sim.clock.seen },
    ...{ claim: async () => 'ours', review: (same) => same, random: () => 0.5 },
    deadline: new Deadline(sim.clock.seen, 30_000),
    text: commentText(PROJECT, render, String),
    connect: () => sim.connect(),
    ...more,
  });
}

/** The names of the runs in a ledger, each with the number of its writes. */
function namesIn({ jobs }: Ledger): readonly string[] {
  return jobs.flatMap(({ turns }) => turns.map(({ mark, writes }) => `${mark}${writes}`)).sort();
}

/** The names of the runs in each comment. */
function remembered({ github }: GitHubSimulation): readonly (readonly string[])[] {
  return github.comments(NUMBER).map(({ body }) => {
    const text = readText(body, PROJECT);
    return typeof text === 'string' ? [text] : namesIn(text);
  });
}

function withComments(...bodies: readonly string[]): GitHubOptions {
  const comments = bodies.map((body) => ({ author: ACTIONS, body }));
  return { issues: [{ number: NUMBER, pullRequest: true, comments }] };
}

/** Other runs or people act just before the nth call of a name. */
function justBefore(name: string, nth: number, act: (others: PageActions) => void): GitHubOptions {
  const meanwhile = (call: Call, others: PageActions): void => {
    if (call.name === name && call.nth === nth) act(others);
  };
  return { trouble: { meanwhile } };
}

describe('read returns', () => {
  it.each<[string, readonly string[], readonly string[], boolean]>([
    ['nothing without a comment', [], [], true],
    ['what a comment contains', [bodyOf(own('a'), own('b'))], ['a1', 'b1'], true],
    [
      'what several comments contain together',
      [bodyOf(own('a')), bodyOf(own('b'))],
      ['a1', 'b1'],
      true,
    ],
    [
      'the newer copy of a turn that is in two comments',
      [bodyOf(own('a', 2)), bodyOf(own('a'))],
      ['a2'],
      true,
    ],
    [
      'nothing from comments of other projects and from notices',
      [composeText('proj-2', own('a'), render), renderUsage('/agent'), 'Hello.'],
      [],
      true,
    ],
    [
      'what is readable if a comment is unreadable',
      [`${bodyOf(own('a'))} edited`, bodyOf(own('b'))],
      ['b1'],
      false,
    ],
    ['nothing if the only comment is unreadable', [`${bodyOf(own('a'))} edited`], [], false],
  ])('%s', async (_, bodies, names, isWhole) => {
    await using sim = await simulateGitHub(withComments(...bodies));
    const reading = await sim.drive(open(sim, 'me').read());
    expect(namesIn(reading.ledger)).toEqual(names);
    expect(reading).toMatchObject({ isWhole, isShown: true });
    expect(sim.names()).toEqual(['read']);
  });

  it('nothing that someone else has written', async () => {
    const forged = [{ author: 'mallory', body: bodyOf(own('a')) }];
    await using sim = await simulateGitHub({ issues: [{ number: NUMBER, comments: forged }] });
    expect(namesIn((await sim.drive(open(sim, 'me').read())).ledger)).toEqual([]);
  });

  it('redacted texts if they contain what is now a secret', async () => {
    const leaky = own('a', 1, { prompt: 'Use s3cret-7f3a.' });
    await using sim = await simulateGitHub(withComments(bodyOf(leaky)));
    const redact = (text: string): string => text.replaceAll('s3cret-7f3a', '***');
    const run = open(sim, 'me', { text: commentText(PROJECT, render, redact) });
    const { ledger: read } = await sim.drive(run.read());
    expect(read.jobs[0]?.turns[0]?.prompt).toBe('Use ***.');
    await sim.drive(run.write(own('me')));
    expect(sim.github.comments(NUMBER)[0]?.body).not.toContain('s3cret');
    const text = readText(sim.github.comments(NUMBER)[0]?.body ?? '', PROJECT);
    expect(JSON.stringify(text)).not.toContain('s3cret');
  });

  it('the newest page with a comment of ours, or all pages', async () => {
    const talk = Array.from({ length: 150 }, () => ({ author: 'bob', body: 'Hello.' }));
    const comments = [
      { author: ACTIONS, body: bodyOf(own('a')) },
      ...talk,
      { author: ACTIONS, body: bodyOf(own('b')) },
      ...talk,
    ];
    await using sim = await simulateGitHub({ issues: [{ number: NUMBER, comments }] });
    const newest = await sim.drive(open(sim, 'me').read());
    expect(namesIn(newest.ledger)).toEqual(['b1']);
    expect(sim.names()).toEqual(['read', 'read']);
    const all = await sim.drive(open(sim, 'me').read('all'));
    expect(namesIn(all.ledger)).toEqual(['a1', 'b1']);
    expect(sim.names()).toHaveLength(2 + 4);
  });

  it('all versions of all comments on request, the oldest first', async () => {
    await using sim = await simulateGitHub(withComments(bodyOf(own('a')), bodyOf(own('z'))));
    const [first, second] = sim.github.comments(NUMBER);
    sim.github.editComment(first?.id ?? 0, bodyOf(own('b')));
    sim.github.editComment(second?.id ?? 0, 'Edited.');
    sim.github.editComment(second?.id ?? 0, bodyOf(own('y')));
    sim.github.editComment(first?.id ?? 0, bodyOf(own('c')));
    const run = open(sim, 'me');
    const { versions, ledger: now } = await sim.drive(run.read('versions'));
    expect(versions.map(namesIn)).toEqual([['a1'], ['b1'], ['c1'], ['z1'], ['y1']]);
    expect(namesIn(now)).toEqual(['c1', 'y1']);
    const plain = await sim.drive(run.read());
    expect(plain.versions.map(namesIn)).toEqual([['c1'], ['y1']]);
    // Comments that were not known before are read once more, with their versions.
    expect(sim.names()).toEqual(['read+history', 'read+history', 'read']);
    await sim.drive(run.read('versions'));
    expect(sim.names().slice(3)).toEqual(['read+history']);
  });

  it('no versions of comments by other people, which may be more than a run can read', async () => {
    const strangers = Array.from({ length: 12 }, () => ({ author: 'mallory', body: 'Hi.' }));
    const comments = [...strangers, { author: ACTIONS, body: bodyOf(own('a')) }];
    await using sim = await simulateGitHub({ issues: [{ number: NUMBER, comments }] });
    for (const { id } of sim.github.comments(NUMBER).slice(0, -1)) {
      for (let edits = 0; edits < 100; edits++) {
        sim.github.editComment(id, `${edits} ${'x'.repeat(60_000)}`);
      }
    }
    const { versions } = await sim.drive(open(sim, 'me').read('versions'));
    expect(versions.map(namesIn)).toEqual([['a1']]);
  });

  it('only the current version on a host without edit history', async () => {
    await using sim = await simulateGitHub({
      ...withComments(bodyOf(own('a'))),
      trouble: { lacks: ['userContentEdits'] },
    });
    const [comment] = sim.github.comments(NUMBER);
    sim.github.editComment(comment?.id ?? 0, bodyOf(own('b')));
    const run = open(sim, 'me');
    const { versions } = await sim.drive(run.read('versions'));
    expect(versions.map(namesIn)).toEqual([['b1']]);
  });

  it('a comment that this run has created, even if lists do not show it yet', async () => {
    await using sim = await simulateGitHub({ trouble: { listLagMs: 60_000 } });
    const run = open(sim, 'me');
    await sim.drive(run.write(own('me')));
    expect(await sim.drive(run.read())).toMatchObject({ isShown: true });
    expect(namesIn((await sim.drive(open(sim, 'you').read())).ledger)).toEqual([]);
  });
});

describe('a write', () => {
  it('creates a comment, and later updates it', async () => {
    await using sim = await simulateGitHub();
    const run = open(sim, 'me');
    expect(run.url).toBe('');
    await sim.drive(run.write(own('me')));
    await sim.drive(run.write(own('me', 2)));
    expect(remembered(sim)).toEqual([['me2']]);
    expect(run.url).toBe(sim.github.comments(NUMBER)[0]?.html_url);
    expect(sim.names()).toEqual(['read', CREATE, 'read', PATCH]);
  });

  it('updates the oldest of several comments with what all of them contain', async () => {
    await using sim = await simulateGitHub(withComments(bodyOf(own('a')), bodyOf(own('b'))));
    const run = open(sim, 'me');
    await sim.drive(run.write(own('me')));
    expect(remembered(sim)).toEqual([['a1', 'b1', 'me1'], ['b1']]);
  });

  it('uses a read that is at most half a second old, and otherwise reads again', async () => {
    await using sim = await simulateGitHub();
    const run = open(sim, 'me');
    await sim.drive(run.read());
    await sim.pass(500);
    await sim.drive(run.write(own('me')));
    expect(sim.names()).toEqual(['read', CREATE]);
    await sim.drive(run.read());
    await sim.pass(600);
    await sim.drive(run.write(own('me')));
    expect(sim.names()).toEqual(['read', CREATE, 'read', 'read', PATCH]);
  });

  it('keeps what other runs have written since, and what they have overwritten', async () => {
    await using sim = await simulateGitHub(withComments(bodyOf(own('a'))));
    const run = open(sim, 'me');
    await sim.drive(run.write(own('me')));
    const [comment] = sim.github.comments(NUMBER);
    sim.github.editComment(comment?.id ?? 0, bodyOf(own('b')));
    await sim.drive(run.write(own('me', 2)));
    expect(remembered(sim)).toEqual([['a1', 'b1', 'me2']]);
  });

  it('keeps the copy of a turn that another process has taken too', async () => {
    const copy = (owner: string, delivery: Turn['delivery'], writes = 1): Ledger =>
      ledger(job('a', turn({ mark: 'a', owner, writes, delivery, endedAt: null })));
    await using sim = await simulateGitHub(withComments(bodyOf(copy('you', 'sending'))));
    const run = open(sim, 'me');
    await sim.drive(run.read());
    await sim.drive(run.write(copy('me', 'sending')));
    await sim.drive(run.read());
    await sim.drive(run.write(copy('me', 'not-sent', 2)));
    const text = readText(sim.github.comments(NUMBER)[0]?.body ?? '', PROJECT);
    expect(text).toMatchObject({ jobs: [{ turns: [{ owner: 'you', delivery: 'sending' }] }] });
  });

  it('replaces its own turns in the comment, even if they have more writes', async () => {
    await using sim = await simulateGitHub(withComments(bodyOf(own('me', 9))));
    const run = open(sim, 'me');
    await sim.drive(run.write(own('me', 2)));
    expect(remembered(sim)).toEqual([['me2']]);
  });

  it('fails if the comment is unreadable, and does not change it', async () => {
    const edited = `${bodyOf(own('a'))} edited`;
    await using sim = await simulateGitHub(withComments(edited));
    await expect(sim.drive(open(sim, 'me').write(own('me')))).rejects.toThrow(
      'its comment was edited by hand or written by a later version of this action; delete it to start again',
    );
    expect(sim.github.writes()).toEqual([]);
  });

  it('skips an unreadable comment if another one is readable', async () => {
    const edited = `${bodyOf(own('a'))} edited`;
    await using sim = await simulateGitHub(withComments(edited, bodyOf(own('b'))));
    await sim.drive(open(sim, 'me').write(own('me')));
    expect(remembered(sim)).toEqual([['unreadable'], ['b1', 'me1']]);
  });

  it('drops turns for lack of room, and does not expect to read them back', async () => {
    const noise = (n: number): string =>
      Array.from({ length: 30 }, (_, at) => ((n + 1) * (at + 7) * 2_654_435_761).toString(36)).join(
        '',
      );
    const jobs = Array.from({ length: 600 }, (_, n) =>
      job(noise(n).slice(0, 200), turn({ mark: 'me', owner: 'me', origin: noise(n + 600) })),
    );
    await using sim = await simulateGitHub();
    const run = open(sim, 'me');
    const reading = await sim.drive(run.writeUntilItShows(() => ledger(...jobs)));
    expect(reading.ledger.jobs.length).toBeLessThan(600);
    expect(reading.ledger.trimmed).toBe('1');
    expect(sim.names()).toEqual(['read', CREATE, 'read']);
  });
});

describe('a comment that someone deletes', () => {
  const deleteIt = (others: PageActions, sim: GitHubSimulation): void =>
    others.deleteComment(sim.github.comments(NUMBER)[0]?.id ?? 0);

  it('is created again if it was deleted before the read', async () => {
    await using sim = await simulateGitHub();
    const run = open(sim, 'me');
    await sim.drive(run.write(own('me')));
    deleteIt(sim.github, sim);
    await sim.drive(run.write(own('me', 2)));
    expect(remembered(sim)).toEqual([['me2']]);
    expect(run.url).toBe(sim.github.comments(NUMBER)[0]?.html_url);
  });

  it('is created again if it was deleted between the read and the write', async () => {
    let act = (_: PageActions): void => {};
    await using sim = await simulateGitHub(justBefore(PATCH, 1, (others) => act(others)));
    act = (others) => deleteIt(others, sim);
    const run = open(sim, 'me');
    await sim.drive(run.write(own('me')));
    await sim.drive(run.write(own('me', 2)));
    expect(remembered(sim)).toEqual([['me2']]);
    expect(sim.names()).toEqual(['read', CREATE, 'read', PATCH, 'read', CREATE]);
  });

  it('is not created again if another run has created one, and the turns of that run are kept', async () => {
    let act = (_: PageActions): void => {};
    await using sim = await simulateGitHub(justBefore(PATCH, 1, (others) => act(others)));
    act = (others) => {
      deleteIt(others, sim);
      others.addComment(NUMBER, ACTIONS, bodyOf(own('you')));
    };
    const run = open(sim, 'me');
    await sim.drive(run.write(own('me')));
    await sim.drive(run.write(own('me', 2)));
    expect(remembered(sim)).toEqual([['me2', 'you1']]);
  });

  it('is not updated again if GitHub still lists it', async () => {
    const isGone = ({ method }: { method: string }) => method === 'PATCH';
    let first = 0;
    await using sim = await simulateGitHub({
      ...withComments(bodyOf(own('a'))),
      on: (request) =>
        isGone(request) && request.path.endsWith(`/${first}`) ? { status: 404 } : undefined,
    });
    first = sim.github.comments(NUMBER)[0]?.id ?? 0;
    const run = open(sim, 'me');
    await sim.drive(run.writeUntilItShows(() => own('me')));
    expect(remembered(sim)).toEqual([['a1'], ['a1', 'me1']]);
    await sim.drive(run.write(own('me', 2)));
    expect(remembered(sim)).toEqual([['a1'], ['a1', 'me2']]);
    expect(sim.github.calls(PATCH)).toHaveLength(2);
    expect(sim.github.calls(CREATE)).toHaveLength(1);
  });
});

describe('writeUntilItShows', () => {
  it('writes once if no other run writes', async () => {
    await using sim = await simulateGitHub(withComments(bodyOf(own('a'))));
    const run = open(sim, 'me');
    const reading = await sim.drive(run.writeUntilItShows(() => own('me')));
    expect(namesIn(reading.ledger)).toEqual(['a1', 'me1']);
    expect(sim.names()).toEqual(['read', PATCH, 'read']);
    expect(sim.seconds()).toBe(0);
  });

  it('calls onWritten, and then reads back the last write after 3 s', async () => {
    await using sim = await simulateGitHub();
    const run = open(sim, 'me');
    await sim.drive(run.write(own('me')));
    const commentsWhenWritten: number[] = [];
    const onWritten = (): void => {
      commentsWhenWritten.push(sim.github.comments(NUMBER).length);
    };
    const written = run.writeUntilItShows(() => own('me'), { onWritten, isLast: true });
    await sim.drive(written);
    expect(sim.seconds()).toBe(3);
    expect(commentsWhenWritten).toEqual([1]);
  });

  it('writes again if another run overwrites it, and keeps what that run has written', async () => {
    let act = (_: PageActions): void => {};
    await using sim = await simulateGitHub({
      ...withComments(bodyOf(own('a'))),
      ...justBefore('read', 2, (others) => act(others)),
    });
    act = (others) =>
      others.editComment(sim.github.comments(NUMBER)[0]?.id ?? 0, bodyOf(own('a'), own('you')));
    let writes = 0;
    const run = open(sim, 'me');
    const reading = await sim.drive(
      run.writeUntilItShows(() => {
        writes += 1;
        return own('me', writes);
      }),
    );
    expect(namesIn(reading.ledger)).toEqual(['a1', 'me2', 'you1']);
    expect(remembered(sim)).toEqual([['a1', 'me2', 'you1']]);
    expect(sim.names()).toEqual(['read', PATCH, 'read', PATCH, 'read']);
  });

  it('restores what its own slow write has overwritten', async () => {
    let lateMs = 0;
    let act = (_: PageActions): void => {};
    await using sim = await simulateGitHub({
      ...withComments(bodyOf(own('you', 1))),
      ...justBefore(PATCH, 1, (others) => act(others)),
    });
    act = (others) => {
      lateMs = 3000;
      others.editComment(sim.github.comments(NUMBER)[0]?.id ?? 0, bodyOf(own('you', 2)));
    };
    const { seen } = sim.clock;
    const run = open(sim, 'me', { clock: { ...seen, now: () => seen.now() + lateMs } });
    await sim.drive(run.writeUntilItShows(() => own('me')));
    expect(remembered(sim)).toEqual([['me1', 'you2']]);
    expect(sim.names()).toEqual(['read', PATCH, 'read+history', PATCH, 'read']);
  });

  it('writes at most 16 times, with pauses of less than a second', async () => {
    await using sim = await simulateGitHub({
      ...withComments(bodyOf(own('a'))),
      trouble: {
        meanwhile({ name }, others) {
          const id = sim.github.comments(NUMBER)[0]?.id ?? 0;
          if (name === 'read') others.editComment(id, bodyOf(own('a')));
        },
      },
    });
    const run = open(sim, 'me', { random: () => 1 });
    await expect(sim.drive(run.writeUntilItShows(() => own('me')))).rejects.toThrow(
      'other runs keep overwriting it',
    );
    expect(sim.github.calls(PATCH)).toHaveLength(16);
    expect(sim.seconds()).toBe(8);
  });

  it('reads the comment back after a server error, because the write may have taken place', async () => {
    let refuses = 0;
    await using sim = await simulateGitHub({
      ...withComments(bodyOf(own('a'))),
      on: ({ method }) => (method === 'PATCH' && ++refuses <= 2 ? { status: 502 } : undefined),
    });
    const run = open(sim, 'me');
    await sim.drive(run.writeUntilItShows(() => own('me')));
    expect(remembered(sim)).toEqual([['a1', 'me1']]);
    expect(sim.names()).toEqual(['read', PATCH, 'read', PATCH, 'read', PATCH, 'read']);
  });

  it('fails with the last error of GitHub if no write succeeds', async () => {
    await using sim = await simulateGitHub({
      on: ({ method, path }) =>
        method === 'POST' && path.endsWith('/comments') ? { status: 502 } : undefined,
    });
    const failing = open(sim, 'me').writeUntilItShows(() => own('me'));
    await expect(sim.drive(failing)).rejects.toThrow('GitHub answered 502');
  });

  it('does not repeat a write that GitHub refuses', async () => {
    await using sim = await simulateGitHub({ readOnly: true });
    const failing = sim.drive(open(sim, 'me').writeUntilItShows(() => own('me')));
    await expect(failing).rejects.toThrow(GitHubError);
    await expect(failing).rejects.toMatchObject({ status: 403 });
    expect(sim.names()).toEqual(['read', CREATE]);
  });

  it('skips the pauses if the run is cancelled', async () => {
    await using sim = await simulateGitHub({
      ...withComments(bodyOf(own('a'))),
      on: ({ method }) => (method === 'PATCH' ? { status: 502 } : undefined),
    });
    const run = open(sim, 'me', { signal: AbortSignal.abort() });
    const failing = run.writeUntilItShows(() => own('me'), { isLast: true });
    await expect(sim.drive(failing)).rejects.toThrow('GitHub answered 502');
    expect(sim.seconds()).toBe(0);
  });
});

describe('a lost response', () => {
  const loses = (name: string, nth = 1): GitHubOptions => ({
    trouble: { loses: (call) => call.name === name && call.nth === nth },
  });

  it('to a creation causes no second comment if lists show the first one', async () => {
    await using sim = await simulateGitHub(loses(CREATE));
    const run = open(sim, 'me');
    await sim.drive(run.writeUntilItShows(() => own('me')));
    expect(remembered(sim)).toEqual([['me1']]);
    await sim.drive(run.write(own('me', 2)));
    expect(remembered(sim)).toEqual([['me2']]);
    expect(run.url).toBe(sim.github.comments(NUMBER)[0]?.html_url);
  });

  it('to a creation causes no second comment if lists show the first one within 3 s', async () => {
    const { trouble } = loses(CREATE);
    await using sim = await simulateGitHub({ trouble: { ...trouble, listLagMs: 2500 } });
    await sim.drive(open(sim, 'me').writeUntilItShows(() => own('me')));
    expect(remembered(sim)).toEqual([['me1']]);
    expect(sim.seconds()).toBe(3);
  });

  it('to a creation causes a second comment if lists show the first one later, and reconcile deletes it', async () => {
    const { trouble } = loses(CREATE);
    await using sim = await simulateGitHub({ trouble: { ...trouble, listLagMs: 5000 } });
    const run = open(sim, 'me');
    await sim.drive(run.writeUntilItShows(() => own('me')));
    expect(remembered(sim)).toEqual([['me1'], ['me1']]);
    await sim.pass(5000);
    await sim.drive(run.writeUntilItShows(() => own('me', 2)));
    await sim.drive(run.reconcile());
    expect(remembered(sim)).toEqual([['me2']]);
    expect(run.url).toBe(sim.github.comments(NUMBER)[0]?.html_url);
  });

  it('to an update causes no second update', async () => {
    await using sim = await simulateGitHub({ ...withComments(bodyOf(own('a'))), ...loses(PATCH) });
    const run = open(sim, 'me');
    await sim.drive(run.writeUntilItShows(() => own('me')));
    expect(remembered(sim)).toEqual([['a1', 'me1']]);
    expect(sim.github.calls(PATCH)).toHaveLength(1);
  });

  it('to a read causes a second read', async () => {
    await using sim = await simulateGitHub({ ...withComments(bodyOf(own('a'))), ...loses('read') });
    expect(namesIn((await sim.drive(open(sim, 'me').read())).ledger)).toEqual(['a1']);
    expect(sim.names()).toEqual(['read', 'read']);
  });
});

describe('a read that is older than our last write', () => {
  /** For this many reads, GitHub returns the comment as it was before the last write. */
  async function staleReads(times: number) {
    let left = 0;
    let staleResponse = {};
    const sim = await simulateGitHub({
      ...withComments(bodyOf(own('a'))),
      on({ path }) {
        if (path !== '/graphql' || left === 0) return undefined;
        left -= 1;
        return { body: staleResponse };
      },
    });
    const run = open(sim, 'me');
    await sim.drive(run.read());
    const [comment] = sim.github.comments(NUMBER);
    const node = {
      ...{ id: comment?.node_id, body: comment?.body, url: comment?.html_url },
      ...{ viewerDidAuthor: true, updatedAt: comment?.updated_at },
    };
    const pageInfo = { hasPreviousPage: false, startCursor: null };
    const comments = { nodes: [node], pageInfo };
    const data = { repository: { issueOrPullRequest: { comments } }, nodes: [node] };
    staleResponse = { data };
    await sim.pass(2000);
    await sim.drive(run.write(own('me')));
    left = times;
    return { sim, run };
  }

  it('is repeated, and no write is based on it', async () => {
    const { sim, run } = await staleReads(3);
    await using _ = sim;
    expect(await sim.drive(run.read())).toMatchObject({ isShown: true });
    expect(sim.names().slice(-4)).toEqual(['read', 'read', 'read', 'read']);
    expect(sim.github.writes()).toHaveLength(1);
  });

  it('fails if GitHub keeps returning the old version', async () => {
    const { sim, run } = await staleReads(100);
    await using _ = sim;
    await expect(sim.drive(run.read())).rejects.toThrow(
      'GitHub keeps returning an old version of the comment',
    );
    expect(sim.github.calls('read').slice(-8)).toHaveLength(8);
  });
});

describe('reconcile', () => {
  /** Two runs that started at the same time and created a comment each. */
  async function twoComments() {
    const sim = await simulateGitHub({ trouble: { listLagMs: 2500 } });
    const [one, two] = [open(sim, 'one'), open(sim, 'two')];
    await sim.drive(Promise.all([one.write(own('one')), two.write(own('two'))]));
    expect(sim.github.comments(NUMBER)).toHaveLength(2);
    await sim.pass(3000);
    const isFirst = remembered(sim)[0]?.[0] === 'one1';
    return { sim, first: isFirst ? one : two, second: isFirst ? two : one };
  }

  it('deletes its own newer comment once the oldest one contains everything', async () => {
    const { sim, second } = await twoComments();
    await using _ = sim;
    const [name] = remembered(sim)[1] ?? [];
    await sim.drive(second.writeUntilItShows(() => own(name?.slice(0, -1) ?? '', 2)));
    await sim.drive(second.reconcile());
    const [left, ...others] = sim.github.comments(NUMBER);
    expect(others).toEqual([]);
    expect(remembered(sim)[0]).toHaveLength(2);
    expect(second.url).toBe(left?.html_url);
    expect(sim.names().slice(-2)).toEqual(['read', DELETE]);
  });

  it('keeps a comment with turns that the oldest one lacks', async () => {
    await using sim = await simulateGitHub(withComments(bodyOf(own('a')), bodyOf(own('me'))));
    const run = open(sim, 'me');
    await sim.drive(run.read());
    await sim.drive(run.reconcile());
    expect(remembered(sim)).toHaveLength(2);
    expect(sim.names()).toEqual(['read']);
  });

  it('keeps an unreadable comment', async () => {
    const edited = `${bodyOf(own('me'))} edited`;
    await using sim = await simulateGitHub(withComments(bodyOf(own('me')), edited));
    const run = open(sim, 'me');
    await sim.drive(run.read());
    await sim.pass(120_000);
    await sim.drive(run.reconcile());
    expect(sim.github.comments(NUMBER)).toHaveLength(2);
  });

  it('keeps the only comment', async () => {
    await using sim = await simulateGitHub(withComments(bodyOf(own('me'))));
    const run = open(sim, 'me');
    await sim.drive(run.read());
    await sim.pass(120_000);
    await sim.drive(run.reconcile());
    expect(remembered(sim)).toEqual([['me1']]);
  });

  it.each([
    ['keeps a comment of another run if it was updated 1 s ago', 1000, 2],
    ['keeps a comment of another run if it was updated 59 s ago', 59_000, 2],
    ['deletes a comment of another run if it was updated 62 s ago', 62_000, 1],
  ])('%s', async (_, ms, left) => {
    const all = bodyOf(own('a'), own('b'));
    await using sim = await simulateGitHub(withComments(all, bodyOf(own('b'))));
    const run = open(sim, 'me');
    await sim.pass(ms);
    await sim.drive(run.read());
    await sim.drive(run.reconcile());
    expect(sim.github.comments(NUMBER)).toHaveLength(left);
    expect(remembered(sim)[0]).toEqual(['a1', 'b1']);
  });

  it('keeps a comment that another run updates at the last moment', async () => {
    let act = (_: PageActions): void => {};
    await using sim = await simulateGitHub({
      ...withComments(bodyOf(own('a'), own('me')), bodyOf(own('me'))),
      ...justBefore('read', 2, (others) => act(others)),
    });
    const [, spare] = sim.github.comments(NUMBER);
    act = (others) => others.editComment(spare?.id ?? 0, bodyOf(own('me'), own('you')));
    const run = open(sim, 'me');
    await sim.drive(run.read());
    await sim.drive(run.reconcile());
    expect(remembered(sim)).toEqual([
      ['a1', 'me1'],
      ['me1', 'you1'],
    ]);
  });
});

describe('runs that start at the same time lose nothing', () => {
  it.each([2, 3, 5, 8])('%i runs, with late lists', async (count) => {
    await using sim = await simulateGitHub({
      trouble: { listLagMs: 2500, latencyMs: [1, 12] },
    });
    const names = Array.from({ length: count }, (_, index) => `run${index}`);
    await sim.drive(
      Promise.all(
        names.map(async (name) => {
          const run = open(sim, name, { random: Math.random });
          let writes = 0;
          const next = (): Ledger => {
            writes += 1;
            return own(name, writes);
          };
          const signal = new AbortController().signal;
          await sim.clock.sleep(Math.random() * 4000, signal);
          expect((await run.writeUntilItShows(next)).isShown).toBe(true);
          await sim.clock.sleep(4000 + Math.random() * 4000, signal);
          await run.writeUntilItShows(next, { isLast: true });
          await run.reconcile();
        }),
      ),
    );
    const [main = [], ...others] = remembered(sim);
    expect(main.map((name) => name.slice(0, 4))).toEqual(names);
    expect(others).toEqual([]);
  });
});
