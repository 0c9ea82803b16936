import * as z from 'zod/mini';
import { anyList, anyText, commitSha, pageInfo } from './responses.ts';

// What was written on an issue or pull request. The aliases of the queries are our names.

/** Of each, the newest are read: with the bodies of more, an answer could be too large. */
export const MOST_COMMENTS = 30;
export const MOST_REVIEWS = 100;
export const MOST_THREADS = 100;

const POST_FIELDS = `url body isHidden: isMinimized
  author { type: __typename login ... on User { id: databaseId } ... on Bot { id: databaseId } }`;
const LINES = 'path subjectType line startLine originalLine originalStartLine';
const PAGE = 'pageInfo { hasMore: hasPreviousPage } nodes';
const COMMENTS = `comments(last: ${MOST_COMMENTS}) { ${PAGE} { ${POST_FIELDS} at: publishedAt } }`;

const CONVERSATION = `query ($owner: String!, $repo: String!, $number: Int!) {
  repository(owner: $owner, name: $repo) {
    page: issueOrPullRequest(number: $number) {
      ... on Issue { ${COMMENTS} }
      ... on PullRequest {
        sha: headRefOid branch: headRefName base: baseRefName
        mergeable isElsewhere: isCrossRepository
        ${COMMENTS}
        reviews(last: ${MOST_REVIEWS}) { ${PAGE} { ${POST_FIELDS} at: submittedAt state } }
        threads: reviewThreads(last: ${MOST_THREADS}) {
          ${PAGE} {
            isResolved isOutdated ${LINES}
            first: comments(first: 1) { nodes { url diffHunk } }
            comments(last: ${MOST_COMMENTS}) {
              totalCount
              nodes { ${POST_FIELDS} at: publishedAt state review: pullRequestReview { url } }
            }
          }
        }
      }
    }
  }
}`;

/** Twenty at once: each has a part of a diff, of whatever length. */
const REVIEW = `query ($id: ID!, $cursor: String) {
  review: node(id: $id) {
    ... on PullRequestReview {
      comments(first: 20, after: $cursor) {
        pageInfo { hasMore: hasNextPage cursor: endCursor }
        nodes {
          ${POST_FIELDS} at: publishedAt state replyTo { id }
          isOutdated: outdated ${LINES} diffHunk
        }
      }
    }
  }
}`;

const post = z.object({
  ...{ url: z.url(), body: z.string(), isHidden: z.boolean(), state: z.optional(z.string()) },
  author: z.nullable(z.object({ type: z.string(), login: z.string(), id: z.nullish(z.number()) })),
  /** Null for a draft. */
  at: z.nullable(z.string()),
  review: z.nullish(z.object({ url: z.string() })),
});

function toPost({ url, body, author, at, state = '', review }: z.infer<typeof post>) {
  return {
    /** Its kind and ID, as records have them, such as `review-comment:12`. */
    key: parseKey(url),
    body,
    state,
    /** NaN if GitHub does not tell. */
    at: Date.parse(at ?? ''),
    /** The key of the review that an inline comment in a thread belongs to. */
    review: parseKey(review?.url ?? ''),
    author: author && {
      type: author.type,
      // GraphQL leaves it out.
      login: author.type === 'Bot' ? `${author.login}[bot]` : author.login,
      id: author.id ?? null,
    },
  };
}
export type Post = Readonly<ReturnType<typeof toPost>>;

/** Without drafts, which the owner of a personal token sees, and without what was hidden. */
function toPublicPosts(all: readonly z.infer<typeof post>[]): readonly Post[] {
  return all.filter(({ isHidden, state }) => !isHidden && state !== 'PENDING').map(toPost);
}

const KINDS: Readonly<Record<string, string>> = {
  issuecomment: 'comment',
  discussion_r: 'review-comment',
  pullrequestreview: 'review',
};

