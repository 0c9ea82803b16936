import { GitHubError, isUnclear, neededFor, reasonFor } from '../github/errors.ts';
import type { Claim } from '../github/reactions.ts';
import { TimeLimit } from '../github/time-limit.ts';
import { join, ours, type Reason, sentence } from '../reason.ts';
import { ok, problem, type Result } from '../result.ts';
import type { JobState, Turn } from '../turn.ts';
import { findHolder, isCommand } from './claim.ts';
import { LIST_LAG_MS, type Reading } from './comment-store.ts';
import type { MemoryContext } from './context.ts';
import { copiesOf, findJob, type Ledger } from './ledger.ts';
import type { Pace } from './pace.ts';
import type { Target } from './target.ts';
import type { TrackedJobs } from './tracked-jobs.ts';

// What happens in the comments before messages are sent: they are read, the messages are noted in them, and
// it is decided whether another run sends one of them.

/** What the comment remembers, or why it cannot be read. Null without a conversation or with `comment: false`. */
export type Memory = Result<Pick<Reading, 'ledger' | 'isWhole'>, Reason> | null;

/** The result of an announcement. */
export type Note =
  /** The comment notes the message, or there is no pull request or issue for a comment. */
  | { readonly kind: 'noted' }
  /** `why` is a phrase. */
  | { readonly kind: 'missing'; readonly why: Reason }
  /** Another run may send the message, and not know of this one. `why` is a sentence with what to do. */
  | { readonly kind: 'unclear'; readonly why: Reason }
  /** Another run sends this message; null if it is not known which one. */
  | { readonly kind: 'taken'; readonly turn: Turn | null };

/** Milliseconds that reading a comment, and noting messages in it, may delay a run. */
const BEFORE_MESSAGE_MS = 10_000;
/** Milliseconds after which lists also show a second comment, created by a run whose list lacked the first one. */
const LIST_LAG_OF_BOTH_MS = 2 * LIST_LAG_MS;

export class Announcements {
  readonly #context: MemoryContext;
  readonly #jobs: TrackedJobs;
  readonly #pace: Pace;
  /** Resolves when the latest note in the queue may be written. */
  #lastNote: Promise<unknown> = Promise.resolve();
  /** Whether the command, if there is one, was claimed, or earlier messages of it may be noted. */
  #hasBegun = false;
  /** Whether GitHub did not respond in time: further messages do not wait for their note. */
  #isSilent = false;

  constructor(context: MemoryContext, jobs: TrackedJobs, pace: Pace) {
    this.#context = context;
    this.#jobs = jobs;
    this.#pace = pace;
  }

  /** Reads the comment, unless that was done before. It never rejects. */
  async load(target: Target): Promise<Memory> {
    try {
      return ok(await this.#inTime(target.load()));
    } catch (error) {
      if (this.#context.signal.aborted) return problem(ours('the run was cancelled'));
      // The caller reports it if it matters. Writing the comment is tried again.
      const needed = ours(neededFor(error).replace(/\.$/, ''));
      return problem(join([reasonFor(error), needed], '. '));
    }
  }

  /** Rejects with a `GitHubError` if it takes too long. The work itself continues. */
  async #inTime<T>(work: Promise<T>, ms = BEFORE_MESSAGE_MS): Promise<T> {
    const { clock, signal } = this.#context;
    // If it fails after the time is over, nothing else handles the error.
    work.catch(() => {});
    const startedAt = clock.now();
    try {
      return await new TimeLimit(clock, ms).waitFor(work, signal);
    } catch (error) {
      // Timers may fire up to a millisecond early.
      const isLate = clock.now() - startedAt >= BEFORE_MESSAGE_MS - 1;
      this.#isSilent ||= !signal.aborted && isLate;
      throw error;
    }
  }

  #claim(): Promise<Claim> {
    this.#hasBegun = true;
    return this.#context.claim();
  }

