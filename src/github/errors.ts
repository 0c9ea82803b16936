import * as z from 'zod/mini';
import { explainConnection } from '../network.ts';
import { NO_REASON, ours, type Reason, reasonToText, sentence } from '../reason.ts';
import type { Redact } from '../runner/secrets.ts';
import { oneLine } from '../sanitize.ts';

// Why a call to GitHub failed, and what to do about it.

export class GitHubError extends Error {
  /** 0 without a response, or with one that cannot be read; 429 for every rate limit. */
  readonly status: number;
  /** The same as `message`, a phrase, in parts. */
  readonly why: Reason;
  /** The pause in milliseconds that GitHub asks for after it refused the call; null if none. */
  readonly retryAfterMs: number | null;
  constructor(
    status: number,
    why: string | Reason,
    cause?: unknown,
    retryAfterMs: number | null = null,
  ) {
    const parts = typeof why === 'string' ? ours(why) : why;
    super(reasonToText(parts), { cause });
    this.status = status;
    this.why = parts;
    this.retryAfterMs = retryAfterMs;
  }
}

/** GraphQL returns errors with status 200; `status` is the one that REST has for such an error. */
export class GraphQLError extends GitHubError {}

/** Whether GitHub may have done it: it sent no response, or a server error. */
export function isUnclear(error: unknown): error is GitHubError {
  return error instanceof GitHubError && (error.status === 0 || error.status >= 500);
}

/** A phrase for people. Any other error than a `GitHubError` is a bug, whose text would not help them. */
export function reasonFor(error: unknown): Reason {
  return error instanceof GitHubError ? error.why : ours('an unexpected error');
}

/** The same for the log. */
export function whyOf(error: unknown): string {
  return reasonToText(reasonFor(error));
}

/** What to do if a comment failed; empty if not known. GitHub also returns 404 for a missing permission. */
export function neededFor(error: unknown): string {
  if (!(error instanceof GitHubError)) return '';
  switch (error.status) {
    case 429:
      return 'This is a rate limit of GitHub for the token; try again later.';
    case 401:
      return 'Check github-token, or remove it to use the token of the job.';
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

const text = z.catch(z.string(), '');
const headersSchema = z.object({
  'retry-after': z.catch(z.string().check(z.regex(/^\d{1,6}$/)), ''),
  'x-ratelimit-remaining': text,
});
export interface GitHubAnswer {
  readonly status: number;
  readonly headers: unknown;
  readonly data: unknown;
}

const requestError = z.object({
  status: z.number(),
  response: z.optional(
    z.object({
      data: z.catch(
        z.object({
          message: z.string(),
          errors: z.catch(z.array(z.object({ message: text })), []),
        }),
        { message: '', errors: [] },
      ),
      headers: headersSchema,
    }),
  ),
});
const graphqlErrors = z.object({
  errors: z.array(z.object({ type: text, message: text, path: z.catch(z.array(z.unknown()), []) })),
});

export function toGitHubError(error: unknown, redact: Redact): GitHubError {
  // The client wraps unknown errors.
  if (error instanceof Error && error.cause instanceof GitHubError) return error.cause;
  const { data } = requestError.safeParse(error);
  if (data?.response === undefined) {
    const [, why] = explainConnection(error);
    return new GitHubError(0, `GitHub could not be reached: ${why}`, error);
  }
  const { status, response } = data;
  const { message, errors } = response.data;
  const details = errors.map((one) => one.message).filter((detail) => detail !== '');
  const said = [message, ...details].join(': ');
  // Only refused calls are repeated: others may have had an effect.
  const isRefused = status === 403 || status === 429;
  const pauseMs = isRefused ? retryAfterMsOf(response.headers) : null;
  // A rate limit may have the status 403, like a missing permission, or 422, like a wrong text.
  const isRateLimit =
    (isRefused &&
      (pauseMs !== null ||
        response.headers['x-ratelimit-remaining'] === '0' ||
        /\brate limit/i.test(said))) ||
    (status === 422 && details.some((detail) => detail.includes('submitted too quickly')));
  const why = sentence`GitHub answered ${status}${quote(said, redact)}`;
  return new GitHubError(isRateLimit ? 429 : status, why, error, pauseMs);
}

/** The statuses that REST has for the types of GraphQL errors. */
const GRAPHQL_STATUS: ReadonlyMap<string, number> = new Map([
  ['NOT_FOUND', 404],
  ['FORBIDDEN', 403],
  ['INSUFFICIENT_SCOPES', 403],
  ['RATE_LIMITED', 429],
  ['RATE_LIMIT', 429],
]);

/**
 * Throws if the response has errors: in a partial result, the note of an earlier message may be missing.
 * Only comments that are queried by their IDs may be missing, because they may be deleted.
 */
export function refuseErrors({ data, headers }: GitHubAnswer, redact: Redact): void {
  const errors = graphqlErrors.safeParse(data).data?.errors ?? [];
  const first = errors.find(({ type, path }) => type !== 'NOT_FOUND' || !isNode(path));
  if (first === undefined) return;
  const { type, message } = first;
  const status = GRAPHQL_STATUS.get(type);
  const isRateLimit = status === 429 || (status === undefined && /\brate limit/i.test(message));
  const name = status === undefined ? 'with an error' : type;
  const why = sentence`GitHub answered ${ours(name)}${quote(message, redact)}`;
  if (isRateLimit) {
    throw new GraphQLError(429, why, undefined, retryAfterMsOf(headersSchema.parse(headers)));
  }
  // Other types are server errors, or queries that an older server does not know.
  throw new GraphQLError(status ?? 500, why);
}

/** Whether it is a comment that was queried by its ID, and not a part of one. */
function isNode(path: readonly unknown[]): boolean {
  return path[0] === 'nodes' && path.length === 2;
}

function quote(said: string, redact: Redact): Reason {
  return said === '' ? NO_REASON : sentence`: ${oneLine(redact(said))}`;
}

function retryAfterMsOf({ 'retry-after': seconds }: z.infer<typeof headersSchema>): number | null {
  return seconds === '' ? null : Number(seconds) * 1000;
}
