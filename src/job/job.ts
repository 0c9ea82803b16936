import type { PullRequest } from '../pull-request.ts';
import { isFinal, isKnownStatus, STATUSES } from '../service.ts';
import type { Label } from './labels.ts';
import type { Outcome } from './stop-reasons.ts';

// What a run knows of a job, the words for it, and the rule that says when the agent is done with a message.

/** Whether the message was delivered; `unknown`: it may or may not have been. The worst first. */
export const DELIVERIES = ['unknown', 'sent', 'not-sent'] as const;
export type Delivery = (typeof DELIVERIES)[number];

/** A job as the API returned it. What a response leaves out is missing; null is what the API said. */
export interface JobRecord {
  readonly id: string;
  /** One that is known, or text by others in one line. */
  readonly status?: string;
  /** Checked: an https link to a pull request of a code host. Null: there is no pull request. Missing: it is not known. */
  readonly prLink?: string | null | undefined;
  /** The number of that pull request, if it is in this repository. */
  readonly prNumber?: number | null | undefined;
  /** Why the link that the API returned is left out. */
  readonly linkProblem?: string;
}

/** What the last poll before the message showed; what the API did not say is missing. */
interface Base {
  readonly status?: string | undefined;
  readonly prLink?: string | null | undefined;
}

/**
 * What becomes of the message of a job. `pending`: nothing was sent yet. `sending`: from now on, it may be sent at any moment. The
 * others are final.
 */
export type MessageState =
  | { readonly kind: 'pending' | 'sending' | 'not-sent' }
  /** `isEarlier`: an earlier attempt may have sent it, and this one did not. */
  | { readonly kind: 'unknown'; readonly isEarlier: boolean }
  /** When the API accepted it. `isEarlier`: in an earlier attempt. */
  | { readonly kind: 'sent'; readonly at: number; readonly isEarlier: boolean };

/** What the agent works on: the table "confirmed" of docs/delivery.md has the outcomes. */
type Work = 'earlier work' | 'nothing' | 'our message';

/** What the polls after the message have shown. */
export interface After {
  /** When this attempt began to wait: the runner of an earlier one may have had another time. */
  readonly since: number;
  readonly work: Work;
  /** Since when the status has been final without a break, and in how many polls. */
  readonly finalSince?: number;
  readonly finalPolls?: number;
  /** The last status was read at this time or later. */
  readonly seenAt?: number;
}

/** A pull request before a message. `commits`: missing if an earlier attempt has sent it, whose note names only the newest. */
export type HeadBefore = Pick<PullRequest, 'number' | 'sha'> &
  Partial<Pick<PullRequest, 'commits'>>;

/** What the agent has changed in the pull request. */
export type Change =
  | Pushed
  /** `count`: the commits of the pull request, if GitHub tells. */
  | { readonly kind: 'created'; readonly count?: number | undefined }
  | { readonly kind: 'none' | 'rewritten' | 'no-pull-request' };

/** Two commits of a pull request, and all that is between them. */
export interface CommitRange {
  readonly before: string;
  readonly after: string;
}

/** Commits that were pushed to the pull request. */
export interface Pushed extends CommitRange {
  readonly kind: 'commits';
  /** How many more commits the pull request has; missing if that is not known. */
  readonly count?: number | undefined;
  /** Missing if GitHub does not tell all of them. A merge brings the changes of others, so nothing else is known then. */
  readonly told?: 'a merge' | PlainCommits;
}

/** What commits are of which none is a merge. */
export interface PlainCommits {
  /** The files that they change; missing if GitHub does not tell all of them. */
  readonly files?: readonly string[];
  /** The files of inline comments that they do not change, each with the number of its comments. */
  readonly untouched: ReadonlyMap<string, number>;
  /** The first lines of their messages, the oldest first, without secrets. */
  readonly headlines: readonly string[];
  /** Their logins, each once; null for those without an account. */
  readonly authors: readonly (string | null)[];
}

/**
 * All that a run knows of one job; what is not known is missing. Only the functions of this file change it. The API gives
 * neither messages nor turns an ID, and just after a message a job may still have the status of its *previous* turn. So polls
 * before and after the message must show which message a final status belongs to. Times are in milliseconds since 1970.
 */
