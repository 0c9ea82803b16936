import * as z from 'zod/mini';
import type { Clock } from '../clock.ts';
import { type Env, readProxy } from '../runner/environment.ts';
import type { Redact } from '../runner/secrets.ts';
import { getOctokit, type Octokit } from '../vendor/actions-github.ts';
import { type CallLimits, callLimits } from './call-limits.ts';
import { type GitHubAnswer, GitHubError, GraphQLError, refuseErrors } from './errors.ts';
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

/** Which comments to read. */
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
  readonly user: { readonly id: number; readonly login: string } | null;
  readonly permission: 'none' | 'triage' | 'write' | 'maintain' | 'admin';
}

/** Something that can be reacted to. */
export interface Reactable {
  readonly kind: 'comment' | 'review-comment' | 'review';
  readonly id: number;
  readonly nodeId: string;
}

export type ReactionContent = 'eyes' | 'rocket' | 'hooray' | 'confused';

export interface Reaction {
  readonly id: number;
  /** Whether this call added it: of several calls by one identity, only the first one does. */
  readonly isNew: boolean;
}

/** Each call rejects with a `GitHubError`. */
export interface GitHub {
  /** Our comments on an issue or pull request, the oldest first. Makes one request per page. */
  readComments(number: number, query: CommentsQuery): Promise<readonly OwnComment[]>;
  createComment(number: number, body: string): Promise<OwnComment>;
  /** Null if the comment no longer exists. */
  updateComment(id: number, body: string): Promise<OwnComment | null>;
  deleteComment(id: number): Promise<void>;
  /** Null for a review: GitHub does not return whether its reaction is new. */
  react(to: Reactable, content: ReactionContent): Promise<Reaction | null>;
  removeReaction(from: Reactable, reactionId: number): Promise<void>;
  /** Null if the person is not a collaborator. */
  collaborator(login: string): Promise<Collaborator | null>;
  /** Limits all calls from now on to this many milliseconds in total. */
  hurry(ms: number): void;
}

export interface GitHubOptions {
  readonly token: string;
  /** `owner/name`. */
  readonly repository: string;
  readonly apiUrl: string;
  readonly graphqlUrl: string;
  readonly userAgent: string;
  /** For the proxy. */
  readonly env: Env;
  readonly clock: Clock;
  readonly redact: Redact;
}

const PAGE_SIZE = 100;
/** Sent with every call: the default version may change. */
const API_VERSION = { 'x-github-api-version': '2022-11-28' };
/** Milliseconds that all calls may take once the run is cancelled. */
const AFTER_CANCEL_MS = 4000;

/** The newest first; `diff` is the whole body at that time. */
const VERSIONS = 'userContentEdits(first: 100) { nodes { diff } }';
const commentsQuery = (versions: string): string => `query (
  $owner: String!, $name: String!, $number: Int!, $before: String, $ids: [ID!]!
) {
  repository(owner: $owner, name: $name) {
    issueOrPullRequest(number: $number) {
      ... on Issue { comments(last: ${PAGE_SIZE}, before: $before) { ...page } }
      ... on PullRequest { comments(last: ${PAGE_SIZE}, before: $before) { ...page } }
    }
  }
  nodes(ids: $ids) { ...comment }
}
fragment page on IssueCommentConnection {
  nodes { ...comment }
  pageInfo { hasPreviousPage startCursor }
}
fragment comment on IssueComment { id body url viewerDidAuthor updatedAt ${versions} }`;

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
    nodes: z.array(z.catch(z.nullable(graphqlComment), null)),
  }),
});
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
const anything = z.unknown();

const ADD_REACTION = `mutation ($id: ID!, $content: ReactionContent!) {
  addReaction(input: { subjectId: $id, content: $content }) { clientMutationId }
}`;
const REACTION_ROUTES = {
  comment: '/repos/{owner}/{repo}/issues/comments/{id}/reactions',
  'review-comment': '/repos/{owner}/{repo}/pulls/comments/{id}/reactions',
} as const;

interface Connection extends GitHubOptions {
  readonly signal: AbortSignal;
  readonly deferTierUp: () => void;
  /** Why GitHub must not be called, if so. */
  readonly unsafe: string | undefined;
}

/** Connects when GitHub is first needed. */
export function connectOnce(connection: Connection): () => Promise<GitHub> {
  let connected: Promise<GitHub> | undefined;
  return () => {
    connected ??= connect(connection);
    return connected;
  };
}

