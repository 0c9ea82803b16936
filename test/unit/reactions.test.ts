import { describe, expect, it } from 'vitest';
import { GitHubError } from '../../src/github/errors.ts';
import type { Reactable } from '../../src/github/event.ts';
import { type Claim, Reactions } from '../../src/github/reactions.ts';
import type { Log } from '../../src/runner/log.ts';
import type { GitHubOptions } from '../sim/github/server.ts';
import { ACTIONS, type GitHubSimulation, NUMBER, simulateGitHub } from './github-simulation.ts';

const REACT = 'POST issues/comments/#/reactions';
const SILENT = (): void => {};

interface Simulation extends AsyncDisposable {
  readonly sim: GitHubSimulation;
  readonly reactions: Reactions;
  readonly debugLines: readonly string[];
  /** The reactions to the comment. */
  shown(): readonly string[];
}

async function simulate(options: GitHubOptions = {}, to?: Reactable | null): Promise<Simulation> {
  const sim = await simulateGitHub(options);
  const { id } = sim.github.addComment(NUMBER, 'alice', '/agent go');
  const debugLines: string[] = [];
  const log: Log = {
    ...{ info: SILENT, notice: SILENT, warning: SILENT, error: SILENT, group: SILENT },
    ...{ debug: (text) => debugLines.push(text), endGroup: SILENT },
  };
  const comment = to === undefined ? ({ kind: 'comment', id, nodeId: '' } as const) : to;
  return {
    ...{ sim, debugLines },
    reactions: new Reactions(comment, () => sim.connect(), log),
    shown: () => sim.github.reactions.map(({ content }) => content),
    [Symbol.asyncDispose]: () => sim[Symbol.asyncDispose](),
  };
}

describe('a claim', () => {
  const claim = ({ sim, reactions }: Simulation): Promise<Claim> => sim.drive(reactions.claim());

  it('succeeds if the reaction is new, and makes one call', async () => {
    await using one = await simulate();
    expect(await claim(one)).toBe('ours');
    expect(await claim(one)).toBe('ours');
    expect(one.shown()).toEqual(['rocket']);
    expect(one.sim.names()).toEqual([REACT]);
  });

  it('is taken if the same user added the reaction before', async () => {
    await using one = await simulate();
    const [comment] = one.sim.github.comments(NUMBER);
    const rocket = { subject: 'issue_comment', content: 'rocket', id: comment?.id ?? 0 } as const;
    one.sim.github.addReaction({ ...rocket, user: ACTIONS });
    expect(await claim(one)).toBe('taken');
  });

  it('succeeds if only someone else added the reaction, or the same user another one', async () => {
    await using one = await simulate();
    const [comment] = one.sim.github.comments(NUMBER);
    const to = { subject: 'issue_comment', id: comment?.id ?? 0 } as const;
    one.sim.github.addReaction({ ...to, content: 'rocket', user: 'alice' });
    one.sim.github.addReaction({ ...to, content: 'eyes', user: ACTIONS });
    expect(await claim(one)).toBe('ours');
  });

  it('is retried once, and fails if that fails too', async () => {
    let fails = 1;
    await using one = await simulate({ on: () => (fails-- > 0 ? { status: 502 } : undefined) });
    expect(await claim(one)).toBe('ours');
    await using two = await simulate({ on: () => ({ status: 502 }) });
    expect(await claim(two)).toBe('failed');
    expect(two.sim.names()).toEqual([REACT, REACT]);
    const why = 'The reaction rocket was not added: GitHub answered 502.';
    expect(two.debugLines).toEqual([why, why]);
  });

  it('fails if the response is lost', async () => {
    await using one = await simulate({ trouble: { loses: ({ nth }) => nth === 1 } });
    expect(await claim(one)).toBe('failed');
  });

  it('is refused if the token cannot add reactions', async () => {
    await using one = await simulate({ readOnly: true });
    expect(await claim(one)).toBe('refused');
    expect(one.sim.names()).toEqual([REACT]);
  });

  it('fails if the comment is deleted, because another run may have claimed it before', async () => {
    await using one = await simulate({}, { kind: 'comment', id: 1, nodeId: '' });
    expect(await claim(one)).toBe('failed');
  });

  it('is not possible on a review, and makes one call', async () => {
    await using one = await simulate({}, { kind: 'review', id: 1, nodeId: 'PRR_1' });
    expect(await claim(one)).toBe('none');
    expect(one.shown()).toEqual(['rocket']);
    await using two = await simulate(
      { readOnly: true },
      { kind: 'review', id: 1, nodeId: 'PRR_1' },
    );
    expect(await claim(two)).toBe('none');
    expect(two.sim.names()).toEqual(['react']);
  });

  it('succeeds without a call if no comment triggered the run', async () => {
    await using one = await simulate({}, null);
    expect(await claim(one)).toBe('ours');
    expect(one.sim.names()).toEqual([]);
  });

  it('is refused without a token', async () => {
    const refuse = () => Promise.reject(new GitHubError(401, 'github-token is empty'));
    const debugLines: string[] = [];
    const log = { debug: (text: string) => void debugLines.push(text) } as unknown as Log;
    const reactions = new Reactions({ kind: 'comment', id: 1, nodeId: '' }, refuse, log);
    expect(await reactions.claim()).toBe('refused');
    expect(debugLines).toContain('The reaction rocket was not added: github-token is empty.');
  });
});

