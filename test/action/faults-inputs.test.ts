import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect } from 'vitest';
import { answer, startFaultServer, whole } from '../sim/fault-server.ts';
import { HAS_LARGE_VARIABLES, HAS_NAMED_PIPES } from '../sim/platform.ts';
import type { Step } from '../sim/runner/process.ts';
import { type Fault, NOT_SENT, type Row, SENT, testFaults } from './faults.ts';
import { KEY, TOKEN } from './scenario.ts';

const FOLDER = mkdtempSync(join(tmpdir(), 'workspace-'));
afterAll(() => rmSync(FOLDER, { recursive: true }));
const WORKSPACE = join(FOLDER, 'workspace');
const LINK_TO_WORKSPACE = join(FOLDER, 'link');
/** Earlier versions of actions/checkout store the token of the job in .git/config. */
const CHECKOUT_TOKEN = 'canary-of-the-checkout-3b7e';
for (const checkout of ['.', 'docs']) {
  mkdirSync(join(WORKSPACE, checkout, '.git'), { recursive: true });
  const config = `[http]\n\textraheader = AUTHORIZATION: basic ${CHECKOUT_TOKEN}\n`;
  writeFileSync(join(WORKSPACE, checkout, '.git', 'config'), config);
}
symlinkSync(WORKSPACE, LINK_TO_WORKSPACE);
if (HAS_NAMED_PIPES) execFileSync('mkfifo', [join(WORKSPACE, 'pipe')]);

const noRequests: NonNullable<Fault['also']> = (result, { agent, github }) => {
  expect([...agent.journal, ...github.journal]).toEqual([]);
  expect(agent.maxSockets).toBe(0);
  expect(result.outputs).toMatchObject({ results: '[]', status: '', 'job-id': '' });
};
const refused = (error: RegExp) => ({ ...NOT_SENT, attempts: 0, error });

/** One row per text: the action refuses it in all of these inputs, and makes no requests. */
function refuses(
  names: string | readonly string[],
  texts: readonly string[],
  problem: RegExp,
  more: Fault = {},
): readonly Row[] {
  const inputs = [names].flat();
  return texts.map((text): Row => {
    const bad = Object.fromEntries(inputs.map((name) => [name, text]));
    const problems = inputs.map((name) => `${name}:? [^.]*${problem.source}.*`).join('');
    return [
      `refuses ${inputs.join(', ')} ${JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text)}`,
      {
        ...more,
        with: { comment: true, ...more.with, ...bad },
        also: noRequests,
      },
      refused(new RegExp(`^Nothing was sent\\. ${problems}`)),
    ];
  });
}

function file(name: string, content: string | Buffer): NonNullable<Fault['with']> {
  writeFileSync(join(WORKSPACE, name), content);
  return { prompt: '', 'prompt-file': name };
}

function inWorkspace(inputs: Step['with']): Fault {
  return { with: { ...inputs }, step: { workspace: WORKSPACE } };
}

const secondLine = 'canary-second-line-1f9e';
const received =
  (prompt: string): NonNullable<Fault['also']> =>
  (_, { agent }) => {
    expect(JSON.parse(agent.posts()[0]?.body ?? '')).toEqual({ prompt });
  };

describe('validates api-key:', () => {
  const secret = 'canary_5f6e7d8c9b';
  const key = `mint_${secret}`;
  const refusesKeys = (keys: readonly string[], problem: RegExp) =>
    refuses('api-key', keys, problem, { secrets: [secondLine, secret] });
  const injected = [
    `${key}\n${secondLine}`,
    `${key}\tx${secondLine}`,
    `${key}\r\nX: ${secondLine}`,
  ];
  testFaults([
    ...refusesKeys(['', ' \t\n '], /is empty\. If it comes from a variable or a secret, check its/),
    ...refusesKeys(
      [...injected, `mint_\u0001${secret}`, `${key}\u2028x`],
      /a line break or a special character/,
    ),
    ...refusesKeys([`mint_dsc_${secret}`, `mint_us_${secret}`], /create an admin key at https/),
    ...refusesKeys(['${{ secrets.X }}', '$KEY', '${KEY}'], /is the name of a variable, not a key/),
    ...refusesKeys([`Bearer ${key}`, `bearer  ${key}`], /leave out “Bearer”/),
    ...refusesKeys([`mint_ ${secret}`, `${key}\u00e9`, `\u200b${key}`, `"${key}"`], /\w/),
    [
      'removes a line break at its end',
      {
        with: { 'api-key': ` ${KEY}\r\n` },
        also: (_, { agent }) =>
          expect(agent.posts()[0]?.headers.authorization).toBe(`Bearer ${KEY}`),
      },
      SENT,
    ],
  ]);
});

