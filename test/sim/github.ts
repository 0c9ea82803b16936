import { crc32 } from 'node:zlib';
import {
  type Answer,
  type Clock,
  type JournalEntry,
  type Reply,
  type Scripted,
  serve,
} from './agent.ts';

export interface Account {
  readonly login: string;
  readonly id: number;
  readonly type: 'User' | 'Bot';
}

export interface Comment {
  readonly id: number;
  readonly author: string;
  readonly body: string;
  readonly html_url: string;
  readonly created_at: string;
  readonly updated_at: string;
}

export interface Reaction {
  readonly subject: 'issue' | 'issue_comment' | 'review_comment';
  /** The id of the comment, or the number of the issue. */
  readonly id: number;
  readonly content: string;
  readonly user: string;
}

export interface IssueOptions {
  readonly number: number;
  readonly pullRequest?: boolean;
  readonly locked?: boolean;
  readonly comments?: readonly { readonly author: string; readonly body: string }[];
}

export interface CollaboratorOptions {
  readonly id: number;
  readonly permission: 'admin' | 'write' | 'read' | 'none';
  /** Default: the permission. Custom roles have names of their own. */
  readonly role_name?: string;
  /** Default: what the role implies. Null leaves them out, as older servers do. */
  readonly user_permissions?: Readonly<Partial<Record<Level, boolean>>> | null;
}

type Level = 'pull' | 'triage' | 'push' | 'maintain' | 'admin';

export interface GitHubOptions {
  readonly repository?: string;
  /** Whom the token speaks for. A bot's token belongs to an app's installation. */
  readonly viewer?: Account;
  readonly token?: string;
  readonly issues?: readonly IssueOptions[];
  readonly collaborators?: Readonly<Record<string, CollaboratorOptions>>;
  /** False: 404, as on hosts that have none. */
  readonly graphql?: boolean;
  readonly clock?: Clock;
  /** Has the first say. */
  readonly on?: (request: JournalEntry) => Scripted<Reply>;
  /** The token may write nothing. */
  readonly readOnly?: boolean;
}

export interface GitHub extends AsyncDisposable {
  readonly apiUrl: string;
  readonly graphqlUrl: string;
  readonly serverUrl: string;
  readonly repository: string;
  readonly token: string;
  readonly journal: readonly JournalEntry[];
  readonly reactions: readonly Reaction[];
  /** Oldest first. */
  comments(number: number): readonly Comment[];
  addComment(number: number, author: string, body: string): Comment;
  /** A comment on a line of a pull request. */
  addReviewComment(number: number, author: string, body: string): Comment;
  deleteComment(id: number): void;
  /** All attempts to write; `status` tells what became of them. */
  writes(): readonly JournalEntry[];
}

interface Issue extends IssueOptions {
  readonly comments: Comment[];
  readonly reviewComments: Comment[];
}

const SERVER_URL = 'https://github.com';
const ACTIONS: Account = { login: 'github-actions[bot]', id: 41_898_282, type: 'Bot' };
const MAX_BODY = 65_536;
const MAX_INT = 2 ** 31 - 1;
const LEVELS: readonly Level[] = ['pull', 'triage', 'push', 'maintain', 'admin'];
const ROLES = ['read', 'triage', 'write', 'maintain', 'admin'];
const REACTIONS = ['+1', '-1', 'laugh', 'confused', 'heart', 'hooray', 'rocket', 'eyes'];
const NOT_FOUND = refusal(404, 'Not Found');
const FORBIDDEN = refusal(403, 'Resource not accessible by integration');

