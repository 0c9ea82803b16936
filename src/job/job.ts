import { isFinal, isKnownStatus, STATUSES } from '../mintlify-api.ts';
import type { PullRequest } from '../pull-request.ts';
import type { Label } from './labels.ts';
import type { Outcome } from './stop-reasons.ts';

/** The worst first. */
export const DELIVERIES = ['unknown', 'sent', 'not-sent'] as const;
export type Delivery = (typeof DELIVERIES)[number];

/** What a response leaves out is missing; null is what the API said. */
export interface JobRecord {
  readonly id: string;
  /** May be text by others, in one line. */
  readonly status?: string;
  readonly prLink?: string | null | undefined;
  /** Only of one in this repository. */
  readonly prNumber?: number | null | undefined;
  readonly linkProblem?: string;
}

export interface Pushed {
  readonly kind: 'commits';
  readonly before: string;
  readonly after: string;
  readonly count?: number | undefined;
  /** A merge brings the changes of others, so nothing else is known then. */
  readonly told?:
    | 'a merge'
    | {
        /** Missing if GitHub does not tell all of them. */
        readonly files?: readonly string[];
        /** The files of inline comments that they do not change, with the number of comments. */
        readonly untouched: ReadonlyMap<string, number>;
        readonly headlines: readonly string[];
        readonly authors: readonly (string | null)[];
      };
}

export type Change =
  | Pushed
  | { readonly kind: 'created'; readonly count?: number | undefined }
  | {
      readonly kind: 'none';
      /** What people have pushed meanwhile, by their logins without secrets. */
      readonly byOthers?: { readonly count: number; readonly authors: readonly string[] };
      /** Of the failed check that the message was about, on the same commit. */
      readonly check?: 'failed' | 'running' | 'passed' | undefined;
    }
  | { readonly kind: 'rewritten' | 'no-pull-request' };

/**
 * The API gives neither messages nor turns an ID, and just after a message a job may still have
 * the status of its *previous* turn. So polls before and after it must show which message a final
 * status belongs to. Times are in milliseconds since 1970.
 */
export interface JobState {
  readonly id: string;
  readonly record?: JobRecord;
  /** What the last poll before the message showed. */
  readonly base?: Pick<JobRecord, 'prLink'> & { readonly status?: string | undefined };
  /** `sending`: at any moment. `isEarlier`: an earlier attempt has sent it, or may have. */
  readonly message:
    | { readonly kind: 'pending' | 'sending' | 'not-sent'; readonly isEarlier?: false }
    | { readonly kind: 'unknown'; readonly isEarlier?: boolean }
    | { readonly kind: 'sent'; readonly isEarlier?: boolean; readonly at: number };
  readonly isWaiting: boolean;
  readonly waitsFor?: string | undefined;
  readonly hasWaited?: boolean;
  readonly after: {
    /** When this attempt began to wait. */
    readonly since: number;
    readonly work: 'earlier work' | 'nothing' | 'our message';
    /** Since when the status has been final without a break, and in how many polls. */
    readonly finalSince?: number;
    readonly finalPolls?: number;
    /** When its request was made. */
    readonly seenAt?: number;
  };
  readonly nthInARow?: number | undefined;
  /** Its pull request before the message; a re-run knows less of that. */
  readonly head?:
    | (Pick<PullRequest, 'number' | 'sha'> & Partial<Pick<PullRequest, 'commits' | 'state'>>)
    | undefined;
  readonly change?: Change;
  readonly end?: Outcome;
  readonly endedAt?: number;
}

/** Whether the text can be a path segment that no URL parser rewrites (RFC 3986). */
export function isId(text: string): boolean {
  return text !== '.' && text !== '..' && /^[\w\-.~:@]{1,256}$/.test(text);
}

/** The ID of a job that is still to be created. */
export const NEW_JOB = '';
export const BEFORE_CREATION = 'new';

export function newJob(id: string): JobState {
  return {
    id,
    message: { kind: 'pending' },
    isWaiting: false,
    after: { since: 0, work: 'earlier work' },
  };
}

export function recordPoll(job: JobState, record: JobRecord, from: number, to: number): void {
  recordResponse(job, record);
  const { status, prLink } = record;
  if (mayBeSent(job)) {
    update(job, { base: { status, prLink } });
  } else if (status !== undefined) {
    const { since, finalSince = to, finalPolls = 0 } = job.after;
    const end = isFinal(status) && { finalSince, finalPolls: finalPolls + 1 };
    update(job, { after: { since, work: nextWork(job, status), seenAt: from, ...end } });
  }
}

// While the agent works, the API names no pull request, even if there is one; and of two final
// statuses, the one without it may be of a replica that is behind.
export function recordResponse(job: JobState, { prLink, prNumber, ...others }: JobRecord): void {
  const isEnd = isFinal(others.status) && !isFinal(job.record?.status);
  const isOld = prLink === undefined || (prLink === null && !isEnd);
  const keepsLink = isOld && Boolean(job.record?.prLink);
  update(job, { record: { ...job.record, ...others, ...(!keepsLink && { prLink, prNumber }) } });
}

export function markSent(job: JobState, at: number): void {
  update(job, { message: { kind: 'sent', at }, after: startOfAfter(job.base?.status, at) });
}

