import { describe, expect, it } from 'vitest';
import { issueComment, type Person, pullRequest, workflowRun } from '../sim/events.ts';
import { ownComments, PULL, type Simulation, simulate } from './scenario.ts';

// The agent pushes to its pull request, its checks fail, and that must not make it send messages to itself without end.

const AGENT: Person = { login: 'mintlify[bot]', id: 3003, type: 'Bot' };
const NAMED = { 'allowed-bots': AGENT.login };
const OWN = `https://github.com/octo/agents/pull/${PULL}`;
const SKIPPED = { result: 'skipped', delivery: 'not-sent' };

describe("pushes by the agent's own bot", () => {
  const pushed = pullRequest({ number: PULL, action: 'synchronize', sender: AGENT });

  it.each<[string, object, number]>([
    ['that is not named send nothing', {}, 0],
    [
      'that is not named send nothing without permissions either',
      { 'minimum-permission': 'none' },
      0,
    ],
    ['that is named send three messages after that of a person', NAMED, 2],
  ])('%s', async (_, inputs, sent) => {
    await using sim = await simulate({
      with: { wait: true, ...inputs },
      agent: { jobs: [{ id: 'job-1', base: { prLink: OWN } }] },
    });
    const opened = { event: pullRequest({ number: PULL }) };
    const first = await sim.run({ step: opened });
    expect(first.outputs).toMatchObject({ result: 'completed', confirmed: 'true' });
    for (const [index, how] of (
      [sim.run, sim.runHere, sim.runHere, sim.runHere] as const
    ).entries()) {
      const { conclusion, outputs } = await how({
        step: { event: pushed, github: { run_id: String(index + 2) } },
      });
      expect(conclusion).toBe('success');
      expect(outputs).toMatchObject(index < sent ? { result: 'completed' } : SKIPPED);
    }
    expect(sim.agent.posts()).toHaveLength(1 + sent);
  });

  it('send nothing if the bot re-runs the run of a person', async () => {
    await using sim = await simulate();
    const github = { run_attempt: '2', triggering_actor: AGENT.login };
    const { outputs } = await sim.runHere({
      step: { event: pullRequest({ number: PULL }), github },
    });
    expect(outputs).toMatchObject(SKIPPED);
    expect(sim.agent.journal).toEqual([]);
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
    await using sim = await simulate({
      with: { wait: true, 'job-id': '', ...NAMED },
      agent: { jobs: [{ id: 'job-1', base: { prLink: OWN } }] },
    });
    // The run that created the job leaves its comment.
    await sim.runHere({ with: { 'job-id': 'job-1', send: false, prompt: '' } });
    const results: (string | undefined)[] = [];
    for (const n of [1, 2, 3, 4, 5]) results.push((await fail(sim, n)).outputs.result);
    expect(results).toEqual(['completed', 'completed', 'completed', 'skipped', 'skipped']);
    expect(ownComments(sim.github).at(-1)?.body).toContain('Limit reached');

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
    expect(result.outputs).toMatchObject(SKIPPED);
    expect([...sim.agent.journal, ...sim.github.journal]).toEqual([]);
  });
});
