import type { Context } from '../../context.ts';
import { fetchOrExplain } from '../../github/errors.ts';
import type { Redact } from '../../runner/logger.ts';
import { quote } from '../../text.ts';
import { comparePermission } from '../../trigger/authorize.ts';
import { type Account, isAllowedBot, isBot, isPerson } from '../../trigger/trigger.ts';

// Anybody can comment, so only the person who asks, people with the permission, and bots that the
// workflow names are quoted.

/** People whose permission is looked up. The one who asks has it. */
const MOST_LOOKUPS = 5;

export type Standing =
  | { readonly kind: 'quoted'; readonly remark: string }
  /** `who` follows what they wrote. `why`: what GitHub said instead of a permission; or empty. */
  | { readonly kind: 'not quoted'; readonly who: string; readonly why: string };

const PERSON: Standing = { kind: 'quoted', remark: '' };

export async function lookUpAuthors(
  { github, source, runtime, inputs: { minimumPermission, allowedBots } }: Context,
  authors: readonly (Account | null)[],
  signal: AbortSignal,
): Promise<(author: Account | null) => Standing> {
  // With “none”, anyone may ask, but nobody has asked to send these words.
  const minimum = minimumPermission === 'none' ? 'write' : minimumPermission;
  const lookUp = async (person: Account): Promise<Standing> => {
    const compare = () => comparePermission(person, minimum, github);
    const found = await fetchOrExplain(compare, '', signal);
    if (found.kind === 'problem') {
      return notQuoted(`by ${quoteLogin(person, runtime.redact)}`, found.problem);
    }
    return found.value === 'enough' ? PERSON : notQuoted('by people who may not ask for changes');
  };
  const people = authors.filter((author): author is Account => author !== null && isPerson(author));
  const others = new Map(people.map((person) => [person.id ?? 0, person]));
  others.delete(source?.sender.id ?? 0);
  const looked = [...others].slice(0, MOST_LOOKUPS).map(async ([id, person]) => {
    return [id, await lookUp(person)] as const;
  });
  const standings = new Map<number, Standing>(await Promise.all(looked));
  if (source !== null) standings.set(source.sender.id ?? 0, PERSON);
  return (author) => {
    if (author === null) return notQuoted('by a deleted account');
    if (isAllowedBot(author, allowedBots))
      return { kind: 'quoted', remark: ', which is a program' };
    const name = quoteLogin(author, runtime.redact);
    // As one has to write it there.
    if (isBot(author)) return notQuoted(`by ${name} (“allowed-bots”)`);
    if (!isPerson(author)) return notQuoted(`by ${name}, who is no person`);
    const byMore = notQuoted(`by others than the first ${MOST_LOOKUPS} people`);
    return standings.get(author.id ?? 0) ?? byMore;
  };
}

function notQuoted(who: string, why = ''): Standing {
  return { kind: 'not quoted', who, why };
}

export function quoteLogin(author: Account | null, redact: Redact): string {
  return author === null ? 'a deleted account' : quote(redact(author.login), 100);
}
