import type { JobScript, PostReply, Reply, TurnScript } from '../agent.ts';
import type { Json, WebhookEvent } from '../events.ts';
import { ALICE, push, schedule, workflowDispatch } from '../events.ts';
import type { CommitChanges } from '../github/repository.ts';
import type { InlineOptions } from '../github/reviews.ts';
import type { AnnotationOptions, RunJobOptions } from '../github/runs.ts';

// What the README is about: the pull request of the agent, in two weeks from its first request to its merge. The
// action and every request are real; the servers are simulated.

export const REPOSITORY = 'octo/docs';
export const PROJECT = 'docs';
export const API_KEY = 'mint_demo_0123456789abcdef';
export const JOB = 'job_8f41c2';
export const PULL = 42;
/** A command there makes a job of its own, which opens the pull request `OTHER_PULL`. */
export const ISSUE = 57;
export const OTHER_JOB = 'job_b27d90';
export const OTHER_PULL = 58;
/** Whose checks fail, and in whose name the agent pushes. */
export const APP = 'mintlify[bot]';
const PAGE = `https://github.com/${REPOSITORY}`;
export const COMPARE = `${PAGE}/compare/1f2e3d4...5a6b7c8`;
const MERGED = push({ repository: REPOSITORY });
/** Links that the checks find broken. The agent fixes one for each message. */
const BROKEN = ['/guides/retries', '/reference/errors', '/errors#codes', '/errors#429'];
const MINUTE = 60_000;

/** A part of the story, and what the agent, the API and GitHub do then. */
export interface Run {
  /** For people who have not read the code. */
  readonly title: string;
  /** What is new in it. */
  readonly about?: string;
  readonly trigger: Trigger;
  /** Of the message; missing if the agent gets none. */
  readonly work?: Work;
  /** What the API answers: to each request for a status, and to the message. */
  readonly api?: { readonly get?: Reply; readonly post?: PostReply };
  /** Whether the pull request is merged afterwards. */
  readonly merges?: boolean;
}

/** Who triggers the run, and how. */
export type Trigger =
  | {
      readonly kind: 'event';
      readonly event: WebhookEvent;
      readonly by: string;
      readonly file: string;
    }
  /** Someone writes a comment, replies in the newest thread or submits a review. */
  | Written
  /** Checks of the newest commit of the pull request have ended. */
  | Checks
  | {
      readonly kind: 'check of an app';
      readonly name: string;
      readonly title: string;
      readonly annotations: readonly AnnotationOptions[];
    }
  /** Someone runs the last workflow again. */
  | { readonly kind: 're-run'; readonly by: string };

export interface Written {
  readonly kind: 'comment' | 'reply' | 'review';
  readonly by: string;
  readonly body: string;
  /** Of a review. */
  readonly inline?: readonly InlineOptions[];
  /** Of a reply: that of its thread. */
  readonly place?: { readonly path: string; readonly line: number };
  /** Default: the pull request. */
  readonly on?: number;
}

interface Checks {
  readonly kind: 'checks';
  readonly conclusion: string;
  /** What the job that failed has written. */
  readonly failed?: RunJobOptions;
  /** Another workflow, which has failed on this commit, too: before, or `isTrigger`. */
  readonly other?: typeof DEPLOY & { readonly isTrigger?: boolean };
  /** Whether it has passed since, in its second attempt. */
  readonly hasPassed?: boolean;
}

export interface Work {
  /** Those that it adds because of the message. */
  readonly commits?: readonly CommitChanges[];
  /** Those that it adds after the run. */
  readonly late?: readonly CommitChanges[];
  readonly minutes?: number;
  readonly status?: string;
  /** The pull request of a new job. */
  readonly opens?: number;
}

const DEPLOY = {
  name: 'Deploy preview',
  job: failingJob('deploy', ['error: the token of the host has expired']),
};

