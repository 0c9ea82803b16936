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

describe('a job that the agent works on', () => {
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
    'is not reported with the status of its earlier turn, which was %s',
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

  it('is reported with no files changed if it has no link', async () => {
    const { result } = await wait(job({}, active(0), ended(10_000, 'completed')));
    expect(result.outputs).toMatchObject({
      result: 'completed',
      'pr-link': '',
      confirmed: 'true',
    });
    expect(result.summary).toContain('Agent completed: no files changed');
  });

  it('is not reported as completed when it completes an earlier message', async () => {
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

it('accepts a job that stays completed after settle-seconds, with a warning', async () => {
  const { result } = await wait(job({}));
  expect(result.conclusion).toBe('success');
  expect(result.outputs).toMatchObject({ result: 'completed', confirmed: 'false' });
  expect(warnings(result)).toEqual([expect.stringContaining('possibly from the earlier turn')]);
  expect(result.virtualMs).toBeGreaterThan(60_000);
});

it('polls at a fixed interval during settle-seconds as well', async () => {
  const { sim } = await wait(job({}), { 'poll-interval-seconds': '45' });
  // The baseline, one after 45 s, and one after settle-seconds.
  expect(sim.agent.gets()).toHaveLength(3);
});

it('fails if a job stays failed, possibly from the earlier turn', async () => {
  const { result } = await wait(job({ status: 'failed' }));
  expect(result.conclusion).toBe('failure');
  expect(result.outputs).toMatchObject({ result: 'failed', confirmed: 'false' });
  expect(errors(result)).toEqual([expect.stringContaining('possibly from the earlier turn')]);
});

it('fails if the agent fails', async () => {
  const { result, comments } = await wait(job({}, active(1000), ended(30_000, 'failed')));
  expect(result.conclusion).toBe('failure');
  expect(result.outputs).toMatchObject({ result: 'failed', status: 'failed', confirmed: 'true' });
  expect(errors(result)).toEqual([
    `The agent failed on job ${JOB}. The API does not say why; check the job in the Mintlify dashboard.`,
  ]);
  expect(comments.at(-1)).toContain('Agent failed');
});

it('fails if the job is archived', async () => {
  const { result } = await wait(job({}, active(1000), ended(30_000, 'archived')));
  expect(result.conclusion).toBe('failure');
  expect(result.outputs).toMatchObject({ result: 'archived', status: 'archived' });
});

it('succeeds with a warning if the agent fails and fail-on is none', async () => {
  const { result } = await wait(job({}, active(1000), ended(30_000, 'failed')), {
    'fail-on': 'none',
  });
  expect(result.conclusion).toBe('success');
  expect(result.outputs.result).toBe('failed');
  expect(warnings(result)).toEqual([
    `The agent failed on job ${JOB}. The API does not say why; check the job in the Mintlify dashboard.`,
  ]);
});

it('fails with the name of the result if fail-on contains it', async () => {
  const { result } = await wait(job({}, active(1000), ended(30_000, 'completed')), {
    'fail-on': 'completed',
  });
  expect(result.conclusion).toBe('failure');
  expect(result.outputs).toMatchObject({ result: 'completed', confirmed: 'true', reason: '' });
  expect(errors(result)).toEqual([`Job ${JOB} is completed, which fails the step (fail-on).`]);
});

it('stops waiting at the deadline, after a last poll', async () => {
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

it('keeps the last known status if a response has none', async () => {
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

it('does not report a failed poll that the deadline interrupts', async () => {
  await using sim = await simulate({
    with: { wait: true, 'timeout-minutes': '1', 'poll-interval-seconds': '50' },
    agent: {
      jobs: [job({}, active(1000))],
      // The first poll after the message starts 10 s before the deadline.
      onGet: (n) => (n === 1 ? undefined : { fault: 'hang' }),
    },
  });
  const { outputs } = await sim.runHere();
  expect(outputs.result).toBe('timed-out');
  expect(outputs.reason).not.toContain('failed');
});

it('polls at a fixed interval instead of the adaptive one', async () => {
  const { sim } = await wait(job({}, active(0), ended(300_000, 'completed')), {
    'poll-interval-seconds': '50',
  });
  expect(sim.agent.gets().length).toBeLessThanOrEqual(8);
});

it('logs a different line now and then during a long wait', async () => {
  const { result } = await wait(job({}, active(0), ended(900_000, 'completed')));
  const lines = result.log.split('\n').filter((line) => line.includes('is still active'));
  expect(lines.length).toBeGreaterThan(5);
  expect(lines.length).toBeLessThan(16);
  expect(new Set(lines).size).toBe(lines.length);
});
