import pLimit from 'p-limit';

/** Messages on their way at the same time. The service counts them all against one limit. */
const MOST_AT_A_TIME = 4;

/**
 * What the messages of one run share. The service takes a number of messages an hour from
 * everybody in a project together, so what one of them meets concerns all that are still to go.
 */
export interface Sends {
  /** Runs the work when its turn has come: a few at a time, in the order asked for. */
  inTurn<T>(work: (stepAside: StepAside) => Promise<T>): Promise<T>;
  /** Lets no further message out. Only the first reason counts. */
  stop(why: string): void;
  /** Aborted, with a sentence as its reason, once no further message is let out. */
  readonly stopped: AbortSignal;
}

/** Gives the turn to others for the time of a pause, and goes on when it has come again. */
export type StepAside = <T>(pause: () => Promise<T>) => Promise<T>;

export function openSends(): Sends {
  const limit = pLimit(MOST_AT_A_TIME);
  const stop = new AbortController();

  /** Resolves to what ends the turn. */
  function begin(): Promise<() => void> {
    return new Promise((begun) => {
      void limit(() => new Promise<void>((end) => begun(end)));
    });
  }

  return {
    async inTurn(work) {
      let end = await begin();
      try {
        return await work(async (pause) => {
          end();
          const resumed = await pause();
          end = await begin();
          return resumed;
        });
      } finally {
        end();
      }
    },
    stop: (why) => stop.abort(why),
    stopped: stop.signal,
  };
}
