import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { parseCommands } from '../sim/runner/commands.ts';
import { startStep } from '../sim/runner/process.ts';

// How the simulated runner reads what a step writes, and what a step gets from it. If it read less, or gave more,
// scenarios would pass without testing anything.

const root = mkdtempSync(join(tmpdir(), 'fixture-actions-'));
const LONGEST = 'x'.repeat(2 ** 16 - 3);
let actions = 0;

afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Creates an action that consists of this code. */
function fixture(code: string, inputs = '{}'): string {
  const folder = mkdtempSync(join(root, `${++actions}-`));
  const runs = '{ using: node24, main: main.mjs }';
  const manifest = `name: fixture\ninputs: ${inputs}\nruns: ${runs}\n`;
  writeFileSync(join(folder, 'action.yml'), manifest);
  writeFileSync(join(folder, 'main.mjs'), `import { appendFileSync } from 'node:fs';\n${code}`);
  return folder;
}

describe('the environment', () => {
  test('has the inputs, those of the workflow and the runner, and no other variables', async () => {
    const declared = `{
      who-to greet: { default: world }, on: { default: true }, plain: ,
      token: { default: '\${{ github.token }}' }, given: { default: unused }
    }`;
    const env = { MINE: 'yes', GITHUB_REPOSITORY: 'evil/evil', CI: 'mine', GITHUB_TOKEN: 'given' };
    const { stdout } = await startStep({
      action: fixture('console.log(JSON.stringify(process.env))', declared),
      ...{ token: 'ghs_1', with: { GIVEN: '', off: false, none: null }, env },
      ...{ github: { repository: 'a/b', run_attempt: '2' }, debug: true },
    }).result;
    const variables = JSON.parse(stdout);
    expect(variables).toMatchObject({
      ...{ 'INPUT_WHO-TO_GREET': 'world', INPUT_ON: 'true', INPUT_PLAIN: '' },
      ...{ INPUT_TOKEN: 'ghs_1', INPUT_GIVEN: '' },
      ...{ INPUT_OFF: 'false', INPUT_NONE: '', MINE: 'yes', CI: 'mine', GITHUB_TOKEN: 'given' },
      ...{ GITHUB_REPOSITORY: 'a/b', GITHUB_REPOSITORY_OWNER: 'a', GITHUB_RUN_ATTEMPT: '2' },
      ...{ GITHUB_ACTIONS: 'true', RUNNER_DEBUG: '1' },
    });
    // With coverage, Node itself passes this variable to every child process.
    const foreign = /^(SIM_|VITEST|NODE_(?!V8_COVERAGE$))/;
    expect(Object.keys(variables).filter((name) => foreign.test(name))).toEqual([]);
  });
});

describe('outputs', () => {
  test.each([
    ['a= b=c \n', { a: ' b=c ' }, '', ''],
    ['a<<END\nx\n\ny=1\nEND\nb=2\n', { a: 'x\n\ny=1', b: '2' }, '', ''],
    ['a<<END\nEND\n', { a: '' }, '', ''],
    ['', {}, '', ''],
    ['a=1\nbad\nb=2\n', { a: '1' }, "Invalid format 'bad'", "invalid format 'bad'"],
    ['a=1\nb<<END\nx\n', { a: '1' }, "delimiter not found 'END'", "delimiter 'END' not found"],
    ['a=1\nb<<END\nx', { a: '1' }, 'EOF marker missing new line.', "delimiter 'END' not found"],
    ['a=1\n=2\n', { a: '1' }, 'Name must not be empty', ''],
    ['a=1\n\nb=2\n', { a: '1', b: '2' }, '', "invalid format ''"],
    ['a<<END\nx\r\ny\nEND\n', { a: 'x\r\ny' }, '', 'a is read in another way; is oneLine missing?'],
    ['a<<END\n\nx\nEND\n', { a: '\nx' }, '', 'a is read in another way; is oneLine missing?'],
    [`a=${LONGEST}\n`, { a: LONGEST }, '', ''],
    [`a=${LONGEST}x\n`, { a: `${LONGEST}x` }, '', 'line 1 is too long'],
  ])('are read from %j, also with the rules of other runners', async (text, ...expected) => {
    const [outputs, problem, strictProblem] = expected;
    const code = `appendFileSync(process.env.GITHUB_OUTPUT, ${JSON.stringify(text)})`;
    const result = await startStep({ action: fixture(code) }).result;
    const conclusion = problem === '' ? 'success' : 'failure';
    expect(result).toMatchObject({ conclusion, outputs, outputText: text });
    expect(result.fileErrors.join()).toContain(problem);
    expect(result.strictProblem).toContain(strictProblem);
    expect([result.fileErrors.join(), result.strictProblem].map((one) => one === '')).toEqual(
      [problem, strictProblem].map((one) => one === ''),
    );
  });
});

describe('commands', () => {
  const x = { properties: {}, data: 'x' };

  test.each([
    ['::error::x', [{ name: 'error', ...x }]],
    ['\u00a0\u2028\u0085 ::Error::x', [{ name: 'error', ...x }]],
    ['\ufeff::error::x', []],
    ['text ::error::x', []],
    ['::unknown::x', []],
    [
      '::warning title=a%2Cb%3A,line=1,=,bad::p%25q%0Ar%3A',
      [{ name: 'warning', properties: { title: 'a,b:', line: '1' }, data: 'p%q\nr%3A' }],
    ],
    [
      '  | "##[set-output name=a%3B;x=1]v%5D',
      [{ name: 'set-output', properties: { name: 'a;', x: '1' }, data: 'v]' }],
    ],
    ['::unknown::##[error]x', [{ name: 'error', ...x }]],
    ['a\r::error::x\r\n##[notice]x', [x, x]],
    ['##\\[error]x', []],
  ])('are found in %j', (text, commands) => {
    const found = parseCommands(text);
    expect(found).toHaveLength(commands.length);
    expect(found).toMatchObject(commands);
  });

  test('are logged as users see them, without what is masked', async () => {
    const text = 'early\n::add-mask::early\n::error::early%0Ab\n::debug::d\nghs_job one-secret\n';
    const action = fixture(`process.stdout.write(${JSON.stringify(text)})`);
    const { log } = await startStep({ action, token: 'ghs_job', secrets: ['one-secret'] }).result;
    expect(log.split('\n').slice(2)).toEqual(['early', 'Error: ***', 'b', '*** ***']);
  });

  test.each(['set-env name=a::b', 'set-output name=a::b', 'stop-commands::b'])(
    'fail the step if the action does not use them: %s',
    async (command) => {
      const action = fixture(`console.log('::${command}')`);
      expect((await startStep({ action }).result).conclusion).toBe('failure');
    },
  );
});
