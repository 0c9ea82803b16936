import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect } from 'vitest';
import { HAS_LARGE_VARIABLES, HAS_NAMED_PIPES } from '../sim/platform.ts';
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

const secondLine = 'canary-second-line-1f9e';
const received =
  (prompt: string): NonNullable<Fault['also']> =>
  (_, { agent }) => {
    expect(JSON.parse(agent.posts()[0]?.body ?? '')).toEqual({ prompt });
  };

describe('validates inputs:', () => {
  const secret = 'canary_5f6e7d8c9b';
  testFaults([
    refuses('api-key', `mint_${secret}\r\nX: ${secondLine}`, /a line break/, [secret, secondLine]),
    refuses('job-id', 'job-1\na\u001b[2Jb', /contains “a \[2Jb”, which is not an ID/),
    refuses('base-url', `https://user:${TOKEN}@agent.invalid`, /without a user name, password/),
    ['accepts a line break after the key', { with: { 'api-key': ` ${KEY}\r\n` } }, SENT],
  ]);
});

describe('validates prompts and files:', () => {
  const special = '\r\n%0A "\'`$(x) 👩‍👩‍👧 \u202e ::error::no ##[add-mask]no\r';
  const long = 'ä🚀\r\n%0A"\\'.repeat(HAS_LARGE_VARIABLES ? 7800 : 2000);
  const files = {
    'large.md': 'x'.repeat(2 ** 20),
    'bom.md': '\ufeffhello\r\n',
    'vale.txt': 'a.md:1: \u001b[31mbroken\u001b[0m\n',
  };
  for (const [name, content] of Object.entries(files))
    writeFileSync(join(WORKSPACE, name), content);
  symlinkSync('.git/config', join(WORKSPACE, 'link.md'));
  const inWorkspace = (inputs: NonNullable<Fault['with']>, more: Fault = {}): Fault => ({
    ...{ ...more, with: inputs, secrets: [CHECKOUT_TOKEN] },
    step: { workspace: WORKSPACE, ...more.step },
  });
  const refusesFile = (name: 'prompt-file' | 'attach', path: string, more: Fault = {}): Row => {
    const prompt = name === 'attach' ? 'Fix it.' : '';
    return [
      `refuses the ${name} ${path}`,
      inWorkspace({ prompt, [name]: path, ...more.with }, { also: noRequests, ...more }),
      refused(new RegExp(`^Nothing was sent\\. ${name}: “`)),
    ];
  };
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
    ...(['large.md', 'bom.md'] as const).map(
      (name): Row => [
        `sends the file ${name} unchanged`,
        inWorkspace({ prompt: '', 'prompt-file': name }, { also: received(files[name]) }),
        SENT,
      ],
    ),
    [
      'attaches a file by its absolute path in a link to the workspace',
      inWorkspace(
        { prompt: 'Fix it.', attach: `\n${join(LINK_TO_WORKSPACE, 'vale.txt')}\n` },
        {
          step: { workspace: LINK_TO_WORKSPACE },
          also: (_, { agent }) =>
            expect(JSON.parse(agent.posts()[0]?.body ?? '').prompt).toMatch(
              /^Fix it\.\n\nThe following is the output of programs.*> a\.md:1: broken\n> ```$/s,
            ),
        },
      ),
      SENT,
    ],
    ...['link.md', '/etc/passwd', 'docs/.GIT/config'].map((path) =>
      refusesFile('prompt-file', path),
    ),
    ...(HAS_NAMED_PIPES ? [refusesFile('prompt-file', 'pipe', { built: true })] : []),
    ...['link.md', 'gone.txt', '.git/config'].map((path) => refusesFile('attach', path)),
    refusesFile('attach', 'vale.txt\n../x', { with: { send: 'false', prompt: '' } }),
  ]);
});
