/** A value, or the problem with it: words for people, which the caller puts into a sentence. */
export type Result<T> = Ok<T> | Problem;

export interface Ok<T> {
  readonly kind: 'ok';
  readonly value: T;
}

interface Problem {
  readonly kind: 'problem';
  readonly problem: string;
  /** Whether the same may succeed later. */
  readonly mayPass?: boolean;
}

export function ok<T>(value: T): Ok<T> {
  return { kind: 'ok', value };
}

export function problem(what: string, mayPass = false): Problem {
  const one = { kind: 'problem', problem: what } as const;
  return mayPass ? { ...one, mayPass } : one;
}
