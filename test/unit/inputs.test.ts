import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join as joinPath } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { type Inputs, readInputs, readSecrets } from '../../src/inputs.ts';
import { join, reasonToText } from '../../src/reason.ts';
import { reasonToMarkdown } from '../../src/report/markdown.ts';
import { redactor } from '../../src/runner/secrets.ts';

const GOOD = {
  'project-id': 'proj-1',
  'job-id': 'job-1',
  'api-key': 'mint_0123456789',
  prompt: 'Add tests.',
};

function env(inputs: Record<string, string>, more: Record<string, string> = {}) {
  const named = Object.entries({ ...GOOD, ...inputs }).map(([name, value]) => [
    `INPUT_${name.toUpperCase()}`,
    value,
  ]);
  return { ...Object.fromEntries(named), ...more };
}
function valid(inputs: Record<string, string>, more?: Record<string, string>): Inputs {
  const read = readInputs(env(inputs, more), (text) => text);
  expect(read.problems).toEqual([]);
  if (read.inputs === null) throw new Error('The inputs are invalid.');
  return read.inputs;
}
function problems(inputs: Record<string, string>, more?: Record<string, string>) {
  const { problems: found } = readInputs(env(inputs, more), (text) => text);
  // In Markdown, the name of the input is plain text. Only values are code.
  for (const problem of found) expect(reasonToMarkdown(problem)).toMatch(/^[\w-]+:? /);
  return found.map(reasonToText);
}

describe('defaults', () => {
  it('apply to inputs that are not set', () => {
    const { failOn, baseUrl, ...rest } = valid({});
    expect([...failOn]).toEqual(['failed', 'archived', 'timed-out']);
    expect(baseUrl.href).toBe('https://api.mintlify.com/');
    expect(rest).toEqual({
      projectId: 'proj-1',
      jobIds: ['job-1'],
      repeatedIds: 0,
      send: true,
      onlyWhen: null,
      apiKey: 'mint_0123456789',
      prompt: 'Add tests.',
      command: null,
      minimumPermission: 'write',
      allowedBots: new Set(),
      hasApiKey: true,
      wait: false,
      timeoutMs: 1_800_000,
      pollIntervalMs: null,
      settleMs: 60_000,
      comment: true,
      prNumber: null,
      resendOnRerun: false,
      matrixLeg: '',
      githubToken: '',
      proxy: { url: '', noProxy: '' },
    });
  });
});

describe('readInputs accepts', () => {
  it.each<[string, Record<string, string>, Partial<Inputs>]>([
    [
      'surrounding white space',
      { 'api-key': ' mint_abc12345\n', 'job-id': '\tjob-1 ' },
      { apiKey: 'mint_abc12345' },
    ],
    ['a key without the prefix', { 'api-key': 'abc' }, { apiKey: 'abc' }],
    ['fractions', { 'timeout-minutes': '0.5' }, { timeoutMs: 30_000 }],
    ['the longest time', { 'timeout-minutes': '7200' }, { timeoutMs: 432_000_000 }],
    ['an interval', { 'poll-interval-seconds': '1' }, { pollIntervalMs: 1000 }],
    ['a settle time of 0', { 'settle-seconds': '0' }, { settleMs: 0 }],
    ['TRUE', { wait: 'TRUE' }, { wait: true }],
    ['False', { wait: 'False' }, { wait: false }],
    ['a number', { 'pr-number': '12' }, { prNumber: 12 }],
    ['a resend on a re-run', { 'resend-on-rerun': 'true' }, { resendOnRerun: true }],
    [
      'any matrix context',
      { 'matrix-leg': '{\n  "os": "linux"\n}' },
      { matrixLeg: '{\n  "os": "linux"\n}' },
    ],
    [
      'a prompt byte for byte',
      { prompt: ' a\r\n%0A"🚀\u200d\n' },
      { prompt: ' a\r\n%0A"🚀\u200d\n' },
    ],
    ['all characters of IDs', { 'job-id': 'aZ9-_.~:@' }, { jobIds: ['aZ9-_.~:@'] }],
    ['three dots', { 'job-id': '...' }, { jobIds: ['...'] }],
  ])('%s', (_, inputs, expected) => {
    expect(valid(inputs)).toMatchObject(expected);
  });

  it.each([
    ['failed', ['failed']],
    ['none', []],
    ['timed-out, skipped\nactive completed', ['timed-out', 'skipped', 'active', 'completed']],
  ])('fail-on %j', (text, expected) => {
    expect([...valid({ 'fail-on': text }).failOn]).toEqual(expected);
  });

  it.each([
    ['https://example.com', 'https://example.com/'],
    ['https://example.com/a/b/', 'https://example.com/a/b/'],
    ['https://example.com:8443', 'https://example.com:8443/'],
    ['http://localhost:3000', 'http://localhost:3000/'],
    ['http://127.8.9.10:3000', 'http://127.8.9.10:3000/'],
    ['http://[::1]:3000', 'http://[::1]:3000/'],
  ])('base-url %s', (text, href) => {
    expect(valid({ 'base-url': text }).baseUrl.href).toBe(href);
  });
});

