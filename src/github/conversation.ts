import * as z from 'zod/mini';
import { commitSha, listOf } from '../schema.ts';

// What people and programs have said on an issue or pull request, as GitHub's API tells it: comments, reviews and their
// threads. The schema of GraphQL: https://docs.github.com/en/graphql/reference.

/** The newest ones. With the bodies of more, an answer could be too large. */
export const MOST_COMMENTS = 30;
export const MOST_REVIEWS = 100;
/** Of each, the newest comments are read. */
export const MOST_THREADS = 100;

const ACCOUNT = '... on User { databaseId } ... on Bot { databaseId }';
/** An inline comment is created as a draft, and published with its review: only the latter time counts. */
const WRITTEN = `url isMinimized lastEditedAt author { __typename login ${ACCOUNT} } editor { ${ACCOUNT} }`;
/** The part of the diff is that of the first comment; each further one would repeat it. */
const THREADS = `
  pageInfo { hasPreviousPage startCursor }
  nodes {
    isResolved isOutdated path line startLine originalLine originalStartLine
    first: comments(first: 1) { nodes { ${WRITTEN} diffHunk } }
    comments(last: ${MOST_COMMENTS}) {
      totalCount
      nodes { ${WRITTEN} body publishedAt state pullRequestReview { url } }
    }
  }`;
const COMMENTS = `comments(last: ${MOST_COMMENTS}) {
  pageInfo { hasPreviousPage }
  nodes { ${WRITTEN} body publishedAt }
}`;

const CONVERSATION = `query ($owner: String!, $repo: String!, $number: Int!) {
  repository(owner: $owner, name: $repo) {
    issueOrPullRequest(number: $number) {
      ... on Issue { ${COMMENTS} }
      ... on PullRequest {
        headRefOid headRefName baseRefName
        mergeable
        ${COMMENTS}
        reviews(last: ${MOST_REVIEWS}) {
          pageInfo { hasPreviousPage }
          nodes { ${WRITTEN} body publishedAt: submittedAt state }
        }
        reviewThreads(last: ${MOST_THREADS}) { ${THREADS} }
      }
    }
  }
}`;

const OLDER_THREADS = `query ($owner: String!, $repo: String!, $number: Int!, $before: String) {
  repository(owner: $owner, name: $repo) {
    pullRequest(number: $number) {
      reviewThreads(last: ${MOST_THREADS}, before: $before) { ${THREADS} }
    }
  }
}`;

const lineNumber = z.nullable(z.number());
const databaseId = z.optional(z.nullable(z.number()));
const pageInfo = z.object({ hasPreviousPage: z.boolean() });
const signed = z.object({
  url: z.url(),
  /** Hidden by somebody who may. */
  isMinimized: z.boolean(),
  lastEditedAt: z.nullable(z.string()),
  /** Null if the account was deleted. GraphQL leaves “[bot]” out of logins. */
  author: z.nullable(z.object({ __typename: z.string(), login: z.string(), databaseId })),
  editor: z.nullable(z.object({ databaseId })),
});
/** Whose it is. */
export type Signed = Readonly<z.infer<typeof signed>>;

const written = z.extend(signed, {
  body: z.string(),
  /** ISO 8601, in whole seconds. Null for a draft. */
  publishedAt: z.nullable(z.string()),
});
export type Post = Readonly<z.infer<typeof written>>;

/** `PENDING` is a draft, which only its author sees. */
const state = z.string();
const review = z.extend(written, { state });
export type PostedReview = Readonly<z.infer<typeof review>>;

const threadComment = z.extend(written, {
  state,
  pullRequestReview: z.nullish(z.object({ url: z.string() })),
});
export type ThreadComment = Readonly<z.infer<typeof threadComment>>;

const first = z.extend(signed, { diffHunk: z.string() });
const thread = z.object({
  isResolved: z.boolean(),
  isOutdated: z.boolean(),
  path: z.string(),
  line: lineNumber,
  startLine: lineNumber,
  originalLine: lineNumber,
  originalStartLine: lineNumber,
  first: z.object({ nodes: z.array(first) }),
  comments: z.object({ totalCount: z.number(), nodes: listOf(threadComment) }),
});
export type ReviewThread = Readonly<z.infer<typeof thread>>;

const threads = z.object({
  pageInfo: z.extend(pageInfo, { startCursor: z.nullish(z.string()) }),
  /** The oldest first. */
  nodes: listOf(thread),
});
export type ThreadPage = Readonly<z.infer<typeof threads>>;

const conversation = z.object({
  comments: z.object({ pageInfo, nodes: listOf(written) }),
  /** An issue has none of these. */
  headRefOid: z.optional(commitSha),
  headRefName: z.optional(z.string()),
  baseRefName: z.optional(z.string()),
  /** `MERGEABLE`, `CONFLICTING`, or `UNKNOWN` until GitHub has computed it. */
  mergeable: z.optional(z.string()),
  reviews: z.optional(z.object({ pageInfo, nodes: listOf(review) })),
  reviewThreads: z.optional(threads),
});
export type Conversation = Readonly<z.infer<typeof conversation>>;

export const conversationAt = {
  query: CONVERSATION,
  answer: z.object({ repository: z.object({ issueOrPullRequest: conversation }) }),
};

export const threadsBefore = {
  query: OLDER_THREADS,
  answer: z.object({
    repository: z.object({ pullRequest: z.object({ reviewThreads: threads }) }),
  }),
};
