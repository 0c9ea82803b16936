import * as z from 'zod/mini';
import type { Redact } from '../runner/log.ts';
import { quote } from '../text.ts';
import { type Output, quoteOutputs } from './output.ts';

/**
 * What a message carries of its event or of files, besides the words of people. Facts are for the agent and in our words;
 * outputs are what programs said about it. People see only the summary.
 */
export interface Carried {
  /** Paragraphs, in which names by others are quoted. */
  readonly facts: readonly string[];
  readonly outputs: readonly Output[];
  /** One line of Markdown, in which names by others are code, such as ``+ `vale.txt` ``; without secrets. */
  readonly summary: string;
  /** Whether it is about something that failed. */
  readonly isFailure: boolean;
  /** For the log of the run: what could not be read, and what to do; empty if nothing is missing. */
  readonly warning: string;
}

/** What a message about a failure asks for if there is no prompt. */
export const FIX_IT = 'Find out why, and fix it.';

/** The parts of the message: the facts, then all outputs, which share the room that there is for them. */
export function composeCarried(carried: readonly Carried[]): readonly string[] {
  const facts = carried.flatMap((one) => one.facts);
  const outputs = quoteOutputs(carried.flatMap((one) => one.outputs));
  return [...facts, ...(outputs === '' ? [] : [outputs])];
}

/** A name by others in a message, in one line. */
export function named(name: string, redact: Redact): string {
  return quote(redact(name), 100);
}

/** `: ` and a link, which GitHub gave; empty if it gave none. */
export function linkedTo(address: string): string {
  const url = URL.parse(address);
  return url !== null && /^https?:$/.test(url.protocol) ? `: ${url.href}` : '';
}

/** Conclusions of a run or check that a message carries; of any other, there is nothing to fix. */
export const failure = z.enum(['failure', 'timed_out']);
export const commit = z.string().check(z.regex(/^[0-9a-f]{40,64}$/));

export function whatHappened({
  conclusion,
  head_sha,
}: {
  readonly conclusion: z.infer<typeof failure>;
  readonly head_sha: string;
}): string {
  return `${conclusion === 'failure' ? 'failed' : 'timed out'} on the commit ${head_sha}`;
}
