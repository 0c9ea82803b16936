import { expect, it } from 'vitest';
import type { Reply } from '../sim/agent.ts';
import * as on from '../sim/events.ts';
import type { GitHubOptions } from '../sim/github/server.ts';
import { COMMAND, PULL, type Scenario, type Simulation, simulate, WRITER } from './scenario.ts';

// The way from an event to the message. Who needs which permission is a table in the unit tests.

const MALLORY: on.Person = { login: 'mallory', id: 2, type: 'User' };
const READER: on.Person = { login: 'reader', id: 3, type: 'User' };
const rerunBy = (login: string) => ({ github: { run_attempt: '2', triggering_actor: login } });
const asked = (author: on.Person) => (sim: Simulation) => sim.ask('/agent go', { author });
const reviewed = () => on.review({ number: PULL, body: '/agent go', author: MALLORY });

it.each<[string, (sim: Simulation) => on.WebhookEvent, Scenario['with'], readonly string[]]>([
  ['a command', asked(MALLORY), {}, ['-1']],
  ['a review with the command', reviewed, {}, ['-1']],
  ['a comment without a command', asked(MALLORY), { command: '', prompt: 'Go.' }, []],
  ['a review without a command', reviewed, { command: '' }, []],
  ['one of somebody who may only read', asked(READER), {}, []],
  ['one of a writer, which somebody else re-runs', asked(on.ALICE), {}, []],
])(
  'of a colleague without the permission, %s gets a 👎, no comment: %s',
  async (name, eventIn, inputs, expected) => {
    const mallory = { id: MALLORY.id, permission: 'read', role_name: 'triage' } as const;
    const github = { collaborators: { alice: WRITER, mallory } };
    await using sim = await simulate({ github, with: { ...COMMAND, ...inputs } });
    const step = { event: eventIn(sim), ...(name.endsWith('re-runs') && rerunBy('mallory')) };
    const result = await sim.runHere({ step });
    expect(result.outputs).toMatchObject({ result: 'skipped' });
    expect(sim.github.reactions.map(({ content }) => content)).toEqual(expected);
    expect(sim.agent.journal).toEqual([]);
  },
);

const by = (author: on.Person) => ({
  event: on.issueComment({ number: PULL, body: '/agent go', author }),
});
const LABELED = on.event('issues', 'labeled', { issue: { number: PULL }, sender: on.RENOVATE });
const NONE = { 'minimum-permission': 'none' };
const BOTS = { 'allowed-bots': on.RENOVATE.login, prompt: 'Go.' };
const answering = (reply: Reply): GitHubOptions => ({
  on: ({ path }) => (path.includes('/collaborators/') ? reply : undefined),
});

it.each<[string, 'sent' | 'skipped' | 'error', Scenario]>([
  ['one of a stranger', 'skipped', { step: by(MALLORY) }],
  ['one of a stranger, without a check', 'sent', { step: by(MALLORY), with: NONE }],
  ['one of another account with the login', 'skipped', { step: by({ ...on.ALICE, id: 9 }) }],
  ['one if GitHub does not answer', 'error', { github: answering({ fault: 'hang' }) }],
  ['one if GitHub says no', 'skipped', { github: answering({ status: 404, body: {} }) }],
  ['an event by a bot', 'skipped', { step: { event: LABELED }, with: { prompt: 'Go.' } }],
  ['an event by a bot that is allowed', 'sent', { step: { event: LABELED }, with: BOTS }],
  ['a re-run by a stranger', 'skipped', { step: rerunBy('mallory') }],
  ['a re-run by a stranger, without a check', 'sent', { step: rerunBy('mallory'), with: NONE }],
])('%s is %s', async (name, expected, scenario) => {
  const inputs = { ...COMMAND, ...scenario.with };
  const step = { ...by(on.ALICE), ...scenario.step };
  await using sim = await simulate({ ...scenario, with: inputs, step });
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
