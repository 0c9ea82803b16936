import type { JobScript } from '../agent.ts';
import { ALICE, push, type WebhookEvent } from '../events.ts';
import type { InlineOptions } from '../github/reviews.ts';
import type { RunJobOptions } from '../github/runs.ts';

// What the README is about: the pull request of the agent, until it is merged. The action, its process and every request
// are real; the servers are simulated.

export const REPOSITORY = 'octo/docs';
export const PROJECT = 'docs';
export const API_KEY = 'mint_demo_0123456789abcdef';
export const JOB = 'job_8f41c2';
export const PULL = 42;
const PAGE = `https://github.com/${REPOSITORY}`;
export const COMPARE = `${PAGE}/compare/1f2e3d4...5a6b7c8`;
const AGENT = 'mintlify[bot]';
const MERGED = push({ repository: REPOSITORY });
/** Links that the checks find broken. The agent fixes one for each message. */
const BROKEN = ['/guides/retries', '/reference/errors', '/errors#codes', '/errors#429'];

export interface Run {
  readonly title: string;
  /** What happens before the run, or why it runs. */
  readonly about: string;
  readonly trigger: Trigger;
  /** The workflow in examples/, without `.yml`. */
  readonly file: string;
}

/** Who triggers the run. */
export type Trigger =
  | { readonly kind: 'event'; readonly event: WebhookEvent; readonly by: string }
  /** Someone writes a comment or submits a review. */
  | Written
  /** Checks of the newest commit of the pull request have ended. */
  | {
      readonly kind: 'checks';
      readonly by: string;
      readonly conclusion: string;
      /** What the job that failed has written. */
      readonly failed?: RunJobOptions;
    };

export interface Written {
  readonly kind: 'comment' | 'review';
  readonly by: string;
  readonly body: string;
  /** Of a review. */
  readonly inline?: readonly InlineOptions[];
}

const RUNS: readonly Run[] = [
  {
    title: 'alice merges a change of the code',
    about: 'create-a-job.yml creates a job. The agent opens #42, which gets a comment.',
    trigger: {
      kind: 'event',
      event: { ...MERGED, payload: { ...MERGED.payload, compare: COMPARE } },
      by: ALICE.login,
    },
    file: 'create-a-job',
  },
  {
    title: 'rita reviews the pull request',
    about: 'loop.yml has no job-id: the comment names the job.',
    trigger: {
      kind: 'review',
      by: 'rita',
      body: '/agent good start, see below',
      inline: [
        { path: 'docs/errors.mdx', line: 12, body: 'Show the request as well.' },
        { path: 'docs/errors.mdx', line: 40, body: 'Link the guide to retries here.' },
        { path: 'docs/limits.mdx', line: 7, body: 'What does 429 mean?' },
      ],
    },
    file: 'loop',
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
      by: 'rita',
      body: '/agent there is no page about error 429: link the table of error codes',
    },
    file: 'loop',
  },
  {
    title: 'The checks pass',
    about: 'alice merges #42. It changes only docs/, so create-a-job.yml does not run.',
    trigger: { kind: 'checks', by: AGENT, conclusion: 'success' },
    file: 'loop',
  },
];

export const story = {
  title: 'The pull request of the agent, from a merge to a merge',
  setup: [
    'API:    the agent takes a minute for each message. Its first three fixes of the broken links are',
    '        not enough.',
    `GitHub: repository ${REPOSITORY}, in which alice and rita have write access. Its workflows are`,
    '        create-a-job.yml and loop.yml, as in examples/.',
  ],
  job: {
    id: JOB,
    base: { status: 'active', source: { repository: PAGE, ref: 'main' } },
    turns: [
      {
        steps: [
          { afterMs: 0, set: { status: 'active' } },
          { afterMs: 60_000, set: { status: 'completed', prLink: `${PAGE}/pull/${PULL}` } },
        ],
      },
      {
        steps: [
          { afterMs: 4000, set: { status: 'active' } },
          { afterMs: 60_000, set: { status: 'completed' } },
        ],
      },
    ],
  } satisfies JobScript,
  collaborators: {
    alice: { id: ALICE.id, permission: 'write' },
    rita: { id: 2001, permission: 'write' },
  } as const,
  /** How many commits the agent adds because of the n-th message. */
  commits: [0, 3, 1, 1, 1, 2],
  /** Virtual seconds per real second. */
  pace: 120,
  runs: RUNS,
};

function failure(fixed: number, title: string, about: string): Run {
  return {
    title,
    about,
    trigger: {
      kind: 'checks',
      by: AGENT,
      conclusion: 'failure',
      failed: jobWith(BROKEN.slice(fixed)),
    },
    file: 'loop',
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
