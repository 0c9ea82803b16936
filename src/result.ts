/** A value, or the problem with it: words for people, which the caller puts into a sentence. */
export type Result<T, Problem = string> =
  | { readonly kind: 'ok'; readonly value: T }
  | { readonly kind: 'problem'; readonly problem: Problem };

export function ok<T>(value: T): Result<T, never> {
  return { kind: 'ok', value };
}

export function problem<Problem>(what: Problem): Result<never, Problem> {
  return { kind: 'problem', problem: what };
}
