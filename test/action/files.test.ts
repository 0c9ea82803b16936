import { describe, expect, it } from 'vitest';
import { issueComment, schedule } from '../sim/events.ts';
import { HAS_FILE_MODES, HAS_FULL_DEVICE } from '../sim/platform.ts';
import type { FileFault } from '../sim/runner/files.ts';
import { JOB, PULL, type Scenario, SENT, simulate, UNSENT } from './scenario.ts';

const FAULTS: readonly (readonly [fault: FileFault, possible: boolean])[] = [
  ['unset', true],
  ['read-only', HAS_FILE_MODES],
  ['full', HAS_FULL_DEVICE],
];

it.for(FAULTS)(
  'outputs that cannot be written (%s) fail the step with one error before a message, a summary causes a warning',
  async ([outputFile, possible], { skip }) => {
    skip(!possible);
    await using sim = await simulate();
    const ends = async (inputs: Scenario['with'] = {}, event = schedule()) =>
      await sim.start({ with: inputs, step: { outputFile, event } }).result;
    const asked = await ends();
    const advice = outputFile === 'full' ? ' Free some disk space.' : '';
    const words = `The outputs cannot be written .*, so no message was sent\\.${advice}.* Once this`;
    expect([asked.exitCode, asked.errors]).toEqual([1, [expect.stringMatching(words)]]);
    expect(asked.stdout).toMatch(/They are: result error, delivery not-sent/);
    expect(sim.agent.posts()).toEqual([]);
    const noSummary = await sim.runHere({ step: { summaryFile: outputFile } });
    expect([noSummary.conclusion, noSummary.outputs]).toMatchObject(['success', SENT]);
    const warning = expect.stringMatching(/^The job summary cannot be written/);
    expect(noSummary.warnings).toEqual([warning]);
    if (outputFile !== 'unset') return;

    const noCommand = issueComment({ number: PULL, body: 'No command.' });
    const skipped = await ends({ command: '/agent' }, noCommand);
    const found = /^The outputs .* They are: result skipped, delivery not-sent, status unknown/;
    expect([skipped.exitCode, skipped.errors]).toEqual([1, [expect.stringMatching(found)]]);
    const failed = await ends({ wait: 'maybe' });
    expect(failed.errors).toEqual([expect.stringMatching(/^Nothing was sent\. .*wait/)]);
    expect(failed.stdout).toMatch(/^The outputs cannot be written .* result error, delivery not/m);
  },
);

it.each<[string | null, string]>([
  [null, 'event file cannot be read'],
  ['{', 'event file does not contain a JSON object'],
])('an event file that is broken is an error: %j', async (payload, words) => {
  await using sim = await simulate({ step: { event: { name: 'schedule', payload } } });
  const { errors, outputs } = await sim.runHere();
  expect([errors, outputs]).toMatchObject([[expect.stringContaining(words)], UNSENT]);
  expect([...sim.agent.journal, ...sim.github.journal]).toEqual([]);
});

describe('a bug', () => {
  const preload = (code: string) => ({
    nodeArgs: ['--import', `data:text/javascript,${encodeURIComponent(code)}`],
  });

  it.each([
    ['at the start', 'URL.parse = () => { throw new TypeError("late") }', 'not-sent'],
    [
      'outside of all calls, while the message is sent',
      `const { timeout } = AbortSignal;
       AbortSignal.timeout = (ms) => {
         if (ms === 60_000) Promise.reject(new TypeError('late'));
         return timeout.call(AbortSignal, ms);
       };`,
      'unknown',
    ],
    ['after the message', 'Map.groupBy = () => { throw new TypeError("late") }', 'sent'],
  ])('%s fails the step with one error, and the outputs are true', async (_, bug, delivery) => {
    await using sim = await simulate({
      with: { 'job-id': `${JOB}, job-2`, comment: false },
      agent: { jobs: [{ id: JOB }, { id: 'job-2' }] },
      step: preload(bug),
    });
    const { exitCode, errors, outputs } = await sim.run();
    expect([exitCode, outputs]).toMatchObject([1, { delivery }]);
    expect(errors).toEqual([expect.stringMatching(/^An unexpected .*TypeError: late$/)]);
  });

  it.each([
    ['throws in the report', 'String.prototype.replaceAll = () => { throw new Error() }'],
    ['leaves a promise pending', 'Promise.race = () => new Promise(() => {})'],
  ])('that %s fails the step, even if nothing can be written', async (_, bug) => {
    await using sim = await simulate({ step: preload(bug) });
    expect(await sim.start().result).toMatchObject({ exitCode: 1, stderr: '' });
    expect(sim.agent.posts()).toEqual([]);
  });
});
