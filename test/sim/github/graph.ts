// The data of GraphQL, as objects. A field is a value or a function of its arguments.

import type { Comment, Issue } from './issues.ts';
import type { Repository } from './repository.ts';
import type { InlineComment, SubmittedReview } from './reviews.ts';

/** Instead of a value: the field becomes null, and `errors` contains the reason. */
export class FieldError extends Error {
  readonly type: string;
  constructor(type: string, message: string) {
    super(message);
    this.type = type;
  }
}

/** `id`: the node ID of a comment or review. */
export interface Reaction {
  readonly id: string;
  /** As REST has it, such as `eyes`. */
  readonly content: string;
}

interface Input {
  readonly input: { readonly subjectId: string; content?: string; classifier?: string };
}

/** https://docs.github.com/en/graphql/guides/using-pagination-in-the-graphql-api */
interface Page {
  readonly first?: number;
  readonly after?: string | null;
  readonly last?: number;
  readonly before?: string | null;
}

/** On a page. */
const MAX_NODES = 100;

export function openGraph(repository: Repository, reactions: Reaction[]): object {
  const { name: fullName, issues, findNode, actions } = repository;

  function node(id: string): object {
    const review = repository.findReview(id);
    if (review !== undefined) return reviewNode(repository, review);
    const inline = repository.findInline(id);
    if (inline !== undefined) return inlineNode(repository, inline);
    const comment = findNode(id);
    return comment === undefined ? noNode(id) : commentNode(repository, comment);
  }

  return {
    repository({ owner, name }: { readonly owner: string; readonly name: string }) {
      if (`${owner}/${name}`.toLowerCase() !== fullName.toLowerCase()) {
        return notFound(`a Repository with the name '${owner}/${name}'`);
      }
      return {
        issueOrPullRequest({ number }: { readonly number: number }) {
          const issue = issues.get(number);
          if (issue !== undefined) return issueNode(repository, issue);
          return notFound(`an issue or pull request with the number of ${number}`);
        },
      };
    },
    node: ({ id }: { readonly id: string }) => node(id),
    /** The second reaction of a kind gets the same response as the first one. */
    addReaction({ input: { subjectId: id, content: given = '' } }: Input) {
      const content = given.toLowerCase().replace('thumbs_up', '+1').replace('thumbs_down', '-1');
      const isThere = reactions.some((one) => one.id === id && one.content === content);
      if (!isThere) reactions.push({ id, content });
      return {};
    },
    minimizeComment({ input: { subjectId, classifier } }: Input) {
      const comment = findNode(subjectId);
      if (comment === undefined) return noNode(subjectId);
      actions.minimizeComment(comment.id, classifier?.toLowerCase());
      return {};
    },
  };
}

function issueNode(repository: Repository, issue: Issue): object {
  return {
    __typename: issue.pullRequest ? 'PullRequest' : 'Issue',
    comments: (page: Page) =>
      connection(repository.listed(issue), page, (one) => commentNode(repository, one)),
    headRefOid: issue.commits.at(-1),
    headRefName: issue.branch,
    isCrossRepository: issue.fork !== undefined,
    baseRefName: 'main',
    mergeable: issue.mergeable,
    reviews: (page: Page) =>
      connection(repository.reviewsOf(issue.number), page, (one) => reviewNode(repository, one)),
    reviewThreads: (page: Page) =>
      connection(repository.threadsOf(issue.number), page, (one) => threadNode(repository, one)),
  };
}

/** Those at the start or the end of a list. Cursors are IDs. */
function connection<T extends object>(
  all: readonly T[],
  { first, after, last, before }: Page,
  toNode: (one: T) => object,
): object {
  const size = first ?? last ?? 0;
  if (size < 1 || size > MAX_NODES) {
    const message = `Requesting ${size} records on the connection, of ${MAX_NODES} at most.`;
    return new FieldError('EXCESSIVE_PAGINATION', message);
  }
  const idOf = (one: T): number => ('id' in one && Number(one.id)) || 0;
  const from = after ? Number(atob(after)) : Number.NEGATIVE_INFINITY;
  const to = before ? Number(atob(before)) : Number.POSITIVE_INFINITY;
  const inRange = all.filter((one) => idOf(one) > from && idOf(one) < to);
  const page = first === undefined ? inRange.slice(-size) : inRange.slice(0, size);
  const cursorOf = (one: T | undefined) => (one === undefined ? null : btoa(String(idOf(one))));
  const hasMore = page.length < inRange.length;
  return {
    nodes: page.map(toNode),
    pageInfo: {
      ...{ hasPreviousPage: hasMore && first === undefined, startCursor: cursorOf(page[0]) },
      ...{ hasNextPage: hasMore && first !== undefined, endCursor: cursorOf(page.at(-1)) },
    },
    totalCount: all.length,
  };
}

function threadNode(repository: Repository, thread: readonly InlineComment[]): object {
  const [head] = thread;
  return {
    ...head,
    isOutdated: head?.outdated,
    diffSide: 'RIGHT',
    comments: (page: Page) => connection(thread, page, (one) => inlineNode(repository, one)),
  };
}

function reviewNode(repository: Repository, review: SubmittedReview): object {
  const { author, comments: all } = review;
  return {
    ...review,
    __typename: 'PullRequestReview',
    author: actorNode(repository, author),
    comments: (page: Page) => connection(all, page, (one) => inlineNode(repository, one)),
  };
}

function inlineNode(repository: Repository, comment: InlineComment): object {
  return {
    ...comment,
    __typename: 'PullRequestReviewComment',
    id: `PRRC_${comment.id}`,
    pullRequestReview: { url: comment.reviewUrl },
    author: actorNode(repository, comment.author),
  };
}

/** GraphQL shows the logins of bots without “[bot]”, which REST and events have. */
function actorNode({ account }: Repository, login: string | null): object | null {
  if (login === null) return null;
  const { id, type } = account(login);
  return { __typename: type, login: login.replace(/\[bot\]$/, ''), databaseId: id };
}

function commentNode(repository: Repository, comment: Comment): object {
  return {
    __typename: 'IssueComment',
    ...{ id: comment.node_id, body: comment.body, url: comment.html_url },
    ...{ createdAt: comment.created_at, publishedAt: comment.created_at },
    isMinimized: comment.isMinimized,
    viewerDidAuthor: comment.author === repository.viewer.login,
    author: actorNode(repository, comment.author),
    editor: actorNode(repository, comment.editor),
    lastEditedAt: comment.editor === null ? null : comment.updated_at,
  };
}

function noNode(id: string): FieldError {
  return notFound(`a node with the global id of '${id}'`);
}

function notFound(what: string): FieldError {
  return new FieldError('NOT_FOUND', `Could not resolve to ${what}.`);
}
