import type { PullRequestHead, PullRequestState } from '../pull-request.ts';
import type { Account } from './account.ts';

// What has started the run.

/** A comment or review, a run or check of a commit, or any other event. */
export type Trigger = EventFacts &
  (
    | { readonly kind: 'comment'; readonly comment: CommentTrigger }
    | { readonly kind: 'check'; readonly check: CommitTrigger }
    | { readonly kind: 'workflow' }
  );

export interface EventFacts {
  /** Its name, such as `issue_comment`. */
  readonly event: string;
  /** What happened, such as `opened`; empty for events without it. */
  readonly action: string;
  /** The number of the pull request or issue of the event, if there is one. */
  readonly conversation: number | null;
  readonly isPullRequest: boolean;
  /** Of that pull request, as the event says; `open` also if it does not say it. */
  readonly state: PullRequestState;
  /** Who triggered the event; null if it does not say so. */
  readonly sender: Account | null;
  /** On pull requests: whether the head branch is certainly in this repository. */
  readonly isHeadHere: boolean;
  /** Whether it is a push to, or the creation of, a branch other than the default one. */
  readonly isOtherBranch: boolean;
  /** Whether only people with permission can read the repository. */
  readonly isPrivate: boolean;
}

export interface CommentTrigger {
  readonly kind: 'comment' | 'review-comment' | 'review';
  readonly id: number;
  readonly nodeId: string;
  /** What happened, such as `created`. */
  readonly action: string;
  /** The number of the pull request or issue that it belongs to. */
  readonly conversation: number;
  readonly body: string;
  readonly approves: boolean;
  /** Null if the account was deleted. */
  readonly authorId: number | null;
  readonly sender: Account;
  /** Whether a GitHub App wrote it on behalf of the author. Of reviews, GitHub does not tell. */
  readonly viaApp: boolean;
  /** The code that a review comment refers to. */
  readonly context: CodeContext | null;
  /** The ID of the first comment of the thread, if this is a reply in it. */
  readonly replyTo: number | null;
  /** What it is written on. */
  readonly topic: Topic;
}

/** An issue or pull request. */
export interface Topic {
  readonly title: string;
  /** Empty for none. */
  readonly body: string;
  /** Null if the account was deleted. */
  readonly author: Account | null;
}

export interface CodeContext {
  readonly path: string;
  /** Null if the lines no longer exist in the file. */
  readonly line: number | null;
  /** The first of several lines; null for one line. */
  readonly startLine: number | null;
  readonly diffHunk: string;
}

/** A run of a workflow, or a check. */
export interface CommitTrigger {
  readonly kind: 'workflow_run' | 'check_run';
  readonly id: number;
  readonly sha: string;
  /** Null if GitHub names none. */
  readonly branch: string | null;
  /** The file of the workflow, such as `.github/workflows/ci.yml`; empty for a check. */
  readonly workflow: string;
  /** Whether it may be in another repository: a fork, or one that was deleted. */
  readonly isElsewhere: boolean;
  /** How it failed; null if it did not. */
  readonly failure: HowFailed | null;
  /** As GitHub calls it; empty if the event does not tell the end. */
  readonly conclusion: string;
  /** Of the workflow or the check. */
  readonly name: string;
  /** The page for people; empty if the payload has none. */
  readonly url: string;
  /** The ID of the app of a check, if it is known. */
  readonly app: number | null;
  /** The pull requests of this repository that the event names. */
  readonly pulls: readonly PullRequestHead[];
  /** The newest commit of that which it is about, at that time; null if that is not clear. */
  readonly head: string | null;
}

type HowFailed = 'failed' | 'timed out' | 'could not start';

/** Conclusions of runs, jobs and checks; a job past its time limit ends as cancelled, and its run, too. */
export const FAILURES: ReadonlyMap<string | null, HowFailed> = new Map([
  ['failure', 'failed'],
  ['timed_out', 'timed out'],
  ['startup_failure', 'could not start'],
]);

/** The events of comments and reviews, whose text may contain a command. */
export const COMMENT_EVENTS: ReadonlyMap<string, CommentTrigger['kind']> = new Map([
  ['issue_comment', 'comment'],
  ['pull_request_review', 'review'],
  ['pull_request_review_comment', 'review-comment'],
]);

export const CHECK_EVENTS = ['workflow_run', 'check_run'] as const;

/** Events by programs, in the name of whoever has pushed the commit or given them a token. */
export const BY_PROGRAMS: ReadonlySet<string> = new Set([
  ...CHECK_EVENTS,
  'check_suite',
  'deployment',
  'deployment_status',
  'page_build',
  'status',
]);

/** Whether a message may carry something of the event even without a command, so that it needs no prompt. */
export function mayCarry(event: string): boolean {
  return event === 'pull_request_review' || CHECK_EVENTS.some((name) => name === event);
}

/** Which comment or review it is, as records have it. */
export function keyOfComment({ kind, id }: Pick<CommentTrigger, 'kind' | 'id'>): string {
  return `${kind}:${id}`;
}

/** Why GitHub withholds the secrets of the repository from the run, and what to do; null if it does not. */
export function whyNoSecrets({ event, isHeadHere, sender }: Trigger): string | null {
  const isOfPullRequest = /^pull_request(_review(_comment)?)?$/.test(event);
  if (!isOfPullRequest && !/^(push|create|deployment(_status)?)$/.test(event)) return null;
  if (sender?.type === 'Bot' && sender.login === 'dependabot[bot]') {
    return (
      'GitHub passes only the Dependabot secrets to runs by Dependabot. Save the key as one of them, too, with the ' +
      'same name, in the settings of the repository.'
    );
  }
  if (!isOfPullRequest || isHeadHere) return null;
  return 'GitHub passes no secrets to runs for pull requests from forks. Use a branch of this repository or, once it is merged, the event push.';
}

/** Which one a commit belongs to: the only one or, of several, the only one that it is the newest commit of. */
export function choosePull(
  pulls: readonly PullRequestHead[],
  { sha, branch }: Pick<CommitTrigger, 'sha' | 'branch'>,
): PullRequestHead | undefined {
  const newest = pulls.length === 1 ? pulls : pulls.filter((pull) => pull.sha === sha);
  // Two branches can have the same newest commit.
  const own = newest.length === 1 ? newest : newest.filter(({ ref }) => ref === branch);
  return own.length === 1 ? own[0] : undefined;
}
