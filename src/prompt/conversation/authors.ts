import { untilAborted } from '../../clock.ts';
import type { Context } from '../../context.ts';
import type { Redact } from '../../runner/logger.ts';
import { quote } from '../../text.ts';
import { type Account, isAllowedBot, isBot, isPerson } from '../../trigger/account.ts';
import { checkPermission } from '../../trigger/permissions.ts';

// Whose words a message carries. Anybody can comment, so only the person who asks, people with the permission, and bots that the
// workflow names are quoted.

/** People whose permission is looked up. The one who asks has it. */
const MOST_LOOKUPS = 5;

export type Standing =
  | { readonly kind: 'person' | 'program' }
  /** `who`: a phrase that follows what they wrote. `why`: what GitHub said instead of a permission; empty if it said it. */
  | { readonly kind: 'not quoted'; readonly who: string; readonly why: string };

/** Tells of each account of a page whether its words are quoted. */
export type JudgeAuthor = (author: Account | null) => Standing;

/**
 * Looks up the permission of the first people. With “minimum-permission: none”, anyone may ask, but words that nobody has asked
 * to send need the permission that is needed by default.
 */
export async function lookUpAuthors(
  { github, asked, runtime, inputs: { minimumPermission, allowedBots } }: Context,
  authors: readonly (Account | null)[],
  signal: AbortSignal,
): Promise<JudgeAuthor> {
  const minimum = minimumPermission === 'none' ? 'write' : minimumPermission;
  const standings = new Map<number, Standing>();
  const people = authors.filter((author) => author !== null && isPerson(author));
  const others = new Map(people.map((person) => [person?.id ?? 0, person]));
  others.delete(asked?.sender.id ?? 0);
  if (asked !== null) standings.set(asked.sender.id ?? 0, { kind: 'person' });
  const lookUp = async (person: Account): Promise<Standing> => {
    const who = `by ${quoteLogin(person, runtime.redact)}`;
    try {
      const found = await untilAborted(checkPermission(person, minimum, github), signal);
      if (found.kind === 'enough') return { kind: 'person' };
      return found.kind === 'not known'
        ? { kind: 'not quoted', who, why: found.cause }
        : { kind: 'not quoted', who: 'by people who may not ask for changes', why: '' };
    } catch (error) {
      if (!signal.aborted) throw error;
      return { kind: 'not quoted', who, why: 'GitHub did not answer in time' };
    }
  };
  await Promise.all(
    [...others].slice(0, MOST_LOOKUPS).map(async ([id, person]) => {
      if (person !== null) standings.set(id, await lookUp(person));
    }),
  );
  return (author) => {
    if (author === null) return notQuoted('by a deleted account');
    if (isAllowedBot(author, allowedBots)) return { kind: 'program' };
    const name = quoteLogin(author, runtime.redact);
    // As one has to write it there.
    if (isBot(author)) return notQuoted(`by ${name} (“allowed-bots”)`);
    if (!isPerson(author)) return notQuoted(`by ${name}, who is no person`);
    const byMore = notQuoted(`by others than the first ${MOST_LOOKUPS} people`);
    return standings.get(author.id ?? 0) ?? byMore;
  };
}

function notQuoted(who: string): Standing {
  return { kind: 'not quoted', who, why: '' };
}

export function quoteLogin(author: Account | null, redact: Redact): string {
  return author === null ? 'a deleted account' : quote(redact(author.login), 100);
}
