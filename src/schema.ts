import * as z from 'zod/mini';

/** A field by others: a value of another type or length counts as missing. */
export function lenient<T extends z.core.SomeType>(schema: T) {
  return z.catch(z.optional(schema), undefined);
}

/** Without the entries that cannot be read: one of them says nothing about the rest. */
export function listOf<T extends z.core.SomeType>(schema: T) {
  return z.pipe(
    z.array(lenient(schema)),
    z.transform((list) => list.filter((entry) => entry !== undefined)),
  );
}

export const anyText = z.catch(z.string(), '');

export const commitSha = z.string().check(z.regex(/^[0-9a-f]{40,64}$/));
