import { afterAll, describe, expect, it } from 'vitest';
import { action } from '../contract/readme.ts';
import {
  ALICE,
  DEPENDABOT,
  event,
  issueComment,
  mergeGroup,
  type Person,
  pullRequest,
  push,
  RENOVATE,
  type WebhookEvent,
} from '../sim/events.ts';
import { startProxy } from '../sim/proxy.ts';
import type { StepResult } from '../sim/runner/process.ts';
import {
  errors,
  KEY,
  PULL,
  type Scenario,
  type Simulation,
  simulate,
  warnings,
} from './scenario.ts';

// Invalid inputs are an error for people with write access. A stranger who starts the workflow gets none.

type Inputs = NonNullable<Scenario['with']>;

/** An invalid value of each input. */
const INVALID: Readonly<Record<string, Inputs>> = {
  'project-id': { 'project-id': 'a/b' },
  'job-id': { 'job-id': '..' },
  'api-key': { 'api-key': 'Bearer mint_x' },
  prompt: { prompt: '\u200b' },
  'prompt-file': { prompt: '', 'prompt-file': '../secret' },
  'minimum-permission': { 'minimum-permission': 'king' },
  'allowed-bots': { 'allowed-bots': 'renovate[bot], b/c' },
  send: { send: 'maybe' },
  wait: { wait: 'yes' },
  'timeout-minutes': { 'timeout-minutes': '-1' },
  'poll-interval-seconds': { 'poll-interval-seconds': '0' },
  'settle-seconds': { 'settle-seconds': 'x' },
  'only-when': { 'only-when': 'done' },
  'when-active': { 'when-active': 'later' },
  'fail-on': { 'fail-on': 'error' },
  comment: { comment: 'maybe' },
  'resend-on-rerun': { 'resend-on-rerun': 'twice' },
  'pr-number': { 'pr-number': '#7' },
  'base-url': { 'base-url': 'http://agent.invalid' },
};
/** Tested separately: with an invalid command, the action does not know which comments are commands. */
const COMMAND = { command: '/agent now' };
const TESTED_ELSEWHERE = ['github-token', 'matrix-leg'];

const MALLORY: Person = { login: 'mallory', id: 2002, type: 'User' };
const commentBy = (author: Person, body: string): WebhookEvent =>
  issueComment({ number: PULL, body, author });
const issueBy = (sender: Person): WebhookEvent =>
  event('issues', 'opened', { issue: { number: PULL }, sender });

let runs = 0;
async function run(inputs: Inputs, event: WebhookEvent, more: Scenario = {}) {
  runs += 1;
  await using sim = await simulate({ ...more, with: inputs, step: { ...more.step, event } });
  return { result: await sim.runHere(), sim };
}

/** The number of permission checks. */
function permissionChecks({ github }: Simulation): number {
  return github.journal.filter(({ path }) => path.endsWith('/permission')).length;
}

function expectSkipped(result: StepResult, { agent, github }: Simulation, calls: number): void {
  expect(result.conclusion).toBe('success');
  expect(result.outputs).toMatchObject({ result: 'skipped', delivery: 'not-sent' });
  expect(result.annotations).toHaveLength(1);
  expect(result.summary).toBe('');
  expect(agent.journal).toEqual([]);
  const names = github.calls().map(({ name }) => name);
  expect(names).toEqual(Array(calls).fill('GET collaborators/*/permission'));
}

function expectError(result: StepResult, { agent }: Simulation, words: string): void {
  expect(result.outputs).toMatchObject({ result: 'error', delivery: 'not-sent' });
  expect(errors(result)).toEqual([expect.stringContaining(words)]);
  expect(agent.journal).toEqual([]);
}

