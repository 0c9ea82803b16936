import * as z from 'zod/mini';
import type { Clock } from '../clock.ts';
import type { Redact } from '../runner/secrets.ts';
import { oneLine } from '../sanitize.ts';
import { getOctokit, type Octokit } from '../vendor/actions-github.ts';

/** A comment that the token's own identity wrote. */
export interface OwnComment {
  readonly id: number;
  readonly body: string;
  readonly url: string;
}

/** What somebody may do here; `none` stands for less than triage. */
export interface Collaborator {
  /** Null if GitHub has no such account any more. */
  readonly user: { readonly id: number; readonly login: string } | null;
  readonly permission: 'none' | 'triage' | 'write' | 'maintain' | 'admin';
}

/** Something that can be reacted to. */
export interface Reactable {
  readonly kind: 'comment' | 'review-comment' | 'review';
  readonly id: number;
  readonly nodeId: string;
}

/** The few calls that this action makes. Each rejects with a `GitHubError`. */
export interface GitHub {
  /**
   * The own comments whose body passes `test`, oldest first: all that stand on the newest page
   * that has one, searched over all pages.
   */
  findOwnComments(number: number, test: (body: string) => boolean): Promise<readonly OwnComment[]>;
  /** Null if there is no such comment any more. */
  readComment(id: number): Promise<OwnComment | null>;
  createComment(number: number, body: string): Promise<OwnComment>;
  /** Null if there is no such comment any more. */
  updateComment(id: number, body: string): Promise<OwnComment | null>;
  deleteComment(id: number): Promise<void>;
  react(to: Reactable, content: 'eyes' | 'rocket' | 'confused'): Promise<void>;
  /** Null for whoever is no collaborator. */
  collaborator(login: string): Promise<Collaborator | null>;
  /** From now on all calls together may take at most this many milliseconds. */
  hurry(ms: number): void;
}

export interface GitHubOptions {
  readonly token: string;
  /** `owner/name`. */
  readonly repository: string;
  readonly apiUrl: string;
  readonly graphqlUrl: string;
  readonly userAgent: string;
  readonly clock: Clock;
  readonly redact: Redact;
}

/** A call that failed. `status` is 0 where no answer came, or none that could be read. */
export class GitHubError extends Error {
  readonly status: number;
  /** How long GitHub asks to be left alone, in milliseconds; it did not do what was asked. */
  readonly retryAfterMs: number | null;
  /** The token has called too often. */
  readonly isRateLimit: boolean;
  constructor(
    status: number,
    message: string,
    { cause, retryAfterMs = null, isRateLimit = false }: ErrorFacts = {},
  ) {
    super(message, { cause });
    this.status = status;
    this.retryAfterMs = retryAfterMs;
    this.isRateLimit = isRateLimit;
  }
}

interface ErrorFacts {
  readonly cause?: unknown;
  readonly retryAfterMs?: number | null;
  readonly isRateLimit?: boolean;
}

/** GraphQL tells in a body of 200 what went wrong; `status` is what REST would have answered. */
class GraphQLError extends GitHubError {}

/** A phrase for people. What is no `GitHubError` is a bug, whose words say nothing to them. */
export function whyOf(error: unknown): string {
  return error instanceof GitHubError ? error.message : 'an unexpected error';
}

/**
 * What to do after a failure to comment, or nothing where that is not known. GitHub answers 404 as
 * well where a token may not know that something is there.
 */
export function neededFor(error: unknown): string {
  if (!(error instanceof GitHubError)) return '';
  if (error.isRateLimit) return 'That is a rate limit of GitHub for this token, and passes.';
  switch (error.status) {
    case 401:
      return 'github-token has to be valid; left out, it is the token of the job.';
    case 403:
    case 404:
      return (
        'The job needs `permissions:` with `pull-requests: write` (on an issue `issues: write`), ' +
        'which runs from forks never get.'
      );
    default:
      return '';
  }
}

/** Milliseconds that one call may take. */
const CALL_MS = 10_000;
const PAGE_SIZE = 100;
/** With the headers of every call; without it, a newer version may one day answer otherwise. */
const API_VERSION = { 'x-github-api-version': '2022-11-28' };
/** Milliseconds that a secondary rate limit is waited out, once a run. */
const LONGEST_PAUSE_MS = 5000;

