// A turn is one message to one job and the agent's work on it. This file owns what a run knows of it,
// the words for it, and the rule that says when it is done.

import { NO_REASON, type Reason } from './reason.ts';
import type { Redact } from './runner/secrets.ts';

/** What became of the message; `unknown`: it may or may not have arrived. In order of weight. */
export const DELIVERIES = ['unknown', 'sent', 'not-sent'] as const;
export type Delivery = (typeof DELIVERIES)[number];

/** What became of a job in this run, from worst to best. */
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
export type TurnResult = (typeof RESULTS)[number];

/** The results that `fail-on` may list; `error` and `cancelled` always fail the step. */
export const FAIL_ON = [
  'failed',
  'archived',
  'timed-out',
  'skipped',
  'active',
  'completed',
] as const satisfies readonly TurnResult[];

/** The statuses that the service documents; any other counts as "not final". */
export const STATUSES = ['active', 'completed', 'archived', 'failed'] as const;
export type Status = (typeof STATUSES)[number];

/** A job as the service showed it. Only `id` and `status` may be relied on. */
export interface JobRecord {
  readonly id: string;
  /** The service's own word, or null where it gave none that is a plain word. */
  readonly status: string | null;
  /** Checked: an https link to a pull request on a known code host. */
  readonly prLink: string | null;
  /** Why a link that the service gave is left out; else null. */
  readonly linkProblem: string | null;
  readonly model: string | null;
  readonly source: { readonly repository: string; readonly ref: string | null } | null;
  readonly createdAt: string | null;
  readonly archivedAt: string | null;
}

/** What of a record can show that something has changed. */
export type Base = Pick<JobRecord, 'status' | 'prLink' | 'archivedAt'>;

/**
 * One message to one job, and what came of it. The service numbers neither messages nor turns, and
 * right after a send a job may still show how its *previous* turn ended, so whether a final status is
 * ours has to be inferred from what was seen before and since. Times are in milliseconds since 1970.
 */
export interface Turn {
  /** Who asked: a comment or review, or else a step of a run. The same for every attempt. */
  readonly origin: string;
  /** Of a step: a hash of its leg of the matrix, or empty. */
  readonly leg: string;
  /** A random name of the process that began the turn; it tells turns of one origin apart. */
  readonly mark: string;
  /** The random name of the process that has the turn now: in a re-run another one. */
  readonly owner: string;
  /** The leg of the owner: a leg that is new in a re-run may go on with the turn of another one. */
  readonly ownerLeg: string;
  /** How often the owner has written it: of two copies the one with more is later. */
  readonly writes: number;
  /** Null where nobody in particular asked. */
  readonly by: string | null;
  /** The beginning of what goes out. */
  readonly prompt: string;
  readonly startedAt: number;
  readonly runId: string;
  /** The last attempt of that run that had the turn. */
  readonly attempt: number;
  /** `sending`: announced, but no request was made yet. */
  readonly delivery: Delivery | 'sending';
  /** What a look just before the message saw; null if there was none, or nobody remembers. */
  readonly base: Base | null;
  /** When the service answered the message; null if it has not. */
  readonly sentAt: number | null;
  /** Whether a look since the message saw what only the message can have caused. */
  readonly evidence: boolean;
  /** Whether a look since the message saw a final status. */
  readonly wasFinal: boolean;
  /** Since when the status has been final without a break; null while it is not. */
  readonly finalSince: number | null;
  /** When the last look that saw the job began: what it saw may be as old as that. */
  readonly seenAt: number;
  /** While the turn is under way, `result` and `reason` are what is true if the run ends now. */
  readonly result: TurnResult;
  /** One sentence for every result that is not plain success; else empty. */
  readonly reason: Reason;
  /** Whether the final status surely belongs to this message; null unless waited for. */
  readonly confirmed: boolean | null;
  /** Null where it is not known what the job showed before the message. */
  readonly prLinkChange: 'created' | 'updated' | 'none' | null;
  /** When it ended, or this run ended its part of it; null while it is under way. */
  readonly endedAt: number | null;
}

/** All that a run knows of one job. */
export interface JobState {
  readonly jobId: string;
  /** Whether this run only looks at the job, and sends nothing. */
  readonly isLook: boolean;
  /** As the service showed it last. */
  readonly record: JobRecord | null;
  readonly turn: Turn;
  /** How often the job was looked at. */
  readonly polls: number;
  readonly timeline: readonly Milestone[];
}

export interface Milestone {
  readonly at: number;
  /** `sent`, a result, or a status of the job that was seen anew. */
  readonly what: string;
}

/** Who asks for what. */
export type TurnStart = Pick<
  Turn,
  'origin' | 'leg' | 'mark' | 'by' | 'prompt' | 'startedAt' | 'runId' | 'attempt'
>;

export function newTurn(start: TurnStart): Turn {
  return {
    ...start,
    owner: start.mark,
    ownerLeg: start.leg,
    writes: 0,
    delivery: 'not-sent',
    base: null,
    sentAt: null,
    evidence: false,
    wasFinal: false,
    finalSince: null,
    seenAt: 0,
    result: 'error',
    reason: NO_REASON,
    confirmed: null,
    prLinkChange: null,
    endedAt: null,
  };
}

