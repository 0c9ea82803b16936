// What makes GitHub a difficult store: it is slow, its lists lag behind, answers get lost, it wants
// to be left alone, and others write at the same time.

import { setTimeout } from 'node:timers/promises';
import type { Answer, Clock, Reply } from '../agent.ts';
import type { Call } from './call-log.ts';
import type { PageActions } from './issues.ts';
import { refusal } from './repository.ts';

export interface Trouble {
  /**
   * Milliseconds from a call to its answer, or two between which they are drawn; the call takes
   * effect after half of them. They really pass, whatever the clock is.
   */
  readonly latencyMs?: number | readonly [number, number];
  /** Milliseconds of the clock until lists show a new comment. Reads by its ids do so at once. */
  readonly listLagMs?: number;
  /** What others do just before the call takes effect. */
  readonly meanwhile?: (call: Call, others: PageActions) => void;
  /** Whether the answer gets lost: the call takes effect, then the connection is reset. */
  readonly loses?: (call: Call) => boolean;
  /** The seconds that GitHub wants to be left alone for, where it refuses this very call. */
  readonly limits?: (call: Call) => number | undefined;
  /** How many texts may be written or changed within some milliseconds of the clock. */
  readonly textLimit?: { readonly most: number; readonly withinMs: number };
  /** Fields that the schema of this host lacks, such as `userContentEdits`. */
  readonly lacks?: readonly string[];
}

/** The docs limit "content-generating requests", on GitHub to 80 a minute and 500 an hour. */
const WRITES_TEXT = ['POST issues/#/comments', 'PATCH issues/comments/#'];

/** Plays a call: what happens before it, `effect`, and what becomes of the answer. */
export function openTrouble(trouble: Trouble, clock: Clock, others: PageActions) {
  const { latencyMs = 0, textLimit } = trouble;
  const writtenAt: number[] = [];

  /** Seconds until a text may be written again. */
  function textPause({ name }: Call): number | undefined {
    if (textLimit === undefined || !WRITES_TEXT.includes(name)) return undefined;
    const now = clock.now();
    const recent = writtenAt.filter((at) => at > now - textLimit.withinMs);
    const blocking = recent.at(-textLimit.most);
    if (recent.length >= textLimit.most && blocking !== undefined) {
      return Math.ceil((blocking + textLimit.withinMs - now) / 1000);
    }
    writtenAt.push(now);
    return undefined;
  }

  return async (call: Call, effect: () => Answer): Promise<Reply> => {
    const halfMs = draw(latencyMs) / 2;
    await pass(halfMs);
    trouble.meanwhile?.(call, others);
    const pauseS = trouble.limits?.(call) ?? textPause(call);
    const answer = pauseS === undefined ? effect() : limited(pauseS);
    await pass(halfMs);
    return trouble.loses?.(call) === true ? { fault: 'reset' } : answer;
  };
}

function draw(range: number | readonly [number, number]): number {
  if (typeof range === 'number') return range;
  const [least, most] = range;
  return least + Math.random() * (most - least);
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
