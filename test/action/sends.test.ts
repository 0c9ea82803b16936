import { expect, it } from 'vitest';
import { HAS_LARGE_VARIABLES } from '../sim/platform.ts';
import { commentTexts, errors, JOB, KEY, PROJECT, stage, warnings } from './scenario.ts';

it('a send without waiting is exactly one request to the service', async () => {
  await using scene = await stage();
  const result = await scene.run();

  expect(result.conclusion).toBe('success');
  expect(scene.agent.journal).toHaveLength(1);
  const [post] = scene.agent.journal;
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
    result: 'sent',
    delivery: 'sent',
    status: 'active',
    confirmed: '',
    reason: '',
    'job-id': JOB,
    'comment-url': scene.github.comments(7)[0]?.html_url,
  });
  expect(JSON.parse(result.outputs.results ?? '')).toEqual([
    expect.objectContaining({ jobId: JOB, result: 'sent', confirmed: null, polls: 0 }),
  ]);
  expect([...errors(result), ...warnings(result)]).toEqual([]);
  expect(commentTexts(scene.github).at(-1)).toContain('Message sent to the agent');
});

it('a prompt goes out byte for byte', async () => {
  const prompt = '  "quotes" %0A \\n\r\n\t🚀 ${{ x }} ::error::no ##[add-mask]no\n';
  await using scene = await stage({ with: { prompt } });
  const result = await scene.runHere();

  expect(result.conclusion).toBe('success');
  expect(JSON.parse(scene.agent.posts()[0]?.body ?? '')).toEqual({ prompt });
});

it.runIf(HAS_LARGE_VARIABLES)('a prompt of 120 KiB goes out whole', async () => {
  const prompt = 'ä🚀x'.repeat(17_554);
  await using scene = await stage({ with: { prompt } });
  await scene.runHere();
  expect(JSON.parse(scene.agent.posts()[0]?.body ?? '')).toEqual({ prompt });
});

it('a base URL with a path and a trailing slash is joined once', async () => {
  await using scene = await stage({ agent: { pathPrefix: '/gateway/v0' } });
  const result = await scene.runHere({ with: { 'base-url': `${scene.agent.url}/` } });

  expect(result.outputs.result).toBe('sent');
  expect(scene.agent.posts()[0]?.path).toBe(`/gateway/v0/v2/agent/${PROJECT}/job/${JOB}/message`);
});
