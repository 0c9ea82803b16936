import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { HAS_SIGNALS } from '../sim/platform.ts';
import { parseCommands } from '../sim/runner/commands.ts';
import { runStep, type Step, type StepRun, startStep, virtualTime } from '../sim/runner/process.ts';

const root = mkdtempSync(join(tmpdir(), 'fixture-actions-'));
const undici = fileURLToPath(import.meta.resolve('undici'));
const [GROUP, END] = ['##[group]g', '##[endgroup]'];
const HARD_SECRET = 'p"a&b\'c<d-secret';
const LONGEST = 'x'.repeat(2 ** 16 - 3);
let actions = 0;

afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Creates an action that consists of this code. */
function fixture(code: string, inputs = '{}', outputs = '{}'): string {
  const folder = mkdtempSync(join(root, `${++actions}-`));
  const runs = '{ using: node24, main: main.mjs }';
  const manifest = `name: fixture\ninputs: ${inputs}\noutputs: ${outputs}\nruns: ${runs}\n`;
  writeFileSync(join(folder, 'action.yml'), manifest);
  writeFileSync(join(folder, 'main.mjs'), `import { appendFileSync } from 'node:fs';\n${code}`);
  return folder;
}

function run(code: string, step: Step = {}) {
  return runStep({ action: fixture(code), ...step });
}

/** Runs an action that writes `text` to standard output in one chunk. */
function print(text: string, step: Step = {}) {
  return run(`process.stdout.write(${JSON.stringify(text)})`, step);
}

