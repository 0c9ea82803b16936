import { describe, expect, it } from 'vitest';
import { iconOf, titleOf } from '../../src/labels.ts';
import type { Reply } from '../sim/agent.ts';
import { issueComment, pullRequest, workflowRun } from '../sim/events.ts';
import {
  callNames,
  JOB,
  notes,
  ownComments,
  PULL,
  type Scenario,
  type Simulation,
  simulate,
} from './scenario.ts';

// Events about a commit: only the newest one gets a message, and each one gets it once. Which pull request such an event is about
// is in unit/event.test.ts, and what it carries in carried.test.ts.

const NEWER = 'b'.repeat(40);
const SKIPPED = { result: 'skipped', delivery: 'not-sent' };
const SENT = { result: 'sent', delivery: 'sent' };
const RUN = { pullRequests: [PULL], fields: { conclusion: 'failure' } };
const FAILED = workflowRun(RUN);
const OUTDATED = workflowRun({ ...RUN, head: NEWER });
const later = (run_id: string) => ({ github: { run_id } });
const AGAIN = { github: { run_attempt: '2', triggering_actor: 'alice' } };

describe('nothing is sent about a commit', () => {
  it.each(['run', 'runHere'] as const)('that was outdated at the event (%s)', async (how) => {
    await using sim = await simulate({ step: { event: OUTDATED } });
    const result = await sim[how]();
    expect(result.conclusion).toBe('success');
    const reason = 'The pull request has newer commits; their own checks decide.';
    expect(result.outputs).toMatchObject({ ...SKIPPED, reason });
    expect(result.annotations).toHaveLength(1);
    expect(sim.agent.posts()).toEqual([]);
    // Its log is not read either.
    expect(callNames(sim.github)).toEqual(['GET collaborators/*/permission', 'list']);
  });

  it('that is no longer the newest just before the message', async () => {
    await using sim = await simulate({ step: { event: FAILED } });
    sim.github.push(PULL, NEWER);
    const result = await sim.runHere();
    expect(result.conclusion).toBe('success');
    expect(result.outputs).toMatchObject(SKIPPED);
    expect(result.outputs.reason).toContain('newer commits');
    expect(sim.agent.posts()).toEqual([]);
    expect(notes(sim.github)).toMatchObject([{ jobs: [{ delivery: 'not-sent' }] }]);
    expect(ownComments(sim.github)[0]?.body).toContain(titleOf('skipped'));
  });

  it('that is no longer the newest after a wait for earlier work', async () => {
    await using sim = await simulate({
      with: { wait: true },
      agent: {
        onGet(n) {
          if (n === 2) sim.github.push(PULL, NEWER);
          return n < 4 ? { body: { id: JOB, status: 'active' } } : undefined;
        },
      },
      step: { event: FAILED },
    });
    expect((await sim.run()).outputs.reason).toContain('newer commits');
    expect(sim.agent.posts()).toEqual([]);
  });

  it('that is no longer the newest after a pause between two tries', async () => {
    await using sim = await simulate({
      agent: {
        onPost() {
          sim.github.forcePush(PULL, NEWER);
          return { status: 429, headers: { 'retry-after': '30' } };
        },
      },
      step: { event: FAILED },
    });
    expect((await sim.runHere()).outputs).toMatchObject(SKIPPED);
    expect(sim.agent.posts()).toHaveLength(1);
    expect(sim.agent.accepted()).toEqual([]);
  });

  it('by a re-run of a person, or without a comment, either', async () => {
    await using sim = await simulate({
      agent: { onPost: () => ({ status: 401 }) },
      step: { event: FAILED },
    });
    expect((await sim.runHere()).outputs.result).toBe('error');
    sim.github.push(PULL, NEWER);
    expect((await sim.runHere({ step: AGAIN })).outputs).toMatchObject(SKIPPED);
    expect((await sim.runHere({ with: { comment: false } })).outputs).toMatchObject(SKIPPED);
    expect(sim.agent.posts()).toHaveLength(1);
  });
});

describe('a message about a commit is sent', () => {
  it.each<[string, Reply]>([
    ['is reset', { fault: 'reset' }],
    ['has no answer', { fault: 'hang' }],
    ['makes no sense', { body: { head: { sha: 'main' } } }],
  ])('if the question for the newest commit %s', async (_, reply) => {
    await using sim = await simulate({
      github: { on: ({ path }) => (/\/pulls\/\d+$/.test(path) ? reply : undefined) },
      step: { event: FAILED },
    });
    sim.github.push(PULL, NEWER);
    expect((await sim.runHere()).outputs).toMatchObject(SENT);
  });
});

describe('a commit gets one message', () => {
  it('if several workflows fail on it', async () => {
    await using sim = await simulate({ step: { event: FAILED } });
    expect((await sim.run()).outputs).toMatchObject(SENT);
    const [first] = ownComments(sim.github);
    for (const run_id of ['2', '3']) {
      const result = await sim.run({ step: later(run_id) });
      expect(result.conclusion).toBe('success');
      const reason = `Another run has taken this commit: ${first?.html_url}.`;
      expect(result.outputs).toMatchObject({ ...SKIPPED, reason });
    }
    expect(sim.agent.posts()).toHaveLength(1);
    expect(ownComments(sim.github)).toHaveLength(1);
  });
});

describe('a job that a run without a message has named on the pull request', () => {
  const opened = pullRequest({ number: PULL });
  const named = { with: { send: false, wait: true, prompt: '' }, step: { event: opened } };

  it.each<[string, (sim: Simulation) => Pick<Scenario, 'with' | 'step'>]>([
    ['a failed check', () => ({ step: { event: FAILED } })],
    ['a push', () => ({ step: { event: pullRequest({ number: PULL, action: 'synchronize' }) } })],
    [
      'a command',
      ({ github }) => {
        const body = '/agent go on';
        const { id } = github.addComment(PULL, 'alice', body);
        const event = issueComment({ number: PULL, body, id });
        return { step: { event }, with: { command: '/agent', prompt: '' } };
      },
    ],
  ])('%s sends a message to, without job-id', async (_, more) => {
    await using sim = await simulate();
    expect((await sim.run(named)).outputs).toMatchObject({ result: 'completed' });
    expect(ownComments(sim.github)[0]?.body).toContain(iconOf('completed'));
    const { with: inputs, step } = more(sim);
    const { outputs } = await sim.run({
      with: { ...inputs, 'job-id': '' },
      step: { ...step, github: { run_id: '2' } },
    });
    expect(outputs).toMatchObject({ ...SENT, 'job-id': JOB });
  });

  it('is known five minutes later, while that run still waits', async () => {
    const working = { steps: [{ afterMs: 20 * 60_000, set: { status: 'completed' } }] };
    await using sim = await simulate({
      agent: {
        jobs: [{ id: JOB, base: { status: 'active' }, turns: [working] }],
        onGet: (_, { at }) =>
          at - sim.time.started < 15 * 60_000
            ? undefined
            : { body: { id: JOB, status: 'completed' } },
      },
    });
    const waiting = sim.runHere(named);
    await sim.pass(5 * 60_000);
    const event = pullRequest({ number: PULL, action: 'synchronize' });
    const pushed = await sim.runHere({
      ...{ with: { 'job-id': '' }, step: { event, ...later('2') } },
    });
    expect(pushed.outputs).toMatchObject({ ...SENT, 'job-id': JOB });
    expect((await waiting).outputs.result).toBe('completed');
  });
});