const COMMENTED = { command: '/agent', prompt: 'Be brief.' };
describe.concurrent('with an invalid', () => {
  describe.each(Object.entries(INVALID))('%s', (name, invalid) => {
    it('skips a command by a stranger', async () => {
      const { result, sim } = await run(
        { ...COMMENTED, ...invalid },
        commentBy(MALLORY, '/agent go'),
      );
      expectSkipped(result, sim, 1);
    });
    it('skips a comment that is not a command, without a permission check', async () => {
      const { result, sim } = await run(
        { ...COMMENTED, ...invalid },
        commentBy(MALLORY, 'Thanks!'),
      );
      expectSkipped(result, sim, 0);
    });
    it('fails a command by a writer, with a reaction and a comment', async () => {
      const { result, sim } = await run(
        { ...COMMENTED, ...invalid },
        commentBy(ALICE, '/agent go'),
      );
      expectError(result, sim, name);
      expect(permissionChecks(sim)).toBe(1);
      const [reaction, comment, ...others] = sim.github.writes();
      expect(JSON.parse(reaction?.body ?? '').content).toBe('confused');
      expect(JSON.parse(comment?.body ?? '').body).toContain(name);
      expect(others).toEqual([]);
    });
    it('skips an issue opened by a stranger', async () => {
      const { result, sim } = await run(invalid, issueBy(MALLORY));
      expectSkipped(result, sim, 1);
    });
    it('fails on an issue opened by a writer', async () => {
      const { result, sim } = await run(invalid, issueBy(ALICE));
      expectError(result, sim, name);
      expect(permissionChecks(sim)).toBe(1);
    });
  });

  it('command, fails only for people with write access', async () => {
    for (const body of ['/agent go', 'Thanks!']) {
      const stranger = await run(COMMAND, commentBy(MALLORY, body));
      expectSkipped(stranger.result, stranger.sim, 1);
      const writer = await run(COMMAND, commentBy(ALICE, body));
      expectError(writer.result, writer.sim, 'command must be one word');
      expect(writer.sim.github.writes()).toEqual([]);
    }
    const edited = issueComment({ number: PULL, body: '/agent go', action: 'edited' });
    const again = await run(COMMAND, edited);
    expectSkipped(again.result, again.sim, 0);
    const stranger = await run(COMMAND, issueBy(MALLORY));
    expectSkipped(stranger.result, stranger.sim, 1);
    const writer = await run(COMMAND, issueBy(ALICE));
    expectError(writer.result, writer.sim, 'command must be one word');
  });

  it('minimum-permission, requires write access', async () => {
    const collaborators = {
      alice: { id: ALICE.id, permission: 'read', role_name: 'triage' },
    } as const;
    const issues = [{ number: PULL, pullRequest: true }];
    const { result, sim } = await run(INVALID['minimum-permission'] ?? {}, issueBy(ALICE), {
      github: { issues, collaborators },
    });
    expectSkipped(result, sim, 1);
  });

  it('allowed-bots, skips all bots on events that are checked', async () => {
    const { result, sim } = await run(INVALID['allowed-bots'] ?? {}, issueBy(RENOVATE));
    expectSkipped(result, sim, 0);
    const trusted = await run(INVALID['allowed-bots'] ?? {}, push());
    expectError(trusted.result, trusted.sim, 'allowed-bots must be a list of logins');
  });

  it('input, fails without a permission check on an event that is not checked', async () => {
    const { result, sim } = await run({ wait: 'yes' }, push());
    expectError(result, sim, 'wait must be');
    expect(sim.github.journal).toEqual([]);
  });

  it('input, the tests cover each input of action.yml', () => {
    const tested = [...Object.keys(INVALID), ...Object.keys(COMMAND), ...TESTED_ELSEWHERE];
    expect(tested.sort()).toEqual(Object.keys(action.inputs).sort());
  });
});

describe.concurrent('with a missing value', () => {
  it.each<[string, Inputs, string]>([
    ['api-key', { 'api-key': '' }, 'api-key is empty'],
    ['prompt', { prompt: '' }, 'prompt is empty'],
  ])('fails for a writer, and skips a stranger: %s', async (_, inputs, words) => {
    const stranger = await run(inputs, issueBy(MALLORY));
    expectSkipped(stranger.result, stranger.sim, 1);
    const writer = await run(inputs, issueBy(ALICE));
    expectError(writer.result, writer.sim, words);
  });

  it('fails a command by a writer, and skips one by a stranger', async () => {
    const inputs = { ...COMMENTED, 'api-key': '' };
    const stranger = await run(inputs, commentBy(MALLORY, '/agent go'));
    expectSkipped(stranger.result, stranger.sim, 1);
    const writer = await run(inputs, commentBy(ALICE, '/agent go'));
    expectError(writer.result, writer.sim, 'api-key is empty');
  });

  // On a push to the default branch, nobody is checked, and there is no pull request for a comment.
  it.each([
    ['', 'github-token is empty'],
    ['ghs_one\nghs_two', 'github-token contains a space, a line break or a character outside'],
    ['ghs_\u200bone', 'github-token contains a space, a line break or a character outside'],
  ])('fails with the ways out, where github-token is needed and is %j', async (token, words) => {
    for (const [event, wayOut] of [
      [issueBy(ALICE), 'minimum-permission: none'],
      [commentBy(ALICE, '/agent go'), 'minimum-permission: none'],
      [mergeGroup({ number: PULL }), 'comment: false'],
    ] as const) {
      const { result, sim } = await run({ 'github-token': token }, event);
      expectError(result, sim, words);
      expect(result.outputs.reason).toContain(wayOut);
      expect(sim.github.journal).toEqual([]);
    }
    const { result, sim } = await run({ 'github-token': token }, push());
    expect(result.outputs).toMatchObject({ result: 'sent', delivery: 'sent' });
    expect([...errors(result), ...warnings(result)]).toEqual([]);
    expect(sim.github.journal).toEqual([]);
  });

  it('works without github-token and without a comment', async () => {
    const inputs = { 'github-token': '', comment: 'false' };
    const { result } = await run(inputs, mergeGroup({ number: PULL }));
    expect(result.outputs).toMatchObject({ result: 'sent', delivery: 'sent' });
    expect(result.annotations).toEqual([]);
  });
});

