import * as z from 'zod/mini';
import type { Delivery, Outcome } from '../outcome.ts';
import { DELIVERIES, OUTCOMES } from '../outcome.ts';

/** What the action remembers of a conversation, carried by its own comment in a hidden marker. */
export interface Ledger {
  readonly projectId: string;
  readonly jobs: readonly LedgerJob[];
}

export interface LedgerJob {
  readonly id: string;
  readonly status: string | null;
  readonly model: string | null;
  readonly repository: string | null;
  readonly ref: string | null;
  /** Checked before it came here. */
  readonly prLink: string | null;
  /** The newest first. */
  readonly turns: readonly LedgerTurn[];
}

export interface LedgerTurn {
  /** Who asked; null where nobody in particular did. */
  readonly by: string | null;
  /** The beginning of what went out. */
  readonly prompt: string;
  readonly delivery: Delivery;
  /** Null while the agent works. */
  readonly outcome: Outcome | null;
  readonly confirmed: boolean | null;
  readonly prLinkChange: 'created' | 'updated' | 'none';
  readonly reason: string;
  /** ISO 8601. */
  readonly startedAt: string;
  /** From the answer to the message to the end. */
  readonly elapsedSeconds: number | null;
  readonly runId: string;
  readonly runAttempt: string;
}

const nullableText = z.nullable(z.string());
const ledgerTurn = z.object({
  by: nullableText,
  prompt: z.string(),
  delivery: z.enum(DELIVERIES),
  outcome: z.nullable(z.enum(OUTCOMES)),
  confirmed: z.nullable(z.boolean()),
  prLinkChange: z.enum(['created', 'updated', 'none']),
  reason: z.string(),
  startedAt: z.string(),
  elapsedSeconds: z.nullable(z.number()),
  runId: z.string(),
  runAttempt: z.string(),
});
const ledgerSchema = z.object({
  projectId: z.string(),
  jobs: z.array(
    z.object({
      id: z.string(),
      status: nullableText,
      model: nullableText,
      repository: nullableText,
      ref: nullableText,
      prLink: nullableText,
      turns: z.array(ledgerTurn),
    }),
  ),
});

const MARKER = /^<!-- agent-follow-up:v1 (\{[^<>]*\}) -->/;

/** The marker that opens the comment. No text inside can end it: `<`, `>`, `-` are escaped. */
export function toMarker(ledger: Ledger): string {
  const json = JSON.stringify(ledger).replace(
    /[<>&\-\u007f-\u009f\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return `<!-- agent-follow-up:v1 ${json} -->`;
}

/** The ledger that a comment carries at its very start, or null. */
export function fromMarker(body: string): Ledger | null {
  const json = MARKER.exec(body)?.[1];
  if (json === undefined) return null;
  try {
    return ledgerSchema.parse(JSON.parse(json));
  } catch {
    return null;
  }
}