/** In GraphQL, `databaseId` has only 32 bits. */
function parseKey(url: string): string {
  const [, kind = '', id = ''] = /#([a-z_]+)-?(\d+)$/.exec(url) ?? [];
  return `${KINDS[kind] ?? ''}:${id}`;
}

const lineNumber = z.nullable(z.number());
const onLines = z.object({
  ...{ path: z.string(), isOutdated: z.boolean() },
  /** Of a comment on a whole file `FILE`; even that has an original line. */
  subjectType: anyText,
  ...{ line: lineNumber, startLine: lineNumber },
  ...{ originalLine: lineNumber, originalStartLine: lineNumber },
});

function toLocation({ path, isOutdated, ...on }: z.infer<typeof onLines>, diffHunk: string) {
  const [now, startNow] =
    on.line === null ? [on.originalLine, on.originalStartLine] : [on.line, on.startLine];
  const [line, startLine] = on.subjectType === 'FILE' ? [null, null] : [now, startNow];
  return { path, line, startLine, isOutdated, diffHunk };
}
/** The lines that it is on now, or else those that it was written on. `diffHunk` ends with them. */
export type CodeLocation = Readonly<ReturnType<typeof toLocation>>;

const thread = z.pipe(
  z.extend(onLines, {
    isResolved: z.boolean(),
    first: z.object({ nodes: z.array(z.object({ url: z.string(), diffHunk: z.string() })) }),
    comments: z.object({ totalCount: z.number(), nodes: anyList(post) }),
  }),
  z.transform(({ isResolved, first, comments: { totalCount, nodes }, ...on }) => {
    const [{ url, diffHunk } = { url: '', diffHunk: '' }] = first.nodes;
    return {
      isResolved,
      location: toLocation(on, diffHunk),
      first: parseKey(url),
      older: totalCount - nodes.length,
      posts: toPublicPosts(nodes),
    };
  }),
);
export type Thread = Readonly<z.infer<typeof thread>>;

const posts = z.pipe(
  z.object({ pageInfo, nodes: anyList(post) }),
  z.transform(({ pageInfo: { hasMore }, nodes }) => ({ hasMore, all: toPublicPosts(nodes) })),
);
const threads = z.pipe(
  z.object({ pageInfo, nodes: anyList(thread) }),
  z.transform(({ pageInfo: { hasMore }, nodes }) => ({ hasMore, all: nodes as readonly Thread[] })),
);
const conversation = z.object({
  comments: posts,
  // An issue has none of these.
  sha: z.optional(commitSha),
  branch: z.optional(z.string()),
  base: z.optional(z.string()),
  /** Whether the branch is in another repository, or that was deleted. */
  isElsewhere: z.optional(z.boolean()),
  /** `MERGEABLE`, `CONFLICTING`, or `UNKNOWN` until GitHub has computed it. */
  mergeable: z.optional(z.string()),
  reviews: z.optional(posts),
  threads: z.optional(threads),
});
export type Conversation = Readonly<z.infer<typeof conversation>>;

export const conversationQuery = {
  query: CONVERSATION,
  answer: z.pipe(
    z.object({ repository: z.object({ page: conversation }) }),
    z.transform(({ repository }) => repository.page),
  ),
};

const inlinePost = z.pipe(
  z.extend(post, {
    ...onLines.shape,
    diffHunk: z.string(),
    replyTo: z.nullable(z.object({ id: z.string() })),
  }),
  z.transform(({ replyTo, diffHunk, ...one }) => {
    return { ...toPost(one), isReply: replyTo !== null, location: toLocation(one, diffHunk) };
  }),
);
export type InlinePost = Readonly<z.infer<typeof inlinePost>>;

/** All of it, or none: a part would be misleading. */
export const reviewQuery = {
  query: REVIEW,
  answer: z.pipe(
    z.object({
      review: z.object({ comments: z.object({ pageInfo, nodes: z.array(inlinePost) }) }),
    }),
    z.transform(({ review }) => review.comments),
  ),
};
