import type { CodeLocation } from '../github/conversation.ts';
import type { PullRequestHead, PullRequestState } from '../pull-request.ts';

export interface Account {
  readonly login: string;
  /** Null if only the login is known, as for the actor who re-ran a workflow. */
  readonly id: number | null;
  readonly type: string;
}

export type Trigger = {
  readonly event: string;
  readonly action: string;
  readonly conversation: number | null;
  readonly isPullRequest: boolean;
  /** Of that pull request; `open` also if the event does not say it. */
  readonly state: PullRequestState;
  readonly sender: Account | null;
  readonly isHeadHere: boolean;
  /** Whether a branch other than the default one was created or pushed to. */
  readonly isOtherBranch: boolean;
  readonly isPrivate: boolean;
} & (
  | { readonly kind: 'comment'; readonly comment: CommentTrigger }
  | { readonly kind: 'check'; readonly check: CommitTrigger }
  | { readonly kind: 'workflow' }
);

export interface CommentTrigger {
  readonly kind: 'comment' | 'review-comment' | 'review';
  readonly id: number;
  readonly nodeId: string;
  readonly conversation: number;
  readonly body: string;
  readonly approves: boolean;
  /** Null if the account was deleted, as in the topic. */
  readonly authorId: number | null;
  readonly sender: Account;
  readonly viaApp: boolean;
  /** Of an inline comment; without a line if that no longer exists in the file. */
  readonly context: CodeLocation | null;
  /** The ID of the first comment of its thread. */
  readonly replyTo: number | null;
  readonly topic: Readonly<{ title: string; body: string; author: Account | null }>;
}

export interface CommitTrigger {
  readonly kind: 'workflow_run' | 'check_run';
  readonly id: number;
  readonly sha: string;
  readonly branch: string | null;
  readonly workflow: string;
  /** Whether it may be in a fork. */
  readonly isElsewhere: boolean;
  readonly failure: string | null;
  readonly conclusion: string;
  readonly name: string;
  readonly url: string;
  readonly app: number | null;
  readonly pulls: readonly PullRequestHead[];
  /** The newest commit of its pull request at that time; null if that is not clear. */
  readonly head: string | null;
}

/** A job past its time limit ends as cancelled, and its run, too. */
export const FAILURES: ReadonlyMap<string | null, string> = new Map([
  ['failure', 'failed'],
  ['timed_out', 'timed out'],
  ['startup_failure', 'could not start'],
]);

export const COMMENT_EVENTS: ReadonlyMap<string, CommentTrigger['kind']> = new Map([
  ['issue_comment', 'comment'],
  ['pull_request_review', 'review'],
  ['pull_request_review_comment', 'review-comment'],
]);

export const CHECK_EVENTS = ['workflow_run', 'check_run'] as const;

/** By programs in the name of whoever has pushed the commit or given them a token. */
export const BY_PROGRAMS: ReadonlySet<string> = new Set([
  ...CHECK_EVENTS,
  ...['check_suite', 'deployment', 'deployment_status', 'page_build', 'status'],
]);

export function mayCarry(event: string): boolean {
  return event === 'pull_request_review' || CHECK_EVENTS.some((name) => name === event);
}

export function keyOfComment({ kind, id }: Pick<CommentTrigger, 'kind' | 'id'>): string {
  return `${kind}:${id}`;
}

export function whyNoSecrets({ event, isHeadHere, sender }: Trigger): string | null {
  const isOfPullRequest = /^pull_request(_review(_comment)?)?$/.test(event);
  if (!isOfPullRequest && !/^(push|create|deployment(_status)?)$/.test(event)) return null;
  if (sender?.type === 'Bot' && sender.login === 'dependabot[bot]') {
    return (
      'GitHub passes only the Dependabot secrets to runs by Dependabot. Save the key as one of ' +
      'them, too, with the same name, in the settings of the repository.'
    );
  }
  if (!isOfPullRequest || isHeadHere) return null;
  return (
    'GitHub passes no secrets to runs for pull requests from forks. Use a branch of this ' +
    'repository or, once it is merged, the event push.'
  );
}

/** The only one or, of several, the only one that the commit is the newest of. */
export function choosePull(
  pulls: readonly PullRequestHead[],
  { sha, branch }: Pick<CommitTrigger, 'sha' | 'branch'>,
): PullRequestHead | undefined {
  const newest = pulls.length === 1 ? pulls : pulls.filter((pull) => pull.sha === sha);
  // Two branches can have the same newest commit.
  const own = newest.length === 1 ? newest : newest.filter(({ ref }) => ref === branch);
  return own.length === 1 ? own[0] : undefined;
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
