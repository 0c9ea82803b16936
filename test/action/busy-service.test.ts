import { expect, it } from 'vitest';
import { turnTo } from '../sim/agent.ts';
import { pullRequest } from '../sim/events.ts';
import { JOB, PULL, simulate } from './scenario.ts';

it('a message is sent again after a rate limit, and the comment shows the result', async () => {
  await using sim = await simulate({
    with: { prompt: 'Add examples.', wait: true },
    agent: {
      // The job before the message, and what the agent makes of it.
      jobs: [{ id: JOB, base: { status: 'completed' }, turns: [turnTo('failed', 1_200_000)] }],
      // The API answers the first POST with 429. Without a return value, it responds as usual.
      onPost: (n) => (n === 1 ? { status: 429, headers: { 'retry-after': '20' } } : undefined),
    },
    step: { event: pullRequest({ number: PULL }) },
  });

  const result = await sim.run();

  expect(result.conclusion).toBe('failure');
  expect(result.outputs).toMatchObject({ result: 'failed', delivery: 'sent', confirmed: 'true' });
  expect(sim.agent.posts()).toHaveLength(2);
  expect(sim.agent.accepted()).toMatchObject([{ jobId: JOB, prompt: 'Add examples.' }]);
  expect(sim.time.elapsed()).toBeGreaterThan(1_220_000);
  expect(result.errors).toEqual([expect.stringContaining(JOB)]);
  expect(sim.commentTexts().at(-1)).toContain('Agent failed');
});