/** GitHub's API in memory: one repository, and one token for it. */
export async function startGitHub(options: GitHubOptions = {}): Promise<GitHub> {
  const { repository = 'octo/agents', viewer = ACTIONS, token = 'ghs_test_token' } = options;
  const { clock = Date, collaborators = {} } = options;
  const issues = new Map<number, Issue>();
  const reactions: Reaction[] = [];
  // Real ids are past 31 bits.
  let lastId = 3_000_000_000;

  for (const issue of options.issues ?? []) {
    issues.set(issue.number, { ...issue, comments: [], reviewComments: [] });
    for (const { author, body } of issue.comments ?? []) addComment(issue.number, author, body);
  }

  function now(): string {
    return new Date(clock.now()).toISOString().replace(/\.\d+/, '');
  }

  function addComment(number: number, author: string, body: string): Comment {
    return add(known(number).comments, `${pageOf(number)}#issuecomment-`, author, body);
  }

  function addReviewComment(number: number, author: string, body: string): Comment {
    return add(known(number).reviewComments, `${pageOf(number)}#discussion_r`, author, body);
  }

  function add(list: Comment[], page: string, author: string, body: string): Comment {
    lastId += 1;
    const [id, time] = [lastId, now()];
    const html_url = `${page}${id}`;
    const comment = { id, author, body, html_url, created_at: time, updated_at: time };
    list.push(comment);
    return comment;
  }

  function known(number: number): Issue {
    const issue = issues.get(number);
    if (issue === undefined) throw new Error(`The simulated repository has no issue ${number}.`);
    return issue;
  }

  function pageOf(number: number): string {
    const kind = issues.get(number)?.pullRequest === true ? 'pull' : 'issues';
    return `${SERVER_URL}/${repository}/${kind}/${number}`;
  }

  function findComment(list: 'comments' | 'reviewComments', id: number): Found | undefined {
    for (const issue of issues.values()) {
      const index = issue[list].findIndex((comment) => comment.id === id);
      const comment = issue[list][index];
      if (comment !== undefined) return { issue, list: issue[list], index, comment };
    }
    return undefined;
  }

  function account(login: string): Account {
    if (login === viewer.login) return viewer;
    const id = collaborators[login]?.id ?? crc32(login);
    return { login, id, type: login.endsWith('[bot]') ? 'Bot' : 'User' };
  }

  function restComment({ author, ...rest }: Comment): object {
    return { ...rest, user: account(author), performed_via_github_app: null };
  }

  function listComments(issue: Issue, url: URL): Answer {
    const size = Math.min(Number(url.searchParams.get('per_page') ?? 30), 100);
    const page = Number(url.searchParams.get('page') ?? 1);
    const last = Math.max(1, Math.ceil(issue.comments.length / size));
    const to = (rel: string, target: number): string => {
      url.searchParams.set('page', String(target));
      return `<${url}>; rel="${rel}"`;
    };
    const back = page > 1 ? [to('prev', page - 1), to('first', 1)] : [];
    const links = [...back, ...(page < last ? [to('next', page + 1), to('last', last)] : [])];
    const body = issue.comments.slice((page - 1) * size, page * size).map(restComment);
    return { headers: links.length > 0 ? { link: links.join(', ') } : {}, body };
  }

  function createComment(issue: Issue, request: JournalEntry): Answer {
    if (issue.locked) return refusal(403, 'Unable to create comment because issue is locked.');
    const body = readBody(request);
    if (typeof body !== 'string') return body;
    return { status: 201, body: restComment(addComment(issue.number, viewer.login, body)) };
  }

  function updateComment({ list, index, comment }: Found, request: JournalEntry): Answer {
    const body = readBody(request);
    if (typeof body !== 'string') return body;
    const updated = { ...comment, body, updated_at: now() };
    list[index] = updated;
    return { body: restComment(updated) };
  }

  function deleteComment({ list, index }: Found): Answer {
    list.splice(index, 1);
    return { status: 204 };
  }

  function react(
    subject: Reaction['subject'],
    id: number,
    issue: Issue,
    request: JournalEntry,
  ): Answer {
    if (issue.locked === true) return refusal(403, 'The conversation is locked.');
    const content = String(readJson(request).content);
    if (!REACTIONS.includes(content)) return refusal(422, 'Validation Failed');
    const isSame = (one: Reaction): boolean =>
      one.subject === subject && one.id === id && one.content === content;
    const before = reactions.findIndex(isSame);
    if (before < 0) reactions.push({ subject, id, content, user: viewer.login });
    const number = (before < 0 ? reactions.length - 1 : before) + 1;
    return {
      status: before < 0 ? 201 : 200,
      body: { id: number, content, user: viewer, created_at: now() },
    };
  }

  function permission(login: string): Answer {
    const isAsked = (name: string): boolean => name.toLowerCase() === login.toLowerCase();
    const name = Object.keys(collaborators).find(isAsked);
    const one = name === undefined ? undefined : collaborators[name];
    if (name === undefined || one === undefined) return refusal(404, `${login} is not a user`);
    const { role_name = one.permission, user_permissions: given } = one;
    // A custom role is built upon the standard one that the permission names.
    const rank = ROLES.indexOf(ROLES.includes(role_name) ? role_name : one.permission);
    const implied = Object.fromEntries(LEVELS.map((level, index) => [level, index <= rank]));
    const permissions = given === null ? {} : { permissions: { ...implied, ...given } };
    const user = { ...account(name), ...permissions, role_name };
    return { body: { permission: one.permission, role_name, user } };
  }

  function pullRequest({ number, locked = false }: Issue): Answer {
    const place = { full_name: repository, html_url: `${SERVER_URL}/${repository}` };
    const head = { ref: 'changes', sha: 'a'.repeat(40), repo: place };
    const base = { ref: 'main', sha: 'b'.repeat(40), repo: place };
    return { body: { number, state: 'open', locked, html_url: pageOf(number), head, base } };
  }

  function rest(request: JournalEntry): Answer {
    const { method } = request;
    const url = new URL(request.path, site.origin);
    if (method !== 'GET' && options.readOnly === true) return FORBIDDEN;
    // An app's installation has no user.
    if (url.pathname === '/user') return viewer.type === 'Bot' ? FORBIDDEN : { body: viewer };
    const path = url.pathname.split('/').slice(1).map(decodeURIComponent);
    if (path[0] !== 'repos' || `${path[1]}/${path[2]}`.toLowerCase() !== repository.toLowerCase()) {
      return NOT_FOUND;
    }
    // Of numbers, only the shape of the path counts.
    const shape = path.slice(3).map((part) => (/^\d+$/.test(part) ? '#' : part));
    const number = Number(path.find((part, index) => index > 3 && /^\d+$/.test(part)));
    const issue = issues.get(number);
    const comment = findComment('comments', number);
    const reviewed = findComment('reviewComments', number);
    const routes: Readonly<Record<string, () => Answer | undefined>> = {
      'GET issues/#/comments': () => issue && listComments(issue, url),
      'POST issues/#/comments': () => issue && createComment(issue, request),
      'GET issues/comments/#': () => comment && { body: restComment(comment.comment) },
      'PATCH issues/comments/#': () => comment && updateComment(comment, request),
      'DELETE issues/comments/#': () => comment && deleteComment(comment),
      'POST issues/#/reactions': () => issue && react('issue', number, issue, request),
      'POST issues/comments/#/reactions': () =>
        comment && react('issue_comment', number, comment.issue, request),
      'POST pulls/comments/#/reactions': () =>
        reviewed && react('review_comment', number, reviewed.issue, request),
      'GET pulls/comments/#': () => reviewed && { body: restComment(reviewed.comment) },
      'GET pulls/#': () => (issue?.pullRequest ? pullRequest(issue) : undefined),
      [`GET collaborators/${shape[1]}/permission`]: () => permission(path[4] ?? ''),
    };
    return routes[`${method} ${shape.join('/')}`]?.() ?? NOT_FOUND;
  }

  /** Understands one question only: the newest comments of an issue or pull request. */
  function graphql(request: JournalEntry): Answer {
    const { query = '', variables = {} } = readJson(request) as Question;
    const asked = /comments\(\s*last:\s*(\d+)(?:[\s,]*before:\s*\$(\w+))?\s*\)/.exec(query);
    if (!query.includes('issueOrPullRequest') || asked === null || Number(asked[1]) > 100) {
      return { body: { errors: [{ message: 'The simulator does not know this query.' }] } };
    }
    const { owner, name = variables.repo, number } = variables;
    const isHere = `${owner}/${name}`.toLowerCase() === repository.toLowerCase();
    if (!isHere) return missing(null, ['repository']);
    const issue = issues.get(Number(number));
    if (issue === undefined) {
      return missing({ issueOrPullRequest: null }, ['repository', 'issueOrPullRequest']);
    }
    const before = asked[2] === undefined ? null : (variables[asked[2]] ?? null);
    const older = issue.comments.filter(({ id }) => before === null || id < fromCursor(before));
    const page = older.slice(-Number(asked[1]));
    const comments = {
      nodes: page.map(graphqlComment),
      pageInfo: {
        hasPreviousPage: page.length < older.length,
        startCursor: toCursor(page[0]),
        hasNextPage: older.length < issue.comments.length,
        endCursor: toCursor(page.at(-1)),
      },
    };
    const __typename = issue.pullRequest === true ? 'PullRequest' : 'Issue';
    const issueOrPullRequest = { __typename, locked: issue.locked ?? false, comments };
    return { body: { data: { repository: { issueOrPullRequest } } } };
  }

  function graphqlComment(comment: Comment): object {
    const { id, author, body, html_url: url, created_at: createdAt } = comment;
    return {
      id: `IC_${id}`,
      // The schema's Int ends here; `fullDatabaseId` took its place.
      databaseId: id > MAX_INT ? null : id,
      fullDatabaseId: String(id),
      body,
      url,
      createdAt,
      updatedAt: comment.updated_at,
      viewerDidAuthor: author === viewer.login,
      // Unlike REST, GraphQL names bots without the suffix.
      author: { login: author.replace(/\[bot\]$/, '') },
    };
  }

  const site = await serve(clock, async (request): Promise<Reply> => {
    const scripted = await options.on?.(request);
    if (scripted !== undefined) return scripted;
    const isGraphql = request.path === '/graphql' && request.method === 'POST';
    if (isGraphql && options.graphql === false) return NOT_FOUND;
    const [, given] = /^(?:token|bearer) (\S+)$/i.exec(request.headers.authorization ?? '') ?? [];
    if (given !== token) return refusal(401, 'Bad credentials');
    return isGraphql ? graphql(request) : rest(request);
  });

  return {
    apiUrl: site.origin,
    graphqlUrl: `${site.origin}/graphql`,
    serverUrl: SERVER_URL,
    repository,
    token,
    journal: site.journal,
    reactions,
    comments: (number) => [...known(number).comments],
    addComment,
    addReviewComment,
    deleteComment(id) {
      const found = findComment('comments', id) ?? findComment('reviewComments', id);
      if (found === undefined) throw new Error(`There is no comment ${id} to delete.`);
      deleteComment(found);
    },
    writes: () =>
      site.journal.filter(({ method, path }) => method !== 'GET' && path !== '/graphql'),
    [Symbol.asyncDispose]: () => site[Symbol.asyncDispose](),
  };
}

