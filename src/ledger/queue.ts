import type { Ledger, LedgerEntry } from './ledger.ts';
import { isSameMessage, type MessageId } from './record.ts';

/** In which a run may still write its last record after its deadline. */
const LAST_RECORD_MS = 60_000;

/**
 * Messages to a job go out in the order of their comments: the record of another one above that may
 * be at work, or be sent before. That of a killed run counts until its deadline. `now`: since 1970.
 */
export function messageBefore(
  above: Ledger,
  { message, jobId, now }: { message: MessageId; jobId: string; now: number },
): LedgerEntry | undefined {
  const isOpen = ({ id, delivery, ended }: LedgerEntry['jobs'][number]): boolean =>
    id === jobId && ended === undefined && (delivery === 'sending' || delivery === 'sent');
  return above.findLast((entry) => {
    const isLive = now < (entry.deadline ?? 0) + LAST_RECORD_MS;
    // Legs of a matrix share a message, but an attempt waits for none of its own.
    const isEarlier = isSameMessage(entry, message) && entry.attempt !== message.attempt;
    return isLive && !isEarlier && entry.jobs.some(isOpen);
  });
}
