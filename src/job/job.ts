import type { AgentContext, Fetched, PollHooks } from '../agent/client.ts';
import { type Reason, redactReason } from '../reason.ts';
import {
  changeOfLink,
  isKnownStatus,
  type JobRecord,
  type JobState,
  LEFT_OUT,
  observe,
  type Turn,
} from '../turn.ts';
import { type End, reasonNow } from './reasons.ts';

// One job on its way through a run: the one place where its state changes.

/** How a job is waited for. Durations are in milliseconds. */
export interface JobOptions {
  readonly wait: boolean;
  readonly timeoutMs: number;
  readonly settleMs: number;
  readonly pollIntervalMs: number | null;
  /** Where this job's polls lie among those of others. */
  readonly pace: number;
  /** When a job that gets no message is polled first. */
  readonly firstPollMs: number;
}

/** Something that happened to a job. */
type JobChange =
  | { readonly kind: 'status'; readonly status: string | null }
  | { readonly kind: 'sending' | 'delivered' | 'resumed' | 'unwanted' | 'ended' }
  | { readonly kind: 'waiting'; readonly nextPollMs: number; readonly remainingMs: number }
  | { readonly kind: 'held'; readonly why: Reason; readonly afterMs: number }
  /** `afterMs` is null if no time is left for another poll. */
  | { readonly kind: 'missed'; readonly why: Reason; readonly afterMs: number | null }
  | { readonly kind: 'doubted'; readonly why: Reason; readonly pollMs: number }
  | { readonly kind: 'warning'; readonly text: string };
/** `state` is what is true if the run ends here. */
export type JobEvent = JobChange & { readonly state: JobState };

/** Called synchronously. A sentence returned on `sending` keeps the message from going out. */
export type Observer = (event: JobEvent) => string | undefined;

export interface Job {
  readonly options: JobOptions;
  readonly context: AgentContext;
  readonly observer: Observer;
  /** Whether another message was sent to the job since. */
  readonly isOvertaken: boolean;
  state: JobState;
  /** What was warned of already, so that it is said once. */
  readonly warned: Set<string>;
}

export function emit(job: Job, change: JobChange): string | undefined {
  return job.observer({ ...change, state: job.state });
}

/** Changes the turn. A change of the delivery changes what is true if the run ends now. */
export function update(job: Job, changes: Partial<Turn>): void {
  const turn = { ...job.state.turn, ...changes };
  const now =
    changes.delivery === undefined
      ? {}
      : reasonNow(turn.delivery, job.state.isReadOnly, job.options.wait);
  job.state = { ...job.state, turn: { ...turn, ...now } };
}

export function pollHooks(job: Job): PollHooks {
  return {
    onPoll: () => countPoll(job),
    onMissed: (why, afterMs) => emit(job, { kind: 'missed', why, afterMs }),
  };
}

export function countPoll(job: Job): void {
  job.state = { ...job.state, polls: job.state.polls + 1 };
}

/** Takes in what a poll before the message saw, which its effect is measured against. */
export function takeBaseline(job: Job, { record }: Fetched): void {
  const { status, archivedAt } = record;
  const prLink = record.linkProblem === null ? record.prLink : LEFT_OUT;
  update(job, { base: { status, prLink, archivedAt } });
  take(job, record);
}

/** Takes in what a poll since the message saw. */
export function takePoll(job: Job, { record, during }: Fetched): void {
  update(job, observe(job.state.turn, record, during));
  take(job, record);
  update(job, { prLinkChange: changeOfLink(job.state.turn.base, record) });
}

/** Takes in the answer to the message, or that a poll has shown it; a record only if there is one. */
export function takeDelivery(job: Job, record: JobRecord | null): void {
  const now = job.context.clock.now();
  update(job, { delivery: 'sent', sentAt: now });
  mark(job, 'sent');
  const changes = record === null ? [] : receive(job, record);
  emit(job, { kind: 'delivered' });
  for (const item of changes) emit(job, item);
}

/** Takes in a record, and says what is new in it. */
export function take(job: Job, record: JobRecord): void {
  for (const item of receive(job, record)) emit(job, item);
}

function receive(job: Job, record: JobRecord): readonly JobChange[] {
  const isNew = job.state.record?.status !== record.status;
  if (isNew && record.status !== null) mark(job, record.status);
  job.state = { ...job.state, record };
  const warnings = warningsOf(record).filter((text) => !job.warned.has(text));
  for (const text of warnings) job.warned.add(text);
  return [
    ...(isNew ? [{ kind: 'status' as const, status: record.status }] : []),
    ...warnings.map((text) => ({ kind: 'warning' as const, text })),
  ];
}

function warningsOf({ id, status, linkProblem }: JobRecord): readonly string[] {
  return [
    isKnownStatus(status)
      ? ''
      : `Job ${id} has a status that this action does not know; it counts as not final, so a ` +
        'wait may last until timeout-minutes.',
    linkProblem === null ? '' : `The pull request link of job ${id} is left out: ${linkProblem}.`,
  ].filter((text) => text !== '');
}

/** Takes the secrets out of what the reason quotes. */
export function endJob(job: Job, { result, reason, confirmed = null }: End): void {
  const { clock, redact } = job.context;
  mark(job, result);
  const end = { result, reason: redactReason(reason, redact), confirmed, endedAt: clock.now() };
  job.state = { ...job.state, turn: { ...job.state.turn, ...end } };
  emit(job, { kind: 'ended' });
}

function mark(job: Job, what: string): void {
  const at = job.context.clock.now();
  job.state = { ...job.state, timeline: [...job.state.timeline, { at, what }] };
}
