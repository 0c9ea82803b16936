// What a run knows of a job, the words for it, and the rule that says when the agent is done with a message.

/** Whether the message was delivered; `unknown`: it may or may not have been. The worst first. */
export const DELIVERIES = ['unknown', 'sent', 'not-sent'] as const;
export type Delivery = (typeof DELIVERIES)[number];

/** How a job ended in this run, from worst to best. */
export const RESULTS = [
  'error',
  'cancelled',
  'failed',
  'archived',
  'timed-out',
  'active',
  'sent',
  'completed',
  'skipped',
] as const;
export type JobResult = (typeof RESULTS)[number];

/** The results that `fail-on` may list; `error` and `cancelled` always fail the step. */
export const FAIL_ON = [
  'failed',
  'archived',
  'timed-out',
  'skipped',
  'active',
  'completed',
] as const satisfies readonly JobResult[];

/** The statuses that the API documents; any other counts as "not final". */
export const STATUSES = ['active', 'completed', 'archived', 'failed'] as const;
export type Status = (typeof STATUSES)[number];
export const FINAL_STATUSES = ['completed', 'archived', 'failed'] as const;
export type FinalStatus = (typeof FINAL_STATUSES)[number];

/** A job as the API returned it. What a response leaves out is missing; null is what the API said. */
export interface JobRecord {
  readonly id: string;
  /** A plain word. */
  readonly status?: string;
  /** Checked: an https link to a pull request on a known code host. Null: there is no pull request. */
  readonly prLink?: string | null;
  /** The number of that pull request, if it is in this repository. */
  readonly prNumber?: number | null;
  /** Why the link that the API returned is left out. */
  readonly linkProblem?: string;
  readonly model?: string;
  readonly source?: { readonly repository: string; readonly ref: string | null };
  readonly createdAt?: string;
  readonly archivedAt?: string | null;
}

/** What a poll before the message showed. */
export interface Base {
  /** Null if the API did not say. */
  readonly status: string | null;
  /** Missing if the API did not say. */
  readonly prLink?: string | null;
  /** When the poll started. */
  readonly at: number;
}

/**
 * What becomes of the message of a job. `none`: the run sends nothing. `open`: nothing was sent yet. `sending`: from
 * now on, it may be sent at any moment. The others are final.
 */
export type Message =
  | { readonly kind: 'none' | 'open' | 'sending' | 'unknown' | 'not-sent' }
  /** Since when the API has accepted it. */
  | { readonly kind: 'sent'; readonly at: number };

/** What the agent works on: the states in the diagram "confirmed" of docs/delivery.md. */
export type Work = 'earlier work' | 'nothing' | 'our message';

/** What the polls after the message have shown. */
export interface After {
  readonly work: Work;
  /** Since when the status has been final without a break; null while it is not. */
  readonly finalSince: number | null;
  /** The last status was read at this time or later; 0 if there was none. */
  readonly seenAt: number;
}

/** How a job ended in this run. */
export interface End {
  readonly result: JobResult;
  /** What happened and what to do about it, for every result that is not plain success; otherwise empty. */
  readonly reason: string;
  /** What the author of the workflow may change; empty if there is nothing. Comments leave it out. */
  readonly hint: string;
  /** Whether the agent was seen at work, and then done, after the message; null without a wait. */
  readonly confirmed: boolean | null;
  /** The most messages in a row, if that has stopped this one. */
  readonly limit?: number;
}

/** A pull request just before the message. */
export interface Head {
  readonly number: number;
  /** Its newest commit. */
  readonly sha: string;
  readonly commits: number;
}

/** What the agent has changed in the pull request, as far as that is known. */
export type Change =
  | {
      readonly kind: 'commits';
      readonly count: number;
      readonly before: string;
      readonly after: string;
      /** Those of the new commits, redacted, the newest last. */
      readonly titles: readonly { readonly title: string; readonly sha: string }[];
    }
  | { readonly kind: 'none' | 'rewritten' | 'created' | 'no-pull-request' };

/**
 * All that a run knows of one job. Only the functions of this file change it. The API gives neither messages nor turns
 * an ID, and just after a message a job may still have the status of its *previous* turn. So polls before and
 * after the message must show which message a final status belongs to. Times are in milliseconds since 1970.
 */