const RUNS: readonly Run[] = [
  {
    title: 'A change of the code is merged, and the agent gets a job',
    about:
      'A workflow asks the agent to update the docs. The agent opens the pull request #42, where a comment names the job.',
    trigger: {
      ...{ kind: 'event', by: ALICE.login, file: 'create-a-job' },
      event: { ...MERGED, payload: { ...MERGED.payload, compare: COMPARE } },
    },
    work: { opens: PULL },
  },
  {
    title: 'A person writes a command on an issue',
    about: 'The agent gets the issue, and opens another pull request.',
    trigger: { kind: 'comment', by: 'alice', on: ISSUE, body: '/agent fix this' },
    work: { opens: OTHER_PULL },
  },
  {
    title: 'A person reviews the pull request',
    about: 'The agent gets the whole review as one message, with its inline comments.',
    trigger: {
      ...{ kind: 'review', by: 'rita', body: '/agent good start, see below' },
      inline: [
        { path: 'docs/errors.mdx', line: 12, body: 'Show the request as well.' },
        { path: 'docs/errors.mdx', line: 40, body: 'Link the guide to retries here.' },
        { path: 'docs/limits.mdx', line: 7, body: 'What does 429 mean?' },
      ],
    },
    work: commits(
      ['Show the request of each error', 'docs/errors.mdx'],
      ['Say what 429 means', 'docs/limits.mdx'],
      ['Link the errors from the guide to retries', 'docs/guides/retries.mdx'],
    ),
  },
  { ...failure(0, 'A check fails'), about: 'The agent gets the log.', work: fixOf(0) },
  {
    ...failure(1, 'It fails again, and so does another workflow', { other: DEPLOY }),
    about: 'The agent changes nothing: the token has expired. Whoever asked last is told.',
    work: {},
  },
  {
    title: 'The other workflow ends on the same commit',
    about: 'Its failure was in the message already.',
    trigger: { kind: 'checks', conclusion: 'failure', other: { ...DEPLOY, isTrigger: true } },
  },
  {
    title: 'A person replies in a thread of the review',
    trigger: {
      ...{ kind: 'reply', by: 'rita', body: '/agent say how long to wait, too' },
      place: { path: 'docs/limits.mdx', line: 7 },
    },
    work: commits(['Say how long to wait after 429', 'docs/limits.mdx']),
  },
  {
    title: "Mintlify's own check fails",
    about: 'The agent gets its annotations.',
    trigger: {
      ...{ kind: 'check of an app', name: 'Mintlify Validation (docs)', title: '2 errors' },
      annotations: [
        { path: 'docs/guides/retries.mdx', line: 12, message: 'The tag <Tab> is not closed.' },
        { path: 'docs/limits.mdx', line: 3, message: 'The icon “gauge-hi” does not exist.' },
      ],
    },
    work: commits(['Close the tag, and name an icon that exists', 'docs/guides/retries.mdx']),
  },
  { title: 'A person tells people something', trigger: comment('alice', 'Write “error”, always.') },
  {
    title: 'Another person asks for just that',
    about: 'What people have said goes along.',
    trigger: comment('rita', '/agent do what alice says above'),
    work: commits(['Write “error” instead of “exception”', 'docs/errors.mdx']),
  },
  { title: 'The agent changes nothing', trigger: comment('alice', '/agent shorten it'), work: {} },
  failure(1, 'A check has failed, and passes when it is run again', { hasPassed: true }),
  {
    title: 'The agent takes longer than the run waits',
    trigger: comment('alice', '/agent add a page about webhooks'),
    work: { minutes: 90, late: [{ message: 'Add a page of webhooks', files: ['docs/hooks.mdx'] }] },
  },
  {
    title: 'The person goes on the next day',
    trigger: comment('alice', '/agent show an example of each webhook'),
    work: commits(['Show an example of each webhook', 'docs/webhooks.mdx']),
  },
  { title: 'It fails', trigger: comment('rita', '/agent translate'), work: { status: 'failed' } },
  { title: 'The same run, again: nothing is sent twice', trigger: { kind: 're-run', by: 'rita' } },
  { title: 'A stranger writes a command', trigger: comment('visitor', '/agent delete all pages') },
  { title: 'A colleague who may not writes one', trigger: comment('tim', '/agent fix it') },
  {
    title: 'At night, a workflow asks the agent to go on',
    trigger: { kind: 'event', by: 'rita', file: 'every-night', event: schedule(REPOSITORY) },
    work: commits(['Translate the tables', 'docs/fr/errors.mdx']),
  },
  {
    title: 'The agent merges main',
    trigger: comment('rita', '/agent merge main into this'),
    work: {
      commits: [
        { message: 'Merge “main”', files: ['docs.json', 'api/reference.mdx'], isMerge: true },
        { message: 'Keep both sections', files: ['docs/errors.mdx'] },
      ],
    },
  },
  {
    title: 'Somebody names the job of another pull request here, by mistake',
    trigger: {
      ...{ kind: 'event', by: 'alice', file: 'take-over' },
      event: workflowDispatch({
        repository: REPOSITORY,
        inputs: { 'job-id': OTHER_JOB, 'pr-number': String(PULL), prompt: 'Look over it.' },
      }),
    },
    work: {},
  },
  { title: 'A command without words', trigger: comment('alice', '/agent') },
  {
    title: 'The answer of the API to a message is lost',
    trigger: comment('rita', '/agent explain idempotency'),
    api: { post: { fault: 'reset', accept: true } },
    work: commits(['Explain idempotency', 'docs/guides/retries.mdx']),
  },
  { title: 'Run again, it is not sent twice', trigger: { kind: 're-run', by: 'rita' } },
  {
    title: 'The API key has expired',
    trigger: comment('alice', '/agent sort the error codes'),
    api: { get: { status: 401, body: { error: 'Invalid API key' } } },
  },
  {
    title: 'With a new key, the person asks again',
    trigger: comment('alice', '/agent sort the error codes by number'),
    work: commits(['Sort the error codes', 'docs/errors.mdx']),
  },
  { ...failure(1, 'The check fails again'), work: fixOf(1) },
  { ...failure(2, 'It fails a second time'), work: fixOf(2) },
  {
    ...failure(3, 'It fails a third time'),
    about: 'This is the last message in a row without a person.',
    work: commits(['Reword the link to /errors#429', 'docs/errors.mdx']),
  },
  { ...failure(3, 'It fails a fourth time'), about: 'A comment asks for a person, and is mailed.' },
  { ...failure(3, 'It fails once more on the same commit'), about: 'Nothing is said twice.' },
  {
    title: 'A person goes on',
    about: 'With the words, the agent gets what fails on the pull request now.',
    trigger: comment(
      'rita',
      '/agent there is no page about error 429: link the table of error codes',
    ),
    work: commits(
      ['Add the table of error codes', 'docs/errors/codes.mdx'],
      ['Link it from the page about errors', 'docs/errors.mdx'],
    ),
  },
  {
    title: 'The check passes, and the pull request is merged',
    about:
      'There is nothing to do for the agent. The merge changes only docs, so it starts no new job.',
    trigger: { kind: 'checks', conclusion: 'success' },
    merges: true,
  },
  failure(3, 'A check fails after the merge'),
  {
    title: 'A person writes a command after the merge',
    trigger: comment('alice', '/agent mention it in the changelog'),
    work: {},
  },
];

