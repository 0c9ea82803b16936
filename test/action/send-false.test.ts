import { describe, expect, it } from 'vitest';
import { issueComment, schedule } from '../sim/events.ts';
import {
  callNames,
  commentTexts,
  errors,
  JOB,
  ownComments,
  PULL,
  remembered,
  simulate,
  warnings,
} from './scenario.ts';

const READ_ONLY = { send: 'false', prompt: '' };
const CHECK_JOB = 'check the job in the Mintlify dashboard.';
const LATER_RUN = { github: { run_id: '900' } };

describe('send: false', () => {
  it.each([
    ['active', 'active', 'success', []],
    ['completed', 'completed', 'success', []],
    [
      'failed',
      'failed',
      'failure',
      [`The agent failed on job ${JOB}. The API does not say why; ${CHECK_JOB}`],
    ],
    [
      'archived',
      'archived',
      'failure',
      [`Job ${JOB} was archived, so the agent does not work on it.`],
    ],
    ['queued', 'active', 'success', []],
  ])('polls a job that is %s once: %s', async (status, expected, conclusion, reasons) => {
    await using sim = await simulate({
      with: READ_ONLY,
      agent: { jobs: [{ id: JOB, base: { status } }] },
    });
    const result = await (status === 'active' ? sim.run() : sim.runHere());
    expect(result.conclusion).toBe(conclusion);
    const outputs = { result: expected, status, delivery: 'not-sent', confirmed: '' };
    expect(result.outputs).toMatchObject({ ...outputs, reason: reasons.join('') });
    expect(errors(result)).toEqual(reasons);
    expect(sim.agent.journal.map(({ method }) => method)).toEqual(['GET']);
    expect(result.log).not.toContain('essage');
  });

  it('writes the job to the comment once, so that a command needs no job-id', async () => {
    await using sim = await simulate({ with: READ_ONLY });
    const first = await sim.runHere();
    expect(first.outputs['comment-url']).toContain(`/pull/${PULL}#issuecomment-`);
    expect(remembered(sim.github).jobs).toMatchObject([
      { id: JOB, record: { status: 'completed', model: 'sonnet' }, turns: [] },
    ]);
    expect(callNames(sim.github)).toEqual(['read', 'POST issues/#/comments', 'read']);

    // Nothing has changed, so the action writes nothing.
    const second = await sim.runHere({ step: LATER_RUN });
    expect(second.outputs['comment-url']).toBe('');
    expect(callNames(sim.github, 3)).toEqual(['read']);

    const event = issueComment({ number: PULL, body: '/agent go on' });
    const inputs = { send: 'true', command: '/agent', 'job-id': '' };
    const command = await sim.runHere({ with: inputs, step: { event } });
    expect(command.outputs).toMatchObject({ result: 'sent', 'job-id': JOB });
  });

  it('makes no requests to GitHub with comment: false, or without a conversation', async () => {
    await using sim = await simulate({ with: READ_ONLY });
    await sim.runHere({ with: { comment: false } });
    await sim.runHere({ step: { event: schedule() } });
    expect(sim.github.journal).toEqual([]);
  });

  it('ignores the prompt', async () => {
    await using sim = await simulate({ with: { ...READ_ONLY, 'prompt-file': '../../etc/passwd' } });
    expect((await sim.runHere()).outputs.result).toBe('completed');
  });

  it('waits until the first final status', async () => {
    let polls = 0;
    await using sim = await simulate({
      with: { ...READ_ONLY, wait: true },
      agent: {
        jobs: [{ id: JOB }],
        onGet: () => ({ body: { id: JOB, status: ++polls > 3 ? 'completed' : 'active' } }),
      },
    });
    const result = await sim.runHere();
    expect(result.outputs).toMatchObject({
      result: 'completed',
      delivery: 'not-sent',
      reason: '',
    });
    expect(sim.agent.gets()).toHaveLength(4);
    expect(sim.agent.posts()).toEqual([]);
    expect([...errors(result), ...warnings(result)]).toEqual([]);
    expect(remembered(sim.github).jobs).toMatchObject([{ id: JOB, turns: [] }]);
  });

  it('stops waiting at the deadline', async () => {
    await using sim = await simulate({
      with: { ...READ_ONLY, wait: true, 'timeout-minutes': '1' },
      agent: { jobs: [{ id: JOB, base: { status: 'active' } }] },
    });
    const result = await sim.runHere();
    expect(result.outputs).toMatchObject({ result: 'timed-out', delivery: 'not-sent' });
    expect(errors(result)).toEqual([
      expect.stringContaining('its status is active, and the agent keeps working'),
    ]);
  });

  it.each([
    ['without wait', {}],
    ['with wait', { wait: 'true' }],
  ])('fails if the job is not found, %s', async (_, more) => {
    await using sim = await simulate({ with: { ...READ_ONLY, ...more, 'job-id': 'job-2' } });
    const result = await sim.runHere();
    expect(result.outputs).toMatchObject({ result: 'error', delivery: 'not-sent' });
    expect(errors(result)).toEqual([expect.stringMatching(/^Job job-2 c.*check job-id/)]);
  });
});

