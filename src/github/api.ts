import * as z from 'zod/mini';
import { PERMISSIONS, type Permission } from '../inputs.ts';
import { problemWithCertificates, type RunInfo, readProxy } from '../runner/environment.ts';
import type { Runtime } from '../runner/runtime.ts';
import { getOctokit, type Octokit } from '../vendor/actions-github.ts';
import { USER_AGENT } from '../version.ts';
import { CallLimits } from './call-limits.ts';
import { type GitHubAnswer, GitHubError, GraphQLError, isUnclear, refuseErrors } from './errors.ts';
import type { Account, Reactable } from './event.ts';
import { createFetch } from './fetch.ts';

// All calls to the API of GitHub.

/** A comment by the identity of the token. */
export interface OwnComment {
  readonly id: number;
  readonly nodeId: string;
  readonly body: string;
  readonly url: string;
  /** In milliseconds since 1970, rounded down to seconds by GitHub. */
  readonly updatedAt: number;
  /** All its bodies, the oldest first; the last one is `body`. */
  readonly versions: readonly string[];
}

export interface CommentsQuery {
  /** Known comments, which are read even if the list does not show them yet. */
  readonly nodeIds: readonly string[];
  /** Whether a comment with this body is wanted; of those that are read, an earlier one is enough. */
  readonly isOurs: (body: string) => boolean;
  /** Whether to read all pages, or only up to the newest one with a wanted comment. */
  readonly allPages: boolean;
  /** Whether to read earlier bodies as well; otherwise `versions` has only the current one. */
  readonly withVersions: boolean;
}

/** The permission of a person; `none` means less than triage. */
export interface Collaborator {
  /** Null if the account no longer exists. */
  readonly user: Pick<Account, 'id' | 'login'> | null;
  readonly permission: Permission | 'none';
}

export type ReactionContent = 'eyes' | 'rocket' | 'hooray' | 'confused';

export interface Reaction {
  readonly id: number;
  /** Whether this call added it: of several calls by one identity, only the first one does. */
  readonly isNew: boolean;
}

export interface GitHubOptions
  extends Pick<Runtime, 'env' | 'clock' | 'redact' | 'signal' | 'deferTierUp'>,
    Pick<RunInfo, 'repository' | 'apiUrl' | 'graphqlUrl'> {
  readonly token: string;
}

const PAGE_SIZE = 100;
/** GitHub takes no more than 2,500 comments on an issue or pull request. */
const MOST_PAGES = 100;
/** Sent with every call: the default version may change. */
const API_VERSION = { 'x-github-api-version': '2022-11-28' };

/** The newest first; `diff` is the whole body at that time. */
const VERSIONS = '... on IssueComment { userContentEdits(first: 100) { nodes { diff } } }';
/** Lists come without versions: those of comments by others can be of any size. */
const commentsQuery = (versions: string): string => `query (
  $owner: String!, $name: String!, $number: Int!, $before: String, $ids: [ID!]!
) {
  repository(owner: $owner, name: $name) {
    issueOrPullRequest(number: $number) {
      ... on Issue { comments(last: ${PAGE_SIZE}, before: $before) { ...page } }
      ... on PullRequest { comments(last: ${PAGE_SIZE}, before: $before) { ...page } }
    }
  }
  nodes(ids: $ids) { ...comment ${versions} }
}
fragment page on IssueCommentConnection {
  nodes { ...comment }
  pageInfo { hasPreviousPage startCursor }
}
fragment comment on IssueComment { id body url viewerDidAuthor updatedAt }`;

