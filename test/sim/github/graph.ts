// The data that GraphQL can read, as objects. A field is a value or a function of its arguments.

import { connection, FieldError } from './connection.ts';
import type { Comment, Issue } from './issues.ts';
import type { Variables } from './query.ts';
import type { Reactions } from './reactions.ts';
import type { Repository } from './repository.ts';

const MAX_NODES = 100;

export function queryRoot(repository: Repository): object {
  const { name: fullName, issues, findNode } = repository;

  function node(id: unknown): object {
    const comment = findNode(String(id));
    if (comment !== undefined) return commentNode(repository, comment);
    return noNode(id);
  }

  return {
    __typename: 'Query',
    repository({ owner, name }: Variables) {
      if (`${owner}/${name}`.toLowerCase() !== fullName.toLowerCase()) {
        return notFound(`a Repository with the name '${owner}/${name}'`);
      }
      return {
        __typename: 'Repository',
        issueOrPullRequest({ number }: Variables) {
          const issue = issues.get(Number(number));
          if (issue !== undefined) return issueNode(repository, issue);
          return notFound(`an issue or pull request with the number of ${number}`);
        },
      };
    },
    nodes({ ids }: Variables) {
      const all = [ids].flat();
      if (all.length <= MAX_NODES) return all.map(node);
      const message = `You may not provide more than ${MAX_NODES} node ids; you provided ${all.length}.`;
      return new FieldError('ARGUMENT_LIMIT', message);
    },
  };
}

export function mutationRoot(repository: Repository, reactions: Reactions): object {
  const { viewer, findNode, minimizeComment } = repository;
  return {
    __typename: 'Mutation',
    /** The second reaction of a kind gets the same response as the first one. */
    addReaction({ input }: Variables) {
      const { subjectId, content } = Object(input);
      const id = String(subjectId);
      const name = String(content).toLowerCase();
      reactions.add({ subject: 'review', id, content: name, user: viewer.login });
      const reaction = { __typename: 'Reaction', content };
      return { __typename: 'AddReactionPayload', clientMutationId: null, reaction };
    },
    minimizeComment({ input }: Variables) {
      const { subjectId } = Object(input);
      const comment = findNode(String(subjectId));
      if (comment === undefined) return noNode(subjectId);
      minimizeComment(comment.id);
      return { __typename: 'MinimizeCommentPayload', clientMutationId: null };
    },
  };
}

function issueNode(repository: Repository, issue: Issue): object {
  return {
    __typename: issue.pullRequest ? 'PullRequest' : 'Issue',
    comments(page: Variables) {
      const items = repository
        .listed(issue)
        .map((one) => ({ order: one.id, node: commentNode(repository, one) }));
      return connection({ name: 'comments', type: 'IssueCommentConnection' }, items, page);
    },
  };
}

function commentNode({ viewer }: Repository, comment: Comment): object {
  return {
    __typename: 'IssueComment',
    id: comment.node_id,
    body: comment.body,
    url: comment.html_url,
    isMinimized: comment.isMinimized,
    viewerDidAuthor: comment.author === viewer.login,
  };
}

function noNode(id: unknown): FieldError {
  return notFound(`a node with the global id of '${id}'`);
}

function notFound(what: string): FieldError {
  return new FieldError('NOT_FOUND', `Could not resolve to ${what}.`);
}
