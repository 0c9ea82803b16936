import { describe, expect, it } from 'vitest';
import { passGate } from '../../src/gate.ts';
import { type Collaborator, type GitHub, GitHubError } from '../../src/github/api.ts';
import type { CommentTrigger } from '../../src/github/event.ts';
import { admit } from '../../src/github/permission.ts';
import { readRunFacts } from '../../src/host.ts';

const ALICE = { login: 'alice', id: 1, type: 'User' };
const COMMENT: CommentTrigger = {
  kind: 'comment',
  action: 'created',
  conversation: 7,
  id: 1,
  nodeId: '',
  body: '/agent go',
  author: ALICE,
  sender: ALICE,
  viaApp: false,
  context: null,
};
const TRIGGER = { event: 'issue_comment', conversation: 7, comment: COMMENT };

/** GitHub, of which only this question is asked. */
function github(answer: (login: string) => Promise<Collaborator | null>): GitHub {
  const never = (): never => {
    throw new Error('nobody asked for that');
  };
  return {
    findOwnComments: never,
    readComment: never,
    createComment: never,
    updateComment: never,
    deleteComment: never,
    react: never,
    hurry: never,
    collaborator: answer,
  };
}
const writer = async (login: string): Promise<Collaborator> => ({
  user: { id: login === 'alice' ? 1 : 2, login },
  permission: 'write',
});

describe('who asks', () => {
  const pass = (env: Record<string, string>, connect = async () => github(writer)) =>
    passGate(TRIGGER, readRunFacts(env), 'write', connect);

  it('passes with the permission, and so does who re-runs it', async () => {
    expect(await pass({})).toEqual({ kind: 'allowed' });
    const rerun = { GITHUB_RUN_ATTEMPT: '2', GITHUB_TRIGGERING_ACTOR: 'bob' };
    expect(await pass(rerun)).toEqual({ kind: 'allowed' });
  });

  it('does not pass where the runner does not say who re-ran it', async () => {
    expect(await pass({ GITHUB_RUN_ATTEMPT: '2' })).toEqual({
      kind: 'failed',
      reason: 'The runner does not say who re-ran this; write a new comment.',
    });
  });

  it.each([
    ['of ours', new GitHubError(401, 'github-token is empty'), 'github-token is empty'],
    ['that is none', new TypeError('inner words'), 'an unexpected error'],
  ])('does not pass where there is no way to GitHub, by an error %s', async (_, thrown, why) => {
    expect(await pass({}, () => Promise.reject(thrown))).toEqual({
      kind: 'failed',
      reason: `The permission of alice cannot be checked: ${why}.`,
    });
  });
});

describe('admit', () => {
  const people = [{ login: 'Alice', id: null }];

  it.each([
    ['an answer about somebody else', async () => ({ ...(await writer('bob')) }), 'failed'],
    ['the same login in another case', writer, 'allowed'],
    ['no collaborator', async () => null, 'denied'],
    ['an account that is gone', async () => ({ ...(await writer('bob')), user: null }), 'denied'],
    ['a refusal', () => Promise.reject(new GitHubError(500, 'GitHub answered 500')), 'failed'],
    ['an unexpected error', () => Promise.reject(new TypeError('x')), 'failed'],
  ] as const)('%s', async (_, answer, kind) => {
    expect((await admit(github(answer), people, 'write')).kind).toBe(kind);
  });

  it('tells no inner words of an unexpected error', async () => {
    const broken = github(() => Promise.reject(new TypeError('inner words')));
    expect(await admit(broken, people, 'write')).toEqual({
      kind: 'failed',
      reason: 'The permission of Alice cannot be checked: an unexpected error.',
    });
  });
});