const time = z.pipe(z.iso.datetime({ offset: true }), z.transform(Date.parse));
const graphqlComment = z.object({
  id: z.string(),
  body: z.string(),
  url: z.string(),
  viewerDidAuthor: z.boolean(),
  updatedAt: time,
  userContentEdits: z.nullish(
    z.object({ nodes: z.array(z.nullable(z.object({ diff: z.nullable(z.string()) }))) }),
  ),
});
const noComment = z.pipe(
  z.strictObject({}),
  z.transform(() => null),
);
const commentsAnswer = z.object({
  data: z.object({
    repository: z.object({
      issueOrPullRequest: z.object({
        comments: z.object({
          nodes: z.array(graphqlComment),
          pageInfo: z.object({ hasPreviousPage: z.boolean(), startCursor: z.nullable(z.string()) }),
        }),
      }),
    }),
    /** Null for a deleted comment, and an object without fields for anything but a comment. */
    nodes: z.array(z.nullable(z.union([graphqlComment, noComment]))),
  }),
});
type CommentsData = z.infer<typeof commentsAnswer>['data'];
const restComment = z.object({
  id: z.number(),
  node_id: z.string(),
  body: z.catch(z.string(), ''),
  html_url: z.url(),
  updated_at: time,
});
const reactionAnswer = z.object({ id: z.number() });
const flag = z.catch(z.boolean(), false);
const collaboratorAnswer = z.object({
  permission: z.string(),
  role_name: z.catch(z.string(), ''),
  user: z.nullable(
    z.object({
      id: z.number(),
      login: z.string(),
      permissions: z.catch(
        z.nullable(z.object({ triage: flag, push: flag, maintain: flag, admin: flag })),
        null,
      ),
    }),
  ),
});

const ADD_REACTION = `mutation ($id: ID!, $content: ReactionContent!) {
  addReaction(input: { subjectId: $id, content: $content }) { clientMutationId }
}`;
const REACTION_ROUTES = {
  comment: '/repos/{owner}/{repo}/issues/comments/{id}/reactions',
  'review-comment': '/repos/{owner}/{repo}/pulls/comments/{id}/reactions',
} as const;

/** Connects when GitHub is first needed. */
export function connectOnce(options: GitHubOptions): () => Promise<GitHub> {
  let connected: Promise<GitHub> | undefined;
  return () => {
    connected ??= connect(options);
    return connected;
  };
}

/** Loads the client only now, because a run without calls to GitHub does not need it. */
async function connect(options: GitHubOptions): Promise<GitHub> {
  const { token, apiUrl: baseUrl, env, deferTierUp } = options;
  if (token === '') throw new GitHubError(401, 'github-token is empty');
  if (!/^[!-~]+$/.test(token)) {
    const why = 'github-token contains a space, a line break or a character outside ASCII';
    throw new GitHubError(401, why);
  }
  const unsafe = problemWithCertificates(env);
  if (unsafe !== undefined) throw new GitHubError(0, unsafe);
  // After some requests V8 starts to optimize, and the end of the run would wait for that for 20 ms.
  deferTierUp();
  try {
    const proxy = readProxy(env, new URL(baseUrl));
    if (proxy.kind === 'problem') throw new Error(proxy.problem);
    const octokit = await getOctokit(token, baseUrl, USER_AGENT, createFetch(proxy.value));
    return new Client(octokit, options);
  } catch (cause) {
    const why = 'its client could not be set up; check HTTPS_PROXY, HTTP_PROXY and NO_PROXY';
    throw new GitHubError(0, why, cause);
  }
}

/** What can be asked of GitHub. Each call rejects with a `GitHubError`. */
export type GitHub = Pick<Client, keyof Client>;

class Client {
  readonly #octokit: Octokit;
  readonly #options: GitHubOptions;
  readonly #limits: CallLimits;
  /** A part of the query of comments; empty on a host that does not keep earlier bodies. */
  #versions = VERSIONS;

  constructor(octokit: Octokit, options: GitHubOptions) {
    this.#octokit = octokit;
    this.#options = options;
    this.#limits = new CallLimits(options);
  }

