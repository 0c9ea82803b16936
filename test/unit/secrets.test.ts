import { describe, expect, it } from 'vitest';
import { redactor } from '../../src/runner/secrets.ts';
import { redactStatus } from '../../src/turn.ts';

const KEY = 'mint_s3cret "key"+/';
const redact = redactor([KEY, 'ab']);

it.each([
  ['itself', KEY],
  ['in JSON', JSON.stringify({ key: KEY })],
  ['in a URL', `https://x.example/?k=${encodeURIComponent(KEY)}`],
  ['base64', Buffer.from(KEY).toString('base64')],
  ['base64, one byte before', Buffer.from(`:${KEY}`).toString('base64')],
  ['base64, two bytes before', Buffer.from(`a:${KEY}`).toString('base64')],
  ['base64, text before and after', Buffer.from(`user:${KEY}:more`).toString('base64')],
])('redactor removes all of a secret: %s', (_, text) => {
  const left = redact(text);
  expect(left).toContain('***');
  expect(left).not.toContain('mint_s3cret');
  for (const shift of [0, 1, 2]) {
    const inner = Buffer.from('.'.repeat(shift) + KEY)
      .toString('base64')
      .slice(4, 16);
    expect(left).not.toContain(inner);
  }
});

it('redactor does not change ordinary words, even if a secret is very short', () => {
  expect(redact('about a table')).toBe('about a table');
  expect(redactor([])('text')).toBe('text');
});

it.each(['    ', '\u00a0\u00a0\u00a0\u00a0', '  \n  x'])(
  'redactor changes nothing if a secret is only %j',
  (secret) => {
    expect(redactor([secret])('an extra  text')).toBe('an extra  text');
  },
);

it('redactor finds a secret with any white space in it', () => {
  for (const given of ['pass  word \t x', 'pass word x']) {
    expect(redactor([given])('my pass\n word\u00a0x')).toBe('my ***');
    expect(redactor([given])('my pass  word \t x')).toBe('my ***');
  }
});

it('redactor finds a secret that contains invisible characters', () => {
  expect(redact(`a\u200b ${KEY.slice(0, 6)}\u200b${KEY.slice(6)} b`)).toBe('a *** b');
  // Text without a secret does not change.
  expect(redact('a\u200b b')).toBe('a\u200b b');
});

it('redactor removes a short secret, but not its base64, which can be part of ordinary words', () => {
  const short = redactor(['s3cr']);
  expect(short('the word s3cr')).toBe('the word ***');
  expect(short(Buffer.from('s3cr').toString('base64'))).toBe('czNjcg==');
});

it('redactor removes all of a secret of 48 KB, which is the limit of GitHub', () => {
  const words = Array.from({ length: 4800 }, (_, index) => `"${index + 10_000} é+/`);
  const long = words.join('');
  const forms = [long, JSON.stringify(long), encodeURIComponent(long)];
  const encoded = [0, 1, 2].map((shift) =>
    Buffer.from('.'.repeat(shift) + long).toString('base64'),
  );
  const redactLong = redactor([long]);
  const left = redactLong([...forms, ...encoded].join('\n'));
  expect(left.replace(/\*{3}|\s/g, '').length).toBeLessThan(30);
  expect(redactLong('the price is 10 or 100')).toBe('the price is 10 or 100');
});

describe('redactor keeps the parts of links and times that are the same for everyone', () => {
  const own = ['https://git.example.com/octo/agents', 'https://git.example.com'];

  it.each([
    ['http', 'https://github.com/a/b/pull/1 and http://x.example'],
    ['https://', 'https://github.com/a/b/pull/1'],
    ['github', 'https://github.com/a/b'],
    ['gitlab.com', 'https://gitlab.com/a/b/-/merge_requests/7'],
    ['pull', 'https://x.example/a/b/pull/2026'],
    ['2026', 'https://x.example/a/b/pull/2026#issuecomment-30020260'],
    ['2026', 'It is over at 2026-01-05T12:00:00.000Z (UTC).'],
    ['octo', 'https://git.example.com/octo/agents/pull/1'],
    ['example', 'https://git.example.com/a/b and https://git.example.com'],
  ])('%s: %s', (secret, text) => {
    expect(redactor([secret], own)(text)).toBe(text);
  });

  it.each([
    ['github', 'https://github.community/a', 'https://***.community/a'],
    ['octo', 'https://github.com/octo/agents', 'https://github.com/***/agents'],
    ['octo', 'https://git.example.com/octo/agents2', 'https://git.example.com/***/agents2'],
    ['2026', 'https://x.example/a/b/pull/2026abc', 'https://x.example/a/b/pull/***abc'],
    ['2026', 'in 2026, or 2026-01-05', 'in ***, or ***-01-05'],
    ['github.com/octo', 'https://github.com/octo/x', 'https://***/x'],
    ['pull/1/key', 'https://github.com/a/b/pull/1/key', 'https://github.com/a/b/***'],
    ['https://key', 'See https://key.', 'See ***.'],
    ['2026-01-05T12:00:00Z!', 'At 2026-01-05T12:00:00Z!', 'At ***'],
  ])('but not %s in %s', (secret, text, left) => {
    expect(redactor([secret], own)(text)).toBe(left);
  });
});

it.each([
  ['sent', 'active', 'active'],
  ['active', 'active', 'active'],
  ['reactive', 'reactive', '***'],
  ['active', 'inactive', 'in***'],
])('with the secret %s the status %s is shown as %s', (secret, status, shown) => {
  expect(redactStatus(status, redactor([secret]))).toBe(shown);
});

it.each([
  ['correct horse', 'a correct\nhorse b', 'a *** b'],
  ['correct horse', 'a correct \t horse b', 'a *** b'],
  ['mint_key', 'a mint\u200d_k\ufe0fey b', 'a *** b'],
])('redactor finds the secret %j in text that is sanitized later: %j', (secret, text, left) => {
  expect(redactor([secret])(text)).toBe(left);
});
