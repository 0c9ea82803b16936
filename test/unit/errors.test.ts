import { describe, expect, it } from 'vitest';
import {
  GitHubError,
  GraphQLError,
  neededFor,
  refuseErrors,
  toGitHubError,
  whyOf,
} from '../../src/github/errors.ts';

const redact = (text: string): string => text.replaceAll('s3cret', '***');
const coded = (code: unknown, cause?: unknown): Error =>
  Object.assign(new Error('failed', { cause }), { code });

it('of what is no error of GitHub nothing is told, neither its words nor a remedy', () => {
  const error = new TypeError('inner words');
  expect([whyOf(error), neededFor(error)]).toEqual(['an unexpected error', '']);
});

describe('what is needed after', () => {
  it.each<[number, RegExp]>([
    [0, /^$/],
    [401, /^Check github-token/],
    [403, /`pull-requests: write`/],
    [404, /`pull-requests: write`/],
    [429, /rate limit of GitHub .* try again later/],
    [422, /^$/],
    [500, /^$/],
  ])('%i', (status, words) => {
    const error = new GitHubError(status, 'So.');
    expect(neededFor(error)).toMatch(words);
    expect(whyOf(error)).toBe('So.');
  });
});

describe('a request that failed', () => {
  const answered = (status: number, data: unknown, headers: object = {}): Error =>
    Object.assign(new Error('inner words'), { status, response: { data, headers } });
  const refused = { message: 'Resource not accessible by integration' };
  const limited = { message: 'You have exceeded a secondary rate limit.' };

  it.each<[string, unknown, Partial<GitHubError>]>([
    [
      'without an answer',
      coded('ECONNRESET'),
      { status: 0, message: 'GitHub could not be reached: connection reset', retryAfterMs: null },
    ],
    [
      'with what is no error',
      'x',
      { status: 0, message: 'GitHub could not be reached: the connection failed' },
    ],
    [
      'with a refusal',
      answered(403, refused),
      {
        ...{ status: 403, retryAfterMs: null },
        message: 'GitHub answered 403: "Resource not accessible by integration"',
      },
    ],
    [
      'with a limit that says for how long',
      answered(403, limited, { 'retry-after': '3' }),
      { status: 429, retryAfterMs: 3000 },
    ],
    ['with a limit by its words', answered(403, limited), { status: 429, retryAfterMs: null }],
    [
      'with a limit by its headers',
      answered(403, refused, { 'x-ratelimit-remaining': '0' }),
      { status: 429, retryAfterMs: null },
    ],
    [
      'with a refusal whose details are odd',
      answered(422, {
        message: 'Validation Failed',
        errors: [{ code: 'unprocessable', message: 'was submitted too quickly' }, 'x'],
      }),
      { status: 422, message: 'GitHub answered 422: "Validation Failed"' },
    ],
    [
      'with a limit of texts, in its usual form',
      answered(422, {
        message: 'Validation Failed',
        errors: [{ code: 'unprocessable', message: 'was submitted too quickly' }],
      }),
      {
        ...{ status: 429, retryAfterMs: null },
        message: 'GitHub answered 422: "Validation Failed: was submitted too quickly"',
      },
    ],
    [
      'with a text that is refused',
      answered(422, { message: 'Validation Failed', errors: [{ message: 'body is too long' }] }),
      {
        ...{ status: 422 },
        message: 'GitHub answered 422: "Validation Failed: body is too long"',
      },
    ],
    ['with a limit by its status', answered(429, {}), { status: 429 }],
    [
      'with a pause of no use',
      answered(429, {}, { 'retry-after': 'soon' }),
      { status: 429, retryAfterMs: null },
    ],
    [
      'with trouble that asks for a pause: it may have been done',
      answered(503, {}, { 'retry-after': '3' }),
      { status: 503, retryAfterMs: null },
    ],
    [
      'with words that hold a secret, a command and no end',
      answered(500, { message: `a s3cret\n::error::b ${'c'.repeat(500)}` }),
      { message: expect.stringMatching(/^GitHub answered 500: "a \*\*\* ::error::b c+…"$/) },
    ],
    ['without words', answered(500, 'oops', {}), { message: 'GitHub answered 500' }],
    [
      'within, for a reason that is known',
      new Error('wrapped', { cause: new GitHubError(0, 'So.') }),
      { status: 0, message: 'So.' },
    ],
  ])('%s', (_, error, expected) => {
    const { status, message, retryAfterMs } = toGitHubError(error, redact);
    expect({ status, message, retryAfterMs }).toMatchObject(expected);
  });
});

describe('what GraphQL answers in a body of 200', () => {
  const refuse = (errors: unknown, headers: object = {}): GitHubError | null => {
    try {
      refuseErrors({ status: 200, headers, data: { data: {}, errors } }, redact);
      return null;
    } catch (error) {
      expect(error).toBeInstanceOf(GraphQLError);
      return error as GitHubError;
    }
  };
  const gone = { type: 'NOT_FOUND', path: ['nodes', 0], message: 'Could not resolve to a node.' };

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['no errors', []],
    ['comments that were deleted', [gone, gone]],
    ['errors that are none', 'oops'],
  ])('is fine: %s', (_, errors) => {
    expect(refuse(errors)).toBeNull();
  });

  it.each<[string, unknown, Partial<GitHubError>]>([
    [
      'a conversation that is not there',
      [{ type: 'NOT_FOUND', path: ['repository', 'issueOrPullRequest'], message: 'No s3cret.' }],
      { status: 404, message: 'GitHub answered NOT_FOUND: "No ***."' },
    ],
    [
      'one of several',
      [gone, { type: 'FORBIDDEN', message: 'Resource not accessible' }],
      { status: 403, message: 'GitHub answered FORBIDDEN: "Resource not accessible"' },
    ],
    [
      'the versions of a comment',
      [{ type: 'NOT_FOUND', path: ['nodes', 0, 'userContentEdits'], message: 'Gone.' }],
      { status: 404 },
    ],
    ['a scope', [{ type: 'INSUFFICIENT_SCOPES' }], { status: 403 }],
    ['a limit', [{ type: 'RATE_LIMITED' }], { status: 429 }],
    ['a limit by its other name', [{ type: 'RATE_LIMIT' }], { status: 429 }],
    ['a limit by its words', [{ message: 'API rate limit exceeded' }], { status: 429 }],
    [
      'trouble without a name',
      [{ message: 'Something went wrong.' }],
      { status: 500, message: 'GitHub answered with an error: "Something went wrong."' },
    ],
    [
      'a field that it does not know',
      [{ message: "Field 'userContentEdits' doesn't exist" }],
      { status: 500 },
    ],
    ['nothing more', [{}], { status: 500, message: 'GitHub answered with an error' }],
  ])('is an error: %s', (_, errors, expected) => {
    const { status, message } = refuse(errors) ?? {};
    expect({ status, message }).toMatchObject(expected);
  });

  it('is a limit that says for how long', () => {
    expect(refuse([{ type: 'RATE_LIMITED' }], { 'retry-after': '4' })?.retryAfterMs).toBe(4000);
    expect(refuse([{ type: 'RATE_LIMITED' }])?.retryAfterMs).toBeNull();
    expect(refuse([{ type: 'FORBIDDEN' }], { 'retry-after': '4' })?.retryAfterMs).toBeNull();
  });
});
