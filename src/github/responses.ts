import * as z from 'zod/mini';
import { parseState } from '../pull-request.ts';
import { PERMISSIONS, type Permission } from '../runner/inputs.ts';

// What the API of GitHub is asked, and the shape of its answers. Any other shape is that of a proxy
// or a captive portal. checks.ts and conversation.ts have those that few runs need.

/** A call of REST below the repository, such as `GET pulls/{number}`, or one of GraphQL. */
export type Call<T> = { readonly answer: z.ZodMiniType<T> } & (
  | { readonly route: string; readonly wantsRedirect?: boolean }
  | { readonly query: string; readonly isBackwards?: boolean }
);

/** Without the entries that cannot be read: one of them says nothing about the rest. */
export function anyList<T extends z.core.SomeType>(schema: T) {
  return z.pipe(
    z.array(z.catch(z.optional(schema), undefined)),
    z.transform((list) => list.filter((entry) => entry !== undefined)),
  );
}

export const anyText = z.catch(z.string(), '');

export const commitSha = z.string().check(z.regex(/^[0-9a-f]{40,64}$/));

export const anyObject = z.record(z.string(), z.unknown());

export const reactionMutation = {
  query: `mutation ($id: ID!, $content: ReactionContent!) {
  addReaction(input: { subjectId: $id, content: $content }) { clientMutationId }
}`,
  answer: anyObject,
};

/** By its ID, because GraphQL leaves “[bot]” out of logins. */
const ACTOR = '{ ... on User { databaseId } ... on Bot { databaseId } }';
const actor = z.nullable(z.object({ databaseId: z.nullish(z.number()) }));

/** Fifty at once: each has up to 64 Ki characters. */
const PAGE_OF_COMMENTS = `comments(last: 50, before: $cursor) {
  pageInfo { hasMore: hasPreviousPage cursor: startCursor }
  nodes {
    id body url createdAt isMinimized viewerDidAuthor
    lastEditedAt author ${ACTOR} editor ${ACTOR}
  }
}`;
const comment = z.pipe(
  z.object({
    // `createdAt` is in whole seconds.
    ...{ id: z.string(), body: z.string(), url: z.url(), createdAt: z.string() },
    ...{ isMinimized: z.boolean(), viewerDidAuthor: z.boolean() },
    ...{ lastEditedAt: z.nullable(z.string()), author: actor, editor: actor },
  }),
  z.transform(({ lastEditedAt, author, editor, ...one }) => {
    // By somebody else, and last.
    return { ...one, isEdited: lastEditedAt !== null && editor?.databaseId !== author?.databaseId };
  }),
);
/** `cursor`: where the next page begins. */
export const pageInfo = z.object({
  hasMore: z.boolean(),
  cursor: z.catch(z.nullable(z.string()), null),
});

export const commentsQuery = {
  isBackwards: true,
  query: `query ($owner: String!, $repo: String!, $number: Int!, $cursor: String) {
  repository(owner: $owner, name: $repo) {
    page: issueOrPullRequest(number: $number) {
      ... on Issue { ${PAGE_OF_COMMENTS} }
      ... on PullRequest { ${PAGE_OF_COMMENTS} }
    }
  }
}`,
  answer: z.pipe(
    z.object({
      repository: z.object({
        page: z.object({ comments: z.object({ pageInfo, nodes: z.array(comment) }) }),
      }),
    }),
    z.transform(({ repository: { page } }) => {
      const { pageInfo, nodes } = page.comments;
      return { pageInfo, nodes: nodes.filter(({ viewerDidAuthor }) => viewerDidAuthor) };
    }),
  ),
};

export const lastEditQuery = {
  query: 'query ($id: ID!) { node(id: $id) { ... on Comment { lastEditedAt } } }',
  answer: z.object({ node: z.object({ lastEditedAt: z.nullable(z.string()) }) }),
};

const createdComment = z.pipe(
  z.object({ id: z.number(), node_id: z.string(), html_url: z.url() }),
  z.transform(({ id, node_id: nodeId, html_url: url }) => ({ id, nodeId, url })),
);
export type CreatedComment = Readonly<z.infer<typeof createdComment>>;

/** Null if it was deleted. */
const repo = z.nullish(z.object({ full_name: z.string() }));
const pullRequest = z.pipe(
  z.object({
    ...{ number: z.number(), state: anyText, merged_at: z.catch(z.nullish(z.string()), null) },
    head: z.object({ sha: commitSha, ref: z.string(), repo }),
    base: z.object({ repo }),
    // Lists leave it out.
    commits: z.catch(z.number(), 0),
  }),
  z.transform(({ number, head: { sha, ref, repo }, base, state, merged_at, commits }) => {
    const repositories = [repo?.full_name, base.repo?.full_name];
    return { number, sha, ref, state: parseState(state, merged_at), commits, repositories };
  }),
);

const comparison = z.object({
  status: z.string(),
  total_commits: z.number(),
  commits: anyList(
    z.object({
      parents: z.array(z.unknown()),
      commit: z.object({ message: z.string() }),
      /** Null if no account has the address. */
      author: z.catch(z.nullable(z.object({ login: z.string(), type: z.string() })), null),
    }),
  ),
  /** Null if one cannot be read: a part would say that the others did not change. */
  files: z.catch(
    z.nullable(
      z.array(z.object({ filename: z.string(), previous_filename: z.nullish(z.string()) })),
    ),
    null,
  ),
});
/** GitHub lists at most 250 commits and 300 files. */
export type Comparison = Readonly<z.infer<typeof comparison>>;

const collaborator = z.pipe(
  z.object({
    user: z.nullable(z.object({ id: z.number(), login: z.string(), permissions: anyObject })),
  }),
  z.transform(({ user }) => {
    if (user === null) return null;
    const { id, login, permissions } = user;
    // `role_name` may be custom, and `permission` has neither triage nor maintain.
    const has = (level: Permission) => permissions[level === 'write' ? 'push' : level] === true;
    return { id, login, permission: PERMISSIONS.findLast(has) ?? ('none' as const) };
  }),
);

export const ROUTES = {
  collaborator: { route: 'GET collaborators/{login}/permission', answer: collaborator },
  compare: { route: 'GET compare/{basehead}', answer: comparison },
  createComment: { route: 'POST issues/{number}/comments', answer: createdComment },
  updateComment: { route: 'PATCH issues/comments/{id}', answer: createdComment },
  jobLog: { route: 'GET actions/jobs/{id}/logs', wantsRedirect: true, answer: z.unknown() },
  pullRequest: { route: 'GET pulls/{number}', answer: pullRequest },
  pullRequestsWith: { route: 'GET commits/{sha}/pulls{?per_page}', answer: anyList(pullRequest) },
};
