import { afterAll, describe, expect, it } from 'vitest';
import { action } from '../contract/readme.ts';
import {
  ALICE,
  DEPENDABOT,
  event,
  issueComment,
  type Person,
  pullRequest,
  push,
  RENOVATE,
  type WebhookEvent,
} from '../sim/events.ts';
import type { StepResult } from '../sim/runner/process.ts';
import { errors, PULL, type Scenario, type Simulation, simulate, warnings } from './scenario.ts';

// Wrong settings are an error of whoever set up the workflow. A stranger who starts it gets none.

type Inputs = NonNullable<Scenario['with']>;

/** What is wrong in each input. */
const WRONG: Readonly<Record<string, Inputs>> = {
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
  'fail-on': { 'fail-on': 'error' },
  comment: { comment: 'maybe' },
  'resend-on-rerun': { 'resend-on-rerun': 'twice' },
  'pr-number': { 'pr-number': '#7' },
  'base-url': { 'base-url': 'http://agent.invalid' },
};
/** Below, as the comment cannot be told from others where this is wrong. */
const COMMAND = { command: '/agent now' };
const NEVER_WRONG = ['github-token', 'matrix-leg'];

const MALLORY: Person = { login: 'mallory', id: 2002, type: 'User' };
const says = (body: string, author: Person): WebhookEvent =>
  issueComment({ number: PULL, body, author });
const opens = (sender: Person): WebhookEvent =>
  event('issues', 'opened', { issue: { number: PULL }, sender });

let runs = 0;
async function run(inputs: Inputs, event: WebhookEvent, more: Scenario = {}) {
  runs += 1;
  await using sim = await simulate({ ...more, with: inputs, step: { ...more.step, event } });
  return { result: await sim.runHere(), sim };
}

/** How often GitHub was asked for a permission; of the rest, only reactions are allowed for. */
function asked({ github }: Simulation): number {
  return github.journal.filter(({ path }) => path.endsWith('/permission')).length;
}

/** Where the settings are right, what is remembered is read while the permission is asked for. */
function expectSkipped(
  result: StepResult,
  { agent, github }: Simulation,
  calls: number,
  { reads = 0 } = {},
): void {
  expect(result.conclusion).toBe('success');
  expect(result.outputs).toMatchObject({ result: 'skipped', delivery: 'not-sent' });
  expect(result.annotations).toHaveLength(1);
  expect(result.summary).toBe('');
  expect(agent.journal).toEqual([]);
  const names = github.calls().map(({ name }) => name);
  expect(names.filter((name) => name !== 'read')).toEqual(
    Array(calls).fill('GET collaborators/*/permission'),
  );
  expect(names.filter((name) => name === 'read').length).toBeLessThanOrEqual(reads);
}

function expectError(result: StepResult, { agent }: Simulation, words: string): void {
  expect(result.outputs).toMatchObject({ result: 'error', delivery: 'not-sent' });
  expect(errors(result)).toEqual([expect.stringContaining(words)]);
  expect(agent.journal).toEqual([]);
}

const COMMENTED = { command: '/agent', prompt: 'Be brief.' };
describe.concurrent('a wrong', () => {
  describe.each(Object.entries(WRONG))('%s', (name, wrong) => {
    it('command of a stranger is skipped', async () => {
      const { result, sim } = await run({ ...COMMENTED, ...wrong }, says('/agent go', MALLORY));
      expectSkipped(result, sim, 1);
    });
    it('comment that is no command is skipped, and nobody is asked', async () => {
      const { result, sim } = await run({ ...COMMENTED, ...wrong }, says('Thanks!', MALLORY));
      expectSkipped(result, sim, 0);
    });
    it('command of a writer is an error, with a reaction and an answer', async () => {
      const { result, sim } = await run({ ...COMMENTED, ...wrong }, says('/agent go', ALICE));
      expectError(result, sim, name);
      expect(asked(sim)).toBe(1);
      const [reaction, answer, ...others] = sim.github.writes();
      expect(JSON.parse(reaction?.body ?? '').content).toBe('confused');
      expect(JSON.parse(answer?.body ?? '').body).toContain(name);
      expect(others).toEqual([]);
    });
    it('step on an issue of a stranger is skipped', async () => {
      const { result, sim } = await run(wrong, opens(MALLORY));
      expectSkipped(result, sim, 1);
    });
    it('step on an issue of a writer is an error', async () => {
      const { result, sim } = await run(wrong, opens(ALICE));
      expectError(result, sim, name);
      expect(asked(sim)).toBe(1);
    });
  });

  it('command lets nobody hear of it but whoever may write', async () => {
    for (const body of ['/agent go', 'Thanks!']) {
      const stranger = await run(COMMAND, says(body, MALLORY));
      expectSkipped(stranger.result, stranger.sim, 1);
      const writer = await run(COMMAND, says(body, ALICE));
      expectError(writer.result, writer.sim, 'command must be one word');
      expect(writer.sim.github.writes()).toEqual([]);
    }
    const edited = issueComment({ number: PULL, body: '/agent go', action: 'edited' });
    const again = await run(COMMAND, edited);
    expectSkipped(again.result, again.sim, 0);
    const stranger = await run(COMMAND, opens(MALLORY));
    expectSkipped(stranger.result, stranger.sim, 1);
    const writer = await run(COMMAND, opens(ALICE));
    expectError(writer.result, writer.sim, 'command must be one word');
  });

  it('minimum-permission counts as write until it is reported', async () => {
    const collaborators = {
      alice: { id: ALICE.id, permission: 'read', role_name: 'triage' },
    } as const;
    const issues = [{ number: PULL, pullRequest: true }];
    const { result, sim } = await run(WRONG['minimum-permission'] ?? {}, opens(ALICE), {
      github: { issues, collaborators },
    });
    expectSkipped(result, sim, 1);
  });

  it('allowed-bots allows none until it is reported', async () => {
    const { result, sim } = await run(WRONG['allowed-bots'] ?? {}, opens(RENOVATE));
    expectSkipped(result, sim, 0);
    const trusted = await run(WRONG['allowed-bots'] ?? {}, push());
    expectError(trusted.result, trusted.sim, 'allowed-bots must be a list of logins');
  });

  it('setting is reported at once where no stranger can have started the run', async () => {
    for (const event of [push(), pullRequest({ number: PULL, sender: RENOVATE })]) {
      const { result, sim } = await run({ wait: 'yes' }, event);
      expectError(result, sim, 'wait must be');
      expect(sim.github.journal).toEqual([]);
    }
  });

  it('setting of each input is tried', () => {
    const tried = [...Object.keys(WRONG), ...Object.keys(COMMAND), ...NEVER_WRONG];
    expect(tried.sort()).toEqual(Object.keys(action.inputs).sort());
  });
});

