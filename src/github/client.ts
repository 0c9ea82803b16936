import type * as z from 'zod/mini';
import { untilAborted } from '../clock.ts';
import { type PullRequest, type PullRequestHead, parseState } from '../pull-request.ts';
import {
  problemWithCertificates,
  type RunInfo,
  type Runtime,
  readProxy,
} from '../runner/environment.ts';
import { PERMISSIONS, type Permission } from '../runner/inputs.ts';
import { USER_AGENT } from '../runner/network.ts';
import { getOctokit, type Octokit } from '../vendor/actions.ts';
import type { Annotation, CheckRun, WorkflowRun } from './checks.ts';
import type { Conversation, InlinePost } from './conversation.ts';
import {
  GitHubError,
  isUnclear,
  LONGEST_RATE_PAUSE_MS,
  toGitHubError,
  unexpectedResponse,
} from './errors.ts';
import { createFetch, fetchLog } from './fetch.ts';
import type { Comparison, NewestComment, Query } from './responses.ts';

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
  '-1': 'THUMBS_DOWN',
  confused: 'CONFUSED',
  eyes: 'EYES',
  hooray: 'HOORAY',
} as const;
export type ReactionContent = keyof typeof REACTIONS;

/** Why a comment is collapsed. */
export type Classifier = 'OUTDATED' | 'DUPLICATE';

export interface GitHubOptions
  extends Pick<Runtime, 'env' | 'clock' | 'redact' | 'signal'>,
    Pick<RunInfo, 'repository' | 'apiUrl'> {
  readonly token: string;
}

/** The limit of one call, in milliseconds. */
const CALL_MS = 10_000;
/** Milliseconds for all calls once the run is cancelled: the runner ends the process after 7.5 s. */
const AFTER_CANCEL_MS = 6000;
/** The most runs, checks, annotations or pull requests that GitHub lists at once. */
const MOST_AT_ONCE = 100;
/** Sent with every call: the default version may change. */
const API_VERSION = { 'x-github-api-version': '2022-11-28' };

interface Written {
  readonly lastEditedAt: string | null;
  readonly author: { readonly databaseId?: number | null | undefined } | null;
  readonly editor: { readonly databaseId?: number | null | undefined } | null;
}

/** Whether somebody else has edited it last. */
export function isEdited({ lastEditedAt, author, editor }: Written): boolean {
  return lastEditedAt !== null && editor?.databaseId !== author?.databaseId;
}

interface OwnComment {
  readonly id: string;
  readonly body: string;
  readonly url: string;
  /** ISO 8601, in whole seconds. */
  readonly createdAt: string;
  /** Whether somebody else has edited it last. */
  readonly isEdited: boolean;
}

const REACTION_ROUTES = {
  comment: 'issues/comments/{id}/reactions',
  'review-comment': 'pulls/comments/{id}/reactions',
} as const;

/** Only now, because a run without calls to GitHub does not need them: making the schemas takes time. */
const loadResponses = () => import(/* webpackMode: "eager" */ './responses.ts');
/** Only failures and commands on a pull request need it. */
const loadChecks = () => import(/* webpackChunkName: "carried" */ './checks.ts');
/** Only a command or a review needs it. */
const loadConversation = () => import(/* webpackChunkName: "carried" */ './conversation.ts');

/** Checks the token, the certificates and the proxy before anything is sent. */
async function connect({ token, apiUrl, env }: GitHubOptions) {
  if (token === '') throw new GitHubError(401, '“github-token” is empty');
  if (!/^[!-~]+$/.test(token)) {
    const why = '“github-token” contains a space, a line break or a character outside ASCII';
    throw new GitHubError(401, why);
  }
  const isSetup = { wasWritten: false, isSetup: true };
  const unsafe = problemWithCertificates(env);
  if (unsafe !== undefined) throw new GitHubError(0, unsafe, isSetup);
  const proxy = readProxy(env, new URL(apiUrl));
  if (proxy.kind === 'problem') {
    throw new GitHubError(0, `GitHub cannot be reached: ${proxy.problem}`, isSetup);
  }
  return { octokit: await getOctokit(token, apiUrl, USER_AGENT), proxy: proxy.value };
}

