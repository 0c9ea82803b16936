import * as z from 'zod/mini';
import { anyText, commitSha, listOf } from '../schema.ts';

// What is asked of GitHub with GraphQL, and the shape of its answers; conversation.ts and runs.ts have those that few runs need. Any other shape
// is that of a proxy or a captive portal. https://docs.github.com/en/graphql/reference and /en/rest describe them.

export interface Query<T> {
  readonly query: string;
  readonly answer: z.ZodMiniType<T>;
}

/** Any response of GraphQL is an object. */
export const graphqlData = z.record(z.string(), z.unknown());

// Comments.

const commentsThere = (page: string, fields: string): string => `
  repository(owner: $owner, name: $repo) {
    issueOrPullRequest(number: $number) {
      ... on Issue { comments(${page}) { ${fields} } }
      ... on PullRequest { comments(${page}) { ${fields} } }
    }
  }`;
const there = <T extends z.core.SomeType>(fields: T) =>
  z.object({ repository: z.object({ issueOrPullRequest: z.object({ comments: fields }) }) });

const ACTOR = '{ ... on User { databaseId } ... on Bot { databaseId } }';
/** By its ID, because GraphQL leaves “[bot]” out of logins. Null if the account was deleted. */
const actor = z.nullable(z.object({ databaseId: z.optional(z.nullable(z.number())) }));
const edits = { lastEditedAt: z.nullable(z.string()), author: actor, editor: actor };

/** Comments whose bodies are read at once: each has up to 64 KiB. */
export const COMMENTS_AT_ONCE = 50;

/** Without bodies: those of others can be of any size. */
export const ownIds = {
  query: `query ($owner: String!, $repo: String!, $number: Int!, $before: String) {
  ${commentsThere(
    `last: ${COMMENTS_AT_ONCE}, before: $before`,
    'nodes { id viewerDidAuthor } pageInfo { hasPreviousPage startCursor }',
  )}
}`,
  answer: there(
    z.object({
      nodes: z.array(z.object({ id: z.string(), viewerDidAuthor: z.boolean() })),
      pageInfo: z.object({ hasPreviousPage: z.boolean(), startCursor: z.nullable(z.string()) }),
    }),
  ),
};

const foundComment = z.object({ id: z.string(), body: z.string(), url: z.url() });

export const texts = {
  query: `query ($ids: [ID!]!) {
  nodes(ids: $ids) {
    ... on IssueComment { id body url createdAt lastEditedAt author ${ACTOR} editor ${ACTOR} }
  }
}`,
  /** Null for a comment that was deleted meanwhile. */
  answer: z.object({
    nodes: z.array(z.nullable(z.extend(foundComment, { createdAt: z.string(), ...edits }))),
  }),
};

const newestComment = z.extend(foundComment, {
  isMinimized: z.boolean(),
  viewerDidAuthor: z.boolean(),
});
export type NewestComment = Readonly<z.infer<typeof newestComment>>;

export const newestComments = {
  query: `query ($owner: String!, $repo: String!, $number: Int!) {
  ${commentsThere('last: 30', 'nodes { id body url isMinimized viewerDidAuthor }')}
}`,
  answer: there(z.object({ nodes: z.array(newestComment) })),
};

/** Of REST. */
export const createdComment = z.object({
  id: z.number(),
  node_id: z.string(),
  html_url: z.url(),
  created_at: z.string(),
});
export const editedComment = z.object({ id: z.number() });

export const ADD_REACTION = `mutation ($id: ID!, $content: ReactionContent!) {
  addReaction(input: { subjectId: $id, content: $content }) { clientMutationId }
}`;

// Pull requests, commits and people, of REST.

const closing = { state: anyText, merged_at: z.catch(z.nullish(z.string()), null) };
export const pull = z.object({
  head: z.object({ sha: commitSha, ref: z.string() }),
  commits: z.number(),
  ...closing,
});

const repositoryName = z.object({ full_name: z.string() });
/** The repository of the head is null if it was deleted. */
export const pullsOfCommit = listOf(
  z.object({
    number: z.number(),
    head: z.object({ sha: commitSha, ref: z.string(), repo: repositoryName }),
    base: z.object({ repo: repositoryName }),
    ...closing,
  }),
);

export const comparison = z.object({
  status: z.string(),
  total_commits: z.number(),
  /** Without those that cannot be read. */
  commits: listOf(
    z.object({
      parents: z.array(z.unknown()),
      commit: z.object({ message: z.string() }),
      /** Null if no account has the address. */
      author: z.catch(z.nullable(z.object({ login: z.string() })), null),
    }),
  ),
  /** Null if it cannot be read: a part of it would say that the others did not change. */
  files: z.catch(
    z.nullable(
      z.array(z.object({ filename: z.string(), previous_filename: z.nullish(z.string()) })),
    ),
    null,
  ),
});
/** What has changed from one commit to another. GitHub lists at most 250 commits and 300 files. */
export type Comparison = Readonly<z.infer<typeof comparison>>;

export const collaborator = z.object({
  user: z.nullable(
    z.object({
      id: z.number(),
      login: z.string(),
      permissions: z.record(z.string(), z.unknown()),
    }),
  ),
});
