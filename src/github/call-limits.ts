import type { Runtime } from '../runner/runtime.ts';
import { GitHubError, toGitHubError } from './errors.ts';
import { TimeLimit } from './time-limit.ts';

// How long a call to GitHub may take, and when it is repeated.

/** Milliseconds that one call may take. */
const CALL_MS = 10_000;
/** Milliseconds that all calls may take once the run is cancelled. */
const AFTER_CANCEL_MS = 4000;
/** The longest rate limit, in milliseconds, that a run waits for, once. */
const LONGEST_PAUSE_MS = 5000;

/** Octokit has no time limits of its own. */
export class CallLimits {
  readonly #runtime: Pick<Runtime, 'clock' | 'redact' | 'signal'>;
  /** Aborted when the time after a cancellation is over. */
  readonly #over = new AbortController();
  #hasPaused = false;

  constructor(runtime: Pick<Runtime, 'clock' | 'redact' | 'signal'>) {
    const { clock, signal } = runtime;
    this.#runtime = runtime;
    const endSoon = async (): Promise<void> => {
      await clock.sleep(AFTER_CANCEL_MS, this.#over.signal);
      this.#over.abort(new GitHubError(0, 'the run had no more time for it'));
    };
    if (signal.aborted) void endSoon();
    else signal.addEventListener('abort', endSoon, { once: true });
  }

  /** Makes a call, and repeats it once after a short rate limit. Rejects only with a `GitHubError`. */
  async withRateLimitRetry<T>(request: (signal: AbortSignal) => Promise<T>): Promise<T> {
    try {
      return await this.#call(request);
    } catch (error) {
      const { retryAfterMs: pauseMs } = error as GitHubError;
      const isShort = pauseMs !== null && pauseMs <= LONGEST_PAUSE_MS;
      if (!isShort || this.#hasPaused) throw error;
      this.#hasPaused = true;
      await this.#runtime.clock.sleep(pauseMs, this.#over.signal);
      return this.#call(request);
    }
  }

  async #call<T>(request: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const over = this.#over.signal;
    over.throwIfAborted();
    const stop = new AbortController();
    try {
      const call = request(AbortSignal.any([stop.signal, over]));
      return await new TimeLimit(this.#runtime.clock, CALL_MS).waitFor(call, over);
    } catch (error) {
      stop.abort(error);
      if (over.aborted) throw over.reason;
      throw error instanceof GitHubError ? error : toGitHubError(error, this.#runtime.redact);
    }
  }
}
