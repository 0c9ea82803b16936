import * as z from 'zod/mini';
import { untilAborted } from '../clock.ts';
import { PERMISSIONS, type Permission } from '../inputs.ts';
import type { Head, Over } from '../job/job.ts';
import {
  type ProxySettings,
  problemWithCertificates,
  type RunInfo,
  type Runtime,
  readProxy,
} from '../runner/environment.ts';
import { USER_AGENT } from '../runner/network.ts';
import { listOf } from '../schema.ts';
import { getOctokit, type Octokit } from '../vendor/actions.ts';
import type { Dispatcher } from '../vendor/undici.ts';
import { isEdited } from './account.ts';
import { GitHubError, isUnclear, toGitHubError, unexpectedResponse } from './errors.ts';
import { type CommentTrigger, FAILURES, type PullOfCommit, readOver } from './event.ts';
import { createConnections, createFetch } from './fetch.ts';
import type { PullState, WorkflowRun } from './pull-state.ts';

// All calls to the API of GitHub.

/** The permission of a person; `none` means less than triage. */
export interface Collaborator {
  readonly id: number;
  readonly login: string;
  readonly permission: Permission | 'none';
}

/** A comment that this process has created. */
export interface CreatedComment {
  readonly id: number;
  /** Its ID in GraphQL. */
  readonly nodeId: string;
  readonly url: string;
}

/** Each with its name in GraphQL. */
const REACTIONS = {
  '+1': 'THUMBS_UP',
  confused: 'CONFUSED',
  eyes: 'EYES',
  hooray: 'HOORAY',
} as const;
export type ReactionContent = keyof typeof REACTIONS;

export interface GitHubOptions
  extends Pick<Runtime, 'env' | 'clock' | 'redact' | 'signal'>,
    Pick<RunInfo, 'repository' | 'apiUrl'> {
  readonly token: string;
}

/** The limit of one call, in milliseconds. */
const CALL_MS = 10_000;
/** Milliseconds for all calls once the run is cancelled: the runner ends the process after 7.5 s. */
const AFTER_CANCEL_MS = 6000;
/** Comments whose bodies are read at once: each has up to 64 KiB. */
const COMMENTS_AT_ONCE = 50;
/** The same of a review: each has a part of a diff, of whatever length. */
const REVIEW_COMMENTS_AT_ONCE = 20;
const NEWEST = 30;
/** Milliseconds of a rate limit that a call waits for, once. */
const LONGEST_RATE_PAUSE_MS = 60_000;
/** Sent with every call: the default version may change. */
const API_VERSION = { 'x-github-api-version': '2022-11-28' };

const comments = (page: string, fields: string): string => `
  repository(owner: $owner, name: $repo) {
    issueOrPullRequest(number: $number) {
      ... on Issue { comments(${page}) { ${fields} } }
      ... on PullRequest { comments(${page}) { ${fields} } }
    }
  }`;
/** Without bodies: those of others can be of any size. */
const OWN_IDS = `query ($owner: String!, $repo: String!, $number: Int!, $before: String) {
  ${comments(
    `last: ${COMMENTS_AT_ONCE}, before: $before`,
    'nodes { id viewerDidAuthor } pageInfo { hasPreviousPage startCursor }',
  )}
}`;
const ACTOR = '{ ... on User { databaseId } ... on Bot { databaseId } }';
const BODIES = `query ($ids: [ID!]!) {
  nodes(ids: $ids) {
    ... on IssueComment { id body url lastEditedAt author ${ACTOR} editor ${ACTOR} }
  }
}`;
const NEWEST_COMMENTS = `query ($owner: String!, $repo: String!, $number: Int!) {
  ${comments(`last: ${NEWEST}`, 'nodes { id body url isMinimized viewerDidAuthor }')}
}`;
const REVIEW_COMMENTS = `query ($id: ID!, $after: String) {
  node(id: $id) {
    ... on PullRequestReview {
      comments(first: ${REVIEW_COMMENTS_AT_ONCE}, after: $after) {
        nodes {
          url path line startLine originalLine originalStartLine outdated diffHunk body lastEditedAt
          replyTo { id }
          author ${ACTOR}
          editor ${ACTOR}
        }
        pageInfo { hasNextPage endCursor }
      }
    }
  }
}`;
const ADD_REACTION = `mutation ($id: ID!, $content: ReactionContent!) {
  addReaction(input: { subjectId: $id, content: $content }) { clientMutationId }
}`;

