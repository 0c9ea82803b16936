import type { JobScript } from '../agent.ts';
import { schedule } from '../events.ts';
import { atRest, cameTo, linkTo, REPOSITORY, type Story, turn } from './story.ts';

const JOBS: readonly JobScript[] = [
  { id: 'job_install', base: atRest(51), turns: [turn(5000, 130_000)] },
  {
    id: 'job_quickstart',
    base: atRest(null, 'failed'),
    turns: [turn(5000, 260_000, { prLink: linkTo(56) })],
  },
  { id: 'job_webhooks', base: atRest(52), turns: [turn(5000, 190_000, { status: 'failed' })] },
  { id: 'job_billing', base: atRest(53, 'active') },
  { id: 'job_glossary', base: atRest(54, 'archived') },
  { id: 'job_sdk', base: atRest(55), turns: [turn(5000, 420_000)] },
];

export const story: Story = {
  title: 'A nudge on a schedule',
  starts: [
    'Agent service: six jobs, each with a pull request of its own, but for one that failed earlier.',
    '               One is at work, one is archived. Of the other four, three will complete.',
    `GitHub:        repository ${REPOSITORY} with the pull requests #51 to #56.`,
  ],
  agent: { jobs: JOBS },
  github: {
    issues: [51, 52, 53, 54, 55, 56].map((number) => ({ number, pullRequest: true })),
  },
  pace: 60,
  runs: [
    {
      title: 'Monday, 6:00',
      about:
        'One step sends the message to those jobs of a list that have come to rest, and waits.',
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
    'The four jobs that had come to rest got one message each, the other two none.':
      agent.posts().length === 4 &&
      ['job_billing', 'job_glossary'].every((id) => agent.accepted(id).length === 0),
    'Three completed and one failed, which fails the step once all are done.': cameTo(
      result,
      'failure',
      { result: 'failed', delivery: 'sent', confirmed: 'true' },
    ),
    'Each of the four was told of on its own pull request, also the one that was new.':
      [51, 52, 55, 56].every((number) => github.comments(number).length === 1) &&
      [53, 54].every((number) => github.comments(number).length === 0),
  }),
  lesson: [
    'One runner waits for all of them, and no job holds up another. The step fails if any job did;',
    'with "fail-on: none" a failed job leaves it green; the output "results" tells what became of each.',
    'No event names a conversation here, so the comments stand on the pull requests of the jobs:',
    'there a workflow for /agent need not name the job any more.',
  ],
};
