import { untilAborted } from '../../clock.ts';
import type { Start } from '../../context.ts';
import { isEdited } from '../../github/client.ts';
import type { Signed } from '../../github/conversation.ts';
import type { Inputs } from '../../runner/inputs.ts';
import type { Redact } from '../../runner/logger.ts';
import { plural, quote } from '../../text.ts';
import { type Account, BOT_SUFFIX, isAllowedBot, isBot, isPerson } from '../../trigger/account.ts';
import { checkPermission } from '../../trigger/permissions.ts';
import type { Missing } from '../sections.ts';

// Whose words a message carries. Anybody can comment, so only the person who asks, people with the permission, and bots that the
// workflow names are carried, the latter as programs. What somebody else has edited is theirs.

/** People whose permission is asked for. The one who asks has it. */
const MOST_PEOPLE = 5;

export type Who = Pick<Inputs, 'minimumPermission' | 'allowedBots'>;

type Standing =
  | { readonly kind: 'may ask' | 'may not ask' }
  /** `why`: a phrase. */
  | { readonly kind: 'not known'; readonly why: string };

/** What is known of the people of a conversation, by their IDs. */
export interface Speakers extends Pick<Inputs, 'allowedBots'> {
  readonly standings: ReadonlyMap<number, Standing>;
  readonly redact: Redact;
}

/** Null for a deleted account. GraphQL leaves “[bot]” out of logins. */
export function accountOf({ author }: Pick<Signed, 'author'>): Account | null {
  if (author === null) return null;
  const { __typename: type, login, databaseId: id = null } = author;
  return { login: type === 'Bot' ? `${login}${BOT_SUFFIX}` : login, id, type };
}

/** Everyone whose permission matters, in the order of the texts. */
export function peopleOf(texts: readonly Signed[]): readonly Account[] {
  const shown = texts.filter((text) => !text.isMinimized);
  const accounts = shown.map(accountOf).filter((account) => account !== null);
  return accounts.filter(isPerson);
}

/**
 * Asks for the permission of the first people. With “minimum-permission: none”, anyone may ask, but words that nobody has asked
 * to send need the permission that is needed by default.
 */
export async function lookUp(
  { github, asked, runtime }: Pick<Start, 'github' | 'asked' | 'runtime'>,
  people: readonly Account[],
  { minimumPermission, allowedBots }: Who,
  signal: AbortSignal,
): Promise<Speakers> {
  const minimum = minimumPermission === 'none' ? 'write' : minimumPermission;
  const standings = new Map<number, Standing>();
  const others = new Map(people.map((one) => [one.id, one]));
  others.delete(asked?.sender.id ?? null);
  await Promise.all(
    [...others.values()].slice(0, MOST_PEOPLE).map(async (person) => {
      standings.set(person.id ?? 0, await standingOf(person));
    }),
  );
  if (asked !== null) standings.set(asked.sender.id ?? 0, { kind: 'may ask' });
  return { allowedBots, standings, redact: runtime.redact };

  async function standingOf(person: Account): Promise<Standing> {
    try {
      const check = await untilAborted(checkPermission(person, minimum, github), signal);
      if (check.kind === 'not known') return { kind: 'not known', why: check.cause };
      return { kind: check.kind === 'enough' ? 'may ask' : 'may not ask' };
    } catch (error) {
      if (!signal.aborted) throw error;
      return { kind: 'not known', why: 'GitHub did not answer in time' };
    }
  }
}

/** Why a text is left out. Texts with the same reason are told together. */
export interface LeftOut extends Pick<Missing, 'why' | 'isFault'> {
  readonly kind: 'left out';
  /** Such as `hidden comment`, which has a plural. */
  readonly what: string;
  /** Whose they are; or empty. */
  readonly by: string;
  /** Why, as a sentence about one text without its point. */
  readonly told: string;
}

interface Heard {
  readonly kind: 'person' | 'program';
  /** Without secrets. */
  readonly login: string;
}

/** Whether a text is carried, and as whose. */
export function judge(text: Signed, speakers: Speakers): Heard | LeftOut {
  if (text.isMinimized) return leaveOut('hidden comment', '', 'it is hidden');
  const account = accountOf(text);
  if (account === null) return leaveOut('comment', ' by a deleted account');
  if (isEdited(text)) {
    const by = ` by ${quote(speakers.redact(account.login), 100)} that somebody else has edited`;
    return leaveOut('comment', by, 'somebody else has edited it');
  }
  return judgeAccount(account, speakers);
}

export function judgeAccount(account: Account, { allowedBots, standings, redact }: Speakers) {
  const login = redact(account.login);
  if (isHeardBot(account, allowedBots)) return { kind: 'program', login } as const;
  // As one has to write it there.
  if (isBot(account)) return leaveOut('comment', ` by ${quote(login, 100)} (“allowed-bots”)`);
  if (!isPerson(account)) return leaveOut('comment', ` by ${quote(login, 100)}, who is no person`);
  const standing = standings.get(account.id ?? 0);
  switch (standing?.kind) {
    case 'may ask':
      return { kind: 'person', login } as const;
    case 'may not ask':
      return leaveOut('comment', ' by people who may not ask for changes');
    case 'not known':
      return {
        ...leaveOut('comment', ` by ${quote(login, 100)}`),
        why: standing.why,
        isFault: true,
      };
    case undefined:
      return leaveOut('comment', ` by others than the first ${MOST_PEOPLE} people`);
  }
}

function leaveOut(what: string, by: string, told = NOT_PASSED_ON): LeftOut {
  return { kind: 'left out', what, by, told, why: '' };
}

const NOT_PASSED_ON = 'this workflow does not pass on its words';

/** How GraphQL names the bot whose name in events is `Copilot`. */
const COPILOT_IN_THREADS = 'copilot-pull-request-reviewer';

function isHeardBot(account: Account, allowedBots: ReadonlySet<string>): boolean {
  if (isAllowedBot(account, allowedBots)) return true;
  const isCopilot = account.login === `${COPILOT_IN_THREADS}${BOT_SUFFIX}`;
  return isCopilot && isAllowedBot({ ...account, login: 'Copilot' }, allowedBots);
}

/** What is missing of texts that are left out. */
export function tellLeftOut(all: readonly LeftOut[]): readonly Missing[] {
  const groups = Map.groupBy(all, ({ what, by, why }) => `${what}${by} ${why}`);
  return [...groups.values()].map((group) => {
    const [{ what, by, why, isFault } = leaveOut('', '')] = group;
    return { what: `${plural(group.length, what)}${by}`, why, isFault };
  });
}