export interface Job {
  /** `NEW_JOB` until it is created. */
  readonly id: string;
  /** All that the API has told. */
  readonly record?: JobRecord;
  readonly base?: Base;
  readonly message: MessageState;
  /** Whether the message waits until the agent is done with earlier work. */
  readonly isWaiting: boolean;
  /** Milliseconds for which it has waited for that; missing if it did not have to. */
  readonly waitedMs?: number;
  readonly after: After;
  /** Which message in a row it is, under a limit. */
  readonly nthInARow?: number | undefined;
  /** Its pull request before the message. */
  readonly head?: HeadBefore | undefined;
  readonly change?: Change;
  /** Missing while the run works on it. */
  readonly end?: Outcome;
  readonly endedAt?: number;
}

/**
 * Whether the text can be a path segment of the API: only characters that no URL parser rewrites (RFC 3986
 * unreserved, `:` and `@`), and no dot segment, which `encodeURIComponent` would let through.
 */
export function isId(text: string): boolean {
  return text !== '.' && text !== '..' && /^[\w\-.~:@]{1,256}$/.test(text);
}

/** The ID of a job that is still to be created. */
export const NEW_JOB = '';
/** The status before the message of a job that was created by it. */
export const BEFORE_CREATION = 'new';

export function newJob(id: string): Job {
  return {
    id,
    message: { kind: 'pending' },
    isWaiting: false,
    after: { since: 0, work: 'earlier work' },
  };
}

// What changes a job.

/**
 * A poll, between `from` and `to`, has returned this record. What the record leaves out stays as it was known. Before the
 * message it is the base, after the message it may show that the agent works on it.
 */