/** Any response of GitHub is an object, and the page of a captive portal is not. */
const graphqlData = z.record(z.string(), z.unknown());
const connection = <T extends z.core.SomeType>(fields: T) =>
  z.object({ repository: z.object({ issueOrPullRequest: z.object({ comments: fields }) }) });
const idsAnswer = connection(
  z.object({
    nodes: z.array(z.object({ id: z.string(), viewerDidAuthor: z.boolean() })),
    pageInfo: z.object({ hasPreviousPage: z.boolean(), startCursor: z.nullable(z.string()) }),
  }),
);
const comment = z.object({ id: z.string(), body: z.string(), url: z.url() });
const newestComment = z.extend(comment, { isMinimized: z.boolean(), viewerDidAuthor: z.boolean() });

const newestAnswer = connection(z.object({ nodes: z.array(newestComment) }));
const restComment = z.object({ id: z.number(), node_id: z.string(), html_url: z.url() });
/** By its ID, because GraphQL leaves “[bot]” out of logins. Null if the account was deleted. */
const actor = z.nullable(z.object({ databaseId: z.optional(z.nullable(z.number())) }));
const writtenComment = z.extend(comment, {
  ...{ lastEditedAt: z.nullable(z.string()), author: actor, editor: actor },
});
/** Null for a comment that was deleted meanwhile. */
const bodiesAnswer = z.object({ nodes: z.array(z.nullable(writtenComment)) });
const lineNumber = z.nullable(z.number());
const reviewComment = z.object({
  ...{ url: z.url(), path: z.string(), diffHunk: z.string(), body: z.string() },
  ...{ line: lineNumber, startLine: lineNumber },
  ...{ originalLine: lineNumber, originalStartLine: lineNumber, outdated: z.boolean() },
  ...{ lastEditedAt: z.nullable(z.string()), author: actor, editor: actor },
  replyTo: z.nullable(z.object({ id: z.string() })),
});
export type ReviewComment = Readonly<z.infer<typeof reviewComment>>;
const reviewAnswer = z.object({
  node: z.object({
    comments: z.object({
      nodes: z.array(reviewComment),
      pageInfo: z.object({ hasNextPage: z.boolean(), endCursor: z.nullable(z.string()) }),
    }),
  }),
});
const sha = z.string().check(z.regex(/^[0-9a-f]{40,64}$/));
const compareAnswer = z.object({
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
export type Comparison = Readonly<z.infer<typeof compareAnswer>>;
const closing = { state: z.catch(z.string(), ''), merged_at: z.catch(z.nullish(z.string()), null) };
const pullAnswer = z.object({ head: z.object({ sha }), commits: z.number(), ...closing });
const repositoryName = z.object({ full_name: z.string() });
/** The repository of the head is null if it was deleted. */
const pullsAnswer = listOf(
  z.object({
    number: z.number(),
    head: z.object({ sha, ref: z.string(), repo: repositoryName }),
    base: z.object({ repo: repositoryName }),
    ...closing,
  }),
);
/** A pull request that has a commit, and whose branch is in this repository. */
export interface PullOfSha extends PullOfCommit {
  readonly over: Over;
}
const step = z.object({
  name: z.string(),
  conclusion: z.nullable(z.string()),
  started_at: z.nullish(z.string()),
  completed_at: z.nullish(z.string()),
});
const jobsAnswer = z.object({
  total_count: z.catch(z.number(), 0),
  jobs: listOf(
    z.object({
      id: z.number(),
      name: z.string(),
      conclusion: z.nullable(z.string()),
      steps: z.catch(listOf(step), []),
    }),
  ),
});
export type FailedJob = Readonly<z.infer<typeof jobsAnswer>>['jobs'][number];
/** The most that GitHub lists at once. */
const JOBS_AT_ONCE = 100;
const MOST_RUNS = 100;

const collaboratorAnswer = z.object({
  user: z.nullable(
    z.object({
      id: z.number(),
      login: z.string(),
      permissions: z.record(z.string(), z.unknown()),
    }),
  ),
});

interface OwnComment extends Readonly<z.infer<typeof comment>> {
  /** Whether somebody else has edited it last. */
  readonly isEdited: boolean;
}

const REACTION_ROUTES = {
  comment: '/repos/{owner}/{repo}/issues/comments/{id}/reactions',
  'review-comment': '/repos/{owner}/{repo}/pulls/comments/{id}/reactions',
} as const;

interface Connected {
  readonly octokit: Octokit;
  /** These are kept alive between calls. */
  readonly connections: Dispatcher;
  readonly proxy: ProxySettings;
}

/** Loads the client only now, because a run without calls to GitHub does not need it. */
async function connect({ token, apiUrl, env }: GitHubOptions): Promise<Connected> {
  if (token === '') throw new GitHubError(401, '“github-token” is empty');
  if (!/^[!-~]+$/.test(token)) {
    const why = '“github-token” contains a space, a line break or a character outside ASCII';
    throw new GitHubError(401, why);
  }
  const unsafe = problemWithCertificates(env);
  if (unsafe !== undefined) throw new GitHubError(0, unsafe, { wasWritten: false });
  const proxy = readProxy(env, new URL(apiUrl));
  if (proxy.kind === 'problem') {
    const why = `GitHub cannot be reached: ${proxy.problem}`;
    throw new GitHubError(0, why, { wasWritten: false });
  }
  const octokit = await getOctokit(token, apiUrl, USER_AGENT);
  return { octokit, connections: createConnections(proxy.value), proxy: proxy.value };
}

/**
 * What can be asked of GitHub. It connects when it is first asked. Each call rejects with a `GitHubError`. Only reads and
 * reactions are repeated, once.
 */
export class GitHub {
  readonly #options: GitHubOptions;
  /** Aborted when the time after a cancellation is over. */
  readonly #over = new AbortController();
  #connected: Promise<Connected> | undefined;
  /** The own comments that were read or created, by their IDs. */
  readonly #comments = new Map<string, OwnComment>();

  constructor(options: GitHubOptions) {
    this.#options = options;
    const { clock, signal } = options;
    const endSoon = (): void => {
      const end = (): void => this.#over.abort();
      clock.sleep(AFTER_CANCEL_MS, this.#over.signal).then(end, () => {});
    };
    signal.addEventListener('abort', endSoon, { once: true });
  }

  /**
   * All comments there by the identity of the token, the oldest first. A later list reads their texts again only if there
   * is a new comment. `until`: a time of the clock, after which no further page is read.
   */
  async ownComments(number: number, until: number): Promise<readonly OwnComment[]> {
    // One may be deleted between the list and its text; then they are listed once more.
    for (let lists = 1; lists <= 2; lists += 1) {
      const ids = await this.#listOwnIds(number, until);
      if (!ids.every((id) => this.#comments.has(id))) await this.#readTexts(ids, until);
      const found = ids.map((id) => this.#comments.get(id)).filter((one) => one !== undefined);
      if (found.length === ids.length) return found;
    }
    throw new GitHubError(0, 'the comments changed while they were read');
  }

  async #listOwnIds(number: number, until: number): Promise<readonly string[]> {
    const ids: string[] = [];
    let before: string | null = null;
    do {
      this.#checkTime(until);
      const variables: object = { ...this.#repository, number, before };
      const answer = await this.#query(OWN_IDS, variables, idsAnswer);
      const { nodes, pageInfo } = answer.repository.issueOrPullRequest.comments;
      ids.unshift(...nodes.filter(({ viewerDidAuthor }) => viewerDidAuthor).map(({ id }) => id));
      before = pageInfo.hasPreviousPage ? nextCursor(pageInfo.startCursor, before) : null;
    } while (before !== null);
    return ids;
  }

  #checkTime(until: number): void {
    if (this.#options.clock.now() <= until) return;
    throw new GitHubError(0, 'GitHub did not list everything in time');
  }

  async #readTexts(ids: readonly string[], until: number): Promise<void> {
    for (let from = 0; from < ids.length; from += COMMENTS_AT_ONCE) {
      this.#checkTime(until);
      const some = ids.slice(from, from + COMMENTS_AT_ONCE);
      const { nodes } = await this.#query(BODIES, { ids: some }, bodiesAnswer).catch(noneIfGone);
      for (const one of nodes) {
        if (one !== null) this.#comments.set(one.id, { ...one, isEdited: isEdited(one) });
      }
    }
  }

  /** All inline comments of a review, or none: a part of them would be misleading. */
  async reviewComments(nodeId: string, until: number): Promise<readonly ReviewComment[]> {
    const found: ReviewComment[] = [];
    let after: string | null = null;
    for (;;) {
      this.#checkTime(until);
      const variables: object = { id: nodeId, after };
      const answer = await this.#query(REVIEW_COMMENTS, variables, reviewAnswer);
      const { nodes, pageInfo } = answer.node.comments;
      found.push(...nodes);
      if (!pageInfo.hasNextPage) return found;
      after = nextCursor(pageInfo.endCursor, after);
    }
  }

  /** Of the newest comments there, those by the identity of the token. */
  async newestOwnComments(number: number): Promise<readonly z.infer<typeof newestComment>[]> {
    const variables = { ...this.#repository, number };
    const answer = await this.#query(NEWEST_COMMENTS, variables, newestAnswer);
    const { nodes } = answer.repository.issueOrPullRequest.comments;
    return nodes.filter(({ viewerDidAuthor }) => viewerDidAuthor);
  }

  async hide(nodeIds: readonly string[]): Promise<void> {
    const names = nodeIds.map((_, index) => `$id${index}: ID!`).join(', ');
    const calls = nodeIds.map(
      (_, index) =>
        `c${index}: minimizeComment(input: { subjectId: $id${index}, classifier: OUTDATED }) ` +
        '{ clientMutationId }',
    );
    const variables = Object.fromEntries(nodeIds.map((id, index) => [`id${index}`, id]));
    await this.#graphql(`mutation (${names}) { ${calls.join('\n')} }`, variables);
  }

  /** On a connection of its own: one that is kept alive may be closed at the moment the request is written. */
  async createComment(number: number, body: string): Promise<CreatedComment> {
    const route = 'POST /repos/{owner}/{repo}/issues/{number}/comments';
    const data = await this.#request(route, { number, body }, 'own connection');
    const { id, node_id, html_url } = parse(data, restComment);
    this.#comments.set(node_id, { id: node_id, body, url: html_url, isEdited: false });
    return { id, nodeId: node_id, url: html_url };
  }

  async updateComment(id: number, body: string): Promise<void> {
    const route = 'PATCH /repos/{owner}/{repo}/issues/comments/{id}';
    parse(await this.#request(route, { id, body }), z.object({ id: z.number() }));
  }

  async react(
    to: Pick<CommentTrigger, 'kind' | 'id' | 'nodeId'>,
    content: ReactionContent,
  ): Promise<void> {
    const { kind, id, nodeId } = to;
    await this.#orAgain(() =>
      kind === 'review'
        ? // Only GraphQL has reactions to a review.
          this.#graphql(ADD_REACTION, { id: nodeId, content: REACTIONS[content] })
        : this.#request(`POST ${REACTION_ROUTES[kind]}`, { id, content }),
    );
  }

  /** Null if GitHub knows no permission of this person, or does not tell the token. */
  async collaborator(login: string): Promise<Collaborator | null> {
    const route = 'GET /repos/{owner}/{repo}/collaborators/{login}/permission';
    try {
      const { user } = await this.#read(route, { login }, collaboratorAnswer);
      return user && { ...user, permission: highest(user.permissions) };
    } catch (error) {
      if (error instanceof GitHubError && error.status === 404) return null;
      throw error;
    }
  }

  async pullRequest(number: number): Promise<Head> {
    const route = 'GET /repos/{owner}/{repo}/pulls/{number}';
    const { head, commits, state, merged_at } = await this.#read(route, { number }, pullAnswer);
    return { number, sha: head.sha, commits, over: readOver(state, merged_at) };
  }

  /** The pull requests of this repository that have a commit; of one on the default branch, the one that brought it there. */
  async pullsOf(sha: string): Promise<readonly PullOfSha[]> {
    const route = 'GET /repos/{owner}/{repo}/commits/{sha}/pulls{?per_page}';
    const pulls = await this.#read(route, { sha, per_page: 100 }, pullsAnswer);
    const here = this.#options.repository.toLowerCase();
    return pulls
      .filter(({ head, base }) =>
        [head, base].every(({ repo }) => repo.full_name.toLowerCase() === here),
      )
      .map(({ number, head, state, merged_at }) => {
        return { number, head, over: readOver(state, merged_at) };
      });
  }

  /** What has changed from one commit to another; needs `contents: read`. */
  compare(base: string, head: string): Promise<Comparison> {
    const route = 'GET /repos/{owner}/{repo}/compare/{basehead}';
    return this.#read(route, { basehead: `${base}...${head}` }, compareAnswer);
  }

  /** The newest commit of a pull request, whether it has a conflict, and its newest threads with their newest comments. */
  async pullState(number: number): Promise<PullState> {
    const variables = { ...this.#repository, number };
    const { PULL_STATE, pullStateAnswer } = await loadPullState();
    const { repository } = await this.#query(PULL_STATE, variables, pullStateAnswer);
    return repository.pullRequest;
  }

  /** The runs of workflows on a commit, the newest first. */
  async runsOn(sha: string): Promise<readonly WorkflowRun[]> {
    const route = 'GET /repos/{owner}/{repo}/actions/runs{?head_sha,per_page}';
    const given = { head_sha: sha, per_page: MOST_RUNS };
    const { runsAnswer } = await loadPullState();
    return (await this.#read(route, given, runsAnswer)).workflow_runs;
  }

  /** The jobs of an attempt of a run that failed, each with the steps that failed. All pages are read, until a time. */
  async failedJobs(runId: number, attempt: number, until: number): Promise<readonly FailedJob[]> {
    const route =
      'GET /repos/{owner}/{repo}/actions/runs/{runId}/attempts/{attempt}/jobs{?per_page,page}';
    const failed: FailedJob[] = [];
    for (let page = 1; ; page += 1) {
      this.#checkTime(until);
      const given = { runId, attempt, per_page: JOBS_AT_ONCE, page };
      const { jobs, total_count } = await this.#read(route, given, jobsAnswer);
      for (const job of jobs.filter(hasFailed)) {
        failed.push({ ...job, steps: job.steps.filter(hasFailed) });
      }
      if (jobs.length === 0 || page * JOBS_AT_ONCE >= total_count) return failed;
    }
  }

  /** Where the log of a job can be downloaded for a minute. The URL is a secret. */
  async logUrl(jobId: number): Promise<string> {
    const route = 'GET /repos/{owner}/{repo}/actions/jobs/{jobId}/logs';
    const given = { ...this.#repository, jobId };
    const { headers } = await this.#call(
      ({ request }, options) => request(route, { ...given, ...options }),
      'wants a redirect',
    );
    if (headers.location === undefined) throw unexpectedResponse();
    return headers.location;
  }

  get #repository(): { owner: string; repo: string } {
    const [owner = '', repo = ''] = this.#options.repository.split('/');
    return { owner, repo };
  }

  #query<T>(query: string, variables: object, schema: z.ZodMiniType<T>): Promise<T> {
    return this.#orAgain(async () => parse(await this.#graphql(query, variables), schema));
  }

  #read<T>(route: string, parameters: object, schema: z.ZodMiniType<T>): Promise<T> {
    return this.#orAgain(async () => parse(await this.#request(route, parameters), schema));
  }

  /**
   * Repeats once what may pass, after the pause that a rate limit asks for. Octokit's retry plugin would repeat writes as
   * well. A cancelled run reads nothing: its comment needs the time.
   */
  async #orAgain<T>(read: () => Promise<T>): Promise<T> {
    const { clock, signal } = this.#options;
    try {
      const first = read().catch(async (error) => {
        await clock.sleep(pauseBeforeRepetition(error), signal);
        return read();
      });
      return await untilAborted(first, signal);
    } catch (error) {
      if (signal.aborted) throw new GitHubError(0, 'the run was cancelled', { cause: error });
      throw error;
    }
  }

  async #graphql(query: string, variables: object): Promise<unknown> {
    const data = await this.#call(({ graphql }, options) =>
      graphql(query, { ...variables, ...options }),
    );
    return parse(data, graphqlData);
  }

  async #request(route: string, parameters: object, way: Way = 'plain'): Promise<unknown> {
    const given = { ...this.#repository, ...parameters };
    const { data } = await this.#call(
      ({ request }, options) => request(route, { ...given, ...options }),
      way,
    );
    return data;
  }

  async #call<T>(
    call: (octokit: Octokit, options: object) => Promise<T>,
    way: Way = 'plain',
  ): Promise<T> {
    const { clock, redact } = this.#options;
    const signal = AbortSignal.any([clock.timeout(CALL_MS), this.#over.signal]);
    let wasWritten = false;
    try {
      this.#connected ??= connect(this.#options);
      const { octokit, connections, proxy } = await this.#connected;
      const used = way === 'own connection' ? createConnections(proxy) : connections;
      const fetch = createFetch(used, way === 'wants a redirect', () => {
        wasWritten = true;
      });
      // A request that is not connected yet ignores the signal.
      return await untilAborted(
        call(octokit, { headers: API_VERSION, request: { signal, fetch } }),
        signal,
      );
    } catch (error) {
      if (!signal.aborted) throw toGitHubError(error, redact, wasWritten, clock.now());
      throw new GitHubError(0, 'GitHub did not answer in time', { cause: error, wasWritten });
    }
  }
}

type Way = 'plain' | 'own connection' | 'wants a redirect';

/** Milliseconds. Rethrows an error that will not pass in time. */
function pauseBeforeRepetition(error: unknown): number {
  const { status, pauseMs = Infinity } = error instanceof GitHubError ? error : { status: 0 };
  if (status === 429 && pauseMs <= LONGEST_RATE_PAUSE_MS) return pauseMs;
  if (isUnclear(error)) return 0;
  throw error;
}

/** GitHub fails the whole call if one of the comments is gone. */
function noneIfGone(error: unknown): { readonly nodes: readonly [] } {
  if (error instanceof GitHubError && error.status === 404) return { nodes: [] };
  throw error;
}

function hasFailed({ conclusion }: { readonly conclusion: string | null }): boolean {
  return FAILURES.has(conclusion);
}

/** Without a new one, a list would end too early, or never. */
function nextCursor(next: string | null, last: string | null): string {
  if (next === null || next === last) throw unexpectedResponse();
  return next;
}

function parse<T>(data: unknown, schema: z.ZodMiniType<T>): T {
  const parsed = schema.safeParse(data);
  if (parsed.success) return parsed.data;
  throw unexpectedResponse();
}

/** Only a command on a pull request needs it. */
function loadPullState() {
  return import(/* webpackChunkName: "carried" */ './pull-state.ts');
}

/** `role_name` may be custom, and `permission` has neither triage nor maintain, so they do not count. */
function highest(given: Readonly<Record<string, unknown>>): Collaborator['permission'] {
  const has = (level: Permission) => given[level === 'write' ? 'push' : level] === true;
  return PERMISSIONS.findLast(has) ?? 'none';
}