  /** Claims a command without a note. It never rejects. */
  async withoutNote(why: Reason | null, group: readonly JobState[] = []): Promise<Note> {
    // No message is sent after a cancellation.
    if (this.#context.signal.aborted) return UNNEEDED;
    const claim = await this.#claim();
    // In a re-run, an earlier attempt may have claimed it.
    const isFirst = this.#context.attempt === 1;
    if (claim === 'taken' && isFirst) {
      for (const { jobId } of group) this.#jobs.withdraw(jobId);
      return { kind: 'taken', turn: null };
    }
    if (claim === 'failed' && isFirst) return { kind: 'unclear', why: CLAIM_FAILED };
    if (claim !== 'ours' && claim !== 'none') for (const state of group) this.#doubt(state);
    return why === null ? NOTED : { kind: 'missing', why };
  }

  /** Notes messages in one comment, and finds out whether another run sends one of them. It never rejects. */
  async announce(target: Target, group: readonly JobState[]): Promise<ReadonlyMap<string, Note>> {
    // A re-run sends nothing without a note, so it always waits.
    const ms = this.#isSilent && this.#context.attempt === 1 ? 0 : BEFORE_MESSAGE_MS;
    const begun = Promise.withResolvers<void>();
    const givenUp = new AbortController();
    const before = target.working;
    target.hasChanges = true;
    target.countAsLate();
    const working = target.enqueue(async () => {
      const isDue = await this.#waitToNote(target, group);
      begun.resolve();
      // No message goes out any more; the last write says why.
      return isDue ? this.#noteNow(target, group, givenUp.signal) : noteAll(group, UNNEEDED);
    });
    try {
      await this.#inTime(before, ms);
      await begun.promise;
      return await this.#inTime(working, ms);
    } catch (error) {
      givenUp.abort();
      const why = reasonFor(error);
      return noteAll(
        group,
        this.#mayBeTaken(group, error)
          ? { kind: 'unclear', why: mayNotNote(why) }
          : await this.withoutNote(why, group),
      );
    }
  }

  /**
   * Whether another run may send the message without knowing of this run. That run would take our reaction
   * for one by another tool, and send the message, too. So a command is not sent if GitHub may or may not
   * have written its note, or refused it for a rate limit, which may be over when another run writes its own.
   * If GitHub refuses the note for another reason, it refuses the notes of other runs as well, and the claim
   * decides.
   */
  #mayBeTaken(group: readonly JobState[], error: unknown): boolean {
    const { attempt, signal } = this.#context;
    const isPassing = isUnclear(error) || (error instanceof GitHubError && error.status === 429);
    return (
      attempt === 1 && !signal.aborted && isPassing && group.some(({ turn }) => isCommand(turn))
    );
  }

