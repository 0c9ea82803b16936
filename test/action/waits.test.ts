import { describe, expect, it } from 'vitest';
import { titleOf } from '../../src/labels.ts';
import type { AgentOptions, JobScript, Reply, TurnScript } from '../sim/agent.ts';
import { commentTexts, errors, JOB, LONG_TURN, simulate, warnings } from './scenario.ts';

const PR_LINK = 'https://github.com/octo/docs/pull/1';
const MINUTE = 60_000;

function job(base: JobScript['base'], ...steps: TurnScript['steps']): JobScript {
  return { id: JOB, base: base ?? {}, turns: [{ steps }] };
}
const at = (seconds: number, status: string) => ({ afterMs: seconds * 1000, set: { status } });

async function wait(
  agent: Partial<AgentOptions>,
  inputs: Record<string, string> = {},
  isBuilt = false,
) {
  await using sim = await simulate({ with: { wait: true, ...inputs }, agent });
  const result = await (isBuilt ? sim.run() : sim.runHere());
  return { result, sim, comments: commentTexts(sim.github) };
}

it('polls a job before the comment and before the message, and then until the agent is done', async () => {
  const script = job({ prLink: PR_LINK }, at(2, 'active'), at(300, 'completed'));
  const { result, sim, comments } = await wait({ jobs: [script] }, {}, true);
  expect(result.conclusion).toBe('success');
  expect(result.outputs).toMatchObject({
    ...{ result: 'completed', status: 'completed', delivery: 'sent', confirmed: 'true' },
    ...{ 'pr-link': PR_LINK, prLink: PR_LINK, reason: '' },
  });
  const methods = sim.agent.journal.slice(0, 4).map(({ method }) => method);
  expect(methods).toEqual(['GET', 'GET', 'POST', 'GET']);
  expect(sim.agent.posts()).toHaveLength(1);
  expect(sim.agent.gets().length).toBeLessThan(70);
  expect(comments[0]).toContain(titleOf('sending'));
  expect(comments[1]).toContain(titleOf('working'));
  expect(comments.at(-1)).toContain(titleOf('completed'));
  expect([...errors(result), ...warnings(result)]).toEqual([]);
  expect(result.summary).toContain(titleOf('completed'));
});

it('one hiccup of each kind ends nothing', async () => {
  const hiccups: readonly Reply[] = [
    ...[401, 403, 404, 407, 410, 503].map((status) => ({ status })),
    { status: 429, headers: { 'retry-after': '3600' } },
    { body: '<html>Sign in</html>', headers: { 'retry-after': '3600' } },
    { status: 302, headers: { location: 'https://portal.example/' } },
    { fault: 'reset' },
    { fault: 'hang' },
  ];
  const { result, sim } = await wait(
    {
      jobs: [{ id: JOB, turns: [LONG_TURN] }],
      // The first polls, and each second one after the message, are normal.
      onGet: (n) => (n > 2 && n % 2 === 1 ? hiccups[(n - 3) / 2] : undefined),
    },
    {},
    true,
  );
  expect(sim.agent.gets().length).toBeGreaterThan(2 + 2 * hiccups.length);
  expect(result.conclusion).toBe('success');
  expect(result.outputs).toMatchObject({ result: 'completed', confirmed: 'true', reason: '' });
  // However long the API asks to wait, the end is seen at most half a minute late.
  expect(result.virtualMs).toBeLessThan(900_000 + 40_000);
});

it('an outage is a line in the log, and then one a minute', async () => {
  await using sim = await simulate({
    with: { wait: true },
    agent: {
      jobs: [{ id: JOB, turns: [LONG_TURN] }],
      onGet: () => {
        const elapsed = sim.time.elapsed();
        return elapsed > MINUTE && elapsed < 6 * MINUTE ? { status: 503 } : undefined;
      },
    },
  });
  const { log, outputs } = await sim.runHere();
  expect(outputs).toMatchObject({ result: 'completed', confirmed: 'true' });
  expect(log.match(/^Polling failed\. The API answered 503/gm)).toHaveLength(1);
  const lines = log.match(/^Polling still fails; time-out in .*\.$/gm) ?? [];
  expect(lines.length).toBeGreaterThanOrEqual(3);
  expect(lines.length).toBeLessThanOrEqual(5);
});

