import { ALICE, pullRequest } from '../events.ts';
import { endedWith, idleJob, linkTo, REPOSITORY, type Scenario, turn } from './scenario.ts';

const JOB = 'job_8f41c2';
/** The pull request of the agent, and that of alice. */
const [OWN, OTHER] = [42, 57];
/** For that many polls, the agent is at work on an earlier message. */
const BUSY_POLLS = 40;

export const scenario: Scenario = {
  title: 'A pull request is opened',
  setup: [
    `API:    job ${JOB} has created pull request #${OWN}. At first, the agent is at work on an earlier`,
    '        message. It starts on ours after 8 s, and is done after 150 s.',
    `GitHub: repository ${REPOSITORY} with #${OWN} and with #${OTHER} by alice, who has write access.`,
  ],
  agent: {
    jobs: [{ id: JOB, base: idleJob(OWN), turns: [turn(8000, 150_000)] }],
    onGet: (n) =>
      n <= BUSY_POLLS ? { body: { id: JOB, status: 'active', prLink: linkTo(OWN) } } : undefined,
  },
  github: {
    issues: [OWN, OTHER].map((number) => ({ number, pullRequest: true })),
    collaborators: { alice: { id: ALICE.id, permission: 'write' } },
  },
  commits: [
    ['docs: describe the new option', 'docs: add an example', 'docs: update the reference'],
  ],
  pace: 30,
  runs: [
    {
      title: `alice opens #${OTHER}`,
      about: 'The first workflow of the README: it sends a message, and waits for the agent.',
      trigger: {
        kind: 'event',
        event: pullRequest({ number: OTHER, repository: REPOSITORY }),
      },
      with: {
        'job-id': JOB,
        prompt: `Update the docs for the changes in ${linkTo(OTHER)}.`,
        wait: true,
        'when-active': 'wait',
      },
    },
  ],
  check: ({ agent, github, results: [result] }) => ({
    'The message was sent once, after the earlier work was done, and the step is green.':
      agent.posts().length === 1 &&
      result?.log.includes('Waiting for earlier work') === true &&
      endedWith(result, 'success', { result: 'completed' }),
    'The action saw the agent at work on this message, and then done.': endedWith(
      result,
      'success',
      { confirmed: 'true' },
    ),
    'One comment shows the result, and links to the three commits of the agent.':
      github.comments(OTHER).length === 1 &&
      github.comments(OTHER)[0]?.body.includes('3 new commits') === true,
  }),
  lessons: [
    'With "when-active: wait", a message does not interrupt the work on an earlier one.',
    'The job was "completed" before the message and for 8 s after it. The action did not accept',
    'that status: it waited until the job was active, and then completed again.',
    'All outputs are always set; later steps read steps.<id>.outputs.result and .pr-link.',
  ],
};
