import { describe, expect, it } from 'vitest';
import { titleOf } from '../../src/job/labels.ts';
import type { AgentOptions, Reply } from '../sim/agent.ts';
import { mergeGroup, workflowRun } from '../sim/events.ts';
import { callNames, JOB, notes, ownComments, PULL, simulate } from './scenario.ts';

// Events about a commit: only the newest one gets a message, and each one gets it once. Which pull request such an event is about
// is in unit/event.test.ts, and what it carries in carried.test.ts.

const NEWER = 'b'.repeat(40);
const SKIPPED = { result: 'skipped', delivery: 'not-sent' };
const SENT = { result: 'sent', delivery: 'sent' };
const RUN = { pullRequests: [PULL], fields: { conclusion: 'failure' } };
const FAILED = workflowRun(RUN);
const OUTDATED = workflowRun({ ...RUN, head: NEWER });

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
});

describe('a message about a commit is sent', () => {
  it.each<[string, Reply]>([
    ['is reset', { fault: 'reset' }],
    ['has no answer', { fault: 'hang' }],
  ])('if the question for the newest commit %s', async (_, reply) => {
    await using sim = await simulate({
      github: { on: ({ path }) => (/\/pulls\/\d+$/.test(path) ? reply : undefined) },
      step: { event: FAILED },
    });
    sim.github.push(PULL, NEWER);
    expect((await sim.runHere()).outputs).toMatchObject(SENT);
  });
});

describe('a failed run on the pull request of a person, where a command once named a job', () => {
  const linkTo = (path: string | null): Partial<AgentOptions> => {
    const prLink = path === null ? null : `https://github.com/octo/${path}`;
    return { jobs: [{ id: JOB, base: { prLink } }] };
  };
  const ABOUT = `This is about the pull request https://github.com/octo/agents/pull/${PULL}.`;
  const earlier = { event: mergeGroup(), github: { run_id: '1' } };

  it.each<[string, string | null, string]>([
    ['another one is that of the job', 'agents/pull/8', 'the pull request of the job is #8.'],
    [
      'it is in another repository, or in this one under its old name',
      'old/pull/8',
      'the pull request of the job is https://github.com/octo/old/pull/8.',
    ],
    ['the job has none', null, 'the job has no pull request in this repository yet.'],
    ['a link that cannot be read', 'agents/pull/x', 'the pull request of the job is not known.'],
  ])('is skipped: %s', async (_, path, why) => {
    await using sim = await simulate({ agent: linkTo(path) });
    await sim.runHere({ step: earlier, with: { 'pr-number': PULL } });
    const given = { 'job-id': '', prompt: '', command: '/agent' };
    const { outputs, conclusion } = await sim.run({ step: { event: FAILED }, with: given });
    const reason = `The failed run is about #${PULL}, but ${why}`;
    expect(outputs).toMatchObject({ ...SKIPPED, reason });
    expect(conclusion).toBe('success');
    expect(sim.agent.posts()).toHaveLength(1);
    expect(sim.github.comments(PULL)).toHaveLength(1);
  });

  it('is sent if the comments show that it is that of the job, which is at work', async () => {
    let isBusy = false;
    const body = { id: JOB, status: 'active', prLink: null };
    const agent = {
      ...linkTo(`agents/pull/${PULL}`),
      onGet: () => (isBusy ? { body } : undefined),
    };
    await using sim = await simulate({ agent, step: { event: FAILED } });
    await sim.runHere({ step: earlier, with: { 'pr-number': PULL, wait: true } });
    isBusy = true;
    expect((await sim.runHere({ with: { 'job-id': '' } })).outputs).toMatchObject(SENT);
  });

  it.each<[string, string, string]>([
    ['with job-id', JOB, 'Find out why'],
    ['to several jobs', `${JOB},job-2`, 'Find out why'],
  ])('is sent with the link to it: %s', async (_, ids, ask) => {
    const agent = { jobs: [...(linkTo('agents/pull/8').jobs ?? []), { id: 'job-2' }] };
    await using sim = await simulate({ agent, step: { event: FAILED } });
    const { outputs } = await sim.runHere({ with: { 'job-id': ids, prompt: '' } });
    expect(outputs).toMatchObject(SENT);
    for (const { prompt } of sim.agent.accepted()) {
      expect(prompt).toMatch(new RegExp(`^${ask}[^\\n]*\\n\\n${ABOUT}\\n\\nThe workflow`));
    }
  });

  it('a prompt alone stays as it was written', async () => {
    await using sim = await simulate({ agent: linkTo('agents/pull/8') });
    await sim.runHere();
    expect(sim.agent.accepted()[0]?.prompt).toBe('Add error handling examples.');
  });
});
