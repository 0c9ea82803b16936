import { GitHubError } from '../github/errors.ts';
import { CommentStore, type Reading } from './comment-store.ts';
import type { MemoryContext } from './context.ts';

// The comment on one pull request or issue as this run works on it: its queue, and what was read and written.

export class Target {
  readonly conversation: number;
  readonly store: CommentStore;
  /** The progress of its jobs at the last write. */
  written = '';
  /** Whether something has changed since the last write. */
  hasChanges = false;
  /** Why the comment is not up to date; null if it is, or if there is nothing to write. */
  failure: unknown = null;
  readonly #readsAllPages: boolean;
  #reading: Promise<Reading> | null = null;
  #working: Promise<unknown> = Promise.resolve();

  constructor(conversation: number, context: MemoryContext) {
    this.conversation = conversation;
    this.store = new CommentStore(conversation, context);
    this.#readsAllPages = context.attempt > 1;
  }

  /** Resolves when all work on the comment is done. It never rejects. */
  get working(): Promise<unknown> {
    return this.#working;
  }

  /** Reads and writes of the comment are made one after the other. */
  enqueue<T>(work: () => Promise<T>): Promise<T> {
    const working = this.#working.then(work);
    // The caller handles its errors.
    this.#working = working.catch(() => {});
    return working;
  }

  /** What the comment remembered at first. The read waits in the queue of the comment. */
  load(): Promise<Reading> {
    return this.#reading ?? this.enqueue(() => this.loadNow());
  }

  /** The same at once, for work that was enqueued. */
  loadNow(): Promise<Reading> {
    if (this.#reading === null) {
      this.#reading = this.store.read(this.#readsAllPages ? 'all' : 'newest');
      // The next call tries again.
      this.#reading.catch(() => this.forget());
    }
    return this.#reading;
  }

  forget(): void {
    this.#reading = null;
  }

  /** Until work on it succeeds, it counts as too late. */
  countAsLate(): void {
    this.failure ??= new GitHubError(0, 'the run has at most 30 s for it');
  }
}
