// The permissions of collaborators, as the endpoint returns them.

import type { Answer } from '../agent.ts';
import { type Repository, refusal } from './repository.ts';

export interface CollaboratorOptions {
  readonly id: number;
  readonly permission: 'admin' | 'write' | 'read' | 'none';
  /** Default: the permission. Custom roles have other names. */
  readonly role_name?: string;
}

const LEVELS = ['pull', 'triage', 'push', 'maintain', 'admin'];
const ROLES = ['read', 'triage', 'write', 'maintain', 'admin'];

export function permission({ collaborators, account }: Repository, login: string): Answer {
  const isLogin = (name: string): boolean => name.toLowerCase() === login.toLowerCase();
  const name = Object.keys(collaborators).find(isLogin);
  const one = name === undefined ? undefined : collaborators[name];
  if (name === undefined || one === undefined) return refusal(404, `${login} is not a user`);
  const { role_name = one.permission } = one;
  // A custom role extends the standard role that the permission names.
  const rank = ROLES.indexOf(ROLES.includes(role_name) ? role_name : one.permission);
  const permissions = Object.fromEntries(LEVELS.map((level, index) => [level, index <= rank]));
  const user = { ...account(name), permissions, role_name };
  return { body: { permission: one.permission, role_name, user } };
}
