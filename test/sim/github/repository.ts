// The repository in memory: its issues, pull requests and collaborators, and the token's account.

import { crc32 } from 'node:zlib';
import type { Answer, Clock, JournalEntry } from '../agent.ts';
import type { Call } from './call-log.ts';
import { type IssueOptions, openIssues } from './issues.ts';
import type { CollaboratorOptions } from './permissions.ts';
import { openReviews } from './reviews.ts';

interface Account {
  readonly login: string;
  readonly id: number;
  readonly type: 'User' | 'Bot';
}

export interface RepositoryOptions {
  readonly repository?: string;
  readonly issues?: readonly IssueOptions[];
  readonly collaborators?: Readonly<Record<string, CollaboratorOptions>>;
  /** What commits change, if that matters. */
  readonly changes?: Readonly<Record<string, CommitChanges>>;
  readonly clock?: Clock;
  /** What makes GitHub unreliable as a store. */
  readonly trouble?: {
    /** Milliseconds of the clock until lists show a new comment. Reads by ID return it at once. */
    readonly listLagMs?: number;
    /** Whether the response is lost: the call takes effect, then the connection is reset. */
    readonly loses?: (call: Call) => boolean;
  };
}

export interface CommitChanges {
  /** Paths; a renamed file has two. */
  readonly files?: readonly (string | readonly [old: string, renamed: string])[];
  readonly isMerge?: boolean;
  readonly message?: string;
  /** The login of the author; null for one without an account. */
  readonly author?: string | null;
}

export type Repository = ReturnType<typeof openRepository>;

export const SERVER_URL = 'https://github.com';
/** The account of the token, which belongs to the installation of an app. */
const viewer: Account = { login: 'github-actions[bot]', id: 41_898_282, type: 'Bot' };

export function openRepository(options: RepositoryOptions) {
  const { repository: name = 'octo/agents', clock = Date, collaborators = {} } = options;
  const { changes = {}, trouble: { listLagMs = 0 } = {} } = options;
  const url = `${SERVER_URL}/${name}`;
  const all = openIssues({ issues: options.issues ?? [], clock, listLagMs, url });
  const { reviewActions, ...reviews } = openReviews(all);
  const actions = { ...all.actions, ...reviewActions };

  function account(login: string): Account {
    if (login === viewer.login) return viewer;
    // Of 31 bits, as real IDs: more would be no integer in GraphQL.
    const id = collaborators[login]?.id ?? crc32(login) >>> 1;
    return { login, id, type: login.endsWith('[bot]') ? 'Bot' : 'User' };
  }

  return { ...all, ...reviews, actions, name, viewer, collaborators, account, changes };
}

export function readJson(request: JournalEntry): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(request.body));
  } catch {
    return {};
  }
}

export function refusal(status: number, message: string): Answer {
  const documentation_url = 'https://docs.github.com/rest';
  return { status, body: { message, documentation_url, status: String(status) } };
}
