// GitHub's API on a free port: one repository in memory, and one token for it.

import { type Answer, type JournalEntry, type Reply, type Scripted, serve } from '../agent.ts';
import {
  createComment,
  deleteComment,
  listComments,
  restComment,
  updateComment,
} from './comments.ts';
import { mutationRoot, queryRoot } from './graph.ts';
import { graphql } from './graphql.ts';
import type { Comment, Issue, PageActions } from './issues.ts';
import { permission } from './permissions.ts';
import { openReactions, type Reaction, react, type Subject, unreact } from './reactions.ts';
import {
  openRepository,
  type Repository,
  type RepositoryOptions,
  refusal,
  SERVER_URL,
} from './repository.ts';

export interface GitHubOptions extends RepositoryOptions {
  readonly token?: string;
  /** False: 404, as on hosts that have none. */
  readonly graphql?: boolean;
  /** Has the first say. */
  readonly on?: (request: JournalEntry) => Scripted<Reply>;
  /** The token may write nothing. */
  readonly readOnly?: boolean;
}

export interface GitHub extends AsyncDisposable, PageActions {
  readonly apiUrl: string;
  readonly graphqlUrl: string;
  readonly serverUrl: string;
  readonly repository: string;
  readonly token: string;
  readonly journal: readonly JournalEntry[];
  readonly reactions: readonly Reaction[];
  /** Oldest first. */
  comments(number: number): readonly Comment[];
  /** All attempts to write by REST; `status` tells what became of them. */
  writes(): readonly JournalEntry[];
}

const NOT_FOUND = refusal(404, 'Not Found');
const FORBIDDEN = refusal(403, 'Resource not accessible by integration');

export async function startGitHub(options: GitHubOptions = {}): Promise<GitHub> {
  const { token = 'ghs_test_token', clock = Date, readOnly = false } = options;
  const repository = openRepository(options);
  const { name, viewer, issues, find } = repository;
  const reactions = openReactions(repository.now);
  const graph = {
    query: queryRoot(repository),
    mutation: mutationRoot(repository, reactions, readOnly),
  };

  function rest(request: JournalEntry): Answer {
    const { method } = request;
    const url = new URL(request.path, site.origin);
    if (method !== 'GET' && readOnly) return FORBIDDEN;
    // An app's installation has no user.
    if (url.pathname === '/user') return viewer.type === 'Bot' ? FORBIDDEN : { body: viewer };
    const path = url.pathname.split('/').slice(1).map(decodeURIComponent);
    if (path[0] !== 'repos' || `${path[1]}/${path[2]}`.toLowerCase() !== name.toLowerCase()) {
      return NOT_FOUND;
    }
    // Of numbers, only the shape of the path counts.
    const shape = path.slice(3).map((part) => (/^\d+$/.test(part) ? '#' : part));
    const [number = 0, second = 0] = path.filter((part) => /^\d+$/.test(part)).map(Number);
    const issue = issues.get(number);
    const comment = find('comments', number);
    const reviewed = find('reviewComments', number);
    const reactTo = (subject: Subject['subject'], on: Issue): Answer =>
      react(repository, reactions, { subject, id: number, issue: on }, request);
    const takeBackFrom = (subject: Subject['subject']): Answer | undefined =>
      unreact(reactions, subject, number, second);
    const routes: Readonly<Record<string, () => Answer | undefined>> = {
      'GET issues/#/comments': () => issue && listComments(repository, issue, url),
      'POST issues/#/comments': () => issue && createComment(repository, issue, request),
      'GET issues/comments/#': () => comment && { body: restComment(repository, comment.comment) },
      'PATCH issues/comments/#': () => comment && updateComment(repository, comment, request),
      'DELETE issues/comments/#': () => comment && deleteComment(repository, comment),
      'POST issues/#/reactions': () => issue && reactTo('issue', issue),
      'POST issues/comments/#/reactions': () => comment && reactTo('issue_comment', comment.issue),
      'DELETE issues/comments/#/reactions/#': () => comment && takeBackFrom('issue_comment'),
      'DELETE pulls/comments/#/reactions/#': () => reviewed && takeBackFrom('review_comment'),
      'POST pulls/comments/#/reactions': () =>
        reviewed && reactTo('review_comment', reviewed.issue),
      'GET pulls/comments/#': () => reviewed && { body: restComment(repository, reviewed.comment) },
      'GET pulls/#': () => (issue?.pullRequest ? pullRequest(repository, issue) : undefined),
      [`GET collaborators/${shape[1]}/permission`]: () => permission(repository, path[4] ?? ''),
    };
    return routes[`${method} ${shape.join('/')}`]?.() ?? NOT_FOUND;
  }

  const site = await serve(clock, async (request): Promise<Reply> => {
    const scripted = await options.on?.(request);
    if (scripted !== undefined) return scripted;
    const isGraphql = request.path === '/graphql' && request.method === 'POST';
    if (isGraphql && options.graphql === false) return NOT_FOUND;
    const [, given] = /^(?:token|bearer) (\S+)$/i.exec(request.headers.authorization ?? '') ?? [];
    if (given !== token) return refusal(401, 'Bad credentials');
    return isGraphql ? graphql(graph, request) : rest(request);
  });

  return {
    apiUrl: site.origin,
    graphqlUrl: `${site.origin}/graphql`,
    serverUrl: SERVER_URL,
    repository: name,
    token,
    journal: site.journal,
    get reactions() {
      return reactions.all();
    },
    comments: (number) => [...repository.known(number).comments],
    addComment: repository.addComment,
    addReviewComment: repository.addReviewComment,
    editComment: repository.editComment,
    deleteComment: repository.deleteComment,
    minimizeComment: repository.minimizeComment,
    lock: repository.lock,
    writes: () =>
      site.journal.filter(({ method, path }) => method !== 'GET' && path !== '/graphql'),
    [Symbol.asyncDispose]: () => site[Symbol.asyncDispose](),
  };
}

function pullRequest({ name, pageOf }: Repository, { number, locked = false }: Issue): Answer {
  const repo = { full_name: name, html_url: `${SERVER_URL}/${name}` };
  const head = { ref: 'changes', sha: 'a'.repeat(40), repo };
  const base = { ref: 'main', sha: 'b'.repeat(40), repo };
  return { body: { number, state: 'open', locked, html_url: pageOf(number), head, base } };
}
