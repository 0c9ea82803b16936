import { describe, expect, it } from 'vitest';
import { titleOf } from '../../src/labels.ts';
import { issueComment, schedule } from '../sim/events.ts';
import {
  callNames,
  commentTexts,
  errors,
  JOB,
  LONG_TURN,
  notes,
  ownComments,
  PULL,
  type Scenario,
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
    ['queued', 'active', 'success', ''],
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

  it.each<[string, Pick<Scenario, 'with' | 'step'>]>([
    ['with comment: false', { with: { comment: false } }],
    ['without a token', { with: { 'github-token': '' } }],
    ['without a conversation', { step: { event: schedule() } }],
  ])('makes no requests to GitHub %s', async (_, more) => {
    await using sim = await simulate({ with: WAITING });
    expect((await sim.runHere(more)).outputs).toMatchObject({ result: 'completed', reason: '' });
    expect(sim.github.journal).toEqual([]);
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
    expect(sim.agent.journal.map(({ method }) => method)).toEqual(Array(4).fill('GET'));
    expect([...errors(result), ...warnings(result)]).toEqual([]);
    const titles = commentTexts(sim.github).map((text) => text.split('\n')[0]);
    const kinds = ['working', 'completed'] as const;
    expect(titles).toEqual(kinds.map((kind) => expect.stringContaining(titleOf(kind))));
    expect(result.summary).toContain(titleOf('completed'));
  });

  it('a job that the API does not know is not written down', async () => {
    await using sim = await simulate({ with: { ...WAITING, 'job-id': 'job-2' } });
    const result = await sim.runHere();
    expect(result.outputs).toMatchObject({ result: 'error', delivery: 'not-sent' });
    expect(errors(result)).toEqual([
      expect.stringMatching(/^Job job-2: .*The API answered 404.*check the job ID/),
    ]);
    expect(sim.agent.gets()).toHaveLength(1);
    expect(ownComments(sim.github)).toEqual([]);
  });
});

it('a wait in a later run ends with the first final status', async () => {
  await using sim = await simulate({ agent: { jobs: [{ id: JOB, turns: [LONG_TURN] }] } });
  const first = await sim.runHere({ with: { wait: true, 'timeout-minutes': '0.5' } });
  expect(first.outputs.result).toBe('timed-out');
  const second = await sim.run({ with: { ...WAITING, 'job-id': '' }, step: LATER_RUN });
  const outputs = { result: 'completed', delivery: 'not-sent', confirmed: '' };
  expect(second.outputs).toMatchObject({ ...outputs, 'job-id': JOB });
  expect(sim.agent.posts()).toHaveLength(1);
  const own = ownComments(sim.github);
  expect(own[0]?.body).toContain(titleOf('timed-out'));
  expect(own[1]?.body).toContain(titleOf('completed'));
});
