import { type End, type Job, NEW_JOB, newJob } from '../../src/job.ts';
import { type Kind, OPEN, WORDS } from '../../src/labels.ts';
import {
  cancelledEnd,
  doneEnd,
  doubtfulEnd,
  endAs,
  limitEnd,
  lostEnd,
  timedOutEnd,
  unwantedEnd,
} from '../../src/reasons.ts';
import { summarize } from '../../src/report/finish.ts';
import { renderStory, type Story } from '../../src/report/render.ts';
import { readRunInfo } from '../../src/runner/environment.ts';
import { recordingRuntime } from './recording-runtime.ts';

// Jobs in every state, for any number of jobs, and what people see of them. The sentences are those of the action.

/** How many characters the data of a comment with many jobs leaves for the visible text. */
export const LEAST_ROOM = 5_000;

const START = Date.UTC(2026, 10, 21, 19, 32);
const LIMITS = { inputs: { timeoutMs: 1_800_000, wait: true }, note: {} };
const SETTLE_MS = 60_000;
const [OLD, _NEW] = ['1f2e3d4c'.repeat(5), '5a6b7c8d'.repeat(5)];
/** As a comment names it; GitHub makes it a link. */
export const COMMIT = OLD.slice(0, 7);
const RUN = readRunInfo({ GITHUB_REPOSITORY: 'octo-org/docs', GITHUB_RUN_ID: '1658821493' });
const STORY: Story = {
  info: RUN,
  occasion: 'Asked by `octocat`',
  prompt: 'Add error handling examples to the pages that changed.',
  startedAt: START,
  until: START + LIMITS.inputs.timeoutMs,
  command: null,
  attached: '',
};
const REFUSED =
  'The API answered 400 to the message: “Prompt is too long: @octocat wrote 9000 characters”. Check the prompt ' +
  'and the job in the dashboard (https://app.mintlify.com).';
const UNREADABLE =
  'The API answered 403 when the job was polled: “Forbidden”. The API key lacks the read scope.';
const RESET =
  'The connection to the API at “api.mintlify.com” was lost after the request was written: connection reset.';

const NOT_YET = { message: { kind: 'open' } } as const;
const NOT_SENT = { message: { kind: 'not-sent' } } as const;
const IN_DOUBT = { message: { kind: 'unknown', isEarlier: false } } as const;

/** The status of a job of each kind, what else is known of it, and how it ends. */
const STATES: Readonly<
  Record<Kind, { status: string; job?: Partial<Job>; end(job: Job): End | undefined }>
> = {
  failed: { status: 'failed', end: (job) => doneEnd(job, 'confirmed', SETTLE_MS) },
  'delivery unknown': { status: 'completed', job: IN_DOUBT, end: () => doubtfulEnd(RESET, false) },
  unreachable: { status: 'active', end: (job) => lostEnd(job, LIMITS, UNREADABLE) },
  'not-sent': {
    status: 'completed',
    job: NOT_SENT,
    end: () => endAs('error', REFUSED),
  },
  unconfirmed: { status: 'completed', end: (job) => doneEnd(job, 'unconfirmed', SETTLE_MS) },
  'timed-out': { status: 'active', end: (job) => timedOutEnd(job, LIMITS, '') },
  cancelled: { status: 'active', end: (job) => cancelledEnd(job, LIMITS) },
  archived: { status: 'archived', end: (job) => doneEnd(job, 'confirmed', SETTLE_MS) },
  waiting: { status: 'active', job: { ...NOT_YET, isWaiting: true }, end: () => undefined },
  sending: { status: 'completed', job: NOT_YET, end: () => undefined },
  creating: { status: '', job: { ...NOT_YET, id: NEW_JOB }, end: () => undefined },
  working: { status: 'active', end: () => undefined },
  sent: { status: 'completed', end: () => endAs('sent') },
  completed: { status: 'completed', end: (job) => doneEnd(job, 'confirmed', SETTLE_MS) },
  limited: { status: 'completed', job: NOT_SENT, end: () => limitEnd(3) },
  skipped: {
    status: 'active',
    job: NOT_SENT,
    end: (job) => unwantedEnd(job, new Set(['completed', 'failed'])),
  },
};
export const KINDS = Object.keys(WORDS) as readonly Kind[];
/** A process that is over has no other jobs. */
export const ENDED = KINDS.filter((kind) => !OPEN.has(kind));

/** A job of this kind; `number` makes its ID, its link and its times different. */
export function jobOf(kind: Kind, number = 0): Job {
  const state = STATES[kind];
  const id = `job_${(0x8f41c2 + number * 7919).toString(16).slice(-6)}`;
  const open: Job = {
    ...newJob(id, false),
    ...(kind !== 'creating' && {
      record: {
        ...{ id, status: state.status },
        ...{ prLink: `${RUN.repositoryUrl}/pull/${42 + number}`, prNumber: 42 + number },
      },
    }),
    message: { kind: 'sent', at: START + 2000, isEarlier: false },
    base: { status: 'completed' },
    ...state.job,
  };
  const ended = state.end(open);
  const durationMs =
    kind === 'timed-out' ? LIMITS.inputs.timeoutMs : (474 + ((number * 73) % 700)) * 1000;
  const endedAt = START + 2000 + (kind === 'sent' ? 0 : durationMs);
  return ended === undefined ? open : { ...open, end: ended, endedAt };
}

/** `count` jobs of one kind. */
export function fleetOf(kind: Kind, count: number): readonly Job[] {
  return Array.from({ length: count }, (_, number) => jobOf(kind, number));
}

/** `count` jobs, a few of which did not complete. If `isOpen`, some are still working. */
export function mixedFleet(count: number, isOpen = false): readonly Job[] {
  const troubles: readonly Kind[] = [
    'failed',
    'timed-out',
    'failed',
    'delivery unknown',
    'unconfirmed',
  ];
  return Array.from({ length: count }, (_, number) => {
    const trouble = troubles[(number / 9) % troubles.length];
    const kind = number % 9 === 0 && trouble !== undefined ? trouble : 'completed';
    return jobOf(isOpen && number % 3 === 1 ? 'working' : kind, number);
  });
}

/** What people see of a comment. */
export function commentOf(jobs: readonly Job[], limit = LEAST_ROOM): string {
  return renderStory(STORY, jobs, { conversation: 7, limit });
}

export function summaryOf(jobs: readonly Job[]): string {
  const { runtime, summaries } = recordingRuntime();
  summarize(runtime, STORY, jobs, []);
  return summaries.join();
}
