import type { OwnComment } from '../github/api.ts';
import { GitHubError, isUnclear } from '../github/errors.ts';
import type { MemoryContext } from './context.ts';
import {
  contains,
  copiesOf,
  EMPTY,
  intersect,
  type Ledger,
  trim,
  unite,
  withoutOwner,
} from './ledger.ts';
import type { CommentData } from './text.ts';

// The comment on one pull request or issue, as a store that several runs write to.
//
// A write replaces whatever the comment contained, a list may show a new comment late, and a response
// may be lost. So each write is based on what was read just before, and is read back until it shows.

/** What a read has shown. */
export interface Reading {
  /** What all comments remember together. */
  readonly ledger: Ledger;
  /** Whether all of our comments could be read. */
  readonly isWhole: boolean;
  /** Each version of each comment, the oldest comment and version first, if they were asked for. */
  readonly versions: readonly Ledger[];
  /** Whether it contains our turns as they were written last, and no turn of others was lost. */
  readonly isShown: boolean;
  /** The same for the oldest comment, which stays if two runs have created one each. */
  readonly isInOldest: boolean;
}

interface WriteOptions {
  /** Called after each write that certainly took place. The read-back does not wait for it. */
  readonly onWritten?: () => void;
  /** Whether the read-back returns the versions of all comments. */
  readonly withVersions?: boolean;
  /** Whether it is the last write: the read-back then waits for other runs, and the oldest comment must show it. */
  readonly isLast?: boolean;
}

/** Milliseconds that a read is good for: with the write, less than the second until other runs read back. */
export const FRESH_READ_MS = 550;
/** Milliseconds after which lists show a comment that was just created. */
export const LIST_LAG_MS = 3000;
/** Milliseconds after which other runs read back what they have written. */
const READ_BACK_MS = 1000;
/** How often a write is repeated before it counts as failed. */
const MOST_ROUNDS = 16;
/** Milliseconds between them, at random, so that several runs do not keep in step. */
const SHORTEST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 500;
/** Bodies whose contents are cached. */
const MOST_TEXTS = 8;
/** Milliseconds after which no other run is still writing to a superfluous comment. */
const UNTOUCHED_MS = 60_000;

/** Calls must be made one after the other. All of them reject with a `GitHubError`. */
export class CommentStore {
  readonly #conversation: number;
  readonly #context: MemoryContext;
  /** Our comments as they were read last, the oldest first. */
  #comments: readonly OwnComment[] = [];
  /** What all reads have shown of other runs: our writes must not lose it. */
  #remembered = EMPTY;
  #lastWrite: OwnComment | undefined;
  /** Our turns as they were written last, without those for which there was no room. */
  #written = EMPTY;
  /** When the last read started, unless something was written since. */
  #readAt = -Infinity;
  /** The contents by body, because decoding takes time. */
  #texts = new Map<string, CommentData>();
  /** Comments that were deleted: lists may still show them for a while. */
  readonly #gone = new Set<number>();
  /** Whether this process has tried to create a comment. */
  #hasCreated = false;
  /** Whether a write took so long that nobody may have seen what it overwrote. */
  #mayHaveOverwritten = false;

  constructor(conversation: number, context: MemoryContext) {
    this.#conversation = conversation;
    this.#context = context;
  }

  /** The URL of the comment that was written last; empty before. */
  get url(): string {
    return this.#lastWrite?.url ?? '';
  }

  /** Whether this process has tried to write a comment. */
  get hasWritten(): boolean {
    return this.#written !== EMPTY;
  }

  /** Whether a write may be based on the last read. */
  get isFresh(): boolean {
    return this.#context.clock.now() - this.#readAt <= FRESH_READ_MS;
  }

