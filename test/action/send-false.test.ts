import { describe, expect, it } from 'vitest';
import { titleOf } from '../../src/job/labels.ts';
import { issueComment, pullRequest } from '../sim/events.ts';
import {
  callNames,
  commentTexts,
  errors,
  JOB,
  notes,
  ownComments,
  PULL,
  simulate,
  warnings,
} from './scenario.ts';

const READ_ONLY = { send: 'false', prompt: '' };
const WAITING = { ...READ_ONLY, wait: true };
const LATER_RUN = { github: { run_id: '900' } };

describe('send: false', () => {
  it.each([
    ['active', 'active', 'success', ''],
    ['failed', 'failed', 'failure', 'The API does not say why the agent failed. Open the job in'],
    ['archived', 'archived', 'failure', 'The agent does not work on archived jobs; use another'],
    ['odd', 'active', 'success', ''],
  ])('polls a job that is %s once: %s', async (status, expected, conclusion, reason) => {
    await using sim = await simulate({
      with: READ_ONLY,
      agent: { jobs: [{ id: JOB, base: { status } }] },
    });
    const result = await (status === 'active' ? sim.run() : sim.runHere());
    expect(result.conclusion).toBe(conclusion);
    const outputs = { result: expected, status, delivery: 'not-sent', confirmed: '' };
    expect(result.outputs).toMatchObject(outputs);
    expect(result.outputs.reason?.slice(0, reason.length || 1)).toBe(reason);
    expect(errors(result).join()).toContain(reason);
    expect(sim.agent.journal.map(({ method }) => method)).toEqual(['GET']);
    expect(result.log).not.toContain('essage');
  });

  it('writes the job to a comment, so that a command needs no job-id', async () => {
    await using sim = await simulate({ with: WAITING });
    const first = await sim.runHere();
    const [own] = ownComments(sim.github);
    expect(first.outputs['comment-url']).toBe(own?.html_url);
    expect(notes(sim.github)[0]?.jobs).toMatchObject([{ id: JOB, delivery: 'not-sent' }]);
    expect(own?.body).toContain(titleOf('completed'));
    expect(callNames(sim.github).at(-1)).toBe('newest');

    // The next run hides it.
    await sim.runHere({ step: LATER_RUN });
    expect(ownComments(sim.github).map(({ isMinimized }) => isMinimized)).toEqual([true, false]);

    const polled = await sim.runHere({ with: { wait: false, 'job-id': '' } });
    expect(polled.outputs).toMatchObject({ result: 'completed', 'job-id': JOB, 'comment-url': '' });

    const { id } = sim.github.addComment(PULL, 'alice', '/agent go on');
    const event = issueComment({ number: PULL, body: '/agent go on', id });
    const inputs = { send: 'true', wait: false, command: '/agent', 'job-id': '' };
    const command = await sim.runHere({ with: inputs, step: { event } });
    expect(command.outputs).toMatchObject({ result: 'sent', 'job-id': JOB });
  });

  it('reports the end of the work on the message of another run, and hides its comment', async () => {
    await using sim = await simulate({ with: { wait: false } });
    await sim.runHere({ step: { event: pullRequest({ number: PULL }) } });
    await sim.pass(60_000);
    const result = await sim.runHere({
      with: WAITING,
      step: { github: { run_id: '9', job: 'other' } },
    });
    const [shown, own] = ownComments(sim.github);
    for (const text of [own?.body, result.summary]) expect(text).toContain(titleOf('completed'));
    expect([shown?.isMinimized, own?.isMinimized]).toEqual([true, false]);
  });

  it('waits until the first final status, and names the job in a comment from its first poll on', async () => {
    await using sim = await simulate({
      with: WAITING,
      agent: {
        jobs: [{ id: JOB }],
        onGet(n) {
          if (n > 1) expect(notes(sim.github)).toMatchObject([{ jobs: [{ id: JOB }] }]);
          return { body: { id: JOB, status: n > 3 ? 'completed' : 'active' } };
        },
      },
    });
    const result = await sim.runHere();
    const outputs = { result: 'completed', delivery: 'not-sent', confirmed: '', reason: '' };
    expect(result.outputs).toMatchObject(outputs);
    expect(sim.agent.journal.map(({ method }) => method)).toEqual(Array(5).fill('GET'));
    expect([...errors(result), ...warnings(result)]).toEqual([]);
    const titles = commentTexts(sim.github).map((text) => text.split('\n')[0]);
    const kinds = ['working', 'completed'] as const;
    expect(titles).toEqual(kinds.map((kind) => expect.stringContaining(titleOf(kind))));
    expect(result.summary).toContain(titleOf('completed'));
  });
});