  /**
   * Our comments on an issue or pull request, the oldest first. Makes one request per page, and another one
   * for the versions of comments that are not known yet.
   */
  async readComments(number: number, query: CommentsQuery): Promise<readonly OwnComment[]> {
    const found = new Map<number, OwnComment>();
    let before: string | null = null;
    let pages = 0;
    do {
      if (++pages > MOST_PAGES) throw new GitHubError(0, 'GitHub lists comments without end');
      // The first page includes the known comments.
      const ids: readonly string[] = before === null ? query.nodeIds : [];
      const data: CommentsData = await this.#readPage({ number, before, ids }, query.withVersions);
      const { nodes, pageInfo } = data.repository.issueOrPullRequest.comments;
      const unknown = nodes
        .filter(({ id, viewerDidAuthor }) => viewerDidAuthor && !query.nodeIds.includes(id))
        .map(({ id }) => id);
      const withVersions = query.withVersions
        ? await this.#readVersions({ number, before }, unknown)
        : [];
      for (const node of [...data.nodes, ...withVersions, ...nodes]) {
        const comment = node && this.#toOwn(node);
        if (comment === null || found.has(comment.id)) continue;
        // Someone may have replaced its whole text.
        if (comment.versions.some(query.isOurs)) found.set(comment.id, comment);
      }
      before = pageInfo.hasPreviousPage ? pageInfo.startCursor : null;
    } while (before !== null && (query.allPages || found.size === 0));
    return [...found.values()].sort((one, other) => one.id - other.id);
  }

  async createComment(number: number, body: string): Promise<OwnComment> {
    const route = 'POST /repos/{owner}/{repo}/issues/{number}/comments';
    return this.#ownComment(await this.#request(route, { number, body }));
  }

