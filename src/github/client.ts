import { untilAborted } from '../clock.ts';
import { type RunInfo, type Runtime, readNetworkSettings } from '../runner/environment.ts';
import { USER_AGENT } from '../runner/http.ts';
import { problem } from '../value-or-problem.ts';
import { getOctokit } from '../vendor/actions.ts';
import {
  classifyError,
  GitHubError,
  LONGEST_RATE_PAUSE_MS,
  mayPassLater,
  unexpectedResponse,
} from './errors.ts';
import { createFetch, fetchLog } from './fetch.ts';
import {
  anyObject,
  type Call,
  commentsQuery,
  lastEditQuery,
  ROUTES,
  reactionMutation,
} from './responses.ts';

export type Classifier = 'OUTDATED' | 'DUPLICATE';

export interface GitHubOptions
  extends Pick<Runtime, 'env' | 'clock' | 'redact' | 'signal'>,
    Pick<RunInfo, 'repository' | 'apiUrl'> {
  readonly token: string;
}

const CALL_MS = 10_000;
/** Milliseconds for all calls of a cancelled run, which the runner ends after 7.5 s. */
const AFTER_CANCEL_MS = 6000;
const MOST_AT_ONCE = 100;
/** The default version may change. */
const API_VERSION = { 'x-github-api-version': '2022-11-28' };

const loadChecks = () => import(/* webpackChunkName: "carried" */ './checks.ts');
const loadConversation = () => import(/* webpackChunkName: "carried" */ './conversation.ts');

/** Each call rejects with a `GitHubError`. After `until`, no further page is read. */
export class GitHub {
  readonly #options: GitHubOptions;
  readonly #over = new AbortController();
  #connection: ReturnType<typeof connect> | undefined;

  constructor(options: GitHubOptions) {
    this.#options = options;
    const { clock, signal } = options;
    const end = (): void => this.#over.abort();
    const endSoon = () => void clock.sleep(AFTER_CANCEL_MS, this.#over.signal).then(end, end);
    signal.addEventListener('abort', endSoon, { once: true });
  }

  /** By the identity of the token, the oldest first. */
  async ownComments(number: number, until: number) {
    return this.#list(commentsQuery, { number }, until);
  }

  async newestOwnComments(number: number) {
    return (await this.#read(commentsQuery, { number, cursor: null })).nodes;
  }

  async conversation(number: number) {
    return this.#read((await loadConversation()).conversationQuery, { number });
  }

  async reviewComments(nodeId: string, until: number) {
    return this.#list((await loadConversation()).reviewQuery, { id: nodeId }, until);
  }

  async hide(comments: readonly (readonly [nodeId: string, why: Classifier])[]): Promise<void> {
    const calls = comments.map(([id, why], index) => {
      const input = `{ subjectId: ${JSON.stringify(id)}, classifier: ${why} }`;
      return `c${index}: minimizeComment(input: ${input}) { clientMutationId }`;
    });
    await this.#request({ query: `mutation { ${calls.join('\n')} }`, answer: anyObject }, {});
  }

  createComment(number: number, body: string) {
    return this.#request(ROUTES.createComment, { number, body });
  }

  async updateComment(id: number, body: string): Promise<void> {
    await this.#request(ROUTES.updateComment, { id, body });
  }

  /** REST has no reactions to reviews. */
  async react(
    nodeId: string,
    content: 'THUMBS_UP' | 'THUMBS_DOWN' | 'CONFUSED' | 'EYES' | 'HOORAY',
  ): Promise<void> {
    await this.#read(reactionMutation, { id: nodeId, content });
  }

  /** Null if GitHub knows no permission of this person, or does not tell the token. */
  collaborator(login: string) {
    return this.#read(ROUTES.collaborator, { login }).catch((error) => {
      if (error instanceof GitHubError && error.status === 404) return null;
      throw error;
    });
  }

  pullRequest(number: number) {
    return this.#read(ROUTES.pullRequest, { number });
  }

  /** Of this repository; for a commit on the default branch, the one that brought it there. */
  async pullRequestsWith(sha: string) {
    const pulls = await this.#read(ROUTES.pullRequestsWith, { sha, per_page: MOST_AT_ONCE });
    const here = this.#options.repository.toLowerCase();
    return pulls.filter(({ repositories }) =>
      repositories.every((name) => name?.toLowerCase() === here),
    );
  }

  /** Needs `contents: read`. */
  compare(base: string, head: string) {
    return this.#read(ROUTES.compare, { basehead: `${base}...${head}` });
  }

  /** The newest first. Needs `actions: read`. */
  async runsOn(sha: string, until: number) {
    return this.#list((await loadChecks()).runsRoute, { head_sha: sha }, until);
  }

