import type { Clock } from '../clock.ts';
import type { Note } from '../memory/announcements.ts';
import type { Updates } from '../memory/updates.ts';
import type { JobState } from '../turn.ts';

// Jobs whose messages are noted together and sent before the next batch. So one write notes many of
// them, and if the run is killed, few of them are in doubt.

export const BATCH_SIZE = 50;
/** Milliseconds that jobs wait for the others of their batch. */
const LONGEST_WAIT_MS = 5000;

export class Batch {
  readonly #clock: Clock;
  readonly #announce: Updates['announce'];
  /** Jobs that have not announced their message yet. */
  readonly #coming: Set<string>;
  /** Jobs whose message is not sent yet. */
  readonly #unsent: Set<string>;
  readonly #sent = Promise.withResolvers<void>();
  /** How to answer those that announced theirs since the last time. */
  #ready = new Map<JobState, (note: Promise<Note>) => void>();
  #timer = new AbortController();

  constructor(jobIds: readonly string[], clock: Clock, announce: Updates['announce']) {
    this.#clock = clock;
    this.#announce = announce;
    this.#coming = new Set(jobIds);
    this.#unsent = new Set(jobIds);
  }

  /** Resolves when each message of the batch was tried once or will not be sent. */
  get sent(): Promise<void> {
    return this.#sent.promise;
  }

  /** Announces the message of the job, together with those of other jobs that are ready. */
  announce(state: JobState): Promise<Note> {
    const { promise, resolve } = Promise.withResolvers<Note>();
    this.#ready.set(state, resolve);
    this.#coming.delete(state.jobId);
    if (this.#coming.size === 0) this.#flush();
    else if (this.#ready.size === 1) this.#flushLater();
    return promise;
  }

  /** Called when the message of the job is sent or delayed, or the job gets none. */
  leave(jobId: string): void {
    this.#unsent.delete(jobId);
    if (this.#unsent.size === 0) this.#sent.resolve();
    if (this.#coming.delete(jobId) && this.#coming.size === 0) this.#flush();
  }

  #flushLater(): void {
    const { signal } = this.#timer;
    this.#clock.sleep(LONGEST_WAIT_MS, signal).then(
      () => this.#flush(),
      // The batch was announced before.
      () => {},
    );
  }

  #flush(): void {
    this.#timer.abort('announced');
    this.#timer = new AbortController();
    const ready = this.#ready;
    this.#ready = new Map();
    if (ready.size === 0) return;
    const notes = this.#announce([...ready.keys()]);
    for (const [state, resolve] of ready) {
      resolve(notes.get(state.jobId) ?? Promise.resolve({ kind: 'noted' }));
    }
  }
}
