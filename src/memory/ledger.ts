import { cut } from '../sanitize.ts';
import { hasEnded, isFinal, type JobRecord, type Turn } from '../turn.ts';

// What the comment remembers, and how several copies of it become one. All functions here are pure.

export interface Ledger {
  readonly jobs: readonly LedgerJob[];
  /** The newest run of which a turn was dropped for lack of room, or null. Older ones may lack turns, too. */
  readonly trimmed: string | null;
}

export interface LedgerJob {
  readonly id: string;
  /** As the API returned it last; null if it never did. */
  readonly record: LedgerRecord | null;
  /** The newest first. */
  readonly turns: readonly Turn[];
  /** Copies of the same turns by other processes. One takes over if the message of the first was refused. */
  readonly others?: readonly Turn[];
}
export type LedgerRecord = Pick<JobRecord, 'status' | 'model' | 'source' | 'prLink'>;

export const EMPTY: Ledger = { jobs: [], trimmed: null };

export function copiesOf({ turns, others = [] }: LedgerJob): readonly Turn[] {
  return [...turns, ...others];
}

export function findJob(ledger: Ledger, id: string): LedgerJob | undefined {
  return ledger.jobs.find((job) => job.id === id);
}

/** Everything that any of the ledgers contains. The newest must be the last, because its records count. */
export function unite(ledgers: readonly Ledger[]): Ledger {
  const jobs = Map.groupBy(
    ledgers.flatMap((ledger) => ledger.jobs),
    ({ id }) => id,
  );
  return {
    jobs: [...jobs].map(([id, copies]) => uniteJob(id, copies)).sort(newestFirst),
    trimmed: ledgers.map(({ trimmed }) => trimmed).reduce(newerRun, null),
  };
}

function uniteJob(id: string, copies: readonly LedgerJob[]): LedgerJob {
  const record = copies.findLast((copy) => copy.record !== null)?.record ?? null;
  return toLedgerJob(id, record, copies.flatMap(copiesOf));
}

/** A job with whatever copies of its turns there are. */
export function toLedgerJob(
  id: string,
  record: LedgerRecord | null,
  copies: readonly Turn[],
): LedgerJob {
  // Most jobs have one turn, and this is called for each job in each read.
  if (copies.length < 2) return { id, record, turns: copies };
  const byMark = [...Map.groupBy(copies, ({ mark }) => mark).values()].map(uniteCopies);
  const turns = byMark.flatMap((same) => same.slice(0, 1)).sort(newerTurn);
  const others = byMark.flatMap((same) => same.slice(1)).sort(newerTurn);
  return { id, record, turns, ...(others.length === 0 ? {} : { others }) };
}

/** From messages that may be sent again to those that were certainly sent. */
const WEIGHTS = ['not-sent', 'sending', 'unknown', 'sent'] as const;

export function weightOf({ delivery }: Turn): number {
  return WEIGHTS.indexOf(delivery);
}

/**
 * The copies of one turn, the one that counts first. Of several copies by one process, only the last one is
 * kept. In re-runs, several processes write the same turn: then the copy counts that says most clearly that
 * the message was sent, then the later attempt. Once one copy says `sent`, the others are dropped.
 */
function uniteCopies(copies: readonly Turn[]): readonly Turn[] {
  const byOwner = Map.groupBy(copies, ({ attempt, owner }) => `${attempt}:${owner}`);
  const latest = [...byOwner.values()].map((own) => own.reduce(laterWrite));
  latest.sort(
    (one, other) =>
      weightOf(other) - weightOf(one) ||
      Number(hasEnded(other)) - Number(hasEnded(one)) ||
      other.attempt - one.attempt ||
      Number(isWithdrawn(one)) - Number(isWithdrawn(other)) ||
      compare(one.owner, other.owner),
  );
  return latest[0]?.delivery === 'sent' ? latest.slice(0, 1) : latest;
}

/** Whether the turn was withdrawn: it does not say whether another run or attempt has sent the message. */
export function isWithdrawn({ delivery, result, reason }: Turn): boolean {
  return delivery === 'not-sent' && result === 'skipped' && reason.length === 0;
}

function laterWrite(one: Turn, other: Turn): Turn {
  return other.writes >= one.writes ? other : one;
}

/** Milliseconds from the announcement of a message until it is sent, unless its run was killed. */
const ANNOUNCED_MS = 3_600_000;

/** Whether another message was sent to the job after this one, or may have been. */
export function isOvertaken(turn: Turn, turns: readonly Turn[]): boolean {
  return turns.some(({ mark, delivery, startedAt, sentAt, endedAt }) => {
    if (mark === turn.mark || delivery === 'not-sent') return false;
    return (sentAt ?? endedAt ?? startedAt + ANNOUNCED_MS) > (turn.sentAt ?? turn.startedAt);
  });
}

/** Milliseconds after which the agent has certainly started on a message, unless it was working: see `isConfirmed`. */
const TAKEN_UP_MS = 60_000;
/** The same if the message may have to wait until earlier work is done. */
const QUEUED_MS = 3_600_000;

/** Whether the agent may have started on an earlier message only after this one was sent. */
export function followsUnfinished(turn: Turn, turns: readonly Turn[]): boolean {
  const sentAt = turn.sentAt ?? turn.startedAt;
  return turns.some((other) => {
    if (other.mark === turn.mark || other.delivery === 'not-sent') return false;
    const otherAt = other.sentAt ?? other.endedAt ?? other.startedAt;
    // Without a confirmation, it may have been the end of earlier work.
    const doneAt = (other.confirmed === true ? other.endedAt : null) ?? Infinity;
    const startsWithinMs = isIdle(turn) || isIdle(other) ? TAKEN_UP_MS : QUEUED_MS;
    return otherAt <= sentAt && otherAt > sentAt - startsWithinMs && doneAt > turn.startedAt;
  });
}

