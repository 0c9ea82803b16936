import type { JobScript } from '../agent.ts';
import { schedule } from '../events.ts';
import { endedWith, idleJob, linkTo, REPOSITORY, type Scenario, turn } from './scenario.ts';

const JOBS: readonly JobScript[] = [
  { id: 'job_install', base: idleJob(51), turns: [turn(5000, 130_000)] },
  {
    id: 'job_quickstart',
    base: idleJob(null, 'failed'),
    turns: [turn(5000, 260_000, { prLink: linkTo(56) })],
  },
  { id: 'job_webhooks', base: idleJob(52), turns: [turn(5000, 190_000, { status: 'failed' })] },
  { id: 'job_billing', base: idleJob(53, 'active') },
  { id: 'job_glossary', base: idleJob(54, 'archived') },
  { id: 'job_sdk', base: idleJob(55), turns: [turn(5000, 420_000)] },
];

export const scenario: Scenario = {
  title: 'A nudge on a schedule',
  setup: [
    'API:    six jobs. Each has a pull request, except one that failed before. One is active, one',
    '        is archived. Of the other four, three will complete.',
    `GitHub: repository ${REPOSITORY} with the pull requests #51 to #56.`,
  ],
  agent: { jobs: JOBS },
  github: {
    issues: [51, 52, 53, 54, 55, 56].map((number) => ({ number, pullRequest: true })),
    collaborators: {},
  },
  pace: 60,
  runs: [
    {
      title: 'Monday, 6:00',
      about: 'One step sends the message to the completed and failed jobs of a list, and waits.',
      trigger: { kind: 'event', event: schedule({ repository: REPOSITORY }) },
      with: {
        'job-id': JOBS.map(({ id }) => id).join('\n'),
        'only-when': 'completed, failed',
        prompt: 'Bring the pages up to date with the API of this week.',
        wait: true,
      },
      github: { actor: 'github-actions[bot]' },
    },
  ],
  check: ({ agent, github, results: [result] }) => ({
    'The four completed or failed jobs got one message each, the other two none.':
      agent.posts().length === 4 &&
      ['job_billing', 'job_glossary'].every((id) => agent.accepted(id).length === 0),
    'Three jobs completed and one failed, so the step fails after all are done.': endedWith(
      result,
      'failure',
      { result: 'failed', delivery: 'sent', confirmed: 'true' },
    ),
    'Each of the four pull requests has a comment, including the new one.':
      [51, 52, 55, 56].every((number) => github.comments(number).length === 1) &&
      [53, 54].every((number) => github.comments(number).length === 0),
  }),
  lessons: [
    'One runner waits for all jobs, and no job delays another. The step fails if any job fails; with',
    '"fail-on: none" it stays green, and the output "results" has the result of each job.',
    'A schedule has no pull request, so the comments are on the pull requests of the jobs. There, a',
    'workflow for /agent does not need job-id.',
  ],
};