const NEWEST_COMMENTS = `query ($owner: String!, $name: String!, $number: Int!, $before: String) {
  repository(owner: $owner, name: $name) {
    issueOrPullRequest(number: $number) {
      ... on Issue { comments(last: ${PAGE_SIZE}, before: $before) { ...page } }
      ... on PullRequest { comments(last: ${PAGE_SIZE}, before: $before) { ...page } }
    }
  }
}
fragment page on IssueCommentConnection {
  nodes { body url viewerDidAuthor }
  pageInfo { hasPreviousPage startCursor }
}`;

const newestComments = z.object({
  data: z.object({
    repository: z.object({
      issueOrPullRequest: z.object({
        comments: z.object({
          nodes: z.array(
            z.object({ body: z.string(), url: z.string(), viewerDidAuthor: z.boolean() }),
          ),
          pageInfo: z.object({ hasPreviousPage: z.boolean(), startCursor: z.nullable(z.string()) }),
        }),
      }),
    }),
  }),
});
const restComment = z.object({
  id: z.number(),
  body: z.catch(z.string(), ''),
  html_url: z.url(),
});
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
  comment: 'POST /repos/{owner}/{repo}/issues/comments/{id}/reactions',
  'review-comment': 'POST /repos/{owner}/{repo}/pulls/comments/{id}/reactions',
} as const;

/** Milliseconds that all calls may take once the run is cancelled. */
const AFTER_CANCEL_MS = 4000;

interface Connection extends GitHubOptions {
  readonly signal: AbortSignal;
  readonly deferTierUp: () => void;
  /** Why nothing may be asked of GitHub, if so. */
  readonly unsafe: string | undefined;
}

/** Connects when something is first to be said on GitHub. */
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
  // Some requests more, and it begins; at the end of the run that would cost 20 ms.
  deferTierUp();
  const github = await connectGitHub(options);
  const hurry = (): void => github.hurry(AFTER_CANCEL_MS);
  if (signal.aborted) hurry();
  else signal.addEventListener('abort', hurry, { once: true });
  return github;
}

/**
 * Connects to GitHub. The client is loaded only now: a run that says nothing on GitHub does not
 * pay for it.
 */
