import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '../clock.ts';
import type { GitHub } from '../github/api.ts';
import { createDeadline, type Deadline } from '../github/deadline.ts';
import { GitHubError, neededFor, whyOf } from '../github/errors.ts';
import type { Claim } from '../github/reactions.ts';
import { NO_REASON, ours } from '../reason.ts';
import type { Log } from '../runner/log.ts';
import type { Redact } from '../runner/secrets.ts';
import { oneLine } from '../sanitize.ts';
import type { JobRecord, JobState, Turn } from '../turn.ts';
import { findHolder } from './claim.ts';
import { Conversation, type Reading } from './conversation.ts';
import { findJob, type Ledger, type LedgerJob, type LedgerRecord } from './ledger.ts';
import { createPace } from './pace.ts';
import type { CommentText } from './text.ts';

// What is written to which conversation, and when. Whatever goes wrong here never changes the result of
// what was sent.

export interface Updates {
  /** What the conversation remembers. It never rejects. */
  load(conversation: number | null): Promise<Memory>;
  /**
   * Notes that messages are about to go out, and finds out whether somebody else has one of them. For
   * each job a promise, which never rejects and takes about 10 s at most, once its turn has come.
   */
  announce(states: readonly JobState[]): ReadonlyMap<string, Promise<Note>>;
  /**
   * Takes in how far a job is and, where that is new, which conversation it belongs to. The comment is
   * brought up to date without holding up the run.
   */
  update(state: JobState, conversation: number | null): void;
  /**
   * Whether more jobs will be announced. As long as that is so, a conversation of several jobs is only
   * written to for announcements, each of which also writes how far the other jobs are.
   */
  expectMore(more: boolean): void;
  /** The job gets no message of this run after all, and nobody is told that it did not. */
  withdraw(jobId: string): void;
  /** Writes what is not written yet, and makes sure that it stands. It never rejects. */
  flush(): Promise<Flushed>;
}

/** What the conversation remembers of earlier runs and attempts. */
export type Memory =
  | {
      readonly kind: 'read';
      readonly ledger: Ledger;
      /** Whether nothing of it is missing. */
      readonly isWhole: boolean;
    }
  /** There is none: no conversation, or no comments. */
  | { readonly kind: 'none' }
  | { readonly kind: 'unreadable'; readonly why: string };

/** What came of an announcement. */
export type Note =
  /** It stands, or there is nowhere to write it. */
  | { readonly kind: 'stands' }
  | { readonly kind: 'missing'; readonly why: string }
  /** Somebody else has this message; null if it is not known who. */
  | { readonly kind: 'taken'; readonly turn: Turn | null };

export interface Flushed {
  /** Of the comments. */
  readonly urls: readonly string[];
  /** The text of comments that could not be written, or empty. */
  readonly unwritten: string;
  /** Jobs whose state is another one, now that it is known what other runs have sent to them. */
  readonly reviewed: readonly JobState[];
}

export interface UpdatesOptions {
  /** Whether anything is written and remembered at all. */
  readonly comment: boolean;
  readonly text: CommentText;
  /** The random name of this process. */
  readonly owner: string;
  readonly attempt: number;
  readonly wait: boolean;
  /** The state of a job, once it is known what else was sent to it. */
  readonly review: (state: JobState, job: LedgerJob) => JobState;
  /** Of a command: whether this run may act on it. It never rejects. */
  readonly claim: () => Promise<Claim>;
  /** Rejects with a `GitHubError` where there is no way to GitHub. */
  readonly connect: () => Promise<GitHub>;
  readonly log: Log;
  readonly redact: Redact;
  readonly clock: Clock;
  readonly random: () => number;
  readonly signal: AbortSignal;
  /** For what the end of a run waits for on GitHub. */
  readonly deadline: Deadline;
}

/** Milliseconds that reading a conversation, and noting messages on it, may hold up a run. */
const BEFORE_MESSAGE_MS = 10_000;
/** Milliseconds after which a list shows a comment that another run has made meanwhile. */
const LIST_LAG_MS = 3000;
/** The same where that run may have read a list that did not show our comment before it made its own. */
const LIST_LAG_OF_BOTH_MS = 2 * LIST_LAG_MS;
/** Milliseconds from the last write to the last reading. */
const LAST_READ_BACK_MS = 1000;
/** An hour of the token is not enough for more. */
const MOST_CONVERSATIONS = 200;

