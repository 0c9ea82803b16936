// `npm run demo`: the built action at work on a simulated service and a simulated GitHub, and
// everything that a user would see of it.

import { startAgent } from './agent.ts';
import { pullRequest } from './events.ts';
import { startGitHub } from './github.ts';
import { startStep, virtualTime } from './runner.ts';

const PROJECT = 'docs';
const JOB = 'job_8f41c2';
const PULL = 42;
const API_KEY = 'mint_demo_0123456789abcdef';
/** Seconds of the story in a second of the demo. */
const PACE = 30;

process.exitCode = (await playPullRequest()) ? 0 : 1;

async function playPullRequest(): Promise<boolean> {
  using time = virtualTime({ pace: PACE });
  await using agent = await startAgent({
    project: PROJECT,
    apiKey: API_KEY,
    clock: time,
    jobs: [
      {
        id: JOB,
        base: { status: 'completed', prLink: 'https://github.com/octo/docs/pull/42' },
        turns: [
          {
            steps: [
              { afterMs: 8000, set: { status: 'active' } },
              { afterMs: 150_000, set: { status: 'completed' } },
            ],
          },
        ],
      },
    ],
  });
  await using github = await startGitHub({
    repository: 'octo/docs',
    clock: time,
    issues: [{ number: PULL, pullRequest: true }],
  });

  heading('What is simulated');
  console.log(`The agent service  ${agent.url}: job ${JOB} is completed; it takes up a message`);
  console.log('                   after 8 s and is done after 150 s');
  console.log(`GitHub             ${github.apiUrl}: repository octo/docs, pull request #${PULL}`);
  console.log(`The runner         runs dist/index.js; ${PACE} s of the story take 1 s here`);

  heading('The log of the step, as it streams');
  const result = await startStep({
    event: pullRequest({ number: PULL, action: 'synchronize', repository: 'octo/docs' }),
    token: github.token,
    secrets: [API_KEY],
    github: {
      api_url: github.apiUrl,
      graphql_url: github.graphqlUrl,
      server_url: github.serverUrl,
      repository: github.repository,
      actor: 'alice',
      triggering_actor: 'alice',
    },
    with: {
      'project-id': PROJECT,
      'job-id': JOB,
      'api-key': API_KEY,
      prompt: 'Also add error handling examples to the pages that changed.',
      wait: true,
      'base-url': agent.url,
    },
    time,
    onLine: (line) => console.log(line),
  }).result;

  heading('The outputs');
  for (const [name, value] of Object.entries(result.outputs)) console.log(`${name}=${value}`);
  heading(`The comment on #${PULL}`);
  console.log(
    github
      .comments(PULL)
      .map(({ body }) => body.replace(/^<!--.*?-->\n/, ''))
      .join('\n'),
  );
  heading('The job summary');
  console.log(result.summary);
  heading('What went over the wire');
  console.log(`To the service: ${agent.posts().length} message, ${agent.gets().length} looks`);
  console.log(`To GitHub: ${github.writes().length} writes of one comment`);

  const good =
    result.conclusion === 'success' &&
    result.outputs.outcome === 'completed' &&
    agent.accepted(JOB).length === 1 &&
    github.comments(PULL).length === 1;
  heading(good ? 'It worked' : `It did not work: the step ended in ${result.conclusion}`);
  return good;
}

function heading(text: string): void {
  console.log(`\n=== ${text} ${'='.repeat(Math.max(3, 76 - text.length))}\n`);
}
