import { execFileSync } from 'node:child_process';
import { readFileSync, statSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { issueComment, pullRequest } from '../sim/events.ts';
import {
  HAS_FILE_MODES,
  HAS_FULL_DEVICE,
  HAS_LARGE_VARIABLES,
  LIMITS_FILE_SIZES,
} from '../sim/platform.ts';
import type { FileFault } from '../sim/runner/files.ts';
import type { StepRun } from '../sim/runner/process.ts';
import { errors, JOB, PULL, simulate, warnings } from './scenario.ts';

const FAULTS: readonly (readonly [fault: FileFault, possible: boolean])[] = [
  ['unset', true],
  ['read-only', HAS_FILE_MODES],
  ['full', HAS_FULL_DEVICE],
];

const COMMAND = issueComment({ number: PULL, body: 'No command.' });

describe('an output file that cannot be written', () => {
  it.for(FAULTS)(
    '(%s) fails the step with one error, and nothing is sent',
    async ([outputFile, possible], { skip }) => {
      skip(!possible);
      await using sim = await simulate();
      const asked = await sim.start({ step: { outputFile } }).result;
      expect(asked.exitCode).toBe(1);
      expect(errors(asked)).toEqual([
        expect.stringMatching(/The outputs cannot be written \(E\w+\), so no message was sent\./),
      ]);
      expect(asked.stdout).toMatch(/They are: result error, delivery not-sent/);
      const skipped = await sim.start({
        with: { command: '/agent' },
        step: { event: COMMAND, outputFile },
      }).result;
      expect(skipped.exitCode).toBe(1);
      const found = 'result skipped, delivery not-sent, status unknown';
      expect(errors(skipped)).toEqual([
        expect.stringMatching(`^The outputs cannot be written .* They are: ${found}\\.$`),
      ]);
      expect(sim.agent.posts()).toEqual([]);

      const failed = await sim.start({ with: { wait: 'maybe' }, step: { outputFile } }).result;
      expect(errors(failed)).toEqual([expect.stringMatching(/^Nothing was sent\. .*wait/)]);
      expect(failed.stdout).toMatch(
        /^The outputs cannot be written .* result error, delivery not/m,
      );
    },
  );

  it('because it is missing is created', async () => {
    await using sim = await simulate();
    const result = await sim.run({ step: { outputFile: 'missing' } });
    expect(result.outputs.result).toBe('sent');
  });

  it.runIf(LIMITS_FILE_SIZES)('in full keeps what it had', async () => {
    let run: StepRun | undefined;
    await using sim = await simulate({
      agent: {
        onPost() {
          // What was written before the message stays; there is room for a part of the rest.
          const { pid } = run as StepRun;
          const env = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
          const [, file = ''] =
            env.find((one) => one.startsWith('GITHUB_OUTPUT='))?.split('=') ?? [];
          const room = statSync(file).size + 50;
          execFileSync('prlimit', ['--pid', String(pid), `--fsize=${room}`]);
          return undefined;
        },
      },
    });
    run = sim.start();
    const result = await run.result;
    expect(sim.agent.accepted()).toHaveLength(1);
    expect(result.fileErrors).toEqual([]);
    expect(result.outputs).toMatchObject({ result: 'error', delivery: 'unknown' });
    expect(errors(result)).toEqual([expect.stringContaining('delivery sent')]);
  });
});

describe('a summary that cannot be written', () => {
  it.for(FAULTS)('(%s) causes a warning', async ([summaryFile, possible], { skip }) => {
    skip(!possible);
    await using sim = await simulate();
    const result = await sim.runHere({ step: { summaryFile } });
    expect(result.conclusion).toBe('success');
    expect(result.outputs.result).toBe('sent');
    expect(warnings(result)).toEqual([expect.stringMatching(/^The job summary cannot be written/)]);
  });
});

it.runIf(HAS_LARGE_VARIABLES)(
  'a summary with long texts stays below the limit of the runner',
  async () => {
    const prompt = '`<&>'.repeat(25_000);
    await using sim = await simulate({ with: { prompt } });
    const result = await sim.run();
    expect(result.summary.length).toBeGreaterThan(100);
    expect(Buffer.byteLength(result.summary)).toBeLessThan(1_048_576);
  },
);

describe('an event file', () => {
  it.each<[string, string | null, string]>([
    ['schedule', null, 'event file cannot be read'],
    ['schedule', '{', 'event file is not valid JSON'],
    ['issue_comment', null, 'event file cannot be read'],
  ])('that is broken is an error, also on an event that is not checked: %s, %j', async (...row) => {
    const [name, payload, words] = row;
    await using sim = await simulate({ step: { event: { name, payload } } });
    const result = await sim.runHere();
    expect(errors(result)).toEqual([expect.stringContaining(words)]);
    expect(result.outputs).toMatchObject({ result: 'error', delivery: 'not-sent' });
    expect([...sim.agent.journal, ...sim.github.journal]).toEqual([]);
  });

  it('of 25 MB is read', async () => {
    const { name, payload } = pullRequest({ number: PULL });
    const event = { name, payload: { ...payload, filler: 'x'.repeat(25 * 1024 * 1024) } };
    await using sim = await simulate({ step: { event } });
    const result = await sim.runHere();
    expect(result.outputs['comment-url']).toContain(`/pull/${PULL}#`);
  });
});

const preload = (code: string): { nodeArgs: readonly string[] } => {
  return { nodeArgs: ['--import', `data:text/javascript,${encodeURIComponent(code)}`] };
};

it.each([
  ['at the start', 'URL.parse = () => { throw new TypeError("late") }', 'not-sent'],
  [
    'outside of all calls, while the message is sent',
    `const { timeout } = AbortSignal;
     AbortSignal.timeout = (ms) => {
       Promise.reject(new TypeError('late'));
       return timeout.call(AbortSignal, ms);
     };`,
    'unknown',
  ],
  ['after the message', 'Map.groupBy = () => { throw new TypeError("late") }', 'sent'],
])('a bug %s fails the step with one error, and the outputs are true', async (_, bug, delivery) => {
  await using sim = await simulate({
    with: { 'job-id': `${JOB}, job-2`, comment: false },
    agent: { jobs: [{ id: JOB }, { id: 'job-2' }] },
    step: preload(bug),
  });
  const result = await sim.run();
  expect(result.exitCode).toBe(1);
  expect(errors(result)).toEqual([
    expect.stringMatching(/^An unexpected error .*TypeError: late$/),
  ]);
  expect(result.outputs).toMatchObject({ delivery });
});

it.each([
  ['throws in the report', 'String.prototype.replaceAll = () => { throw new Error() }'],
  ['leaves a promise pending', 'Promise.race = () => new Promise(() => {})'],
])('a bug that %s fails the step, even if nothing can be written', async (_, bug) => {
  await using sim = await simulate({ step: preload(bug) });
  const result = await sim.start().result;
  expect(result.exitCode).toBe(1);
  expect(result.stderr).toBe('');
  expect(sim.agent.posts()).toEqual([]);
});