export interface Job {
  readonly id: string;
  /** With `send: false`, nothing is sent. */
  readonly isReadOnly: boolean;
  /** All that the API has told; null before its first response. */
  readonly record: JobRecord | null;
  /** How often it was polled. */
  readonly polls: number;
  /** What the last poll before the message showed; null if there was none, or if it was too early. */
  readonly base: Base | null;
  readonly message: Message;
  /** Whether the message waits until the agent is done with earlier work. */
  readonly isWaiting: boolean;
  readonly after: After;
  /** Its pull request before the message; null if that is not known. */
  readonly head: Head | null;
  /** Null if it is not known. */
  readonly change: Change | null;
  /** Null while the run works on it. */
  readonly end: End | null;
  /** When it ended; null before. */
  readonly endedAt: number | null;
}

export function newJob(id: string, isReadOnly: boolean): Job {
  return {
    id,
    isReadOnly,
    record: null,
    polls: 0,
    base: null,
    message: { kind: isReadOnly ? 'none' : 'open' },
    isWaiting: false,
    after: { work: 'earlier work', finalSince: null, seenAt: 0 },
    head: null,
    change: null,
    end: null,
    endedAt: null,
  };
}

// What changes a job.

/** A poll is about to start. */
export function polling(job: Job): void {
  write(job, { polls: job.polls + 1 });
}

/**
 * A poll, between `from` and `to`, has returned this record. What the record leaves out stays as it was known. Before the
 * message it is the base, after the message it may show that the agent works on it.
 */
export function observed(job: Job, record: JobRecord, from: number, to: number): void {
  learned(job, record);
  const { status = null, prLink } = record;
  if (mayBeSent(job)) {
    write(job, { base: { status, at: from, ...(prLink !== undefined && { prLink }) } });
  } else if (status !== null) {
    write(job, {
      after: {
        work: nextWork(job, status),
        finalSince: isFinal(status) ? (job.after.finalSince ?? to) : null,
        seenAt: from,
      },
    });
  }
}

/** The response to the message is no poll: reads may still be out of date. */
export function learned(job: Job, record: JobRecord): void {
  write(job, { record: { ...job.record, ...record } });
}

/** Whether the message waits for earlier work. */
export function setWaiting(job: Job, isWaiting: boolean): void {
  write(job, { isWaiting });
}

/** From now on, the message may be sent at any moment. */
export function sending(job: Job): void {
  write(job, { message: { kind: 'sending' } });
}

/** The request is about to be sent. What an older base shows may be over, so only a fresh one counts. */
export function posting(job: Job, now: number, head: Head | null): void {
  write(job, { head, isWaiting: false, base: isBaseFresh(job, now) ? job.base : null });
}

/** The API has accepted the message. */
export function accepted(job: Job, at: number): void {
  write(job, { message: { kind: 'sent', at }, after: startOfAfter(statusBefore(job)) });
}

/** The API may have accepted the message. */
export function doubted(job: Job): void {
  write(job, { message: { kind: 'unknown' } });
}

/** An earlier attempt has sent the message. `isOurs`: it saw the agent at work on it. */
export function resumed(job: Job, at: number, base: string | null, isOurs: boolean): void {
  const known = base === null ? null : { status: base, at };
  const after = startOfAfter(base);
  write(job, {
    message: { kind: 'sent', at },
    base: known,
    after: isOurs ? { ...after, work: 'our message' } : after,
  });
}

/** The run is done with the job. What may have been delivered is known already. */
export function ended(job: Job, end: End, at: number): void {
  if (mayBeSent(job)) write(job, { message: { kind: 'not-sent' } });
  write(job, { end, endedAt: at, isWaiting: false });
}

export function setChange(job: Job, what: Change | null): void {
  write(job, { change: what });
}

/** The only place that writes a job. */
function write(job: Job, parts: Partial<Omit<Job, 'id' | 'isReadOnly'>>): void {
  Object.assign(job, parts);
}

// What a job says.

export function statusOf({ record }: Job): string | null {
  return record?.status ?? null;
}

/** Whether this run may still send the message. */
export function mayBeSent({ message }: Job): boolean {
  return message.kind === 'open' || message.kind === 'sending';
}

