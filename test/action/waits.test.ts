import { describe, expect, it } from 'vitest';
import type { JobScript, TurnScript } from '../sim/agent.ts';
import { commentTexts, errors, JOB, simulate, warnings } from './scenario.ts';

const OLD = 'https://github.com/octo/agents/pull/1';
const NEW = 'https://github.com/octo/agents/pull/2';

function job(base: JobScript['base'], ...steps: TurnScript['steps']): JobScript {
  return { id: JOB, base: base ?? {}, turns: [{ steps }] };
}
const active = (afterMs: number) => ({ afterMs, set: { status: 'active' } });
const ended = (afterMs: number, status: string, prLink: string | null = null) => ({
  afterMs,
  set: { status, prLink },
});

async function wait(script: JobScript, inputs: Record<string, string> = {}, isBuilt = false) {
  await using sim = await simulate({ with: { wait: true, ...inputs }, agent: { jobs: [script] } });
  const result = await (isBuilt ? sim.run() : sim.runHere());
  return { result, sim, comments: commentTexts(sim.github) };
}

describe('a job that is taken up and done', () => {
  it('is polled once before the message, and then until it is done', async () => {
    const { result, sim, comments } = await wait(
      job({ prLink: OLD }, active(2000), ended(300_000, 'completed', OLD)),
      {},
      true,
    );
    expect(result.conclusion).toBe('success');
    expect(result.outputs).toMatchObject({
      result: 'completed',
      status: 'completed',
      delivery: 'sent',
      confirmed: 'true',
      'pr-link': OLD,
      prLink: OLD,
      reason: '',
    });
    expect(sim.agent.journal.slice(0, 3).map(({ method }) => method)).toEqual([
      'GET',
      'POST',
      'GET',
    ]);
    expect(sim.agent.posts()).toHaveLength(1);
    expect(sim.agent.gets().length).toBeLessThan(70);
    expect(comments).toHaveLength(3);
    expect(comments[0]).toContain('⏳');
    expect(comments[1]).toContain('Agent is working');
    expect(comments[2]).toContain('Agent completed: pull request updated');
    expect([...errors(result), ...warnings(result)]).toEqual([]);
    expect(result.summary).toContain('Agent completed: pull request updated');
    expect(result.summary).toContain('\ngantt\n    dateFormat x\n');
  });

  it.each(['completed', 'failed'])(
    'is not mistaken for its earlier turn, which was %s',
    async (status) => {
      const { result } = await wait(
        job({ status, prLink: OLD }, active(20_000), ended(90_000, 'completed', NEW)),
      );
      expect(result.outputs).toMatchObject({
        result: 'completed',
        confirmed: 'true',
        'pr-link': NEW,
      });
      expect(result.summary).toContain('pull request created');
      expect(warnings(result)).toEqual([]);
    },
  );

  it('without a link means that no files changed', async () => {
    const { result } = await wait(job({}, active(0), ended(10_000, 'completed')));
    expect(result.outputs).toMatchObject({
      result: 'completed',
      'pr-link': '',
      confirmed: 'true',
    });
    expect(result.summary).toContain('Agent completed: no files changed');
  });

  it('was still at an earlier message', async () => {
    const { result } = await wait(
      job(
        { status: 'active' },
        ended(10_000, 'completed', OLD),
        active(15_000),
        ended(60_000, 'completed', NEW),
      ),
    );
    expect(result.outputs).toMatchObject({
      result: 'completed',
      confirmed: 'true',
      'pr-link': NEW,
    });
  });
});

it('a job that never leaves completed is believed after the settle window, with a warning', async () => {
  const { result } = await wait(job({}));
  expect(result.conclusion).toBe('success');
  expect(result.outputs).toMatchObject({ result: 'completed', confirmed: 'false' });
  expect(warnings(result)).toEqual([expect.stringContaining('possibly from the earlier turn')]);
  expect(result.virtualMs).toBeGreaterThan(60_000);
});

it('a fixed interval overrides the shorter one while a status is in doubt', async () => {
  const { sim } = await wait(job({}), { 'poll-interval-seconds': '45' });
  // One before the message, one after 45 s, and the one after the settle window.
  expect(sim.agent.gets()).toHaveLength(3);
});

it('a job that never leaves failed fails, and says that it may be the earlier turn', async () => {
  const { result } = await wait(job({ status: 'failed' }));
  expect(result.conclusion).toBe('failure');
  expect(result.outputs).toMatchObject({ result: 'failed', confirmed: 'false' });
  expect(errors(result)).toEqual([expect.stringContaining('possibly from the earlier turn')]);
});

