// GitHub's API on a free port: one repository in memory, and one token for it.

import { type JournalEntry, type Reply, type Scripted, serve } from '../agent.ts';
import { type Call, openCallLog } from './call-log.ts';
import { openGraph, type Reaction } from './graph.ts';
import { graphql } from './graphql.ts';
import { openRepository, type RepositoryOptions, refusal, SERVER_URL } from './repository.ts';
import { type Forbids, NOT_FOUND, rest } from './rest.ts';
import { type CheckRunOptions, openRuns, type WorkflowRunOptions } from './runs.ts';

export interface GitHubOptions extends RepositoryOptions {
  readonly token?: string;
  /** Runs of workflows. */
  readonly runs?: readonly WorkflowRunOptions[];
  /** Checks of apps. */
  readonly checks?: readonly CheckRunOptions[];
  /** False: 404, as on hosts without GraphQL. */
  readonly graphql?: boolean;
  /** Called first. `trouble` does not apply to what it returns. */
  readonly on?: (request: JournalEntry) => Scripted<Reply>;
  /** Whether the token has no write access. */
  readonly readOnly?: boolean;
  /** Permissions that the token lacks. */
  readonly lacks?: readonly ('actions' | 'checks')[];
  /** A public repository shows everything but logs to everyone. */
  readonly isPrivate?: boolean;
  /** Other calls for which the token lacks a permission. */
  readonly forbids?: (call: Call) => boolean;
}

export async function startGitHub(options: GitHubOptions = {}) {
  const { token = 'ghs_test_token', clock = Date, readOnly = false, trouble } = options;
  const repository = openRepository(options);
  const reactions: Reaction[] = [];
  const log = openCallLog();
  const graph = openGraph(repository, reactions);
  const runs = openRuns(options.runs ?? [], repository.name, options.checks);
  const logs = await serve(clock, runs.download);
  const unknown: string[] = [];

  const site = await serve(clock, async (request): Promise<Reply> => {
    const call = log.add(request);
    const scripted = await options.on?.(request);
    if (scripted !== undefined) return scripted;
    const isGraphql = call.route === '/graphql';
    if (isGraphql && options.graphql === false) return NOT_FOUND;
    const [, given] = /^(?:token|bearer) (\S+)$/i.exec(request.headers.authorization ?? '') ?? [];
    if (given !== token) return refusal(401, 'Bad credentials');
    const forbids: Forbids = (isWrite) =>
      (readOnly && isWrite) || isLacking(options, call) || options.forbids?.(call) === true;
    const onUnknown = (name: string): void => void unknown.push(name);
    const context = { repository, runs, logOrigin: logs.origin, forbids, onUnknown };
    const response = isGraphql ? graphql(graph, request, forbids) : rest(context, call);
    return trouble?.loses?.(call) === true ? { fault: 'reset' } : response;
  });
  const { origin: apiUrl, journal } = site;

  return {
    ...{ apiUrl, serverUrl: SERVER_URL, repository: repository.name, token, journal },
    reactions: reactions as readonly Reaction[],
    /** The requests for logs, on another host. */
    downloads: logs.journal,
    ...{ addRun: runs.addRun, addCheck: runs.addCheck, comments: repository.comments },
    ...repository.actions,
    /** All attempts to write by REST, including failed ones. */
    writes: () => journal.filter(({ method, path }) => method !== 'GET' && path !== '/graphql'),
    /** All calls, or those of a name. */
    calls: (name?: string): readonly Call[] =>
      log.calls.filter((call) => name === undefined || call.name === name),
    async [Symbol.asyncDispose](): Promise<void> {
      await site[Symbol.asyncDispose]();
      await logs[Symbol.asyncDispose]();
      if (unknown.length > 0) throw new Error(`The simulation has no ${unknown.join(', ')}.`);
    },
  };
}

export type GitHub = Awaited<ReturnType<typeof startGitHub>>;

function isLacking({ lacks = [], isPrivate = false }: GitHubOptions, { name }: Call): boolean {
  if (name.endsWith('/logs')) return lacks.includes('actions');
  if (!isPrivate) return false;
  const permission = /check-runs/.test(name) ? 'checks' : 'actions';
  return /^GET (actions|check-runs|commits)\//.test(name) && lacks.includes(permission);
}