function manyIds(count: number): string {
  return Array.from({ length: count }, (_, index) => `job-${index}`).join('\n');
}

describe('job-id', () => {
  it.each<[string, string, readonly string[], number]>([
    ['one', 'a', ['a'], 0],
    ['commas', 'a,b,c', ['a', 'b', 'c'], 0],
    ['lines of a YAML block', 'a\nb\r\n  c\n', ['a', 'b', 'c'], 0],
    ['a mix of separators', ' a,\t b ,,\u00a0c,', ['a', 'b', 'c'], 0],
    ['duplicates', 'b a b b', ['b', 'a'], 2],
    ['IDs that differ only in case', 'a A', ['a', 'A'], 0],
    ['a JSON array', '["a","b"]', ['a', 'b'], 0],
    ['a JSON array on several lines, as toJSON() writes it', '[\n  "a",\n  "b"\n]', ['a', 'b'], 0],
    ['a JSON array with gaps and duplicates', ' ["a", "", " b ", "a"] ', ['a', 'b'], 1],
  ])('accepts %s: %j', (_, text, jobIds, repeatedIds) => {
    expect(valid({ 'job-id': text })).toMatchObject({ jobIds, repeatedIds });
  });

  it('accepts 500 IDs, without duplicates', () => {
    expect(valid({ 'job-id': `${manyIds(500)}, job-1` }).jobIds).toHaveLength(500);
  });
});

describe('only-when', () => {
  it.each<[string, readonly string[] | null]>([
    ['', null],
    ['any', null],
    ['failed', ['failed']],
    ['failed, completed\narchived', ['failed', 'completed', 'archived']],
  ])('%j', (text, expected) => {
    const { onlyWhen } = valid({ 'only-when': text });
    expect(onlyWhen === null ? null : [...onlyWhen]).toEqual(expected);
  });
});

describe('send: false', () => {
  it('needs no prompt, and ignores one', () => {
    const { send, prompt } = valid({ send: 'false', prompt: '\ud800', 'prompt-file': '../x' });
    expect({ send, prompt }).toEqual({ send: false, prompt: '' });
  });

  it.each([
    ['command', '/agent'],
    ['only-when', 'failed'],
  ])('cannot be combined with %s', (name, value) => {
    expect(problems({ send: 'false', [name]: value })).toEqual([
      `${name} and send: false cannot be combined; remove one of them.`,
    ]);
  });
});

describe('allowed-bots', () => {
  it.each<[string, readonly string[]]>([
    ['', []],
    ['renovate[bot]', ['renovate[bot]']],
    ['renovate[bot], dependabot[bot]\n  Copilot', ['renovate[bot]', 'dependabot[bot]', 'Copilot']],
    ['a[bot],,a[bot],', ['a[bot]']],
  ])('%j', (text, logins) => {
    expect([...valid({ 'allowed-bots': text }).allowedBots]).toEqual(logins);
  });
});

