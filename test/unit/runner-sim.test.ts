import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import {
  HAS_FILE_MODES,
  HAS_FULL_DEVICE,
  HAS_SIGNALS,
  LIMITS_EACH_VARIABLE,
} from '../sim/platform.ts';
import { parseCommands } from '../sim/runner/commands.ts';
import { runStep, type Step, startStep, virtualTime } from '../sim/runner/process.ts';

const root = mkdtempSync(join(tmpdir(), 'fixture-actions-'));
const undici = fileURLToPath(import.meta.resolve('undici'));
let actions = 0;

afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Creates an action that consists of this code. */
function fixture(code: string, inputs = '{}', outputs = '{}'): string {
  const folder = mkdtempSync(join(root, `${++actions}-`));
  writeFileSync(
    join(folder, 'action.yml'),
    `name: fixture\ninputs: ${inputs}\noutputs: ${outputs}\nruns: { using: node24, main: main.mjs }\n`,
  );
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

/** Runs an action that only writes `text` to its output file. */
function write(text: string, step: Step = {}) {
  return run(`appendFileSync(process.env.GITHUB_OUTPUT, ${JSON.stringify(text)})`, step);
}

async function environmentOf(step: Step, inputs?: string): Promise<Record<string, string>> {
  const action = fixture('console.log(JSON.stringify(process.env))', inputs);
  return JSON.parse((await runStep({ ...step, action })).stdout);
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
  const inputs = `{
    who-to greet: { default: world }, ratio: { default: 3.10 }, many: { default: 1e3 },
    on: { default: true }, plain: , token: { default: '\${{ github.token }}' },
    given: { default: unused }, tiny: { default: 0.00001 }
  }`;

  test('has every declared input, with its default', async () => {
    expect(await environmentOf({ token: 'ghs_1' }, inputs)).toMatchObject({
      'INPUT_WHO-TO_GREET': 'world',
      INPUT_RATIO: '3.1',
      INPUT_MANY: '1000',
      INPUT_ON: 'true',
      INPUT_PLAIN: '',
      INPUT_TOKEN: 'ghs_1',
      INPUT_GIVEN: 'unused',
      INPUT_TINY: '1E-05',
    });
  });

  test('has the given inputs as strings, with names in any case, even if they are empty', async () => {
    const given = { GIVEN: '', Many: 1e15, on: false, plain: null, ratio: '3.10' };
    expect(await environmentOf({ with: given }, inputs)).toMatchObject({
      INPUT_GIVEN: '',
      INPUT_MANY: '1E+15',
      INPUT_ON: 'false',
      INPUT_PLAIN: '',
      INPUT_RATIO: '3.10',
    });
  });

  test('has no variables of the test, and `env:` cannot change those of the runner', async () => {
    const env = await environmentOf({
      env: { MINE: 'yes', GITHUB_REPOSITORY: 'evil/evil', CI: 'mine', GITHUB_TOKEN: 'given' },
      github: { repository: 'a/b', run_attempt: '2' },
      debug: true,
    });
    expect(env).toMatchObject({
      MINE: 'yes',
      CI: 'mine',
      GITHUB_TOKEN: 'given',
      GITHUB_REPOSITORY: 'a/b',
      GITHUB_REPOSITORY_OWNER: 'a',
      GITHUB_RUN_ATTEMPT: '2',
      GITHUB_ACTIONS: 'true',
      RUNNER_DEBUG: '1',
    });
    // With coverage, Node itself passes this variable to every child process.
    const foreign = /^(SIM_|VITEST|NODE_(?!V8_COVERAGE$))/;
    expect(Object.keys(env).filter((name) => foreign.test(name))).toEqual([]);
  });

  test('refuses variables that the runner does not set', () => {
    expect(() => startStep({ action: fixture(''), github: { token: 'x' } })).toThrow(
      'The runner sets no GITHUB_TOKEN.',
    );
  });

  test('names the event, with a broken or missing file if requested', async () => {
    const code = `
      import { existsSync, readFileSync } from 'node:fs';
      const path = process.env.GITHUB_EVENT_PATH;
      console.log(process.env.GITHUB_EVENT_NAME, existsSync(path) && readFileSync(path, 'utf8'));`;
    const log = async (payload: unknown) =>
      (await run(code, { event: { name: 'push', payload } })).stdout.trim();
    expect(await log({ a: 1 })).toBe('push {"a":1}');
    expect(await log('{"a":')).toBe('push {"a":');
    expect(await log(null)).toBe('push false');
  });

  test('warns of unexpected and deprecated inputs, and passes them on', async () => {
    const declared = '{ old: { deprecationMessage: Use new. } }';
    const action = fixture('console.log(process.env.INPUT_TYPO, process.env.INPUT_OLD)', declared);
    const { annotations, stdout, conclusion } = await runStep({
      action,
      with: { typo: 'x', old: 'y' },
    });
    expect(stdout).toBe('x y\n');
    expect(conclusion).toBe('success');
    expect(annotations.map(({ message }) => message)).toEqual([
      "Input 'old' has been deprecated with message: Use new.",
      "Unexpected input(s) 'typo', valid inputs are ['old']",
    ]);
  });

  test('closes the standard input and starts in the workspace', async () => {
    const { stdout } = await run(`
      import { readdirSync } from 'node:fs';
      for await (const _ of process.stdin);
      console.log(process.cwd() === process.env.GITHUB_WORKSPACE, readdirSync('.').length);`);
    expect(stdout).toBe('true 0\n');
  });
});

