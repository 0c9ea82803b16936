export interface Account {
  readonly login: string;
  /** Null if only the login is known, as for the actor who re-ran a workflow. */
  readonly id: number | null;
  /** `User`, `Bot` or another kind of account. */
  readonly type: string;
}

/** No person's login can end with this. If login and type disagree, neither is trusted. */
export const BOT_SUFFIX = '[bot]';

export function isPerson({ login, type }: Account): boolean {
  return type === 'User' && !login.endsWith(BOT_SUFFIX);
}

export function isBot({ login, type }: Account): boolean {
  return type === 'Bot' || login.endsWith(BOT_SUFFIX);
}

/** With or without the suffix: not all bots have one. GitHub's API has no permissions of bots. */
export function isAllowedBot({ login, type }: Account, allowedBots: ReadonlySet<string>): boolean {
  const name = login.toLowerCase();
  const bare = name.endsWith(BOT_SUFFIX) ? name.slice(0, -BOT_SUFFIX.length) : name;
  return type === 'Bot' && (allowedBots.has(bare) || allowedBots.has(`${bare}${BOT_SUFFIX}`));
}

export function sameLogin(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}
