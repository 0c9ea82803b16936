import { type RunReport, renderReport } from '../../../src/comment/render.ts';
import { A_RUN } from '../../../src/job/explain.ts';
import type { JobRecord, JobState, Pushed } from '../../../src/job/job.ts';
import { NEW_JOB, newJob } from '../../../src/job/job.ts';
import { isUnderway, LABEL_NAMES, type Label } from '../../../src/job/labels.ts';
import { toOutcome } from '../../../src/job/outcome.ts';
import { agentStop, type Stop, stop } from '../../../src/job/stop-reasons.ts';
import { renderSummary } from '../../../src/report/finish.ts';
import { readRunInfo } from '../../../src/runner/environment.ts';

// Every state of the comment and of the job summary, as Markdown: for the gallery and for tests.

export interface Exhibit {
  readonly name: string;
  readonly markdown: string;
}

/** How many characters the data of a comment with many jobs leaves for the visible text. */
export const LEAST_ROOM = 5_000;

const START = Date.UTC(2026, 10, 21, 19, 32);
const LIMIT_MS = 1_800_000;
const [OLD, NEW] = ['1f2e3d4c'.repeat(5), '5a6b7c8d'.repeat(5)];
/** As a comment names it; GitHub makes it a link. */
export const COMMIT = OLD.slice(0, 7);
const RUN = readRunInfo({ GITHUB_REPOSITORY: 'octo-org/docs', GITHUB_RUN_ID: '1658821493' });
const REPORT: RunReport = {
  ...{ info: RUN, cause: 'Asked by `octocat`', command: null, attached: '', message: '' },
  prompt: 'Add error handling examples to the pages that changed.',
  ...{ startedAt: START, until: START + LIMIT_MS },
};
const COMMAND = { command: '/agent' };
/** After a check that failed. */
const CHECKS = {
  failure: `\`CI\` failed on ${COMMIT}`,
  cause: `After \`CI\` failed on ${COMMIT}`,
  prompt: '',
  attached: `+ log of \`links\` (${COMMIT})`,
};
const REFUSED =
  'The API answered 400 to the message: “Prompt is too long: @octocat wrote 9000 characters”. Check the prompt ' +
  'and the job in the dashboard (https://app.mintlify.com). Once this is fixed, comment again.';
const CLOSED = 'The API answered 409 to the message: “Job is archived”. Use another job.';
const UNREADABLE =
  'The API answered 403 when the status of the job was read: “Forbidden”. The API key lacks the read scope.';
const RESET =
  'The connection to the API at “api.mintlify.com” was lost after the request was written: connection reset.';

const NOT_YET = { message: { kind: 'pending' } } as const;
const NOT_SENT = { message: { kind: 'not-sent' } } as const;
const IN_DOUBT = { message: { kind: 'unknown', isEarlier: false } } as const;

const FACTS = { ...A_RUN, isCommand: true };
const MISSED = { phase: 'after', limitMs: LIMIT_MS, status: 'active' } as const;

