import { describe, expect, it } from 'vitest';
import {
  event,
  issueComment,
  type Person,
  pullRequest,
  push,
  type WebhookEvent,
  workflowRun,
} from '../sim/events.ts';
import {
  commentTexts,
  errors,
  JOB,
  ownComments,
  PULL,
  type Scenario,
  type Simulation,
  simulate,
} from './scenario.ts';

// The agent pushes to pull requests, and that must not make it send messages to itself.

const AGENT: Person = { login: 'mintlify[bot]', id: 3003, type: 'Bot' };
const OWN = `https://github.com/octo/agents/pull/${PULL}`;
const pushed = (sender: Person, target = false): WebhookEvent =>
  pullRequest({ number: PULL, action: 'synchronize', sender, target });

const NAMED = { 'allowed-bots': AGENT.login };

const OTHER = 'https://github.com/octo/agents/pull/8';

describe.each([
  ['that is not named', {}],
  ['that is named', NAMED],
  ['that is named, without the check of permissions', { ...NAMED, 'minimum-permission': 'none' }],
])("pushes by the agent's own bot, %s,", (_, inputs) => {
  it('to the pull request of the job, after the message of a person, send nothing', async () => {
    await using sim = await simulate({
      with: { wait: true, 'when-active': 'wait', ...inputs },
      agent: {
        // The agent creates the pull request, or has done so before.
        jobs: [{ id: JOB, base: { prLink: OWN } }],
      },
    });
    const first = await sim.run({ step: { event: pullRequest({ number: PULL }) } });
    expect(first.outputs).toMatchObject({ result: 'completed', confirmed: 'true' });
    const before = commentTexts(sim.github).length;
    for (const run of [sim.run, sim.runHere, sim.runHere, sim.runHere]) {
      const again = await run({
        step: { event: pushed(AGENT), github: { run_id: String(2000 + sim.agent.journal.length) } },
      });
      expect(again.conclusion).toBe('success');
      expect(again.outputs).toMatchObject({ result: 'skipped', delivery: 'not-sent' });
      expect(again.annotations).toHaveLength(1);
      expect(again.outputs.reason).toContain('“mintlify[bot]”');
    }
    expect(sim.agent.posts()).toHaveLength(1);
    expect(commentTexts(sim.github)).toHaveLength(before);
  });
});

describe('failed checks of commits by the agent', () => {
  /** The agent pushes a commit, and its checks fail. */
  function fail(sim: Simulation, n: number) {
    const sha = String(n).padStart(40, '0');
    sim.github.push(PULL, sha);
    const event = workflowRun({ sender: AGENT, pullRequests: [PULL], sha });
    return sim.run({ step: { event, github: { run_id: String(n) } } });
  }

  it('are sent back three times, on its own pull request, and again after a command', async () => {
    const inputs = { wait: true, 'job-id': '', ...NAMED };
    await using sim = await simulate({
      with: inputs,
      agent: { jobs: [{ id: JOB, base: { prLink: OWN } }] },
    });
    // The run that created the job leaves its comment.
    await sim.runHere({ with: { 'job-id': JOB, send: false, prompt: '' } });
    const results: (string | undefined)[] = [];
    for (const n of [1, 2, 3, 4, 5]) results.push((await fail(sim, n)).outputs.result);
    expect(results).toEqual(['completed', 'completed', 'completed', 'skipped', 'skipped']);
    expect(ownComments(sim.github).at(-1)?.body).toContain('Limit reached: 3 messages in a row');

    const body = '/agent The test needs a network.';
    const { id } = sim.github.addComment(PULL, 'alice', body);
    const asked = { event: issueComment({ number: PULL, body, id }), github: { run_id: '6' } };
    const command = { command: '/agent', prompt: '' };
    expect((await sim.run({ with: command, step: asked })).outputs.result).toBe('completed');
    expect((await fail(sim, 7)).outputs.result).toBe('completed');
    expect(sim.agent.posts()).toHaveLength(5);
  });

  it('are skipped if its bot is not named', async () => {
    await using sim = await simulate();
    const result = await fail(sim, 1);
    expect(result.conclusion).toBe('success');
    expect(result.outputs).toMatchObject({ result: 'skipped', delivery: 'not-sent' });
    expect([...sim.agent.journal, ...sim.github.journal]).toEqual([]);
  });
});

