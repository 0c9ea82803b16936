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
  readonly said: readonly string[];
  /** What is to be seen on the comment. */
  shown(): readonly string[];
}

async function simulate(options: GitHubOptions = {}, to?: Reactable | null): Promise<Simulation> {
  const sim = await simulateGitHub(options);
  const { id } = sim.github.addComment(NUMBER, 'alice', '/agent go');
  const said: string[] = [];
  const log: Log = {
    ...{ info: SILENT, notice: SILENT, warning: SILENT, error: SILENT, group: SILENT },
    ...{ debug: (text) => said.push(text), endGroup: SILENT },
  };
  const comment = to === undefined ? ({ kind: 'comment', id, nodeId: '' } as const) : to;
  return {
    ...{ sim, said },
    reactions: new Reactions(comment, () => sim.connect(), log),
    shown: () => sim.github.reactions.map(({ content }) => content),
    [Symbol.asyncDispose]: () => sim[Symbol.asyncDispose](),
  };
}

describe('the claim', () => {
  const of = ({ sim, reactions }: Simulation): Promise<Claim> => sim.drive(reactions.claim());

  it('is ours where the rocket is new, and asked for once', async () => {
    await using one = await simulate();
    expect(await of(one)).toBe('ours');
    expect(await of(one)).toBe('ours');
    expect(one.shown()).toEqual(['rocket']);
    expect(one.sim.names()).toEqual([REACT]);
  });

  it('is taken where the same identity has given it before', async () => {
    await using one = await simulate();
    const [comment] = one.sim.github.comments(NUMBER);
    const rocket = { subject: 'issue_comment', content: 'rocket', id: comment?.id ?? 0 } as const;
    one.sim.github.addReaction({ ...rocket, user: ACTIONS });
    expect(await of(one)).toBe('taken');
  });

  it('is ours although somebody else has given it, or another one', async () => {
    await using one = await simulate();
    const [comment] = one.sim.github.comments(NUMBER);
    const to = { subject: 'issue_comment', id: comment?.id ?? 0 } as const;
    one.sim.github.addReaction({ ...to, content: 'rocket', user: 'alice' });
    one.sim.github.addReaction({ ...to, content: 'eyes', user: ACTIONS });
    expect(await of(one)).toBe('ours');
  });

  it('is tried once more, and then has failed', async () => {
    let fails = 1;
    await using one = await simulate({ on: () => (fails-- > 0 ? { status: 502 } : undefined) });
    expect(await of(one)).toBe('ours');
    await using two = await simulate({ on: () => ({ status: 502 }) });
    expect(await of(two)).toBe('failed');
    expect(two.sim.names()).toEqual([REACT, REACT]);
    const why = 'The reaction rocket was not added: GitHub answered 502.';
    expect(two.said).toEqual([why, why]);
  });

  it('has failed where the answer got lost: nobody can tell whose it is', async () => {
    await using one = await simulate({ trouble: { loses: ({ nth }) => nth === 1 } });
    expect(await of(one)).toBe('failed');
  });

  it('is refused where the token may not react', async () => {
    await using one = await simulate({ readOnly: true });
    expect(await of(one)).toBe('refused');
    expect(one.sim.names()).toEqual([REACT]);
  });

  it('has failed where the comment is gone: another run may have claimed it before', async () => {
    await using one = await simulate({}, { kind: 'comment', id: 1, nodeId: '' });
    expect(await of(one)).toBe('failed');
  });

  it('is none on a review, which tells nothing, and is asked for once', async () => {
    await using one = await simulate({}, { kind: 'review', id: 1, nodeId: 'PRR_1' });
    expect(await of(one)).toBe('none');
    expect(one.shown()).toEqual(['rocket']);
    await using two = await simulate(
      { readOnly: true },
      { kind: 'review', id: 1, nodeId: 'PRR_1' },
    );
    expect(await of(two)).toBe('none');
    expect(two.sim.names()).toEqual(['react']);
  });

  it('is ours where nobody has written a command', async () => {
    await using one = await simulate({}, null);
    expect(await of(one)).toBe('ours');
    expect(one.sim.names()).toEqual([]);
  });

  it('is refused without a token', async () => {
    const refuse = () => Promise.reject(new GitHubError(401, 'github-token is empty'));
    const said: string[] = [];
    const log = { debug: (text: string) => void said.push(text) } as unknown as Log;
    const reactions = new Reactions({ kind: 'comment', id: 1, nodeId: '' }, refuse, log);
    expect(await reactions.claim()).toBe('refused');
    expect(said).toContain('The reaction rocket was not added: github-token is empty.');
  });
});

it('another reaction says whether it was there before as well', async () => {
  await using one = await simulate();
  const [comment] = one.sim.github.comments(NUMBER);
  const again = { kind: 'comment', id: comment?.id ?? 0, nodeId: '' } as const;
  const log = { debug: SILENT } as unknown as Log;
  const next = new Reactions(again, () => one.sim.connect(), log);
  expect(await one.sim.drive(one.reactions.show('confused'))).toBe('ours');
  expect(await one.sim.drive(next.show('confused'))).toBe('taken');
  expect(await new Reactions(null, () => one.sim.connect(), log).show('confused')).toBe('ours');
});

describe('the rocket', () => {
  it('is taken back if it was ours', async () => {
    await using one = await simulate();
    await one.sim.drive(one.reactions.claim());
    one.reactions.release();
    await one.sim.drive(one.reactions.settled());
    expect(one.shown()).toEqual([]);
  });

  it('stays if it was not ours', async () => {
    await using one = await simulate();
    const [comment] = one.sim.github.comments(NUMBER);
    const rocket = { subject: 'issue_comment', content: 'rocket', id: comment?.id ?? 0 } as const;
    one.sim.github.addReaction({ ...rocket, user: ACTIONS });
    await one.sim.drive(one.reactions.claim());
    one.reactions.release();
    await one.sim.drive(one.reactions.settled());
    expect(one.shown()).toEqual(['rocket']);
  });

  it('is taken back only if it was given', async () => {
    await using one = await simulate();
    one.reactions.release();
    await one.sim.drive(one.reactions.settled());
    expect(one.sim.names()).toEqual([]);
  });

  it('that cannot be taken back stays, and holds up nothing', async () => {
    await using one = await simulate({
      on: ({ method }) => (method === 'DELETE' ? { status: 502 } : undefined),
    });
    await one.sim.drive(one.reactions.claim());
    one.reactions.release();
    await one.sim.drive(one.reactions.settled());
    expect(one.said).toEqual(['The reaction rocket was not removed: GitHub answered 502.']);
  });
});

describe('what is shown', () => {
  it('is there once all is settled', async () => {
    await using one = await simulate();
    void one.reactions.show('eyes');
    void one.reactions.show('hooray');
    await one.sim.drive(one.reactions.settled());
    expect(one.shown().toSorted()).toEqual(['eyes', 'hooray']);
  });

  it('is nothing without a comment', async () => {
    await using one = await simulate({}, null);
    void one.reactions.show('eyes');
    one.reactions.release();
    await one.sim.drive(one.reactions.settled());
    expect(one.sim.names()).toEqual([]);
  });

  it('changes nothing where it fails', async () => {
    await using one = await simulate({ readOnly: true });
    void one.reactions.show('confused');
    await one.sim.drive(one.reactions.settled());
    expect(one.said).toEqual([
      expect.stringMatching(/^The reaction confused was not added: GitHub answered 403/),
    ]);
  });
});