describe('outputs', () => {
  test.each([
    ['a plain value, untrimmed', 'a= b=c \n', { a: ' b=c ' }],
    ['a heredoc', 'a<<END\nx\n\ny=1\nEND\nb=2\n', { a: 'x\n\ny=1', b: '2' }],
    ['an empty heredoc', 'a<<END\nEND\n', { a: '' }],
    ['a delimiter that has =', 'a<<E=D\nx\nE=D', { a: 'x' }],
    ['a carriage return, which does not end a line', 'a=1\rb=2\n', { a: '1\rb=2' }],
    ['the last value of a name in any case', 'a=1\nA=2\n', { a: '2' }],
  ])('accept %s', async (_, text, outputs) => {
    const result = await write(text);
    expect(result.outputs).toEqual(outputs);
    expect(result.outputText).toBe(text);
    expect(result.conclusion).toBe('success');
  });

  test.each([
    ['a line without a sign', 'a=1\nbad\nb=2\n', "Invalid format 'bad'"],
    ['a missing delimiter', 'a=1\nb<<END\nx\n', "Matching delimiter not found 'END'"],
    ['a last line without a line break', 'a=1\nb<<END\nx', 'EOF marker missing new line.'],
    ['no name', 'a=1\n=2\n', 'Name must not be empty'],
  ])('fail for %s, and keep the outputs before it', async (_, text, problem) => {
    const result = await write(text);
    expect(result.outputs).toEqual({ a: '1' });
    expect(result.fileErrors).toEqual([expect.stringContaining(problem)]);
    expect(result.conclusion).toBe('failure');
    expect(result.annotations[0]?.message).toBe(
      "Unable to process file command 'output' successfully.",
    );
  });

  test.each([
    ['outputs of each kind', 'a= b=c\nb<<END\nx\n\ny=1\nEND\nc<<END\nEND\n', ''],
    ['no outputs', '', ''],
    ['a blank line', 'a=1\n\n', "invalid format ''"],
    ['a blank line in between', 'a=1\n\nb=2\n', "invalid format ''"],
    ['a line without a sign', 'bad\n', "invalid format 'bad'"],
    ['a missing delimiter', 'b<<END\nx\n', "delimiter 'END' not found"],
    ['a carriage return at the end of a line', 'a<<END\nx\r\ny\nEND\n', 'a is read in another way'],
    ['a blank line that begins a value', 'a<<END\n\nx\nEND\n', 'a is read in another way'],
    ['the longest line', `a=${'x'.repeat(2 ** 16 - 3)}\n`, ''],
    ['a longer line', `a=${'x'.repeat(2 ** 16 - 2)}\n`, 'line 1 is too long'],
  ])('are also parsed with the rules of other runners: %s', async (_, text, problem) => {
    const { strictProblem } = await write(text);
    expect(strictProblem).toContain(problem);
    if (problem === '') expect(strictProblem).toBe('');
  });

  test('have their declared names, and the file is read after commands', async () => {
    const code = `
      console.log('::set-output name=prlink::spoofed');
      appendFileSync(process.env.GITHUB_OUTPUT, 'PRLINK=real\\n');`;
    const { outputs, outputWrites } = await runStep({
      action: fixture(code, '{}', '{ prLink: { description: x } }'),
    });
    expect(outputs).toEqual({ prLink: 'real' });
    expect(outputWrites).toEqual({ prLink: 2 });
  });

  test.for([
    ['full', HAS_FULL_DEVICE, 'ENOSPC'],
    ['read-only', HAS_FILE_MODES, process.getuid?.() === 0 ? 'EIO' : 'EACCES'],
    ['unset', true, 'ERR_INVALID_ARG_TYPE'],
  ] as const)(
    'cannot be written if the file is %s',
    async ([outputFile, possible, code], { skip }) => {
      skip(!possible);
      const { stderr, conclusion, outputs } = await write('a=1\n', { outputFile });
      expect(stderr).toContain(code);
      expect(conclusion).toBe('failure');
      expect(outputs).toEqual({});
    },
  );

  test('are read from a file that the step creates', async () => {
    expect((await write('a=1\n', { outputFile: 'missing' })).outputs).toEqual({ a: '1' });
  });

  test('are uploaded with a summary of at most one MiB', async () => {
    const summary = (length: number) =>
      run(`appendFileSync(process.env.GITHUB_STEP_SUMMARY, 'x'.repeat(${length}))`);
    const [fits, tooLarge] = await Promise.all([summary(1024 * 1024), summary(1024 * 1024 + 1)]);
    expect(fits.summary).toHaveLength(1024 * 1024);
    expect(fits.annotations).toEqual([]);
    expect(tooLarge.summary).toBe('');
    expect(tooLarge.annotations[0]?.message).toContain('upload aborted');
    expect(tooLarge.conclusion).toBe('success');
  });
});

