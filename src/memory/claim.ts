import type { Claim } from '../github/reactions.ts';
import type { Turn } from '../turn.ts';
import {
  copiesOf,
  findJob,
  isAbout,
  isWithdrawn,
  type Ledger,
  unite,
  weightOf,
  withoutOwner,
} from './ledger.ts';

// Whether a message that is to be sent is somebody else's already. All of it is pure.

/** A command is the same message whichever run handles it; a step of a run is known to its run only. */
export function isCommand({ origin }: Turn): boolean {
  return !origin.startsWith('run:');
}

/**
 * The turn that an earlier attempt, or of a command any run, has for the message of `own`; null if
 * there is none.
 *
 * The key of a step is its run, its job, its id and the leg of the matrix, but a matrix and a prompt
 * may be made anew in each attempt: so the leg and the prompt only prefer a turn. A step that runs
 * several times takes each turn once: one that has this attempt in it is another's, unless a leg that
 * had none of its own has it, and it is that of this leg.
 */
export function findEarlier(turns: readonly Turn[], own: Turn): Turn | null {
  const isFree = ({ attempt, leg, ownerLeg }: Turn): boolean =>
    isCommand(own) || attempt < own.attempt || (leg === own.leg && ownerLeg !== own.leg);
  const candidates = turns.filter((turn) => turn.origin === own.origin && isFree(turn));
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

/** What was read to find out whose a message is: each version of each comment, in their order. */
export type Versions = readonly Ledger[];

/**
 * The turn that has the message of `own`, which stands in what was read by now; null if nothing is
 * against sending it.
 */
export function findHolder(
  versions: Versions,
  jobId: string,
  own: Turn,
  claim: Claim,
): Turn | null {
  const others = unite(versions.map((version) => withoutOwner(version, own.owner)));
  const turns = findJob(others, jobId)?.turns ?? [];
  // Two uses of a step may have taken the same turn: the first one has it, unless it is sent by now.
  const same = turns.find(({ mark, attempt }) => mark === own.mark && attempt === own.attempt);
  if (same !== undefined && same.delivery !== 'not-sent') {
    if (same.delivery !== 'sending' || !comesFirst(own, same, versions, jobId)) return same;
  }
  const earlier = findEarlier(turns, own);
  if (earlier === null || earlier.delivery === 'not-sent') return null;
  if (!isCommand(own) || earlier.delivery !== 'sending') return earlier;
  // Several are about to send.
  switch (claim) {
    case 'ours':
      return null;
    case 'none':
      return (
        turns.find(
          (turn) =>
            turn.origin === own.origin &&
            turn.delivery === 'sending' &&
            !comesFirst(own, turn, versions, jobId),
        ) ?? null
      );
    default:
      return earlier;
  }
}

/** Whether a turn was written down before another one; the same for whoever reads the versions. */
function comesFirst(own: Turn, other: Turn, versions: Versions, jobId: string): boolean {
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
