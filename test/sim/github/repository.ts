// The repository that the simulated GitHub holds in memory: its issues and pull requests with their
// comments, its people, and whom the token speaks for.

import { crc32 } from 'node:zlib';
import type { Answer, Clock, JournalEntry } from '../agent.ts';
import type { CollaboratorOptions } from './permissions.ts';

export interface Account {
  readonly login: string;
  readonly id: number;
  readonly type: 'User' | 'Bot';
}

export interface Comment {
  readonly id: number;
  readonly author: string;
  readonly body: string;
  readonly html_url: string;
  readonly created_at: string;
  readonly updated_at: string;
}

export interface IssueOptions {
  readonly number: number;
  readonly pullRequest?: boolean;
  readonly locked?: boolean;
  readonly comments?: readonly { readonly author: string; readonly body: string }[];
}

export interface RepositoryOptions {
  readonly repository?: string;
  /** Whom the token speaks for. A bot's token belongs to an app's installation. */
  readonly viewer?: Account;
  readonly issues?: readonly IssueOptions[];
  readonly collaborators?: Readonly<Record<string, CollaboratorOptions>>;
  readonly clock?: Clock;
}

export interface Issue extends IssueOptions {
  readonly comments: Comment[];
  readonly reviewComments: Comment[];
}

export interface Found {
  readonly issue: Issue;
  readonly list: Comment[];
  readonly index: number;
  readonly comment: Comment;
}

export type Repository = ReturnType<typeof openRepository>;

export const SERVER_URL = 'https://github.com';
const ACTIONS: Account = { login: 'github-actions[bot]', id: 41_898_282, type: 'Bot' };

export function openRepository(options: RepositoryOptions) {
  const { repository: name = 'octo/agents', viewer = ACTIONS } = options;
  const { clock = Date, collaborators = {} } = options;
  const issues = new Map<number, Issue>();
  // Real ids are past 31 bits.
  let lastId = 3_000_000_000;

  for (const issue of options.issues ?? []) {
    issues.set(issue.number, { ...issue, comments: [], reviewComments: [] });
    for (const { author, body } of issue.comments ?? []) addComment(issue.number, author, body);
  }

  function now(): string {
    return new Date(clock.now()).toISOString().replace(/\.\d+/, '');
  }

  function addComment(number: number, author: string, body: string): Comment {
    return add(known(number).comments, `${pageOf(number)}#issuecomment-`, author, body);
  }

  function addReviewComment(number: number, author: string, body: string): Comment {
    return add(known(number).reviewComments, `${pageOf(number)}#discussion_r`, author, body);
  }

  function add(list: Comment[], page: string, author: string, body: string): Comment {
    lastId += 1;
    const [id, time] = [lastId, now()];
    const html_url = `${page}${id}`;
    const comment = { id, author, body, html_url, created_at: time, updated_at: time };
    list.push(comment);
    return comment;
  }

  function known(number: number): Issue {
    const issue = issues.get(number);
    if (issue === undefined) throw new Error(`The simulated repository has no issue ${number}.`);
    return issue;
  }

  function pageOf(number: number): string {
    const kind = issues.get(number)?.pullRequest === true ? 'pull' : 'issues';
    return `${SERVER_URL}/${name}/${kind}/${number}`;
  }

  function find(list: 'comments' | 'reviewComments', id: number): Found | undefined {
    for (const issue of issues.values()) {
      const index = issue[list].findIndex((comment) => comment.id === id);
      const comment = issue[list][index];
      if (comment !== undefined) return { issue, list: issue[list], index, comment };
    }
    return undefined;
  }

  function account(login: string): Account {
    if (login === viewer.login) return viewer;
    const id = collaborators[login]?.id ?? crc32(login);
    return { login, id, type: login.endsWith('[bot]') ? 'Bot' : 'User' };
  }

  return {
    name,
    viewer,
    issues,
    collaborators,
    now,
    known,
    pageOf,
    account,
    addComment,
    addReviewComment,
    find,
  };
}

export function readJson(request: JournalEntry): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(request.body));
  } catch {
    return {};
  }
}

export function refusal(status: number, message: string): Answer {
  return {
    status,
    body: { message, documentation_url: 'https://docs.github.com/rest', status: String(status) },
  };
}