describe('masks', () => {
  test('hide secrets, the token, and from then on the values that the step adds', async () => {
    const { log, masks } = await print(
      'early\n::add-mask::early\nearly\none-secret\nghs_job\n::warning title=early::early\n',
      { secrets: [' one-secret '], token: 'ghs_job' },
    );
    expect(log.split('\n').slice(2)).toEqual(['early', '***', '***', '***', 'Warning: ***']);
    expect(masks).toEqual(['early']);
  });

  test('do not hide titles', async () => {
    const { annotations } = await print('::add-mask::early\n::error title=early::early\n');
    expect(annotations).toEqual([{ type: 'error', title: 'early', message: '***' }]);
  });

  test.each([
    ['base64', Buffer.from('p"a&b\'c<d-secret').toString('base64')],
    ['base64 of `user:secret`', Buffer.from('p"a&b\'c<d-secret').subarray(2).toString('base64')],
    ['JSON', JSON.stringify('p"a&b\'c<d-secret').slice(1, -1)],
    ['a URL', 'p%22a%26b%27c%3Cd-secret'],
    ['XML', 'p&quot;a&amp;b&apos;c&lt;d-secret'],
    ['an expression', "p\"a&b''c<d-secret"],
  ])('hide a secret in %s', async (_, encoded) => {
    const { log } = await print(`<${encoded}>\n`, { secrets: ['p"a&b\'c<d-secret'] });
    expect(log.split('\n').at(-1)).toBe('<***>');
  });

  test('hide each line of a secret, and overlapping secrets as one', async () => {
    const { log } = await print('first\nsecond\nabcdef\n', {
      secrets: ['first\n second \n', 'abcd', 'cdef'],
    });
    expect(log.split('\n').slice(2)).toEqual(['***', '***', '***']);
  });
});

