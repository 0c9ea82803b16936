import type { Ledger, LedgerEntry } from './ledger.ts';
import { isSameMessage, type MessageId } from './record.ts';

// Messages to one job go out one after the other, in the order of their comments: who sends while
// another message is at work could take the end of that one for the own.

/** Milliseconds after the deadline of a run in which it may still write its last record. */
const LAST_RECORD_MS = 60_000;

/**
 * The record of another message above the own comment that may be at work, or be sent before. That
 * of a run that was killed counts until its deadline. `now`: since 1970.
 */
export function messageBefore(
  above: Ledger,
  message: MessageId,
  jobId: string,
  now: number,
): LedgerEntry | undefined {
  return above.findLast(
    (entry) =>
      !isSameMessage(entry, message) &&
      now < (entry.deadline ?? 0) + LAST_RECORD_MS &&
      entry.jobs.some(
        ({ id, delivery, ended }) =>
          id === jobId && ended === undefined && ['sending', 'sent'].includes(delivery),
      ),
  );
}
