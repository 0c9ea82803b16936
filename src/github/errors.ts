import type { Redact } from '../runner/logger.ts';
import { explainConnection } from '../runner/network.ts';
import { type Response, readDate, readPause } from '../runner/request.ts';
import { quote } from '../text.ts';

// Why a call to GitHub failed, and what to do about it.

export class GitHubError extends Error {
  /** 0 without a response, or with one that cannot be read; 200 with one that is too large; 429 for every rate limit. */
  readonly status: number;
  /** Whether any byte of the request may have been sent. If not, GitHub certainly did nothing. */
  readonly wasWritten: boolean;
  /** The pause in milliseconds that GitHub asks for after it refused the call. */
  readonly pauseMs?: number;
  /** Whether a setting of the runner must be changed: a proxy, or certificates. */
  readonly isSetup: boolean;
  /** `message` is a phrase for people, without secrets. */
  constructor(
    status: number,
    message: string,
    more: { cause?: unknown; wasWritten?: boolean; pauseMs?: number; isSetup?: boolean } = {},
  ) {
    super(message, { cause: more.cause });
    this.status = status;
    this.wasWritten = more.wasWritten ?? true;
    this.isSetup = more.isSetup ?? false;
    if (more.pauseMs !== undefined) this.pauseMs = more.pauseMs;
  }
}

/** A phrase for people. Any other error than a `GitHubError` is a bug, whose text would not help them. */
export function whyOf(error: unknown): string {
  return error instanceof GitHubError ? error.message : 'an unexpected error';
}

/** Whether GitHub may have done it: it sent no response, or a server error. */
export function isUnclear(error: unknown): boolean {
  return !(error instanceof GitHubError) || error.status === 0 || error.status >= 500;
}

/** Milliseconds of a rate limit that a call waits for, once. */
export const LONGEST_RATE_PAUSE_MS = 60_000;

export const CHECK_TOKEN = 'Check “github-token”, or remove it to use the token of the job.';
const CHECK_NUMBER =
  'Check “pr-number”, if it is set, that “github-token” can write there, and that nobody has deleted or transferred the issue.';

/** For words of GitHub. What it says of other refusals, such as SAML, IP addresses or archives, says what to do. */
const HINTS: readonly (readonly [words: RegExp, hint: string])[] = [
  [
    /\bis locked(?! for)\b/,
    'The conversation is locked: unlock it, or give the job a token that may comment there.',
  ],
  [
    /not accessible by integration/,
    'The workflow job needs “permissions:” with “pull-requests: write” (on an issue “issues: write”), ' +
      'which runs from forks never get. With the token of a GitHub App, the App needs it.',
  ],
  [
    /not accessible by personal access token/,
    'Give the token in “github-token” write access to pull requests and issues of this repository, or remove it to use ' +
      'the token of the job.',
  ],
];

/** GitHub also returns 404 for what the token cannot read. */
const HINTS_BY_STATUS: Readonly<Record<number, string>> = {
  401: CHECK_TOKEN,
  404: CHECK_NUMBER,
  410: CHECK_NUMBER,
  429: 'This is a rate limit of GitHub for the token.',
};

/** What to do if a call about a conversation failed. Empty if GitHub's own words say it, if it may pass, or if nobody knows. */
export function hintFor(error: unknown): string {
  if (!(error instanceof GitHubError)) return '';
  const byWords = HINTS.find(([words]) => words.test(error.message))?.[1];
  return byWords ?? HINTS_BY_STATUS[error.status] ?? '';
}

/** Whether the same call may succeed later, with the same settings. */
export function mayPassLater(error: unknown): boolean {
  if (!(error instanceof GitHubError)) return true;
  return !error.isSetup && (isUnclear(error) || error.status === 429);
}

/** Whether a setting or a permission is the cause, as far as that is known. */
export function isBySettings(error: unknown): boolean {
  if (!(error instanceof GitHubError) || mayPassLater(error)) return false;
  return error.isSetup || hintFor(error) !== '';
}

/** Whether GitHub says that the token of the job lacks a permission. */
export function lacksPermission(error: unknown): boolean {
  if (!(error instanceof GitHubError) || error.status !== 403) return false;
  return error.message.includes('not accessible by integration');
}

/** Why GitHub does not show what needs this permission, such as `actions: read`. A phrase. */
export function lacking(permission: string): string {
  return `the workflow job, or the App of its token, lacks “${permission}”`;
}

export function unexpectedResponse(cause?: unknown): GitHubError {
  const why = 'GitHub returned an unexpected response; it may be from a proxy or captive portal';
  return new GitHubError(0, why, { cause });
}

