import type { JobScript } from '../agent.ts';
import { ALICE, pullRequest } from '../events.ts';
import {
  endedWith,
  idleJob,
  oneStep,
  REPOSITORY,
  type Run,
  type Scenario,
  turn,
} from './scenario.ts';

const BUSY = { id: 'job_busy', base: idleJob(60), turns: [turn(8000, 90_000)] };
// Later than the action stops polling for a message that may have arrived.
const LOST = { id: 'job_lost', base: idleJob(61), turns: [turn(45_000, 150_000)] };
const SLOW = { id: 'job_slow', base: idleJob(62), turns: [turn(5000, 3_600_000)] };

export const scenario: Scenario = {
  title: 'An unreliable API',
  setup: [
    'API:    refuses the first message (429 with Retry-After: 40); closes the connection of the third',
    '        message right after it accepts the message. The agent takes an hour for the last one.',
    `GitHub: repository ${REPOSITORY} with alice's pull requests #60 to #62.`,
  ],
  agent: {
    jobs: [BUSY, LOST, SLOW],
    onPost(n) {
      if (n === 1) return { status: 429, headers: { 'retry-after': '40' }, body: BUSY_RESPONSE };
      return n === 3 ? { fault: 'reset', accept: true } : undefined;
    },
  },
  github: {
    issues: [60, 61, 62].map((number) => ({ number, pullRequest: true })),
    collaborators: { alice: { id: ALICE.id, permission: 'write' } },
  },
  pace: 60,
  runs: [
    run('The API accepts no messages for now', BUSY, 60, {
      about: 'It returns 429 and Retry-After. It has certainly not accepted the message.',
    }),
    run('The connection is lost', LOST, 61, {
      about:
        'The message was written, but no response arrived. The API may have accepted it or not.',
    }),
    run('A re-run', LOST, 61, {
      about: 'Someone clicks "Re-run jobs". The comment says that the message may have arrived.',
      attempt: 2,
    }),
    run('The agent takes too long', SLOW, 62, {
      about: 'The step waits for at most 5 minutes.',
      with: { 'timeout-minutes': 5 },
    }),
  ],
  check: ({ agent, results: [busy, lost, again, slow] }) => ({
    'After the 429 the message was sent again, and accepted once.':
      agent.accepted(BUSY.id).length === 1 && endedWith(busy, 'success', { result: 'completed' }),
    'After the lost connection it was not sent again, and its delivery is unknown.': endedWith(
      lost,
      'failure',
      { result: 'error', delivery: 'unknown' },
    ),
    'The re-run did not send it again either, and said what to do.':
      agent.accepted(LOST.id).length === 1 &&
      agent.posts().length === 4 &&
      endedWith(again, 'failure', { result: 'error', delivery: 'unknown' }),
    'The wait timed out after 5 minutes.': endedWith(slow, 'failure', {
      result: 'timed-out',
      delivery: 'sent',
    }),
  }),
  lessons: [
    'The action sends a message again only if the API has certainly not accepted it. If that is',
    'uncertain, the step fails with the output delivery=unknown. A re-run does not send it again',
    'either, because the comment says what may have been sent. After a time-out the agent keeps',
    'working; to continue to wait, start another run with "send: false" and "wait: true".',
  ],
};

const BUSY_RESPONSE = { error: 'Rate limit exceeded' };

function run(
  title: string,
  { id }: JobScript,
  number: number,
  more: Pick<Run, 'about' | 'attempt'> & { readonly with?: Parameters<typeof oneStep>[0] },
): Run {
  const { with: given, ...others } = more;
  const event = pullRequest({ number, repository: REPOSITORY });
  return {
    title,
    ...others,
    trigger: { kind: 'event', event, by: ALICE.login },
    ...oneStep({ 'job-id': id, prompt: 'Add error handling examples.', wait: true, ...given }),
  };
}