  /**
   * Resolves when a note may be written, to whether it is still needed. Only one waits at a time, so that the
   * results of earlier messages are written before later notes, and little is left for the end of the run.
   */
  #waitToNote(target: Target, group: readonly JobState[]): Promise<boolean> {
    const wait = this.#lastNote.then(async () => {
      if (this.#isDue(group)) await this.#pace.wait(target.conversation);
      return this.#isDue(group);
    });
    this.#lastNote = wait;
    return wait;
  }

  /** Whether a message of the group may still be sent. */
  #isDue(group: readonly JobState[]): boolean {
    return !this.#context.signal.aborted && group.some(({ jobId }) => this.#jobs.isOpen(jobId));
  }

  /** Writes the note, claims the command and reads both back: three requests without other runs. */
  async #noteNow(
    target: Target,
    group: readonly JobState[],
    givenUp: AbortSignal,
  ): Promise<ReadonlyMap<string, Note>> {
    const { conversation, store } = target;
    const notes = new Map<string, Note>();
    const own = (): Ledger => this.#jobs.ledgerAt(conversation);
    const check = (versions: readonly Ledger[], claim: Claim): void => {
      if (givenUp.aborted) return;
      for (const { jobId, turn } of group) {
        if (notes.has(jobId)) continue;
        const holder = findHolder(versions, jobId, turn, claim);
        if (holder === null) continue;
        // A re-run that goes on otherwise reads again what is remembered by then.
        if (this.#context.attempt > 1) target.forget();
        this.#jobs.withdraw(jobId);
        notes.set(jobId, { kind: 'taken', turn: holder });
      }
    };

    const isOfCommand = group.some(({ turn }) => isCommand(turn));
    const isLater = this.#hasBegun && isOfCommand;
    // Another run may have noted its messages to these jobs in the meantime.
    if (isLater || (isOfCommand && !store.isFresh)) target.forget();
    const first = await target.loadNow();
    check([first.ledger], 'taken');
    if (notes.size === group.length) return notes;
    this.#hasBegun ||= isOfCommand;
    let claiming: Promise<Claim> | undefined;
    const reading = await store.writeUntilItShows(own, {
      onWritten: () => {
        // A run that has ended meanwhile does not take back what it claims afterwards.
        if (this.#isDue(group)) claiming ??= this.#claim();
      },
    });
    target.failure = null;
    if (!this.#isDue(group)) return noteAll(group, UNNEEDED);
    const claimed = await (claiming ?? this.#claim());
    // The claim does not count for these jobs: another run may have decided before we noted them, or may
    // go by the first note.
    const claim = isLater && claimed === 'ours' ? 'none' : claimed;
    if (this.#context.attempt === 1 && claim === 'ours') check([reading.ledger], claim);
    else check(await this.#readVersions(target, own, claim), claim);
    const isUncertain = claim === 'taken' || claim === 'failed';
    for (const state of group) {
      if (notes.has(state.jobId)) continue;
      if (!isIn(reading.ledger, state)) notes.set(state.jobId, this.#withoutRoom(state));
      else if (isUncertain && this.#doubt(state)) notes.set(state.jobId, CLAIMED_EARLIER);
    }
    return notes;
  }

  #withoutRoom({ turn }: JobState): Note {
    const isFirst = this.#context.attempt === 1 && isCommand(turn);
    return isFirst ? { kind: 'unclear', why: NO_ROOM } : NO_ROOM_LEFT;
  }

  /**
   * Whether an earlier attempt may have sent the message: it may have claimed it without ever writing a note.
   * Our turn then becomes `unknown`, so that the next attempt does not send the message either.
   */
  #doubt({ jobId, turn }: JobState): boolean {
    const isKnown = turn.mark !== turn.owner;
    if (this.#context.attempt === 1 || isKnown) return false;
    this.#jobs.replace(jobId, { delivery: 'unknown', result: 'error', reason: CLAIMED_BEFORE });
    return true;
  }

  /** All versions of all comments, after lists show new comments. */
  async #readVersions(target: Target, own: () => Ledger, claim: Claim): Promise<readonly Ledger[]> {
    const { clock, signal } = this.#context;
    // A cancellation ends the pause early, and then no message is sent.
    const isUnclaimed = claim === 'failed' || claim === 'refused';
    const lagMs = isUnclaimed ? LIST_LAG_OF_BOTH_MS : LIST_LAG_MS;
    await clock.sleep(lagMs, signal).catch(() => {});
    const reading = await target.store.read('versions');
    if (reading.isShown) return reading.versions;
    return (await target.store.writeUntilItShows(own, { withVersions: true })).versions;
  }
}

const NOTED: Note = { kind: 'noted' };
const UNNEEDED: Note = { kind: 'missing', why: ours('the run was ending') };
const NO_ROOM_LEFT: Note = { kind: 'missing', why: ours('the comment has no room for it') };
const CLAIMED_EARLIER: Note = {
  kind: 'missing',
  why: ours('an earlier attempt may have claimed the command'),
};
const NO_ROOM = ours(
  'The comment has no room to note the message, so another workflow may be sending it. Send it to ' +
    'fewer jobs, or set comment: false.',
);
const CLAIM_FAILED = ours(
  'Another workflow may be sending the message: the reaction that claims the command could not be ' +
    'added. Write the command again.',
);
const mayNotNote = (why: Reason): Reason =>
  sentence`The comment may not note the message (${why}), so another workflow may be sending it.
    Re-run the job, or write the command again.`;
const CLAIMED_BEFORE = ours(
  'An earlier attempt may have claimed the command, and it is not known whether it sent the message.',
);

/** Whether a ledger has this copy of a turn: it lacks those for which there is no room. */
function isIn(ledger: Ledger, { jobId, turn: { mark, owner } }: JobState): boolean {
  const job = findJob(ledger, jobId);
  return (
    job !== undefined && copiesOf(job).some((copy) => copy.mark === mark && copy.owner === owner)
  );
}

function noteAll(group: readonly JobState[], note: Note): ReadonlyMap<string, Note> {
  return new Map(group.map(({ jobId }) => [jobId, note]));
}
