// The issues and pull requests of the simulated repository, with their comments.

import type { Clock } from '../agent.ts';

export interface Comment {
  readonly id: number;
  readonly author: string;
  readonly body: string;
  readonly html_url: string;
  readonly node_id: string;
  /** In whole seconds. */
  readonly created_at: string;
  readonly updated_at: string;
  /** Hidden on the page, which does not affect reads and writes. */
  readonly isMinimized: boolean;
  /** When lists start to show it, in milliseconds. */
  readonly listedAt: number;
}

export interface CommentOptions {
  readonly author: string;
  readonly body: string;
}

export interface IssueOptions {
  readonly number: number;
  readonly pullRequest?: boolean;
  readonly locked?: boolean;
  /** The commits of a pull request, the oldest first. Default: one. */
  readonly commits?: readonly string[];
  /** Old comments, which lists show at once. */
  readonly comments?: readonly CommentOptions[];
}

export interface Issue {
  readonly number: number;
  readonly pullRequest: boolean;
  locked: boolean;
  /** Never empty. */
  commits: readonly string[];
  readonly comments: Comment[];
  readonly reviewComments: Comment[];
}

/** What people and other runs do. Each action throws if the issue or comment does not exist. */
export interface PageActions {
  addComment(number: number, author: string, body: string): Comment;
  /** A comment on a line of a pull request. */
  addReviewComment(number: number, author: string, body: string): Comment;
  editComment(id: number, body: string): Comment;
  deleteComment(id: number): void;
  minimizeComment(id: number): Comment;
  /** After this, comments and reactions are refused. */
  lock(number: number): void;
  /** Adds commits to a pull request. */
  push(number: number, ...commits: readonly string[]): void;
  /** Replaces the commits of a pull request. */
  forcePush(number: number, ...commits: readonly string[]): void;
}

export interface Found {
  readonly issue: Issue;
  readonly comment: Comment;
}

type List = 'comments' | 'reviewComments';

const FIRST_COMMIT = 'a'.repeat(40);

export interface IssuesOptions {
  readonly issues: readonly IssueOptions[];
  readonly clock: Clock;
  /** See Trouble. */
  readonly listLagMs: number;
  /** The page of the repository. */
  readonly url: string;
}

export function openIssues({ issues: given, clock, listLagMs, url }: IssuesOptions) {
  const issues = new Map<number, Issue>();
  // Real IDs have more than 31 bits.
  let lastId = 3_000_000_000;

  for (const { comments = [], ...issue } of given) {
    const { number } = issue;
    issues.set(number, {
      ...{ pullRequest: false, locked: false, commits: [FIRST_COMMIT], ...issue },
      ...{ comments: [], reviewComments: [] },
    });
    for (const { author, body } of comments) {
      replace(addComment(number, author, body).id, { listedAt: 0 });
    }
  }

  function now(): string {
    return new Date(clock.now()).toISOString().replace(/\.\d+/, '');
  }

  function addComment(number: number, author: string, body: string): Comment {
    return add('comments', number, author, body);
  }

  function addReviewComment(number: number, author: string, body: string): Comment {
    return add('reviewComments', number, author, body);
  }

  function add(list: List, number: number, author: string, body: string): Comment {
    lastId += 1;
    const [id, at] = [lastId, now()];
    const [fragment, prefix] =
      list === 'comments' ? ['issuecomment-', 'IC'] : ['discussion_r', 'PRRC'];
    const comment: Comment = {
      id,
      author,
      body,
      html_url: `${pageOf(number)}#${fragment}${id}`,
      node_id: `${prefix}_${id}`,
      created_at: at,
      updated_at: at,
      isMinimized: false,
      listedAt: clock.now() + listLagMs,
    };
    known(number)[list].push(comment);
    return comment;
  }

  function editComment(id: number, body: string): Comment {
    return replace(id, { body, updated_at: now() });
  }

  function deleteComment(id: number): void {
    const { list, index } = existing(id);
    list.splice(index, 1);
  }

  function replace(id: number, changes: Partial<Comment>): Comment {
    const { list, index, comment } = existing(id);
    const changed = { ...comment, ...changes };
    list[index] = changed;
    return changed;
  }

  function setCommits(number: number, change: (old: readonly string[]) => readonly string[]): void {
    const issue = known(number);
    if (!issue.pullRequest) throw new Error(`#${number} is not a pull request.`);
    issue.commits = change(issue.commits);
  }

  function known(number: number): Issue {
    const issue = issues.get(number);
    if (issue === undefined) throw new Error(`The simulated repository has no issue ${number}.`);
    return issue;
  }

  function pageOf(number: number): string {
    const kind = issues.get(number)?.pullRequest === true ? 'pull' : 'issues';
    return `${url}/${kind}/${number}`;
  }

  /** The comments that a list shows. */
  function listed({ comments }: Issue): readonly Comment[] {
    return comments.filter(({ listedAt }) => listLagMs === 0 || listedAt <= clock.now());
  }

  function find(name: List, id: number) {
    for (const issue of issues.values()) {
      const list = issue[name];
      const index = list.findIndex((comment) => comment.id === id);
      const comment = list[index];
      if (comment !== undefined) return { issue, list, index, comment };
    }
    return undefined;
  }

  function existing(id: number) {
    const comment = find('comments', id) ?? find('reviewComments', id);
    if (comment === undefined) throw new Error(`There is no comment ${id}.`);
    return comment;
  }

  /** A comment on an issue or pull request. Only lists have a lag. */
  function findNode(nodeId: string): Comment | undefined {
    const [, id] = /^IC_(\d+)$/.exec(nodeId) ?? [];
    return find('comments', Number(id))?.comment;
  }

  return {
    issues,
    now,
    known,
    pageOf,
    addComment,
    addReviewComment,
    editComment,
    deleteComment,
    minimizeComment: (id: number) => replace(id, { isMinimized: true }),
    lock(number: number) {
      known(number).locked = true;
    },
    push: (number: number, ...commits: readonly string[]) =>
      setCommits(number, (old) => [...old, ...commits]),
    forcePush: (number: number, ...commits: readonly string[]) => setCommits(number, () => commits),
    listed,
    find,
    findNode,
  };
}