  /** Null if the comment no longer exists. */
  async updateComment(id: number, body: string): Promise<OwnComment | null> {
    const route = 'PATCH /repos/{owner}/{repo}/issues/comments/{id}';
    const answer = await orNull(this.#request(route, { id, body }));
    return answer === null ? null : this.#ownComment(answer);
  }

  async deleteComment(id: number): Promise<void> {
    await this.#request('DELETE /repos/{owner}/{repo}/issues/comments/{id}', { id });
  }

  /** Null for a review: GitHub does not return whether its reaction is new. */
  async react(to: Reactable, content: ReactionContent): Promise<Reaction | null> {
    if (to.kind === 'review') {
      // Only GraphQL has reactions to a review.
      const variables = { id: to.nodeId, content: content.toUpperCase() };
      await this.#request(this.#graphql, { query: ADD_REACTION, variables });
      return null;
    }
    const route = `POST ${REACTION_ROUTES[to.kind]}`;
    const answer = await this.#request(route, { id: to.id, content });
    return { id: parse(answer, reactionAnswer).id, isNew: answer.status === 201 };
  }

  async removeReaction(from: Reactable, reactionId: number): Promise<void> {
    if (from.kind === 'review') return;
    const route = `DELETE ${REACTION_ROUTES[from.kind]}/{reactionId}`;
    await this.#request(route, { id: from.id, reactionId });
  }

  /** Null if GitHub knows no permission of this person, or does not tell the token. */
  async collaborator(login: string): Promise<Collaborator | null> {
    const route = 'GET /repos/{owner}/{repo}/collaborators/{login}/permission';
    const answer = await orNull(this.#read(route, { login }, collaboratorAnswer));
    return answer === null ? null : toCollaborator(answer);
  }

  get #graphql(): string {
    return `POST ${this.#options.graphqlUrl}`;
  }

  async #readVersions(variables: object, ids: readonly string[]): Promise<CommentsData['nodes']> {
    if (ids.length === 0 || this.#versions === '') return [];
    return (await this.#readPage({ ...variables, ids }, true)).nodes;
  }

  async #readPage(variables: object, withVersions: boolean): Promise<CommentsData> {
    const [owner, name] = this.#options.repository.split('/');
    const versions = withVersions ? this.#versions : '';
    const question = { query: commentsQuery(versions), variables: { owner, name, ...variables } };
    try {
      return (await this.#read(this.#graphql, question, commentsAnswer)).data;
    } catch (error) {
      const isOfGraphQL = error instanceof GraphQLError;
      if (versions !== '' && isOfGraphQL && error.message.includes('userContentEdits')) {
        this.#versions = '';
        return this.#readPage(variables, false);
      }
      // Only a host without GraphQL responds like this.
      const hasNoGraphQL = error instanceof GitHubError && !isOfGraphQL && error.status === 404;
      if (!hasNoGraphQL) throw error;
      const why = 'this host has no GraphQL API, which the comment needs; set comment: false';
      throw new GitHubError(0, why, error);
    }
  }

  /** Null for a comment by others. */
  #toOwn(comment: z.infer<typeof graphqlComment>): OwnComment | null {
    const { id: nodeId, body, url, viewerDidAuthor, updatedAt, userContentEdits } = comment;
    // `databaseId` is a 32-bit field, but the IDs of comments are larger.
    const id = Number(/#issuecomment-(\d+)$/.exec(url)?.[1]);
    if (!viewerDidAuthor || !(id > 0)) return null;
    const edits = userContentEdits?.nodes.flatMap((edit) => edit?.diff ?? []) ?? [];
    const versions = [...edits.reverse().filter((version) => version !== body), body];
    return { id, nodeId, body, url: this.#options.redact(url), updatedAt, versions };
  }

  #ownComment(answer: GitHubAnswer): OwnComment {
    const { id, node_id, body, html_url, updated_at } = parse(answer, restComment);
    const url = this.#options.redact(html_url);
    return { id, nodeId: node_id, body, url, updatedAt: updated_at, versions: [body] };
  }

  /** Repeats a failed read once. The retry plugin of Octokit would repeat writes as well. */
  async #read<T>(route: string, parameters: object, schema: z.ZodMiniType<T>): Promise<T> {
    const read = async (): Promise<T> => parse(await this.#request(route, parameters), schema);
    try {
      return await read();
    } catch (error) {
      if (!isUnclear(error)) throw error;
      return read();
    }
  }

  #request(route: string, parameters: object): Promise<GitHubAnswer> {
    const [owner, repo] = this.#options.repository.split('/');
    // A parameter that is not in the route would become part of the query or the body.
    const repository = route.includes('{owner}') ? { owner, repo } : {};
    return this.#limits.withRateLimitRetry(async (signal) => {
      const headers = API_VERSION;
      const more = { ...repository, ...parameters, headers, request: { signal } };
      const answer: GitHubAnswer = await this.#octokit.request(route, more);
      if (route === this.#graphql) refuseErrors(answer, this.#options.redact);
      return answer;
    });
  }
}

function parse<T>({ data }: GitHubAnswer, schema: z.ZodMiniType<T>): T {
  const parsed = schema.safeParse(data);
  if (parsed.success) return parsed.data;
  throw new GitHubError(
    0,
    'GitHub returned an unexpected response; it may be from a proxy or captive portal',
  );
}

/** Resolves to null if GitHub returns 404. */
async function orNull<T>(answer: Promise<T>): Promise<T | null> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof GitHubError && error.status === 404) return null;
    throw error;
  }
}

const ROLES: readonly string[] = ['none', 'read', ...PERMISSIONS];

/**
 * `user.permissions` has every level. `role_name` may be the name of a custom role. `permission` is the
 * oldest field and has neither triage nor maintain.
 */
function toCollaborator(answer: z.infer<typeof collaboratorAnswer>): Collaborator {
  const { permission, role_name, user } = answer;
  if (user === null) return { user, permission: 'none' };
  if (user.permissions === null) {
    const role = [role_name, permission].find((name) => ROLES.includes(name));
    return { user, permission: PERMISSIONS.find((level) => level === role) ?? 'none' };
  }
  const { triage, push: write, maintain, admin } = user.permissions;
  const has = { triage, write, maintain, admin };
  return { user, permission: PERMISSIONS.findLast((level) => has[level]) ?? 'none' };
}
