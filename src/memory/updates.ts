import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../clock.ts';
import type { GitHub } from '../github/api.ts';
import { Deadline } from '../github/deadline.ts';
import { GitHubError, isUnclear, neededFor, reasonFor, whyOf } from '../github/errors.ts';
import type { Claim } from '../github/reactions.ts';
import { join, ours, type Reason } from '../reason.ts';
import type { Log } from '../runner/log.ts';
import type { Redact } from '../runner/secrets.ts';
import type { JobState, Turn } from '../turn.ts';
import { findHolder, isCommand } from './claim.ts';
import { Conversation, LIST_LAG_MS, type Reading } from './conversation.ts';
import { findJob, type Ledger, type LedgerJob } from './ledger.ts';
import { Pace } from './pace.ts';
import type { CommentText } from './text.ts';
import { isOver, TrackedJobs } from './tracked-jobs.ts';

// Decides what is written to which comment, and when. A failure here never changes the result of a
// message.

export interface Updates {
  /** Reads what is remembered on a pull request or issue. It never rejects. */
  load(conversation: number | null): Promise<Memory>;
  /**
   * Notes in the comments that messages are about to be sent, and finds out whether another run sends one
   * of them. Returns a promise for each job, which never rejects and takes 10 s at most once its
   * comment may be written.
   */
  announce(states: readonly JobState[]): ReadonlyMap<string, Promise<Note>>;
  /**
   * Stores the state of a job and, if it is new, its pull request or issue. The comment is updated
   * without delaying the run.
   */
  update(state: JobState, conversation: number | null): void;
  /**
   * Whether more jobs will be announced. Until then, a pull request with several jobs is written only for
   * announcements, which also contain the progress of the other jobs.
   */
  expectMore(more: boolean): void;
  /** This run does not send the message to the job after all. Readers do not see the withdrawn turn. */
  withdraw(jobId: string): void;
  /** Writes what is not written yet, until a read-back shows it. It never rejects. */
  flush(): Promise<Flushed>;
}

/** What the comment remembers of earlier runs and attempts. */
export type Memory =
  | {
      readonly kind: 'read';
      readonly ledger: Ledger;
      /** Whether it is complete. */
      readonly isWhole: boolean;
    }
  /** There is no pull request or issue, or `comment` is `false`. */
  | { readonly kind: 'none' }
  | { readonly kind: 'unreadable'; readonly why: Reason };

/** The result of an announcement. */
export type Note =
  /** The comment notes the message, or there is no pull request or issue for a comment. */
  | { readonly kind: 'noted' }
  | { readonly kind: 'missing'; readonly why: Reason }
  /** The note may not be written, and another run, whose note is, may be about to send the message. */
  | { readonly kind: 'unclear'; readonly why: Reason }
  /** Another run sends this message; null if it is not known which one. */
  | { readonly kind: 'taken'; readonly turn: Turn | null };

export interface Flushed {
  /** The URLs of the comments. */
  readonly urls: readonly string[];
  /** The text of comments that could not be written, or empty. */
  readonly unwritten: string;
  /** Jobs whose state has changed, because other runs have sent messages to them. */
  readonly reviewed: readonly JobState[];
}

export interface UpdatesOptions {
  /** Whether there are comments at all. */
  readonly comment: boolean;
  readonly text: CommentText;
  /** The random name of this process. */
  readonly owner: string;
  readonly attempt: number;
  readonly wait: boolean;
  /** The state of a job, given all messages that were sent to it. */
  readonly review: (state: JobState, job: LedgerJob) => JobState;
  /** For a command: whether this run may send its message. It never rejects. */
  readonly claim: () => Promise<Claim>;
  /** Rejects with a `GitHubError` if GitHub cannot be used. */
  readonly connect: () => Promise<GitHub>;
  readonly log: Log;
  readonly redact: Redact;
  readonly clock: Clock;
  readonly random: () => number;
  readonly signal: AbortSignal;
  /** Limits the time that the end of a run waits for GitHub. */
  readonly deadline: Deadline;
}

/** Milliseconds that reading a comment, and noting messages in it, may delay a run. */
const BEFORE_MESSAGE_MS = 10_000;
/** Milliseconds after which lists show a comment by a run that may have read a list without ours before. */
const LIST_LAG_OF_BOTH_MS = 2 * LIST_LAG_MS;
/** Milliseconds from the last write to the last read-back. */
const LAST_READ_BACK_MS = 1000;
/** The hourly rate limit of the token is not enough for more. */
const MOST_CONVERSATIONS = 200;

