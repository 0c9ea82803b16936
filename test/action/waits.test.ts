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
    { body: { id: 'another', status: 'completed' } },
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
  ['failed', {}, 'failure', [`Job ${JOB}: The API does not say why the agent failed`], []],
  [
    'failed',
    { 'fail-on': 'none' },
    'success',
    [],
    [`Job ${JOB}: The API does not say why the agent failed`],
  ],
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
