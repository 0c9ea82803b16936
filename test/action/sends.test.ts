import { expect, it } from 'vitest';
import { JOB, KEY, PROJECT, simulate } from './scenario.ts';

it('without wait, polls a job once, and sends the message in one request', async () => {
  await using sim = await simulate();
  const { outputs, conclusion, annotations } = await sim.run();
  expect([conclusion, annotations]).toEqual(['success', []]);
  const [poll, post, ...others] = sim.agent.journal;
  expect(others).toEqual([]);
  expect(poll).toMatchObject({ method: 'GET', path: `/v2/agent/${PROJECT}/job/${JOB}` });
  expect(post).toMatchObject({
    method: 'POST',
    path: `/v2/agent/${PROJECT}/job/${JOB}/message`,
    body: '{"prompt":"Add error handling examples."}',
    headers: {
      authorization: `Bearer ${KEY}`,
      'content-type': 'application/json',
      'accept-encoding': 'identity',
      'user-agent': expect.stringMatching(/^agent-follow-up\/\d+\.\d+\.\d+$/),
    },
  });
  expect(outputs).toMatchObject({
    ...{ result: 'sent', delivery: 'sent', status: 'active', confirmed: '', reason: '' },
    ...{ 'job-id': JOB, 'comment-url': sim.github.comments(7)[0]?.html_url },
  });
  const results = JSON.parse(outputs.results ?? '');
  expect(results).toMatchObject([{ jobId: JOB, result: 'sent', confirmed: null }]);
  expect(sim.commentTexts().at(-1)).toContain('Message sent to the agent');
});
