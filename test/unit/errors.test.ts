import { describe, expect, it } from 'vitest';
import { GitHubError, hintFor, isUnclear, toGitHubError, whyOf } from '../../src/github/errors.ts';

const redact = (text: string): string => text.replaceAll('s3cret', '***');

it('whyOf, hintFor and isUnclear: any other error is a bug, whose text is not shown', () => {
  const error = new TypeError('inner words');
  expect([whyOf(error), hintFor(error), isUnclear(error)]).toEqual([
    'an unexpected error',
    '',
    true,
  ]);
});

it.each<[number, string, RegExp, boolean]>([
  [0, 'So.', /^$/, true],
  [401, 'So.', /^Check “github-token”/, false],
  [403, 'So.', /“pull-requests: write”/, false],
  [
    403,
    'Unable to create comment because issue is locked.',
    /conversation is locked: unlock it/,
    false,
  ],
  [404, 'So.', /^Check “pr-number”/, false],
  [410, 'So.', /^Check “pr-number”/, false],
  [422, 'So.', /^$/, false],
  [429, 'So.', /rate limit of GitHub .* try again later/, false],
  [500, 'So.', /^$/, true],
])('after %i, %s: the hint %s; may have been done: %s', (status, message, hint, unclear) => {
  const error = new GitHubError(status, message);
  expect(hintFor(error)).toMatch(hint);
  expect([whyOf(error), isUnclear(error)]).toEqual([message, unclear]);
});

describe('toGitHubError', () => {
  /** The error of Octokit for a response. */
  const refused = (status: number, message: string, headers: object = {}): Error =>
    Object.assign(new Error(message), { status, response: { headers } });
  /** The error of Octokit for a response with a list of errors. */
  const failed = (errors: unknown): Error =>
    Object.assign(new Error('x'), { name: 'GraphqlResponseError', errors });
  const LIMIT = 'You have exceeded a secondary rate limit.';
  const quick = 'Validation Failed: {"message":"was submitted too quickly"}';

  it.each<[unknown, number, string, number?]>([
    [
      Object.assign(new Error('x'), { code: 'UND_ERR_SOCKET' }),
      0,
      'could not be reached: connection closed; check the DNS, firewall and proxy of the runner',
    ],
    [
      'x',
      0,
      'could not be reached: the connection failed; check the DNS, firewall and proxy of the runner',
    ],
    [refused(403, 'No s3cret - https://docs.github.com/rest'), 403, 'answered 403: “No ***”'],
    [refused(500, ''), 500, 'answered 500'],
    [refused(403, 'No.', { 'retry-after': '3' }), 429, 'answered 403: “No.”', 3000],
    [refused(403, 'No.', { 'x-ratelimit-remaining': '0' }), 429, 'answered 403: “No.”'],
    [refused(403, LIMIT), 429, `answered 403: “${LIMIT}”`],
    [refused(429, ''), 429, 'answered 429'],
    [refused(429, '', { 'retry-after': 'soon' }), 429, 'answered 429'],
    [refused(422, quick), 429, `answered 422: “${quick}”`],
    [refused(422, 'Validation Failed'), 422, 'answered 422: “Validation Failed”'],
    // A server error may come after the effect, whatever else it says.
    [refused(503, '', { 'retry-after': '3' }), 503, 'answered 503'],
    [failed([{ message: 'No s3cret.' }, {}]), 500, 'answered with an error: “No ***.”'],
    [
      failed([{ message: 'Resource not accessible by integration' }]),
      403,
      'answered with an error: “Resource not accessible by integration”',
    ],
    [failed([{}]), 500, 'answered with an error'],
    [failed([{ type: 'FORBIDDEN', message: 'No.' }]), 403, 'answered with an error: “No.”'],
    [
      new TypeError('x'),
      0,
      'returned an unexpected response; it may be from a proxy or captive portal',
    ],
    [failed('oops'), 500, 'answered with an error'],
    [new GitHubError(0, 'GitHub is gone'), 0, 'is gone'],
    [new Error('x', { cause: new GitHubError(0, 'GitHub is gone') }), 0, 'is gone'],
  ])('reads %s as %i, GitHub %s', (error, status, message, pauseMs) => {
    const read = toGitHubError(error, redact, true);
    expect(read).toMatchObject({ status, message: `GitHub ${message}` });
    expect(read.pauseMs).toBe(pauseMs);
  });

  it('says whether the request may have been written', () => {
    const lost = Object.assign(new Error('x'), { code: 'ECONNRESET' });
    const written = (error: unknown, was: boolean) => toGitHubError(error, redact, was).wasWritten;
    expect([written(lost, false), written(lost, true)]).toEqual([false, true]);
    expect(written(refused(403, 'No.'), true)).toBe(true);
  });
});
