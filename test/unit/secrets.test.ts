import { expect, it } from 'vitest';
import { redactor } from '../../src/secrets.ts';

const KEY = 'mint_s3cret "key"+/';
const redact = redactor([KEY, 'ab']);

it.each([
  ['itself', KEY],
  ['in JSON', JSON.stringify({ key: KEY })],
  ['in a URL', `https://x.example/?k=${encodeURIComponent(KEY)}`],
  ['base64', Buffer.from(KEY).toString('base64')],
  ['base64, one byte before', Buffer.from(`:${KEY}`).toString('base64')],
  ['base64, two bytes before', Buffer.from(`a:${KEY}`).toString('base64')],
  ['base64, more before and behind', Buffer.from(`user:${KEY}:more`).toString('base64')],
])('leaves nothing of a secret: %s', (_, text) => {
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

it('leaves ordinary words alone, even where a secret is very short', () => {
  expect(redact('about a table')).toBe('about a table');
  expect(redactor([])('text')).toBe('text');
});

it('finds a secret that invisible characters split', () => {
  expect(redact(`a\u200b ${KEY.slice(0, 6)}\u200b${KEY.slice(6)} b`)).toBe('a *** b');
  // What holds none stays as it is.
  expect(redact('a\u200b b')).toBe('a\u200b b');
});

it('takes out a short secret, but not what its base64 has in common with ordinary words', () => {
  const short = redactor(['s3cr']);
  expect(short('the word s3cr')).toBe('the word ***');
  expect(short(Buffer.from('s3cr').toString('base64'))).toBe('czNjcg==');
});