describe('the access inputs, if other inputs are invalid', () => {
  function access(inputs: Record<string, string>) {
    const read = readInputs(env({ 'job-id': '..', ...inputs }), (text) => text);
    expect(read.inputs).toBeNull();
    return read.access;
  }

  it('are read if they are valid', () => {
    const inputs = {
      command: '/agent',
      'minimum-permission': 'none',
      'allowed-bots': 'a[bot]',
      'github-token': ' ghs_x\n',
    };
    expect(access(inputs)).toMatchObject({
      command: '/agent',
      minimumPermission: 'none',
      allowedBots: new Set(['a[bot]']),
      githubToken: 'ghs_x',
      hasApiKey: true,
    });
  });

  it('allow no one else if they are invalid', () => {
    const inputs = {
      command: '/agent now',
      'minimum-permission': 'read',
      'allowed-bots': 'a[bot], b/c',
      'api-key': ' \t',
    };
    expect(access(inputs)).toMatchObject({
      command: null,
      minimumPermission: 'write',
      allowedBots: new Set(),
      githubToken: '',
      hasApiKey: false,
    });
  });
});

const EMPTY_KEY = /^api-key is empty; secrets are not passed to runs from forks or Dependabot/;
describe('readInputs refuses', () => {
  it.each<[string, string, RegExp]>([
    ['api-key', '', EMPTY_KEY],
    ['api-key', ' \n\t', EMPTY_KEY],
    ['api-key', 'mint_a\nX-Evil: 1', /^api-key contains a line break or control character/],
    ['api-key', 'mint_a\0b', /^api-key contains a line break or control character/],
    ['api-key', 'mint_a\tb', /^api-key contains a line break or control character/],
    ['api-key', 'mint_a\u2028b', /^api-key contains a line break or control character/],
    ['api-key', 'mint_a\u200bb', /^api-key contains a space or a character outside ASCII/],
    ['api-key', 'mint_a b', /^api-key contains a space/],
    ['api-key', 'mint_dsc_x', /^api-key .*this is an assistant key; an admin key is needed/],
    ['api-key', 'mint_us_x', /^api-key .*this is an index key/],
    ['api-key', 'mint_', /^api-key is only the prefix/],
    ['api-key', '${{ secrets.X }}', /^api-key was not expanded/],
    ['api-key', '$KEY', /^api-key was not expanded/],
    ['api-key', 'Bearer mint_x', /^api-key .*leave out 'Bearer'/],
    ['project-id', '', /^project-id is empty/],
    ['command', '/agent now', /^command must be one word/],
    ['command', '\u200b', /^command must be one word .*; it is "\\u\{200b\}"\.$/],
    [
      'minimum-permission',
      'read',
      /^minimum-permission must be one of triage, write, maintain, admin, none; it is read/,
    ],
    ...[', ,', '@renovate', 'renovate[bot', 'a/b', '[bot]', '-a', 'ä', 'x[bot]y', 'a;b'].map(
      (text): [string, string, RegExp] => [
        'allowed-bots',
        text,
        /^allowed-bots must be a list of logins such as "renovate\[bot\]"; it contains "?/,
      ],
    ),
    ['project-id', 'a\tb', /^project-id contains more than one ID/],
    ['project-id', '\u2066a\u200d', /^project-id contains "\\u\{2066\}a\\u\{200d\}", which is/],
    ['project-id', 'a,b', /^project-id contains more than one ID/],
    ['job-id', ', ,', /^job-id contains no ID, only an empty list\.$/],
    ['job-id', '[]', /^job-id contains no ID, only an empty list\.$/],
    ['job-id', '["a", 7]', /^job-id looks like a JSON array, but not .*: "\['a', 7\]"\.$/],
    ['job-id', '["a"', /^job-id looks like a JSON array, but not of strings/],
    ['job-id', '[a, b]', /^job-id looks like a JSON array, but not of strings/],
    ['job-id', '["a", ["b"]]', /^job-id looks like a JSON array, but not of strings/],
    ['job-id', 'job-1\u200b', /^job-id contains "job-1\\u\{200b\}", which is not an ID/],
    ['job-id', '["a b"]', /^job-id contains "a b", which is not an ID\. An ID, such as job_/],
    ['job-id', '{"a": 1}', /^job-id contains "\{'a':" \(number 1 of 2\), which is not an ID/],
    [
      'job-id',
      'a, b/c',
      /^job-id contains b\/c \(number 2 of 2\), which is not an ID\. An ID, such as job_/,
    ],
    ['job-id', manyIds(501), /^job-id contains 501 IDs; one step takes at most 500\. .*matrix/],
    ['send', 'no', /^send must be true or false; it is no/],
    [
      'only-when',
      'done',
      /^only-when must be a list of active, .*, or any alone; it contains done/,
    ],
    ['only-when', 'any, failed', /^only-when .*it contains any/],
    ['only-when', 'FAILED', /^only-when .*it contains FAILED/],
    ...['project-id', 'job-id'].flatMap((name): [string, string, RegExp][] => [
      [name, 'x'.repeat(257), new RegExp(`^${name} contains "x{59}…", which is not an ID`)],
      [
        name,
        'a\u202e::b##[x]',
        new RegExp(`^${name} contains "a\\\\u\\{202e\\}::b##\\[x\\]", which is not an ID`),
      ],
      ...['.', '..', 'a/b', 'a\\b', 'a?b', 'a#b', '%2e%2e', 'a%2fb', 'ä', 'a;b'].map(
        (id): [string, string, RegExp] => {
          const start = `${name} contains ${reasonToText(['', id])}, which is not an ID. An ID, such as job_8f41c2, has 1`;
          return [name, id, new RegExp(`^${RegExp.escape(start)}`)];
        },
      ),
    ]),
    ['prompt', '', /^prompt is empty/],
    ['prompt', ' \n\u200b\u2060\u00a0\u3164\ufeff\u2800', /^prompt has no visible text/],
    ['prompt', 'a\ud800b', /^prompt contains a lone surrogate \(half a character\)/],
    ['base-url', 'http://example.com', /^base-url .*https required/],
    ['base-url', 'http://localhost.evil.example', /^base-url .*https required/],
    ['base-url', 'ftp://example.com', /^base-url .*https required/],
    ['base-url', 'https://u:p@example.com', /^base-url must not contain a user name/],
    ['base-url', 'https://example.com?x', /^base-url must not have a query/],
    ['base-url', 'https://example.com#f', /^base-url must not have a query/],
    ['base-url', 'https://example.com//x', /^base-url must not have an empty path segment/],
    ['base-url', 'https://example.com:0', /^base-url must not have port 0/],
    ['base-url', 'https://example.com:99999', /^base-url must be a URL/],
    ['base-url', 'https://exa\tmple.com', /^base-url must be a URL/],
    ['base-url', 'example.com', /^base-url must be a URL/],
    ['base-url', 'https://example.com\\@evil.example', /^base-url must be a URL/],
    ...[
      'abc',
      '-1',
      '+1',
      '1e3',
      '0x10',
      'Infinity',
      'NaN',
      '１０',
      '0',
      '7201',
      '1,5',
      '1.',
      '.5',
      '9'.repeat(30),
    ].map((text): [string, string, RegExp] => [
      'timeout-minutes',
      text,
      /^timeout-minutes must be a plain number, more than 0 and at most 7200/,
    ]),
    ...['0', '-1', '0.9', '3601'].map((text): [string, string, RegExp] => [
      'poll-interval-seconds',
      text,
      /^poll-interval-seconds must be a plain number, 1 or more and at most 3600/,
    ]),
    ['settle-seconds', '-1', /^settle-seconds must be a plain number, 0 or more/],
    ['wait', 'yes', /^wait must be true or false; it is yes/],
    ['wait', '1', /^wait must be true or false/],
    ['comment', 'new', /^comment must be true or false; it is new/],
    ['resend-on-rerun', 'always', /^resend-on-rerun must be true or false; it is always/],
    ['fail-on', 'error', /^fail-on does not take error: error and cancelled always fail the step/],
    ['fail-on', 'failed, cancelled', /^fail-on does not take cancelled: error and cancelled /],
    ['fail-on', 'sent', /^fail-on must be a list of failed, archived/],
    ['fail-on', 'none, failed', /^fail-on .*it contains none/],
    ['fail-on', 'Failed', /^fail-on .*it contains Failed/],
    ['fail-on', ',', /^fail-on must be/],
    ['comment', 'yes', /^comment must be true or false; it is yes/],
    ...['0', '-3', '#3', '1.5', 'x', '99999999999'].map((text): [string, string, RegExp] => [
      'pr-number',
      text,
      /^pr-number must be the number/,
    ]),
  ])('%s: %j', (name, value, expected) => {
    const found = problems({ [name]: value });
    expect(found).toHaveLength(1);
    expect(found[0]).toMatch(expected);
  });

  it('an API key without quoting it', () => {
    for (const key of ['mint_dsc_secretpart', 'Bearer secretpart', '$secretpart', 'a secretpart']) {
      expect(problems({ 'api-key': key }).join()).not.toContain('secretpart');
    }
  });

  it('an input with a key or token that would be shown', () => {
    const tokens = { 'api-key': 'mint_abc12345', 'github-token': 'ghs_token' };
    const found = problems({
      ...{ ...tokens, 'project-id': 'x-mint_abc12345' },
      ...{ 'job-id': 'a, ghs_token', command: '/ghs_token' },
    });
    expect(found).toEqual([
      'project-id contains api-key, which would be shown; check what is passed there.',
      'job-id contains github-token, which would be shown; check what is passed there.',
      'command contains github-token, which would be shown; check what is passed there.',
    ]);
  });

  it('invalid inputs without quoting a secret or a part of one', () => {
    const redact = redactor(['mint_abc12345']);
    const long = `${'x'.repeat(55)}mint_abc12345`;
    const given = { 'job-id': `${long}/`, wait: long, 'fail-on': long, 'pr-number': long };
    const read = readInputs(env(given), redact);
    expect(read.problems).toHaveLength(4);
    expect(reasonToText(join(read.problems))).not.toContain('mint');
  });

  it.each(['a, b/mint_abc,12345', '["mint_\\u0061bc,12345/"]'])(
    'a list without quoting a part of a secret in it: %s',
    (text) => {
      const read = readInputs(env({ 'job-id': text }), redactor(['mint_abc,12345']));
      expect(reasonToText(join(read.problems))).toMatch(/^job-id contains ".*\*\*\*/);
      expect(JSON.stringify(read.problems)).not.toContain('mint');
    },
  );

  it('no valid word that is also a secret', () => {
    const redact = redactor(['true', 'failed', 'agent', '2026', 'job-1']);
    const given = { wait: 'true', 'fail-on': 'failed', command: '/agent', 'pr-number': '2026' };
    expect(readInputs(env(given), redact)).toMatchObject({
      problems: [],
      inputs: { wait: true, command: '/agent', prNumber: 2026, jobIds: ['job-1'] },
    });
  });

  it('all invalid inputs at once', () => {
    const found = problems({ 'api-key': '', 'job-id': '..', wait: 'yes', prompt: '' });
    expect(found.map((text) => text.split(' ')[0])).toEqual([
      'job-id',
      'wait',
      'api-key',
      'prompt',
    ]);
    // With send: false, no prompt is missing. Valid inputs that cannot be combined are still a problem.
    const readOnly = problems({ wait: 'yes', send: 'false', command: '/agent', prompt: '' });
    expect(readOnly.map((text) => text.split(' ')[0])).toEqual(['wait', 'command']);
  });

  it('disabled certificate checks', () => {
    expect(problems({}, { NODE_TLS_REJECT_UNAUTHORIZED: '0' })).toEqual([
      expect.stringContaining('certificate checks are turned off'),
    ]);
  });
});

describe('readInputs also accepts', () => {
  it('no job-id', () => {
    expect(valid({ 'job-id': '' }).jobIds).toEqual([]);
  });
  it('no prompt with a command', () => {
    expect(valid({ prompt: '', command: '/agent' })).toMatchObject({
      prompt: '',
      command: '/agent',
    });
  });
});

describe('prompt-file', () => {
  const folder = mkdtempSync(joinPath(tmpdir(), 'prompt-'));
  const outside = mkdtempSync(joinPath(tmpdir(), 'outside-'));
  afterAll(() => {
    for (const path of [folder, outside]) rmSync(path, { recursive: true });
  });
  const workspace = { GITHUB_WORKSPACE: folder };
  writeFileSync(joinPath(folder, 'good.md'), '\ufeffDo this.\r\n');
  writeFileSync(joinPath(folder, 'empty.md'), '');
  writeFileSync(joinPath(folder, 'latin1.md'), Buffer.from([0x68, 0xe9]));
  writeFileSync(joinPath(folder, 'large.md'), 'x'.repeat(1024 * 1024 + 1));
  writeFileSync(joinPath(folder, 'largest.md'), 'x'.repeat(1024 * 1024));
  writeFileSync(joinPath(outside, 'secret'), 'secret');
  symlinkSync(joinPath(outside, 'secret'), joinPath(folder, 'link.md'));

  it('is sent unchanged', () => {
    expect(valid({ prompt: '', 'prompt-file': 'good.md' }, workspace).prompt).toBe(
      '\ufeffDo this.\r\n',
    );
    const largest = valid({ prompt: '', 'prompt-file': 'largest.md' }, workspace).prompt;
    expect(largest).toHaveLength(1024 * 1024);
  });

  it.each([
    ['gone.md', 'does not exist'],
    ['empty.md', 'has no visible text'],
    ['latin1.md', 'is not valid UTF-8'],
    ['large.md', 'has more than 1048576 bytes'],
    ['link.md', 'is a symbolic link or in a linked folder'],
    ['../no-such-file', 'is outside the workspace'],
    [joinPath(outside, 'secret'), 'is outside the workspace'],
    ['.git/config', 'is in a .git folder'],
    ['.', 'is not a regular file'],
  ])('refuses %s, which %s', (path, expected) => {
    const found = problems({ prompt: '', 'prompt-file': path }, workspace);
    expect(found).toEqual([
      expect.stringContaining(`prompt-file: ${reasonToText(['', path]).slice(0, 60)}`),
    ]);
    expect(found[0]).toContain(expected);
  });

  it('is read from the working directory without GITHUB_WORKSPACE', () => {
    const { prompt } = valid({ prompt: '', 'prompt-file': 'package.json' });
    expect(prompt).toContain('"name": "agent-follow-up"');
  });

  it('cannot be combined with prompt', () => {
    expect(problems({ 'prompt-file': 'good.md' }, workspace)).toEqual([
      'prompt and prompt-file are both set; set only one of them.',
    ]);
  });
});

describe('proxy variables', () => {
  const url = (variables: Record<string, string>) => valid({}, variables).proxy.url;

  it.each<[string, Record<string, string>, string]>([
    ['https_proxy', { https_proxy: 'http://p:1' }, 'http://p:1/'],
    ['upper case', { HTTPS_PROXY: 'http://p:1' }, 'http://p:1/'],
    ['lower case wins', { https_proxy: 'http://l:1', HTTPS_PROXY: 'http://u:1' }, 'http://l:1/'],
    ['no scheme', { https_proxy: 'p:1' }, 'http://p:1/'],
    ['http_proxy does not apply to https', { http_proxy: 'http://p:1' }, ''],
  ])('%s', (_, variables, expected) => {
    expect(url(variables)).toBe(expected);
  });

  it.each([
    'http://',
    'socks5://p:1',
    'http://p:99999',
    '::',
    'http://u:100%@p:1',
    'http://%C3:%A4@p:1',
  ])('refuses %s', (value) => {
    const found = problems({}, { HTTPS_PROXY: value });
    expect(found).toEqual([expect.stringMatching(/^HTTPS_PROXY is not the URL of/)]);
  });
});

describe('readSecrets', () => {
  it('returns the key, the token and proxy passwords, and nothing else', () => {
    const secrets = readSecrets({
      ...env({ 'api-key': ' mint_key\n', 'github-token': 'ghs_token' }),
      HTTPS_PROXY: 'http://user:p%20w@proxy:1',
      http_proxy: 'http://user@proxy:1',
    });
    expect(secrets).toEqual(['mint_key', 'ghs_token', 'p%20w']);
  });

  it.each([
    ['http://user:s3cret@proxy:1', ['s3cret']],
    ['user:s3cret@proxy:1', ['s3cret']],
    ['http://user:s3:cr@et@proxy:1', ['s3:cr@et', 's3%3Acr%40et']],
    ['http://user:s3c ret@proxy:1', ['s3c ret', 's3c%20ret']],
    ['http://user:p%C3%A4ss@proxy:1', ['p%C3%A4ss', 'päss']],
    ['http://user:abc@proxy:1', []],
    ['http://user@proxy:1', []],
    ['http://proxy:1', []],
  ])('returns the password of the proxy %s: %j', (url, expected) => {
    expect(readSecrets({ https_proxy: url })).toEqual(expected);
  });

  it('returns only the long lines of a key with line breaks', () => {
    expect(readSecrets(env({ 'api-key': 'mint_abcdefgh\n}\nX-Evil: 1' }))).toEqual([
      'mint_abcdefgh',
      'X-Evil: 1',
    ]);
  });
});
