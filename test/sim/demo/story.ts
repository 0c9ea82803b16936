import { ALICE, push } from '../events.ts';
import type { RunJobOptions } from '../github/runs.ts';
import {
  endedWith,
  example,
  idleJob,
  linkTo,
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
const MERGED = push({ repository: REPOSITORY });
/** Links that the checks find broken. The agent fixes one for each message. */
const BROKEN = ['/guides/retries', '/reference/errors', '/errors#codes', '/errors#429'];

export const scenario: Scenario = {
  title: 'The pull request of the agent, from a merge to a merge',
  setup: [
    'API:    the agent takes a minute for each message. Its first three fixes of the broken links are',
    '        not enough.',
    `GitHub: repository ${REPOSITORY}, in which alice and rita have write access. Its workflows are`,
    '        create-a-job.yml and loop.yml, as in examples/.',
  ],
  agent: {
    jobs: [],
    create: () => ({
      id: JOB,
      base: idleJob(null, 'active'),
      turns: [turn(0, 60_000, { prLink: linkTo(PULL) }), turn(4000, 60_000)],
    }),
  },
  github: {
    issues: [{ number: PULL, pullRequest: true, commits: [] }],
    collaborators: {
      alice: { id: ALICE.id, permission: 'write' },
      rita: { id: 2001, permission: 'write' },
    },
  },
  commits: [0, 3, 1, 1, 1, 2],
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
      about: 'loop.yml has no job-id: the comment names the job.',
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
      ...example('loop'),
    },
    failure(0, 'The checks fail', 'The message has the log of the step that failed.'),
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
      ...example('loop'),
    },
    {
      title: 'The checks pass',
      about: 'alice merges #42. It changes only docs/, so create-a-job.yml does not run.',
      trigger: { kind: 'checks', number: PULL, by: AGENT, conclusion: 'success' },
      ...example('loop'),
    },
  ],
  check: ({ agent, github, results }) => {
    const [created, reviewed, ...others] = results;
    const [fourth, same, command, passed] = others.slice(-4);
    const stops = github.comments(PULL).filter(({ body }) => body.includes('Limit reached'));
    const prompts = agent.accepted(JOB).map(({ prompt }) => prompt);
    return {
      'One step created the job, waited for it, and named it in a comment on #42.': endedWith(
        created,
        'success',
        { result: 'completed', delivery: 'sent', 'job-id': JOB },
      ),
      'The review was one message, with its three inline comments.':
        endedWith(reviewed, 'success', { result: 'completed', 'job-id': JOB }) &&
        ['Show the request', 'guide to retries', 'What does 429'].every((text) =>
          prompts[1]?.includes(text),
        ),
      'Three logs went out. Then one comment asked for a person.':
        prompts.filter((prompt) => prompt.includes('broken link')).length === 3 &&
        [fourth, same].every((one) => endedWith(one, 'success', { result: 'skipped' })) &&
        stops.length === 1,
      'The command went out, and the checks that passed started no runner.':
        endedWith(command, 'success', { result: 'completed' }) && passed === undefined,
      'The job was created once, and got five messages, each once.': agent.posts().length === 6,
    };
  },
  lessons: [
    'No workflow has a job-id: the comments of the action on the pull request name the job.',
    '👀: the command is accepted. 🎉: the agent is done. 😕: it failed.',
    'Checks, however often they fail, send three messages in a row at most. The number starts again',
    'with a command by a person.',
  ],
};

function failure(fixed: number, title: string, about: string): Run {
  return {
    title,
    about,
    trigger: {
      kind: 'checks',
      number: PULL,
      by: AGENT,
      conclusion: 'failure',
      failed: jobWith(BROKEN.slice(fixed)),
    },
    ...example('loop'),
  };
}

/** A job with its log, as GitHub has it: with times, marks and colors, and with the other steps. */
function jobWith(pages: readonly string[]): RunJobOptions {
  const at = (second: number): string => `2026-11-21T19:32:${String(second).padStart(2, '0')}`;
  const line = (second: number, text: string): string => `${at(second)}.1234567Z ${text}\n`;
  const broken = pages.map((page) =>
    line(5, `docs/errors.mdx: \x1b[31mbroken link\x1b[0m ${page}`),
  );
  return {
    name: 'links',
    steps: [
      {
        name: 'Install',
        conclusion: 'success',
        started_at: `${at(0)}Z`,
        completed_at: `${at(3)}Z`,
      },
      { name: 'Check links', started_at: `${at(4)}Z`, completed_at: `${at(6)}Z` },
    ],
    log: [
      line(1, 'added 231 packages'),
      line(4, '##[group]Run npm run links'),
      ...broken,
      line(6, '##[error]Process completed with exit code 1.'),
      line(6, 'Post job cleanup.'),
    ].join(''),
  };
}
