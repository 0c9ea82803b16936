import {
  doubtful,
  type End,
  lost,
  notSent,
  reasonNow,
  stoppedWaiting,
  timedOut,
  done as toEnd,
} from '../../../src/job/reasons.ts';
import { type Kind, WORDS } from '../../../src/labels.ts';
import type { Ledger, LedgerJob } from '../../../src/memory/ledger.ts';
import { NO_REASON, ours, sentence } from '../../../src/reason.ts';
import { renderLedger, renderProblem, renderUsage } from '../../../src/report/comment.ts';
import { renderSummary } from '../../../src/report/summary.ts';
import { type JobRecord, type JobState, newTurn, type Turn } from '../../../src/turn.ts';

// Every state of the comment and of the job summary, for any number of jobs, as Markdown: for the gallery
// and for tests. The sentences are those of the action.

export interface Exhibit {
  readonly name: string;
  readonly markdown: string;
}

export const SITE = { repositoryUrl: 'https://github.com/octo-org/docs' };
/** How many characters the data of a comment with many jobs leaves for the visible text. */
export const LEAST_ROOM = 17_900;

const START = Date.UTC(2026, 10, 21, 19, 32);
const PROMPT = 'Add error handling examples to the pages that changed.';
const LIMITS = { timeoutMs: 1_800_000 };
const REFUSED = sentence`The API answered 400 to the message: ${'Prompt is too long: @octocat wrote 9000 characters'}.
  It refuses this request; check the prompt and the job.`;
const UNREADABLE = sentence`The API answered 403 when the job was polled: ${'Forbidden'} (request id
  ${'8f41c2a7'}). The api-key lacks the read scope.`;
const RESET = sentence`The connection to ${'api.mintlify.com'} was lost after the request was written:
  connection reset.`;

/** The status of a job of each kind, and how it ends. */
const ENDS: Readonly<
  Record<Kind, { status: string; turn?: Partial<Turn>; end(state: JobState): End | null }>
> = {
  failed: { status: 'failed', end: (state) => toEnd(state, NO_REASON) },
  unknown: {
    status: 'completed',
    turn: { delivery: 'unknown', sentAt: null },
    end: () => doubtful(RESET, false),
  },
  'not-sent': {
    status: 'completed',
    turn: { delivery: 'not-sent', sentAt: null },
    end: (state) => notSent(state, LIMITS, { kind: 'refused', why: REFUSED }),
  },
  'timed-out': { status: 'active', end: (state) => timedOut(state, LIMITS, NO_REASON) },
  cancelled: { status: 'active', end: stoppedWaiting },
  archived: { status: 'archived', end: (state) => toEnd(state, NO_REASON) },
  sending: { status: 'completed', turn: { delivery: 'sending', sentAt: null }, end: () => null },
  working: { status: 'active', end: () => null },
  sent: { status: 'completed', end: () => reasonNow('sent', false, false) },
  completed: {
    status: 'completed',
    turn: { prLinkChange: 'updated' },
    end: (state) => toEnd(state, NO_REASON),
  },
  skipped: {
    status: 'active',
    turn: { delivery: 'not-sent', sentAt: null },
    end: (state) =>
      notSent(state, LIMITS, { kind: 'unwanted', onlyWhen: new Set(['completed', 'failed']) }),
  },
};

/** Other states of one job. */
const VARIANTS: Readonly<Record<string, Parts>> = {
  'completed, unconfirmed': {
    kind: 'completed',
    turn: {
      confirmed: false,
      reason: sentence`Job ${'job_8f41c2'} is completed. ${ours('Another message was sent to it since: this is possibly the answer to that one.')}`,
    },
  },
  'completed, without a pull request': {
    kind: 'completed',
    turn: { prLinkChange: 'none' },
    record: { prLink: null },
  },
  'no longer polled': { kind: 'unknown', turn: lostTurn() },
  'a prompt of many lines': {
    kind: 'completed',
    turn: {
      prompt: Array.from({ length: 20 }, (_, n) => `${n + 1}. Check page ${n}.`).join('\n'),
    },
  },
  'a long prompt in one line, being sent': {
    kind: 'sending',
    turn: { prompt: `${PROMPT} `.repeat(8).trim() },
  },
  'without a login, with a long ID': {
    kind: 'working',
    turn: { by: null },
    id: '550e8400-e29b-41d4-a716-446655440000',
  },
};

function lostTurn(): Partial<Turn> {
  const { reason } = lost(stateOf('working', 0), 5, UNREADABLE);
  return { delivery: 'sent', sentAt: START + 2000, reason };
}

interface Parts {
  readonly kind: Kind;
  readonly id?: string;
  readonly turn?: Partial<Turn>;
  readonly record?: Partial<JobRecord>;
}