/** A pull request or issue, and what was written there. */
interface Target {
  readonly conversation: Conversation;
  loading: Promise<Reading> | null;
  /** Reads and writes of the comment, one after the other. */
  working: Promise<unknown>;
  /** The progress of its jobs at the last write. */
  written: string;
  /** Whether something has changed since the last write. */
  isStale: boolean;
  /** Why the comment is not up to date; null if it is, or if there is nothing to write. */
  failure: unknown;
}

export function openUpdates(options: UpdatesOptions): Updates {
  return new CommentUpdates(options);
}

class CommentUpdates implements Updates {
  readonly #options: UpdatesOptions;
  readonly #jobs: TrackedJobs;
  readonly #targets = new Map<number, Target>();
  readonly #leftOut = new Set<number>();
  readonly #reviewed = new Map<string, JobState>();
  readonly #pace: Pace;
  /** Resolves when the latest note in the queue may be written. */
  #lastNote: Promise<unknown> = Promise.resolve();
  #expectsMore = false;
  /** Whether the command was claimed, if there is one. */
  #hasClaimed = false;
  /** Whether GitHub did not respond in time: further messages do not wait for their note. */
  #isSilent = false;

  constructor(options: UpdatesOptions) {
    this.#options = options;
    this.#jobs = new TrackedJobs(options.clock);
    this.#pace = new Pace(options.clock, options.signal);
  }

  async load(number: number | null): Promise<Memory> {
    const { comment, signal } = this.#options;
    if (!comment || number === null) return { kind: 'none' };
    const target = this.#targetAt(number);
    if (target === null) return { kind: 'unreadable', why: ours(TOO_MANY) };
    try {
      const loading = target.loading ?? this.#enqueue(target, () => this.#load(target));
      const { ledger, isWhole } = await this.#inTime(loading);
      return { kind: 'read', ledger, isWhole };
    } catch (error) {
      if (signal.aborted) return { kind: 'unreadable', why: ours('the run was cancelled') };
      // The caller reports it if it matters. Writing the comment is tried again.
      const needed = ours(neededFor(error).replace(/\.$/, ''));
      return { kind: 'unreadable', why: join([reasonFor(error), needed], '. ') };
    }
  }

