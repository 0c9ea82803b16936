import { describe, expect, it } from 'vitest';
import {
  detailOf,
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

it.each<[unknown, string]>([
  [coded('ECONNREFUSED'), ' (ECONNREFUSED)'],
  [new Error('request', { cause: coded(500, coded('ENOTFOUND')) }), ' (ENOTFOUND)'],
  [
    coded('SELF_SIGNED_CERT_IN_CHAIN'),
    ' (SELF_SIGNED_CERT_IN_CHAIN); for a private CA, set NODE_EXTRA_CA_CERTS',
  ],
  [coded('::error::no'), ''],
  [new Error('no code'), ''],
  ['no error', ''],
])('the detail of %o is "%s"', (error, detail) => {
  expect(detailOf(error)).toBe(detail);
});

it('whyOf quotes only errors of GitHub, and neededFor suggests remedies only for them', () => {
  const error = new TypeError('inner words');
  expect([whyOf(error), neededFor(error)]).toEqual(['an unexpected error', '']);
});

describe('neededFor suggests the right remedy after', () => {
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

describe('toGitHubError converts', () => {
  const answered = (status: number, data: unknown, headers: object = {}): Error =>
    Object.assign(new Error('inner words'), { status, response: { data, headers } });
  const refused = { message: 'Resource not accessible by integration' };
  const limited = { message: 'You have exceeded a secondary rate limit.' };

  it.each<[string, unknown, Partial<GitHubError>]>([
    [
      'an error without a response',
      coded('ECONNRESET'),
      { status: 0, message: 'GitHub could not be reached (ECONNRESET)', retryAfterMs: null },
    ],
    ['a thrown string', 'x', { status: 0, message: 'GitHub could not be reached' }],
    [
      'a refusal',
      answered(403, refused),
      {
        ...{ status: 403, retryAfterMs: null },
        message: 'GitHub answered 403: "Resource not accessible by integration"',
      },
    ],
    [
      'a rate limit with retry-after',
      answered(403, limited, { 'retry-after': '3' }),
      { status: 429, retryAfterMs: 3000 },
    ],
    [
      'a rate limit, known by its message',
      answered(403, limited),
      { status: 429, retryAfterMs: null },
    ],
    [
      'a rate limit, known by its headers',
      answered(403, refused, { 'x-ratelimit-remaining': '0' }),
      { status: 429, retryAfterMs: null },
    ],
    [
      'a refusal with malformed details',
      answered(422, {
        message: 'Validation Failed',
        errors: [{ code: 'unprocessable', message: 'was submitted too quickly' }, 'x'],
      }),
      { status: 422, message: 'GitHub answered 422: "Validation Failed"' },
    ],
    [
      'a limit for comments in its usual form',
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
      'a refused text',
      answered(422, { message: 'Validation Failed', errors: [{ message: 'body is too long' }] }),
      {
        ...{ status: 422 },
        message: 'GitHub answered 422: "Validation Failed: body is too long"',
      },
    ],
    ['a rate limit, known by its status', answered(429, {}), { status: 429 }],
    [
      'a rate limit with a malformed retry-after',
      answered(429, {}, { 'retry-after': 'soon' }),
      { status: 429, retryAfterMs: null },
    ],
    [
      'a server error with retry-after: the request may have taken effect',
      answered(503, {}, { 'retry-after': '3' }),
      { status: 503, retryAfterMs: null },
    ],
    [
      'a long message with a secret and a workflow command',
      answered(500, { message: `a s3cret\n::error::b ${'c'.repeat(500)}` }),
      { message: expect.stringMatching(/^GitHub answered 500: "a \*\*\* ::error::b c+…"$/) },
    ],
    ['an error without a message', answered(500, 'oops', {}), { message: 'GitHub answered 500' }],
    [
      'an error caused by a GitHubError',
      new Error('wrapped', { cause: new GitHubError(0, 'So.') }),
      { status: 0, message: 'So.' },
    ],
  ])('%s', (_, error, expected) => {
    const { status, message, retryAfterMs } = toGitHubError(error, redact);
    expect({ status, message, retryAfterMs }).toMatchObject(expected);
  });
});

describe('refuseErrors', () => {
  const refuse = (errors: unknown, headers: object = {}): GitHubError | null => {
    try {
      refuseErrors({ status: 200, headers, data: { data: {}, errors } }, redact);
      return null;
    } catch (error) {
      expect(error).toBeInstanceOf(GraphQLError);
      return error as GitHubError;
    }
  };
  const notFound = {
    type: 'NOT_FOUND',
    path: ['nodes', 0],
    message: 'Could not resolve to a node.',
  };

  it.each<[string, unknown]>([
    ['no list of errors', undefined],
    ['an empty list of errors', []],
    ['deleted comments', [notFound, notFound]],
    ['a string instead of a list', 'oops'],
  ])('accepts %s', (_, errors) => {
    expect(refuse(errors)).toBeNull();
  });

  it.each<[string, unknown, Partial<GitHubError>]>([
    [
      'a conversation that does not exist',
      [{ type: 'NOT_FOUND', path: ['repository', 'issueOrPullRequest'], message: 'No s3cret.' }],
      { status: 404, message: 'GitHub answered NOT_FOUND: "No ***."' },
    ],
    [
      'one of several errors',
      [notFound, { type: 'FORBIDDEN', message: 'Resource not accessible' }],
      { status: 403, message: 'GitHub answered FORBIDDEN: "Resource not accessible"' },
    ],
    [
      'missing versions of a comment',
      [{ type: 'NOT_FOUND', path: ['nodes', 0, 'userContentEdits'], message: 'Gone.' }],
      { status: 404 },
    ],
    ['a missing scope', [{ type: 'INSUFFICIENT_SCOPES' }], { status: 403 }],
    ['a rate limit', [{ type: 'RATE_LIMITED' }], { status: 429 }],
    ['a rate limit with its other name', [{ type: 'RATE_LIMIT' }], { status: 429 }],
    [
      'a rate limit, known by its message',
      [{ message: 'API rate limit exceeded' }],
      { status: 429 },
    ],
    [
      'an error without a type',
      [{ message: 'Something went wrong.' }],
      { status: 500, message: 'GitHub answered with an error: "Something went wrong."' },
    ],
    ['an unknown field', [{ message: "Field 'userContentEdits' doesn't exist" }], { status: 500 }],
    ['an empty error', [{}], { status: 500, message: 'GitHub answered with an error' }],
  ])('throws on %s', (_, errors, expected) => {
    const { status, message } = refuse(errors) ?? {};
    expect({ status, message }).toMatchObject(expected);
  });

  it('uses retry-after only for rate limits', () => {
    expect(refuse([{ type: 'RATE_LIMITED' }], { 'retry-after': '4' })?.retryAfterMs).toBe(4000);
    expect(refuse([{ type: 'RATE_LIMITED' }])?.retryAfterMs).toBeNull();
    expect(refuse([{ type: 'FORBIDDEN' }], { 'retry-after': '4' })?.retryAfterMs).toBeNull();
  });
});
