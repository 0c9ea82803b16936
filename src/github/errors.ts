import * as z from 'zod/mini';
import { duration } from '../clock.ts';
import type { Redact } from '../runner/logger.ts';
import { explainConnection } from '../runner/network.ts';
import { readDate, readPause } from '../runner/request.ts';
import { anyText } from '../schema.ts';
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

const APP_TOO = 'With the token of a GitHub App, the App needs it.';

/** For words of GitHub. What it says of other refusals, such as SAML, IP addresses or archives, says what to do. */
const HINTS: readonly (readonly [words: RegExp, hint: string])[] = [
  [
    /\bis locked(?! for)\b/,
    'The conversation is locked: unlock it, or give the job a token that may comment there.',
  ],
  [
    /not accessible by integration/,
    'The workflow job needs “permissions:” with “pull-requests: write” (on an issue “issues: write”), ' +
      `which runs from forks never get. ${APP_TOO}`,
  ],
  [
    /not accessible by personal access token/,
    'Give the token in “github-token” write access to pull requests and issues of this repository, or remove it to use ' +
      'the token of the job.',
  ],
  [/ doesn't exist on type /, 'This needs a newer GitHub Enterprise Server.'],
];

const HINTS_BY_STATUS: Readonly<Record<number, string>> = {
  401: CHECK_TOKEN,
  404: CHECK_NUMBER,
  410: CHECK_NUMBER,
};

/**
 * What to do if a call about a conversation failed. Empty if GitHub's own words say it, as of SAML or a list of IP addresses, if it
 * may pass, or if nobody knows. GitHub also returns 404 for what the token cannot read.
 */
export function hintFor(error: unknown): string {
  if (!(error instanceof GitHubError)) return '';
  if (error.status === 429) return hintForLimit(error);
  const byWords = HINTS.find(([words]) => words.test(error.message))?.[1];
  return byWords ?? HINTS_BY_STATUS[error.status] ?? '';
}

function hintForLimit({ pauseMs }: GitHubError): string {
  const until = pauseMs === undefined ? '' : `; GitHub asks to wait ${duration(pauseMs)}`;
  return `This is a rate limit of GitHub for the token${until}.`;
}

/** Whether the same call may succeed later, with the same settings. */
export function mayPassLater(error: unknown): boolean {
  if (!(error instanceof GitHubError)) return true;
  return !error.isSetup && (isUnclear(error) || error.status === 429);
}

/** Whether a setting or a permission is the cause, as far as that is known. */
export function isBySettings(error: unknown): boolean {
  if (!(error instanceof GitHubError) || mayPassLater(error)) return false;
  // A server that is too old is no matter of settings.
  return error.isSetup || (error.status !== 422 && hintFor(error) !== '');
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

const headers = z.catch(
  z.object({
    'retry-after': anyText,
    'x-ratelimit-remaining': anyText,
    'x-ratelimit-reset': anyText,
    date: anyText,
  }),
  { 'retry-after': '', 'x-ratelimit-remaining': '', 'x-ratelimit-reset': '', date: '' },
);
type LimitHeaders = z.infer<typeof headers>;

/** The error that Octokit throws for a response. Of a page in HTML, its message would be the whole page. */
const requestError = z.object({
  status: z.number(),
  message: anyText,
  response: z.object({
    headers,
    data: z.catch(z.optional(z.object({ message: z.string() })), undefined),
  }),
});

/** The one for errors of GraphQL, which come with status 200. Those that have no type may pass, like a server error. */
const graphqlError = z.object({
  name: z.literal('GraphqlResponseError'),
  errors: z.catch(z.array(z.object({ message: anyText, type: anyText })), []),
  headers,
});

export function unexpectedResponse(cause?: unknown): GitHubError {
  const why = 'GitHub returned an unexpected response; it may be from a proxy or captive portal';
  return new GitHubError(0, why, { cause });
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
  const { data: failed } = graphqlError.safeParse(error);
  if (failed !== undefined) {
    const { message = '', type = '' } = failed.errors[0] ?? {};
    const status = statusOfGraphql(message, type);
    const why = `GitHub answered with an error${describe(message, status, redact)}`;
    return new GitHubError(status, why, {
      cause: error,
      ...pauseOf(status, message, failed.headers, now),
    });
  }
  const { data: refused } = requestError.safeParse(error);
  if (refused === undefined) {
    const [cause, why] = explainConnection(error);
    const advice = cause === 'network' ? '; check the DNS, firewall and proxy of the runner' : '';
    const said = `GitHub could not be reached: ${why}${advice}`;
    return new GitHubError(0, said, { cause: error, wasWritten, isSetup: cause === 'setup' });
  }
  const { message, response } = refused;
  const status = isRateLimit(refused) ? 429 : refused.status;
  // Octokit adds the address of the documentation.
  const said = response.data === undefined ? '' : message.replace(/ - https:\S+$/, '');
  const why = `GitHub answered ${refused.status}${describe(said, status, redact)}`;
  return new GitHubError(status, why, {
    cause: error,
    ...pauseOf(status, message, response.headers, now),
  });
}

/** What GitHub says or, of a rate limit, that it is one. */
function describe(message: string, status: number, redact: Redact): string {
  const limit = status === 429 && !LIMIT_WORDS.test(message) ? ' because of a rate limit' : '';
  return `${limit}${message === '' ? '' : `: ${quote(redact(message))}`}`;
}

const LIMIT_WORDS = /\brate limit|\babuse detection/i;

/** It may have the status 403, like a missing permission, or 422, like a wrong text. */
function isRateLimit({ status, message, response }: z.infer<typeof requestError>): boolean {
  const { 'retry-after': pause, 'x-ratelimit-remaining': remaining } = response.headers;
  if (status === 403) return pause !== '' || remaining === '0' || LIMIT_WORDS.test(message);
  return status === 429 || (status === 422 && message.includes('submitted too quickly'));
}

/** The status that REST has for the same. */
function statusOfGraphql(message: string, type: string): number {
  if (type === 'RATE_LIMITED' || LIMIT_WORDS.test(message)) return 429;
  if (type === 'FORBIDDEN' || type === 'INSUFFICIENT_SCOPES') return 403;
  if (message.startsWith('Resource not accessible')) return 403;
  // An older GitHub Enterprise Server does not know a field.
  if (message.includes(" doesn't exist on type ")) return 422;
  return type === 'NOT_FOUND' ? 404 : 500;
}

/**
 * The pause that GitHub asks for after a rate limit, by its own clock
 * (https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api#exceeding-the-rate-limit).
 */
function pauseOf(
  status: number,
  message: string,
  headers: LimitHeaders,
  now: number,
): { readonly pauseMs?: number } {
  if (status !== 429) return {};
  const asked = readPause({ headers }, now);
  if (asked !== null) return { pauseMs: asked };
  const date = readDate(headers.date) ?? now;
  const waitMs = Number(headers['x-ratelimit-reset']) * 1000 - date;
  // Of another limit, the reset says nothing; nor does one that is over.
  const isOther = /secondary/i.test(message) || Number(headers['x-ratelimit-remaining']) > 0;
  return isOther || !(waitMs > 0) ? {} : { pauseMs: waitMs };
}