/** What Octokit throws for an answer with an error. What it says is that of others. */
interface OctokitError extends Error {
  readonly status?: number;
  /** Of GraphQL, which answers 200. */
  readonly errors?: readonly ({ readonly message?: unknown; readonly type?: unknown } | null)[];
  readonly headers?: Response['headers'];
  /** Of REST. */
  readonly response?: {
    readonly headers: Response['headers'];
    readonly data?: { readonly message?: unknown };
  };
}

/** `wasWritten`: whether any byte of the request may have been sent. `now`: by the clock, if the response has no date. */
export function toGitHubError(
  error: unknown,
  redact: Redact,
  wasWritten: boolean,
  now: number,
): GitHubError {
  if (error instanceof GitHubError) return error;
  // Octokit wraps the errors of `fetch`.
  if (error instanceof Error && error.cause instanceof GitHubError) return error.cause;
  // Octokit takes each body of GraphQL for an object: null has no fields.
  if (error instanceof TypeError) return unexpectedResponse(error);
  const { name, message, status = 0, response, errors, headers } = error as OctokitError;
  if (name === 'GraphqlResponseError') {
    const [first] = errors ?? [];
    const said = String(first?.message ?? '');
    const refused = { what: 'with an error', status: statusOfGraphql(said, first?.type), said };
    return fromAnswer({ ...refused, headers: headers ?? {}, cause: error }, redact, now);
  }
  if (response === undefined) {
    const [cause, why] = explainConnection(error);
    const advice = cause === 'network' ? '; check the DNS, firewall and proxy of the runner' : '';
    const said = `GitHub could not be reached: ${why}${advice}`;
    return new GitHubError(0, said, { cause: error, wasWritten, isSetup: cause === 'setup' });
  }
  // Of a page in HTML, the message would be the whole page. Octokit adds the address of the documentation.
  const isTold = typeof response.data?.message === 'string';
  const said = isTold ? message.replace(/ - https:\S+$/, '') : '';
  const refused = { what: String(status), status, said, headers: response.headers, cause: error };
  return fromAnswer(refused, redact, now);
}

interface Refused {
  readonly what: string;
  readonly status: number;
  readonly said: string;
  readonly headers: Response['headers'];
  readonly cause: unknown;
}

function fromAnswer({ what, said, cause, ...refused }: Refused, redact: Redact, now: number) {
  const { headers } = refused;
  const isLimit = isRateLimit(said, refused);
  const limit = isLimit && !LIMIT_WORDS.test(said) ? ' because of a rate limit' : '';
  const why = `GitHub answered ${what}${limit}${said === '' ? '' : `: ${quote(redact(said))}`}`;
  if (!isLimit) return new GitHubError(refused.status, why, { cause });
  const pauseMs = pauseOf(said, headers, now);
  return new GitHubError(429, why, { cause, ...(pauseMs !== undefined && { pauseMs }) });
}

const LIMIT_WORDS = /\brate limit|\babuse detection/i;

/** It may have the status 403, like a missing permission, or 422, like a wrong text. */
function isRateLimit(said: string, { status, headers }: Pick<Refused, 'status' | 'headers'>) {
  if (status === 422) return said.includes('submitted too quickly');
  const isLeft = headers['retry-after'] === undefined && headers['x-ratelimit-remaining'] !== '0';
  return status === 429 || (status === 403 && (!isLeft || LIMIT_WORDS.test(said)));
}

/** The status that REST has for the same. An error without a type may pass, like a server error. */
function statusOfGraphql(said: string, type: unknown): number {
  if (type === 'RATE_LIMITED' || LIMIT_WORDS.test(said)) return 429;
  const isForbidden = type === 'FORBIDDEN' || type === 'INSUFFICIENT_SCOPES';
  if (isForbidden || said.startsWith('Resource not accessible')) return 403;
  return type === 'NOT_FOUND' ? 404 : 500;
}

/**
 * The pause that GitHub asks for after a rate limit, by its own clock
 * (https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api#exceeding-the-rate-limit).
 */
function pauseOf(said: string, headers: Response['headers'], now: number): number | undefined {
  const asked = readPause({ headers }, now);
  if (asked !== null) return asked;
  // Of a secondary limit, the reset says nothing.
  if (/secondary/i.test(said) || headers['x-ratelimit-remaining'] !== '0') return undefined;
  const date = readDate(String(headers.date ?? '')) ?? now;
  const pauseMs = Number(headers['x-ratelimit-reset']) * 1000 - date;
  return pauseMs > 0 ? pauseMs : undefined;
}
