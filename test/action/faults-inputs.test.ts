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

/** The action refuses this input, and makes no requests. test/unit/inputs.test.ts has all other texts. */
function refuses(
  name: string,
  text: string,
  problem: RegExp,
  secrets: readonly string[] = [],
): Row {
  return [
    `refuses ${name} ${JSON.stringify(text)}`,
    { with: { comment: true, [name]: text }, secrets, also: noRequests },
    refused(new RegExp(`^Nothing was sent\\. ${name}:? .*${problem.source}`)),
  ];
}

function file(name: string, content: string | Buffer): NonNullable<Fault['with']> {
  writeFileSync(join(WORKSPACE, name), content);
  return { prompt: '', 'prompt-file': name };
}

function link(name: string, target: string): NonNullable<Fault['with']> {
  symlinkSync(target, join(WORKSPACE, name));
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

describe('validates inputs:', () => {
  const secret = 'canary_5f6e7d8c9b';
  const id = 'A_b~c:d@e.-';
  testFaults([
    refuses('api-key', `mint_${secret}\r\nX: ${secondLine}`, /a line break/, [secret, secondLine]),
    refuses('api-key', `Bearer mint_${secret}`, /leave out “Bearer”/, [secret]),
    refuses('project-id', '../job-1', /which is not an ID/),
    refuses('job-id', 'job-1\na\u001b[2Jb', /contains “a \[2Jb”, which is not an ID/),
    refuses('base-url', `https://user:${TOKEN}@agent.invalid`, /without a user name, password/),
    refuses('base-url', 'http://127.0.0.1.agent.invalid', /must be an https URL/),
    refuses('timeout-minutes', '1e3', /must be a plain number/),
    refuses('fail-on', 'none, failed', /must be a list/),
    refuses('prompt', '\u200b\u2060', /no visible text/),
    [
      'accepts all characters of IDs, and a line break after the key',
      async (use) => {
        const server = await use(
          startFaultServer({ onRequest: () => answer(whole(200, { id, status: 'active' })) }),
        );
        return {
          server,
          with: { 'project-id': id, 'job-id': id, 'api-key': ` ${KEY}\r\n` },
          also: () => expect(server.journal[0]?.path).toBe(`/v2/agent/${id}/job/${id}/message`),
        };
      },
      SENT,
    ],
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

describe('validates prompts:', () => {
  const special = '\r\n%0A "\'`$(x) 👩‍👩‍👧 \u202e ::error::no ##[add-mask]no\r';
  const sends = (name: string, content: string): Fault => ({
    ...inWorkspace(file(name, content)),
    also: received(content),
  });
  const long = 'ä🚀\r\n%0A"\\'.repeat(HAS_LARGE_VARIABLES ? 7800 : 2000);
  const refusesFile = (path: string, inputs: NonNullable<Fault['with']>): Row => [
    `refuses the file ${path}`,
    {
      ...inWorkspace(inputs),
      built: path === 'pipe',
      secrets: [CHECKOUT_TOKEN],
      also: noRequests,
    },
    refused(/^Nothing was sent\. prompt-file: /),
  ];
  testFaults([
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
    [
      'sends a file by its absolute path in a link to a folder',
      {
        with: { ...file('whole.md', 'Go.'), 'prompt-file': join(LINK_TO_WORKSPACE, 'whole.md') },
        step: { workspace: LINK_TO_WORKSPACE },
        also: received('Go.'),
      },
      SENT,
    ],
    refusesFile('link to itself', link('loop.md', join(WORKSPACE, 'loop.md'))),
    refusesFile('link to a file in .git', link('task.md', '.git/config')),
    refusesFile('with a surrogate', file('surrogate.md', Buffer.from([0x61, 0xed, 0xa0, 0x80]))),
    ...['/etc/passwd', '/dev/zero', '.git/config', 'docs/.GIT/config', 'pipe'].map((path) =>
      refusesFile(path, { prompt: '', 'prompt-file': path }),
    ),
  ]);
});
