import type { JobScript } from '../agent.ts';
import { ALICE, pullRequest } from '../events.ts';
import { atRest, cameTo, REPOSITORY, type Run, type Story, turn } from './story.ts';

const BUSY = { id: 'job_busy', base: atRest(60), turns: [turn(8000, 90_000)] };
// Later than the action looks for a message of which nobody knows whether it arrived.
const LOST = { id: 'job_lost', base: atRest(61), turns: [turn(45_000, 150_000)] };
const SLOW = { id: 'job_slow', base: atRest(62), turns: [turn(5000, 3_600_000)] };

export const story: Story = {
  title: 'A bad day',
  starts: [
    'Agent service: refuses the first message, for 40 s (429 with Retry-After); cuts the connection',
    '               of the third message right after it took the message; needs an hour for the last.',
    `GitHub:        repository ${REPOSITORY} with alice's pull requests #60 to #62.`,
  ],
  agent: {
    jobs: [BUSY, LOST, SLOW],
    onPost(n) {
      if (n === 1) return { status: 429, headers: { 'retry-after': '40' }, body: BUSY_ANSWER };
      return n === 3 ? { fault: 'reset', accept: true } : undefined;
    },
  },
  github: {
    issues: [60, 61, 62].map((number) => ({ number, pullRequest: true })),
    collaborators: { alice: { id: ALICE.id, permission: 'write' } },
  },
  pace: 60,
  runs: [
    run('The service takes no message for now', BUSY, 60, {
      about: 'It answers 429 and says when to come back. It surely did not take the message.',
    }),
    run('The connection is lost', LOST, 61, {
      about: 'The message was written, and no answer came. Nobody can know whether it arrived.',
    }),
    run('The same run, once more', LOST, 61, {
      about:
        'Somebody presses "Re-run jobs". By now the agent takes up the message, which did arrive.',
      attempt: '2',
    }),
    run('The agent takes too long', SLOW, 62, {
      about: 'The step waits for 5 minutes at most.',
      with: { 'timeout-minutes': 5 },
    }),
  ],
  check: ({ agent, results: [busy, lost, again, slow] }) => ({
    'After the 429 the message was sent again, and taken once.':
      agent.accepted(BUSY.id).length === 1 && cameTo(busy, 'success', { result: 'completed' }),
    'After the lost connection it was not sent again, and the step says that nobody knows.': cameTo(
      lost,
      'failure',
      { result: 'error', delivery: 'unknown' },
    ),
    'Nor did the re-run send it again: it found that the message had arrived.':
      agent.accepted(LOST.id).length === 1 &&
      agent.posts().length === 4 &&
      cameTo(again, 'success', { result: 'completed', delivery: 'sent' }),
    'The wait ended in time, and the step says that the agent keeps working.': cameTo(
      slow,
      'failure',
      {
        result: 'timed-out',
        delivery: 'sent',
      },
    ),
  }),
  lesson: [
    'A message is sent again only where it is certain that the service did not take the first.',
    'In doubt the step fails with the output delivery=unknown, and does not send again; nor does a',
    're-run, for the comment remembers what was sent. After a time-out the agent keeps working, and a',
    'later run with "send: false" and "wait: true" goes on waiting.',
  ],
};

const BUSY_ANSWER = { error: 'Rate limit exceeded' };

function run(
  title: string,
  { id }: JobScript,
  number: number,
  more: Pick<Run, 'about'> & { readonly with?: Run['with']; readonly attempt?: string },
): Run {
  const { about, attempt = '1' } = more;
  return {
    title,
    about,
    trigger: { kind: 'event', event: pullRequest({ number, repository: REPOSITORY }) },
    with: { 'job-id': id, prompt: 'Add error handling examples.', wait: true, ...more.with },
    github: { run_id: `20${number}`, run_attempt: attempt },
  };
}