describe('commands', () => {
  test.each([
    ['::error::x', [{ name: 'error', properties: {}, data: 'x' }]],
    ['\u00a0\u2028\u0085 ::Error::x', [{ name: 'error', properties: {}, data: 'x' }]],
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
    ['::unknown::##[error]x', [{ name: 'error', properties: {}, data: 'x' }]],
    ['a\r::error::x\r\n##[error]y', ['x', 'y']],
    ['##\\[error]x', []],
  ])('are found in %j', (text, commands) => {
    const found = parseCommands(text);
    const expected = commands.map((one) => (typeof one === 'string' ? { data: one } : one));
    expect(found).toHaveLength(expected.length);
    expect(found).toMatchObject(expected);
  });

  test('are found in both streams, also after a lone \\r, with characters split between chunks', async () => {
    const { annotations, log } = await run(`
      const pieces = [Buffer.from('::notice::\\u00e9'), Buffer.from('\\r'), Buffer.from('\\nx\\r')];
      const [first, ...rest] = pieces;
      const chunks = [first.subarray(0, -1), first.subarray(-1), ...rest];
      const pause = () => new Promise((done) => setTimeout(done, 20));
      for (const chunk of chunks) { process.stdout.write(chunk); await pause(); }
      process.stdout.write('::error::out');
      process.stderr.write('##[warning]err');`);
    expect(annotations).toEqual(
      expect.arrayContaining([
        { type: 'notice', message: 'é' },
        { type: 'error', message: 'out' },
        { type: 'warning', message: 'err' },
      ]),
    );
    expect(log.split('\n').slice(2, 4)).toEqual(['Notice: é', 'x']);
  });

  test('create ten annotations per type, cut to 4,096 characters', async () => {
    const { annotations, log } = await print(`::error::${'x'.repeat(5000)}\n`.repeat(12));
    expect(annotations.map(({ message }) => message.length)).toEqual(Array(10).fill(4096));
    expect(log.match(/^Error: x+$/gm)).toHaveLength(12);
  });

  test('are logged as users see them', async () => {
    const { log } = await print('::group::g\n::debug::d\n::endgroup::\n::error::a%0Ab\nplain\n');
    expect(log).toBe(
      '##[group]Run octo-org/action@main\n##[endgroup]\n' +
        '##[group]g\n##[endgroup]\nError: a\nb\nplain',
    );
  });

  test('can be stopped and resumed', async () => {
    const { annotations, commands, log } = await print(
      '::stop-commands::Token-1\n::error::a\n::token-1::\n::error::b\n',
    );
    expect(annotations).toEqual([{ type: 'error', message: 'b' }]);
    expect(commands.map(({ name }) => name)).toEqual(['stop-commands', 'error']);
    expect(log.split('\n').slice(2)).toEqual([
      '::stop-commands::***',
      '::error::a',
      '::token-1::',
      'Error: b',
    ]);
  });

  test.each([
    'set-env name=a::b',
    'add-path::b',
    'set-output::b',
    'stop-commands::error',
    'echo::what',
  ])('fail the step if the runner refuses them: %s', async (command) => {
    const { conclusion, exitCode } = await print(`::${command}\n`);
    expect(exitCode).toBe(0);
    expect(conclusion).toBe('failure');
  });
});

describe.concurrent('the end of a step', () => {
  const early = `appendFileSync(process.env.GITHUB_OUTPUT, 'early=1\\n');`;

  test.each([
    ['process.exitCode = 3', 3],
    ['throw new Error("x")', 1],
    ['await new Promise(() => {})', 13],
  ])('is a failure after %s', async (code, exitCode) => {
    const result = await run(code);
    expect(result).toMatchObject({ conclusion: 'failure', exitCode, signal: null });
  });

  test.runIf(LIMITS_EACH_VARIABLE)('is a failure if its input is too large', async () => {
    const action = fixture('', '{ text: }');
    const large = await runStep({ action, with: { text: 'x'.repeat(200_000) } });
    expect(large.conclusion).toBe('failure');
    expect(large.annotations[0]?.message).toContain('An error occurred trying to start process');
  });

  test('is a failure if the program is missing', async () => {
    const action = fixture('');
    rmSync(join(action, 'main.mjs'));
    const missing = await runStep({ action });
    expect(missing.annotations[0]?.message).toContain('File not found');
  });

  test.runIf(HAS_SIGNALS)('keeps the outputs that a handler for SIGINT writes', async () => {
    const code = `${early}
      process.on('SIGINT', () => {
        appendFileSync(process.env.GITHUB_OUTPUT, 'late=1\\n');
        clearInterval(alive);
      });
      const alive = setInterval(() => {}, 1000);
      console.log('ready');`;
    const result = await stopWhenReady(code, (step) => step.cancel());
    expect(result).toMatchObject({
      conclusion: 'cancelled',
      exitCode: 0,
      outputs: { early: '1', late: '1' },
    });
    expect(result.log).toContain('Error: The operation was canceled.');
  });

  test.runIf(HAS_SIGNALS)('is forced if the step ignores the signals', async () => {
    const code = `${early}
      for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => console.log(signal));
      setInterval(() => {}, 1000);
      console.log('ready');`;
    const result = await stopWhenReady(code, (step) =>
      step.cancel({ termAfterMs: 100, killAfterMs: 100 }),
    );
    expect(result).toMatchObject({
      conclusion: 'cancelled',
      signal: 'SIGKILL',
      stdout: 'ready\nSIGINT\nSIGTERM\n',
      outputs: { early: '1' },
    });
  });

  test('keeps the outputs after SIGKILL', async () => {
    const code = `${early} setInterval(() => {}, 1000); console.log('ready');`;
    const result = await stopWhenReady(code, (step) => step.kill('SIGKILL'));
    expect(result).toMatchObject({
      conclusion: 'failure',
      signal: 'SIGKILL',
      outputs: { early: '1' },
    });
  });

  test('fails the test if it takes too long', async () => {
    const code = `console.log('stuck'); setInterval(() => {}, 1000);`;
    await expect(run(code, { time: null, timeoutMs: 3000 })).rejects.toThrow(/too long.*\sstuck/s);
  });

  function stopWhenReady(code: string, stop: (step: ReturnType<typeof startStep>) => unknown) {
    const step = startStep({
      action: fixture(code),
      onLine: (line) => {
        if (line === 'ready') stop(step);
      },
    });
    return step.result;
  }
});

