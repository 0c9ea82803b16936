import * as z from 'zod/mini';
import type { Redact } from '../runner/log.ts';
import { explainConnection } from '../runner/network.ts';
import { quote } from '../text.ts';

// Why a call to GitHub failed, and what to do about it.

export class GitHubError extends Error {
  /** 0 without a response, or with one that cannot be read; 429 for every rate limit. */
  readonly status: number;
  /** Whether any byte of the request may have been sent. If not, GitHub certainly did nothing. */
  readonly wasWritten: boolean;
  /** The pause in milliseconds that GitHub asks for after it refused the call. */
  readonly pauseMs?: number;
  /** `message` is a phrase for people, without secrets. */
  constructor(
    status: number,
    message: string,
    more: { cause?: unknown; wasWritten?: boolean; pauseMs?: number } = {},
  ) {
    super(message, { cause: more.cause });
    this.status = status;
    this.wasWritten = more.wasWritten ?? true;
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

export const CHECK_TOKEN = 'Check “github-token”, or remove it to use the token of the job.';
const CHECK_NUMBER = 'Check “pr-number”, if it is set, and that “github-token” can write there.';

/** What to do if a comment failed; empty if not known. GitHub also returns 404 for what the token cannot read. */
export function hintFor(error: unknown): string {
  if (!(error instanceof GitHubError)) return '';
  if (/\blocked\b/.test(error.message)) {
    return 'The conversation is locked: unlock it, or give the job a token that may comment there.';
  }
  switch (error.status) {
    case 429:
      return 'This is a rate limit of GitHub for the token; try again later.';
    case 401:
      return CHECK_TOKEN;
    case 404:
    case 410:
      return CHECK_NUMBER;
    case 403:
      return (
        'The job needs “permissions:” with “pull-requests: write” (on an issue “issues: write”), ' +
        'which runs from forks never get.'
      );
    default:
      return '';
  }
}

const text = z.catch(z.string(), '');
/** The error that Octokit throws for a response. */
const requestError = z.object({
  status: z.number(),
  message: text,
  response: z.object({
    headers: z.object({
      'retry-after': z.catch(z.string().check(z.regex(/^\d{1,6}$/)), ''),
      'x-ratelimit-remaining': text,
    }),
  }),
});

/**
 * The one for errors of GraphQL, which come with status 200. Like a server error, they may pass, except for a permission
 * that is missing.
 */
const graphqlError = z.object({
  name: z.literal('GraphqlResponseError'),
  errors: z.catch(z.array(z.object({ message: text, type: text })), []),
});

export function unexpectedResponse(cause?: unknown): GitHubError {
  const why = 'GitHub returned an unexpected response; it may be from a proxy or captive portal';
  return new GitHubError(0, why, { cause });
}

/** `wasWritten`: whether any byte of the request may have been sent. */
export function toGitHubError(error: unknown, redact: Redact, wasWritten: boolean): GitHubError {
  if (error instanceof GitHubError) return error;
  // Octokit wraps the errors of `fetch`.
  if (error instanceof Error && error.cause instanceof GitHubError) return error.cause;
  // Octokit takes each body of GraphQL for an object: null has no fields.
  if (error instanceof TypeError) return unexpectedResponse(error);
  const { data: failed } = graphqlError.safeParse(error);
  if (failed !== undefined) {
    const { message = '', type } = failed.errors[0] ?? {};
    const said = message === '' ? '' : `: ${quote(redact(message))}`;
    // The token lacks a permission, which does not pass.
    const isForbidden = type === 'FORBIDDEN' || message.startsWith('Resource not accessible');
    const status = isForbidden ? 403 : 500;
    return new GitHubError(status, `GitHub answered with an error${said}`);
  }
  const { data: refused } = requestError.safeParse(error);
  if (refused === undefined) {
    const [cause, why] = explainConnection(error);
    const advice = cause === 'network' ? '; check the DNS, firewall and proxy of the runner' : '';
    const said = `GitHub could not be reached: ${why}${advice}`;
    return new GitHubError(0, said, { cause: error, wasWritten });
  }
  const { status, message, response } = refused;
  const seconds = response.headers['retry-after'];
  const isLimit = isRateLimit(refused);
  // Octokit adds the address of the documentation.
  const said = message.replace(/ - https:\S+$/, '');
  const why = `GitHub answered ${status}${said === '' ? '' : `: ${quote(redact(said))}`}`;
  const pause = isLimit && seconds !== '' ? { pauseMs: Number(seconds) * 1000 } : {};
  return new GitHubError(isLimit ? 429 : status, why, { cause: error, ...pause });
}

/** It may have the status 403, like a missing permission, or 422, like a wrong text. */
function isRateLimit({ status, message, response }: z.infer<typeof requestError>): boolean {
  const { 'retry-after': seconds, 'x-ratelimit-remaining': remaining } = response.headers;
  if (status === 403) return seconds !== '' || remaining === '0' || /\brate limit/i.test(message);
  return status === 429 || (status === 422 && message.includes('submitted too quickly'));
}
