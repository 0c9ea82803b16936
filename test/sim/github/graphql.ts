// The simulated part of GitHub's GraphQL API, https://docs.github.com/en/graphql/reference.

import { buildSchema, defaultFieldResolver, graphqlSync, parse, visit } from 'graphql';
import type { Answer, JournalEntry } from '../agent.ts';
import { FieldError } from './graph.ts';
import { readJson } from './repository.ts';
import type { Forbids } from './rest.ts';

const SCHEMA = buildSchema(`
  scalar URI
  scalar DateTime
  scalar GitObjectID
  type Query { repository(owner: String!, name: String!): Repository, node(id: ID!): Node }
  type Repository { issueOrPullRequest(number: Int!): IssueOrPullRequest }
  union IssueOrPullRequest = Issue | PullRequest
  type Issue { comments(last: Int, before: String): IssueCommentConnection! }
  type PullRequest {
    comments(last: Int, before: String): IssueCommentConnection!
    headRefOid: GitObjectID!, headRefName: String!, isCrossRepository: Boolean!
    baseRefName: String!, mergeable: MergeableState!
    reviews(last: Int): PullRequestReviewConnection!
    reviewThreads(last: Int): PullRequestReviewThreadConnection!
  }
  enum MergeableState { CONFLICTING MERGEABLE UNKNOWN }
  type PullRequestReviewConnection { nodes: [PullRequestReview], pageInfo: PageInfo! }
  enum PullRequestReviewState { APPROVED CHANGES_REQUESTED COMMENTED DISMISSED PENDING }
  type PullRequestReviewThreadConnection { nodes: [PullRequestReviewThread], pageInfo: PageInfo! }
  type PullRequestReviewThread {
    isResolved: Boolean!, isOutdated: Boolean!, path: String!, diffSide: DiffSide!
    line: Int, startLine: Int, originalLine: Int, originalStartLine: Int
    subjectType: PullRequestReviewThreadSubjectType!
    comments(first: Int, last: Int): PullRequestReviewCommentConnection!
  }
  enum DiffSide { LEFT RIGHT }
  enum PullRequestReviewThreadSubjectType { FILE LINE }
  type PageInfo {
    hasPreviousPage: Boolean!, startCursor: String, hasNextPage: Boolean!, endCursor: String
  }
  interface Node { id: ID! }
  interface Comment { lastEditedAt: DateTime }
  type IssueCommentConnection { nodes: [IssueComment], pageInfo: PageInfo! }
  type IssueComment implements Node & Comment {
    id: ID!, body: String!, url: URI!, isMinimized: Boolean!, viewerDidAuthor: Boolean!
    createdAt: DateTime!, publishedAt: DateTime, lastEditedAt: DateTime
    author: Actor, editor: Actor
  }
  type PullRequestReview implements Node & Comment {
    id: ID!, body: String!, url: URI!, isMinimized: Boolean!, state: PullRequestReviewState!
    submittedAt: DateTime, lastEditedAt: DateTime, author: Actor
    comments(first: Int, after: String): PullRequestReviewCommentConnection!
  }
  type PullRequestReviewCommentConnection {
    nodes: [PullRequestReviewComment], pageInfo: PageInfo!, totalCount: Int!
  }
  type PullRequestReviewComment implements Node & Comment {
    id: ID!, body: String!, url: URI!, isMinimized: Boolean!, outdated: Boolean!
    path: String!, diffHunk: String!, subjectType: PullRequestReviewThreadSubjectType!
    line: Int, startLine: Int, originalLine: Int, originalStartLine: Int
    publishedAt: DateTime, lastEditedAt: DateTime, author: Actor
    state: PullRequestReviewCommentState!
    pullRequestReview: PullRequestReview, replyTo: PullRequestReviewComment
  }
  enum PullRequestReviewCommentState { PENDING SUBMITTED }
  interface Actor { login: String! }
  type User implements Actor { login: String!, databaseId: Int }
  type Bot implements Actor { login: String!, databaseId: Int }

  type Mutation {
    addReaction(input: AddReactionInput!): AddReactionPayload
    minimizeComment(input: MinimizeCommentInput!): MinimizeCommentPayload
  }
  input AddReactionInput { subjectId: ID!, content: ReactionContent! }
  enum ReactionContent { THUMBS_UP THUMBS_DOWN LAUGH HOORAY CONFUSED HEART ROCKET EYES }
  type AddReactionPayload { clientMutationId: String }
  input MinimizeCommentInput { subjectId: ID!, classifier: ReportedContentClassifiers! }
  enum ReportedContentClassifiers { SPAM ABUSE OFF_TOPIC OUTDATED DUPLICATE RESOLVED }
  type MinimizeCommentPayload { clientMutationId: String }
`);

/** Only errors if the query is invalid, else the data, and an error for each missing value. */
export function graphql(rootValue: object, request: JournalEntry, forbids: Forbids): Answer {
  const { query, variables } = readJson(request);
  const { data, errors } = graphqlSync({
    ...{ schema: SCHEMA, source: String(query ?? ''), rootValue },
    variableValues: Object(variables),
    fieldResolver(source, given, context, info) {
      const isRoot = info.path.prev === undefined;
      if (isRoot && forbids(info.operation.operation === 'mutation')) {
        throw new FieldError('FORBIDDEN', 'Resource not accessible by integration');
      }
      return defaultFieldResolver(source, given, context, info);
    },
  });
  if (errors === undefined) return { body: { data } };
  const explained = errors.map((error) => {
    const { originalError: cause } = error;
    return { ...(cause instanceof FieldError && { type: cause.type }), ...error.toJSON() };
  });
  return { body: { ...(data !== undefined && { data }), errors: explained } };
}

/** A word for what the query does. */
export function operationOf(request: JournalEntry): string {
  const names = new Set<string>();
  try {
    const add = { Field: ({ name }: { name: { value: string } }) => void names.add(name.value) };
    visit(parse(String(readJson(request).query)), add);
  } catch {
    return 'other';
  }
  if (names.has('addReaction')) return 'react';
  if (names.has('minimizeComment')) return 'minimize';
  if (names.has('issueOrPullRequest') && names.has('publishedAt')) return 'said';
  if (names.has('diffHunk')) return 'review';
  if (names.has('comments')) return 'list';
  return names.has('lastEditedAt') ? 'edited' : 'other';
}
