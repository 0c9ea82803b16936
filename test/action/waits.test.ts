import { describe, expect, it } from 'vitest';
import { titleOf } from '../../src/labels.ts';
import type { JobScript, TurnScript } from '../sim/agent.ts';
import { commentTexts, errors, JOB, simulate, warnings } from './scenario.ts';

const PR_LINK = 'https://github.com/octo/docs/pull/1';

function job(base: JobScript['base'], ...steps: TurnScript['steps']): JobScript {
  return { id: JOB, base: base ?? {}, turns: [{ steps }] };
}
const at = (seconds: number, status: string) => ({ afterMs: seconds * 1000, set: { status } });

async function wait(script: JobScript, inputs: Record<string, string> = {}, isBuilt = false) {
  await using sim = await simulate({ with: { wait: true, ...inputs }, agent: { jobs: [script] } });
  const result = await (isBuilt ? sim.run() : sim.runHere());
  return { result, sim, comments: commentTexts(sim.github) };
}

it('polls a job once before the message, and then until the agent is done', async () => {
  const { result, sim, comments } = await wait(
    job({ prLink: PR_LINK }, at(2, 'active'), at(300, 'completed')),
    {},
    true,
  );
  expect(result.conclusion).toBe('success');
  expect(result.outputs).toMatchObject({
    ...{ result: 'completed', status: 'completed', delivery: 'sent', confirmed: 'true' },
    ...{ 'pr-link': PR_LINK, prLink: PR_LINK, reason: '' },
  });
  expect(sim.agent.journal.slice(0, 3).map(({ method }) => method)).toEqual(['GET', 'POST', 'GET']);
  expect(sim.agent.posts()).toHaveLength(1);
  expect(sim.agent.gets().length).toBeLessThan(70);
  expect(comments[0]).toContain(titleOf('sending'));
  expect(comments[1]).toContain(titleOf('working'));
  expect(comments.at(-1)).toContain(titleOf('completed'));
  expect([...errors(result), ...warnings(result)]).toEqual([]);
  expect(result.summary).toContain(titleOf('completed'));
});

it('an outage is a line in the log, and then one a minute', async () => {
  await using sim = await simulate({
    with: { wait: true },
    agent: {
      jobs: [job({}, at(0, 'active'), at(900, 'completed'))],
      onGet: () => {
        const elapsed = sim.time.elapsed();
        return elapsed > 60_000 && elapsed < 360_000 ? { status: 503 } : undefined;
      },
    },
  });
  const { log, outputs } = await sim.run();
  expect(outputs).toMatchObject({ result: 'completed', confirmed: 'true' });
  expect(log.match(/^Polling failed\. The API answered 503/gm)).toHaveLength(1);
  const lines = log.match(/^Polling still fails; time-out in .*\.$/gm) ?? [];
  expect(lines.length).toBeGreaterThanOrEqual(3);
  expect(lines.length).toBeLessThanOrEqual(5);
});

it('polls at a fixed interval, during settle-seconds as well', async () => {
  const inputs = { 'poll-interval-seconds': '50' };
  const { sim } = await wait(job({}, at(0, 'active'), at(300, 'completed')), inputs);
  expect(sim.agent.gets().length).toBeLessThanOrEqual(8);
  // Before the message, after 50 s, and after settle-seconds.
  const settling = await wait(job({}), inputs);
  expect(settling.sim.agent.gets()).toHaveLength(3);
});

describe('fail-on', () => {
  const failed = job({}, at(1, 'active'), at(30, 'failed'));
  const reason = `Job ${JOB}: The agent gave no reason. Open the job in the dashboard (https://app.mintlify.com).`;

  it('contains failed by default', async () => {
    const { result, comments } = await wait(failed);
    expect(result.conclusion).toBe('failure');
    expect(result.outputs).toMatchObject({ result: 'failed', status: 'failed', confirmed: 'true' });
    expect(errors(result)).toEqual([reason]);
    expect(comments.at(-1)).toContain(titleOf('failed'));
  });

  it('is none: the step succeeds, with a warning', async () => {
    const { result } = await wait(failed, { 'fail-on': 'none' });
    expect(result.conclusion).toBe('success');
    expect(result.outputs.result).toBe('failed');
    expect(warnings(result)).toEqual([reason]);
  });

  it('contains completed: the step fails with the name of the result', async () => {
    const { result } = await wait(job({}, at(1, 'active'), at(30, 'completed')), {
      'fail-on': 'completed',
    });
    expect(result.conclusion).toBe('failure');
    expect(result.outputs).toMatchObject({ result: 'completed', confirmed: 'true', reason: '' });
    expect(errors(result)).toEqual([`Job ${JOB} is completed, which fails the step (“fail-on”).`]);
  });
});

