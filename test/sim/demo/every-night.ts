import type { JobScript } from '../agent.ts';
import { schedule } from '../events.ts';
import {
  endedWith,
  example,
  idleJob,
  linkTo,
  REPOSITORY,
  type Scenario,
  turn,
} from './scenario.ts';

const JOBS: readonly JobScript[] = [
  { id: 'job_install', base: idleJob(51, 'failed'), turns: [turn(5000, 130_000)] },
  {
    id: 'job_quickstart',
    base: idleJob(null, 'failed'),
    turns: [turn(5000, 260_000, { prLink: linkTo(56) })],
  },
  {
    id: 'job_webhooks',
    base: idleJob(52, 'failed'),
    turns: [turn(5000, 190_000, { status: 'failed' })],
  },
  { id: 'job_billing', base: idleJob(53, 'active') },
  { id: 'job_glossary', base: idleJob(54) },
  { id: 'job_sdk', base: idleJob(55, 'failed'), turns: [turn(5000, 420_000)] },
];

export const scenario: Scenario = {
  title: 'Every night',
  setup: [
    'API:    six jobs. One is active, one is completed. Of the other four, which failed, three will',
    '        complete. Each has a pull request, except one of those that failed.',
    `GitHub: repository ${REPOSITORY} with the pull requests #51 to #56.`,
  ],
  agent: { jobs: JOBS },
  github: {
    issues: [51, 52, 53, 54, 55, 56].map((number) => ({ number, pullRequest: true })),
    collaborators: {},
  },
  pace: 60,
  vars: { AGENT_JOBS: JOBS.map(({ id }) => id).join(',') },
  runs: [
    {
      title: 'The workflow of the README',
      about: 'One step sends the message to the failed jobs of a list, and waits.',
      trigger: { kind: 'event', event: schedule({ repository: REPOSITORY }) },
      ...example('every-night'),
    },
  ],
  check: ({ agent, github, results: [result] }) => ({
    'The four failed jobs got one message each, the other two none.':
      agent.posts().length === 4 &&
      ['job_billing', 'job_glossary'].every((id) => agent.accepted(id).length === 0),
    'Three jobs completed and one failed again, so the step fails after all are done.': endedWith(
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
