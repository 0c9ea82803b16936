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

  it.each<[unknown, number, string, number | null]>([
    [
      Object.assign(new Error('x'), { code: 'EPIPE' }),
      0,
      'could not be reached: connection closed; check the DNS, firewall and proxy of the runner',
      null,
    ],
    [
      'x',
      0,
      'could not be reached: the connection failed; check the DNS, firewall and proxy of the runner',
      null,
    ],
    [refused(403, 'No s3cret - https://docs.github.com/rest'), 403, 'answered 403: “No ***”', null],
    [refused(500, ''), 500, 'answered 500', null],
    [refused(500, 'a\n::error::b ”'), 500, 'answered 500: “a ::error::b "”', null],
    [refused(500, 'c'.repeat(300)), 500, `answered 500: “${'c'.repeat(199)}…”`, null],
    [refused(403, 'No.', { 'retry-after': '3' }), 429, 'answered 403: “No.”', 3000],
    [refused(403, 'No.', { 'x-ratelimit-remaining': '0' }), 429, 'answered 403: “No.”', null],
    [refused(403, LIMIT), 429, `answered 403: “${LIMIT}”`, null],
    [refused(429, ''), 429, 'answered 429', null],
    [refused(429, '', { 'retry-after': 'soon' }), 429, 'answered 429', null],
    [refused(422, quick), 429, `answered 422: “${quick}”`, null],
    [refused(422, 'Validation Failed'), 422, 'answered 422: “Validation Failed”', null],
    // A server error may come after the effect, whatever else it says.
    [refused(503, '', { 'retry-after': '3' }), 503, 'answered 503', null],
    [failed([{ message: 'No s3cret.' }, {}]), 500, 'answered with an error: “No ***.”', null],
    [
      failed([{ message: 'Resource not accessible by integration' }]),
      403,
      'answered with an error: “Resource not accessible by integration”',
      null,
    ],
    [failed([{}]), 500, 'answered with an error', null],
    [failed([{ type: 'FORBIDDEN', message: 'No.' }]), 403, 'answered with an error: “No.”', null],
    [failed([]), 500, 'answered with an error', null],
    [
      new TypeError('x'),
      0,
      'returned an unexpected response; it may be from a proxy or captive portal',
      null,
    ],
    [failed('oops'), 500, 'answered with an error', null],
    [
      Object.assign(new Error('x'), { code: 'SELF_SIGNED_CERT_IN_CHAIN' }),
      0,
      'could not be reached: the certificate is not trusted (SELF_SIGNED_CERT_IN_CHAIN); for a private CA, set ' +
        'NODE_EXTRA_CA_CERTS in the environment of the runner',
      null,
    ],
    [new GitHubError(0, 'GitHub is gone'), 0, 'is gone', null],
    [new Error('x', { cause: new GitHubError(0, 'GitHub is gone') }), 0, 'is gone', null],
  ])('reads %s as %i, GitHub %s', (error, status, message, pauseMs) => {
    const expected = { status, message: `GitHub ${message}`, pauseMs };
    expect(toGitHubError(error, redact)).toMatchObject(expected);
  });
});
