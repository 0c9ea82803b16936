import type { Clock } from '../clock.ts';
import type { GitHub, OwnComment } from '../github/api.ts';
import { GitHubError } from '../github/errors.ts';
import type { Redact } from '../runner/secrets.ts';
import type { Versions } from './claim.ts';
import { redactLedger } from './data.ts';
import { contains, EMPTY, intersect, type Ledger, trim, unite, withoutOwner } from './ledger.ts';
import { type CommentData, composeText, fits, readText } from './text.ts';

// The comment on one pull request or issue, as a store that several runs write to.
//
// A write wins over whatever stood there, a list may show a new comment late, and an answer may get
// lost. So every write is made on what was read just before it, and is read back until it stands.

export interface ConversationOptions {
  /** Of the pull request or issue. */
  readonly number: number;
  readonly projectId: string;
  /** The random name of this process. */
  readonly owner: string;
  /** What people see of a ledger, in at most so many characters. */
  readonly render: (ledger: Ledger, limit: number) => string;
  readonly connect: () => Promise<GitHub>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly redact: Redact;
  /** Aborted when the run is cancelled. */
  readonly signal: AbortSignal;
}

/** What one request has shown. */
export interface Reading {
  /** What all comments remember together. */
  readonly ledger: Ledger;
  /** Whether all of our comments could be read; else `ledger` may lack something. */
  readonly isWhole: boolean;
  /** Each version of each comment, the oldest comment and version first, if they were asked for. */
  readonly versions: Versions;
  /** Whether it shows our turns as they were written last. */
  readonly isShown: boolean;
  /** The same of the comment that stays, where two runs have made one each. */
  readonly isInOldest: boolean;
}

export interface ReadOptions {
  /** Whether to read beyond the newest page with a comment of ours. */
  readonly allPages?: boolean;
  readonly withVersions?: boolean;
}

export interface WriteOptions extends ReadOptions {
  /** Called after each write that surely took place, beside which it is read back. */
  readonly onWritten?: () => void;
  /** Milliseconds until what was written first, and what was written again, is read back. */
  readonly readBackAfterMs?: number;
  readonly readAgainAfterMs?: number;
  /** Whether it has to stand in the comment that stays. */
  readonly inOldest?: boolean;
}

/** Milliseconds for which a reading may be written on. */
const FRESH_MS = 1000;
/** How often a write is read back and made again before it counts as failed. */
const MOST_ROUNDS = 8;
/** Milliseconds between them: at random, so that several runs do not keep in step. */
const SHORTEST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 500;
/** Texts that are kept with what they hold. */
const MOST_TEXTS = 8;
/** Milliseconds after which nobody else is at work on a comment that is one too many. */
const UNTOUCHED_MS = 60_000;

/** Calls are to be made one after the other. All of them reject with a `GitHubError`. */
export class Conversation {
  readonly number: number;
  readonly #options: ConversationOptions;
  /** As they were read last, the oldest first. */
  #comments: readonly OwnComment[] = [];
  /** What any reading has shown: nobody else's turn gets lost by a write of ours. */
  #remembered = EMPTY;
  #lastWrite: OwnComment | null = null;
  /** Our turns as they were written last, as far as there was room for them. */
  #written = EMPTY;
  /** When the reading began that may be written on; null after a write. */
  #readAt: number | null = null;
  /** By body, what the comments and their versions hold: to read it takes time. */
  #texts = new Map<string, CommentData>();
  /** Comments that GitHub does not write to any more: lists may show them for a while. */
  readonly #gone = new Set<number>();
  /** Whether this process made a comment, as far as it knows. */
  #hasCreated = false;

  constructor(options: ConversationOptions) {
    this.number = options.number;
    this.#options = options;
  }

  /** Of the comment that was written last; empty before. */
  get url(): string {
    return this.#lastWrite?.url ?? '';
  }

  get hasCreated(): boolean {
    return this.#hasCreated;
  }