/** The status of a job of each kind, what else is known of it, and why it ends. */
const STATES: Readonly<Record<Label, { status: string; job?: Partial<JobState>; why?: Stop }>> = {
  failed: { status: 'failed', why: agentStop('failed', true) },
  'delivery unknown': {
    ...{ status: 'completed', job: IN_DOUBT },
    why: stop('no-answer', { why: RESET, jobId: 'x' }),
  },
  unreachable: { status: 'active', why: stop('unreachable', { why: UNREADABLE }) },
  'not-sent': { status: 'completed', job: NOT_SENT, why: stop('api', { why: REFUSED }) },
  closed: { status: 'archived', job: NOT_SENT, why: stop('job-closed', { why: CLOSED }) },
  unconfirmed: { status: 'completed', why: agentStop('completed', false, 'completed') },
  'failed before': { status: 'failed', why: agentStop('failed', false, 'completed') },
  'still failing': {
    ...{ status: 'completed', job: { change: { kind: 'none', check: 'failed' } } },
    why: agentStop('completed', true),
  },
  'timed-out': { status: 'active', why: stop('timed-out', MISSED) },
  cancelled: { status: 'active', why: stop('cancelled', MISSED) },
  archived: { status: 'archived', why: agentStop('archived', true) },
  waiting: { status: 'active', job: { ...NOT_YET, isWaiting: true } },
  sending: { status: 'completed', job: NOT_YET },
  creating: { status: '', job: { ...NOT_YET, id: NEW_JOB } },
  working: { status: 'active' },
  sent: { status: 'completed', why: stop('sent') },
  completed: { status: 'completed', why: agentStop('completed', true) },
  limited: { status: 'completed', job: NOT_SENT, why: stop('limit', { most: 3 }) },
  skipped: {
    ...{ status: 'active', job: NOT_SENT },
    why: stop('only-when', { status: 'active', wanted: 'failed' }),
  },
};
/** A process that is over has no other jobs. */
export const ENDED = LABEL_NAMES.filter((label) => !isUnderway(label));

interface Variant {
  readonly kind: Label;
  readonly job?: Partial<JobState>;
  readonly record?: Partial<JobRecord>;
  readonly story?: Partial<RunReport>;
  /** Whether the comment is on the pull request of the job. */
  readonly isHere?: boolean;
  readonly why?: Stop;
}

const HEADLINES = [
  ...['Add the table of error codes', 'Link it from errors.mdx', 'Show a request for each error'],
  'Say how long to wait after 429',
  'Explain the field `retry_after` and what a client does if it is missing or not a number',
  ...['Fix a typo', 'Sort the codes'],
];
const BY_TWO = {
  files: ['docs/errors.mdx'],
  untouched: new Map([['docs/limits.mdx', 2]]),
  headlines: HEADLINES,
  authors: ['mintlify[bot]', 'anna', null],
};

const LIST = Array.from({ length: 20 }, (_, n) => `${n + 1}. Check page ${n}.`).join('\n');
const UNCOUNTED = { kind: 'commits', before: OLD, after: NEW } as const;
const NO_PULL = { prLink: null, prNumber: null };
/** Other states of one job. */
const VARIANTS: Readonly<Record<string, Variant>> = {
  'the failure of a command': { kind: 'failed', story: COMMAND, isHere: true, ...withChange(1) },
  'failed checks': {
    kind: 'completed',
    isHere: true,
    story: { ...CHECKS, most: 3 },
    job: { ...withChange(1).job, nthInARow: 2 },
  },
  '7 new commits by several authors': { kind: 'completed', ...withChange(7, BY_TWO) },
  'new commits that cannot be compared': { kind: 'completed', job: { change: UNCOUNTED } },
  'a new job at work': { kind: 'working', job: { base: { status: 'new' } }, record: NO_PULL },
  'not sent in time': {
    kind: 'not-sent',
    why: stop('timed-out', { ...MISSED, phase: 'waiting' }, 'later'),
  },
  'a re-run that is refused': {
    kind: 'delivery unknown',
    why: stop('earlier-attempt', {
      why: 'the comment of attempt 1 does not say whether it was sent',
      ...{ comments: `${RUN.repositoryUrl}/pull/7#issuecomment-1`, count: 1 },
    }),
  },
  'a prompt of many lines': { kind: 'completed', story: { prompt: LIST } },
  'a long prompt in one line, without a login, with a long ID': {
    kind: 'sending',
    job: { id: '550e8400-e29b-41d4-a716-446655440000' },
    story: { prompt: `${REPORT.prompt} `.repeat(8).trim(), cause: '' },
  },
};

