// The issues and pull requests of the simulated repository, with their comments and commits.

import type { Clock } from '../agent.ts';

export interface Comment {
  readonly id: number;
  readonly author: string;
  readonly body: string;
  /** Who has edited it last; null for nobody. */
  readonly editor: string | null;
  readonly html_url: string;
  readonly node_id: string;
  /** In whole seconds. */
  readonly created_at: string;
  readonly updated_at: string;
  /** Hidden on the page, which does not affect reads and writes. */
  readonly isMinimized: boolean;
  /** The classifier, in lower case. */
  readonly minimizedReason?: string;
  /** When lists start to show it, in milliseconds. */
  readonly listedAt: number;
}

export interface Issue {
  readonly number: number;
  readonly pullRequest: boolean;
  readonly locked: boolean;
  /** The commits of a pull request, the oldest first. */
  commits: readonly string[];
  readonly branch: string;
  /** The repository of the branch: null if it was deleted, missing if it is our own. */
  readonly fork?: string | null;
  over: 'merged' | 'closed' | null;
  /** Whether a pull request can be merged. */
  readonly mergeable: 'MERGEABLE' | 'CONFLICTING' | 'UNKNOWN';
}

export type IssueOptions = Pick<Issue, 'number'> &
  Partial<Issue> & {
    /** Old comments, which lists show at once. */
    readonly comments?: readonly { readonly author: string; readonly body: string }[];
  };

export type Found = { readonly issue: Issue; readonly comment: Comment };

interface IssuesOptions {
  readonly issues: readonly IssueOptions[];
  readonly clock: Clock;
  readonly listLagMs: number;
  /** The page of the repository. */
  readonly url: string;
}

export function openIssues({ issues: given, clock, listLagMs, url }: IssuesOptions) {
  const issues = new Map<number, Issue>();
  const all = new Map<number, Found>();
  // Real IDs have more than 31 bits.
  let lastId = 3_000_000_000;

  for (const { comments = [], ...issue } of given) {
    issues.set(issue.number, {
      ...{ pullRequest: false, locked: false, commits: ['a'.repeat(40)], over: null },
      ...{ mergeable: 'MERGEABLE', branch: 'changes', ...issue },
    });
    for (const { author, body } of comments) {
      change(addComment(issue.number, author, body).id, { listedAt: 0 });
    }
  }

  function now(): string {
    return new Date(clock.now()).toISOString().replace(/\.\d+/, '');
  }

  function addComment(number: number, author: string, body: string): Comment {
    const issue = known(number);
    const [id, at] = [++lastId, now()];
    const comment = {
      ...{ id, node_id: `IC_${id}`, html_url: `${pageOf(issue)}#issuecomment-${id}` },
      ...{ author, body, editor: null, created_at: at, updated_at: at, isMinimized: false },
      listedAt: clock.now() + listLagMs,
    };
    all.set(id, { issue, comment });
    return comment;
  }

  function change(id: number, changes: Partial<Comment>): Comment {
    const found = existing(id);
    const comment = { ...found.comment, ...changes };
    all.set(id, { ...found, comment });
    return comment;
  }

  function known(number: number): Issue {
    const issue = issues.get(number);
    if (issue === undefined) throw new Error(`The simulated repository has no issue ${number}.`);
    return issue;
  }

  function existing(id: number): Found {
    const found = all.get(id);
    if (found === undefined) throw new Error(`There is no comment ${id}.`);
    return found;
  }

  function pageOf({ number, pullRequest }: Issue): string {
    return `${url}/${pullRequest ? 'pull' : 'issues'}/${number}`;
  }

  /** Those on the issue itself, the oldest first, including those that lists do not show yet. */
  function comments(number: number): readonly Comment[] {
    const issue = known(number);
    const found = all.values().filter((one) => one.issue === issue);
    return found.map(({ comment }) => comment).toArray();
  }

  /** What people and other runs do. Each throws if the issue or comment does not exist. */
  const actions = {
    addComment,
    editComment: (id: number, body: string, editor = existing(id).comment.author): Comment =>
      change(id, { body, editor, updated_at: now() }),
    deleteComment: (id: number): void => void all.delete(existing(id).comment.id),
    minimizeComment: (id: number, reason = 'outdated'): Comment =>
      change(id, { isMinimized: true, minimizedReason: reason }),
    /** Adds commits to a pull request. */
    push(number: number, ...commits: readonly string[]): void {
      const issue = known(number);
      if (!issue.pullRequest) throw new Error(`#${number} is not a pull request.`);
      issue.commits = [...issue.commits, ...commits];
    },
    /** Merges or closes a pull request. */
    end(number: number, over: 'merged' | 'closed'): void {
      known(number).over = over;
    },
    /** Replaces all commits of a pull request. */
    rewrite(number: number, ...commits: readonly string[]): void {
      known(number).commits = commits;
    },
  };
  return {
    ...{ issues, now, pageOf, comments, actions },
    find: (id: number): Found | undefined => all.get(id),
    /** The comments that a list shows. */
    listed: ({ number }: Issue) =>
      comments(number).filter(({ listedAt }) => listLagMs === 0 || listedAt <= clock.now()),
    /** A comment on an issue or pull request. Only lists have a lag. */
    findNode: (nodeId: string): Comment | undefined =>
      all.get(Number(/^IC_(\d+)$/.exec(nodeId)?.[1]))?.comment,
  };
}
