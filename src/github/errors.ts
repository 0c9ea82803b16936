import * as z from 'zod/mini';
import { NO_REASON, ours, type Reason, reasonToText, sentence } from '../reason.ts';
import type { Redact } from '../runner/secrets.ts';
import { oneLine } from '../sanitize.ts';

// What went wrong with a call to GitHub, and what to do about it.

/** A call that failed. `status` is 0 where no answer came, or none that could be read. */
export class GitHubError extends Error {
  readonly status: number;
  /** The same as `message`, a phrase, in parts. */
  readonly why: Reason;
  /** How long GitHub asks to be left alone, in milliseconds; it did not do what was asked. */
  readonly retryAfterMs: number | null;
  /** The token has called too often. */
  readonly isRateLimit: boolean;
  constructor(
    status: number,
    why: string | Reason,
    { cause, retryAfterMs = null, isRateLimit = false }: ErrorDetails = {},
  ) {
    const parts = typeof why === 'string' ? ours(why) : why;
    super(reasonToText(parts), { cause });
    this.status = status;
    this.why = parts;
    this.retryAfterMs = retryAfterMs;
    this.isRateLimit = isRateLimit;
  }
}

interface ErrorDetails {
  readonly cause?: unknown;
  readonly retryAfterMs?: number | null;
  readonly isRateLimit?: boolean;
}

/** GraphQL tells in a body of 200 what went wrong; `status` is what REST would have answered. */
export class GraphQLError extends GitHubError {}

/** A phrase for people. What is no `GitHubError` is a bug, whose words say nothing to them. */
export function reasonFor(error: unknown): Reason {
  return error instanceof GitHubError ? error.why : ours('an unexpected error');
}

/** The same for the log. */
export function whyOf(error: unknown): string {
  return reasonToText(reasonFor(error));
}

/**
 * What to do after a failure to comment, or nothing where that is not known. GitHub answers 404 as
 * well where a token may not know that something is there.
 */
export function neededFor(error: unknown): string {
  if (!(error instanceof GitHubError)) return '';
  if (error.isRateLimit) return 'That is a rate limit of GitHub for this token, and passes.';
  switch (error.status) {
    case 401:
      return 'github-token has to be valid; left out, it is the token of the job.';
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
const headersSchema = z.catch(
  z.object({
    'retry-after': z.catch(z.string().check(z.regex(/^\d{1,6}$/)), ''),
    'x-ratelimit-remaining': text,
  }),
  { 'retry-after': '', 'x-ratelimit-remaining': '' },
);
type Headers = z.infer<typeof headersSchema>;
/** An answer as the client gives it. */
export interface GitHubAnswer {
  readonly status: number;
  readonly headers: unknown;
  readonly data: unknown;
}

const requestError = z.object({
  status: z.number(),
  response: z.optional(
    z.object({
      data: z.catch(z.object({ message: z.string() }), { message: '' }),
      headers: headersSchema,
    }),
  ),
});
const graphqlErrors = z.object({
  errors: z.array(z.object({ type: text, message: text, path: z.catch(z.array(z.unknown()), []) })),
});

/** The code of what went wrong below, such as ECONNREFUSED, which says more than the sentence above it. */
export function detailOf(error: unknown): string {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (typeof code !== 'string' || !/^[A-Z][A-Z0-9_]*$/.test(code)) continue;
    const isCertificate = /CERT|SIGNATURE/.test(code);
    return ` (${code})${isCertificate ? '; NODE_EXTRA_CA_CERTS must name its authority' : ''}`;
  }
  return '';
}

export function toGitHubError(error: unknown, redact: Redact): GitHubError {
  // The client wraps what it does not know.
  if (error instanceof Error && error.cause instanceof GitHubError) return error.cause;
  const { data } = requestError.safeParse(error);
  if (data?.response === undefined) {
    return new GitHubError(0, `GitHub could not be reached${detailOf(error)}`, { cause: error });
  }
  const { status, response } = data;
  const said = response.data.message;
  // Only a refusal is repeated: what failed in another way may have been done.
  const isRefused = status === 403 || status === 429;
  return new GitHubError(status, sentence`GitHub answered ${status}${quote(said, redact)}`, {
    cause: error,
    retryAfterMs: isRefused ? retryAfterMsOf(response.headers) : null,
    isRateLimit: status === 429 || (isRefused && isAboutLimit(said, response.headers)),
  });
}

/** The statuses that REST has for what GraphQL calls by a name. */
const GRAPHQL_STATUS: ReadonlyMap<string, number> = new Map([
  ['NOT_FOUND', 404],
  ['FORBIDDEN', 403],
  ['INSUFFICIENT_SCOPES', 403],
  ['RATE_LIMITED', 429],
  ['RATE_LIMIT', 429],
]);

/**
 * A part of what was asked for is not enough: what is missing may be what was sent before. But of
 * comments that are asked for by their ids some may be deleted by now.
 */
export function refuseErrors({ data, headers }: GitHubAnswer, redact: Redact): void {
  const errors = graphqlErrors.safeParse(data).data?.errors ?? [];
  const first = errors.find(({ type, path }) => type !== 'NOT_FOUND' || path[0] !== 'nodes');
  if (first === undefined) return;
  const { type, message } = first;
  const status = GRAPHQL_STATUS.get(type);
  const isRateLimit = status === 429 || (status === undefined && /\brate limit/i.test(message));
  const name = status === undefined ? 'with an error' : type;
  throw new GraphQLError(
    // What has no name of its own is trouble of GitHub, or a question that it does not understand.
    isRateLimit ? 429 : (status ?? 500),
    sentence`GitHub answered ${ours(name)}${quote(message, redact)}`,
    {
      isRateLimit,
      retryAfterMs: isRateLimit ? retryAfterMsOf(headersSchema.parse(headers)) : null,
    },
  );
}

function quote(said: string, redact: Redact): Reason {
  return said === '' ? NO_REASON : sentence`: ${oneLine(redact(said))}`;
}

function retryAfterMsOf({ 'retry-after': seconds }: Headers): number | null {
  return seconds === '' ? null : Number(seconds) * 1000;
}

/** A limit is refused with 403, as a lack of permission is. */
function isAboutLimit(said: string, headers: Headers): boolean {
  return (
    headers['retry-after'] !== '' ||
    headers['x-ratelimit-remaining'] === '0' ||
    /\brate limit/i.test(said)
  );
}