export async function connectGitHub(options: GitHubOptions): Promise<GitHub> {
  const octokit = await connectClient(options);
  const limits = callLimits(options);
  const [owner, repo] = options.repository.split('/');
  const graphql = `POST ${options.graphqlUrl}`;

  type Parameters = Readonly<Record<string, unknown>>;
  async function ask<T>(route: string, parameters: Parameters, schema: z.ZodMiniType<T>) {
    const { data } = await limits.withRateLimitRetry(async (signal) => {
      const headers = API_VERSION;
      const more = { ...place(route), ...parameters, headers, request: { signal } };
      const answer: Answer = await octokit.request(route, more);
      if (route === graphql) refuseErrors(answer, options.redact);
      return answer;
    });
    const parsed = schema.safeParse(data);
    if (parsed.success) return parsed.data;
    throw new GitHubError(
      0,
      'GitHub gave an answer that is not of its API; a proxy or portal may have given it',
    );
  }

  /** What a route does not name would be sent along as a query or a field of the body. */
  function place(route: string): Parameters {
    return route.includes('{owner}') ? { owner, repo } : {};
  }

  /** A read is tried once more. Octokit's retry plugin would do so with writes as well. */
  async function read<T>(route: string, parameters: Parameters, schema: z.ZodMiniType<T>) {
    try {
      return await ask(route, parameters, schema);
    } catch (error) {
      if (!(error instanceof GitHubError) || !limits.mayRepeat(error)) throw error;
      return ask(route, parameters, schema);
    }
  }

  /** Pages of own comments, the newest page first, oldest first in each. */
  async function* newestOwnComments(number: number): AsyncGenerator<readonly OwnComment[]> {
    let before: string | null = null;
    do {
      const variables = { owner, name: repo, number, before };
      const answer: z.infer<typeof newestComments> = await read(
        graphql,
        { query: NEWEST_COMMENTS, variables },
        newestComments,
      );
      const { nodes, pageInfo } = answer.data.repository.issueOrPullRequest.comments;
      yield nodes.flatMap(({ url, body, viewerDidAuthor }) => {
        // `databaseId` is a 32-bit field, which the ids of comments have outgrown.
        const id = Number(/#issuecomment-(\d+)$/.exec(url)?.[1]);
        return viewerDidAuthor && id > 0 ? [{ id, body, url: options.redact(url) }] : [];
      });
      before = pageInfo.hasPreviousPage ? pageInfo.startCursor : null;
    } while (before !== null);
  }

  function toOwn({ id, body, html_url }: z.infer<typeof restComment>): OwnComment {
    return { id, body, url: options.redact(html_url) };
  }

  /** Resolves to null where GitHub says that what was asked for is not there. */
  async function orNull<T>(answer: Promise<T>): Promise<T | null> {
    try {
      return await answer;
    } catch (error) {
      if (error instanceof GitHubError && error.status === 404) return null;
      throw error;
    }
  }

  return {
    async findOwnComments(number, test) {
      try {
        return await firstMatches(newestOwnComments(number), test);
      } catch (error) {
        if (!hasNoGraphQL(error)) throw error;
        const why = 'this host has no GraphQL, by which comments are found; set comment: false';
        throw new GitHubError(0, why, { cause: error });
      }
    },
    async readComment(id) {
      const route = 'GET /repos/{owner}/{repo}/issues/comments/{id}';
      const comment = await orNull(read(route, { id }, restComment));
      return comment === null ? null : toOwn(comment);
    },
    async createComment(number, body) {
      const route = 'POST /repos/{owner}/{repo}/issues/{number}/comments';
      return toOwn(await ask(route, { number, body }, restComment));
    },
    async updateComment(id, body) {
      const route = 'PATCH /repos/{owner}/{repo}/issues/comments/{id}';
      const comment = await orNull(ask(route, { id, body }, restComment));
      return comment === null ? null : toOwn(comment);
    },
    async deleteComment(id) {
      await ask('DELETE /repos/{owner}/{repo}/issues/comments/{id}', { id }, anything);
    },
    async react({ kind, id, nodeId }, content) {
      if (kind === 'review') {
        // Only GraphQL knows reactions to a review.
        const variables = { id: nodeId, content: content.toUpperCase() };
        await ask(graphql, { query: ADD_REACTION, variables }, anything);
      } else {
        await ask(REACTION_ROUTES[kind], { id, content }, anything);
      }
    },
    async collaborator(login) {
      const route = 'GET /repos/{owner}/{repo}/collaborators/{login}/permission';
      const answer = await orNull(read(route, { login }, collaboratorAnswer));
      return answer === null ? null : toCollaborator(answer);
    },
    hurry: limits.hurry,
  };
}

/** Only a host without GraphQL answers like this; what fails otherwise proves nothing. */
function hasNoGraphQL(error: unknown): boolean {
  const isRefusal = error instanceof GitHubError && !(error instanceof GraphQLError);
  return isRefusal && error.status === 404;
}

interface CallLimits {
  /**
   * Makes a call, and once more if GitHub refuses it for a short time. Rejects with a
   * `GitHubError` whatever went wrong.
   */
  withRateLimitRetry<T>(request: (signal: AbortSignal) => Promise<T>): Promise<T>;
  mayRepeat(error: GitHubError): boolean;
  hurry(ms: number): void;
}

/** Octokit has no time limits of its own. */
function callLimits({ clock, redact }: Pick<GitHubOptions, 'clock' | 'redact'>): CallLimits {
  const everything = new AbortController();
  let hasPaused = false;
  async function run<T>(request: (signal: AbortSignal) => Promise<T>): Promise<T> {
    everything.signal.throwIfAborted();
    const limit = new AbortController();
    const finished = new AbortController();
    const signal = AbortSignal.any([limit.signal, everything.signal]);
    clock.sleep(CALL_MS, finished.signal).then(
      () => limit.abort(new GitHubError(0, 'GitHub did not answer in time')),
      () => {},
    );
    try {
      return await Promise.race([request(signal), rejectOnAbort(signal)]);
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      throw error instanceof GitHubError ? error : toGitHubError(error, redact);
      /* v8 ignore next -- V8 counts a way past a catch that always throws */
    } finally {
      finished.abort();
    }
  }

  return {
    async withRateLimitRetry(request) {
      try {
        return await run(request);
      } catch (error) {
        const { retryAfterMs: pauseMs } = error as GitHubError;
        const isShort = pauseMs !== null && pauseMs <= LONGEST_PAUSE_MS;
        if (!isShort || hasPaused) throw error;
        hasPaused = true;
        await clock.sleep(pauseMs, everything.signal);
        return run(request);
      }
    },
    mayRepeat: ({ status }) => !everything.signal.aborted && (status === 0 || status >= 500),
    hurry(ms) {
      clock.sleep(ms, everything.signal).then(
        () => everything.abort(new GitHubError(0, 'the run was ending')),
        () => {},
      );
    },
  };
}

function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

const text = z.catch(z.string(), '');
const headersSchema = z.catch(
  z.object({
    'retry-after': z.catch(z.string().check(z.regex(/^\d{1,6}$/)), ''),
    'x-ratelimit-remaining': text,
  }),
  { 'retry-after': '', 'x-ratelimit-remaining': '' },
);
type Headers = z.infer<typeof headersSchema>;
/** An answer as the client gives it. */
interface Answer {
  readonly headers: unknown;
  readonly data: unknown;
}

const requestError = z.object({
  status: z.number(),
  response: z.optional(
    z.object({
      data: z.catch(z.object({ message: z.string() }), { message: '' }),
      headers: headersSchema,
    }),
  ),
});
const graphqlErrors = z.object({
  errors: z.array(z.object({ type: text, message: text })).check(z.minLength(1)),
});

/** The code of what went wrong below, such as ECONNREFUSED, which says more than the sentence above it. */
export function detailOf(error: unknown): string {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (typeof code !== 'string' || !/^[A-Z][A-Z0-9_]*$/.test(code)) continue;
    const isCertificate = /CERT|SIGNATURE/.test(code);
    return ` (${code})${isCertificate ? '; NODE_EXTRA_CA_CERTS must name its authority' : ''}`;
  }
  return '';
}

