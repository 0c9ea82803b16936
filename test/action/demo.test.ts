import { expect, it } from 'vitest';
import { scenario } from '../sim/demo/every-night.ts';
import { play } from '../sim/demo/play.ts';
import { API_KEY } from '../sim/demo/scenario.ts';

// story.test.ts plays the other scenario of the demo.

it('every night, the failed jobs of a list get the message, and a comment on their pull requests', async () => {
  const { agent, runs, conversations } = await play(scenario);
  const [result] = runs.map((run) => run.result);
  expect(result).toMatchObject({ conclusion: 'failure', outputs: { result: 'failed' } });
  const ids = ['job_install', 'job_quickstart', 'job_sdk', 'job_webhooks'];
  expect(
    agent
      .accepted()
      .map(({ jobId }) => jobId)
      .toSorted(),
  ).toEqual(ids);
  expect(conversations.map(({ number }) => number)).toEqual([51, 52, 55, 56]);
  expect(JSON.stringify([result?.log, conversations])).not.toContain(API_KEY);
});
