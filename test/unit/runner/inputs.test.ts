import { expect, it } from 'vitest';
import { FAIL_BY_DEFAULT } from '../../../src/job/stop-reasons.ts';
import { STATUS_NAMES } from '../../../src/mintlify-api.ts';
import { type Inputs, readInputs } from '../../../src/runner/inputs.ts';
import { redactor } from '../../../src/runner/logger.ts';

const KEY = 'mint_0123456789';
const GOOD = { 'project-id': 'proj-1', 'job-id': 'job-1', 'api-key': KEY, prompt: 'Add tests.' };

function env(inputs: Record<string, string>, more: Record<string, string> = {}) {
  const named: Record<string, string> = { GITHUB_REPOSITORY: 'o/r', ...more };
  const all = Object.entries({ ...GOOD, ...inputs });
  for (const [name, value] of all) named[`INPUT_${name.toUpperCase()}`] = value;
  return named;
}
function valid(inputs: Record<string, string>): Inputs {
  const read = readInputs(env(inputs), (text) => text);
  expect(read.problems).toEqual([]);
  return read.inputs;
}
function problems(inputs: Record<string, string>, more?: Record<string, string>) {
  return readInputs(env(inputs, more), (text) => text).problems;
}
function problemsAt(inputs: Record<string, string>, conversation: number | null) {
  const about = { conversation, mayCarry: false };
  return readInputs(env(inputs), (text) => text, about).problems;
}

it('inputs that are not set have defaults', () => {
  const { failOn, baseUrl, ...rest } = valid({});
  expect([...failOn]).toEqual(FAIL_BY_DEFAULT);
  expect(baseUrl.href).toBe('https://api.mintlify.com/');
  expect(rest).toEqual({
    ...{ projectId: 'proj-1', jobIds: ['job-1'], apiKey: KEY, prompt: 'Add tests.' },
    ...{ createJob: false, attach: '', onlyWhen: null },
    ...{ command: null, comment: true, maxMessages: null, prNumber: null },
    ...{ minimumPermission: 'write', allowedBots: new Set(), githubToken: '' },
    ...{ wait: true, timeoutMs: 1_800_000 },
    proxy: { url: '', noProxy: '' },
  });
});

it.each<[string, Record<string, string>, Partial<Inputs>]>([
  ['white space around a key', { 'api-key': ' mint_abc12345\n' }, { apiKey: 'mint_abc12345' }],
  ['create-job', { 'job-id': '', 'create-job': 'true' }, { jobIds: [], createJob: true }],
  ['TRUE', { wait: 'TRUE' }, { wait: true }],
  ['# before a number', { 'pr-number': '#42' }, { prNumber: 42 }],
  ['an address', { 'pr-number': 'https://github.com/O/r/pull/42/files' }, { prNumber: 42 }],
  ['any prompt', { prompt: ' a\r\n%0A"🚀\u200d\n' }, { prompt: ' a\r\n%0A"🚀\u200d\n' }],
  ['no prompt with a command', { prompt: '', command: '/agent' }, { command: '/agent' }],
  ['no job-id', { 'job-id': '' }, { jobIds: [] }],
  ['no entry', { 'job-id': ', ,' }, { jobIds: [] }],
  ['all characters of IDs', { 'job-id': 'aZ9-_.~:@' }, { jobIds: ['aZ9-_.~:@'] }],
  ['IDs in lines', { 'job-id': ' a\nb,\tA\r\n\u00a0 b,' }, { jobIds: ['a', 'b', 'A'] }],
  ['IDs as JSON', { 'job-id': '[\n "a", "", " b ", "a"]' }, { jobIds: ['a', 'b'] }],
  ['100 IDs', { 'job-id': `${manyIds(100)}, job-1` }, { jobIds: manyIds(100).split('\n') }],
  ['none', { 'fail-on': 'none' }, { failOn: new Set() }],
  ['a list', { 'fail-on': 'skipped,\nfailed' }, { failOn: new Set(['skipped', 'failed']) }],
  ['bots', { 'allowed-bots': '@A[bot], b,' }, { allowedBots: new Set(['a[bot]', 'b']) }],
])('readInputs accepts %s', (_, inputs, expected) => {
  expect(valid(inputs)).toMatchObject(expected);
});

it.each(['https://a.example:8443', 'http://localhost:3000'])('base-url %s is accepted', (text) => {
  expect(valid({ 'base-url': text }).baseUrl.href).toBe(`${text}/`);
});

it('readInputs accepts valid words that are secrets too', () => {
  const redact = redactor(['complete', 'completed', '20262026', 'job-1234']);
  const given = { 'fail-on': 'completed', 'pr-number': '20262026', 'job-id': 'job-1234' };
  expect(readInputs(env(given), redact).problems).toEqual([]);
});

function manyIds(count: number): string {
  return Array.from({ length: count }, (_, index) => `job-${index}`).join('\n');
}

