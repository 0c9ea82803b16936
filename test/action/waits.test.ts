import { expect, it } from 'vitest';
import type { AgentOptions, JobScript, TurnScript } from '../sim/agent.ts';
import { commentTexts, errors, JOB, simulate, warnings } from './scenario.ts';

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

it.each<[string, Record<string, string>, string, readonly string[], readonly string[]]>([
  ['failed', { 'fail-on': 'none' }, 'success', [], [`Job ${JOB}: The agent gave no reason`]],
])('a job that %s, with %j: %s', async (status, inputs, conclusion, failures, others) => {
  const script = job({}, at(1, 'active'), at(30, status));
  const { result } = await wait({ jobs: [script] }, inputs);
  expect(result.conclusion).toBe(conclusion);
  expect(result.outputs).toMatchObject({ result: status, status, confirmed: 'true' });
  expect(errors(result)).toEqual(failures.map((text) => expect.stringContaining(text)));
  expect(warnings(result)).toEqual(others.map((text) => expect.stringContaining(text)));
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
