import pLimit from 'p-limit';

/** Messages on their way at the same time. The service counts them all against one limit. */
const MOST_AT_A_TIME = 4;

/**
 * What the messages of one run share. The service takes a number of messages an hour from
 * everybody in a project together, so what one of them meets concerns all that are still to go.
 */
export interface SendQueue {
  /** Runs the work when its turn has come: a few at a time, in the order asked for. */
  limit<T>(work: () => Promise<T>): Promise<T>;
  /** Lets no further message out. Only the first reason counts. */
  stop(why: string): void;
  /** Aborted, with a sentence as its reason, once no further message is let out. */
  readonly stopped: AbortSignal;
}

export function openSendQueue(): SendQueue {
  const limit = pLimit(MOST_AT_A_TIME);
  const stop = new AbortController();
  return { limit, stop: (why) => stop.abort(why), stopped: stop.signal };
}
