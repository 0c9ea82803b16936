import { describe, expect, it } from 'vitest';
import { titleOf } from '../../src/job/labels.ts';
import type { Reply } from '../sim/agent.ts';
import { workflowRun } from '../sim/events.ts';
import { callNames, notes, ownComments, PULL, simulate } from './scenario.ts';

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