/** The commits of the agent; with `told`, what else is known of them. */
function withChange(count: number, told?: Pushed['told']): { readonly job: Partial<JobState> } {
  const plain = { ...BY_TWO, headlines: HEADLINES.slice(0, count), authors: ['mintlify[bot]'] };
  return { job: { change: { ...UNCOUNTED, count, told: told ?? plain } } };
}

/** A job of this kind; `number` makes its ID, its link and its times different. */
export function jobOf(kind: Label, number = 0, { job, record, why: own }: Partial<Variant> = {}) {
  const state = STATES[kind];
  const id = `job_${(0x8f41c2 + number * 7919).toString(16).slice(-6)}`;
  const prLink = `${RUN.repositoryUrl}/pull/${42 + number}`;
  const known = { id, status: state.status, prLink, prNumber: 42 + number, ...record };
  const open: JobState = {
    ...newJob(id),
    ...(kind !== 'creating' && { record: known }),
    message: { kind: 'sent', at: START + 2000, isEarlier: false },
    base: { status: 'completed' },
    ...state.job,
    ...job,
  };
  const why = own ?? state.why;
  const durationMs = kind === 'timed-out' ? LIMIT_MS : (474 + ((number * 73) % 700)) * 1000;
  const endedAt = START + 2000 + (kind === 'sent' ? 0 : durationMs);
  if (why === undefined) return open;
  return { ...open, end: toOutcome(open, why, FACTS, true), endedAt };
}

/** `count` jobs of one kind. */
export function fleetOf(kind: Label, count: number): readonly JobState[] {
  return Array.from({ length: count }, (_, number) => jobOf(kind, number));
}

/** `count` jobs, a few of which did not complete. If `isOpen`, some are still working. */
export function mixedFleet(count: number, isOpen = false): readonly JobState[] {
  const troubles = ['failed', 'timed-out', 'failed', 'delivery unknown', 'unconfirmed'] as const;
  return Array.from({ length: count }, (_, number) => {
    const trouble = troubles[(number / 9) % troubles.length];
    const kind = number % 9 === 0 && trouble !== undefined ? trouble : 'completed';
    return jobOf(isOpen && number % 3 === 1 ? 'working' : kind, number);
  });
}

/** What people see of a comment. */
export function commentOf(
  jobs: readonly JobState[],
  { story = {}, isHere = false }: Pick<Variant, 'story' | 'isHere'> = {},
  limit = LEAST_ROOM,
): string {
  // Pull request 42 is that of the first job.
  return renderReport({ ...REPORT, ...story }, jobs, { conversation: isHere ? 42 : 7, limit });
}

export function summaryOf(
  jobs: readonly JobState[],
  story = {},
  urls: readonly string[] = [],
): string {
  return renderSummary({ ...REPORT, ...story }, jobs, urls);
}

export function comments(): readonly Exhibit[] {
  return [
    ...LABEL_NAMES.map((kind) => ({ name: `1 job: ${kind}`, markdown: commentOf([jobOf(kind)]) })),
    ...Object.entries(VARIANTS).map(([name, variant]) => {
      const markdown = commentOf([jobOf(variant.kind, 0, variant)], variant);
      return { name: `1 job: ${name}`, markdown };
    }),
    { name: '5 jobs', markdown: commentOf(mixedFleet(5)) },
    { name: '60 jobs: some working', markdown: commentOf(mixedFleet(60, true)) },
    { name: '100 jobs: all completed', markdown: commentOf(fleetOf('completed', 100)) },
  ];
}

export function summaries(): readonly Exhibit[] {
  const urls = [`${RUN.repositoryUrl}/pull/42#issuecomment-1`];
  const changed = jobOf('completed', 0, withChange(3));
  return [
    ...ENDED.map((kind) => ({ name: `1 job: ${kind}`, markdown: summaryOf([jobOf(kind)]) })),
    { name: '1 job: 3 new commits', markdown: summaryOf([changed], COMMAND, urls) },
    { name: '100 jobs', markdown: summaryOf(mixedFleet(100), {}, urls) },
  ];
}