describe('a wait in a later run', () => {
  it('resumes with the message, the baseline and the time from the comment', async () => {
    await using sim = await simulate({
      with: { 'settle-seconds': '300' },
      agent: {
        jobs: [
          {
            id: JOB,
            turns: [
              {
                steps: [
                  { afterMs: 0, set: { status: 'active' } },
                  { afterMs: 90_000, set: { status: 'completed' } },
                ],
              },
            ],
          },
        ],
      },
    });
    const first = await sim.run({ with: { wait: true, 'timeout-minutes': '0.5' } });
    expect(first.outputs.result).toBe('timed-out');
    const second = await sim.run({
      with: { ...READ_ONLY, wait: true, 'job-id': '' },
      step: LATER_RUN,
    });
    expect(second.outputs).toMatchObject({
      result: 'completed',
      delivery: 'not-sent',
      confirmed: 'true',
      'job-id': JOB,
    });
    expect(JSON.parse(second.outputs.results ?? '')[0].elapsedSeconds).toBeGreaterThan(85);
    expect(sim.agent.posts()).toHaveLength(1);
    expect(ownComments(sim.github)).toHaveLength(1);
    const last = commentTexts(sim.github).at(-1);
    expect(last).toContain('completed');
    expect(last).not.toContain('earlier message');
    const [turn, ...others] = remembered(sim.github).jobs[0]?.turns ?? [];
    expect(others).toEqual([]);
    // The turn is the one of the first run.
    expect(turn).toMatchObject({ runId: '1658821493', delivery: 'sent', result: 'completed' });
  });

  it('finds the message if only the job names the pull request', async () => {
    const prLink = `https://github.com/octo/agents/pull/${PULL}`;
    await using sim = await simulate({
      step: { event: schedule() },
      agent: { jobs: [{ id: JOB, base: { prLink } }] },
    });
    await sim.runHere();
    expect(commentTexts(sim.github).at(-1)).toContain('Message sent to the agent');
    const second = await sim.runHere({ with: { ...READ_ONLY, wait: true }, step: LATER_RUN });
    expect(second.outputs).toMatchObject({ result: 'completed', delivery: 'not-sent' });
    expect(commentTexts(sim.github).at(-1)).toContain('completed');
    expect(sim.github.comments(PULL)).toHaveLength(1);
  });

  it('ignores a message with a final status', async () => {
    await using sim = await simulate();
    await sim.runHere({ with: { wait: true } });
    const before = commentTexts(sim.github);
    const second = await sim.runHere({ with: READ_ONLY, step: LATER_RUN });
    expect(second.outputs).toMatchObject({ result: 'completed', confirmed: '' });
    const third = await sim.runHere({ with: { ...READ_ONLY, wait: true }, step: LATER_RUN });
    expect(third.outputs).toMatchObject({ result: 'completed', delivery: 'not-sent' });
    expect(commentTexts(sim.github)).toEqual(before);
  });
});