/** A job of this run. One that made another pull request has its turn on both. */
interface Entry {
  state: JobState;
  isAnnounced: boolean;
  /** Its turn is none, and was never announced. */
  isUnwanted: boolean;
  /** What stands for the turns that were announced, if their messages do not go out after all. */
  withdrawn: readonly Turn[];
  readonly conversations: Set<number>;
}

/** A conversation, and what was written to it. */
interface Target {
  readonly conversation: Conversation;
  loading: Promise<Reading> | null;
  /** The work on it, one piece after the other: each goes on from what the one before has left. */
  working: Promise<unknown>;
  /** How far its jobs were when it was written last. */
  written: string;
  /** Whether something has changed since it was written. */
  isStale: boolean;
  /** Why it is not up to date; null if it is, or there is nothing to write. */
  failure: unknown;
}

export function openUpdates(options: UpdatesOptions): Updates {
  return new CommentUpdates(options);
}

class CommentUpdates implements Updates {
  readonly #options: UpdatesOptions;
  readonly #entries = new Map<string, Entry>();
  readonly #targets = new Map<number, Target>();
  readonly #leftOut = new Set<number>();
  readonly #reviewed = new Map<string, JobState>();
  readonly #pace: ReturnType<typeof createPace>;
  /** Resolves when the last note has had its turn to be written. */
  #lastNote: Promise<unknown> = Promise.resolve();
  /** How often our turns were put together to be written. */
  #writes = 0;
  #expectsMore = false;
  /** GitHub did not answer in time: no message waits for its note any more. */
  #isSilent = false;

  constructor(options: UpdatesOptions) {
    this.#options = options;
    this.#pace = createPace(options.clock, options.signal);
  }

  async load(number: number | null): Promise<Memory> {
    const { comment, signal } = this.#options;
    if (!comment || number === null) return { kind: 'none' };
    const target = this.#targetAt(number);
    if (target === null) return { kind: 'unreadable', why: TOO_MANY };
    try {
      const loading = target.loading ?? this.#enqueue(target, () => this.#load(target));
      const { ledger, isWhole } = await this.#inTime(loading);
      return { kind: 'read', ledger, isWhole };
    } catch (error) {
      if (signal.aborted) return { kind: 'unreadable', why: 'the run was cancelled' };
      // Whoever needs it says so. Where it is only written to, that will be tried anew.
      return {
        kind: 'unreadable',
        why: [whyOf(error), neededFor(error)].join('. ').replace(/\. ?$/, ''),
      };
    }
  }