  async isRunOver(id: string): Promise<boolean> {
    return (await this.#read((await loadChecks()).runRoute, { id })).status === 'completed';
  }

  /** The newest ones, jobs among them. In private repositories: `checks: read`. */
  async checksOn(sha: string, until: number) {
    return this.#list((await loadChecks()).checksRoute, { sha }, until);
  }

  /** The first ones. In private repositories: `checks: read`. */
  async annotations(checkId: number) {
    const { annotationsRoute } = await loadChecks();
    return this.#read(annotationsRoute, { checkId, per_page: MOST_AT_ONCE });
  }

  async fetchFate(nodeId: string): Promise<'deleted' | 'edited' | 'same' | 'unknown'> {
    if (nodeId === '') return 'unknown';
    try {
      const { node } = await this.#read(lastEditQuery, { id: nodeId });
      return node.lastEditedAt === null ? 'same' : 'edited';
    } catch (error) {
      const isGone = error instanceof GitHubError && [404, 410].includes(error.status);
      return isGone ? 'deleted' : 'unknown';
    }
  }

  async jobLog(jobId: number, signal: AbortSignal): Promise<string> {
    const { headers } = await this.#repeatOnce(() => this.#send(ROUTES.jobLog, { id: jobId }));
    const { proxy } = await this.#connect();
    return fetchLog(headers.location ?? '', { proxy, signal, apiUrl: this.#options.apiUrl });
  }

  async #list<T>(
    call: Call<{
      readonly nodes: readonly T[];
      readonly total?: number;
      readonly pageInfo?: { readonly hasMore: boolean; readonly cursor: string | null };
    }>,
    parameters: object,
    until: number,
  ): Promise<readonly T[]> {
    const pages: (readonly T[])[] = [];
    for (let cursor: string | null = null; ; ) {
      if (this.#options.clock.now() > until) {
        throw new GitHubError(0, 'GitHub did not list everything in time');
      }
      const byNumber = { per_page: MOST_AT_ONCE, page: pages.length + 1 };
      const start: object = 'route' in call ? byNumber : { cursor };
      const { nodes, total = 0, pageInfo } = await this.#read(call, { ...parameters, ...start });
      pages.push(nodes);
      const isLeft = nodes.length > 0 && pages.length * MOST_AT_ONCE < total;
      if (!(pageInfo?.hasMore ?? isLeft)) {
        const isBackwards = 'query' in call && call.isBackwards;
        return (isBackwards ? pages.toReversed() : pages).flat();
      }
      // The list would end too early, or never.
      if (pageInfo && [null, cursor].includes(pageInfo.cursor)) throw unexpectedResponse();
      cursor = pageInfo?.cursor ?? null;
    }
  }

  #read<T>(call: Call<T>, parameters: object): Promise<T> {
    return this.#repeatOnce(() => this.#request(call, parameters));
  }

  /**
   * Repeats once what may pass, after the pause that a rate limit asks for. Octokit's retry plugin
   * would repeat writes as well. A cancelled run reads nothing: its comment needs the time.
   */
  async #repeatOnce<T>(read: () => Promise<T>): Promise<T> {
    const { clock, signal } = this.#options;
    const reading = read().catch(async (error) => {
      const isLimit = classifyError(error) === 'rate limit';
      const pauseMs = isLimit ? (error.pauseMs ?? Infinity) : 0;
      if (!mayPassLater(error) || pauseMs > LONGEST_RATE_PAUSE_MS) throw error;
      await clock.sleep(pauseMs, signal);
      return read();
    });
    return untilAborted(reading, signal).catch((error) => {
      throw signal.aborted ? new GitHubError(0, 'the run was stopped') : error;
    });
  }

  async #request<T>(call: Call<T>, parameters: object): Promise<T> {
    const parsed = call.answer.safeParse((await this.#send(call, parameters)).data);
    if (parsed.success) return parsed.data;
    throw unexpectedResponse();
  }

  async #send(call: Call<unknown>, parameters: object) {
    const { clock, redact, repository } = this.#options;
    const [owner, repo] = repository.split('/');
    const { octokit, proxy } = await this.#connect();
    const signal = AbortSignal.any([clock.timeout(CALL_MS), this.#over.signal]);
    const wantsRedirect = 'route' in call && call.wantsRedirect;
    const fetch = createFetch({ proxy, signal, clock, redact, wantsRedirect });
    const options = { ...parameters, owner, repo, headers: API_VERSION, request: { fetch } };
    try {
      if ('query' in call) {
        return { data: await octokit.graphql(call.query, options), headers: { location: '' } };
      }
      return await octokit.request(call.route.replace(' ', ' /repos/{owner}/{repo}/'), options);
    } catch (error) {
      // Octokit wraps the errors of `fetch`, and takes each body of GraphQL for an object.
      const { cause } = error as Error;
      throw cause instanceof GitHubError ? cause : unexpectedResponse();
    }
  }

  #connect(): ReturnType<typeof connect> {
    this.#connection ??= connect(this.#options);
    return this.#connection;
  }
}

async function connect({ token, apiUrl, env }: GitHubOptions) {
  if (token === '') throw new GitHubError(401, '“github-token” is empty');
  if (!/^[!-~]+$/.test(token)) {
    const why = '“github-token” contains a space, a line break or a character outside ASCII';
    throw new GitHubError(401, why);
  }
  const url = URL.parse(apiUrl);
  const proxy = url ? readNetworkSettings(env, url) : problem('GITHUB_API_URL is no URL');
  if (proxy.kind === 'problem') {
    const why = `GitHub cannot be reached: ${proxy.problem}`;
    throw new GitHubError(0, why, { wasWritten: false, isSetup: true });
  }
  return { octokit: await getOctokit(token, apiUrl, USER_AGENT), proxy: proxy.value };
}
