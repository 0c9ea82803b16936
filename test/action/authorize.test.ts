import { expect, it } from 'vitest';
import * as on from '../sim/events.ts';
import { ALICE, type Person, RENOVATE, type WebhookEvent } from '../sim/events.ts';
import type { GitHubOptions } from '../sim/github/server.ts';
import { PULL, type Scenario, simulate } from './scenario.ts';

// The way from an event to the message. Who needs which permission is a table in the unit tests.

const MALLORY: Person = { login: 'mallory', id: 2, type: 'User' };
const READER: Person = { login: 'reader', id: 3, type: 'User' };
const COMMANDS = { command: '/agent', prompt: '' };
const COMMENT = on.issueComment({ number: PULL, body: '/agent go' });
const by = (author: Person): WebhookEvent =>
  on.issueComment({ number: PULL, body: '/agent go', author });
const labeled = on.event('issues', 'labeled', { issue: { number: PULL }, sender: RENOVATE });
const rerunBy = (login: string) => ({ github: { run_attempt: '2', triggering_actor: login } });
const NONE = { 'minimum-permission': 'none' };
const BOTS = { 'allowed-bots': RENOVATE.login, prompt: 'Go.' };
type Reply = ReturnType<NonNullable<GitHubOptions['on']>>;
const answering = (reply: Reply): GitHubOptions => ({
  issues: [{ number: PULL, pullRequest: true }],
  on: ({ path }) => (path.includes('/collaborators/') ? reply : undefined),
});

const COLLEAGUES: GitHubOptions = {
  issues: [{ number: PULL, pullRequest: true }],
  collaborators: {
    alice: { id: ALICE.id, permission: 'write' },
    mallory: { id: MALLORY.id, permission: 'read', role_name: 'triage' },
  },
};

it.each<[string, string, Partial<Scenario>, readonly string[]]>([
  ['a command', 'comment', {}, ['-1']],
  ['a review with the command', 'review', {}, ['-1']],
  ['a comment without a command', 'comment', { with: { command: '', prompt: 'Go.' } }, []],
  ['a review without a command', 'review', { with: { command: '' } }, []],
  ['one of somebody who may only read', 'reader', {}, []],
  ['one of a writer, which somebody else re-runs', 'again', {}, []],
])(
  'of a colleague without the permission, %s gets a 👎, no comment: %s',
  async (_, kind, more, expected) => {
    await using sim = await simulate({ github: COLLEAGUES, with: COMMANDS, ...more });
    const author = { comment: MALLORY, review: MALLORY, reader: READER }[kind] ?? ALICE;
    const about = { number: PULL, body: '/agent go', author };
    const given = kind === 'review' ? on.review(about) : sim.ask('/agent go', { author });
    const step = { event: given, ...(kind === 'again' && rerunBy('mallory')) };
    const result = await (kind === 'comment' ? sim.run({ step }) : sim.runHere({ step }));
    expect(result.outputs).toMatchObject({ result: 'skipped' });
    expect(sim.github.reactions.map(({ content }) => content)).toEqual(expected);
    expect(sim.agent.journal).toEqual([]);
  },
);

it.each<[string, 'sent' | 'skipped' | 'error', Scenario]>([
  ['a command of a person with write access', 'sent', {}],
  ['one of a stranger', 'skipped', { step: { event: by(MALLORY) } }],
  ['one of a stranger, without a check', 'sent', { step: { event: by(MALLORY) }, with: NONE }],
  [
    'one of another account with the login',
    'skipped',
    { step: { event: by({ ...ALICE, id: 9 }) } },
  ],
  ['one if GitHub does not answer', 'error', { github: answering({ fault: 'hang' }) }],
  ['one if GitHub says no', 'skipped', { github: answering({ status: 404, body: {} }) }],
  ['one of a bot that is allowed', 'skipped', { step: { event: by(RENOVATE) }, with: BOTS }],
  ['an event by a bot', 'skipped', { step: { event: labeled }, with: { prompt: 'Go.' } }],
  ['an event by a bot that is allowed', 'sent', { step: { event: labeled }, with: BOTS }],
  ['a re-run by a stranger', 'skipped', { step: rerunBy('mallory') }],
  ['a re-run by a stranger, without a check', 'sent', { step: rerunBy('mallory'), with: NONE }],
])('%s is %s', async (name, expected, scenario) => {
  await using sim = await simulate({
    ...scenario,
    with: { ...COMMANDS, ...scenario.with },
    step: { event: COMMENT, ...scenario.step },
  });
  const result = await (name === 'one of a stranger' ? sim.run() : sim.runHere());
  expect(result.outputs.result).toBe(expected);
  expect(result.conclusion).toBe(expected === 'error' ? 'failure' : 'success');
  expect(sim.agent.posts()).toHaveLength(expected === 'sent' ? 1 : 0);
  if (expected === 'sent') return;
  // Of a re-run, an earlier attempt may have sent it.
  expect(result.outputs.delivery).toBe(name.startsWith('a re-run') ? 'unknown' : 'not-sent');
  expect(sim.agent.journal).toEqual([]);
  expect(sim.callNames()).not.toContain('POST issues/#/comments');
});
