import type { JobScript } from '../agent.ts';
import { ALICE, push, type WebhookEvent } from '../events.ts';
import type { CommitChanges } from '../github/repository.ts';
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
  /** For people who have not read the code. */
  readonly title: string;
  /** What is new in it. */
  readonly about: string;
  /** Whether the terminal leaves it to the page. */
  readonly isOnPageOnly?: boolean;
  /** Whether the terminal shows the message that reaches the agent. */
  readonly showsMessage?: boolean;
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
    title: 'A change of the code is merged, and the agent gets a job',
    about:
      'A workflow asks the agent to update the docs. The agent opens the pull request #42, where a comment names the job.',
    trigger: {
      kind: 'event',
      event: { ...MERGED, payload: { ...MERGED.payload, compare: COMPARE } },
      by: ALICE.login,
    },
    file: 'create-a-job',
  },
  {
    title: 'A person reviews the pull request',
    about: 'The agent gets the whole review as one message, with its inline comments.',
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
  {
    ...failure(
      0,
      'A check fails',
      'Nobody has to ask: the agent gets the annotations and the log of what failed.',
    ),
    ...{ isOnPageOnly: false, showsMessage: true },
  },
  failure(1, 'It fails again', 'The agent has fixed one link, but there are more.'),
  failure(2, 'It fails a third time', 'This is the last message in a row without a person.'),
  failure(3, 'It fails a fourth time', 'A new comment asks for a person, and GitHub mails it.'),
  failure(3, 'It fails once more on the same commit', 'Nothing is said twice.'),
  {
    title: 'A person writes a command',
    about:
      'With the words, the agent gets what fails on the pull request now, what people have said since, and links of open threads.',
    showsMessage: true,
    trigger: {
      kind: 'comment',
      by: 'rita',
      body: '/agent there is no page about error 429: link the table of error codes',
    },
    file: 'loop',
  },
  {
    title: 'The check passes, and the pull request is merged',
    about:
      'There is nothing to do for the agent. The merge changes only docs, so it starts no new job.',
    trigger: { kind: 'checks', by: AGENT, conclusion: 'success' },
    file: 'loop',
  },
];

export const story = {
  title: 'A pull request of the agent, from its first request to its merge',
  setup: [
    `The repository ${REPOSITORY} has the workflows create-a-job.yml and loop.yml, as they are in examples/.`,
    'alice and rita have write access. The agent takes a minute for each message, and its first three',
    'fixes of broken links are not enough.',
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
  /** The commits that the agent adds because of the n-th message. */
  commits: [
    [],
    [
      { message: 'Show the request of each error', files: ['docs/errors.mdx'] },
      { message: 'Say what 429 means', files: ['docs/limits.mdx'] },
      { message: 'Link the errors from the guide to retries', files: ['docs/guides/retries.mdx'] },
    ],
    ...BROKEN.slice(0, 3).map((page) => [
      { message: `Fix the link to ${page}`, files: ['docs/errors.mdx'] },
    ]),
    [
      { message: 'Add the table of error codes', files: ['docs/errors/codes.mdx'] },
      { message: 'Link it from the page about errors', files: ['docs/errors.mdx'] },
    ],
  ] satisfies readonly (readonly CommitChanges[])[],
  /** Virtual seconds per real second. */
  pace: 120,
  runs: RUNS,
};

function failure(fixed: number, title: string, about: string): Run {
  return {
    title,
    about,
    isOnPageOnly: true,
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
  const annotations = pages.map((page, index) => {
    return { path: 'docs/errors.mdx', line: 14 * (index + 1), message: `broken link ${page}` };
  });
  return {
    name: 'links',
    annotations: [...annotations, { message: 'Process completed with exit code 1.' }],
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