it('show also returns whether the reaction is new', async () => {
  await using one = await simulate();
  const [comment] = one.sim.github.comments(NUMBER);
  const again = { kind: 'comment', id: comment?.id ?? 0, nodeId: '' } as const;
  const log = { debug: SILENT } as unknown as Log;
  const next = new Reactions(again, () => one.sim.connect(), log);
  expect(await one.sim.drive(one.reactions.show('confused'))).toBe('ours');
  expect(await one.sim.drive(next.show('confused'))).toBe('taken');
  expect(await new Reactions(null, () => one.sim.connect(), log).show('confused')).toBe('ours');
});

describe('the reaction of a claim', () => {
  it('is removed on release', async () => {
    await using one = await simulate();
    await one.sim.drive(one.reactions.claim());
    one.reactions.release();
    await one.sim.drive(one.reactions.settled());
    expect(one.shown()).toEqual([]);
  });

  it('is not removed if it was added before', async () => {
    await using one = await simulate();
    const [comment] = one.sim.github.comments(NUMBER);
    const rocket = { subject: 'issue_comment', content: 'rocket', id: comment?.id ?? 0 } as const;
    one.sim.github.addReaction({ ...rocket, user: ACTIONS });
    await one.sim.drive(one.reactions.claim());
    one.reactions.release();
    await one.sim.drive(one.reactions.settled());
    expect(one.shown()).toEqual(['rocket']);
  });

  it('is not removed without a claim', async () => {
    await using one = await simulate();
    one.reactions.release();
    await one.sim.drive(one.reactions.settled());
    expect(one.sim.names()).toEqual([]);
  });

  it('stays without an error if it cannot be removed', async () => {
    await using one = await simulate({
      on: ({ method }) => (method === 'DELETE' ? { status: 502 } : undefined),
    });
    await one.sim.drive(one.reactions.claim());
    one.reactions.release();
    await one.sim.drive(one.reactions.settled());
    expect(one.debugLines).toEqual(['The reaction rocket was not removed: GitHub answered 502.']);
  });
});

describe('show', () => {
  it('adds reactions before settled resolves', async () => {
    await using one = await simulate();
    void one.reactions.show('eyes');
    void one.reactions.show('hooray');
    await one.sim.drive(one.reactions.settled());
    expect(one.shown().toSorted()).toEqual(['eyes', 'hooray']);
  });

  it('makes no call without a comment', async () => {
    await using one = await simulate({}, null);
    void one.reactions.show('eyes');
    one.reactions.release();
    await one.sim.drive(one.reactions.settled());
    expect(one.sim.names()).toEqual([]);
  });

  it('only writes a debug line if it fails', async () => {
    await using one = await simulate({ readOnly: true });
    void one.reactions.show('confused');
    await one.sim.drive(one.reactions.settled());
    expect(one.debugLines).toEqual([
      expect.stringMatching(/^The reaction confused was not added: GitHub answered 403/),
    ]);
  });
});
