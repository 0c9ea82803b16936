import { type Collaborator, type GitHub, whyOf } from './api.ts';

/** From least to most, as GitHub's roles build upon each other. */
export const PERMISSIONS = ['triage', 'write', 'maintain', 'admin'] as const;
export type Permission = (typeof PERMISSIONS)[number];

export type Admission =
  | { readonly kind: 'allowed' }
  | { readonly kind: 'denied'; readonly reason: string }
  /** GitHub gave no answer that can be relied on, which is no permission. */
  | { readonly kind: 'failed'; readonly reason: string };

export interface Person {
  readonly login: string;
  /** Null where only the login is known, as for the one who re-ran a workflow. */
  readonly id: number | null;
}

/**
 * Asks GitHub for each person's permission on the repository. `author_association` and the
 * names of actors prove nothing; only this answer does.
 */
export async function admit(
  github: GitHub,
  people: readonly Person[],
  minimum: Permission,
): Promise<Admission> {
  for (const person of people) {
    const admission = await admitOne(github, person, minimum);
    if (admission.kind !== 'allowed') return admission;
  }
  return { kind: 'allowed' };
}

async function admitOne(
  github: GitHub,
  { login, id }: Person,
  minimum: Permission,
): Promise<Admission> {
  const needed = `${minimum} permission on this repository (minimum-permission)`;
  try {
    const found = await github.collaborator(login);
    if (found === null) {
      return { kind: 'denied', reason: `${login} is no collaborator and lacks the ${needed}.` };
    }
    const { user, permission } = found;
    if (user === null) {
      return { kind: 'denied', reason: `${login} is not known to GitHub any more.` };
    }
    const same = id === null ? user.login.toLowerCase() === login.toLowerCase() : user.id === id;
    if (!same) {
      return {
        kind: 'failed',
        reason: `GitHub answered for somebody else when asked for the permission of ${login}.`,
      };
    }
    return rank(permission) >= rank(minimum)
      ? { kind: 'allowed' }
      : { kind: 'denied', reason: `${login} lacks the ${needed}.` };
  } catch (error) {
    return {
      kind: 'failed',
      reason: `The permission of ${login} cannot be checked: ${whyOf(error)}.`,
    };
  }
}

function rank(permission: Collaborator['permission']): number {
  return ['none', ...PERMISSIONS].indexOf(permission);
}
