import { type Fetched, pollBeforeSend } from '../agent/client.ts';
import type { AgentContext } from '../agent/context.ts';
import type { Inputs } from '../inputs.ts';
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

// The state of one job during a run, and all functions that change it.

export type JobEvent =
  | { readonly kind: 'status' | 'sending' | 'delivered' | 'resumed' | 'withdrawn' | 'ended' }
  | { readonly kind: 'waiting'; readonly nextPollMs: number; readonly remainingMs: number }
  /** `afterMs` is the pause before the next attempt, or null if no time is left for one. */
  | { readonly kind: 'held' | 'missed'; readonly why: Reason; readonly afterMs: number | null }
  | { readonly kind: 'doubted'; readonly why: Reason; readonly pollMs: number }
  | { readonly kind: 'warning'; readonly text: string };

/** `state` is what is true if the run ends here. A sentence returned on `sending` holds the message back. */
export type Observer = (event: JobEvent, state: JobState) => string | undefined;

export interface Job {
  readonly inputs: Pick<Inputs, 'onlyWhen' | 'wait' | 'timeoutMs' | 'settleMs' | 'pollIntervalMs'>;
  readonly context: AgentContext;
  /** The pull request or issue that it had when it was planned; null if it had none. */
  conversation: number | null;
  /** Another one once the job is planned. */
  observer: Observer;
  /** Spreads the polls of many jobs: see `paceOf`. */
  readonly pace: number;
  /** Milliseconds until the first poll of a job that gets no message. */
  readonly firstPollMs: number;
  state: JobState;
  /** Warnings that were already logged, so that each is logged once. */
  readonly warned: Set<string>;
}

export function emit(job: Job, event: JobEvent): string | undefined {
  return job.observer(event, job.state);
}

/** Changes the turn. A new delivery also sets the result and reason that are true if the run ends now. */
export function update(job: Job, changes: Partial<Turn>): void {
  const turn = { ...job.state.turn, ...changes };
  const now =
    changes.delivery === undefined
      ? {}
      : reasonNow(turn.delivery, job.state.isReadOnly, job.inputs.wait);
  job.state = { ...job.state, turn: { ...turn, ...now } };
}

/** Like `pollBeforeSend`, which it tells what becomes of the polls. */
export function pollerBeforeSend(job: Job, context = job.context) {
  return pollBeforeSend(
    context,
    job.state.jobId,
    () => countPoll(job),
    (why, afterMs) => emit(job, { kind: 'missed', why, afterMs }),
  );
}

export function countPoll(job: Job): void {
  job.state = { ...job.state, polls: job.state.polls + 1 };
}

/** Stores the result of a poll before the message, to compare later polls with. */
export function takeBaseline(job: Job, { record }: Fetched): void {
  const { status, archivedAt } = record;
  const prLink = record.linkProblem === null ? record.prLink : LEFT_OUT;
  update(job, { base: { status, prLink, archivedAt } });
  take(job, record);
}

/** Stores the result of a poll after the message. */
export function takePoll(job: Job, { record, from, to }: Fetched): void {
  update(job, observe(job.state.turn, record, from, to));
  take(job, record, knownStatus(job, record));
  update(job, { prLinkChange: changeOfLink(job.state.turn.base, record) });
}

/** Stores that the message was delivered. `record` is null if the API returned none. */
export function takeDelivery(job: Job, record: JobRecord | null): void {
  const now = job.context.clock.now();
  update(job, { delivery: 'sent', sentAt: now });
  const changes = record === null ? [] : receive(job, record, knownStatus(job, record));
  emit(job, { kind: 'delivered' });
  for (const item of changes) emit(job, item);
}

/** After the message, a response without a status does not change what is known. */
function knownStatus({ state }: Job, record: JobRecord): string | null {
  return record.status ?? state.record?.status ?? null;
}

/** Stores a record, and emits what is new in it. */
export function take(job: Job, record: JobRecord, status = record.status): void {
  for (const item of receive(job, record, status)) emit(job, item);
}

function receive(job: Job, record: JobRecord, status: string | null): readonly JobEvent[] {
  const { state, warned } = job;
  const firstSeenAt = record.status === null ? null : job.context.clock.now();
  job.state = {
    ...state,
    record: { ...record, status },
    firstSeenAt: state.firstSeenAt ?? firstSeenAt,
  };
  const warnings = warningsOf(record).filter((text) => !warned.has(text));
  for (const text of warnings) warned.add(text);
  return [
    ...(state.record?.status === status ? [] : [{ kind: 'status' as const }]),
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

/** Ends the job. Secrets are removed from the reason. */
export function endJob(job: Job, { result, reason, isConfirmed = false }: End): void {
  const { inputs, context } = job;
  const { turn } = job.state;
  update(job, {
    ...{ result, reason: redactReason(reason, context.redact), endedAt: context.clock.now() },
    // Without a wait or a message, there is nothing to confirm.
    confirmed: inputs.wait && turn.delivery !== 'not-sent' ? isConfirmed : null,
  });
  emit(job, { kind: 'ended' });
}