  async read({ allPages = false, withVersions = false }: ReadOptions = {}): Promise<Reading> {
    const github = await this.#options.connect();
    for (let round = 1; ; round++) {
      const readAt = this.#options.clock.now();
      const found = await github.readComments(this.number, {
        nodeIds: this.#comments.map(({ nodeId }) => nodeId),
        isOurs: (body) => this.#readText(body).kind !== 'none',
        allPages,
        withVersions,
      });
      const comments = found.filter(({ id }) => !this.#gone.has(id));
      if (!comments.some((comment) => this.#isStale(comment))) {
        this.#readAt = readAt;
        return this.#take(comments);
      }
      if (round === MOST_ROUNDS) throw new GitHubError(0, 'GitHub keeps showing an old state');
      await this.#pause(this.#randomMs());
    }
  }

  /** Puts our turns into the oldest comment, or makes one, on a reading that is fresh. */
  async write(own: Ledger): Promise<void> {
    const { connect, clock } = this.#options;
    const github = await connect();
    for (;;) {
      if (this.#readAt === null || clock.now() - this.#readAt > FRESH_MS) await this.read();
      this.#readAt = null;
      const target = this.#target();
      const body = this.#compose(own);
      if (target === null) {
        this.#hasCreated = true;
        return this.#keep(await github.createComment(this.number, body));
      }
      const updated = await github.updateComment(target.id, body);
      if (updated !== null) return this.#keep(updated);
      // Somebody deleted it in the meantime, and another run may have made a new one.
      this.#gone.add(target.id);
      this.#comments = this.#comments.filter(({ id }) => id !== target.id);
    }
  }

  /**
   * Writes our turns and reads them back, until they stand: another run may have overwritten them, or
   * the answer to a creation got lost. `own` is asked for each time.
   */
  async writeUntilItShows(own: () => Ledger, options: WriteOptions = {}): Promise<Reading> {
    const { onWritten, readBackAfterMs = 0, readAgainAfterMs = 0, inOldest = false } = options;
    for (let round = 1; ; round++) {
      const failure = await this.write(own()).then(() => null, throwUnlessUnclear);
      if (failure === null) onWritten?.();
      await this.#pause(round === 1 ? readBackAfterMs : readAgainAfterMs + this.#randomMs());
      const reading = await this.read(options);
      if (inOldest ? reading.isInOldest : reading.isShown) return reading;
      if (round === MOST_ROUNDS) {
        throw failure ?? new GitHubError(0, 'other runs keep overwriting it');
      }
    }
  }

  /**
   * Deletes what two runs that began at the same time have made too much: the oldest comment stays. One
   * of another run goes only when nobody can be at work on it any more.
   */
  async reconcile(): Promise<void> {
    const [main, ...others] = this.#comments;
    const isSpare = (comment: OwnComment): boolean =>
      this.#isCovered(comment, main) && (this.#isOurs(comment) || this.#isUntouched(comment));
    if (!others.some(isSpare)) return;
    const github = await this.#options.connect();
    // Somebody may have written to it a moment ago.
    await this.read();
    const [stays, ...rest] = this.#comments;
    for (const comment of rest) {
      if (!this.#isCovered(comment, stays)) continue;
      if (!this.#isOurs(comment) && !this.#isUntouched(comment)) continue;
      await github.deleteComment(comment.id);
      this.#comments = this.#comments.filter(({ id }) => id !== comment.id);
      if (this.#lastWrite?.id === comment.id) this.#lastWrite = stays ?? null;
    }
  }

  #keep(written: OwnComment): void {
    this.#lastWrite = written;
    const others = this.#comments.filter(({ id }) => id !== written.id);
    this.#comments = [...others, written].sort((one, other) => one.id - other.id);
  }

  /** The oldest comment that can be read; null where there is none at all. */
  #target(): OwnComment | null {
    const target = this.#comments.find(({ body }) => this.#readText(body).kind === 'ledger');
    if (target === undefined && this.#comments.length > 0) throw new GitHubError(409, UNREADABLE);
    return target ?? null;
  }

  /** What is remembered, with our own turns as they are now, as far as there is room for it. */
  #compose(own: Ledger): string {
    const { clock, projectId, owner, render } = this.#options;
    const all = unite([withoutOwner(this.#remembered, owner), own]);
    const ledger = trim(all, clock.now(), fits);
    this.#written = intersect(own, ledger);
    return composeText(projectId, ledger, render);
  }

  #take(comments: readonly OwnComment[]): Reading {
    this.#comments = comments;
    const ledgersOf = (bodies: readonly string[]): readonly Ledger[] =>
      bodies.flatMap((body) => {
        const text = this.#readText(body);
        return text.kind === 'ledger' ? [text.ledger] : [];
      });
    const ledgers = ledgersOf(comments.map(({ body }) => body));
    const ledger = unite(ledgers);
    const versions = ledgersOf(comments.flatMap((comment) => comment.versions));
    this.#remembered = unite([this.#remembered, ledger]);
    const isWhole = ledgers.length === comments.length;
    return {
      ...{ ledger, isWhole, versions },
      isShown: contains(ledger, this.#written),
      isInOldest: contains(ledgers[0] ?? EMPTY, this.#written),
    };
  }

  #readText(body: string): CommentData {
    const known = this.#texts.get(body);
    if (known !== undefined) return known;
    const { projectId, redact } = this.#options;
    const text = readText(body, projectId);
    const read: CommentData =
      text.kind === 'ledger' ? { kind: 'ledger', ledger: redactLedger(text.ledger, redact) } : text;
    if (this.#texts.size >= MOST_TEXTS) this.#texts.clear();
    this.#texts.set(body, read);
    return read;
  }

  /** Whether it shows the comment as it was before our last write. */
  #isStale({ id, updatedAt }: OwnComment): boolean {
    const last = this.#lastWrite;
    return last !== null && last.id === id && updatedAt < last.updatedAt;
  }

  /** Whether one comment has every turn of another as it is there, or later. */
  #isCovered(comment: OwnComment, main: OwnComment | undefined): boolean {
    const part = this.#readText(comment.body);
    const whole = main === undefined ? part : this.#readText(main.body);
    if (main?.id === comment.id || part.kind !== 'ledger' || whole.kind !== 'ledger') return false;
    return contains(whole.ledger, unite([whole.ledger, part.ledger]));
  }

  /** Whether nobody but this process has written turns to it: then it was made by it. */
  #isOurs({ body }: OwnComment): boolean {
    const text = this.#readText(body);
    const turns = text.kind === 'ledger' ? text.ledger.jobs.flatMap((job) => job.turns) : [];
    return turns.length > 0 && turns.every(({ owner }) => owner === this.#options.owner);
  }

  #isUntouched({ updatedAt }: OwnComment): boolean {
    return this.#options.clock.now() - updatedAt > UNTOUCHED_MS;
  }

  #randomMs(): number {
    return SHORTEST_PAUSE_MS + this.#options.random() * (LONGEST_PAUSE_MS - SHORTEST_PAUSE_MS);
  }

  /** A cancel ends it early. */
  async #pause(ms: number): Promise<void> {
    const { clock, signal } = this.#options;
    if (ms > 0) await clock.sleep(ms, signal).catch(() => {});
  }
}

/** Without an answer, or with one of a server in trouble, it may have been written. */
function throwUnlessUnclear(error: unknown): GitHubError {
  const isUnclear = error instanceof GitHubError && (error.status === 0 || error.status >= 500);
  if (!isUnclear) throw error;
  return error;
}

const UNREADABLE =
  'its comment was edited by hand or written by a later version of this action; delete it to start again';