it('stops waiting at the deadline, after a last poll', async () => {
  const { result, sim, comments } = await wait(
    job({}, at(1, 'active')),
    { 'timeout-minutes': '10' },
    true,
  );
  expect(result.conclusion).toBe('failure');
  expect(result.outputs).toMatchObject({
    ...{ result: 'timed-out', status: 'active', delivery: 'sent', confirmed: 'false' },
  });
  expect(errors(result)).toEqual([expect.stringMatching(/within 10 min/)]);
  expect(result.virtualMs).toBeGreaterThanOrEqual(600_000);
  expect(result.virtualMs).toBeLessThan(610_000);
  const [first, last] = [sim.agent.gets()[0]?.at ?? 0, sim.agent.gets().at(-1)?.at ?? 0];
  expect(last - first).toBeGreaterThan(595_000);
  expect(comments.at(-1)).toContain(titleOf('timed-out'));
});

it('does not report a failed poll that the deadline interrupts', async () => {
  await using sim = await simulate({
    with: { wait: true, 'timeout-minutes': '1', 'poll-interval-seconds': '50' },
    agent: {
      jobs: [job({}, at(1, 'active'))],
      // The first poll after the message starts 10 s before the deadline.
      onGet: (n) => (n === 1 ? undefined : { fault: 'hang' }),
    },
  });
  const { outputs } = await sim.runHere();
  expect(outputs.result).toBe('timed-out');
  expect(outputs.reason).not.toContain('failed');
});

it('keeps what is known of a job if a response leaves it out', async () => {
  const left = (...fields: readonly string[]) =>
    Object.fromEntries(fields.map((field) => [field, undefined]));
  const source = { repository: 'https://github.com/octo/docs', ref: 'main' };
  const base = { prLink: PR_LINK, model: 'opus', source, status: 'failed' };
  const short = left('prLink', 'model', 'source', 'createdAt', 'archivedAt');
  const turn = {
    answer: { ...short, ...left('status') },
    steps: [
      { afterMs: 0, set: { ...short, status: 'active' } },
      { afterMs: 20_000, set: left('status') as { status?: string } },
      { afterMs: 40_000, set: { status: 'completed' } },
    ],
  };
  await using sim = await simulate({
    with: { wait: true },
    agent: { jobs: [{ id: JOB, base, turns: [turn] }] },
  });
  const result = await sim.runHere();
  expect(result.outputs).toMatchObject({ result: 'completed', confirmed: 'true' });
  expect(JSON.parse(result.outputs.results ?? '')).toMatchObject([
    { jobId: JOB, status: 'completed', prLink: PR_LINK, model: 'opus', source },
  ]);
  for (const text of [result.summary, commentTexts(sim.github).at(-1)]) {
    expect(text).toContain('octo/docs#1');
    expect(text).not.toContain('no pull request');
  }
});

it('keeps the last known status in a time-out', async () => {
  await using sim = await simulate({
    with: { wait: true, 'timeout-minutes': '1' },
    agent: {
      onGet(n) {
        const statuses = ['completed', 'active', 'active'];
        return { body: { id: JOB, ...(statuses[n - 1] && { status: statuses[n - 1] }) } };
      },
    },
  });
  const result = await sim.runHere();
  expect(result.outputs).toMatchObject({ result: 'timed-out', status: 'active' });
  expect(errors(result)).toEqual([expect.stringContaining('Its status is active')]);
});

it('logs each change and, during a long wait, a line a minute', async () => {
  const { result } = await wait(job({}, at(0, 'active'), at(900, 'completed')));
  const lines = result.stdout
    .split('\n')
    .filter((line) => /is active; time-out in .*\.$/.test(line));
  expect(lines.length).toBeGreaterThan(10);
  expect(lines.length).toBeLessThan(16);
  expect(new Set(lines).size).toBe(lines.length);
});

it('says nothing of changes if the pull request is another one', async () => {
  const link = (number: number): string => `https://github.com/octo/agents/pull/${number}`;
  const turn = {
    steps: [at(0, 'active'), { afterMs: 9000, set: { status: 'completed', prLink: link(8) } }],
  };
  await using sim = await simulate({
    with: { wait: true },
    agent: { jobs: [{ id: JOB, base: { prLink: link(7) }, turns: [turn] }] },
    github: {
      issues: [
        { number: 7, pullRequest: true },
        { number: 8, pullRequest: true, commits: ['b'.repeat(40)] },
      ],
    },
  });
  const { summary } = await sim.runHere();
  expect(summary).toContain('octo/agents#8');
  expect(summary).not.toMatch(/commits|rewritten|created|changed/i);
});
