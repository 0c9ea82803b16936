import * as z from 'zod/mini';

/** Without the entries that cannot be read: one of them says nothing about the rest. */
export function anyList<T extends z.core.SomeType>(schema: T) {
  return z.pipe(
    z.array(z.catch(z.optional(schema), undefined)),
    z.transform((list) => list.filter((entry) => entry !== undefined)),
  );
}

export const anyText = z.catch(z.string(), '');

export const commitSha = z.string().check(z.regex(/^[0-9a-f]{40,64}$/));
