import { describe, expect, it } from 'vitest';
import * as on from '../sim/events.ts';
import { ALICE, DEPENDABOT, type Person, type WebhookEvent } from '../sim/events.ts';
import type { StepResult } from '../sim/runner/process.ts';
import { PULL, type Scenario, type Simulation, simulate } from './scenario.ts';

// Invalid inputs are an error for people with write access. A stranger gets none.

type Inputs = NonNullable<Scenario['with']>;

/** Those that are read before it is known who may send, one that is read later, and others. */
const INVALID: readonly (readonly [name: string, inputs: Inputs])[] = [
  ['minimum-permission', { 'minimum-permission': 'king' }],
  ['allowed-bots', { 'allowed-bots': 'renovate[bot], b/c' }],
  ['attach', { attach: '../secret' }],
  ['project-id', { 'project-id': 'a/b', 'job-id': '..', wait: 'yes', 'base-url': 'http://a.test' }],
];
/** Then, the action does not know which comments are commands. */
const COMMAND = { command: '/agent now' };

const MALLORY: Person = { login: 'mallory', id: 2002, type: 'User' };
const commentBy = (author: Person, body: string): WebhookEvent =>
  on.issueComment({ number: PULL, body, author });
const issueBy = (sender: Person): WebhookEvent =>
  on.event('issues', 'opened', { issue: { number: PULL }, sender });

interface Ran {
  readonly result: StepResult;
  readonly sim: Simulation;
}
async function run(inputs: Inputs, event: WebhookEvent): Promise<Ran> {
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
  const names = sim.github.calls().map(({ name }) => name);
  expect(names).toEqual(Array(checks).fill('GET collaborators/*/permission'));
  return result;
}

/** Runs a step that fails after this many permission checks, with one error. */
async function fails(inputs: Inputs, event: WebhookEvent, words: string, checks: number) {
  const { result, sim } = await run(inputs, event);
  expect(result.outputs).toMatchObject({ result: 'error', delivery: 'not-sent' });
  expect(result.errors).toEqual([expect.stringContaining(words)]);
  expect(sim.agent.posts()).toEqual([]);
  expect(sim.github.calls('GET collaborators/*/permission')).toHaveLength(checks);
  return { result, sim };
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

const COMMENTED = { command: '/agent', prompt: 'Be brief.' };
describe.concurrent('with an invalid', () => {
  it.each(INVALID)('%s, a command', async (name, invalid) => {
    const inputs = { ...COMMENTED, ...invalid };
    await skips(inputs, commentBy(MALLORY, '/agent go'), 1);
    await skips(inputs, commentBy(MALLORY, 'Thanks!'), 0);
    const { sim } = await fails(inputs, commentBy(ALICE, '/agent go'), name, 1);
    // Its author sees a reaction and an answer.
    expect(sim.github.reactions).toMatchObject([{ content: 'confused' }]);
    const [comment, ...others] = sim.github.writes();
    expect(JSON.parse(comment?.body ?? '').body).toContain(name);
    expect(others).toEqual([]);
  });

  it('command, fails only for people with write access', async () => {
    const words = '“command” must be one word';
    for (const body of ['/agent go', 'Thanks!']) {
      await skips(COMMAND, commentBy(MALLORY, body), 1);
      const { sim } = await fails(COMMAND, commentBy(ALICE, body), words, 1);
      expect(sim.github.writes()).toEqual([]);
    }
    await fails(COMMAND, issueBy(ALICE), words, 1);
  });
});

const FORKED = on.pullRequest({ number: PULL, fork: 'mallory/agents', author: MALLORY });
// test/unit/trigger/payload.test.ts has all events without access to secrets.
it.concurrent.each<[WebhookEvent, string]>([
  [FORKED, 'no secrets to runs for pull requests from forks. Use a branch of this repository or'],
  [on.push({ sender: DEPENDABOT }), 'only the Dependabot secrets to runs by Dependabot. Save'],
])(
  'an event without access to secrets is skipped, whatever is set: $name',
  async (event, words) => {
    for (const inputs of [{}, { wait: 'yes', 'github-token': '' }]) {
      const result = await skips({ 'api-key': '', ...inputs }, event, 0);
      const why = `“api-key” is empty, because GitHub passes ${words}`;
      expect(result.outputs.reason).toContain(`Nothing was sent. ${why}`);
      expect(result.summary).toMatch(/^## .* Nothing was sent\n\n/);
      expect(result.summary).toContain(why.replaceAll(/[“”]/g, '`'));
      expect(result.warnings).toEqual([]);
    }
  },
);
