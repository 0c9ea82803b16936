import type { Claim } from '../github/reactions.ts';
import type { Turn } from '../turn.ts';
import {
  copiesOf,
  findJob,
  isWithdrawn,
  type Ledger,
  type LedgerJob,
  unite,
  weightOf,
  withoutOwner,
} from './ledger.ts';

// Whether another run sends a message, or has sent it. All functions here are pure.

/** All runs that handle a command send the same message. The message of a step belongs to its run. */
export function isCommand({ origin }: Turn): boolean {
  return !origin.startsWith('run:');
}

/**
 * The turn that an earlier attempt has for the message of `own`, or for a command any run; null if
 * there is none.
 *
 * `matrix` and `prompt` may have other values in each attempt, so turns with the same values are
 * preferred, but not required. A step that runs several times takes each turn once: a turn of this
 * attempt belongs to another use of the step. Exception: another use without a turn of its own has
 * continued it, but the turn fits this use better.
 */
export function findEarlier(turns: readonly Turn[], own: Turn): Turn | null {
  const isFree = (turn: Turn): boolean =>
    isCommand(own) ||
    turn.attempt < own.attempt ||
    differences(turn, own.leg, own.promptHash) <
      differences(turn, turn.ownerLeg, turn.ownerPromptHash);
  const candidates = turns.filter((turn) => turn.origin === own.origin && isFree(turn));
  const compare = (one: Turn, other: Turn): number =>
    isCommand(own) ? weightOf(other) - weightOf(one) : compareFit(one, other, own);
  const [first] = candidates.toSorted(
    (one, other) => compare(one, other) || one.startedAt - other.startedAt,
  );
  return first ?? null;
}

/** Which of two turns fits a use of a step better: negative for the first one. */
function compareFit(one: Turn, other: Turn, { leg, promptHash }: Turn): number {
  const isUnsent = ({ delivery }: Turn): number => Number(delivery === 'not-sent');
  return (
    Number(isWithdrawn(one)) - Number(isWithdrawn(other)) ||
    differences(one, leg, promptHash) - differences(other, leg, promptHash) ||
    // What is known to be sent counts: an attempt may write late, or in error, that it sent nothing.
    (one.leg === leg ? isUnsent(one) - isUnsent(other) : 0) ||
    other.attempt - one.attempt ||
    // Of other legs, one that still waits for its message.
    isUnsent(other) - isUnsent(one)
  );
}

/** How much a turn differs from a use of its step: another leg counts more than another prompt. */
function differences(turn: Turn, leg: string, promptHash: string): number {
  return (turn.leg === leg ? 0 : 2) + (turn.promptHash === promptHash ? 0 : 1);
}

/**
 * The turn of another run or attempt for the message of `own`; null if this run may send the message.
 * `versions` are the contents of all versions of all comments, the oldest first; `own` is in them as well.
 */
export function findHolder(
  versions: readonly Ledger[],
  jobId: string,
  own: Turn,
  claim: Claim,
): Turn | null {
  const others = unite(versions.map((version) => withoutOwner(version, own.owner)));
  const job = findJob(others, jobId);
  if (job === undefined) return null;
  // GitHub may start another attempt when it has lost the runner of this one, which continues.
  const successor = job.turns.find(
    ({ origin, runId, attempt }) =>
      origin === own.origin && runId === own.runId && attempt > own.attempt,
  );
  if (successor !== undefined) return successor;
  const isBehind = (other: Turn): boolean => !comesFirst(own, other, versions, jobId);
  // Several uses of a step may have taken the same turn: the first one keeps it, unless it was sent.
  const same = copiesOf(job)
    .filter(({ mark, attempt }) => mark === own.mark && attempt === own.attempt)
    .find((copy) => (copy.delivery === 'sending' ? isBehind(copy) : copy.delivery !== 'not-sent'));
  if (same !== undefined) return same;
  const { turns } = job;
  const earlier = findEarlier(turns, own);
  if (earlier === null || earlier.delivery === 'not-sent') return null;
  if (!isCommand(own) || earlier.delivery !== 'sending') return earlier;
  // Several are about to send.
  if (claim === 'ours') return null;
  const isDecidedByOrder = (other: Turn): boolean =>
    claim === 'none' || isNotedLater(other, versions, jobId);
  return (
    turns.find(
      (turn) =>
        turn.origin === own.origin &&
        turn.delivery === 'sending' &&
        (isBehind(turn) || !isDecidedByOrder(turn)),
    ) ?? null
  );
}

/**
 * Whether the owner of a turn first noted the command for other jobs only. Its claim was decided then, before it
 * noted the command for this job.
 */
function isNotedLater(
  { origin, owner }: Turn,
  versions: readonly Ledger[],
  jobId: string,
): boolean {
  const has = (job: LedgerJob): boolean =>
    copiesOf(job).some((turn) => turn.origin === origin && turn.owner === owner);
  const first = versions.find(({ jobs }) => jobs.some(has));
  return first !== undefined && !first.jobs.some((job) => job.id === jobId && has(job));
}

/** Whether a turn was written before another one. Every run that reads the versions gets the same answer. */
function comesFirst(own: Turn, other: Turn, versions: readonly Ledger[], jobId: string): boolean {
  const indexOf = ({ mark, owner }: Turn): number => {
    const index = versions.findIndex((version) => {
      const job = findJob(version, jobId);
      return job && copiesOf(job).some((turn) => turn.mark === mark && turn.owner === owner);
    });
    // Nobody else can see it.
    return index < 0 ? Infinity : index;
  };
  const [mine, theirs] = [indexOf(own), indexOf(other)];
  return mine === theirs ? own.owner < other.owner : mine < theirs;
}