  announce(states: readonly JobState[]): ReadonlyMap<string, Promise<Note>> {
    const notes = new Map<string, Promise<Note>>();
    const groups = new Map<Target, JobState[]>();
    for (const state of states) {
      const entry = this.#entries.get(state.jobId);
      const [number] = entry?.conversations ?? [];
      const target = number === undefined ? null : this.#targetAt(number);
      if (entry !== undefined) entry.state = state;
      if (this.#options.comment && entry !== undefined && target !== null) {
        entry.isAnnounced = true;
        groups.set(target, [...(groups.get(target) ?? []), state]);
      } else {
        const isLeftOut = number !== undefined && this.#leftOut.has(number);
        notes.set(state.jobId, this.#withoutNote(isLeftOut ? TOO_MANY : null));
      }
    }
    for (const [target, group] of groups) {
      const noted = this.#note(target, group);
      for (const { jobId } of group) {
        notes.set(
          jobId,
          noted.then((found) => found.get(jobId) ?? STANDS),
        );
      }
    }
    return notes;
  }

  update(state: JobState, number: number | null): void {
    const known = this.#entries.get(state.jobId);
    const entry = known ?? {
      ...{ state, isAnnounced: false, isUnwanted: false, withdrawn: [] },
      conversations: new Set<number>(),
    };
    this.#entries.set(state.jobId, entry);
    entry.state = state;
    if (number !== null) entry.conversations.add(number);
    // Of a job that has only been planned nothing is new.
    if (!this.#options.comment || known === undefined) return;
    for (const conversation of entry.conversations) {
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
    // What is not written by then is said below.
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

  /** Null for a conversation beyond those that the token can write to. */
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
      // Whoever asks next may have better luck.
      target.loading.catch(() => {
        target.loading = null;
      });
    }
    return target.loading;
  }

  /** Rejects with a `GitHubError` if it takes too long. The work itself goes on. */
  async #inTime<T>(work: Promise<T>, ms = BEFORE_MESSAGE_MS): Promise<T> {
    const { clock, signal } = this.#options;
    // Whoever stops waiting does not handle that it fails.
    work.catch(() => {});
    const startedAt = clock.now();
    try {
      return await createDeadline(clock, ms).waitFor(work, signal);
    } catch (error) {
      // Timers leave out the fraction of a millisecond.
      const isLate = clock.now() - startedAt >= BEFORE_MESSAGE_MS - 1;
      this.#isSilent ||= !signal.aborted && isLate;
      throw error;
    }
  }

  /** Where no note can be written, a command is claimed all the same. */
  async #withoutNote(why: string | null, group: readonly JobState[] = []): Promise<Note> {
    // No message goes out after a cancel.
    if (this.#options.signal.aborted) return UNNEEDED;
    const claim = await this.#options.claim();
    // In a re-run it may be an earlier attempt that has it.
    if (claim === 'taken' && this.#options.attempt === 1) {
      for (const { jobId } of group) this.withdraw(jobId);
      return { kind: 'taken', turn: null };
    }
    if (claim === 'taken' || claim === 'failed') for (const state of group) this.#doubt(state);
    return why === null ? STANDS : { kind: 'missing', why };
  }

  async #note(target: Target, group: readonly JobState[]): Promise<ReadonlyMap<string, Note>> {
    // A re-run sends nothing without its note.
    const ms = this.#isSilent && this.#options.attempt === 1 ? 0 : BEFORE_MESSAGE_MS;
    const begun = Promise.withResolvers<void>();
    const attempt = { isGivenUp: false };
    const before = target.working;
    target.isStale = true;
    target.failure ??= tooLate();
    const working = this.#enqueue(target, async () => {
      const isDue = await this.#turnToNote(target, group);
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
      return noteAll(group, await this.#withoutNote(whyOf(error), group));
    }
  }