/**
 * What can be asked of GitHub. It connects when it is first asked. Each call rejects with a `GitHubError`. Only reads and
 * reactions are repeated, once.
 */
export class GitHub {
  readonly #options: GitHubOptions;
  /** Aborted when the time after a cancellation is over. */
  readonly #over = new AbortController();
  #connected: ReturnType<typeof connect> | undefined;
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
    const { ownIds } = await loadResponses();
    const ids: string[] = [];
    let before: string | null = null;
    do {
      this.#checkTime(until);
      const variables: object = { ...this.#repository, number, before };
      const answer = await this.#query(ownIds, variables);
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
    const { texts, COMMENTS_AT_ONCE } = await loadResponses();
    for (let from = 0; from < ids.length; from += COMMENTS_AT_ONCE) {
      this.#checkTime(until);
      const some = ids.slice(from, from + COMMENTS_AT_ONCE);
      const { nodes } = await this.#query(texts, { ids: some }).catch(noneIfGone);
      for (const one of nodes) {
        if (one !== null) this.#comments.set(one.id, { ...one, isEdited: isEdited(one) });
      }
    }
  }

  /** All inline comments of a review, or none: a part of them would be misleading. */
  async reviewComments(nodeId: string, until: number): Promise<readonly InlinePost[]> {
    const { reviewQuery } = await loadConversation();
    const found: InlinePost[] = [];
    let after: string | null = null;
    for (;;) {
      this.#checkTime(until);
      const variables: object = { id: nodeId, after };
      const { review } = await this.#query(reviewQuery, variables);
      const { nodes, pageInfo } = review.comments;
      found.push(...nodes);
      if (!pageInfo.hasNextPage) return found;
      after = nextCursor(pageInfo.endCursor, after);
    }
  }

  /** Of the newest comments there, those by the identity of the token. */
  async newestOwnComments(number: number): Promise<readonly NewestComment[]> {
    const variables = { ...this.#repository, number };
    const { newestComments } = await loadResponses();
    const answer = await this.#query(newestComments, variables);
    const { nodes } = answer.repository.issueOrPullRequest.comments;
    return nodes.filter(({ viewerDidAuthor }) => viewerDidAuthor);
  }

  /** Collapses comments, each for a reason. */
  async hide(comments: readonly (readonly [nodeId: string, why: Classifier])[]): Promise<void> {
    const names = comments.map((_, index) => `$id${index}: ID!`).join(', ');
    const calls = comments.map(
      ([, why], index) =>
        `c${index}: minimizeComment(input: { subjectId: $id${index}, classifier: ${why} }) ` +
        '{ clientMutationId }',
    );
    const variables = Object.fromEntries(comments.map(([id], index) => [`id${index}`, id]));
    await this.#graphql(`mutation (${names}) { ${calls.join('\n')} }`, variables);
  }

  async createComment(number: number, body: string): Promise<CreatedComment> {
    const route = 'POST issues/{number}/comments';
    const { createdComment } = await loadResponses();
    const { data } = await this.#request(route, { number, body });
    const { id, node_id, html_url, created_at: createdAt } = parse(data, createdComment);
    this.#comments.set(node_id, { id: node_id, body, url: html_url, createdAt, isEdited: false });
    return { id, nodeId: node_id, url: html_url };
  }

  async updateComment(id: number, body: string): Promise<void> {
    const route = 'PATCH issues/comments/{id}';
    const { editedComment } = await loadResponses();
    const { data } = await this.#request(route, { id, body });
    parse(data, editedComment);
  }

  async react(
    to: {
      readonly kind: keyof typeof REACTION_ROUTES | 'review';
      readonly id: number;
      readonly nodeId: string;
    },
    content: ReactionContent,
  ): Promise<void> {
    const { kind, id, nodeId } = to;
    const { ADD_REACTION } = await loadResponses();
    await this.#repeatOnce(() =>
      kind === 'review'
        ? // Only GraphQL has reactions to a review.
          this.#graphql(ADD_REACTION, { id: nodeId, content: REACTIONS[content] })
        : this.#request(`POST ${REACTION_ROUTES[kind]}`, { id, content }),
    );
  }

  /** Null if GitHub knows no permission of this person, or does not tell the token. */
  async collaborator(login: string): Promise<Collaborator | null> {
    const route = 'GET collaborators/{login}/permission';
    const { collaborator } = await loadResponses();
    try {
      const { user } = await this.#read(route, { login }, collaborator);
      return user && { ...user, permission: highest(user.permissions) };
    } catch (error) {
      if (error instanceof GitHubError && error.status === 404) return null;
      throw error;
    }
  }

  async pullRequest(number: number): Promise<PullRequest> {
    const route = 'GET pulls/{number}';
    const { pull } = await loadResponses();
    const { head, commits, state, merged_at } = await this.#read(route, { number }, pull);
    return { number, ...head, state: parseState(state, merged_at), commits };
  }

  /** The pull requests of this repository that have a commit; of one on the default branch, the one that brought it there. */
  async pullsOf(sha: string): Promise<readonly PullRequestHead[]> {
    const route = 'GET commits/{sha}/pulls{?per_page}';
    const { pullsOfCommit } = await loadResponses();
    const pulls = await this.#read(route, { sha, per_page: MOST_AT_ONCE }, pullsOfCommit);
    const here = this.#options.repository.toLowerCase();
    return pulls
      .filter(({ head, base }) =>
        [head, base].every(({ repo }) => repo.full_name.toLowerCase() === here),
      )
      .map(({ number, head, state, merged_at }) => {
        const { sha, ref } = head;
        return { number, sha, ref, state: parseState(state, merged_at) };
      });
  }

  /** What has changed from one commit to another; needs `contents: read`. */
  async compare(base: string, head: string): Promise<Comparison> {
    const route = 'GET compare/{basehead}';
    const { comparison } = await loadResponses();
    return this.#read(route, { basehead: `${base}...${head}` }, comparison);
  }

  /**
   * What was said on an issue or pull request, the newest of it; and of a pull request, its newest commit and whether it has a
   * conflict.
   */
  async conversation(number: number): Promise<Conversation> {
    const variables = { ...this.#repository, number };
    const { conversationQuery } = await loadConversation();
    const { repository } = await this.#query(conversationQuery, variables);
    return repository.page;
  }

  /** All runs of workflows on a commit, the newest first. `until`: a time of the clock, after which no further page is read. */
  async runsOn(sha: string, until: number): Promise<readonly WorkflowRun[]> {
    const route = 'GET actions/runs{?head_sha,per_page,page}';
    const { runsAnswer } = await loadChecks();
    return this.#readPages(until, async (page) => {
      const { workflow_runs, total_count } = await this.#read(
        route,
        { head_sha: sha, ...page },
        runsAnswer,
      );
      return { all: workflow_runs, total: total_count };
    });
  }

  /** The newest checks on a commit, jobs among them. In private repositories, it needs `checks: read`. */
  async checksOn(sha: string, until: number): Promise<readonly CheckRun[]> {
    const route = 'GET commits/{sha}/check-runs{?per_page,page}';
    const { checksAnswer } = await loadChecks();
    return this.#readPages(until, async (page) => {
      const { check_runs, total_count } = await this.#read(route, { sha, ...page }, checksAnswer);
      return { all: check_runs, total: total_count };
    });
  }

  async #readPages<T>(
    until: number,
    read: (page: object) => Promise<{ readonly all: readonly T[]; readonly total: number }>,
  ): Promise<readonly T[]> {
    const found: T[] = [];
    for (let page = 1; ; page += 1) {
      this.#checkTime(until);
      const { all, total } = await read({ per_page: MOST_AT_ONCE, page });
      found.push(...all);
      if (all.length === 0 || page * MOST_AT_ONCE >= total) return found;
    }
  }

  /** The first annotations of a check or a job. In private repositories, it needs `checks: read`. */
  async annotations(checkId: number): Promise<readonly Annotation[]> {
    const route = 'GET check-runs/{checkId}/annotations{?per_page}';
    const { annotationsAnswer } = await loadChecks();
    return this.#read(route, { checkId, per_page: MOST_AT_ONCE }, annotationsAnswer);
  }

  /** The log of a job, from the host that GitHub redirects to. The URL is a secret. */
  async jobLog(jobId: number, signal: AbortSignal): Promise<string> {
    const route = 'GET actions/jobs/{jobId}/logs';
    const { headers } = await this.#repeatOnce(() => this.#request(route, { jobId }, true));
    this.#connected ??= connect(this.#options);
    const { proxy } = await this.#connected;
    return fetchLog(headers.location ?? '', { proxy, signal, apiUrl: this.#options.apiUrl });
  }

  get #repository(): { owner: string; repo: string } {
    const [owner = '', repo = ''] = this.#options.repository.split('/');
    return { owner, repo };
  }

  #query<T>({ query, answer }: Query<T>, variables: object): Promise<T> {
    return this.#repeatOnce(async () => parse(await this.#graphql(query, variables), answer));
  }

  #read<T>(route: string, parameters: object, schema: z.ZodMiniType<T>): Promise<T> {
    return this.#repeatOnce(async () =>
      parse((await this.#request(route, parameters)).data, schema),
    );
  }

  /**
   * Repeats once what may pass, after the pause that a rate limit asks for. Octokit's retry plugin would repeat writes as
   * well. A cancelled run reads nothing: its comment needs the time.
   */
  async #repeatOnce<T>(read: () => Promise<T>): Promise<T> {
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
    const { graphqlData } = await loadResponses();
    const data = await this.#call(({ graphql }, options) =>
      graphql(query, { ...variables, ...options }),
    );
    return parse(data, graphqlData);
  }

  async #request(route: string, parameters: object, wantsRedirect = false) {
    const given = { ...this.#repository, ...parameters };
    const full = route.replace(' ', ' /repos/{owner}/{repo}/');
    return this.#call(
      ({ request }, options) => request(full, { ...given, ...options }),
      wantsRedirect,
    );
  }

  async #call<T>(
    call: (octokit: Octokit, options: object) => Promise<T>,
    wantsRedirect = false,
  ): Promise<T> {
    const { clock, redact } = this.#options;
    const signal = AbortSignal.any([clock.timeout(CALL_MS), this.#over.signal]);
    let wasWritten = false;
    const onWrite = (): void => {
      wasWritten = true;
    };
    try {
      this.#connected ??= connect(this.#options);
      const { octokit, proxy } = await this.#connected;
      const fetch = createFetch({ proxy, signal, wantsRedirect, onWrite });
      return await call(octokit, { headers: API_VERSION, request: { fetch } });
    } catch (error) {
      if (!signal.aborted) throw toGitHubError(error, redact, wasWritten, clock.now());
      throw new GitHubError(0, 'GitHub did not answer in time', { cause: error, wasWritten });
    }
  }
}

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

/** `role_name` may be custom, and `permission` has neither triage nor maintain, so they do not count. */
function highest(given: Readonly<Record<string, unknown>>): Collaborator['permission'] {
  const has = (level: Permission) => given[level === 'write' ? 'push' : level] === true;
  return PERMISSIONS.findLast(has) ?? 'none';
}
