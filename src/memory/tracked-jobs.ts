import type { Clock } from '../clock.ts';
import { NO_REASON } from '../reason.ts';
import { oneLine } from '../sanitize.ts';
import type { JobRecord, JobState, Turn } from '../turn.ts';
import type { Ledger, LedgerRecord } from './ledger.ts';

// The jobs of this run, and what the comments must say about them.

interface TrackedJob {
  state: JobState;
  /** Whether its message is about to be sent. */
  isAnnounced: boolean;
  /** Whether it was withdrawn before it was announced: no comment mentions it. */
  isUnwanted: boolean;
  /** The final versions of announced turns whose messages are not sent after all. */
  withdrawn: readonly Turn[];
  /** The first one first. If a job gets another pull request, its turn is in both comments. */
  readonly conversations: Set<number>;
}

export class TrackedJobs {
  readonly #jobs = new Map<string, TrackedJob>();
  readonly #clock: Clock;
  /** The counter in `Turn.writes`. */
  #writes = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Stores the state of a job, and its pull request or issue. A job keeps its first one until its message is
   * out: if two comments said that it was not sent, a re-run would send it because of one of them, and the
   * next re-run because of the other.
   */
  store(state: JobState, conversation: number | null): TrackedJob {
    const job = this.#jobs.get(state.jobId) ?? {
      ...{ state, isAnnounced: false, isUnwanted: false, withdrawn: [] },
      conversations: new Set<number>(),
    };
    this.#jobs.set(state.jobId, job);
    job.state = state;
    const isOut = state.isReadOnly || state.turn.delivery !== 'not-sent';
    if (conversation !== null && (isOut || job.conversations.size === 0)) {
      job.conversations.add(conversation);
    }
    return job;
  }

  has(jobId: string): boolean {
    return this.#jobs.has(jobId);
  }

  statesAt(conversation: number): readonly JobState[] {
    return this.#at(conversation).map(({ state }) => state);
  }

  isOpen(jobId: string): boolean {
    const job = this.#jobs.get(jobId);
    return job !== undefined && !isOver(job.state);
  }

  /** Other runs may have read an announced turn, so it stays as not sent, but is not shown. */
  withdraw(jobId: string): void {
    const job = this.#jobs.get(jobId);
    if (job === undefined) return;
    const { mark } = job.state.turn;
    // What an earlier attempt may have sent stays in doubt.
    if (job.withdrawn.some((turn) => turn.mark === mark && turn.delivery === 'unknown')) return;
    job.isUnwanted = !job.isAnnounced;
    this.replace(jobId, { delivery: 'not-sent', result: 'skipped', reason: NO_REASON });
  }

  /** The announced turn ends like this, unless its message is sent anyway. */
  replace(jobId: string, end: Pick<Turn, 'delivery' | 'result' | 'reason'>): void {
    const job = this.#jobs.get(jobId);
    if (job === undefined || !job.isAnnounced) return;
    const { turn } = job.state;
    const others = job.withdrawn.filter(({ mark }) => mark !== turn.mark);
    job.withdrawn = [...others, { ...turn, ...end, endedAt: this.#clock.now() }];
  }

  /** Our own turns, as the next write has them. Jobs that are not announced yet are left out. */
  ledgerAt(conversation: number): Ledger {
    this.#writes += 1;
    const jobs = this.#at(conversation).flatMap((job) => {
      const { jobId, record } = job.state;
      const turns = turnsOf(job).map((turn) => ({ ...turn, writes: this.#writes }));
      if (turns.length === 0 && !isOnlyPolled(job)) return [];
      return [{ id: jobId, record: record && toLedgerRecord(record), turns }];
    });
    return { jobs, trimmed: null };
  }

  /** No comment is created only for jobs that get no message. */
  needComment(conversation: number): boolean {
    return this.#at(conversation).some(
      (job) => isOnlyPolled(job) || turnsOf(job).some((turn) => !job.withdrawn.includes(turn)),
    );
  }

  #at(conversation: number): readonly TrackedJob[] {
    return [...this.#jobs.values()].filter(({ conversations }) => conversations.has(conversation));
  }
}

/** Whether this run has stopped working on the turn. */
export function isOver({ turn }: JobState): boolean {
  return turn.endedAt !== null;
}

/** The turns that the comment must show for a job. An announced message counts as possibly sent. */
function turnsOf({ state, isAnnounced, isUnwanted, withdrawn }: TrackedJob): readonly Turn[] {
  const { turn } = state;
  if (isUnwanted) return [];
  const isOut = turn.delivery === 'sent' || turn.delivery === 'unknown';
  const same = withdrawn.find(({ mark }) => mark === turn.mark);
  const others = withdrawn.filter((one) => one !== same);
  // With resend-on-rerun, the message may be sent anyway; another use of a step may have the same turn.
  return [...others, ...(same === undefined || isOut ? current() : [same])];

  function current(): readonly Turn[] {
    if (state.isReadOnly && turn.delivery === 'not-sent') return [];
    // A message that was not sent is written as well: a re-run sends it.
    if (isOver(state) || turn.delivery !== 'not-sent') return [turn];
    return isAnnounced ? [{ ...turn, delivery: 'sending' }] : [];
  }
}

/** Nothing was sent to it. The comment names it, so that later commands need no `job-id`. */
function isOnlyPolled({ state: { isReadOnly, record } }: TrackedJob): boolean {
  return isReadOnly && record !== null;
}

/** The part of a record that is remembered, with texts of one line. */
function toLedgerRecord({ status, model, source, prLink }: JobRecord): LedgerRecord {
  const short = (text: string | null): string | null => (text === null ? null : oneLine(text));
  return {
    status,
    model: short(model),
    source: source && { repository: oneLine(source.repository), ref: short(source.ref) },
    prLink,
  };
}