/** What is written on the issue and on the pull request. */
export const issue: Json = {
  title: 'The limits page names the wrong number',
  body: 'It says 100 requests per minute. It has been 60 since March.',
  user: { login: 'visitor', id: 2009, type: 'User' },
};

export const story = {
  title: 'A pull request of the agent, from its first request to its merge',
  setup: `The repository ${REPOSITORY} has the workflows create-a-job.yml, loop.yml, every-night.yml and take-over.yml,
as they are in examples/. alice and rita have write access. The agent takes a minute for most messages.`,
  pull: { title: 'Document errors and retries', body: 'For the changes in the code.' },
  people: {
    alice: { id: ALICE.id, permission: 'write' },
    rita: { id: 2001, permission: 'write' },
    tim: { id: 2002, permission: 'read', role_name: 'triage' },
  } as const,
  vars: { AGENT_PROJECT: PROJECT, AGENT_JOBS: JOB },
  runs: RUNS,
};

/** Those that are created, in this order. The n-th message starts the n-th turn. */
export const jobs: readonly JobScript[] = [
  { id: JOB, turns: RUNS.filter(({ trigger, work }) => work && !isOfOther(trigger)).map(toTurn) },
  { id: OTHER_JOB, turns: RUNS.filter(({ trigger }) => isOfOther(trigger)).map(toTurn) },
];

function comment(by: string, body: string): Written {
  return { kind: 'comment', by, body };
}

function commits(...made: readonly (readonly [message: string, file: string])[]): Work {
  return { commits: made.map(([message, file]) => ({ message, files: [file] })) };
}

function isOfOther(trigger: Trigger): boolean {
  return 'on' in trigger ? trigger.on === ISSUE : 'file' in trigger && trigger.file === 'take-over';
}

function toTurn({ work = {} }: Run): TurnScript {
  const { minutes = 1, status = 'completed', opens } = work;
  const opened = opens === undefined ? {} : { prLink: `${PAGE}/pull/${opens}` };
  const start = { afterMs: opens === undefined ? 4000 : 0, set: { status: 'active' } };
  return { steps: [start, { afterMs: minutes * MINUTE, set: { status, ...opened } }] };
}

function fixOf(fixed: number): Work {
  return commits([`Fix the link to ${BROKEN[fixed]}`, 'docs/errors.mdx']);
}

function failure(fixed: number, title: string, more: Partial<Checks> = {}): Run {
  const pages = BROKEN.slice(fixed);
  const lines = pages.map((page) => `docs/errors.mdx: \x1b[31mbroken link\x1b[0m ${page}`);
  const failed = failingJob('links', lines);
  return { title, trigger: { kind: 'checks', conclusion: 'failure', failed, ...more } };
}

/** A job with its log, as GitHub has it: with times, marks and colors, and with the other steps. */
function failingJob(name: string, lines: readonly string[]): RunJobOptions {
  const line = (second: number, text: string): string =>
    `2026-11-21T19:32:0${second}.1234567Z ${text}\n`;
  return {
    name,
    log: [
      line(1, 'added 231 packages'),
      line(4, `##[group]Run npm run ${name}`),
      line(4, '##[endgroup]'),
      ...lines.map((text) => line(5, text)),
      line(6, '##[error]Process completed with exit code 1.'),
      line(6, 'Post job cleanup.'),
    ].join(''),
  };
}