  /** `newest` ends at the newest page with one of our comments; `versions` is all pages, with the histories. */
  async read(what: 'newest' | 'all' | 'versions' = 'newest'): Promise<Reading> {
    const github = await this.#context.connect();
    for (let round = 1; ; round++) {
      const readAt = this.#context.clock.now();
      const found = await github.readComments(this.#conversation, {
        nodeIds: this.#comments.map(({ nodeId }) => nodeId),
        isOurs: (body) => this.#readText(body) !== 'none',
        allPages: what !== 'newest',
        withVersions: what === 'versions' || this.#mayHaveOverwritten,
      });
      const comments = found.filter(({ id }) => !this.#gone.has(id));
      if (!comments.some((comment) => this.#isOutdated(comment))) {
        this.#readAt = readAt;
        return this.#take(comments);
      }
      if (round === MOST_ROUNDS)
        throw new GitHubError(0, 'GitHub keeps returning an old version of the comment');
      await this.#pause(this.#randomMs());
    }
  }

  /** Writes our turns to the oldest comment, or to a new one, based on a fresh read. */
  async write(own: Ledger): Promise<void> {
    const { connect, clock } = this.#context;
    const github = await connect();
    for (;;) {
      if (!this.isFresh) await this.read();
      const readAt = this.#readAt;
      this.#readAt = -Infinity;
      const target = this.#target();
      const body = this.#compose(own);
      if (target === null) {
        this.#hasCreated = true;
        return this.#keep(await github.createComment(this.#conversation, body));
      }
      const updated = await github.updateComment(target.id, body).finally(() => {
        this.#mayHaveOverwritten ||= clock.now() - readAt > READ_BACK_MS;
      });
      if (updated !== null) return this.#keep(updated);
      // It was deleted in the meantime, and another run may have created a new one.
      this.#gone.add(target.id);
      this.#comments = this.#comments.filter(({ id }) => id !== target.id);
    }
  }

  /** Writes our turns until a read-back shows them: others may overwrite them, or a response may be lost. */
  async writeUntilItShows(own: () => Ledger, options: WriteOptions = {}): Promise<Reading> {
    const { onWritten, withVersions = false, isLast = false } = options;
    const what = withVersions ? 'versions' : 'newest';
    const firstPauseMs = this.#hasCreated ? LIST_LAG_MS : READ_BACK_MS;
    let pauseMs = isLast ? firstPauseMs : 0;
    for (let round = 1; ; round++) {
      const failure = await this.write(own()).then(() => null, throwUnlessUnclear);
      if (failure === null) onWritten?.();
      await this.#pause(pauseMs);
      let reading = await this.read(what);
      if (failure !== null && this.#comments.length === 0) {
        // It may have been created all the same: a second one is only created if no list ever shows it.
        await this.#pause(LIST_LAG_MS);
        reading = await this.read(what);
      }
      if (isLast ? reading.isInOldest : reading.isShown) return reading;
      if (round === MOST_ROUNDS) {
        throw failure ?? new GitHubError(0, 'other runs keep overwriting it');
      }
      pauseMs = (isLast ? READ_BACK_MS : 0) + this.#randomMs();
    }
  }

  /** Deletes all comments but the oldest: ours at once, those of other runs once none can be writing to them. */
  async reconcile(): Promise<void> {
    if (this.#spares().length === 0) return;
    const github = await this.#context.connect();
    // Another run may just have written to it.
    await this.read();
    for (const spare of this.#spares()) {
      await github.deleteComment(spare.id);
      this.#comments = this.#comments.filter(({ id }) => id !== spare.id);
      if (this.#lastWrite?.id === spare.id) this.#lastWrite = this.#comments[0];
    }
  }

  /** The comments whose turns are all in the oldest one, in the same or a newer version. */
  #spares(): readonly OwnComment[] {
    const [main, ...others] = this.#comments;
    if (main === undefined || others.length === 0) return [];
    const whole = this.#readText(main.body);
    return others.filter(({ body, updatedAt }) => {
      const part = this.#readText(body);
      if (typeof part === 'string' || typeof whole === 'string') return false;
      if (!contains(whole, unite([whole, part]))) return false;
      const turns = part.jobs.flatMap(copiesOf);
      // Then this process has created it.
      const isOurs = turns.length > 0 && turns.every(({ owner }) => owner === this.#context.owner);
      return isOurs || this.#context.clock.now() - updatedAt > UNTOUCHED_MS;
    });
  }

  #keep(written: OwnComment): void {
    this.#lastWrite = written;
    const others = this.#comments.filter(({ id }) => id !== written.id);
    this.#comments = [...others, written].sort((one, other) => one.id - other.id);
  }

  /** The oldest readable comment; null if there is no comment at all. */
  #target(): OwnComment | null {
    const target = this.#comments.find(({ body }) => typeof this.#readText(body) === 'object');
    if (target === undefined && this.#comments.length > 0) throw new GitHubError(409, UNREADABLE);
    return target ?? null;
  }

  /** The body with all that is remembered and our current turns, as far as there is room. */
  #compose(own: Ledger): string {
    const { clock, text } = this.#context;
    const all = unite([this.#remembered, own]);
    const ledger = trim(all, clock.now(), text.fits);
    this.#written = { ...intersect(own, ledger), trimmed: ledger.trimmed };
    return text.compose(ledger);
  }

  #take(comments: readonly OwnComment[]): Reading {
    this.#comments = comments;
    const ledgersOf = (bodies: readonly string[]): readonly Ledger[] =>
      bodies.flatMap((body) => {
        const text = this.#readText(body);
        return typeof text === 'string' ? [] : [text];
      });
    const ledgers = ledgersOf(comments.map(({ body }) => body));
    const ledger = unite(ledgers);
    const versions = ledgersOf(comments.flatMap((comment) => comment.versions));
    // Before they are united: of a turn that two processes have taken, one copy would be left.
    const others = ledgers.map((one) => withoutOwner(one, this.#context.owner));
    const overwritten = this.#mayHaveOverwritten
      ? unite(versions.map((one) => withoutOwner(one, this.#context.owner)))
      : EMPTY;
    this.#mayHaveOverwritten = false;
    this.#remembered = unite([this.#remembered, overwritten, ...others]);
    const isWhole = ledgers.length === comments.length;
    const isComplete = contains(ledger, overwritten);
    return {
      ...{ ledger, isWhole, versions },
      isShown: isComplete && contains(ledger, this.#written),
      isInOldest: isComplete && contains(ledgers[0] ?? EMPTY, this.#written),
    };
  }

  #readText(body: string): CommentData {
    const known = this.#texts.get(body);
    if (known !== undefined) return known;
    const read = this.#context.text.read(body);
    if (this.#texts.size >= MOST_TEXTS) this.#texts.clear();
    this.#texts.set(body, read);
    return read;
  }

  /** Whether it is a version from before our last write. */
  #isOutdated({ id, updatedAt }: OwnComment): boolean {
    const last = this.#lastWrite;
    return last?.id === id && updatedAt < last.updatedAt;
  }

  #randomMs(): number {
    return SHORTEST_PAUSE_MS + this.#context.random() * (LONGEST_PAUSE_MS - SHORTEST_PAUSE_MS);
  }

  /** A cancellation ends it early. */
  async #pause(ms: number): Promise<void> {
    const { clock, signal } = this.#context;
    if (ms > 0) await clock.sleep(ms, signal).catch(() => {});
  }
}

/** Without a response, or after a server error, the comment may have been written. */
function throwUnlessUnclear(error: unknown): GitHubError {
  if (!isUnclear(error)) throw error;
  return error;
}

const UNREADABLE =
  'its comment was edited by hand or written by a later version of this action; delete it to start again';
