import { ALICE, pullRequest } from '../events.ts';
import { atRest, cameTo, REPOSITORY, type Story, turn } from './story.ts';

const JOB = 'job_8f41c2';
const PULL = 42;

export const story: Story = {
  title: 'A step on a pull request',
  starts: [
    `Agent service: job ${JOB} is completed, and made pull request #${PULL}. It takes up a message`,
    '               after 8 s and is done after 150 s.',
    `GitHub:        repository ${REPOSITORY} with pull request #${PULL}, where nobody commented yet.`,
    '               alice may write to it.',
  ],
  agent: {
    jobs: [
      {
        id: JOB,
        base: atRest(PULL),
        turns: [turn(8000, 150_000)],
      },
    ],
  },
  github: {
    issues: [{ number: PULL, pullRequest: true }],
    collaborators: { alice: { id: ALICE.id, permission: 'write' } },
  },
  pace: 30,
  runs: [
    {
      title: `alice pushes to #${PULL}`,
      about: 'The workflow sends a message to the job, and waits until the agent is done.',
      trigger: {
        kind: 'event',
        event: pullRequest({ number: PULL, action: 'synchronize', repository: REPOSITORY }),
      },
      with: {
        'job-id': JOB,
        prompt: 'Also add error handling examples to the pages that changed.',
        wait: true,
      },
    },
  ],
  check: ({ agent, github, results: [result] }) => ({
    'The message went out once, and the step is green.':
      agent.posts().length === 1 && cameTo(result, 'success', { result: 'completed' }),
    'The end belongs to this message: the action saw the job at work in between.': cameTo(
      result,
      'success',
      { confirmed: 'true' },
    ),
    'There is one comment, however often it was brought up to date.':
      github.comments(PULL).length === 1 && github.writes().length === 3,
  }),
  lesson: [
    'The job was already "completed" when the message went out, and for 8 s after that. The action',
    'did not take that for the answer: it waited until it saw the job at work, and then at rest.',
    'Every output is there on every path; later steps read steps.<id>.outputs.result and .pr-link.',
  ],
};