const ID_RULE = 'only letters, digits and “-_.~:@”; it is “';
const EXPRESSION = 'an expression instead of an ID; write “${{ vars.NAME }}” in the workflow';
const OTHER_PULL = 'https://github.com/other/repo/pull/3';
const hostileIds = ['.', '..', 'a/b', 'a\\b', 'a?b', 'a#b', '%2e%2e', 'a%2fb', 'ä', 'a;b', 'a;b'];
const minutes = ['abc', '-1', '+1', '1e3', '0x10', 'Infinity', 'NaN', '１０', '0', '7201', '1,5'];

it.each<[string, readonly string[], string]>([
  ['api-key', ['', ' \n\t'], 'is empty. If it comes from a variable or a secret'],
  ['api-key', ['a\nX: 1', 'a\0b', 'a\tb', 'a\u2028b', '"a"', "'a'"], 'contains quotation marks, a'],
  ['api-key', ['mint_dsc_x', 'mint_us_x'], 'is an assistant key or an index key; create'],
  ['api-key', ['${{ secrets.X }}', '$KEY', 'secrets.KEY', 'vars.KEY'], 'a variable, not a key'],
  ['job-id', ['a\u200b'], 'it is “a�”'],
  ['command', ['/agent now', '\u200b', 'x'.repeat(101)], 'must be one word'],
  ['minimum-permission', ['king'], 'must be triage, write, maintain, admin or none; it'],
  ['minimum-permission', ['read'], 'is read, which everyone has in a public repository; use'],
  ['api-key', ['Bearer mint_x'], 'begins with “Bearer”; store only the key'],
  ['fail-on', ['failure', 'archived, failure'], 'the result of an agent that fails is “failed”.'],
  ['max-messages', ['0'], 'or left out; it is “0”'],
  [
    'allowed-bots',
    [', ,', '*', '@', '@@a', '["a[bot]"]', 'a[bot', 'a/b', '[bot]', '-a', 'ä', 'x[bot]y', 'a;b'],
    'must be a list of logins such as “renovate[bot]”; it is “',
  ],
  ['project-id', ['${{ vars.PROJECT }}', '$PROJECT', 'vars.PROJECT'], EXPRESSION],
  ['job-id', ['${{ steps.a.outputs.id }}', 'steps.a.outputs.id', 'inputs.job-id }}'], EXPRESSION],
  ['job-id', ['mint_012345', 'job-1 mint_x', '"mint_ä'], 'contains an API key; put the key in'],
  ['project-id', ['mint_0123456789', ' mint_a b'], 'contains an API key; put the key in'],
  ['job-id', ['null', 'undefined', 'a, null', '["null"]'], 'instead of an ID; check the step'],
  ['job-id', ['https://github.com/o/r/pull/1'], 'a link; give the ID alone: in the dashboard, '],
  ['project-id', ['https://a.mintlify.app'], 'a link; give the ID alone: the page of the API'],
  ['job-id', ['a;b', 'a|b', manyIds(101)], 'must be at most 100 IDs with commas between them'],
  ['project-id', [''], 'is empty. If it comes from a variable or a secret'],
  ['project-id', [...hostileIds, 'a\tb', 'a,b', 'x'.repeat(257), '\u2066a\u200d'], ID_RULE],
  ['job-id', [...hostileIds, 'x'.repeat(257), 'job-1\u200b', '["a b"]', 'a, b/c', '{}'], ID_RULE],
  ['job-id', ['["a", 7]', '["a"', '[a, b]', '["a", ["b"]]'], 'digits and “-_.~:@”; it is “[…]”'],
  ['only-when', ['done'], `must be a list of ${STATUS_NAMES.join(', ')}, or any alone`],
  ['only-when', ['any, failed', ','], 'or any alone; it is “'],
  ['prompt', ['', ' \n\u200b\u2060\u00a0\u3164\ufeff\u2800'], 'is empty; write what the agent'],
  [
    'base-url',
    [
      ...[
        'http://a.example',
        'http://localhost.evil.example',
        'https://u:p@a.example',
        'a.example',
      ],
      ...['https://a.example?x', 'https://a.example//x', 'https://a.example:0'],
      'https://a.example\\@evil.example',
    ],
    'must be an https URL (http only on localhost) without a user name, password, query or',
  ],
  ['timeout-minutes', [...minutes, '1.', '.5', '9'.repeat(30)], 'must be a plain number, more'],
  ['max-messages', ['101', '1.5', 'x'], 'must be a whole number from 1 to 100, or left out; it'],
  ...['wait', 'comment', 'create-job'].map((name): [string, readonly string[], string] => [
    ...([name, ['yes', '1'], 'must be true or false; it is “'] as const),
  ]),
  ['fail-on', ['error', 'none, failed', 'Failed', ','], 'must be a list of failed, '],
  ['pr-number', ['0', '-3', '##3', '1.5', 'x', '7/files', OTHER_PULL], 'must be the number of a'],
])('readInputs refuses %s: %j', (name, values, words) => {
  for (const value of values) {
    const found = problems({ [name]: value });
    expect([value, found]).toEqual([value, [expect.stringContaining(words)]]);
    expect(found[0]?.startsWith(`“${name}” `)).toBe(true);
  }
});

