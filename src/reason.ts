import { oneLine } from './sanitize.ts';

// A sentence that may quote others, kept in parts, so that each place can show their words safely.

/**
 * Items with an even index are our own words, those with an odd index are what others wrote: a job's
 * id, a login, an error of the service. Empty where there is nothing to say.
 */
export type Reason = readonly string[];

export const NO_REASON: Reason = [];

/** Characters of one part that others wrote. */
export const QUOTE_LIMIT = 300;

/** Words that are surely our own. */
export function ours(text: string): Reason {
  return text === '' ? NO_REASON : [text];
}

/**
 * The tag of a sentence of ours. A text that is put into it counts as what others wrote; numbers and
 * other sentences are ours. A line break in the source is a space.
 */
export function sentence(
  words: readonly string[],
  ...values: readonly (string | number | Reason)[]
): Reason {
  const parts: string[] = [];
  for (const [index, text] of words.entries()) {
    append(parts, ours(text.replace(/\s*\n\s*/g, ' ')));
    const value = values[index] ?? NO_REASON;
    append(parts, typeof value === 'string' ? ['', value] : [value].flat().map(String));
  }
  return parts;
}

/** What is not empty, one after the other. */
export function join(reasons: readonly Reason[], separator = ' '): Reason {
  const parts: string[] = [];
  for (const reason of reasons.filter(({ length }) => length > 0)) {
    if (parts.length > 0) append(parts, [separator]);
    append(parts, reason);
  }
  return parts;
}

/** Two parts of our own become one. */
function append(parts: string[], [first, ...others]: Reason): void {
  if (first === undefined) return;
  if (parts.length % 2 === 0) parts.push(first);
  else parts.push(`${parts.pop()}${first}`);
  parts.push(...others);
}

/** For logs, outputs and annotations: words that are more than a plain one stand in quotes. */
export function reasonToText(reason: Reason): string {
  return reason.map((part, index) => (isOurs(index) ? part : quote(part))).join('');
}

/** Whether the part of a reason at this index is ours. */
export function isOurs(index: number): boolean {
  return index % 2 === 0;
}

function quote(text: string): string {
  const line = oneLine(text, QUOTE_LIMIT);
  return /^(?:\w[\w.:@~/+-]*)?$/.test(line) ? line : `"${line.replaceAll('"', "'")}"`;
}

/** Changes only what others wrote: our words may be a secret of somebody by chance. */
export function redactReason(reason: Reason, redact: (text: string) => string): Reason {
  return reason.map((part, index) => (isOurs(index) ? part : redact(part)));
}