/** The delivery if the run ends now. */
export function deliveryOf({ message }: Job): Delivery {
  switch (message.kind) {
    case 'sent':
      return 'sent';
    case 'sending':
    case 'unknown':
      return 'unknown';
    case 'none':
    case 'open':
    case 'not-sent':
      return 'not-sent';
  }
}

/** When the API accepted the message; null if it has not. */
export function sentAtOf({ message }: Job): number | null {
  return message.kind === 'sent' ? message.at : null;
}

/** Milliseconds from the answer to the message to the end; null without one of them. */
export function elapsedMs(job: Job): number | null {
  const sentAt = sentAtOf(job);
  return sentAt === null || job.endedAt === null ? null : job.endedAt - sentAt;
}

export function isKnownStatus(status: string | null): status is Status {
  return (STATUSES as readonly (string | null)[]).includes(status);
}

/** completed, archived and failed are final; an unknown or missing status never is. */
export function isFinal(status: string | null): status is FinalStatus {
  return (FINAL_STATUSES as readonly (string | null)[]).includes(status);
}

/** The status before the message; null if it is not known. */
export function statusBefore({ base }: Pick<Job, 'base'>): string | null {
  return base?.status ?? null;
}

/** Milliseconds. A change after the base counts as an effect of the message. */
const FRESH_BASE_MS = 1000;

export function isBaseFresh({ base }: Job, now: number): boolean {
  return base !== null && now - base.at <= FRESH_BASE_MS;
}

// When the agent is done: docs/delivery.md draws it.

function startOfAfter(before: string | null): After {
  const work = isFinal(before) ? 'nothing' : 'earlier work';
  return { work, finalSince: null, seenAt: 0 };
}

/** What the agent works on, as a poll after the message shows it. */
function nextWork(job: Job, status: string): Work {
  const { work } = job.after;
  switch (work) {
    case 'our message':
      return work;
    case 'earlier work':
      return isFinal(status) ? 'nothing' : work;
    case 'nothing':
      return status === 'active' || isOtherEnd(statusBefore(job), status) ? 'our message' : work;
  }
}

/** The work on the message began and ended between two polls. Anyone can archive a job, so that shows nothing. */
function isOtherEnd(before: string | null, status: string): boolean {
  return isFinal(before) && isFinal(status) && status !== before && status !== 'archived';
}

/** Whether the agent is done with the message and, if so, whether that is certain. */
export type Done = 'no' | 'confirmed' | 'unconfirmed';

/**
 * After work on our message, a final status is the end at once. It is confirmed if the status before the message is
 * known. Otherwise it is accepted when it has settled, and is unconfirmed: `settleMs` after the message if the agent
 * was done before, or else after the final status has lasted for as long. A record may be from any time between the
 * request and the response of its poll, so periods are measured from the end of the first poll to the start of the last.
 *
 * In 200,000 simulated runs, in which messages were queued for mostly 2 s and at most 45 s, 60 s were
 * never too short, and 30 s were in 1.8 % of the runs.
 */
export function isDone(job: Job, settleMs: number): Done {
  const { finalSince, work, seenAt } = job.after;
  if (finalSince === null) return 'no';
  if (work === 'our message') return statusBefore(job) === null ? 'unconfirmed' : 'confirmed';
  return settleMs === 0 || seenAt >= settlesAt(job, finalSince, settleMs) ? 'unconfirmed' : 'no';
}

/** Milliseconds between polls while a final status may still belong to earlier work. */
const DOUBT_INTERVAL_MS = 5000;
/** Responses without a status do not end the doubt, however many there are. */
const SHORTEST_DOUBT_MS = 1000;

/** Milliseconds within which a job in doubt must be polled again; Infinity if there is no doubt. */
export function doubtMs(job: Job, now: number, settleMs: number): number {
  const { finalSince, work } = job.after;
  if (finalSince === null) return work === 'nothing' ? DOUBT_INTERVAL_MS : Infinity;
  const untilEnd = settlesAt(job, finalSince, settleMs) - now;
  return Math.min(DOUBT_INTERVAL_MS, Math.max(SHORTEST_DOUBT_MS, untilEnd));
}

/** When a final status without work on our message is accepted. */
function settlesAt(job: Job, finalSince: number, settleMs: number): number {
  const sentAt = sentAtOf(job);
  return (isFinal(statusBefore(job)) && sentAt !== null ? sentAt : finalSince) + settleMs;
}