async function connect({ signal, deferTierUp, unsafe, ...options }: Connection): Promise<GitHub> {
  if (options.token === '') throw new GitHubError(401, 'github-token is empty');
  if (unsafe !== undefined) throw new GitHubError(0, unsafe);
  // After some requests V8 starts to optimize, and the end of the run would wait for that for 20 ms.
  deferTierUp();
  const github = await connectGitHub(options);
  const hurry = (): void => github.hurry(AFTER_CANCEL_MS);
  if (signal.aborted) hurry();
  else signal.addEventListener('abort', hurry, { once: true });
  return github;
}

/** Loads the client only now, because a run without calls to GitHub does not need it. */
export async function connectGitHub(options: GitHubOptions): Promise<GitHub> {
  return new Client(await connectClient(options), options);
}

type Parameters = Readonly<Record<string, unknown>>;

class Client implements GitHub {
  readonly #octokit: Octokit;
  readonly #options: GitHubOptions;
  readonly #limits: CallLimits;
  /** A part of the query of comments; empty on a host that does not keep earlier bodies. */
  #versions = VERSIONS;

  constructor(octokit: Octokit, options: GitHubOptions) {
    this.#octokit = octokit;
    this.#options = options;
    this.#limits = callLimits(options.clock, options.redact);
  }

  async readComments(number: number, query: CommentsQuery): Promise<readonly OwnComment[]> {
    const found = new Map<number, OwnComment>();
    let before: string | null = null;
    let nodeIds = query.nodeIds;
    do {
      const page = await this.#readPage({ number, before, ids: nodeIds }, query.withVersions);
      for (const comment of page.comments) {
        // Someone may have replaced its whole text.
        if (comment.versions.some(query.isOurs)) found.set(comment.id, comment);
      }
      before = page.before;
      // The first page includes them.
      nodeIds = [];
    } while (before !== null && (query.allPages || found.size === 0));
    return [...found.values()].sort((one, other) => one.id - other.id);
  }

  async createComment(number: number, body: string): Promise<OwnComment> {
    const route = 'POST /repos/{owner}/{repo}/issues/{number}/comments';
    return this.#ownComment(await this.#ask(route, { number, body }, restComment));
  }

