import type { Claim } from '../github/reactions.ts';
import type { Turn } from '../turn.ts';
import { findJob, isAbout, type Ledger, unite, weightOf, withoutOwner } from './ledger.ts';

// Whether another run sends a message, or has sent it. All functions here are pure.

/** All runs that handle a command send the same message. The message of a step belongs to its run. */
function isCommand({ origin }: Turn): boolean {
  return !origin.startsWith('run:');
}

/** Whether the turn was withdrawn because another run sends the message. */
function isWithdrawn({ delivery, result, reason }: Turn): boolean {
  return delivery === 'not-sent' && result === 'skipped' && reason.length === 0;
}

/**
 * The turn that an earlier attempt has for the message of `own`, or for a command any run; null if
 * there is none.
 *
 * `matrix` and `prompt` may have other values in each attempt, so turns with the same values are
 * preferred, but not required. A step that runs several times takes each turn once: a turn of this
 * attempt belongs to another use of the step.
 */
export function findEarlier(turns: readonly Turn[], own: Turn): Turn | null {
  const candidates = turns.filter(
    ({ origin, attempt }) => origin === own.origin && (isCommand(own) || attempt < own.attempt),
  );
  const rankOf = (turn: Turn): number => {
    if (isCommand(own)) return -weightOf(turn);
    if (isWithdrawn(turn)) return 4;
    if (turn.leg === own.leg) return isAbout(turn, own.prompt) ? 0 : 1;
    return turn.delivery === 'not-sent' ? 2 : 3;
  };
  const [first] = candidates.toSorted(
    (one, other) => rankOf(one) - rankOf(other) || one.startedAt - other.startedAt,
  );
  return first ?? null;
}

/** The contents of all versions of all comments, the oldest first. */
export type Versions = readonly Ledger[];

/**
 * The turn of another run or attempt for the message of `own`; null if this run may send the message.
 * `own` is in `versions` as well.
 */
export function findHolder(
  versions: Versions,
  jobId: string,
  own: Turn,
  claim: Claim,
): Turn | null {
  const others = unite(versions.map((version) => withoutOwner(version, own.owner)));
  const turns = findJob(others, jobId)?.turns ?? [];
  // Two uses of a step may have taken the same turn: the first one keeps it, unless it was sent.
  const same = turns.find(({ mark, attempt }) => mark === own.mark && attempt === own.attempt);
  if (same !== undefined && same.delivery !== 'not-sent') {
    if (same.delivery !== 'sending' || !comesFirst(own, same, versions, jobId)) return same;
  }
  const earlier = findEarlier(turns, own);
  if (earlier === null || earlier.delivery === 'not-sent') return null;
  if (!isCommand(own) || earlier.delivery !== 'sending') return earlier;
  // Both are about to send.
  switch (claim) {
    case 'ours':
      return null;
    case 'none':
      return comesFirst(own, earlier, versions, jobId) ? null : earlier;
    default:
      return earlier;
  }
}

/** Whether a turn was written before another one. Every run that reads the versions gets the same answer. */
function comesFirst(own: Turn, other: Turn, versions: Versions, jobId: string): boolean {
  const indexOf = ({ mark, owner }: Turn): number =>
    versions.findIndex((version) =>
      findJob(version, jobId)?.turns.some((turn) => turn.mark === mark && turn.owner === owner),
    );
  const [mine, theirs] = [indexOf(own), indexOf(other)];
  return mine === theirs ? own.owner < other.owner : mine < theirs;
}