  announce(states: readonly JobState[]): ReadonlyMap<string, Promise<Note>> {
    const notes = new Map<string, Promise<Note>>();
    const groups = new Map<Target, JobState[]>();
    for (const state of states) {
      const { jobId } = state;
      this.#jobs.store(state, null);
      const [number] = this.#jobs.conversationsOf(jobId);
      const target = number === undefined ? null : this.#targetAt(number);
      if (this.#options.comment && target !== null) {
        this.#jobs.announce(jobId);
        groups.set(target, [...(groups.get(target) ?? []), state]);
      } else {
        const isLeftOut = number !== undefined && this.#leftOut.has(number);
        notes.set(jobId, this.#withoutNote(isLeftOut ? ours(TOO_MANY) : null));
      }
    }
    for (const [target, group] of groups) {
      const noted = this.#note(target, group);
      for (const { jobId } of group) {
        notes.set(
          jobId,
          noted.then((found) => found.get(jobId) ?? NOTED),
        );
      }
    }
    return notes;
  }

  update(state: JobState, number: number | null): void {
    const isNew = this.#jobs.store(state, number);
    // The first state of a job, before it does anything, is not written.
    if (!this.#options.comment || isNew) return;
    for (const conversation of this.#jobs.conversationsOf(state.jobId)) {
      const target = this.#targetAt(conversation);
      if (target !== null) this.#refresh(target);
    }
  }

  expectMore(more: boolean): void {
    this.#expectsMore = more;
    if (more) return;
    for (const target of this.#targets.values()) if (target.isStale) this.#refresh(target);
  }

  async flush(): Promise<Flushed> {
    const { deadline, text } = this.#options;
    const targets = [...this.#targets.values()];
    for (const target of targets) if (target.isStale) this.#finish(target);
    // What is not written in time is reported below.
    await deadline.waitFor(Promise.all(targets.map(({ working }) => working))).catch(() => {});
    const failed = targets.filter(({ failure }) => failure !== null);
    const [first, ...others] = failed;
    if (first !== undefined) {
      this.#options.log.warning(unwritable([first, ...others], first.failure));
    }
    this.#warnOfLeftOut();
    return {
      urls: targets.map(({ conversation }) => conversation.url).filter((url) => url !== ''),
      unwritten: failed.map((target) => text.visible(this.#own(target))).join('\n\n'),
      reviewed: [...this.#reviewed.values()],
    };
  }

  /** Null if the run already writes to as many comments as the token allows. */
  #targetAt(number: number): Target | null {
    const known = this.#targets.get(number);
    if (known !== undefined) return known;
    if (this.#targets.size >= MOST_CONVERSATIONS) {
      this.#leftOut.add(number);
      return null;
    }
    const target: Target = {
      conversation: new Conversation({ ...this.#options, number }),
      loading: null,
      working: Promise.resolve(),
      written: '',
      isStale: false,
      failure: null,
    };
    this.#targets.set(number, target);
    return target;
  }

  #load(target: Target): Promise<Reading> {
    const allPages = this.#options.attempt > 1;
    if (target.loading === null) {
      target.loading = target.conversation.read({ allPages });
      // The next call tries again.
      target.loading.catch(() => {
        target.loading = null;
      });
    }
    return target.loading;
  }

  /** Rejects with a `GitHubError` if it takes too long. The work itself continues. */
  async #inTime<T>(work: Promise<T>, ms = BEFORE_MESSAGE_MS): Promise<T> {
    const { clock, signal } = this.#options;
    // If it fails after the time is over, nothing else handles the error.
    work.catch(() => {});
    const startedAt = clock.now();
    try {
      return await new Deadline(clock, ms).waitFor(work, signal);
    } catch (error) {
      // Timers may fire up to a millisecond early.
      const isLate = clock.now() - startedAt >= BEFORE_MESSAGE_MS - 1;
      this.#isSilent ||= !signal.aborted && isLate;
      throw error;
    }
  }

  #claim(): Promise<Claim> {
    this.#hasClaimed = true;
    return this.#options.claim();
  }

  /** Claims a command without a note. */
  async #withoutNote(why: Reason | null, group: readonly JobState[] = []): Promise<Note> {
    // No message is sent after a cancellation.
    if (this.#options.signal.aborted) return UNNEEDED;
    const claim = await this.#claim();
    // In a re-run, an earlier attempt may have claimed it.
    if (claim === 'taken' && this.#options.attempt === 1) {
      for (const { jobId } of group) this.withdraw(jobId);
      return { kind: 'taken', turn: null };
    }
    if (claim === 'taken' || claim === 'failed') for (const state of group) this.#doubt(state);
    return why === null ? NOTED : { kind: 'missing', why };
  }

  async #note(target: Target, group: readonly JobState[]): Promise<ReadonlyMap<string, Note>> {
    // A re-run sends nothing without a note, so it always waits.
    const ms = this.#isSilent && this.#options.attempt === 1 ? 0 : BEFORE_MESSAGE_MS;
    const begun = Promise.withResolvers<void>();
    const attempt = { isGivenUp: false };
    const before = target.working;
    target.isStale = true;
    target.failure ??= tooLate();
    const working = this.#enqueue(target, async () => {
      const isDue = await this.#waitToNote(target, group);
      begun.resolve();
      // No message goes out any more; the last write says why.
      return isDue ? this.#noteNow(target, group, attempt) : noteAll(group, UNNEEDED);
    });
    try {
      await this.#inTime(before, ms);
      await begun.promise;
      return await this.#inTime(working, ms);
    } catch (error) {
      attempt.isGivenUp = true;
      const why = reasonFor(error);
      return noteAll(
        group,
        this.#mayBeTaken(group, error)
          ? { kind: 'unclear', why }
          : await this.#withoutNote(why, group),
      );
    }
  }

  /**
   * Whether another run may send the message and not know of this one. It would mistake our
   * reaction for that of another tool and send it, too. So a command is not sent if GitHub may or may not have
   * written its note, or refused it for a rate limit, which may be over when another run writes its own. If
   * GitHub refuses the note for another reason, it refuses the notes of other runs as well, and the claim
   * decides.
   */
  #mayBeTaken(group: readonly JobState[], error: unknown): boolean {
    const { attempt, signal } = this.#options;
    const isPassing = isUnclear(error) || (error instanceof GitHubError && error.isRateLimit);
    return (
      attempt === 1 && !signal.aborted && isPassing && group.some(({ turn }) => isCommand(turn))
    );
  }

  /**
   * Resolves when a note may be written, to whether it is still needed. Only one note at a time waits: so
   * the results of earlier messages are written before the notes of later ones, and little is left to write
   * at the end of the run.
   */
  #waitToNote(target: Target, group: readonly JobState[]): Promise<boolean> {
    const isDue = (): boolean =>
      !this.#options.signal.aborted && group.some(({ jobId }) => this.#jobs.isOpen(jobId));
    const wait = this.#lastNote.then(async () => {
      if (isDue()) await this.#pace.wait(target.conversation.number);
      return isDue();
    });
    this.#lastNote = wait;
    return wait;
  }

  /** Writes the note, claims the command and reads both back: three requests without other runs. */
  async #noteNow(
    target: Target,
    group: readonly JobState[],
    attempt: { readonly isGivenUp: boolean },
  ): Promise<ReadonlyMap<string, Note>> {
    const { conversation } = target;
    const notes = new Map<string, Note>();
    const own = (): Ledger => this.#own(target);
    const check = (versions: readonly Ledger[], claim: Claim): void => {
      if (attempt.isGivenUp) return;
      for (const { jobId, turn } of group) {
        if (notes.has(jobId)) continue;
        const holder = findHolder(versions, jobId, turn, claim);
        if (holder === null) continue;
        // A re-run that goes on otherwise reads again what is remembered by then.
        if (this.#options.attempt > 1) target.loading = null;
        this.withdraw(jobId);
        notes.set(jobId, { kind: 'taken', turn: holder });
      }
    };

    const isLater = this.#hasClaimed && group.some(({ turn }) => isCommand(turn));
    // Another run may have noted its messages to these jobs in the meantime.
    if (isLater) target.loading = null;
    const first = await this.#load(target);
    check([first.ledger], 'taken');
    if (notes.size === group.length) return notes;
    let claiming: Promise<Claim> | undefined;
    const reading = await conversation.writeUntilItShows(own, {
      onWritten: () => {
        claiming ??= this.#claim();
      },
    });
    target.failure = null;
    const claimed = await (claiming ?? this.#claim());
    // It was ours before these jobs were noted, so another run may not have seen that we handle them.
    const claim = isLater && claimed === 'ours' ? 'none' : claimed;
    if (this.#options.attempt === 1 && claim === 'ours') check([reading.ledger], claim);
    else check(await this.#readVersions(target, own, claim), claim);
    if (claim !== 'taken') return notes;
    for (const state of group) {
      if (notes.has(state.jobId) || !this.#doubt(state)) continue;
      notes.set(state.jobId, {
        kind: 'missing',
        why: ours('an earlier attempt has claimed the command'),
      });
    }
    return notes;
  }

  /**
   * Whether an earlier attempt may have sent the message. In a re-run, a claim may be from an attempt
   * whose note was never written. Our turn then becomes `unknown`, so that the next attempt does not
   * send the message either.
   */
  #doubt({ jobId, turn }: JobState): boolean {
    const isKnown = turn.mark !== turn.owner;
    if (this.#options.attempt === 1 || isKnown) return false;
    this.#jobs.replace(jobId, { delivery: 'unknown', result: 'error', reason: CLAIMED_BEFORE });
    return true;
  }

  /** All versions of all comments, after lists show new comments. */
  async #readVersions(target: Target, own: () => Ledger, claim: Claim): Promise<readonly Ledger[]> {
    const { clock, signal } = this.#options;
    // A cancellation ends the pause early, and then no message is sent.
    const lagMs = claim === 'failed' ? LIST_LAG_OF_BOTH_MS : LIST_LAG_MS;
    await clock.sleep(lagMs, signal).catch(() => {});
    const everything = { allPages: true, withVersions: true };
    const reading = await target.conversation.read(everything);
    if (reading.isShown) return reading.versions;
    return (await target.conversation.writeUntilItShows(own, everything)).versions;
  }

  withdraw(jobId: string): void {
    this.#jobs.withdraw(jobId);
  }

  #enqueue<T>(target: Target, work: () => Promise<T>): Promise<T> {
    const working = target.working.then(work);
    // The caller handles its errors.
    target.working = working.catch(() => {});
    return working;
  }

  /** Writes the comment if the progress of its jobs has changed enough. */
  #refresh(target: Target): void {
    target.isStale = true;
    const states = this.#jobs.statesAt(target.conversation.number);
    if (this.#expectsMore && states.length > 1) return;
    const ended = states.filter(isOver).length;
    const isLast = ended === states.length;
    const areOut = states.every((state) => isOver(state) || state.turn.delivery === 'sent');
    // Without a wait, the end follows at once.
    if (!isLast && !(areOut && this.#options.wait)) return;
    const tenth = isLast ? 10 : states.length < 10 ? 0 : Math.floor((ended * 10) / states.length);
    const progress = `${states.length} jobs, ${tenth} tenths`;
    if (target.written === progress) return;
    target.written = progress;
    if (isLast) this.#finish(target);
    else this.#write(target);
  }

  #write(target: Target): void {
    const writing = this.#enqueue(target, async () => {
      if (!target.isStale) return;
      await this.#pace.wait(target.conversation.number);
      target.isStale = false;
      await target.conversation.write(this.#own(target));
      target.failure = null;
    });
    this.#keepFailure(target, writing);
  }

  /** The last write of a comment, repeated until a read-back shows it. */
  #finish(target: Target): void {
    const { conversation } = target;
    const finishing = this.#enqueue(target, async () => {
      if (!target.isStale) return;
      if (!conversation.hasWritten && !this.#jobs.needComment(conversation.number)) {
        target.isStale = false;
        target.failure = null;
        return;
      }
      await this.#pace.wait(conversation.number);
      const { ledger } = await conversation.read();
      this.#review(target, ledger);
      target.isStale = false;
      if (this.#isKnown(target, ledger)) {
        target.failure = null;
        return;
      }
      await conversation.writeUntilItShows(() => this.#own(target), {
        readBackAfterMs: conversation.hasCreated ? LIST_LAG_MS : LAST_READ_BACK_MS,
        readAgainAfterMs: LAST_READ_BACK_MS,
        inOldest: true,
      });
      target.failure = null;
      // A superfluous comment does no harm.
      await conversation.reconcile().catch(() => {});
    });
    this.#keepFailure(target, finishing);
  }

  /** Whether all jobs were only polled, and the comment shows their current state. */
  #isKnown(target: Target, ledger: Ledger): boolean {
    return this.#own(target).jobs.every(
      ({ id, record, turns }) =>
        turns.length === 0 && isDeepStrictEqual(findJob(ledger, id)?.record, record),
    );
  }

  #keepFailure(target: Target, work: Promise<void>): void {
    target.failure ??= tooLate();
    work.catch((error) => {
      target.isStale = true;
      target.failure = error;
    });
  }

  #review(target: Target, ledger: Ledger): void {
    for (const state of this.#jobs.statesAt(target.conversation.number)) {
      const job = findJob(ledger, state.jobId);
      if (job === undefined) continue;
      const reviewed = this.#options.review(state, job);
      if (reviewed !== state) this.#reviewed.set(state.jobId, reviewed);
      this.#jobs.store(reviewed, null);
    }
  }

  #own({ conversation }: Target): Ledger {
    return this.#jobs.ledgerAt(conversation.number);
  }

  #warnOfLeftOut(): void {
    const { size } = this.#leftOut;
    if (size === 0) return;
    this.#options.log.warning(
      `${size} more pull requests have no comment: ${TOO_MANY}. A re-run will not send to their jobs again.`,
    );
  }
}

const NOTED: Note = { kind: 'noted' };
const UNNEEDED: Note = { kind: 'missing', why: ours('the run was ending') };
const CLAIMED_BEFORE = ours(
  'An earlier attempt has claimed the command, and it is not known whether it sent the message.',
);
const TOO_MANY = `one run comments on ${MOST_CONVERSATIONS} pull requests and issues at most`;

function noteAll(group: readonly JobState[], note: Note): ReadonlyMap<string, Note> {
  return new Map(group.map(({ jobId }) => [jobId, note]));
}

function tooLate(): GitHubError {
  return new GitHubError(0, 'the run has at most 30 s for it');
}

function unwritable([first, ...others]: readonly [Target, ...Target[]], error: unknown): string {
  const more =
    ['', ', and that on 1 other,'][others.length] ?? `, and those on ${others.length} others,`;
  const remembered = [first, ...others].some(({ conversation }) => conversation.url === '')
    ? 'a re-run will not know what was sent, and may send it again'
    : 'later runs may not know how it ended';
  const text =
    `The comment on #${first.conversation.number}${more} could not be read or written: ${whyOf(error)}. The job ` +
    `summary holds its text, and ${remembered}.`;
  return `${text} ${neededFor(error)}`.trim();
}
