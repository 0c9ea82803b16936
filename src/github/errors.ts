import { untilAborted } from '../clock.ts';
import { type Response, readDate, readPause } from '../runner/http.ts';
import type { Redact } from '../runner/logger.ts';
import { parseJson, quote } from '../text.ts';
import { ok, problem, type Result } from '../value-or-problem.ts';

/** `message` is a phrase for people, without secrets. */
export class GitHubError extends Error {
  /** 0 without a readable response; 200 if it was too large; 429 for every rate limit. */
  readonly status: number;
  /** Whether any byte of the request may have been sent. */
  readonly wasWritten: boolean = true;
  readonly pauseMs: number | undefined;
  /** Whether a setting of the runner must be changed: a proxy, or certificates. */
  readonly isSetup: boolean = false;

  constructor(status: number, message: string, more: Partial<Omit<GitHubError, keyof Error>> = {}) {
    super(message);
    this.status = status;
    Object.assign(this, more);
  }
}

/** A phrase. Any other error is a bug, whose text would not help people. */
export function describeError(error: unknown): string {
  return error instanceof GitHubError ? error.message : 'an unexpected error';
}

export const LONGEST_RATE_PAUSE_MS = 60_000;

export const CHECK_TOKEN = 'Check “github-token”, or remove it to use the token of the job.';
const CHECK_NUMBER =
  'Check “pr-number”, if it is set, that “github-token” can write there, and that nobody has ' +
  'deleted or transferred the issue.';

/** By words of GitHub. What it says of other refusals, such as SAML, says what to do. */
const HINTS: readonly (readonly [words: RegExp, hint: string])[] = [
  [
    /\bis locked(?! for)\b/,
    'The conversation is locked: unlock it, or give the job a token that may comment there.',
  ],
  [
    /not accessible by integration/,
    'The workflow job needs “permissions:” with “pull-requests: write” (on an issue ' +
      '“issues: write”), and so does a GitHub App. Runs from forks never get it.',
  ],
  [
    /not accessible by personal access token/,
    'Give the token in “github-token” write access to pull requests and issues of this ' +
      'repository, or remove it to use the token of the job.',
  ],
];

/** GitHub also returns 404 for what the token cannot read. */
const HINTS_BY_STATUS: Readonly<Record<number, string>> = {
  401: CHECK_TOKEN,
  404: CHECK_NUMBER,
  410: CHECK_NUMBER,
  429: 'This is a rate limit of GitHub for the token.',
};

export function hintFor(error: unknown): string {
  if (!(error instanceof GitHubError)) return '';
  const byWords = HINTS.find(([words]) => words.test(error.message))?.[1];
  return byWords ?? HINTS_BY_STATUS[error.status] ?? '';
}

/** `unclear`: GitHub may have done it. `settings`: a setting or permission is the cause. */
export function classifyError(error: unknown) {
  if (!(error instanceof GitHubError)) return 'unclear';
  const { status, isSetup, wasWritten } = error;
  if (isSetup) return 'settings';
  if (status === 0 || status >= 500) return wasWritten ? 'unclear' : 'no answer';
  if (status === 429) return 'rate limit';
  return hintFor(error) === '' ? 'refused' : 'settings';
}

export function mayPassLater(error: unknown): boolean {
  return !['settings', 'refused'].includes(classifyError(error));
}

const WEAK_TOKEN =
  /not accessible by (?:integration|personal access token)|Must have (?:admin rights|push access)/;

/** Whether the token lacks one. The words about rights could be taken for something of a person. */
export function lacksPermission(error: unknown): boolean {
  return error instanceof GitHubError && error.status === 403 && WEAK_TOKEN.test(error.message);
}

export function lacking(permission: string): string {
  return `the workflow job, or the App of its token, lacks “${permission}”`;
}

/** `permission`: what the job may lack, such as `actions: read`; or empty. */
export async function fetchOrExplain<T>(
  fetch: () => Promise<T>,
  permission: string,
  signal: AbortSignal,
): Promise<Result<T>> {
  try {
    return ok(await untilAborted(fetch(), signal));
  } catch (error) {
    if (signal.aborted) return problem('GitHub did not answer in time', true);
    // Any other error is a bug, and ends the run.
    if (!(error instanceof GitHubError)) throw error;
    const isLacking = permission !== '' && lacksPermission(error);
    return problem(isLacking ? lacking(permission) : error.message, mayPassLater(error));
  }
}

export function unexpectedResponse(): GitHubError {
  const why = 'GitHub returned an unexpected response; it may be from a proxy or captive portal';
  return new GitHubError(0, why);
}

/** A refusal; undefined for a success. What it says is that of others. `now`: by the clock. */
export function readRefusal(
  { status, headers, text }: Pick<Response, 'status' | 'headers'> & { readonly text: string },
  { redact, now }: { readonly redact: Redact; readonly now: number },
): GitHubError | undefined {
  const json = Object(parseJson(text));
  const errors: readonly unknown[] = Array.isArray(json.errors) ? json.errors : [];
  // GraphQL answers 200.
  if (status < 400 && errors.length === 0) return undefined;
  const first = Object(status < 400 ? errors[0] : json);
  const more = status < 400 ? [] : errors.map((error) => JSON.stringify(error));
  const said = typeof first.message === 'string' ? first.message : '';
  const words = more.length === 0 ? said : `${said}: ${more.join(', ')}`;
  const asInRest = status < 400 ? parseStatus(said, first.type) : status;
  const isLimit = isRateLimit(words, asInRest, headers);
  const what = `GitHub answered ${status < 400 ? 'with an error' : status}`;
  const why = `${what}${isLimit ? ' because of a rate limit' : ''}`;
  return new GitHubError(
    isLimit ? 429 : asInRest,
    words === '' ? why : `${why}: ${quote(redact(words))}`,
    isLimit ? { pauseMs: readRatePause(headers, now) } : {},
  );
}

/** The status that REST has for the same. An error without a type may pass, like a server error. */
function parseStatus(said: string, type: unknown): number {
  if (type === 'RATE_LIMITED' || LIMIT_WORDS.test(said)) return 429;
  const isForbidden = type === 'FORBIDDEN' || type === 'INSUFFICIENT_SCOPES';
  if (isForbidden || said.startsWith('Resource not accessible')) return 403;
  return type === 'NOT_FOUND' ? 404 : 500;
}

const LIMIT_WORDS = /\brate limit|\babuse detection/i;

/** It may have the status 403, like a missing permission, or 422, like a wrong text. */
function isRateLimit(said: string, status: number, headers: Response['headers']): boolean {
  if (status === 422) return said.includes('submitted too quickly');
  const isLeft = headers['retry-after'] === undefined && headers['x-ratelimit-remaining'] !== '0';
  return status === 429 || (status === 403 && (!isLeft || LIMIT_WORDS.test(said)));
}

/** By https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api. */
function readRatePause(headers: Response['headers'], now: number): number | undefined {
  const named = readPause(headers, now);
  if (named !== null || headers['x-ratelimit-remaining'] !== '0') return named ?? undefined;
  const pauseMs = Number(headers['x-ratelimit-reset']) * 1000 - readDate(headers, now);
  return pauseMs > 0 ? pauseMs : undefined;
}
