import { describe, expect, it } from 'vitest';
import {
  describeError,
  GitHubError,
  hintFor,
  isBySettings,
  isUnclear,
  mayPassLater,
  toGitHubError,
} from '../../../src/github/errors.ts';

const NOW = Date.UTC(2026, 10, 21, 12);
const redact = (text: string): string => text.replaceAll('s3cret', '***');

it('describeError, hintFor and isUnclear: any other error is a bug, whose text is not shown', () => {
  const error = new TypeError('inner words');
  expect([describeError(error), hintFor(error), isUnclear(error)]).toEqual([
    'an unexpected error',
    '',
    true,
  ]);
});

it.each<[number, string, RegExp, boolean]>([
  [0, 'So.', /^$/, true],
  [401, 'So.', /^Check “github-token”/, false],
  [403, 'So.', /^$/, false],
  [403, 'Resource not accessible by integration', /“pull-requests: write”/, false],
  [
    403,
    'Resource not accessible by personal access token',
    /^Give the token in “github-token”/,
    false,
  ],
  ...[
    'Commenting is disabled on issues with more than 2500 comments',
    'Repository was archived so is read-only.',
    'Resource protected by organization SAML enforcement. You must grant your token access.',
    'Although you appear to have the correct authorization credentials, the `o` organization has an IP allow list enabled',
    'User is blocked',
    'Repository is locked for migration.',
  ].map((said): [number, string, RegExp, boolean] => [403, said, /^$/, false]),
  [
    403,
    'Unable to create comment because issue is locked.',
    /conversation is locked: unlock it/,
    false,
  ],
  [404, 'So.', /^Check “pr-number”/, false],
  [410, 'So.', /^Check “pr-number”/, false],
  [422, 'So.', /^$/, false],
  [429, 'So.', /^This is a rate limit of GitHub for the token\.$/, false],
  [500, 'So.', /^$/, true],
])('after %i, %s: the hint %s; may have been done: %s', (status, message, hint, unclear) => {
  const error = new GitHubError(status, message);
  expect(hintFor(error)).toMatch(hint);
  expect([describeError(error), isUnclear(error)]).toEqual([message, unclear]);
});

it.each<[number, string, 'time' | 'settings' | 'neither', boolean?]>([
  [0, 'So.', 'time'],
  [0, 'So.', 'settings', true],
  [401, 'So.', 'settings'],
  [403, 'Resource not accessible by integration', 'settings'],
  [403, 'Resource protected by organization SAML enforcement.', 'neither'],
  [404, 'So.', 'settings'],
  ...[301, 400, 422, 451].map(
    (status) => [status, 'So.', 'neither'] as [number, string, 'neither'],
  ),
  [429, 'So.', 'time'],
  [503, 'So.', 'time'],
])('after %i, %s, what helps is %s', (status, message, what, isSetup = false) => {
  const error = new GitHubError(status, message, { isSetup });
  expect([mayPassLater(error), isBySettings(error)]).toEqual([
    what === 'time',
    what === 'settings',
  ]);
});

describe('toGitHubError', () => {
  /** The error of Octokit for a response. */
  const refused = (status: number, message: string, headers: object = {}): Error =>
    Object.assign(new Error(message), { status, response: { headers, data: { message } } });
  /** The error of Octokit for a response with a list of errors. */
  const failed = (errors: unknown, headers: object = {}): Error =>
    Object.assign(new Error('x'), { name: 'GraphqlResponseError', errors, headers });
  /** GitHub's page for people: the message of Octokit is all of it. */
  const unicorn = Object.assign(new Error('<!DOCTYPE html>'), {
    ...{ status: 502, response: { headers: {}, data: '<!DOCTYPE html>' } },
  });
  const BY_LIMIT = 'because of a rate limit';
  const NONE_LEFT = {
    'x-ratelimit-remaining': '0',
    'x-ratelimit-reset': String(NOW / 1000 + 20),
  };
  const OVER = { ...NONE_LEFT, 'x-ratelimit-reset': String(NOW / 1000 - 20) };
  const DATE = new Date(NOW + 15_000).toUTCString();
  const ABUSE = 'You have triggered an abuse detection mechanism.';
  const LIMIT = 'You have exceeded a secondary rate limit.';
  const quick = 'Validation Failed: {"message":"was submitted too quickly"}';

  it.each<[unknown, number, string, number?]>([
    [
      Object.assign(new Error('x'), { code: 'UND_ERR_SOCKET' }),
      0,
      'could not be reached: “x”; check the DNS, firewall and proxy of the runner',
    ],
    ['x', 0, 'could not be reached: “x”; check the DNS, firewall and proxy of the runner'],
    [refused(403, 'No s3cret - https://docs.github.com/rest'), 403, 'answered 403: “No ***”'],
    [refused(500, ''), 500, 'answered 500'],
    [unicorn, 502, 'answered 502'],
    [refused(403, 'No.', { 'retry-after': '3' }), 429, `answered 403 ${BY_LIMIT}: “No.”`, 3000],
    [refused(403, 'No.', NONE_LEFT), 429, `answered 403 ${BY_LIMIT}: “No.”`, 20_000],
    [
      refused(403, 'No.', { ...NONE_LEFT, date: DATE }),
      429,
      `answered 403 ${BY_LIMIT}: “No.”`,
      5000,
    ],
    [
      refused(403, ABUSE, { ...NONE_LEFT, 'x-ratelimit-remaining': '9' }),
      429,
      `answered 403 ${BY_LIMIT}: “${ABUSE}”`,
    ],
    [refused(403, LIMIT), 429, `answered 403 ${BY_LIMIT}: “${LIMIT}”`],
    [refused(403, 'No.', OVER), 429, `answered 403 ${BY_LIMIT}: “No.”`],
    [refused(429, ''), 429, `answered 429 ${BY_LIMIT}`],
    [refused(429, '', { 'retry-after': 'soon' }), 429, `answered 429 ${BY_LIMIT}`],
    [
      refused(429, '', { date: DATE, 'retry-after': 'Sat, 21 Nov 2026 12:01:15 GMT' }),
      429,
      `answered 429 ${BY_LIMIT}`,
      60_000,
    ],
    [refused(422, quick), 429, `answered 422 ${BY_LIMIT}: “${quick}”`],
    [
      failed([{ type: 'RATE_LIMITED', message: 'No.' }], { ...NONE_LEFT, date: DATE }),
      429,
      `answered with an error ${BY_LIMIT}: “No.”`,
      5000,
    ],
    [failed([{ type: 'NOT_FOUND', message: 'No.' }]), 404, 'answered with an error: “No.”'],
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
    const read = toGitHubError(error, { redact, wasWritten: true, now: NOW });
    expect(read).toMatchObject({ status, message: `GitHub ${message}` });
    expect(read.pauseMs).toBe(pauseMs);
  });

  it('says whether the request may have been written', () => {
    const lost = Object.assign(new Error('x'), { code: 'ECONNRESET' });
    const written = (error: unknown, was: boolean) =>
      toGitHubError(error, { redact, wasWritten: was, now: NOW }).wasWritten;
    expect([written(lost, false), written(lost, true)]).toEqual([false, true]);
    expect(written(refused(403, 'No.'), true)).toBe(true);
  });
});
