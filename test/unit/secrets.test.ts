import { describe, expect, it } from 'vitest';
import { readSecrets } from '../../src/runner/environment.ts';
import { redactor } from '../../src/runner/log.ts';

const KEY = 'mint_s3cret "key"+/';

describe('redactor', () => {
  const redact = redactor([KEY, 'ab']);

  it.each([
    ['itself', KEY],
    ['in JSON', JSON.stringify({ key: KEY })],
    ['in a URL', `https://x.example/?k=${encodeURIComponent(KEY)}`],
    ['base64', Buffer.from(KEY).toString('base64')],
    ['base64, one byte before', Buffer.from(`:${KEY}`).toString('base64')],
    ['base64, two bytes before', Buffer.from(`a:${KEY}`).toString('base64')],
    ['base64, text before and after', Buffer.from(`user:${KEY}:more`).toString('base64')],
  ])('removes all of a secret: %s', (_, text) => {
    const left = redact(text);
    expect(left).toContain('***');
    expect(left).not.toContain('mint_s3cret');
    for (const shift of [0, 1, 2]) {
      const encoded = Buffer.from('.'.repeat(shift) + KEY).toString('base64');
      expect(left).not.toContain(encoded.slice(4, 16));
    }
  });

  it.each([
    [['ab'], 'about a table'],
    [['1234567'], 'the number 1234567'],
    [[], 'text'],
    [[' '.repeat(4)], 'an extra    text'],
  ])('with the secrets %j, it does not change %j', (secrets, text) => {
    expect(redactor(secrets)(text)).toBe(text);
  });

  it('removes the longest of several, each time', () => {
    const redactBoth = redactor(['12345678', '12345678-more']);
    expect(redactBoth('12345678-more 12345678 12345678')).toBe('*** *** ***');
  });

  it('removes all of a secret of 48 KB, which is the limit of GitHub', () => {
    const long = Array.from({ length: 4800 }, (_, n) => `"${n + 10_000} é+/`).join('');
    const forms = [long, JSON.stringify(long), encodeURIComponent(long)];
    const encoded = [0, 1, 2].map((shift) =>
      Buffer.from('.'.repeat(shift) + long).toString('base64'),
    );
    const left = redactor([long])([...forms, ...encoded].join('\n'));
    expect(left.replace(/\*{3}|\s/g, '').length).toBeLessThan(30);
  });

  it('takes a secret with half a character', () => {
    expect(redactor(['abcdefg\ud800'])('x abcdefg\ud800')).toBe('x ***');
  });
});

describe('readSecrets', () => {
  it('returns the key and the token, and nothing else', () => {
    const secrets = readSecrets({
      ...{ 'INPUT_API-KEY': ' mint_key\n', 'INPUT_GITHUB-TOKEN': 'ghs_token', INPUT_PROMPT: 'x' },
      HTTPS_PROXY: 'http://user:password@proxy:1',
    });
    expect(secrets).toEqual(['mint_key', 'ghs_token']);
  });

  it('returns only the long lines of a key with line breaks', () => {
    const env = { 'INPUT_API-KEY': 'mint_abcdefgh\n}\nX-Evil: 1' };
    expect(readSecrets(env)).toEqual(['mint_abcdefgh', 'X-Evil: 1']);
  });
});
