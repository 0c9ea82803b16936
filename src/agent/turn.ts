import type { JobRecord } from './wire.ts';
import { isFinal, isKnownStatus } from './wire.ts';

/**
 * A turn: our message and the agent's work on it. The service numbers neither messages nor
 * turns, and right after a send a job may still show how its *previous* turn ended, so whether a
 * final status is ours has to be inferred from what was seen before and since.
 */
export interface Turn {
  /** What a look before the send saw. */
  readonly base: Base;
  /** When the service answered the message, in milliseconds of the clock. */
  readonly sentAt: number;
  /** Whether anything was seen that only our message can have caused. */
  readonly evidence: boolean;
  /** Since when the status has been final without a break; null while it is not. */
  readonly finalSince: number | null;
  /** When the last look that saw the job began: what it saw may be as old as that. */
  readonly seenAt: number;
}

/** What of a record can show that something has changed. */
export type Base = Pick<JobRecord, 'status' | 'prLink' | 'archivedAt'>;

export type Verdict =
  | { readonly kind: 'done'; readonly confirmed: boolean }
  /** Not done; the next look is due within `lookWithinMs`, or whenever the schedule says. */
  | { readonly kind: 'open'; readonly lookWithinMs: number | null };

/** Milliseconds between looks while a final status is still distrusted. */
const DOUBT_INTERVAL_MS = 5000;

export function startTurn(base: Base, sentAt: number): Turn {
  return { base, sentAt, evidence: false, finalSince: null, seenAt: sentAt };
}

/** A look, from its request to its answer, in milliseconds of the clock. */
export interface Moment {
  readonly from: number;
  readonly to: number;
}

/**
 * Takes in a record. The answer to the message counts as the first look. Between its request and
 * its answer a look may have seen the job at any time, so windows are measured from the end of
 * the first look to the beginning of the last.
 */
export function observe(turn: Turn, record: JobRecord, { from, to }: Moment): Turn {
  return {
    ...turn,
    evidence: turn.evidence || isEvidence(turn.base, record),
    finalSince: isFinal(record.status) ? (turn.finalSince ?? to) : null,
    seenAt: from,
  };
}

/**
 * What shows that a message arrived: `active`, or anything that changed. A link or a time that is
 * gone shows nothing, for only `id` and `status` are sure to be in every answer.
 */
export function isEvidence(base: Base, record: Base): boolean {
  return (
    record.status === 'active' ||
    (isKnownStatus(record.status) && record.status !== base.status) ||
    (record.prLink !== null && record.prLink !== base.prLink) ||
    (record.archivedAt !== null && record.archivedAt !== base.archivedAt)
  );
}

/**
 * Whether the turn is done, and if not, when to look again from `now`.
 *
 * - Base final, and evidence since: the final status is ours.
 * - Base final, no evidence: it is taken for ours after `settleMs`, unconfirmed.
 * - Base not final: the first final status may close the turn before ours, so it must have stayed
 *   for `settleMs`.
 * - With a `settleMs` of 0 a final status is believed at once.
 *
 * With a queueing delay of typically 2 s and a tail to 45 s, a settle window of 60 s was wrong in
 * none of 200,000 simulated runs, one of 30 s in 1.8 % of them.
 */
export function judge(turn: Turn, now: number, settleMs: number): Verdict {
  if (turn.finalSince === null) {
    const stillQueued = isFinal(turn.base.status) && !turn.evidence;
    return { kind: 'open', lookWithinMs: stillQueued ? DOUBT_INTERVAL_MS : null };
  }
  const baseFinal = isFinal(turn.base.status);
  if (baseFinal && turn.evidence) return { kind: 'done', confirmed: true };
  const windowEnd = (baseFinal ? turn.sentAt : turn.finalSince) + settleMs;
  if (settleMs === 0 || turn.seenAt >= windowEnd) return { kind: 'done', confirmed: !baseFinal };
  const untilEnd = Math.max(0, windowEnd - now);
  return { kind: 'open', lookWithinMs: Math.min(DOUBT_INTERVAL_MS, untilEnd) };
}