  /**
   * Resolves when a note may be written, to whether it is still wanted. Only one note at a time waits for
   * its turn: so what is written after the earlier messages comes before the notes of the later ones, and
   * the end of the run has little left to write.
   */
  #turnToNote(target: Target, group: readonly JobState[]): Promise<boolean> {
    const isDue = (): boolean =>
      !this.#options.signal.aborted &&
      group.some(({ jobId, turn }) => !isOver(this.#entries.get(jobId)?.state ?? { turn }));
    const turn = this.#lastNote.then(async () => {
      if (isDue()) await this.#pace.turn(target.conversation.number);
      return isDue();
    });
    this.#lastNote = turn;
    return turn;
  }

  /** The note, the claim and what they show, in three requests where nobody else is at work. */
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

    const first = await this.#load(target);
    check([first.ledger], 'taken');
    if (notes.size === group.length) return notes;
    let claiming: Promise<Claim> | undefined;
    const reading = await conversation.writeUntilItStands(own, {
      onWritten: () => {
        claiming ??= this.#options.claim();
      },
    });
    target.failure = null;
    const claim = await (claiming ?? this.#options.claim());
    if (this.#options.attempt === 1 && claim === 'ours') check([reading.ledger], claim);
    else check(await this.#readVersions(target, own, claim), claim);
    if (claim !== 'taken') return notes;
    for (const state of group) {
      if (notes.has(state.jobId) || !this.#doubt(state)) continue;
      notes.set(state.jobId, {
        kind: 'missing',
        why: 'an earlier attempt has claimed the command',
      });
    }
    return notes;
  }

  /**
   * Whether an earlier attempt may have sent the message: in a re-run, the claim that stands may be that of
   * one whose note was never written. A message goes out only where it is known not to have been sent; and
   * the next attempt must not take what stands of our turn for that.
   */
  #doubt({ jobId, turn }: JobState): boolean {
    const isKnown = turn.mark !== turn.owner;
    if (this.#options.attempt === 1 || isKnown) return false;
    this.#replace(jobId, { delivery: 'unknown', result: 'error', reason: CLAIMED_BEFORE });
    return true;
  }

  /** What others have written, also what was overwritten, once lists show it. */
  async #readVersions(target: Target, own: () => Ledger, claim: Claim): Promise<readonly Ledger[]> {
    const { clock, signal } = this.#options;
    // A cancel ends the pause early, and no message goes out then.
    const lagMs = claim === 'failed' ? LIST_LAG_OF_BOTH_MS : LIST_LAG_MS;
    await clock.sleep(lagMs, signal).catch(() => {});
    const everything = { allPages: true, withVersions: true };
    const reading = await target.conversation.read(everything);
    if (reading.stands) return reading.versions;
    return (await target.conversation.writeUntilItStands(own, everything)).versions;
  }

  /** A turn that others may have read stays, as one that was not sent, which nobody is shown. */
  withdraw(jobId: string): void {
    const entry = this.#entries.get(jobId);
    if (entry === undefined) return;
    entry.isUnwanted = !entry.isAnnounced;
    this.#replace(jobId, { delivery: 'not-sent', result: 'skipped', reason: NO_REASON });
  }

  #replace(jobId: string, outcome: Pick<Turn, 'delivery' | 'result' | 'reason'>): void {
    const entry = this.#entries.get(jobId);
    if (entry === undefined || !entry.isAnnounced) return;
    const { turn } = entry.state;
    const others = entry.withdrawn.filter(({ mark }) => mark !== turn.mark);
    entry.withdrawn = [...others, { ...turn, ...outcome, endedAt: this.#options.clock.now() }];
  }

  #enqueue<T>(target: Target, work: () => Promise<T>): Promise<T> {
    const working = target.working.then(work);
    // Whoever asked for the work handles that it fails.
    target.working = working.catch(() => {});
    return working;
  }

  /** Writes how far the jobs of a conversation have come, if that is news. */
  #refresh(target: Target): void {
    target.isStale = true;
    const states = this.#entriesAt(target).map(({ state }) => state);
    if (this.#expectsMore && states.length > 1) return;
    const ended = states.filter(isOver).length;
    const isLast = ended === states.length;
    const areOut = states.every((state) => isOver(state) || state.turn.delivery === 'sent');
    // Without a wait the end follows at once.
    if (!isLast && !(areOut && this.#options.wait)) return;
    const tenth = isLast ? 10 : states.length < 10 ? 0 : Math.floor((ended * 10) / states.length);
    const news = `${states.length} jobs, ${tenth} tenths`;
    if (target.written === news) return;
    target.written = news;
    if (isLast) this.#finish(target);
    else this.#write(target);
  }

  #write(target: Target): void {
    const writing = this.#enqueue(target, async () => {
      if (!target.isStale) return;
      await this.#pace.turn(target.conversation.number);
      target.isStale = false;
      await target.conversation.write(this.#own(target));
      target.failure = null;
    });
    this.#keepFailure(target, writing);
  }

  /** The last write to a conversation, which is read back until it stands. */
  #finish(target: Target): void {
    const { conversation } = target;
    const finishing = this.#enqueue(target, async () => {
      if (!target.isStale) return;
      if (!this.#isWorthIt(target)) {
        target.isStale = false;
        target.failure = null;
        return;
      }
      await this.#pace.turn(conversation.number);
      const { ledger } = await conversation.read();
      this.#review(target, ledger);
      target.isStale = false;
      if (this.#isKnown(target, ledger)) {
        target.failure = null;
        return;
      }
      await conversation.writeUntilItStands(() => this.#own(target), {
        readBackAfterMs: conversation.hasCreated ? LIST_LAG_MS : LAST_READ_BACK_MS,
        readAgainAfterMs: LAST_READ_BACK_MS,
        inOldest: true,
      });
      target.failure = null;
      // That there is one comment too many loses nothing.
      await conversation.reconcile().catch(() => {});
    });
    this.#keepFailure(target, finishing);
  }

  /** Whether jobs were only looked at, and the comment tells of them as they are. */
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
    for (const entry of this.#entriesAt(target)) {
      const { jobId } = entry.state;
      const job = findJob(ledger, jobId);
      if (job === undefined) continue;
      const state = this.#options.review(entry.state, job);
      if (state !== entry.state) this.#reviewed.set(jobId, state);
      entry.state = state;
    }
  }

  #entriesAt({ conversation: { number } }: Target): readonly Entry[] {
    return [...this.#entries.values()].filter(({ conversations }) => conversations.has(number));
  }

  /** Our own turns. A job that is not announced yet leaves no trace. */
  #own(target: Target): Ledger {
    this.#writes += 1;
    const jobs = this.#entriesAt(target).flatMap((entry) => {
      const { jobId, record } = entry.state;
      const turns = turnsOf(entry).map((turn) => ({ ...turn, writes: this.#writes }));
      if (turns.length === 0 && !isSeenOnly(entry)) return [];
      return [{ id: jobId, record: record && toLedgerRecord(record), turns }];
    });
    return { jobs, trimmed: null };
  }

  /** Of jobs that get no message nothing is said, unless it was said before that they would. */
  #isWorthIt(target: Target): boolean {
    const hasNews = (entry: Entry): boolean =>
      isSeenOnly(entry) || turnsOf(entry).some((turn) => !entry.withdrawn.includes(turn));
    return target.conversation.hasWritten || this.#entriesAt(target).some(hasNews);
  }

  #warnOfLeftOut(): void {
    const { size } = this.#leftOut;
    if (size === 0) return;
    this.#options.log.warning(
      `${size} more pull requests have no comment: ${TOO_MANY}. A re-run will not send to their jobs again.`,
    );
  }
}