it('a job that fails, fails the step', async () => {
  const { result, comments } = await wait(job({}, active(1000), ended(30_000, 'failed')));
  expect(result.conclusion).toBe('failure');
  expect(result.outputs).toMatchObject({ result: 'failed', status: 'failed', confirmed: 'true' });
  expect(errors(result)).toEqual([
    `The agent failed on job ${JOB}. The API does not say why; check the job in the Mintlify dashboard.`,
  ]);
  expect(comments.at(-1)).toContain('Agent failed');
});

it('a job that is archived, fails the step', async () => {
  const { result } = await wait(job({}, active(1000), ended(30_000, 'archived')));
  expect(result.conclusion).toBe('failure');
  expect(result.outputs).toMatchObject({ result: 'archived', status: 'archived' });
});

it('fail-on decides what fails the step', async () => {
  const { result } = await wait(job({}, active(1000), ended(30_000, 'failed')), {
    'fail-on': 'none',
  });
  expect(result.conclusion).toBe('success');
  expect(result.outputs.result).toBe('failed');
  expect(warnings(result)).toEqual([
    `The agent failed on job ${JOB}. The API does not say why; check the job in the Mintlify dashboard.`,
  ]);
});

it('a step that fails although nothing is wrong, says which result fails it', async () => {
  const { result } = await wait(job({}, active(1000), ended(30_000, 'completed')), {
    'fail-on': 'completed',
  });
  expect(result.conclusion).toBe('failure');
  expect(result.outputs).toMatchObject({ result: 'completed', confirmed: 'true', reason: '' });
  expect(errors(result)).toEqual([`Job ${JOB} is completed, which fails the step (fail-on).`]);
});

it('the wait ends at its deadline, with a last poll', async () => {
  const inputs = { 'timeout-minutes': '10' };
  const { result, sim, comments } = await wait(job({}, active(1000)), inputs, true);
  expect(result.conclusion).toBe('failure');
  expect(result.outputs).toMatchObject({
    result: 'timed-out',
    status: 'active',
    delivery: 'sent',
  });
  expect(errors(result)).toEqual([expect.stringMatching(/within 10 minutes \(timeout-minutes\)/)]);
  expect(result.virtualMs).toBeGreaterThanOrEqual(600_000);
  expect(result.virtualMs).toBeLessThan(610_000);
  const last = sim.agent.gets().at(-1)?.at ?? 0;
  const first = sim.agent.gets()[0]?.at ?? 0;
  expect(last - first).toBeGreaterThan(595_000);
  expect(comments.at(-1)).toContain('Wait timed out: the agent is still working');
});

it('the last known status stays when a response has none', async () => {
  let polls = 0;
  await using sim = await simulate({
    with: { wait: true, 'timeout-minutes': '1' },
    agent: {
      jobs: [job({})],
      onGet: () => ({ body: { id: JOB, ...(++polls < 5 ? { status: 'active' } : {}) } }),
    },
  });
  const result = await sim.runHere();
  expect(result.outputs).toMatchObject({ result: 'timed-out', status: 'active' });
  expect(errors(result)).toEqual([expect.stringContaining('its status is active')]);
  expect(commentTexts(sim.github).at(-1)).toContain('the agent is still working');
});

it('a poll that the deadline cuts off is no reason', async () => {
  await using sim = await simulate({
    with: { wait: true, 'timeout-minutes': '1', 'poll-interval-seconds': '50' },
    agent: {
      jobs: [job({}, active(1000))],
      // Of those after the message, the first one gets 10 s.
      onGet: (n) => (n === 1 ? undefined : { fault: 'hang' }),
    },
  });
  const { outputs } = await sim.runHere();
  expect(outputs.result).toBe('timed-out');
  expect(outputs.reason).not.toContain('failed');
});

it('a fixed interval beats the adaptive one', async () => {
  const { sim } = await wait(job({}, active(0), ended(300_000, 'completed')), {
    'poll-interval-seconds': '50',
  });
  expect(sim.agent.gets().length).toBeLessThanOrEqual(8);
});

it('a long wait says now and then that it goes on, and never twice the same', async () => {
  const { result } = await wait(job({}, active(0), ended(900_000, 'completed')));
  const beats = result.log.split('\n').filter((line) => line.includes('is still active'));
  expect(beats.length).toBeGreaterThan(5);
  expect(beats.length).toBeLessThan(16);
  expect(new Set(beats).size).toBe(beats.length);
});