describe('validates IDs:', () => {
  testFaults(refuses('project-id', ['', ' '], /empty/));
  const ids = '.. . a/b a\\b a?b a#b %2e%2e a%2fb é a\u200bb a;b \uff0e\uff0e ../job-1'.split(' ');
  testFaults(refuses(['project-id', 'job-id'], [...ids, 'x'.repeat(300)], /\w/));
  testFaults(refuses('job-id', ['["a", 1]', '["a"', '[a]', '[]', '["a b"]'], /\w/));
  testFaults(refuses('job-id', ['job-1\na\u001b[2Jb'], /contains “a \[2Jb”, which is not an ID/));
  testFaults(refuses('project-id', ['a\tb', 'a\nb', 'a,b'], /which is not an ID/));
  testFaults(
    ['a.b', '...', '-', 'A_b~c:d@e', '::error::x', 'x'.repeat(256)].map(
      (id): Row => [
        `accepts ${id.slice(0, 40)}`,
        async (use) => {
          const server = await use(
            startFaultServer({ onRequest: () => answer(whole(200, { id, status: 'active' })) }),
          );
          return {
            server,
            with: { 'project-id': id, 'job-id': id },
            also: () => expect(server.journal[0]?.path).toBe(`/v2/agent/${id}/job/${id}/message`),
          };
        },
        SENT,
      ],
    ),
  );
});

/** A missing file, files outside, a device, folders, a file in .git of any checkout, and a pipe. */
const PATHS =
  'none.md ../outside.md /etc/passwd /dev/zero . folder/config .git/config docs/.GIT/config pipe'.split(
    ' ',
  );

describe('validates prompts:', () => {
  const special = '\r\n%0A "\'`$(x) 👩‍👩‍👧 \u202e ::error::no ##[add-mask]no\r';
  const sends = (name: string, content: string): Fault => ({
    ...inWorkspace(file(name, content)),
    also: received(content),
  });
  const long = 'ä🚀\r\n%0A"\\'.repeat(HAS_LARGE_VARIABLES ? 7800 : 2000);
  testFaults([
    ...refuses('prompt', ['', ' \n\t', '\ufeff'], /is empty/),
    ...refuses('prompt', ['\u200b\u2060', '\u00ad\u3164', '\u2800'], /no visible text/),
    [
      'refuses prompt and prompt-file at once',
      { ...inWorkspace({ 'prompt-file': 'x.md' }), also: noRequests },
      refused(/prompt and prompt-file are both set/),
    ],
    [
      'sends a text with line breaks, escapes, quotes and emoji',
      { with: { prompt: special }, also: received(special) },
      SENT,
    ],
    [
      'sends a text of 117 KiB, or of the limit of the system',
      { built: true, with: { prompt: long }, also: received(long) },
      SENT,
    ],
    ['sends a file of 1 MiB', sends('large.md', 'x'.repeat(2 ** 20)), SENT],
    ['sends a file with a byte order mark', sends('bom.md', '\ufeffhello\r\n'), SENT],
    ...(
      [
        ['a file of more than 1 MiB', file('larger.md', 'x'.repeat(2 ** 20 + 1))],
        ['an empty file', file('empty.md', '')],
        ['a file that contains only white space', file('blank.md', ' \n')],
        ['a file with a surrogate', file('surrogate.md', Buffer.from([0x61, 0xed, 0xa0, 0x80]))],
        ['a file that is not UTF-8', file('latin.md', Buffer.from([0x61, 0xe9]))],
        ['a link to a file outside the workspace', link('link.md', '/etc/passwd')],
        ['a link to itself', link('loop.md', join(WORKSPACE, 'loop.md'))],
        ['a link to a file in .git', link('task.md', '.git/config')],
        ['a link to another file', link('other.md', 'large.md')],
        ['a linked folder', link('folder', '.git')],
        ...PATHS.map((path) => [path, { prompt: '', 'prompt-file': path }] as const),
      ] as const
    ).map(
      ([name, inputs]): Row => [
        `refuses ${name}`,
        {
          ...inWorkspace(inputs),
          built: name === 'pipe',
          secrets: [CHECKOUT_TOKEN],
          also: noRequests,
        },
        refused(/^Nothing was sent\. prompt-file: /),
      ],
    ),
    ...[WORKSPACE, LINK_TO_WORKSPACE].map(
      (workspace): Row => [
        `sends a file by its absolute path in ${workspace === WORKSPACE ? 'a folder' : 'a link to a folder'}`,
        {
          with: { ...file('whole.md', 'Go.'), 'prompt-file': join(workspace, 'whole.md') },
          step: { workspace },
          also: received('Go.'),
        },
        SENT,
      ],
    ),
  ]);
});

function link(name: string, target: string): NonNullable<Fault['with']> {
  symlinkSync(target, join(WORKSPACE, name));
  return { prompt: '', 'prompt-file': name };
}

describe('validates base-url:', () => {
  const refusesUrls = (urls: string, problem: RegExp) =>
    refuses('base-url', urls.split(' '), problem);
  testFaults([
    ...refusesUrls(
      'http://agent.invalid http://127.0.0.1.agent.invalid http://[::2] ftp://agent.invalid javascript:alert(1)',
      /must be an https URL/,
    ),
    ...refusesUrls(
      `https://agent.invalid?x https://agent.invalid/#f https://user:${TOKEN}@agent.invalid https://user@agent.invalid`,
      /without a user name, password, query or fragment/,
    ),
    ...refusesUrls('https://agent.invalid:0 https://agent.invalid:99999 agent.invalid', /must/),
    ...refuses('base-url', ['https:\\\\agent.invalid', 'https://agent.invalid/a b'], /must/),
    ...refuses('base-url', ['https://a\nb'], /must/),
  ]);
});

describe('validates numbers and words:', () => {
  const numbers = 'abc -1 1e3 0x10 Infinity １０ 1_0 .5 +1'.split(' ');
  const numeric = ['timeout-minutes', 'poll-interval-seconds', 'settle-seconds', 'pr-number'];
  testFaults([
    ...refuses(numeric, [...numbers, '9999999999999'], /must be (a plain|the) number/),
    ...refuses(['timeout-minutes', 'poll-interval-seconds', 'pr-number'], ['0'], /must be/),
    ...refuses('timeout-minutes', ['0.0', '7200.1'], /must be a plain number/),
    ...refuses(['poll-interval-seconds', 'settle-seconds'], ['3600.1'], /must be a plain number/),
    ...refuses('poll-interval-seconds', ['0.9'], /must be a plain number/),
    ...refuses('wait', ['yes', '1', 'on', 'tRUE', 'true false'], /must be true or false/),
    ...refuses('fail-on', ['none, failed', 'FAILED', ',', 'error'], /must be a list/),
    ...refuses('when-active', ['WAIT', 'send, wait'], /must be send or wait/),
    ...refuses('comment', ['maybe', 'Update'], /must be true or false/),
    ...refuses('pr-number', ['7.0', '#7'], /must be the number/),
  ]);
});

describe('validates the environment:', () => {
  testFaults([
    [
      'refuses certificate checks that are turned off',
      { step: { env: { NODE_TLS_REJECT_UNAUTHORIZED: '0' } }, also: noRequests },
      refused(/certificate checks are turned off/),
    ],
    [
      'refuses several invalid inputs in one error',
      {
        with: {
          'api-key': `mint_${secondLine}\n${secondLine}`,
          'job-id': '..',
          'project-id': '/',
          prompt: '',
          wait: 'yes',
          'base-url': 'x',
        },
        secrets: [secondLine],
        also: noRequests,
      },
      refused(/^Nothing was sent\. project-id .*job-id .*api-key .*wait .*base-url .*prompt /),
    ],
  ]);
});