/** The state of a job of this kind; `number` makes its ID, its link and its times different. */
export function stateOf(kind: Kind, number: number, parts: Omit<Parts, 'kind'> = {}): JobState {
  const { status, turn, end } = ENDS[kind];
  const jobId = parts.id ?? `job_${(0x8f41c2 + number * 7919).toString(16).slice(-6)}`;
  const record: JobRecord = {
    ...{ id: jobId, status, linkProblem: null, model: 'opus', createdAt: null, archivedAt: null },
    source: { repository: SITE.repositoryUrl, ref: 'agent/fix' },
    prLink: `${SITE.repositoryUrl}/pull/${12 + number}`,
    ...parts.record,
  };
  const start = { origin: 'run:1:job:step', leg: '', mark: `mark-${number}`, by: 'octocat' };
  const open: JobState = {
    ...{ jobId, isReadOnly: false, record, polls: 9 },
    turn: {
      ...newTurn({
        ...{ ...start, prompt: PROMPT, promptHash: '5e1f', startedAt: START },
        ...{ runId: '4711', attempt: 1 },
      }),
      ...{ delivery: 'sent', sentAt: START + 2000, base: record, ...turn },
    },
    firstSeenAt: START,
  };
  const ended = end(open);
  const durationMs = kind === 'timed-out' ? LIMITS.timeoutMs : (474 + ((number * 73) % 700)) * 1000;
  const endedAt = START + 2000 + (kind === 'sent' ? 0 : durationMs);
  const isAwaited = kind !== 'sent' && open.turn.delivery !== 'not-sent';
  const confirmed = isAwaited ? (ended?.isConfirmed ?? false) : null;
  const result = ended && { result: ended.result, reason: ended.reason, confirmed, endedAt };
  return { ...open, turn: { ...open.turn, ...result, ...parts.turn } };
}

const KINDS = Object.keys(WORDS) as readonly Kind[];
const EARLIER = KINDS.filter((kind) => kind !== 'skipped');

/** What the comment remembers of these jobs. The first one has `earlier` earlier messages. */
export function ledgerOf(states: readonly JobState[], earlier = 0): Ledger {
  const jobs = states.map(({ jobId, record, turn }, index): LedgerJob => {
    const older = Array.from({ length: index === 0 ? earlier : 0 }, (_, n): Turn => {
      const kind = EARLIER[n % EARLIER.length] ?? 'completed';
      const prompt = `${PROMPT} This was ${n + 1} days before.`;
      return { ...stateOf(kind, n).turn, prompt, startedAt: START - (n + 1) * 86_400_000 };
    });
    return {
      id: jobId,
      record,
      turns: [turn, ...older.filter(({ result }) => result !== 'skipped')],
    };
  });
  return { jobs, trimmed: null };
}

/** `count` jobs of one kind. */
export function fleetOf(kind: Kind, count: number): readonly JobState[] {
  return Array.from({ length: count }, (_, number) => stateOf(kind, number));
}

/** `count` jobs, a few of which did not complete. If `isOpen`, some are still working. */
export function mixedFleet(count: number, isOpen = false): readonly JobState[] {
  const troubles: readonly Kind[] = ['failed', 'timed-out', 'failed', 'unknown', 'not-sent'];
  return Array.from({ length: count }, (_, number) => {
    const trouble = troubles[(number / 9) % troubles.length];
    const kind = number % 9 === 0 && trouble !== undefined ? trouble : 'completed';
    return stateOf(isOpen && number % 3 === 1 ? 'working' : kind, number);
  });
}

export function comments(): readonly Exhibit[] {
  const comment = (states: readonly JobState[], earlier = 0): string =>
    renderLedger(ledgerOf(states, earlier), SITE, LEAST_ROOM);
  return [
    ...KINDS.map((kind) => ({ name: `1 job: ${kind}`, markdown: comment([stateOf(kind, 0)]) })),
    ...Object.entries(VARIANTS).map(([name, { kind, ...parts }]) => ({
      name: `1 job: ${name}`,
      markdown: comment([stateOf(kind, 0, parts)]),
    })),
    { name: '1 job, 10 earlier messages', markdown: comment([stateOf('completed', 0)], 10) },
    { name: '5 jobs', markdown: comment(mixedFleet(5), 10) },
    { name: '60 jobs: sending', markdown: comment(fleetOf('sending', 60)) },
    { name: '60 jobs: some working', markdown: comment(mixedFleet(60, true)) },
    { name: '60 jobs', markdown: comment(mixedFleet(60)) },
    { name: '60 jobs: all completed', markdown: comment(fleetOf('completed', 60)) },
    { name: '60 jobs: all failed', markdown: comment(fleetOf('failed', 60)) },
    { name: '500 jobs: some working', markdown: comment(mixedFleet(500, true), 10) },
    { name: '500 jobs: all timed out', markdown: comment(fleetOf('timed-out', 500)) },
  ];
}

/** The comments that reply to a command that cannot run. */
export function replies(): readonly Exhibit[] {
  const run = { ...SITE, runId: '1658821493', attempt: 1 };
  const problem = ours('project-id is empty; give the ID of the project.');
  return [
    { name: 'a workflow without project-id', markdown: renderProblem(problem, run) },
    { name: 'a command without a prompt', markdown: renderUsage('/agent') },
  ];
}

export function summaries(): readonly Exhibit[] {
  const url = `${SITE.repositoryUrl}/pull/12#issuecomment-1`;
  const summary = (states: readonly JobState[]): string =>
    renderSummary({ states, commentUrls: [url] });
  return [
    {
      name: 'No job',
      markdown: renderSummary({
        ...{ states: [], commentUrls: [] },
        problem: sentence`timeout-minutes must be a plain number, more than 0 and at most 7200; it is
          ${'soon'}.`,
      }),
    },
    ...KINDS.filter((kind) => kind !== 'sending' && kind !== 'working').map((kind) => ({
      name: `1 job: ${kind}`,
      markdown: summary([stateOf(kind, 0)]),
    })),
    { name: '5 jobs', markdown: summary(mixedFleet(5)) },
    { name: '60 jobs', markdown: summary(mixedFleet(60)) },
    { name: '500 jobs', markdown: summary(mixedFleet(500)) },
  ];
}