export function recordPoll(job: Job, record: JobRecord, from: number, to: number): void {
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

/**
 * The response to the message is no poll: reads may still be out of date. While the agent works, the API names no pull request,
 * even if there is one; and of two final statuses, the one without it may be of a replica that is behind. That there was none is
 * out of date once a response does not say so.
 */
export function recordResponse(job: Job, { prLink, prNumber, ...others }: JobRecord): void {
  const isEnd = isFinal(others.status) && !isFinal(statusOf(job));
  const isOld = prLink === undefined || (prLink === null && !isEnd);
  const keepsLink = isOld && Boolean(job.record?.prLink);
  const pull = keepsLink ? {} : { prLink, prNumber };
  update(job, { record: { ...job.record, ...others, ...pull } });
}

/** The API has accepted the message. */
export function markSent(job: Job, at: number): void {
  const message = { kind: 'sent', at, isEarlier: false } as const;
  update(job, { message, after: startOfAfter(statusBefore(job), at) });
}

/** The API has created the job. It has no earlier work, so its first end is that of the message. */
export function markCreated(job: Job, id: string, at: number): void {
  update(job, {
    id,
    message: { kind: 'sent', at, isEarlier: false },
    base: { status: BEFORE_CREATION, prLink: null },
    after: { since: at, work: 'our message' },
  });
}

/**
 * An earlier attempt sent the message at `sentAt`, and this one goes on with it `now`. `base`: the status before it.
 * `isOurs`: the earlier attempt saw the agent at work on it. `head`: what it saw just before the message.
 */
export function goOn(job: Job, earlier: Earlier, now: number): void {
  const { id, sentAt, base, isOurs = false, head } = earlier;
  const after = startOfAfter(base, now);
  update(job, {
    id,
    message: { kind: 'sent', at: sentAt, isEarlier: true },
    base: { status: base },
    head,
    after: isOurs ? { ...after, work: 'our message' } : after,
    isWaiting: false,
  });
}

interface Earlier {
  readonly id: string;
  readonly sentAt: number;
  readonly base?: string | undefined;
  readonly isOurs?: boolean | undefined;
  readonly head?: HeadBefore | undefined;
}

/** The only place that writes a job. */
export function update(job: Job, parts: Partial<Job>): void {
  Object.assign(job, parts);
}

// What a job says.

export function statusOf({ record }: Job): string | undefined {
  return record?.status;
}

/** Whether this run may still send the message. */
export function mayBeSent({ message }: Job): boolean {
  return message.kind === 'pending' || message.kind === 'sending';
}

/** The delivery if the run ends now. */
export function deliveryOf({ message }: Job): Delivery {
  switch (message.kind) {
    case 'sent':
      return 'sent';
    case 'sending':
    case 'unknown':
      return 'unknown';
    case 'pending':
    case 'not-sent':
      return 'not-sent';
  }
}

export function labelOf(job: Job): Label {
  const { end, isWaiting, message } = job;
  if (end !== undefined) return end.label;
  if (isWaiting) return 'waiting';
  if (message.kind === 'sent') return 'working';
  return job.id === NEW_JOB ? 'creating' : 'sending';
}

/** When the API accepted the message, if it has. */
export function sentAtOf({ message }: Job): number | undefined {
  return message.kind === 'sent' ? message.at : undefined;
}

/** Milliseconds from the answer to the message to the end. The runner of an earlier attempt may have had another time. */
export function elapsedMs({ message, endedAt }: Job): number | undefined {
  if (message.kind !== 'sent' || message.isEarlier || endedAt === undefined) return undefined;
  return endedAt - message.at;
}

/** Whether the message has created the job. */
export function isCreated({ base }: Job): boolean {
  return base?.status === BEFORE_CREATION;
}

/** Whether the agent is done, and certainly has changed nothing. */
export function changedNothing({ change, end }: Job): boolean {
  const hasNoCommit = change?.kind === 'none' || change?.kind === 'no-pull-request';
  return end?.result === 'completed' && hasNoCommit;
}

/** Where the message of a job is. */
export function phaseOf({ message, isWaiting }: Job): 'before' | 'waiting' | 'during' | 'after' {
  if (message.kind === 'sent') return 'after';
  if (message.kind === 'unknown') return 'during';
  return isWaiting ? 'waiting' : 'before';
}

/** The status before the message, if it is known. */
export function statusBefore({ base }: Pick<Job, 'base'>): string | undefined {
  return base?.status;
}

// When the agent is done: docs/delivery.md has the table.

function startOfAfter(before: string | undefined, since: number): After {
  return { since, work: isFinal(before) ? 'nothing' : 'earlier work' };
}

/** What the agent works on, as a poll after the message shows it. One final status may be followed by an older record. */
function nextWork(job: Job, status: string): Work {
  const { work, finalSince } = job.after;
  switch (work) {
    case 'our message':
      return work;
    case 'earlier work':
      return isFinal(status) && finalSince !== undefined ? 'nothing' : work;
    case 'nothing':
      return showsWork(status, statusBefore(job)) ? 'our message' : work;
  }
}

/** With another end than before, the work on the message began and ended between two polls. */
function showsWork(status: string, before: string | undefined): boolean {
  if (!isKnownStatus(status)) return false;
  const { showsWork } = STATUSES[status];
  return showsWork === 'always' || (showsWork === 'if new' && isFinal(before) && status !== before);
}

/** Milliseconds that a final status must last which may belong to earlier work. */
export const SETTLE_MS = 60_000;
/**
 * So many polls in a row must show an end after work: the API may answer from servers of which some are behind. If each poll asks
 * one of two at random, of which one is 15 s behind, 0.5 % of the ends that may be old are taken too early.
 */
const ENOUGH = 2;
const ENOUGH_IF_OLD = 5;

/** Whether the agent is done with the message and, if so, whether that is certain. */
export type Done = 'no' | 'confirmed' | 'unconfirmed';

/**
 * After work on our message, a final status is the end once a few polls in a row have shown it; with no time for another one, one
 * poll is enough, unless it may be older than the message. It is confirmed if the status before the message is known. Otherwise it is
 * accepted when it has settled, and is unconfirmed: `SETTLE_MS` after the message if the agent was done before, or else after
 * the final status has lasted for as long. A record may be from any time between the request and the response of its poll, so
 * periods are measured from the end of the first poll to the start of the last.
 *
 * In 200,000 simulated runs, in which messages were queued for mostly 2 s and at most 45 s, 60 s were
 * never too short, and 30 s were in 1.8 % of the runs.
 */
export function isDone(job: Job, isLastPoll = false): Done {
  const { since, work, finalSince, finalPolls = 0, seenAt = 0 } = job.after;
  const before = statusBefore(job);
  if (finalSince === undefined) return 'no';
  if (work !== 'our message') {
    const settledAt = SETTLE_MS + (isFinal(before) ? since : finalSince);
    return seenAt >= settledAt ? 'unconfirmed' : 'no';
  }
  const mayBeOld = statusOf(job) === before && seenAt < since + SETTLE_MS;
  const enough = isLastPoll ? 1 : ENOUGH;
  if (finalPolls < (mayBeOld ? ENOUGH_IF_OLD : enough)) return 'no';
  return before === undefined ? 'unconfirmed' : 'confirmed';
}