describe.concurrent('what is missing', () => {
  it.each<[string, Inputs, string]>([
    ['a key', { 'api-key': '' }, 'api-key is empty'],
    ['a prompt', { prompt: '' }, 'prompt is empty'],
  ])('is told to a writer, not to a stranger: %s', async (_, inputs, words) => {
    const stranger = await run(inputs, opens(MALLORY));
    expectSkipped(stranger.result, stranger.sim, 1, { reads: 1 });
    const writer = await run(inputs, opens(ALICE));
    expectError(writer.result, writer.sim, words);
  });

  it('is reported to a writer who commands, not to a stranger', async () => {
    const inputs = { ...COMMENTED, 'api-key': '' };
    const stranger = await run(inputs, says('/agent go', MALLORY));
    expectSkipped(stranger.result, stranger.sim, 1, { reads: 1 });
    const writer = await run(inputs, says('/agent go', ALICE));
    expectError(writer.result, writer.sim, 'api-key is empty');
  });

  it.each([
    ['', 'github-token is empty'],
    [
      'ghs_one\nghs_two',
      'github-token contains a space, a line break or a character outside ASCII',
    ],
    ['ghs_\u200bone', 'github-token contains a space, a line break or a character outside ASCII'],
  ])('a token: nobody is asked, and nobody is let in: %j', async (token, words) => {
    for (const event of [opens(ALICE), says('/agent go', ALICE), pullRequest({ number: PULL })]) {
      const { result, sim } = await run({ 'github-token': token }, event);
      expectError(result, sim, words);
      expect(sim.github.journal).toEqual([]);
    }
  });
});

describe.concurrent('a pull request that gets no secrets', () => {
  const HERE = pullRequest({ number: PULL, author: DEPENDABOT });
  it.each<[string, WebhookEvent]>([
    ['of a fork', pullRequest({ number: PULL, fork: 'mallory/agents', author: MALLORY })],
    ['of a fork by a writer', pullRequest({ number: PULL, fork: 'alice/agents' })],
    ['of a deleted fork', pullRequest({ number: PULL, fork: null })],
    ['by Dependabot', HERE],
  ])('is skipped, green, and nobody is asked: %s', async (_, event) => {
    for (const inputs of [{}, { 'api-key': ' \n' }, { wait: 'yes', 'github-token': '' }]) {
      const { result, sim } = await run({ 'api-key': '', ...inputs }, event);
      expectSkipped(result, sim, 0);
      expect(result.outputs.reason).toContain('secrets are not passed to runs from forks or Depen');
      expect(warnings(result)).toEqual([]);
    }
  });

  it.each<[string, WebhookEvent]>([
    ['a branch', pullRequest({ number: PULL })],
    ['a branch, by a bot', pullRequest({ number: PULL, sender: RENOVATE })],
    ['pull_request_target of a fork', pullRequest({ number: PULL, fork: null, target: true })],
  ])('is not taken for one where the key is missing otherwise: %s', async (_, event) => {
    const { result, sim } = await run({ 'api-key': '' }, event);
    expectError(result, sim, 'api-key is empty');
  });

  it('asks for a permission where there is a key', async () => {
    const fork = pullRequest({ number: PULL, fork: 'mallory/agents', author: MALLORY });
    const { result, sim } = await run({}, fork);
    expectSkipped(result, sim, 1, { reads: 1 });
  });
});

it('without certificate checks GitHub is not asked, and nobody is let in', async () => {
  const env = { NODE_TLS_REJECT_UNAUTHORIZED: '0' };
  for (const event of [opens(MALLORY), says('/agent go', ALICE)]) {
    const { result, sim } = await run({}, event, { step: { env } });
    expectError(result, sim, 'certificate checks are turned off');
    expect(sim.github.journal).toEqual([]);
  }
});

afterAll(() => console.info(`Wrong and missing settings were tried in ${runs} runs.`));