function toGitHubError(error: unknown, redact: Redact): GitHubError {
  const { data } = requestError.safeParse(error);
  if (data?.response === undefined) {
    return new GitHubError(0, `GitHub could not be reached${detailOf(error)}`, { cause: error });
  }
  const { status, response } = data;
  const said = response.data.message;
  // Only a refusal is repeated: what failed in another way may have been done.
  const isRefused = status === 403 || status === 429;
  return new GitHubError(status, `GitHub answered ${status}${quote(said, redact)}`, {
    cause: error,
    retryAfterMs: isRefused ? retryAfterMsOf(response.headers) : null,
    isRateLimit: status === 429 || (isRefused && tellsOfLimit(said, response.headers)),
  });
}

/** The statuses that REST has for what GraphQL calls by a name. */
const GRAPHQL_STATUS: ReadonlyMap<string, number> = new Map([
  ['NOT_FOUND', 404],
  ['FORBIDDEN', 403],
  ['INSUFFICIENT_SCOPES', 403],
  ['RATE_LIMITED', 429],
  ['RATE_LIMIT', 429],
]);

/** A part of what was asked for is not enough: what is missing may be what was sent before. */
function refuseErrors({ data, headers }: Answer, redact: Redact): void {
  const [first] = graphqlErrors.safeParse(data).data?.errors ?? [];
  if (first === undefined) return;
  const { type, message } = first;
  const status = GRAPHQL_STATUS.get(type);
  const isRateLimit = status === 429 || (status === undefined && /\brate limit/i.test(message));
  const name = status === undefined ? 'with an error' : type;
  throw new GraphQLError(
    // What has no name of its own is trouble of GitHub, or a question that it does not understand.
    isRateLimit ? 429 : (status ?? 500),
    `GitHub answered ${name}${quote(message, redact)}`,
    {
      isRateLimit,
      retryAfterMs: isRateLimit ? retryAfterMsOf(headersSchema.parse(headers)) : null,
    },
  );
}

function quote(said: string, redact: Redact): string {
  return said === '' ? '' : `: "${oneLine(redact(said))}"`;
}

function retryAfterMsOf({ 'retry-after': seconds }: Headers): number | null {
  return seconds === '' ? null : Number(seconds) * 1000;
}

/** A limit is refused with 403, as a lack of permission is. */
function tellsOfLimit(said: string, headers: Headers): boolean {
  return (
    headers['retry-after'] !== '' ||
    headers['x-ratelimit-remaining'] === '0' ||
    /\brate limit/i.test(said)
  );
}

async function firstMatches(
  pages: AsyncGenerator<readonly OwnComment[]>,
  test: (body: string) => boolean,
): Promise<readonly OwnComment[]> {
  for await (const page of pages) {
    const matches = page.filter(({ body }) => test(body));
    if (matches.length > 0) return matches;
  }
  return [];
}

/**
 * `user.permissions` tells every level; `role_name` may be that of a custom role; `permission` is
 * the oldest field, and knows neither triage nor maintain.
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

async function connectClient({ token, apiUrl, userAgent }: GitHubOptions): Promise<Octokit> {
  try {
    const log = { debug() {}, info() {}, warn() {}, error() {} };
    return await getOctokit(token, { baseUrl: apiUrl, userAgent, log });
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