const STANDS: Note = { kind: 'stands' };
const UNNEEDED: Note = { kind: 'missing', why: 'the run was ending' };
const CLAIMED_BEFORE = ours(
  'An earlier attempt has claimed the command, and nothing tells whether it sent the message.',
);
const TOO_MANY = `one run comments on ${MOST_CONVERSATIONS} conversations at most`;

function isOver({ turn }: Pick<JobState, 'turn'>): boolean {
  return turn.endedAt !== null;
}

/** Until it is known what came of an announced message, a re-run must take it for one that may be out. */
function turnsOf({ state, isAnnounced, isUnwanted, withdrawn }: Entry): readonly Turn[] {
  const { turn } = state;
  if (isUnwanted) return [];
  const isOut = turn.delivery === 'sent' || turn.delivery === 'unknown';
  const same = withdrawn.find(({ mark }) => mark === turn.mark);
  const others = withdrawn.filter((one) => one !== same);
  // It may go out all the same (resend-on-rerun), or another use of the step has the very same turn.
  return [...others, ...(same === undefined || isOut ? current() : [same])];

  function current(): readonly Turn[] {
    if (state.isLook && turn.delivery === 'not-sent') return [];
    // What was held up is written down as well: a re-run sends it.
    if (isOver(state) || turn.delivery !== 'not-sent') return [turn];
    return isAnnounced ? [{ ...turn, delivery: 'sending' }] : [];
  }
}

/** Nothing is sent to it; the comment names it, so that later commands need not. */
function isSeenOnly({ state: { isLook, record } }: Entry): boolean {
  return isLook && record !== null;
}

/** What is worth remembering of a record: one line of each text. */
function toLedgerRecord({ status, model, source, prLink }: JobRecord): LedgerRecord {
  const short = (text: string | null): string | null => (text === null ? null : oneLine(text));
  return {
    status,
    model: short(model),
    source: source && { repository: oneLine(source.repository), ref: short(source.ref) },
    prLink,
  };
}

function noteAll(group: readonly JobState[], note: Note): ReadonlyMap<string, Note> {
  return new Map(group.map(({ jobId }) => [jobId, note]));
}

function tooLate(): GitHubError {
  return new GitHubError(0, 'the time for it was over, 30 s in a run');
}

function unwritable([first, ...others]: readonly [Target, ...Target[]], error: unknown): string {
  const more =
    ['', ', and that on 1 other,'][others.length] ?? `, and those on ${others.length} others,`;
  const remembered = [first, ...others].some(({ conversation }) => conversation.url === '')
    ? 'a re-run will not know what was sent, and may send it again'
    : 'later runs may not know how it ended';
  const told =
    `The comment on #${first.conversation.number}${more} could not be read or written: ${whyOf(error)}. The job ` +
    `summary holds its text, and ${remembered}.`;
  return `${told} ${neededFor(error)}`.trim();
}
