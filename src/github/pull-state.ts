import * as z from 'zod/mini';
import { commitSha, listOf } from '../schema.ts';

// The state of a pull request as GitHub's API tells it: the newest commit, and the threads of its review. The schema of GraphQL: https://docs.github.com/en/graphql/reference.

/** The newest ones, and of each the newest comments. With the bodies of more, an answer could be too large. */
const MOST_THREADS = 100;
const MOST_COMMENTS = 30;

/** The part of the diff is that of the first comment; each further one would repeat it. */
const PULL_STATE = `query ($owner: String!, $repo: String!, $number: Int!) {
  repository(owner: $owner, name: $repo) {
    pullRequest(number: $number) {
      headRefOid
      mergeable
      reviewThreads(last: ${MOST_THREADS}) {
        pageInfo { hasPreviousPage }
        nodes {
          isResolved isOutdated path line startLine originalLine originalStartLine
          first: comments(first: 1) { nodes { url diffHunk } }
          comments(last: ${MOST_COMMENTS}) {
            pageInfo { hasPreviousPage }
            nodes {
              url body state isMinimized lastEditedAt
              author { __typename login ... on User { databaseId } ... on Bot { databaseId } }
              editor { ... on User { databaseId } ... on Bot { databaseId } }
            }
          }
        }
      }
    }
  }
}`;

const lineNumber = z.nullable(z.number());
const pageInfo = z.object({ hasPreviousPage: z.boolean() });
const databaseId = z.optional(z.nullable(z.number()));
const threadComment = z.object({
  url: z.url(),
  body: z.string(),
  /** `PENDING` is a draft, which only its author sees. */
  state: z.string(),
  isMinimized: z.boolean(),
  lastEditedAt: z.nullable(z.string()),
  /** Null if the account was deleted. GraphQL leaves “[bot]” out of logins. */
  author: z.nullable(z.object({ __typename: z.string(), login: z.string(), databaseId })),
  editor: z.nullable(z.object({ databaseId })),
});
export type ThreadComment = Readonly<z.infer<typeof threadComment>>;

const thread = z.object({
  isResolved: z.boolean(),
  isOutdated: z.boolean(),
  path: z.string(),
  ...{ line: lineNumber, startLine: lineNumber },
  ...{ originalLine: lineNumber, originalStartLine: lineNumber },
  first: z.object({ nodes: z.array(z.object({ url: z.url(), diffHunk: z.string() })) }),
  comments: z.object({ pageInfo, nodes: listOf(threadComment) }),
});
export type ReviewThread = Readonly<z.infer<typeof thread>>;

const stateOfPull = z.object({
  headRefOid: commitSha,
  /** `MERGEABLE`, `CONFLICTING`, or `UNKNOWN` until GitHub has computed it. */
  mergeable: z.string(),
  /** The oldest first. */
  reviewThreads: z.object({ pageInfo, nodes: listOf(thread) }),
});
export type PullState = Readonly<z.infer<typeof stateOfPull>>;
export const pullState = {
  query: PULL_STATE,
  answer: z.object({ repository: z.object({ pullRequest: stateOfPull }) }),
};
