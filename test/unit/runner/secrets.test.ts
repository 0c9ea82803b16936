import { expect, it } from 'vitest';
import { readSecrets } from '../../../src/runner/environment.ts';
import { redactor } from '../../../src/runner/logger.ts';

it.each<[readonly string[], string, string]>([
  [['mint_s3cret "key"+/'], 'a mint_s3cret "key"+/, b', 'a ***, b'],
  [['1234567', 'ab', ''], 'about the number 1234567', 'about the number 1234567'],
  [['12345678', '12345678-more'], '12345678-more 12345678 12345678', '*** *** ***'],
  [['abcdefg\ud800'], 'x abcdefg\ud800', 'x ***'],
  [['mint_s3cret'], 'a mi\u200bnt_s3\u00adcret\u200b, b\u200b', 'a ***, b'],
  [['mint_s3cret'], 'joined:\u200b none', 'joined:\u200b none'],
  [['x'.repeat(48_000)], `${'x'.repeat(48_000)} y`, '*** y'],
])('redactor of %.40j', (secrets, text, left) => {
  expect(redactor(secrets)(text)).toBe(left);
});

it('readSecrets returns the key and the token, and nothing else', () => {
  const secrets = readSecrets({
    ...{ 'INPUT_API-KEY': ' mint_key\n', 'INPUT_GITHUB-TOKEN': 'ghs_token', INPUT_PROMPT: 'x' },
    HTTPS_PROXY: 'http://user:password@proxy:1',
  });
  expect(secrets).toEqual(['mint_key', 'ghs_token']);
});
