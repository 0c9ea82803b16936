import { PERMISSIONS, type Permission } from '../inputs.ts';
import { ours, type Reason, sentence } from '../reason.ts';
import { oneLine } from '../sanitize.ts';
import type { Collaborator, GitHub } from './api.ts';
import { reasonFor } from './errors.ts';

export type Authorization =
  | { readonly kind: 'allowed' }
  | { readonly kind: 'denied'; readonly reason: Reason }
  /** The permission could not be checked, so nothing is allowed. */
  | { readonly kind: 'failed'; readonly reason: Reason };

/** A person or bot whose permission is checked. */
export interface Actor {
  readonly login: string;
  /** Null if only the login is known, as for the actor who re-ran a workflow. */
  readonly id: number | null;
  /** `User`, `Bot` or another kind of account. */
  readonly type: string;
}

/** No person's login can end with this. If login and type disagree, neither is trusted. */
const BOT_SUFFIX = '[bot]';

export function isPerson({ login, type }: Actor): boolean {
  return type === 'User' && !login.endsWith(BOT_SUFFIX);
}

export function isBot({ login, type }: Actor): boolean {
  return type === 'Bot' && login.endsWith(BOT_SUFFIX);
}

/** Whether the workflow names this bot. GitHub's API has no permissions of bots. */
export function isAllowedBot({ login, type }: Actor, allowedBots: ReadonlySet<string>): boolean {
  return type === 'Bot' && allowedBots.has(login);
}

/** The actor who re-ran the workflow, of whom only the login is known. */
export function actorOf(login: string): Actor {
  return { login, id: null, type: login.endsWith(BOT_SUFFIX) ? 'Bot' : 'User' };
}

/**
 * Asks GitHub for each person's permission on the repository. Nothing else proves it, neither
 * `author_association` nor the name of an actor.
 */
export async function checkPermissions(
  github: GitHub,
  people: readonly Actor[],
  minimum: Permission,
): Promise<Authorization> {
  for (const person of people) {
    const authorization = await checkPermission(github, person, minimum);
    if (authorization.kind !== 'allowed') return authorization;
  }
  return { kind: 'allowed' };
}

async function checkPermission(
  github: GitHub,
  { login, id }: Actor,
  minimum: Permission,
): Promise<Authorization> {
  const name = oneLine(login, 100);
  const needed = ours(`${minimum} permission on this repository (minimum-permission)`);
  try {
    const found = await github.collaborator(login);
    if (found === null) {
      return {
        kind: 'denied',
        reason: sentence`${name} is not a collaborator and lacks the ${needed}.`,
      };
    }
    const { user, permission } = found;
    if (user === null) {
      return { kind: 'denied', reason: sentence`${name} is no longer known to GitHub.` };
    }
    const same = id === null ? user.login.toLowerCase() === login.toLowerCase() : user.id === id;
    if (!same) {
      return {
        kind: 'failed',
        reason: sentence`GitHub returned another user when asked for the permission of ${name}.`,
      };
    }
    return rank(permission) >= rank(minimum)
      ? { kind: 'allowed' }
      : { kind: 'denied', reason: sentence`${name} lacks the ${needed}.` };
  } catch (error) {
    return {
      kind: 'failed',
      reason: sentence`The permission of ${name} cannot be checked: ${reasonFor(error)}.`,
    };
  }
}

function rank(permission: Collaborator['permission']): number {
  return ['none', ...PERMISSIONS].indexOf(permission);
}