async function listen(listener: RequestListener) {
  const server = createServer(listener);
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

describe('the environment', () => {
  test('has the inputs, those of the workflow and the runner, and no other variables', async () => {
    const declared = `{
      who-to greet: { default: world }, ratio: { default: 3.10 }, on: { default: true }, plain: ,
      token: { default: '\${{ github.token }}' }, given: { default: unused }, tiny: { default: 0.00001 }
    }`;
    const env = { MINE: 'yes', GITHUB_REPOSITORY: 'evil/evil', CI: 'mine', GITHUB_TOKEN: 'given' };
    const { stdout } = await runStep({
      action: fixture('console.log(JSON.stringify(process.env))', declared),
      ...{ token: 'ghs_1', with: { GIVEN: '', Large: 1e15, off: false, none: null }, env },
      ...{ github: { repository: 'a/b', run_attempt: '2' }, debug: true },
    });
    const variables = JSON.parse(stdout);
    expect(variables).toMatchObject({
      ...{ 'INPUT_WHO-TO_GREET': 'world', INPUT_RATIO: '3.1', INPUT_ON: 'true', INPUT_PLAIN: '' },
      ...{ INPUT_TOKEN: 'ghs_1', INPUT_TINY: '1E-05', INPUT_GIVEN: '', INPUT_LARGE: '1E+15' },
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
    ['a<<E=D\nx\nE=D', { a: 'x' }, '', ''],
    ['a=1\rb=2\n', { a: '1\rb=2' }, '', ''],
    ['a=1\nA=2\n', { a: '2' }, '', ''],
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
    const result = await run(`appendFileSync(process.env.GITHUB_OUTPUT, ${JSON.stringify(text)})`);
    const conclusion = problem === '' ? 'success' : 'failure';
    expect(result).toMatchObject({ conclusion, outputs, outputText: text });
    expect(result.fileErrors.join()).toContain(problem);
    expect(result.strictProblem).toContain(strictProblem);
    expect([result.fileErrors.join(), result.strictProblem].map((one) => one === '')).toEqual(
      [problem, strictProblem].map((one) => one === ''),
    );
  });

  test('have their declared names, and the file is read after commands', async () => {
    const code = `
      console.log('::set-output name=prlink::spoofed');
      appendFileSync(process.env.GITHUB_OUTPUT, 'PRLINK=real\\n');`;
    const action = fixture(code, '{}', '{ prLink: { description: x } }');
    const { outputs } = await runStep({ action });
    expect(outputs).toEqual({ prLink: 'real' });
  });

  test.each([
    ['is kept if it has', 0, 2 ** 20, []],
    ['is dropped if it exceeds', 1, 0, [expect.stringContaining('upload aborted')]],
  ])('a summary %s one MiB', async (_, more, length, messages) => {
    const text = `'x'.repeat(${2 ** 20 + more})`;
    const result = await run(`appendFileSync(process.env.GITHUB_STEP_SUMMARY, ${text})`);
    expect([result.conclusion, result.summary.length]).toEqual(['success', length]);
    expect(result.annotations.map(({ message }) => message)).toEqual(messages);
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

  test('are found in both streams, with characters and line breaks split between chunks', async () => {
    const { annotations, log } = await run(`
      const bytes = Buffer.from('::notice::\\u00e9\\r\\nx\\r');
      const pause = () => new Promise((done) => setTimeout(done, 20));
      for (const [from, to] of [[0, 11], [11, 12], [12, 13], [13]]) {
        process.stdout.write(bytes.subarray(from, to));
        await pause();
      }
      process.stdout.write('::error::out');
      process.stderr.write('##[warning]err');`);
    const byType = annotations.map(({ type, message }) => `${type} ${message}`);
    expect(byType.sort()).toEqual(['error out', 'notice é', 'warning err']);
    const out = log.split('\n').filter((line) => line !== 'Warning: err');
    expect(out.slice(2, 4)).toEqual(['Notice: é', 'x']);
  });

  test('create ten annotations per type, cut to 4,096 characters, with unmasked titles', async () => {
    const text = `::error title=early::${'x'.repeat(5000)}\n`.repeat(12);
    const { annotations, log, masks } = await print(`::add-mask::early\n${text}`);
    const [type, title, message] = ['error', 'early', 'x'.repeat(4096)];
    expect(annotations).toEqual(Array(10).fill({ type, title, message }));
    expect(log.match(/^Error: x+$/gm)).toHaveLength(12);
    expect(masks).toEqual(['early']);
  });

  const secrets = [' one-secret ', 'first\n second \n', 'abcd', 'cdef', HARD_SECRET];

  test.each([
    ['as users see them', '::group::g\n::debug::d\n::endgroup::\nplain\n', [GROUP, END, 'plain']],
    ['in lines', '::error::a%0Ab\n', ['Error: a', 'b']],
    [
      'unless they are stopped',
      '::stop-commands::Token-1\n::error::a\n::token-1::\n::error::b\n',
      ['::stop-commands::***', '::error::a', '::token-1::', 'Error: b'],
    ],
    [
      'with masks from then on',
      'early\n::add-mask::early\n::error::early\n',
      ['early', 'Error: ***'],
    ],
    ['without the token and secrets', 'ghs_job\none-secret\n', ['***', '***']],
    ['without lines of a secret', 'first\nsecond\n', ['***', '***']],
    ['with one mask for overlapping secrets', 'abcdef\n', ['***']],
    ['without base64', `<${Buffer.from(HARD_SECRET).toString('base64')}>`, ['<***>']],
    [
      'without base64 of `user:secret`',
      `<${Buffer.from(HARD_SECRET).subarray(2).toString('base64')}>`,
      ['<***>'],
    ],
    ['without JSON', `<${JSON.stringify(HARD_SECRET)}>`, ['<"***">']],
    ['without parts of a URL', '<p%22a%26b%27c%3Cd-secret>', ['<***>']],
    ['without XML', '<p&quot;a&amp;b&apos;c&lt;d-secret>', ['<***>']],
  ])('are logged %s', async (_, text, lines) => {
    const { log } = await print(text, { secrets, token: 'ghs_job' });
    expect(log.split('\n')).toEqual(['##[group]Run octo-org/action@main', END, ...lines]);
  });

  test.each([
    'set-env name=a::b',
    'add-path::b',
    'set-output::b',
    'stop-commands::error',
    'echo::what',
  ])('fail the step if the runner refuses them: %s', async (command) => {
    expect(await print(`::${command}\n`)).toMatchObject({ conclusion: 'failure', exitCode: 0 });
  });
});

describe.concurrent('the end of a step', () => {
  const early = `appendFileSync(process.env.GITHUB_OUTPUT, 'early=1\\n')`;
  const outputs = { early: '1' };

  test.each([
    ['process.exitCode = 3', 3],
    ['throw new Error("x")', 1],
    ['await new Promise(() => {})', 13],
  ])('is a failure after %s', async (code, exitCode) => {
    expect(await run(code)).toMatchObject({ conclusion: 'failure', exitCode, signal: null });
  });

  const handler = early.replace('early', 'late');
  const log = `for (const name of ['SIGINT', 'SIGTERM']) process.on(name, () => console.log(name))`;
  const pauses = { termAfterMs: 1000, killAfterMs: 1000 };

  test.runIf(HAS_SIGNALS).each<[string, string, (step: StepRun) => unknown, object]>([
    [
      'keeps the outputs that a handler for SIGINT writes',
      `process.on('SIGINT', () => { ${handler}; process.exit() })`,
      (step) => step.cancel(),
      { conclusion: 'cancelled', exitCode: 0, outputs: { early: '1', late: '1' } },
    ],
    [
      'is forced if the step ignores the signals',
      log,
      (step) => step.cancel(pauses),
      { conclusion: 'cancelled', signal: 'SIGKILL', stdout: 'ready\nSIGINT\nSIGTERM\n', outputs },
    ],
    [
      'keeps the outputs after SIGKILL',
      '',
      (step) => step.kill('SIGKILL'),
      { conclusion: 'failure', signal: 'SIGKILL', outputs },
    ],
  ])('%s', async (_, code, act, expected) => {
    const step = startStep({
      action: fixture(`${early}; ${code}; setInterval(() => {}, 1000); console.log('ready');`),
      onLine: (line) => void (line === 'ready' && act(step)),
    });
    const result = await step.result;
    expect(result).toMatchObject(expected);
    const isCancelled = result.log.includes('Error: The operation was canceled.');
    expect(isCancelled).toBe(result.conclusion === 'cancelled');
  });

  test('fails the test if it takes too long', async () => {
    const code = `console.log('stuck'); setInterval(() => {}, 1000);`;
    await expect(run(code, { time: null, timeoutMs: 3000 })).rejects.toThrow(/too long.*\sstuck/s);
  });
});

describe.concurrent('virtual time', () => {
  const request = `import { request } from ${JSON.stringify(undici)};`;

  test('does not time out a slow response', async () => {
    await using server = await listen((_, response) => {
      setTimeout(() => response.end('slow'), 300);
    });
    const { stdout, virtualMs } = await run(`${request}
      const timer = setTimeout(() => console.log('cut'), 30_000);
      const { body } = await request('${server.url}', { signal: AbortSignal.timeout(30_000) });
      console.log(await body.text());
      clearTimeout(timer);`);
    expect(stdout).toBe('slow\n');
    expect(virtualMs).toBeLessThan(30_000);
  });

  test.each([
    ['a timer', '', 'setTimeout(() => abort.abort(new Error("deadline")), 30_000)', 30_000],
    ['an unref’d timer', 'signal: AbortSignal.timeout(30_000),', '', 30_000],
    ['a timeout of undici', 'headersTimeout: 300_000,', '', 300_000],
  ])('reaches %s while a server hangs', async (_, options, before, leastMs) => {
    using time = virtualTime({ graceMs: 200 });
    await using server = await listen(() => {});
    const code = `${request}
      const abort = new AbortController();
      ${before};
      await request('${server.url}', { signal: abort.signal, ${options} }).catch(console.log);`;
    const { stdout, virtualMs } = await run(code, { time });
    expect(stdout).toMatch(/Error/);
    expect(virtualMs).toBeGreaterThanOrEqual(leastMs - 1);
    expect(virtualMs).toBeLessThan(leastMs + 20_000);
  });
});
