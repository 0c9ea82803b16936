import { hasEnded, type JobRecord, type Turn } from '../turn.ts';

// What is remembered of a conversation, and how several copies of it become one. All of it is pure.

export interface Ledger {
  readonly jobs: readonly LedgerJob[];
  /**
   * The newest run of which a turn was dropped for lack of room; null if none was. Of that run and
   * all before it, a turn that is not here may have been.
   */
  readonly trimmed: string | null;
}

/** What is remembered of a job. */
export interface LedgerJob {
  readonly id: string;
  /** As it was shown last; null if it never was. */
  readonly record: LedgerRecord | null;
  /** The newest first. */
  readonly turns: readonly Turn[];
  /**
   * What other processes wrote of the same turns, where it counts less by now. It may count again: who wrote
   * the copy that counts may find out that its message was refused. Absent where there is none.
   */
  readonly others?: readonly Turn[];
}
export type LedgerRecord = Pick<JobRecord, 'status' | 'model' | 'source' | 'prLink'>;

export const EMPTY: Ledger = { jobs: [], trimmed: null };

/** Every copy of its turns. */
export function copiesOf({ turns, others = [] }: LedgerJob): readonly Turn[] {
  return [...turns, ...others];
}

export function findJob(ledger: Ledger, id: string): LedgerJob | undefined {
  return ledger.jobs.find((job) => job.id === id);
}

/**
 * Everything that any of the ledgers knows. Of a job's records the last one counts, so the newest
 * ledger comes last.
 */
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
  const byMark = [...Map.groupBy(copies, ({ mark }) => mark).values()].map(uniteCopies);
  const turns = byMark.flatMap(([first]) => first ?? []).sort(newerTurn);
  const others = byMark.flatMap(([, ...rest]) => rest).sort(newerTurn);
  return { id, record, turns, ...(others.length === 0 ? {} : { others }) };
}

/** From what may be sent again to what surely is out. */
const WEIGHTS = ['not-sent', 'sending', 'unknown', 'sent'] as const;

export function weightOf({ delivery }: Turn): number {
  return WEIGHTS.indexOf(delivery);
}

/**
 * The copies of one turn, the one that counts first. Of those by one process the one that it wrote last is
 * kept. Several processes have the same turn in several attempts: of those what is worse for sending it
 * again counts, and then the later attempt. What is sent stays so, whatever the others write.
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

/** Whether it was given up for that of somebody else, of which it says nothing. */
export function isWithdrawn({ delivery, result, reason }: Turn): boolean {
  return delivery === 'not-sent' && result === 'skipped' && reason.length === 0;
}

function laterWrite(one: Turn, other: Turn): Turn {
  return other.writes >= one.writes ? other : one;
}

/** Milliseconds in which a message goes out that was announced, unless its run was killed. */
const ANNOUNCED_MS = 3_600_000;

/** Whether another message was sent to the job after this one, or may have been. */
export function isOvertaken(turn: Turn, turns: readonly Turn[]): boolean {
  return turns.some(({ mark, delivery, startedAt, sentAt, endedAt }) => {
    if (mark === turn.mark || delivery === 'not-sent') return false;
    return (sentAt ?? endedAt ?? startedAt + ANNOUNCED_MS) > (turn.sentAt ?? turn.startedAt);
  });
}

/** The ledger without the copies of turns that a process wrote: it knows its own turns better. */
export function withoutOwner(ledger: Ledger, owner: string): Ledger {
  const jobs = ledger.jobs.map((job) => {
    const copies = copiesOf(job).filter((turn) => turn.owner !== owner);
    return toLedgerJob(job.id, job.record, copies);
  });
  return { ...ledger, jobs };
}

/** The part of a ledger whose jobs and turns another one has as well. */
export function intersect(ledger: Ledger, other: Ledger): Ledger {
  const jobs = ledger.jobs.flatMap((job) => {
    const found = findJob(other, job.id);
    if (found === undefined) return [];
    const copies = copiesOf(job).filter((turn) => copiesOf(found).some((one) => isCopy(one, turn)));
    return [toLedgerJob(job.id, job.record, copies)];
  });
  return { ...ledger, jobs };
}

/**
 * Whether a ledger has each of these turns as its owner wrote it, or wrote it later, and says as much
 * of what was dropped.
 */
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

/** A job that no message was sent to stands behind all others. */
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
  return isUpTo(one, other) ? other : one;
}

/** Whether a run is not newer than another: ids of runs grow, beyond what a number holds exactly. */
export function isUpTo(runId: string, other: string): boolean {
  return runId.length === other.length ? runId <= other : runId.length < other.length;
}

/** Characters of a prompt that remain where room is scarce. */
const SHORT_PROMPT = 80;
/** Milliseconds. A run can be re-run for 30 days, and then run for 35. */
const LONGEST_USE_MS = 66 * 24 * 3_600_000;

/**
 * Makes the ledger fit. First prompts are shortened, the oldest first; then jobs go that no message was
 * sent to; then turns that no run can need any more, then the oldest that have ended, then the oldest.
 * The newest turn stays.
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
            ? all.map((copy) => ({ ...copy, prompt: shorten(copy.prompt) }))
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

function shorten(prompt: string): string {
  return prompt.length <= SHORT_PROMPT
    ? prompt
    : `${prompt.slice(0, SHORT_PROMPT - 1).toWellFormed()}…`;
}

/** Whether a turn is about this prompt, of which it may remember the beginning only. */
export function isAbout({ prompt: known }: Turn, prompt: string): boolean {
  return known === prompt || known === shorten(prompt);
}