describe.concurrent('an event without access to secrets', () => {
  it.each<[string, WebhookEvent]>([
    ['from a fork', pullRequest({ number: PULL, fork: 'mallory/agents', author: MALLORY })],
    ['from a fork of a writer', pullRequest({ number: PULL, fork: 'alice/agents' })],
    ['from a deleted fork', pullRequest({ number: PULL, fork: null })],
    ['by Dependabot', pullRequest({ number: PULL, author: DEPENDABOT })],
    ['a push by Dependabot', push({ sender: DEPENDABOT, ref: 'refs/heads/dependabot/npm' })],
    ['a push by Dependabot to the default branch', push({ sender: DEPENDABOT })],
  ])('is skipped, without a failure or a permission check: %s', async (_, event) => {
    for (const inputs of [{}, { 'api-key': ' \n' }, { wait: 'yes', 'github-token': '' }]) {
      const { result, sim } = await run({ 'api-key': '', ...inputs }, event);
      expectSkipped(result, sim, 0);
      expect(result.outputs.reason).toContain('secrets are not passed to runs from forks or Depen');
      expect(warnings(result)).toEqual([]);
    }
  });

  it.each<[string, WebhookEvent]>([
    ['from a branch', pullRequest({ number: PULL })],
    ['a push by a person', push()],
    ['from a fork, pull_request_target', pullRequest({ number: PULL, fork: null, target: true })],
  ])('fails instead if it has access but api-key is empty: %s', async (_, event) => {
    const { result, sim } = await run({ 'api-key': '' }, event);
    expectError(result, sim, 'api-key is empty');
  });

  it('needs a permission check if api-key is set', async () => {
    const fork = pullRequest({ number: PULL, fork: 'mallory/agents', author: MALLORY });
    const { result, sim } = await run({}, fork);
    expectSkipped(result, sim, 1);
  });
});

it('fails without requests if certificate checks are turned off', async () => {
  const env = { NODE_TLS_REJECT_UNAUTHORIZED: '0' };
  for (const event of [issueBy(MALLORY), commentBy(ALICE, '/agent go')]) {
    const { result, sim } = await run({}, event, { step: { env } });
    expectError(result, sim, 'certificate checks are turned off');
    expect(sim.github.journal).toEqual([]);
  }
});

it('warns of an api-key that does not begin with mint_, at the default base URL', async () => {
  // The proxy refuses all connections.
  await using proxy = await startProxy({ onConnect: () => ({ kind: 'answer', status: 403 }) });
  await using sim = await simulate({
    with: { 'base-url': '', 'api-key': 'another_kind_of_key', comment: false },
    step: { env: { HTTPS_PROXY: `http://${proxy.host}` } },
    secrets: ['another_kind_of_key'],
  });
  const result = await sim.runHere();
  expect(warnings(result)).toEqual([
    'api-key does not begin with “mint_”; the API may not accept it.',
  ]);
  const targets = new Set(proxy.journal.map(({ target }) => target));
  expect(targets).toEqual(new Set(['api.mintlify.com:443']));
  expect(result.outputs).toMatchObject({ result: 'error', delivery: 'not-sent' });

  const known = await sim.runHere({ with: { 'api-key': KEY } });
  expect(warnings(known)).toEqual([]);
});

afterAll(() => console.info(`Tested invalid and missing inputs in ${runs} runs.`));
