// A turn is one message to one job and the agent's work on it. This file defines what a run knows of a
// turn, the words for it, and the rule that says when it is done.

import { NO_REASON, type Reason } from './reason.ts';
import type { Redact } from './runner/secrets.ts';

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

/** The statuses that the API documents; any other counts as "not final". */
export const STATUSES = ['active', 'completed', 'archived', 'failed'] as const;
export type Status = (typeof STATUSES)[number];

/** A job as the API returned it. Only `id` and `status` are always there. */
export interface JobRecord {
  readonly id: string;
  /** As the API returned it, or null if it is missing or not a plain word. */
  readonly status: string | null;
  /** Checked: an https link to a pull request on a known code host. */
  readonly prLink: string | null;
  /** Why the link that the API returned is left out; otherwise null. */
  readonly linkProblem: string | null;
  readonly model: string | null;
  readonly source: { readonly repository: string; readonly ref: string | null } | null;
  readonly createdAt: string | null;
  readonly archivedAt: string | null;
}

/** The part of a record that can show that something has changed. */
type Base = Pick<JobRecord, 'status' | 'prLink' | 'archivedAt'>;

/**
 * One message to one job, and its result. The API gives neither messages nor turns an ID, and just
 * after a send a job may still have the status of its *previous* turn. So polls before and after the
 * message must show which message a final status belongs to. Times are in milliseconds since 1970.
 */
export interface Turn {
  /** What asked for it: a comment, a review, or a step of a run. The same for every attempt. */
  readonly origin: string;
  /** For a step in a matrix: a hash of the `matrix` context of its job; otherwise empty. */
  readonly leg: string;
  /** A random name of the process that started the turn, so that turns of one origin differ. */
  readonly mark: string;
  /** The random name of the process that updates the turn now: in a re-run, another one. */
  readonly owner: string;
  /** The leg of the owner: in a re-run, a leg without a turn may continue the turn of another leg. */
  readonly ownerLeg: string;
  /** The hash of the prompt of the owner: the same applies to another use of the step. */
  readonly ownerPromptHash: string;
  /** How often the owner has written it: of two copies, the one with more writes is newer. */
  readonly writes: number;
  /** The login of the person who asked; null on a schedule. */
  readonly by: string | null;
  /** The beginning of the prompt. */
  readonly prompt: string;
  /** A hash of the whole prompt. */
  readonly promptHash: string;
  readonly startedAt: number;
  readonly runId: string;
  /** The last attempt of that run that had the turn. */
  readonly attempt: number;
  /** `sending`: announced, but no request was made yet. */
  readonly delivery: Delivery | 'sending';
  /** What a poll just before the message returned; null if there was none, or it is not known. */
  readonly base: Base | null;
  /** When the API accepted the message; null if it has not. */
  readonly sentAt: number | null;
  /** Whether a poll after the message showed a change that only the message can have caused. */
  readonly evidence: boolean;
  /** Whether a poll after the message returned a final status. */
  readonly wasFinal: boolean;
  /** Since when the status has been final without a break; null while it is not. */
  readonly finalSince: number | null;
  /** When the last successful poll started: what it returned may be as old as that. */
  readonly seenAt: number;
  /** During the turn, `result` and `reason` are what is true if the run ends now. */
  readonly result: TurnResult;
  /** One sentence for every result that is not plain success; otherwise empty. */
  readonly reason: Reason;
  /** Whether the final status certainly belongs to this message; null without a wait. */
  readonly confirmed: boolean | null;
  /** Null if the link before the message is not known. */
  readonly prLinkChange: 'created' | 'updated' | 'none' | null;
  /** When the turn ended, or this run stopped working on it; null before. */
  readonly endedAt: number | null;
}

/** All that a run knows of one job. */
export interface JobState {
  readonly jobId: string;
  /** Whether this run only polls the job and sends nothing (`send: false`). */
  readonly isReadOnly: boolean;
  /** As the API returned it last. */
  readonly record: JobRecord | null;
  readonly turn: Turn;
  readonly polls: number;
  /** When the API first returned its status; null before. */
  readonly firstSeenAt: number | null;
}

