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

interface Page {
  readonly last?: number;
  readonly before?: string;
}

interface PageFromStart {
  readonly first?: number;
  readonly after?: string | null;
}

/** Comments on a page. */
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
    comments: (page: Page) => comments(repository, repository.listed(issue), page),
    headRefOid: issue.commits.at(-1),
    headRefName: issue.branch,
    isCrossRepository: issue.fork !== undefined,
    baseRefName: 'main',
    mergeable: issue.mergeable,
    reviews: ({ last }: Page) =>
      newest(repository.reviewsOf(issue.number), last, (one) => reviewNode(repository, one)),
    reviewThreads: ({ last }: Page) =>
      newest(repository.threadsOf(issue.number), last, (one) => threadNode(repository, one)),
  };
}

/** Those at the end of a list. */
function newest<T>(all: readonly T[], last: number | undefined, toNode: (one: T) => object) {
  if (last === undefined || last > MAX_NODES) return wrongSize(last);
  const pageInfo = { hasPreviousPage: all.length > last };
  return { nodes: all.slice(-last).map(toNode), pageInfo, totalCount: all.length };
}

function threadNode(repository: Repository, thread: readonly InlineComment[]): object {
  const [head] = thread;
  return {
    ...head,
    isOutdated: head?.outdated,
    diffSide: 'RIGHT',
    comments({ first, last }: Page & PageFromStart) {
      const toNode = (one: InlineComment): object => inlineNode(repository, one);
      if (first === undefined) return newest(thread, last, toNode);
      return { nodes: thread.slice(0, first).map(toNode), pageInfo: {} };
    },
  };
}

/** https://docs.github.com/en/graphql/guides/using-pagination-in-the-graphql-api */
function comments(repository: Repository, all: readonly Comment[], { last, before }: Page): object {
  if (last === undefined || last > MAX_NODES) return wrongSize(last);
  const earlier = all.filter(({ id }) => typeof before !== 'string' || id < Number(atob(before)));
  const page = earlier.slice(-last);
  return {
    nodes: page.map((one) => commentNode(repository, one)),
    pageInfo: {
      hasPreviousPage: page.length < earlier.length,
      startCursor: page[0] === undefined ? null : btoa(String(page[0].id)),
    },
  };
}

function wrongSize(size = 0): FieldError {
  const message = `Requesting ${size} records on the connection, of ${MAX_NODES} at most.`;
  return new FieldError('EXCESSIVE_PAGINATION', message);
}

function reviewNode(repository: Repository, review: SubmittedReview): object {
  const { author, comments: all } = review;
  return {
    ...review,
    __typename: 'PullRequestReview',
    author: actorNode(repository, author),
    comments({ first, after }: PageFromStart) {
      if (first === undefined || first > MAX_NODES) return wrongSize(first);
      const later = all.filter((one) => typeof after !== 'string' || one.id > Number(atob(after)));
      const page = later.slice(0, first);
      const last = page.at(-1);
      return {
        nodes: page.map((one) => inlineNode(repository, one)),
        pageInfo: {
          hasNextPage: page.length < later.length,
          endCursor: last === undefined ? null : btoa(String(last.id)),
        },
      };
    },
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
    id: comment.node_id,
    body: comment.body,
    url: comment.html_url,
    isMinimized: comment.isMinimized,
    createdAt: comment.created_at,
    publishedAt: comment.created_at,
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