  async updateComment(id: number, body: string): Promise<OwnComment | null> {
    const route = 'PATCH /repos/{owner}/{repo}/issues/comments/{id}';
    const comment = await orNull(this.#ask(route, { id, body }, restComment));
    return comment === null ? null : this.#ownComment(comment);
  }

  async deleteComment(id: number): Promise<void> {
    await this.#ask('DELETE /repos/{owner}/{repo}/issues/comments/{id}', { id }, anything);
  }

  async react(to: Reactable, content: ReactionContent): Promise<Reaction | null> {
    if (to.kind === 'review') {
      // Only GraphQL has reactions to a review.
      const variables = { id: to.nodeId, content: content.toUpperCase() };
      await this.#ask(this.#graphql, { query: ADD_REACTION, variables }, anything);
      return null;
    }
    const route = `POST ${REACTION_ROUTES[to.kind]}`;
    const answer = await this.#request(route, { id: to.id, content });
    const { id } = this.#parse(answer, reactionAnswer);
    return { id, isNew: answer.status === 201 };
  }

  async removeReaction(from: Reactable, reactionId: number): Promise<void> {
    if (from.kind === 'review') return;
    const route = `DELETE ${REACTION_ROUTES[from.kind]}/{reactionId}`;
    await this.#ask(route, { id: from.id, reactionId }, anything);
  }

  async collaborator(login: string): Promise<Collaborator | null> {
    const route = 'GET /repos/{owner}/{repo}/collaborators/{login}/permission';
    const answer = await orNull(this.#read(route, { login }, collaboratorAnswer));
    return answer === null ? null : toCollaborator(answer);
  }

  hurry(ms: number): void {
    this.#limits.hurry(ms);
  }

  get #graphql(): string {
    return `POST ${this.#options.graphqlUrl}`;
  }

  async #readPage(
    variables: Parameters & { readonly ids: readonly string[] },
    withVersions: boolean,
  ): Promise<{ readonly comments: readonly OwnComment[]; readonly before: string | null }> {
    const [owner, name] = this.#options.repository.split('/');
    const versions = withVersions ? this.#versions : '';
    const question = {
      query: commentsQuery(versions),
      variables: { owner, name, ...variables },
    };
    try {
      const { data } = await this.#read(this.#graphql, question, commentsAnswer);
      const { nodes, pageInfo } = data.repository.issueOrPullRequest.comments;
      const known = data.nodes.filter((node) => node !== null);
      return {
        comments: [...nodes, ...known].flatMap((node) => this.#toOwn(node)),
        before: pageInfo.hasPreviousPage ? pageInfo.startCursor : null,
      };
    } catch (error) {
      if (versions !== '' && isUnknownField(error)) {
        this.#versions = '';
        return this.#readPage(variables, false);
      }
      if (!hasNoGraphQL(error)) throw error;
      const why = 'this host has no GraphQL API, which the comment needs; set comment: false';
      throw new GitHubError(0, why, { cause: error });
    }
  }

  #toOwn(comment: z.infer<typeof graphqlComment>): readonly OwnComment[] {
    const { id: nodeId, body, url, viewerDidAuthor, updatedAt, userContentEdits } = comment;
    // `databaseId` is a 32-bit field, but the IDs of comments are larger.
    const id = Number(/#issuecomment-(\d+)$/.exec(url)?.[1]);
    if (!viewerDidAuthor || !(id > 0)) return [];
    const edits = userContentEdits?.nodes.flatMap((edit) => edit?.diff ?? []) ?? [];
    const versions = [...edits.reverse().filter((version) => version !== body), body];
    return [{ id, nodeId, body, url: this.#options.redact(url), updatedAt, versions }];
  }

  #ownComment(comment: z.infer<typeof restComment>): OwnComment {
    const { id, node_id: nodeId, body, html_url, updated_at: updatedAt } = comment;
    const url = this.#options.redact(html_url);
    return { id, nodeId, body, url, updatedAt, versions: [body] };
  }

  async #ask<T>(route: string, parameters: Parameters, schema: z.ZodMiniType<T>): Promise<T> {
    return this.#parse(await this.#request(route, parameters), schema);
  }

  /** Repeats a failed read once. The retry plugin of Octokit would repeat writes as well. */
  async #read<T>(route: string, parameters: Parameters, schema: z.ZodMiniType<T>): Promise<T> {
    try {
      return await this.#ask(route, parameters, schema);
    } catch (error) {
      if (!(error instanceof GitHubError) || !this.#limits.mayRepeat(error)) throw error;
      return this.#ask(route, parameters, schema);
    }
  }

  #request(route: string, parameters: Parameters): Promise<GitHubAnswer> {
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

  #parse<T>({ data }: GitHubAnswer, schema: z.ZodMiniType<T>): T {
    const parsed = schema.safeParse(data);
    if (parsed.success) return parsed.data;
    throw new GitHubError(
      0,
      'GitHub returned an unexpected response; it may be from a proxy or captive portal',
    );
  }
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

/** Only a host without GraphQL responds like this. */
function hasNoGraphQL(error: unknown): boolean {
  const isRefusal = error instanceof GitHubError && !(error instanceof GraphQLError);
  return isRefusal && error.status === 404;
}

function isUnknownField(error: unknown): boolean {
  return error instanceof GraphQLError && error.message.includes('userContentEdits');
}

/**
 * `user.permissions` has every level. `role_name` may be the name of a custom role. `permission` is the
 * oldest field and has neither triage nor maintain.
 */
function toCollaborator({
  permission,
  role_name,
  user,
}: z.infer<typeof collaboratorAnswer>): Collaborator {
  if (user === null) return { user, permission: 'none' };
  const { permissions } = user;
  if (permissions !== null) {
    const { admin, maintain, push, triage } = permissions;
    const level = admin
      ? 'admin'
      : maintain
        ? 'maintain'
        : push
          ? 'write'
          : triage
            ? 'triage'
            : 'none';
    return { user, permission: level };
  }
  return { user, permission: ROLES[role_name] ?? ROLES[permission] ?? 'none' };
}

const ROLES: Readonly<Record<string, Collaborator['permission']>> = Object.assign(
  Object.create(null),
  {
    none: 'none',
    read: 'none',
    triage: 'triage',
    write: 'write',
    maintain: 'maintain',
    admin: 'admin',
  },
);

async function connectClient({ token, apiUrl, userAgent, env }: GitHubOptions): Promise<Octokit> {
  try {
    const log = { debug() {}, info() {}, warn() {}, error() {} };
    const { protocol } = new URL(apiUrl);
    const read = readProxy(env, protocol === 'http:' ? 'http:' : 'https:');
    if (read.kind === 'problem') throw new Error(read.problem);
    const fetch = createFetch(read.value);
    return await getOctokit(token, { baseUrl: apiUrl, userAgent, log, fetch });
  } catch (error) {
    throw new GitHubError(
      0,
      'its client could not be set up; check HTTPS_PROXY, HTTP_PROXY and NO_PROXY',
      {
        cause: error,
      },
    );
  }
}
