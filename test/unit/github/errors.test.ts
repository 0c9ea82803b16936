import { describe, expect, it } from 'vitest';
import {
  classifyError,
  describeError,
  GitHubError,
  hintFor,
  lacksPermission,
  mayPassLater,
  toGitHubError,
} from '../../../src/github/errors.ts';

type ErrorKind = ReturnType<typeof classifyError>;
const NOW = Date.UTC(2026, 10, 21, 12);
const redact = (text: string): string => text.replaceAll('s3cret', '***');

it('any other error is a bug, whose text is not shown', () => {
  const error = new TypeError('inner words');
  const read = [describeError(error), hintFor(error), classifyError(error)];
  expect(read).toEqual(['an unexpected error', '', 'unclear']);
});

const INTEGRATION = 'Resource not accessible by integration';
const LOCKED = 'Unable to create comment because issue is locked.';
it.each<[number, string, RegExp, ErrorKind, object?]>([
  [0, 'So.', /^$/, 'unclear'],
  [0, 'So.', /^$/, 'no answer', { wasWritten: false }],
  [0, 'So.', /^$/, 'settings', { wasWritten: false, isSetup: true }],
  [401, 'So.', /^Check “github-token”/, 'settings'],
  [403, 'So.', /^$/, 'refused'],
  [403, INTEGRATION, /“pull-requests: write”/, 'settings'],
  [403, INTEGRATION.replace('integration', 'personal access token'), /^Give the tok/, 'settings'],
  ...[
    'Commenting is disabled on issues with more than 2500 comments',
    'Repository was archived so is read-only.',
    'Resource protected by organization SAML enforcement. You must grant your token access.',
    'The `o` organization has an IP allow list enabled',
    'Repository is locked for migration.',
  ].map((said): [number, string, RegExp, ErrorKind] => [403, said, /^$/, 'refused']),
  [403, LOCKED, /conversation is locked: unlock it/, 'settings'],
  [404, 'So.', /^Check “pr-number”/, 'settings'],
  [410, 'So.', /^Check “pr-number”/, 'settings'],
  ...[301, 400, 422, 451].map((status): [number, string, RegExp, ErrorKind] => {
    return [status, 'So.', /^$/, 'refused'];
  }),
  [429, 'So.', /^This is a rate limit of GitHub for the token\.$/, 'rate limit'],
  [503, 'So.', /^$/, 'unclear'],
])('after %i, %s: the hint %s; it is %s', (status, message, hint, kind, more) => {
  const error = new GitHubError(status, message, more);
  expect(hintFor(error)).toMatch(hint);
  expect([describeError(error), classifyError(error)]).toEqual([message, kind]);
  expect(mayPassLater(error)).toBe(['unclear', 'no answer', 'rate limit'].includes(kind));
});

it.each([
  [403, 'Must have admin rights to Repository.', true],
  [403, 'No', false],
  [404, INTEGRATION, false],
])('whether after %i, %s, a permission is lacking: %j', (status, message, expected) => {
  expect(lacksPermission(new GitHubError(status, message))).toBe(expected);
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
  const NOT_REACHED = 'could not be reached: “x”; check the DNS, firewall and proxy of the runner';
  const inSeconds = (seconds: number) => String(NOW / 1000 + seconds);
  const NONE_LEFT = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': inSeconds(20) };
  const OVER = { ...NONE_LEFT, 'x-ratelimit-reset': inSeconds(-20) };
  const DATE = new Date(NOW + 15_000).toUTCString();
  const ABUSE = 'You have triggered an abuse detection mechanism.';
  const LIMIT = 'You have exceeded a secondary rate limit.';
  const FORBIDDEN = 'Resource not accessible by integration';
  const PORTAL = 'returned an unexpected response; it may be from a proxy or captive portal';
  const quick = 'Validation Failed: {"message":"was submitted too quickly"}';

  it.each<[unknown, number, string, number?]>([
    [Object.assign(new Error('x'), { code: 'UND_ERR_SOCKET' }), 0, NOT_REACHED],
    ['x', 0, NOT_REACHED],
    [refused(403, 'No s3cret - https://docs.github.com/rest'), 403, 'answered 403: “No ***”'],
    [refused(500, ''), 500, 'answered 500'],
    [unicorn, 502, 'answered 502'],
    [refused(403, 'No.', { 'retry-after': '3' }), 429, `answered 403 ${BY_LIMIT}: “No.”`, 3000],
    [refused(403, 'No.', NONE_LEFT), 429, `answered 403 ${BY_LIMIT}: “No.”`, 20_000],
    [refused(403, ABUSE), 429, `answered 403 ${BY_LIMIT}: “${ABUSE}”`],
    [refused(403, LIMIT), 429, `answered 403 ${BY_LIMIT}: “${LIMIT}”`],
    [refused(403, 'No.', OVER), 429, `answered 403 ${BY_LIMIT}: “No.”`],
    [refused(429, ''), 429, `answered 429 ${BY_LIMIT}`],
    [refused(429, '', { 'retry-after': 'soon' }), 429, `answered 429 ${BY_LIMIT}`],
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
    [failed([{ message: FORBIDDEN }]), 403, `answered with an error: “${FORBIDDEN}”`],
    [failed([{}]), 500, 'answered with an error'],
    [failed([{ type: 'FORBIDDEN', message: 'No.' }]), 403, 'answered with an error: “No.”'],
    [new TypeError('x'), 0, PORTAL],
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