/** Whether the agent was certainly not working just before the message. */
function isIdle({ base }: Turn): boolean {
  return base !== null && isFinal(base.status);
}

/** The ledger without the turns of a process, which knows their current state itself. */
export function withoutOwner(ledger: Ledger, owner: string): Ledger {
  const jobs = ledger.jobs.map((job) => {
    const copies = copiesOf(job);
    const others = copies.filter((turn) => turn.owner !== owner);
    return others.length === copies.length ? job : toLedgerJob(job.id, job.record, others);
  });
  return { ...ledger, jobs };
}

/** The jobs and turns of a ledger that another one contains as well. */
export function intersect(ledger: Ledger, other: Ledger): Ledger {
  const jobs = ledger.jobs.flatMap((job) => {
    const found = findJob(other, job.id);
    if (found === undefined) return [];
    const copies = copiesOf(job).filter((turn) => copiesOf(found).some((one) => isCopy(one, turn)));
    return [toLedgerJob(job.id, job.record, copies)];
  });
  return { ...ledger, jobs };
}

/** Whether a ledger has these turns in the same or a newer version, and a `trimmed` that is not older. */
export function contains(ledger: Ledger, own: Ledger): boolean {
  if (newerRun(ledger.trimmed, own.trimmed) !== ledger.trimmed) return false;
  return own.jobs.every((job) => {
    const found = findJob(ledger, job.id);
    if (found === undefined) return false;
    return copiesOf(job).every((turn) => copiesOf(found).some((other) => isCopy(other, turn)));
  });
}

function isCopy(other: Turn, { mark, owner, writes }: Turn): boolean {
  return other.mark === mark && other.owner === owner && other.writes >= writes;
}

/** Jobs without a message come last. */
function newestFirst(one: LedgerJob, other: LedgerJob): number {
  const startOf = ({ turns }: LedgerJob): number => turns[0]?.startedAt ?? 0;
  return startOf(other) - startOf(one);
}

function newerTurn(one: Turn, other: Turn): number {
  return (
    other.startedAt - one.startedAt ||
    compare(one.mark, other.mark) ||
    other.attempt - one.attempt ||
    compare(one.owner, other.owner)
  );
}

function compare(one: string, other: string): number {
  return one === other ? 0 : one < other ? -1 : 1;
}

function newerRun(one: string | null, other: string | null): string | null {
  if (one === null || other === null) return one ?? other;
  return isSameOrOlderRun(one, other) ? other : one;
}

/** Whether a run is the same as another or older. Run IDs grow beyond the exact range of numbers. */
export function isSameOrOlderRun(runId: string, other: string): boolean {
  return runId.length === other.length ? runId <= other : runId.length < other.length;
}

/** Characters of a shortened prompt. */
const SHORT_PROMPT = 80;
/** Milliseconds. A run can be re-run for 30 days, and then run for 35. */
const LONGEST_USE_MS = 66 * 24 * 3_600_000;

/**
 * Makes the ledger fit. It shortens prompts, the oldest first. If that is not enough, it drops jobs
 * without a message, then turns that no run can need any more, then the oldest turns that have ended,
 * then the oldest others. The newest turn stays.
 */
export function trim(ledger: Ledger, now: number, fits: (ledger: Ledger) => boolean): Ledger {
  if (fits(ledger)) return ledger;
  const oldestFirst = ledger.jobs
    .flatMap(({ turns }) => turns)
    .toSorted((one, other) => one.startedAt - other.startedAt);
  const seenOnly = ledger.jobs.filter(({ turns }) => turns.length === 0);
  const droppable = oldestFirst.slice(0, -1).toSorted((one, other) => rankOf(one) - rankOf(other));

  function rankOf(turn: Turn): number {
    if (now - turn.startedAt > LONGEST_USE_MS) return 0;
    return turn.endedAt === null ? 2 : 1;
  }

  function reduced(steps: number): Ledger {
    const short = new Set(oldestFirst.slice(0, steps));
    const drops = Math.max(0, steps - oldestFirst.length);
    const forgotten = new Set(seenOnly.slice(0, drops));
    const dropped = new Set(droppable.slice(0, Math.max(0, drops - seenOnly.length)));
    const jobs = ledger.jobs.flatMap((job) => {
      if (forgotten.has(job)) return [];
      const copies = job.turns
        .filter((turn) => !dropped.has(turn))
        .flatMap((turn) => {
          const all = copiesOf(job).filter(({ mark }) => mark === turn.mark);
          return short.has(turn)
            ? all.map((copy) => ({ ...copy, prompt: cut(copy.prompt, SHORT_PROMPT) }))
            : all;
        });
      if (copies.length === 0 && job.turns.length > 0) return [];
      return [toLedgerJob(job.id, job.record, copies)];
    });
    const trimmed = [...dropped]
      .filter((turn) => rankOf(turn) > 0 && turn.delivery !== 'not-sent')
      .map(({ runId }) => runId)
      .reduce(newerRun, ledger.trimmed);
    return { jobs, trimmed };
  }

  // The fewest steps that are enough, found by halving.
  let [tooFew, enough] = [0, oldestFirst.length + seenOnly.length + droppable.length];
  while (enough - tooFew > 1) {
    const middle = Math.floor((tooFew + enough) / 2);
    if (fits(reduced(middle))) enough = middle;
    else tooFew = middle;
  }
  return reduced(enough);
}
