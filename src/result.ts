/** A value, or the problem with it: words for people, which the caller puts into a sentence. */
export type Result<T> =
  | { readonly kind: 'ok'; readonly value: T }
  | { readonly kind: 'problem'; readonly problem: string };

export function ok<T>(value: T): Result<T> {
  return { kind: 'ok', value };
}

export function problem(what: string): Result<never> {
  return { kind: 'problem', problem: what };
}
