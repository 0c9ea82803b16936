// What makes GitHub unreliable as a store: latency, lists with a lag, lost responses and rate limits.

import { setTimeout } from 'node:timers/promises';
import type { Answer, Reply } from '../agent.ts';
import type { Call } from './call-log.ts';
import { refusal } from './repository.ts';

export interface Trouble {
  /**
   * Milliseconds from a call to its response. The call takes effect after half of this time. It is real
   * time, whatever the clock is.
   */
  readonly latencyMs?: (call: Call) => number;
  /** Milliseconds of the clock until lists show a new comment. Reads by ID return it at once. */
  readonly listLagMs?: number;
  /** Whether the response is lost: the call takes effect, then the connection is reset. */
  readonly loses?: (call: Call) => boolean;
  /** If GitHub refuses this call because of a rate limit: the seconds in Retry-After. */
  readonly limits?: (call: Call) => number | undefined;
}

/** Handles a call: what happens before it, `effect`, and whether the response is lost. */
export function openTrouble(trouble: Trouble) {
  return async (call: Call, effect: () => Answer): Promise<Reply> => {
    const halfMs = (trouble.latencyMs?.(call) ?? 0) / 2;
    await pass(halfMs);
    const pauseS = trouble.limits?.(call);
    const response = pauseS === undefined ? effect() : limited(pauseS);
    await pass(halfMs);
    return trouble.loses?.(call) === true ? { fault: 'reset' } : response;
  };
}

async function pass(ms: number): Promise<void> {
  if (ms > 0) await setTimeout(ms);
}

/** https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api#about-secondary-rate-limits */
function limited(seconds: number): Answer {
  const message =
    'You have exceeded a secondary rate limit. Please wait a few minutes before you try again.';
  return { ...refusal(403, message), headers: { 'retry-after': String(seconds) } };
}
