import pLimit from 'p-limit';
import type { Reason } from '../reason.ts';

/** Messages that are sent at the same time. All of them count against one rate limit. */
export const MOST_AT_A_TIME = 4;

/**
 * The queue of all messages of a run. The API has one rate limit for a whole project, so once a
 * message exceeds it, the messages after it would as well.
 */
export interface SendQueue {
  /** Runs the work in the order of the calls, a few at a time. */
  limit<T>(work: () => Promise<T>): Promise<T>;
  /** Stops all messages that are not sent yet. Only the first reason counts. */
  stop(why: Reason): void;
  /** Aborted by `stop`, with its `Reason`. */
  readonly stopped: AbortSignal;
}

export function openSendQueue(): SendQueue {
  const limit = pLimit(MOST_AT_A_TIME);
  const stop = new AbortController();
  return { limit, stop: (why) => stop.abort(why), stopped: stop.signal };
}
