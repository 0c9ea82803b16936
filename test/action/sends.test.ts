import { expect, it } from 'vitest';
import { JOB, KEY, PROJECT, simulate } from './scenario.ts';

it('without wait, polls a job once, and sends the message in one request', async () => {
  await using sim = await simulate();
  const result = await sim.run();

  expect(result.conclusion).toBe('success');
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
  expect(result.outputs).toMatchObject({
    ...{ result: 'sent', delivery: 'sent', status: 'active', confirmed: '', reason: '' },
    ...{ 'job-id': JOB, 'comment-url': sim.github.comments(7)[0]?.html_url },
  });
  expect(JSON.parse(result.outputs.results ?? '')).toEqual([
    expect.objectContaining({ jobId: JOB, result: 'sent', confirmed: null }),
  ]);
  expect([...result.errors, ...result.warnings]).toEqual([]);
  expect(sim.commentTexts().at(-1)).toContain('Message sent to the agent');
});

it.each([
  ['a wrong key', { 'api-key': 'mint_wrong' }],
  ['an unknown job', { 'job-id': 'job-9' }],
  ['a wrong host', { 'base-url': 'http://localhost:1' }],
])('%s ends the run before there is a comment', async (_, inputs) => {
  await using sim = await simulate({ with: inputs });
  const { outputs } = await sim.runHere();
  expect(outputs).toMatchObject({ result: 'error', delivery: 'not-sent', 'comment-url': '' });
  expect(sim.github.writes()).toEqual([]);
});