it.each<[string, Record<string, string>, number | null]>([
  ['max-messages', { comment: 'false', 'max-messages': '3' }, null],
  ['create-job', { comment: 'false', 'create-job': 'true' }, 7],
  ['create-job', { comment: 'false', 'create-job': 'true', 'pr-number': '7' }, null],
])('readInputs refuses %s, together with %j', (name, inputs, conversation) => {
  const [other] = Object.entries(inputs);
  expect(problemsAt(inputs, conversation)).toEqual([
    expect.stringContaining(`“${name}” cannot be combined with “${other?.join(': ')}”`),
  ]);
});

it('readInputs refuses inputs without quoting a secret or a part of one', () => {
  for (const key of ['mint_dsc_secretpart', 'Bearer secretpart', '$secretpart', 'a secretpart']) {
    expect(problems({ 'api-key': key }).join()).not.toContain('secretpart');
  }
  const redact = redactor(['mint_abc12345']);
  const long = `${'x'.repeat(55)}mint_abc12345`;
  const escaped = `["${'x'.repeat(50)}mint_\\u0061bc12345/"]`;
  for (const id of [`${long}/`, escaped, 'a, b/mint_abc12345']) {
    const given = { 'job-id': id, wait: long, 'fail-on': long, 'pr-number': long };
    const read = readInputs(env(given), redact);
    expect(read.problems).toHaveLength(4);
    expect(read.problems.join()).not.toContain('mint_');
  }
});

it('readInputs refuses all invalid inputs at once', () => {
  const more = { HTTPS_PROXY: 'socks5://p:1' };
  const namesOf = (inputs: Record<string, string>): readonly string[] =>
    problems(inputs, more).map((text) => (text.split(' ')[0] ?? '').replaceAll(/[“”]/g, ''));
  const given = { 'api-key': '', 'job-id': '..', wait: 'yes', prompt: '' };
  const names = ['api-key', 'job-id', 'wait', 'HTTPS_PROXY'];
  expect(namesOf(given)).toEqual([...names, 'prompt']);
  // With a command, no prompt is missing.
  expect(namesOf({ ...given, command: '/agent' })).toEqual(names);
  const unchecked = problems({}, { NODE_TLS_REJECT_UNAUTHORIZED: '0' });
  expect(unchecked).toEqual([expect.stringContaining('certificate checks are turned off')]);
});

const NEITHER = { 'project-id': '', 'api-key': '' };
it.each<[string, Record<string, string>, number | null, readonly string[]]>([
  ['all are', NEITHER, null, ['“project-id”, “job-id” and “api-key”']],
  ['comments are off', { wait: 'yes', comment: 'false' }, 7, ['“job-id”', '“wait”']],
  ['but a comment of the event may name the job', { 'project-id': '' }, 7, ['“project-id”']],
  ['but it may be created', { 'project-id': '', 'create-job': 'true' }, null, ['“project-id”']],
  ['but nothing else is wrong, so the run says it', {}, null, []],
])('readInputs refuses an empty job-id, %s', (_, inputs, conversation, expected) => {
  const found = problemsAt({ 'job-id': '', ...inputs }, conversation);
  const words = '(is empty\\.|are empty\\.|must)';
  expect(found).toEqual(expected.map((names) => expect.stringMatching(`^${names} ${words}`)));
});

it('readInputs refuses no prompt only if the event can carry nothing', () => {
  const about = { conversation: 7, mayCarry: true };
  expect(readInputs(env({ prompt: '' }), (text) => text, about).problems).toEqual([]);
});

it.each<[string, Record<string, string>, object]>([
  [
    'are read',
    { command: '/agent', 'minimum-permission': 'none', 'allowed-bots': 'a[bot]' },
    { command: '/agent', minimumPermission: 'none', allowedBots: new Set(['a[bot]']) },
  ],
  [
    'let in no one else if they are invalid themselves',
    { command: '/agent now', 'minimum-permission': 'read', 'allowed-bots': 'a[bot], b/c' },
    { command: null, minimumPermission: 'write', allowedBots: new Set() },
  ],
])('the inputs that say who may send, if others are invalid %s', (_, inputs, expected) => {
  const given = { 'job-id': '..', 'github-token': ' ghs_x\n', ...inputs };
  const read = readInputs(env(given), (text) => text);
  expect(read.problems).not.toEqual([]);
  expect(read.inputs).toMatchObject({ ...expected, githubToken: 'ghs_x' });
});