interface Found {
  readonly issue: Issue;
  readonly list: Comment[];
  readonly index: number;
  readonly comment: Comment;
}

interface Question {
  readonly query?: string;
  readonly variables?: Readonly<Record<string, unknown>>;
}

function readBody(request: JournalEntry): string | Answer {
  const { body } = readJson(request);
  if (typeof body !== 'string' || body.trim() === '') return refusal(422, 'Validation Failed');
  if (body.length <= MAX_BODY) return body;
  return refusal(422, `Validation Failed: body is too long (maximum is ${MAX_BODY} characters)`);
}

function readJson(request: JournalEntry): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(request.body));
  } catch {
    return {};
  }
}

function toCursor(comment: Comment | undefined): string | null {
  return comment === undefined ? null : Buffer.from(`cursor:${comment.id}`).toString('base64');
}

function fromCursor(cursor: unknown): number {
  return Number(Buffer.from(String(cursor), 'base64').toString().replace('cursor:', ''));
}

function missing(repository: object | null, path: readonly string[]): Answer {
  const message = 'Could not resolve to what was asked for.';
  return { body: { data: { repository }, errors: [{ type: 'NOT_FOUND', path, message }] } };
}

function refusal(status: number, message: string): Answer {
  return {
    status,
    body: { message, documentation_url: 'https://docs.github.com/rest', status: String(status) },
  };
}