export function isKnownStatus(status: string | null): boolean {
  return (STATUSES as readonly (string | null)[]).includes(status);
}

/** The statuses that the service documents are words of ours, not of others. */
export function redactStatus(status: string, redact: Redact): string {
  return isKnownStatus(status) ? status : redact(status);
}

/** completed, archived and failed are final; an unknown or missing status never is. */
export function isFinal(status: string | null): boolean {
  return isKnownStatus(status) && status !== 'active';
}

/** Whether the end of the agent's work was seen. */
export function hasEnded({ result, endedAt }: Turn): boolean {
  return endedAt !== null && isFinal(result);
}

/** Milliseconds from the answer to the message to the end, or to `now`; null if none was sent. */
export function elapsedMs({ sentAt, endedAt }: Turn, now: number | null): number | null {
  const until = endedAt ?? now;
  return sentAt === null || until === null ? null : until - sentAt;
}

/** Stands in a base for a link that was left out or held a secret: it cannot be compared. */
export const LEFT_OUT = '***';

/** How the link has changed since before the message; null where that cannot be told. */
export function changeOfLink(base: Base | null, record: JobRecord | null): Turn['prLinkChange'] {
  if (base === null || record === null || base.prLink?.includes(LEFT_OUT)) return null;
  if (record.prLink !== null) return record.prLink === base.prLink ? 'updated' : 'created';
  return base.prLink === null && record.linkProblem === null ? 'none' : null;
}

export type Verdict =
  | { readonly kind: 'done'; readonly confirmed: boolean }
  /** Not done; the next look is due within `pollWithinMs`, or whenever the schedule says. */
  | { readonly kind: 'open'; readonly pollWithinMs: number | null };

/** Milliseconds between looks while a final status is still distrusted. */
export const DOUBT_INTERVAL_MS = 5000;

/** A look, from its request to its answer, in milliseconds since 1970. */
export interface Moment {
  readonly from: number;
  readonly to: number;
}

/**
 * Takes in what a look after the message saw. The answer to the message is no look: it shows that
 * the message was taken, but not that reads are up to date. Between its request and its answer a
 * look may have seen the job at any time, so windows are measured from the end of the first look to
 * the beginning of the last.
 */
export function observe(turn: Turn, record: JobRecord, { from, to }: Moment): Turn {
  return {
    ...turn,
    evidence: turn.evidence || isTakenUp(turn, record),
    wasFinal: turn.wasFinal || isFinal(record.status),
    finalSince: isFinal(record.status) ? (turn.finalSince ?? to) : null,
    seenAt: from,
  };
}

/** An agent that was at work shows the new message by ending the old one and beginning anew. */
function isTakenUp({ base, wasFinal }: Turn, record: JobRecord): boolean {
  return base !== null && isFinal(base.status)
    ? isEvidence(base, record)
    : wasFinal && record.status === 'active';
}

/**
 * What shows that a message arrived: `active`, or anything that changed. A link or a time that is
 * gone shows nothing, for only `id` and `status` are sure to be in every answer.
 */
export function isEvidence(base: Base, record: Base): boolean {
  return (
    record.status === 'active' ||
    (isKnownStatus(record.status) && record.status !== base.status) ||
    isAnother(record.prLink, base.prLink) ||
    isAnother(record.archivedAt, base.archivedAt)
  );
}

/** What was remembered without a secret of that time cannot be compared. */
function isAnother(now: string | null, before: string | null): boolean {
  return now !== null && now !== before && !before?.includes(LEFT_OUT);
}

/**
 * Whether the turn is done, and if not, when to look again from `now`. `confirmed` is whether the
 * final status surely belongs to our message.
 *
 * - After evidence, a final status is the end at once. It is confirmed, unless what the job showed
 *   before the message is not known.
 * - Base final, no evidence: a final status ends the turn `settleMs` after the message, unconfirmed.
 * - Base not final or not known: the first final status may end the turn before ours, so it must
 *   have stayed for `settleMs`; unconfirmed, for ours may begin later still.
 * - With a `settleMs` of 0 a final status ends the wait at once, and confirms nothing more.
 *
 * With a queueing delay of typically 2 s and a tail to 45 s, a settle window of 60 s was wrong in
 * none of 200,000 simulated runs, one of 30 s in 1.8 % of them.
 */
export function evaluateTurn(turn: Turn, now: number, settleMs: number): Verdict {
  const { base, sentAt, evidence, finalSince, seenAt } = turn;
  const isBaseFinal = base !== null && isFinal(base.status);
  if (finalSince === null) {
    return { kind: 'open', pollWithinMs: isBaseFinal && !evidence ? DOUBT_INTERVAL_MS : null };
  }
  if (evidence) return { kind: 'done', confirmed: base !== null };
  const windowEnd = (isBaseFinal && sentAt !== null ? sentAt : finalSince) + settleMs;
  if (settleMs === 0 || seenAt >= windowEnd) return { kind: 'done', confirmed: false };
  const untilEnd = Math.max(0, windowEnd - now);
  return { kind: 'open', pollWithinMs: Math.min(DOUBT_INTERVAL_MS, untilEnd) };
}