it.each<[string, Record<string, string>, string, readonly string[], readonly string[]]>([
  ['failed', {}, 'failure', [`Job ${JOB}: The agent gave no reason`], []],
  ['failed', { 'fail-on': 'none' }, 'success', [], [`Job ${JOB}: The agent gave no reason`]],
  ['completed', { 'fail-on': 'completed' }, 'failure', [`Job ${JOB} is completed, which`], []],
])('a job that %s, with %j: %s', async (status, inputs, conclusion, failures, others) => {
  const script = job({}, at(1, 'active'), at(30, status));
  const { result } = await wait({ jobs: [script] }, inputs);
  expect(result.conclusion).toBe(conclusion);
  expect(result.outputs).toMatchObject({ result: status, status, confirmed: 'true' });
  expect(errors(result)).toEqual(failures.map((text) => expect.stringContaining(text)));
  expect(warnings(result)).toEqual(others.map((text) => expect.stringContaining(text)));
});

describe('at the deadline', () => {
  it('the wait stops after a last poll', async () => {
    const script = job({}, at(1, 'active'));
    const inputs = { 'timeout-minutes': '10' };
    const { result, sim } = await wait({ jobs: [script] }, inputs, true);
    expect(result.conclusion).toBe('failure');
    expect(result.outputs).toMatchObject({
      ...{ result: 'timed-out', status: 'active', delivery: 'sent', confirmed: 'false' },
    });
    expect(errors(result)).toEqual([expect.stringMatching(/within 10 min/)]);
    expect(result.virtualMs).toBeGreaterThanOrEqual(10 * MINUTE);
    expect(result.virtualMs).toBeLessThan(10 * MINUTE + 10_000);
    const [first, last] = [sim.agent.gets()[0]?.at ?? 0, sim.agent.gets().at(-1)?.at ?? 0];
    expect(last - first).toBeGreaterThan(595_000);
    expect(commentTexts(sim.github).join()).toContain(titleOf('timed-out'));
  });

  it.each<[string, Partial<AgentOptions>, object]>([
    [
      'a poll that hangs',
      { onGet: (n) => (n < 3 ? undefined : { fault: 'hang' }) },
      { result: 'timed-out', delivery: 'sent' },
    ],
    [
      'a message that hangs',
      {
        // It starts a few seconds before the deadline.
        onPost: (n) =>
          n === 1
            ? { status: 429, headers: { 'retry-after': '55' } }
            : { fault: 'hang', accept: true },
      },
      { result: 'error', delivery: 'unknown' },
    ],
  ])('%s ends the step at most 60 s later', async (_, agent, outputs) => {
    const { result } = await wait({ jobs: [{ id: JOB }], ...agent }, { 'timeout-minutes': '1' });
    expect(result.outputs).toMatchObject(outputs);
    expect(result.virtualMs).toBeGreaterThan(MINUTE);
    // And the report.
    expect(result.virtualMs).toBeLessThan(2 * MINUTE + 5000);
  });

  it('the last known status counts', async () => {
    const statuses = ['completed', 'completed', 'active', 'active'];
    const { result } = await wait(
      {
        jobs: [],
        onGet: (n) => ({
          body: { id: JOB, ...(statuses[n - 1] && { status: statuses[n - 1] }) },
        }),
        onPost: () => ({ status: 202 }),
      },
      { 'timeout-minutes': '1' },
    );
    expect(result.outputs).toMatchObject({ result: 'timed-out', status: 'active' });
    expect(errors(result)).toEqual([expect.stringContaining('Its last known status is active')]);
  });
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
  const { result, comments } = await wait({ jobs: [{ id: JOB, base, turns: [turn] }] });
  expect(result.outputs).toMatchObject({ result: 'completed', confirmed: 'true' });
  expect(JSON.parse(result.outputs.results ?? '')).toMatchObject([
    { jobId: JOB, status: 'completed', prLink: PR_LINK, model: 'opus', source },
  ]);
  for (const text of [result.summary, comments.at(-1)]) {
    expect(text).toContain('octo/docs#1');
    expect(text).not.toContain('no pull request');
  }
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
  expect(summary).toContain(`[#8](${link(8)})`);
  expect(summary).not.toMatch(/commits|opened|finished/i);
});