/** It has no earlier work, so its first end is that of the message. */
export function markCreated(job: JobState, id: string, at: number): void {
  update(job, {
    id,
    message: { kind: 'sent', at },
    base: { status: BEFORE_CREATION, prLink: null },
    after: { since: at, work: 'our message' },
  });
}

/** `isOurs`: an earlier attempt, which has sent the message, saw the agent at work on it. */
export function goOn(
  job: JobState,
  earlier: Pick<JobState, 'id' | 'head'> & {
    readonly sentAt: number;
    readonly base?: string | undefined;
    readonly isOurs?: boolean | undefined;
  },
  now: number,
): void {
  const { id, sentAt, base, isOurs, head } = earlier;
  update(job, {
    id,
    message: { kind: 'sent', at: sentAt, isEarlier: true },
    base: { status: base },
    head,
    after: { ...startOfAfter(base, now), ...(isOurs && { work: 'our message' }) },
    isWaiting: false,
  });
}

/** The only place that writes a job. */
export function update(job: JobState, parts: Partial<JobState>): void {
  Object.assign(job, parts);
}

export function mayBeSent({ message }: JobState): boolean {
  return message.kind === 'pending' || message.kind === 'sending';
}

/** If the run ends now. */
export function toDelivery({ message }: JobState): Delivery {
  if (message.kind === 'sending') return 'unknown';
  return message.kind === 'pending' ? 'not-sent' : message.kind;
}

export function toLabel(job: JobState): Label {
  const { end, isWaiting, message, change } = job;
  if (end?.label === 'completed' && change?.kind === 'none' && change.check === 'failed') {
    return 'still failing';
  }
  if (end !== undefined) return end.label;
  if (isWaiting) return 'waiting';
  if (message.kind === 'sent') return 'working';
  return job.id === NEW_JOB ? 'creating' : 'sending';
}

export function elapsedMs({ message, endedAt }: JobState): number | undefined {
  // The runner of an earlier attempt may have had another time.
  if (message.kind !== 'sent' || message.isEarlier || endedAt === undefined) return undefined;
  return endedAt - message.at;
}

export function isCreated({ base }: JobState): boolean {
  return base?.status === BEFORE_CREATION;
}

export function endedPull({ head }: JobState): JobState['head'] {
  return head?.state === undefined || head.state === 'open' ? undefined : head;
}

export function changedNothing({ change, end }: JobState): boolean {
  const hasNoCommit = change?.kind === 'none' || change?.kind === 'no-pull-request';
  return end?.result === 'completed' && hasNoCommit;
}

/** Empty if that was not looked at, as for several jobs. */
export function countCommits({ change }: JobState): string {
  if (change === undefined || change.kind === 'rewritten') return '';
  const hasCount = change.kind === 'commits' || change.kind === 'created';
  return hasCount ? String(change.count ?? '') : '0';
}

export function toPhase({ message, isWaiting }: JobState) {
  if (message.kind === 'sent') return 'after';
  if (message.kind === 'unknown') return 'during';
  return isWaiting ? 'waiting' : 'before';
}

// When the agent is done: docs/delivery.md has the table.

function startOfAfter(before: string | undefined, since: number): JobState['after'] {
  return { since, work: isFinal(before) ? 'nothing' : 'earlier work' };
}

/** One final status may be followed by an older record. */
function nextWork(job: JobState, status: string): JobState['after']['work'] {
  const { work, finalSince } = job.after;
  switch (work) {
    case 'our message':
      return work;
    case 'earlier work':
      return isFinal(status) && finalSince !== undefined ? 'nothing' : work;
    case 'nothing':
      return showsWork(status, job.base?.status) ? 'our message' : work;
  }
}

/** With another end than before, the work began and ended between two polls. */
function showsWork(status: string, before: string | undefined): boolean {
  if (!isKnownStatus(status)) return false;
  const { showsWork } = STATUSES[status];
  return showsWork === 'always' || (showsWork === 'if new' && isFinal(before) && status !== before);
}

/** How long a final status must last that may belong to earlier work. */
export const SETTLE_MS = 60_000;
// Polls in a row. If each asks one of two servers at random, of which one is 15 s behind, 0.5 % of
// the ends that may be old are taken too early.
const ENOUGH = 2;
const ENOUGH_IF_OLD = 5;

export function isDone(job: JobState, isLastPoll = false): 'no' | 'confirmed' | 'unconfirmed' {
  const { since, work, finalSince, finalPolls = 0, seenAt = 0 } = job.after;
  const before = job.base?.status;
  if (finalSince === undefined) return 'no';
  if (work !== 'our message') {
    // In 200,000 simulated runs, in which messages were queued for at most 45 s, 60 s were never
    // too short, and 30 s were in 1.8 %.
    const settledAt = SETTLE_MS + (isFinal(before) ? since : finalSince);
    return seenAt >= settledAt ? 'unconfirmed' : 'no';
  }
  const mayBeOld = job.record?.status === before && seenAt < since + SETTLE_MS;
  const enough = isLastPoll ? 1 : ENOUGH;
  if (finalPolls < (mayBeOld ? ENOUGH_IF_OLD : enough)) return 'no';
  return before === undefined ? 'unconfirmed' : 'confirmed';
}
