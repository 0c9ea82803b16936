import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { line, writePrompt } from '../../action/failed-checks.ts';
import { ALICE, push } from '../events.ts';
import { HAS_POSIX_SHELL } from '../platform.ts';
import {
  endedWith,
  example,
  idleJob,
  REPOSITORY,
  type Run,
  type Scenario,
  turn,
} from './scenario.ts';

// What the README is about: the pull request of the agent, until it is merged.

export const JOB = 'job_8f41c2';
export const PULL = 42;
export const COMPARE = `https://github.com/${REPOSITORY}/compare/1f2e3d4...5a6b7c8`;
const AGENT = 'mintlify[bot]';
/** For that many polls, the agent works on the first prompt. */
const BUSY_POLLS = 5;
const MERGED = push({ repository: REPOSITORY });
/** Links that the checks find broken. The agent fixes one for each message. */
const BROKEN = ['/guides/retries', '/reference/errors', '/errors#codes', '/errors#429'];

export const scenario: Scenario = {
  title: 'The pull request of the agent, from a merge to a merge',
  setup: [
    'API:    the agent takes a minute for each message. Its first three fixes of the broken links are',
    '        not enough.',
    `GitHub: repository ${REPOSITORY}, in which alice and rita have write access. Its workflows are`,
    '        create-a-job.yml, send-back.yml and fix-checks.yml, as in examples/.',
  ],
  agent: {
    jobs: [
      {
        id: JOB,
        base: idleJob(PULL),
        turns: [turn(4000, 60_000)],
      },
    ],
    onGet: (n) =>
      n <= BUSY_POLLS ? { body: { id: JOB, status: 'active', prLink: null } } : undefined,
  },
  github: {
    issues: [{ number: PULL, pullRequest: true, commits: [] }],
    collaborators: {
      alice: { id: ALICE.id, permission: 'write' },
      rita: { id: 2001, permission: 'write' },
    },
  },
  commits: [
    [
      'docs: show a request that fails',
      'docs: link the guide to retries',
      'docs: say what 429 means',
    ],
    ['docs: fix the link to the guide'],
    ['docs: fix the link to the reference'],
    ['docs: fix the link to the error codes'],
    ['docs: remove the link to error 429', 'docs: link the table of error codes'],
  ],
  pace: 120,
  runs: [
    {
      title: 'alice merges a change of the code',
      about: 'create-a-job.yml creates a job. The agent opens #42, which gets a comment.',
      trigger: {
        kind: 'event',
        event: { ...MERGED, payload: { ...MERGED.payload, compare: COMPARE } },
        by: ALICE.login,
      },
      ...example('create-a-job'),
    },
    {
      title: 'rita reviews the pull request',
      about: 'send-back.yml has no job-id: the comment names the job.',
      trigger: {
        kind: 'review',
        number: PULL,
        by: 'rita',
        body: '/agent good start, see below',
        inline: [
          { path: 'docs/errors.mdx', line: 12, body: 'Show the request as well.' },
          { path: 'docs/errors.mdx', line: 40, body: 'Link the guide to retries here.' },
          { path: 'docs/limits.mdx', line: 7, body: 'What does 429 mean?' },
        ],
      },
      ...example('send-back'),
    },
    failure(
      0,
      'The checks fail',
      'The message is the end of the log, as fix-checks.yml writes it.',
    ),
    failure(1, 'They fail again', 'The agent has fixed one link, but there are more.'),
    failure(2, 'They fail a third time', 'This is the last message in a row.'),
    failure(3, 'They fail a fourth time', 'A new comment asks for a person, who gets a mail.'),
    failure(3, 'Another check fails on the same commit', 'Nothing is said twice.'),
    {
      title: 'rita has looked',
      about: 'A command by a person goes out, and the messages in a row are counted anew.',
      trigger: {
        kind: 'comment',
        number: PULL,
        by: 'rita',
        body: '/agent there is no page about error 429: link the table of error codes',
      },
      ...example('send-back'),
    },
    {
      title: 'The checks pass',
      about: 'alice merges #42. It changes only docs/, so create-a-job.yml does not run.',
      trigger: { kind: 'checks', number: PULL, by: AGENT, conclusion: 'success' },
      ...example('fix-checks'),
    },
  ],
  script({ trigger }, { id }, env, workspace) {
    if (id === 'create') return { 'job-id': JOB };
    const log = trigger.kind === 'checks' ? (trigger.log ?? '') : '';
    const prompt = HAS_POSIX_SHELL
      ? writePrompt({ jobs: [{ name: 'links', log: line(log) }], env }).prompt
      : `Checks failed on commit ${env.COMMIT} of this pull request. Find out why, and fix it.\n`;
    writeFileSync(join(workspace, 'failed-checks.md'), prompt);
    return {};
  },
  check: ({ agent, github, results }) => {
    const [created, reviewed, ...others] = results;
    const [fourth, same, command, passed] = others.slice(-4);
    const stops = github.comments(PULL).filter(({ body }) => body.includes('Limit reached'));
    return {
      'The workflow that created the job sent no message, and named the job in a comment.':
        endedWith(created, 'success', { result: 'completed', delivery: 'not-sent' }),
      'The review was one message, with its three inline comments.':
        endedWith(reviewed, 'success', { result: 'completed', 'job-id': JOB }) &&
        ['Show the request', 'guide to retries', 'What does 429'].every((text) =>
          agent.accepted(JOB)[0]?.prompt.includes(text),
        ),
      'Three logs went out. Then one comment asked for a person.':
        [fourth, same].every((one) => endedWith(one, 'success', { result: 'skipped' })) &&
        stops.length === 1,
      'The command went out, and the checks that passed started no runner.':
        endedWith(command, 'success', { result: 'completed' }) && passed === undefined,
      'The agent got five messages, each once.': agent.posts().length === 5,
    };
  },
  lessons: [
    'No workflow has a job-id: the comments of the action on the pull request name the job.',
    '👀: the command is accepted. 🚀: the message is sent. 🎉: the agent is done. 😕: it failed.',
    'Checks, however often they fail, send three messages in a row at most. The number starts again',
    'with a command by a person.',
  ],
};

function failure(fixed: number, title: string, about: string): Run {
  const log = BROKEN.slice(fixed).map((page) => `docs/errors.mdx: broken link ${page}`);
  return {
    title,
    about,
    trigger: {
      kind: 'checks',
      number: PULL,
      by: AGENT,
      conclusion: 'failure',
      log: log.join('\n'),
    },
    ...example('fix-checks'),
  };
}