describe('a bot that allowed-bots names', () => {
  const doneWith = (prLink: string | null) => ({ id: JOB, status: 'completed', prLink });
  const linked = (prLink: string | null) => ({ jobs: [{ id: JOB, base: { prLink } }] });

  it.each([false, true])(
    'gets one notice on the pull request of the job itself (pull_request_target: %s)',
    async (target) => {
      await using sim = await simulate({ with: NAMED, agent: linked(OWN) });
      const result = await sim.runHere({ step: { event: pushed(AGENT, target) } });
      expect(result.annotations).toEqual([
        {
          type: 'notice',
          message: `Job ${JOB}: ${result.outputs.reason}`,
        },
      ]);
      expect(result.outputs.reason).toContain('the pull request of the job');
      expect(sim.agent.journal.map(({ method }) => method)).toEqual(['GET']);
      expect(sim.github.writes()).toEqual([]);
    },
  );

  it.each<[string, WebhookEvent, string | null]>([
    ['of another number', pushed(AGENT), 'https://github.com/octo/agents/pull/8'],
    ['of another repository', pushed(AGENT), 'https://github.com/octo/docs/pull/8'],
    ['as a comment', issueComment({ number: PULL, body: 'Go on.', author: AGENT }), OWN],
    ['as a push to a branch', push({ sender: AGENT, ref: 'refs/heads/agent' }), OWN],
  ])('sends a message to a job with a pull request %s', async (_, event, prLink) => {
    // Without a comment, the messages of a bot cannot be counted.
    const inputs = { ...NAMED, 'pr-number': PULL };
    await using sim = await simulate({ with: inputs, agent: linked(prLink) });
    const result = await sim.runHere({ step: { event } });
    expect(result.outputs).toMatchObject({ result: 'sent', delivery: 'sent' });
    expect(sim.agent.posts()).toHaveLength(1);
  });

  it.each<[string, string, string | null]>([
    ['of the same number elsewhere', 'completed', `https://github.com/octo/renamed/pull/${PULL}`],
    ['that does not exist yet, while the agent is at work', 'active', null],
    ['that does not exist', 'completed', null],
  ])('sends nothing, at once, to a job with a pull request %s', async (_, status, prLink) => {
    await using sim = await simulate({
      with: { ...NAMED, wait: true },
      agent: { onGet: () => ({ body: { id: JOB, status, prLink } }) },
    });
    const { outputs } = await sim.runHere({ step: { event: pushed(AGENT) } });
    expect(outputs).toMatchObject({ result: 'skipped', delivery: 'not-sent' });
    expect(sim.agent.journal.map(({ method }) => method)).toEqual(['GET']);
    expect(sim.github.writes()).toEqual([]);
  });

  it('sends nothing if it re-runs the run of a person', async () => {
    await using sim = await simulate({ with: NAMED, agent: linked(OWN) });
    const { outputs } = await sim.runHere({
      step: {
        event: pullRequest({ number: PULL }),
        github: { run_attempt: '2', triggering_actor: AGENT.login },
      },
    });
    expect(outputs).toMatchObject({ result: 'skipped', delivery: 'not-sent' });
    expect(sim.agent.posts()).toEqual([]);
  });

  it.each<[string, Scenario]>([
    [
      'after a slow comment',
      {
        agent: { onGet: (n) => ({ body: doneWith(n === 1 ? OTHER : OWN) }) },
        github: { trouble: { latencyMs: 1300 } },
        time: { pace: 1 },
      },
    ],
    [
      'after a pause',
      {
        agent: {
          onPost: () => ({ status: 429, headers: { 'retry-after': '60' } }),
          onGet: (n) => ({ body: doneWith(n === 1 ? OTHER : OWN) }),
        },
      },
    ],
  ])('sends nothing to a job that shows the pull request only %s', async (_, scenario) => {
    const inputs = { ...NAMED, wait: true };
    await using sim = await simulate({
      ...scenario,
      with: inputs,
      step: { event: pushed(AGENT) },
    });
    const { outputs } = await sim.run();
    expect(outputs).toMatchObject({ result: 'skipped', delivery: 'not-sent', 'pr-link': OWN });
    expect(sim.agent.accepted()).toEqual([]);
  });

  it.each([
    ['is left out', undefined],
    ['is not that of a pull request', `${OWN}/files`],
  ])('sends nothing to a job whose link %s', async (_, prLink) => {
    const record = { id: JOB, status: 'completed' };
    await using sim = await simulate({
      with: NAMED,
      // A link of null that was shown before does not count.
      agent: {
        onGet: (n) => ({
          body: { ...record, ...(n === 1 ? { status: 'active', prLink: null } : { prLink }) },
        }),
      },
      step: { event: pushed(AGENT) },
    });
    const { outputs } = await sim.run();
    expect(outputs).toMatchObject({ result: 'skipped', delivery: 'not-sent' });
    expect(outputs.reason).toContain('does not show');
    expect(sim.agent.posts()).toEqual([]);
  });

  it('sends a message only to the other one of two jobs', async () => {
    await using sim = await simulate({
      with: { ...NAMED, 'job-id': 'job-1 job-2' },
      agent: {
        jobs: [
          { id: 'job-1', base: { prLink: OWN } },
          { id: 'job-2', base: { prLink: OTHER } },
        ],
      },
    });
    const { outputs } = await sim.runHere({ step: { event: pushed(AGENT) } });
    expect(JSON.parse(outputs.results ?? '')).toMatchObject([
      { jobId: 'job-1', result: 'skipped' },
      { jobId: 'job-2', result: 'sent' },
    ]);
    expect(sim.agent.accepted().map(({ jobId }) => jobId)).toEqual(['job-2']);
  });

  it('sends nothing if the pull request of the job is not known', async () => {
    await using sim = await simulate({
      with: NAMED,
      agent: { ...linked(OWN), onGet: () => ({ status: 500 }) },
    });
    const result = await sim.runHere({ step: { event: pushed(AGENT) } });
    expect(result.outputs).toMatchObject({ result: 'error', delivery: 'not-sent' });
    expect(errors(result)).toHaveLength(1);
    expect(sim.agent.posts()).toEqual([]);
  });
});

it('a person sends a message to the job on the pull request of the job, without a poll', async () => {
  await using sim = await simulate({ agent: { jobs: [{ id: JOB, base: { prLink: OWN } }] } });
  const result = await sim.runHere({ step: { event: pullRequest({ number: PULL }) } });
  expect(result.outputs).toMatchObject({ result: 'sent', delivery: 'sent' });
  expect(sim.agent.gets()).toEqual([]);
});

it('an organization is refused, and not called a bot', async () => {
  const sender = { login: 'octo-org', id: 4004, type: 'Organization' };
  await using sim = await simulate({ step: { event: event('issues', 'opened', { sender }) } });
  const { outputs } = await sim.runHere();
  expect(outputs).toMatchObject({ result: 'skipped', delivery: 'not-sent' });
  expect(outputs.reason).toMatch(/“octo-org” is neither a person nor in “allowed-bots”/);
});
