import { describe, expect, it } from 'vitest';
import * as on from '../sim/events.ts';
import { ALICE, DEPENDABOT, type Person, type WebhookEvent } from '../sim/events.ts';
import type { StepResult } from '../sim/runner/process.ts';
import { PULL, type Scenario, type Simulation, simulate } from './scenario.ts';

// Invalid inputs are an error for people with write access. A stranger gets none.

type Inputs = NonNullable<Scenario['with']>;

/** Those that are read before it is known who may send, one that is read later, and others. */
const INVALID: readonly [name: string, inputs: Inputs][] = [
  ['minimum-permission', { 'minimum-permission': 'king' }],
  ['allowed-bots', { 'allowed-bots': 'renovate[bot], b/c' }],
  ['attach', { attach: '../secret' }],
  ['project-id', { 'project-id': 'a/b', 'job-id': '..', wait: 'yes', 'base-url': 'http://a.test' }],
];

const MALLORY: Person = { login: 'mallory', id: 2002, type: 'User' };
const commentBy = (author: Person, body: string): WebhookEvent =>
  on.issueComment({ number: PULL, body, author });

async function run(inputs: Inputs, event: WebhookEvent) {
  await using sim = await simulate({ with: inputs, step: { event } });
  return { result: await sim.runHere(), sim };
}

/** Runs a step that is skipped, after this many permission checks and no other requests. */
async function skips(inputs: Inputs, event: WebhookEvent, checks: number): Promise<StepResult> {
  const { result, sim } = await run(inputs, event);
  expect(result.conclusion).toBe('success');
  expect(result.outputs).toMatchObject({ result: 'skipped', delivery: 'not-sent' });
  expect(result.annotations).toHaveLength(1);
  expect(sim.agent.journal).toEqual([]);
  expect(sim.callNames()).toEqual(Array(checks).fill('GET collaborators/*/permission'));
  return result;
}

/** Runs a step that fails after one permission check, with one error. */
async function fails(inputs: Inputs, event: WebhookEvent, words: string): Promise<Simulation> {
  const { result, sim } = await run(inputs, event);
  expect(result.outputs).toMatchObject({ result: 'error', delivery: 'not-sent' });
  expect(result.errors).toEqual([expect.stringContaining(words)]);
  expect(sim.agent.posts()).toEqual([]);
  expect(sim.github.calls('GET collaborators/*/permission')).toHaveLength(1);
  return sim;
}

it('log, summary and outputs agree on a re-run that fails early, and may have sent before', async () => {
  await using sim = await simulate({
    with: { 'pr-number': 'seven' },
    step: { github: { run_attempt: '2', triggering_actor: 'alice' } },
  });
  const result = await sim.run();
  expect(result.errors).toEqual([expect.stringMatching(/^This attempt sent nothing\. “/)]);
  expect(result.outputs).toMatchObject({ result: 'error', delivery: 'unknown' });
  expect(result.summary).toMatch(/^## .* This attempt sent nothing\n\n`pr-number`/);
});

it('on an older Node, which runs everything up to there, one line says what is needed', async () => {
  const old = `Object.defineProperty(process, 'versions', { value: { node: '20.20.2' } });
    delete Promise.withResolvers; delete Map.groupBy; delete RegExp.escape; delete URL.parse;`;
  const nodeArgs = ['--import', `data:text/javascript,${encodeURIComponent(old)}`];
  await using sim = await simulate({ step: { nodeArgs } });
  const result = await sim.run();
  expect(result.errors).toEqual([expect.stringContaining('needs Node 24, but it runs on No')]);
  expect(result.outputs).toMatchObject({ result: 'error', delivery: 'not-sent' });
  expect([...sim.agent.journal, ...sim.github.journal]).toEqual([]);
});

describe.concurrent('with an invalid', () => {
  it.each(INVALID)('%s, a command', async (name, invalid) => {
    const inputs = { command: '/agent', prompt: 'Be brief.', ...invalid };
    await skips(inputs, commentBy(MALLORY, '/agent go'), 1);
    await skips(inputs, commentBy(MALLORY, 'Thanks!'), 0);
    const { github } = await fails(inputs, commentBy(ALICE, '/agent go'), name);
    // Its author sees a reaction and an answer.
    expect(github.reactions).toMatchObject([{ content: 'confused' }]);
    expect(github.writes().map(({ body }) => body)).toEqual([expect.stringContaining(name)]);
  });

  it('command, fails only for people with write access', async () => {
    // Then, the action does not know which comments are commands.
    const inputs = { command: '/agent now' };
    const words = '“command” must be one word';
    for (const body of ['/agent go', 'Thanks!']) {
      await skips(inputs, commentBy(MALLORY, body), 1);
      const { github } = await fails(inputs, commentBy(ALICE, body), words);
      expect(github.writes()).toEqual([]);
    }
    const byAlice = { issue: { number: PULL }, sender: ALICE };
    await fails(inputs, on.event('issues', 'opened', byAlice), words);
  });
});

const FORKED = on.pullRequest({ number: PULL, fork: 'mallory/agents', author: MALLORY });
// test/unit/trigger/trigger.test.ts has all events without access to secrets.
it.concurrent.each<[WebhookEvent, string]>([
  [FORKED, 'no secrets to runs for pull requests from forks. Use a branch of this repository or'],
  [on.push({ sender: DEPENDABOT }), 'only the Dependabot secrets to runs by Dependabot. Save'],
])('an event without access to secrets is skipped, whatever is set: $name', async (...row) => {
  const [event, words] = row;
  for (const inputs of [{}, { wait: 'yes', 'github-token': '' }]) {
    const result = await skips({ 'api-key': '', ...inputs }, event, 0);
    const why = `“api-key” is empty, because GitHub passes ${words}`;
    expect(result.outputs.reason).toContain(`Nothing was sent. ${why}`);
    expect(result.summary).toMatch(/^## .* Nothing was sent\n\n/);
    expect(result.summary).toContain(why.replaceAll(/[“”]/g, '`'));
    expect(result.warnings).toEqual([]);
  }
});
