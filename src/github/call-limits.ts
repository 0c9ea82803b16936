import type { Clock } from '../clock.ts';
import type { Redact } from '../runner/secrets.ts';
import { GitHubError, toGitHubError } from './errors.ts';

// How long a call to GitHub may take, and when it is repeated.

/** Milliseconds that one call may take. */
const CALL_MS = 10_000;
/** The longest rate limit, in milliseconds, that a run waits for, once. */
const LONGEST_PAUSE_MS = 5000;

export interface CallLimits {
  /**
   * Makes a call, and repeats it once after a short rate limit. Rejects only with a `GitHubError`.
   */
  withRateLimitRetry<T>(request: (signal: AbortSignal) => Promise<T>): Promise<T>;
  mayRepeat(error: GitHubError): boolean;
  hurry(ms: number): void;
}

/** Octokit has no time limits of its own. */
export function callLimits(clock: Clock, redact: Redact): CallLimits {
  const everything = new AbortController();
  let hasPaused = false;
  async function run<T>(request: (signal: AbortSignal) => Promise<T>): Promise<T> {
    everything.signal.throwIfAborted();
    const limit = new AbortController();
    const finished = new AbortController();
    const signal = AbortSignal.any([limit.signal, everything.signal]);
    clock.sleep(CALL_MS, finished.signal).then(
      () => limit.abort(new GitHubError(0, 'GitHub did not answer in time')),
      // The call ended before.
      () => {},
    );
    try {
      return await Promise.race([request(signal), rejectOnAbort(signal)]);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw error instanceof GitHubError ? error : toGitHubError(error, redact);
      /* v8 ignore next -- V8 counts a way past a catch that always throws */
    } finally {
      finished.abort('finished');
    }
  }

  return {
    async withRateLimitRetry(request) {
      try {
        return await run(request);
      } catch (error) {
        const { retryAfterMs: pauseMs } = error as GitHubError;
        const isShort = pauseMs !== null && pauseMs <= LONGEST_PAUSE_MS;
        if (!isShort || hasPaused) throw error;
        hasPaused = true;
        await clock.sleep(pauseMs, everything.signal);
        return run(request);
      }
    },
    mayRepeat: ({ status }) => !everything.signal.aborted && (status === 0 || status >= 500),
    hurry(ms) {
      clock.sleep(ms, everything.signal).then(
        () => everything.abort(new GitHubError(0, 'the run had no more time for it')),
        // An earlier limit was reached first.
        () => {},
      );
    },
  };
}

function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