describe.concurrent('virtual time', () => {
  const HALF_HOUR = 30 * 60_000;
  const request = `import { Agent, request } from ${JSON.stringify(undici)};`;

  test('passes at once during a sleep of half an hour, for every clock', async () => {
    const started = Date.now();
    const { stdout, virtualMs } = await run(`
      import { scheduler, setTimeout as wait } from 'node:timers/promises';
      import { promisify } from 'node:util';
      const origin = performance.timeOrigin + performance.now() - Date.now();
      const [date, monotonic] = [Date.now(), performance.now()];
      await new Promise((done) => setTimeout(done, ${HALF_HOUR / 3}));
      await wait(${HALF_HOUR / 6});
      await scheduler.wait(${HALF_HOUR / 6});
      await promisify(setTimeout)(${HALF_HOUR / 3});
      console.log(JSON.stringify({
        byDate: new Date() - date,
        byMonotonic: performance.now() - monotonic,
        drift: performance.timeOrigin + performance.now() - Date.now(),
        fresh: monotonic < 60_000,
        text: Date() === new Date().toString(),
        types: new Date() instanceof Date && new Date().constructor === Date,
        fixed: new Date(0).toISOString() + Date.UTC(1970),
      }));`);
    const clocks = JSON.parse(stdout);
    expect(Date.now() - started).toBeLessThan(20_000);
    expect(clocks).toMatchObject({
      fresh: true,
      text: true,
      types: true,
      fixed: '1970-01-01T00:00:00.000Z0',
    });
    expect(Math.abs(clocks.drift)).toBeLessThan(10);
    for (const passed of [clocks.byDate, clocks.byMonotonic, virtualMs]) {
      expect(passed).toBeGreaterThanOrEqual(HALF_HOUR - 1);
      expect(passed).toBeLessThan(HALF_HOUR + 20_000);
    }
  });

  test('runs timers in the order of their times, with microtasks in between', async () => {
    const { stdout } = await run(`
      const log = (text) => () => { console.log(text); queueMicrotask(() => console.log('m' + text)); };
      setTimeout(log('c'), 60_000);
      setTimeout(log('a'), 30_000);
      setTimeout(log('b'), 30_000).unref();
      const cleared = [setTimeout(log('x'), 1), setInterval(log('x'), 1), setTimeout(log('x'), 1)];
      clearTimeout(cleared[0]); clearInterval(+cleared[1]); clearTimeout(String(+cleared[2]));
      { using disposed = setTimeout(log('x'), 1); }
      setTimeout(() => {}, 1).close().refresh();`);
    expect(stdout.split('\n').join(' ')).toBe('a ma b mb c mc ');
  });

  test('keeps intervals and refreshed timers running', async () => {
    const { stdout } = await run(`
      const from = performance.now();
      const at = () => Math.round((performance.now() - from) / 1000);
      let ticks = 0;
      const seen = [];
      const interval = setInterval(function () {
        seen.push(at());
        if (++ticks === 3) clearInterval(this);
      }, 10_000);
      const timer = setTimeout((word) => { seen.push(word); if (at() < 60) timer.refresh(); }, 35_000, 'r');
      setTimeout(() => timer.refresh(), 20_000).unref();
      process.on('exit', () => console.log(seen.join(' '), interval.hasRef(), timer.unref().hasRef()));`);
    expect(stdout).toBe('10 20 30 r r true false\n');
  });

  test('lets a process end as soon as no timer keeps it running', async () => {
    const { virtualMs, stdout } = await run(`
      setTimeout(() => console.log('never'), ${HALF_HOUR}).unref();
      setInterval(() => console.log('now and then'), 4000).unref();
      AbortSignal.timeout(5000).onabort = (event) => console.log(event.target.reason.name);
      setTimeout(() => {}, 9000);`);
    expect(stdout).toBe('now and then\nTimeoutError\nnow and then\n');
    expect(virtualMs).toBeLessThan(HALF_HOUR);
  });

  test('aborts waits with the errors of Node', async () => {
    const { stdout } = await run(`
      import { setInterval as every, setTimeout as wait } from 'node:timers/promises';
      const signal = AbortSignal.timeout(${HALF_HOUR});
      await wait(2 * ${HALF_HOUR}, 'x', { signal }).catch(({ name, code, cause }) =>
        console.log(name, code, cause.name));
      await wait(1, 'x', { signal }).catch(({ name }) => console.log(name));
      let count = 0;
      for await (const value of every(${HALF_HOUR}, 'v')) {
        console.log(value);
        if (++count === 2) break;
      }
      try { setTimeout('text'); } catch ({ code }) { console.log(code); }`);
    expect(stdout.split('\n').slice(0, -1)).toEqual([
      'AbortError ABORT_ERR TimeoutError',
      'AbortError',
      'v',
      'v',
      'ERR_INVALID_ARG_TYPE',
    ]);
  });

  test('does not time out a slow response', async () => {
    await using server = await listen((_, response) => {
      setTimeout(() => response.end('slow'), 300);
    });
    const { stdout, virtualMs } = await run(`${request}
      const signal = AbortSignal.timeout(30_000);
      const timer = setTimeout(() => console.log('cut'), 30_000);
      const { body } = await request('${server.url}', { signal });
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
    const { stdout, virtualMs } = await run(
      `${request}
      const abort = new AbortController();
      ${before};
      const failed = await request('${server.url}', { signal: abort.signal, ${options} })
        .catch((error) => error);
      console.log(failed instanceof Error);`,
      { time },
    );
    expect(stdout).toBe('true\n');
    expect(virtualMs).toBeGreaterThanOrEqual(leastMs - 1);
    expect(virtualMs).toBeLessThan(leastMs + 20_000);
  });

  test('passes at once despite idle keep-alive connections, also for servers', async () => {
    using time = virtualTime();
    const requestTimes: number[] = [];
    await using server = await listen((_, response) => {
      requestTimes.push(time.now());
      response.end('x'.repeat(100_000));
    });
    const { conclusion } = await run(
      `${request}
      const dispatcher = new Agent();
      for (let count = 0; count < 5; count++) {
        await (await request('${server.url}', { dispatcher })).body.text();
        await new Promise((done) => setTimeout(done, ${HALF_HOUR}));
      }`,
      { time },
    );
    expect(conclusion).toBe('success');
    expect(requestTimes).toHaveLength(5);
    const pauses = requestTimes.slice(1).map((at, index) => at - (requestTimes[index] ?? 0));
    expect(Math.min(...pauses)).toBeGreaterThanOrEqual(HALF_HOUR - 1);
    expect(time.elapsed()).toBeGreaterThanOrEqual(5 * HALF_HOUR - 5);
  });

  test('continues from the end of the last process', async () => {
    using time = virtualTime();
    const code = `
      console.log(Date.now(), performance.now());
      await new Promise((done) => setTimeout(done, ${HALF_HOUR}));`;
    const first = await run(code, { time });
    const second = await run(code, { time });
    const [earlier = 0] = first.stdout.split(' ').map(Number);
    const [later = 0, monotonic = 0] = second.stdout.split(' ').map(Number);
    expect(later - earlier).toBeGreaterThanOrEqual(HALF_HOUR);
    expect(monotonic).toBeLessThan(HALF_HOUR);
    expect(time.elapsed()).toBeGreaterThanOrEqual(2 * HALF_HOUR - 2);
  });

  test('passes at a given pace', async () => {
    using time = virtualTime({ pace: 60 });
    const started = Date.now();
    const code = 'await new Promise((done) => setTimeout(done, 60_000))';
    const { virtualMs } = await run(code, { time });
    expect(Date.now() - started).toBeGreaterThanOrEqual(900);
    expect(virtualMs).toBeGreaterThanOrEqual(59_999);
  });

  test('is real if requested', async () => {
    const { virtualMs } = await run('setTimeout(() => {}, 50)', { time: null });
    expect(virtualMs).toBeLessThan(20_000);
  });
});
