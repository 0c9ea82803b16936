import { oneLine } from './sanitize.ts';

// A sentence that may quote others, in parts, so that text by others can be shown safely everywhere.

/** Parts with an even index are our words. Odd ones are text by others, such as a login or an error of the API. */
export type Reason = readonly string[];

export const NO_REASON: Reason = [];

/** The most characters that are shown of a part by others. */
export const QUOTE_LIMIT = 300;

/** A sentence in which nobody is quoted. */
export function ours(text: string): Reason {
  return text === '' ? NO_REASON : [text];
}

/**
 * A tag for template literals. A string in `${}` counts as text by others; numbers and sentences count
 * as what they are. A line break in the template becomes a space.
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

/** Joins sentences, without the empty ones. */
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

/** For logs, outputs and annotations. Text by others is in quotes unless it is one plain word. */
export function reasonToText(reason: Reason): string {
  return reason.map((part, index) => (isOurs(index) ? part : quote(part))).join('');
}

export function isOurs(index: number): boolean {
  return index % 2 === 0;
}

function quote(text: string): string {
  const line = oneLine(text, QUOTE_LIMIT);
  return /^(?:\w[\w.:@~/+-]*)?$/.test(line) ? line : `"${line.replaceAll('"', "'")}"`;
}

/** Changes only text by others: a secret may happen to be one of our own words. */
export function redactReason(reason: Reason, redact: (text: string) => string): Reason {
  return reason.map((part, index) => (isOurs(index) ? part : redact(part)));
}