/** A turn that starts, of which nothing else is known. */
export function newTurn(
  start: Pick<
    Turn,
    'origin' | 'leg' | 'mark' | 'by' | 'prompt' | 'promptHash' | 'startedAt' | 'runId' | 'attempt'
  >,
): Turn {
  return {
    ...start,
    owner: start.mark,
    ownerLeg: start.leg,
    ownerPromptHash: start.promptHash,
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

/** The documented statuses are known words, in which no secret needs to be hidden. */
export function redactStatus(status: string, redact: Redact): string {
  return isKnownStatus(status) ? status : redact(status);
}

/** completed, archived and failed are final; an unknown or missing status never is. */
export function isFinal(status: string | null): status is Exclude<Status, 'active'> {
  return isKnownStatus(status) && status !== 'active';
}

/** Whether a poll showed the end of the agent's work. */
export function hasEnded({ result, endedAt }: Turn): boolean {
  return endedAt !== null && isFinal(result);
}

/** Milliseconds from the answer to the message to the end, or to `now`; null if none was sent. */
export function elapsedMs({ sentAt, endedAt }: Turn, now: number | null): number | null {
  const until = endedAt ?? now;
  return sentAt === null || until === null ? null : until - sentAt;
}

/** In a base, replaces a link that was left out or contained a secret: it cannot be compared. */
export const LEFT_OUT = '***';

/** How the link has changed since before the message; null if that is not known. */
export function changeOfLink(base: Base | null, record: JobRecord | null): Turn['prLinkChange'] {
  if (base === null || record === null || base.prLink?.includes(LEFT_OUT)) return null;
  if (record.prLink !== null) return record.prLink === base.prLink ? 'updated' : 'created';
  return base.prLink === null && record.linkProblem === null ? 'none' : null;
}

/** Milliseconds between polls while a final status may still belong to an earlier turn. */
export const DOUBT_INTERVAL_MS = 5000;

/**
 * The turn after a poll that followed the message. The response to the message itself is not a poll: it
 * shows that the message was accepted, but reads may still be out of date. A record may be from any
 * time between the request and the response of its poll (`from` and `to`), so periods are measured from the
 * end of the first poll to the start of the last.
 */
export function observe(turn: Turn, record: JobRecord, from: number, to: number): Turn {
  return {
    ...turn,
    evidence: turn.evidence || isTakenUp(turn, record),
    wasFinal: turn.wasFinal || isFinal(record.status),
    finalSince: isFinal(record.status) ? (turn.finalSince ?? to) : null,
    seenAt: from,
  };
}

/**
 * Whether the agent has started on the message. If it was already working, a poll has to show that it has ended,
 * and a later one that it is active again.
 */
function isTakenUp({ base, wasFinal }: Turn, record: JobRecord): boolean {
  return base !== null && isFinal(base.status)
    ? isEvidence(base, record)
    : wasFinal && record.status === 'active';
}

/**
 * Whether a record shows that a message arrived: it is `active`, or something has changed. A missing
 * link or time shows nothing, because only `id` and `status` are in every response.
 */
function isEvidence(base: Base, record: Base): boolean {
  return (
    record.status === 'active' ||
    (isKnownStatus(record.status) && record.status !== base.status) ||
    isAnother(record.prLink, base.prLink) ||
    isAnother(record.archivedAt, base.archivedAt)
  );
}

/** A remembered value from which a secret was removed cannot be compared. */
function isAnother(now: string | null, before: string | null): boolean {
  return now !== null && now !== before && !before?.includes(LEFT_OUT);
}

/**
 * Whether the final status certainly belongs to the message; null while the turn is not done.
 *
 * - After evidence, a final status ends the turn at once. It is confirmed if the status before the
 *   message is known.
 * - Base final, no evidence: a final status ends the turn `settleMs` after the message, unconfirmed.
 * - Base not final or not known: the first final status may be the end of an earlier turn, so it must
 *   last for `settleMs`. It stays unconfirmed, because our turn may start even later.
 * - If `settleMs` is 0, a final status ends the turn at once, unconfirmed without evidence.
 *
 * In 200,000 simulated runs, in which messages were queued for mostly 2 s and at most 45 s, 60 s were
 * never too short, and 30 s were in 1.8 % of the runs.
 */
export function isConfirmed(turn: Turn, settleMs: number): boolean | null {
  if (turn.finalSince === null) return null;
  if (turn.evidence) return turn.base !== null;
  return settleMs === 0 || turn.seenAt >= settlesAt(turn, turn.finalSince, settleMs) ? false : null;
}

/** Milliseconds within which a turn that is not done must be polled again; null if the schedule decides. */
export function pollWithinMs(turn: Turn, now: number, settleMs: number): number | null {
  if (turn.finalSince === null) {
    return isBaseFinal(turn) && !turn.evidence ? DOUBT_INTERVAL_MS : null;
  }
  const untilEnd = settlesAt(turn, turn.finalSince, settleMs) - now;
  return Math.min(DOUBT_INTERVAL_MS, Math.max(0, untilEnd));
}

/** When a final status without evidence is accepted. */
function settlesAt(turn: Turn, finalSince: number, settleMs: number): number {
  return (isBaseFinal(turn) && turn.sentAt !== null ? turn.sentAt : finalSince) + settleMs;
}

function isBaseFinal({ base }: Turn): boolean {
  return base !== null && isFinal(base.status);
}
