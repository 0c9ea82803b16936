import { expect, it } from 'vitest';
import {
  classifyError,
  describeError,
  GitHubError,
  hintFor,
  lacksPermission,
  mayPassLater,
  readRefusal,
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

const BY_LIMIT = 'because of a rate limit';
const inSeconds = (seconds: number) => String(NOW / 1000 + seconds);
const NONE_LEFT = { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': inSeconds(20) };
const OVER = { ...NONE_LEFT, 'x-ratelimit-reset': inSeconds(-20) };
const DATE = new Date(NOW + 15_000).toUTCString();
const ABUSE = 'You have triggered an abuse detection mechanism.';
const LIMIT = 'You have exceeded a secondary rate limit.';
const AN_ERROR = 'answered with an error';
const NO = { message: 'No.' };
const LIMITED = { errors: [{ type: 'RATE_LIMITED', ...NO }] };
const quick = { message: 'Validation Failed', errors: [{ message: 'was submitted too quickly' }] };
const QUICK = 'Validation Failed: {"message":"was submitted too quickly"}';

it.each<[number, unknown, Record<string, string>, number, string, number?]>([
  [403, { message: 'No s3cret', documentation_url: 'x' }, {}, 403, 'answered 403: “No ***”'],
  [500, { message: '' }, {}, 500, 'answered 500'],
  // GitHub's page for people.
  [502, '<!DOCTYPE html>', {}, 502, 'answered 502'],
  [403, NO, { 'retry-after': '3' }, 429, `answered 403 ${BY_LIMIT}: “No.”`, 3000],
  [403, NO, NONE_LEFT, 429, `answered 403 ${BY_LIMIT}: “No.”`, 20_000],
  [403, { message: ABUSE }, {}, 429, `answered 403 ${BY_LIMIT}: “${ABUSE}”`],
  [403, { message: LIMIT }, {}, 429, `answered 403 ${BY_LIMIT}: “${LIMIT}”`],
  [403, NO, OVER, 429, `answered 403 ${BY_LIMIT}: “No.”`],
  [429, {}, { 'retry-after': 'soon' }, 429, `answered 429 ${BY_LIMIT}`],
  [422, quick, {}, 429, `answered 422 ${BY_LIMIT}: “${QUICK}”`],
  [422, { message: 'Validation Failed' }, {}, 422, 'answered 422: “Validation Failed”'],
  // A server error may come after the effect, whatever else it says.
  [503, {}, { 'retry-after': '3' }, 503, 'answered 503'],
  [200, LIMITED, { ...NONE_LEFT, date: DATE }, 429, `${AN_ERROR} ${BY_LIMIT}: “No.”`, 5000],
  [200, { errors: [{ type: 'NOT_FOUND', ...NO }] }, {}, 404, 'answered with an error: “No.”'],
  [200, { errors: [{ message: 'No s3cret.' }] }, {}, 500, 'answered with an error: “No ***.”'],
  [200, { errors: [{ message: INTEGRATION }] }, {}, 403, `${AN_ERROR}: “${INTEGRATION}”`],
  [200, { errors: [{ type: 'FORBIDDEN', ...NO }] }, {}, 403, 'answered with an error: “No.”'],
  [200, { errors: [null] }, {}, 500, 'answered with an error'],
])('readRefusal reads %i, %j, %j as %i, %s', (...row) => {
  const [given, body, headers, status, message, pauseMs] = row;
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const read = readRefusal({ status: given, headers, text }, { redact, now: NOW });
  expect(read).toMatchObject({ status, message: `GitHub ${message}`, wasWritten: true });
  expect(read?.pauseMs).toBe(pauseMs);
});
