import pLimit from 'p-limit';
import type { Reason } from '../reason.ts';

/** Messages that are sent at the same time. All of them count against one rate limit. */
export const MOST_AT_A_TIME = 4;
/** Polls after messages that are made at the same time. */
export const MOST_POLLS_AT_A_TIME = 24;

/**
 * The queue of all messages of a run, and beside it that of the polls after them. The API has one rate limit
 * for a whole project, so once a message exceeds it, the messages after it would as well.
 */
export interface SendQueue {
  /** Runs the work in the order of the calls, a few at a time. */
  limit<T>(work: () => Promise<T>): Promise<T>;
  /** The same for polls after messages, which do not wait for messages. */
  limitPolls<T>(work: () => Promise<T>): Promise<T>;
  /** Stops all messages that are not sent yet. Only the first reason counts. */
  stop(why: Reason): void;
  /** Aborted by `stop`, with its `Reason`. */
  readonly stopped: AbortSignal;
}

export function openSendQueue(): SendQueue {
  const stop = new AbortController();
  return {
    limit: pLimit(MOST_AT_A_TIME),
    limitPolls: pLimit(MOST_POLLS_AT_A_TIME),
    stop: (why) => stop.abort(why),
    stopped: stop.signal,
  };
}
