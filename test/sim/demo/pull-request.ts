import { ALICE, pullRequest } from '../events.ts';
import { endedWith, idleJob, REPOSITORY, type Scenario, turn } from './scenario.ts';

const JOB = 'job_8f41c2';
const PULL = 42;

export const scenario: Scenario = {
  title: 'A step on a pull request',
  setup: [
    `API:    job ${JOB} is completed and has created pull request #${PULL}. The agent starts on a`,
    '        message after 8 s and is done after 150 s.',
    `GitHub: repository ${REPOSITORY} with pull request #${PULL}, which has no comments yet. alice has`,
    '        write access.',
  ],
  agent: {
    jobs: [
      {
        id: JOB,
        base: idleJob(PULL),
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
    'The message was sent once, and the step is green.':
      agent.posts().length === 1 && endedWith(result, 'success', { result: 'completed' }),
    'The final status belongs to this message: the action saw the job active before.': endedWith(
      result,
      'success',
      { confirmed: 'true' },
    ),
    'The action wrote one comment and updated it.':
      github.comments(PULL).length === 1 && github.writes().length === 3,
  }),
  lessons: [
    'The job was already "completed" before the message and for 8 s after it. The action did not',
    'accept that status: it waited until the job was active, and then completed again.',
    'All outputs are always set; later steps read steps.<id>.outputs.result and .pr-link.',
  ],
};
