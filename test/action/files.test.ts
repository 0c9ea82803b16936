import { describe, expect, it } from 'vitest';
import { issueComment, pullRequest } from '../sim/events.ts';
import { HAS_FILE_MODES, HAS_FULL_DEVICE, HAS_LARGE_VARIABLES } from '../sim/platform.ts';
import type { FileFault } from '../sim/runner/files.ts';
import { errors, PULL, simulate, warnings } from './scenario.ts';

const FAULTS: readonly (readonly [fault: FileFault, possible: boolean])[] = [
  ['unset', true],
  ['missing', true],
  ['read-only', HAS_FILE_MODES],
  ['full', HAS_FULL_DEVICE],
];

describe('an output file that cannot be written', () => {
  it.for(FAULTS)(
    '(%s) prevents the message and fails the step, with the outputs in the log',
    async ([outputFile, possible], { skip }) => {
      skip(!possible);
      await using sim = await simulate();
      const result = await sim.start({ step: { outputFile } }).result;
      // The action creates a missing file.
      if (outputFile === 'missing') {
        expect(result.outputs.result).toBe('sent');
        return;
      }
      expect(result.exitCode).toBe(1);
      expect(errors(result)).toEqual([
        expect.stringMatching(/^Nothing was sent to job job-1\. The outputs cannot be written/),
      ]);
      expect(result.log).toContain('They are: result error, delivery not-sent, status unknown.');
      expect(sim.agent.posts()).toEqual([]);
    },
  );
});

describe('an output file that cannot be written in a skipped run', () => {
  it.for(FAULTS.filter(([fault]) => fault !== 'missing'))(
    '(%s) fails the step, with the outputs in the error',
    async ([outputFile, possible], { skip }) => {
      skip(!possible);
      const event = issueComment({ number: PULL, body: 'No command.' });
      await using sim = await simulate({
        with: { command: '/agent' },
        step: { event, outputFile },
      });
      const result = await sim.start().result;
      expect(result.exitCode).toBe(1);
      expect(errors(result)).toEqual([
        expect.stringMatching(
          /^The outputs cannot be written .* They are: result skipped, delivery not-sent, status unknown\.$/,
        ),
      ]);
      expect(warnings(result)).toEqual([]);
      expect([...sim.agent.journal, ...sim.github.journal]).toEqual([]);
    },
  );
});

describe('a summary that cannot be written', () => {
  it.for(FAULTS.filter(([fault]) => fault !== 'missing'))(
    '(%s) causes a warning',
    async ([summaryFile, possible], { skip }) => {
      skip(!possible);
      await using sim = await simulate();
      const result = await sim.runHere({ step: { summaryFile } });
      expect(result.conclusion).toBe('success');
      expect(result.outputs.result).toBe('sent');
      expect(warnings(result)).toEqual([
        expect.stringMatching(/^The job summary cannot be written/),
      ]);
    },
  );
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
  it('that is missing on push causes only a warning', async () => {
    await using sim = await simulate({ step: { event: { name: 'push', payload: null } } });
    const result = await sim.runHere();
    expect(result.outputs.result).toBe('sent');
    expect(warnings(result)).toEqual([expect.stringContaining('event file cannot be read')]);
  });

  it.each(['issue_comment', 'pull_request', 'issues'])(
    'that is missing on %s, which anyone can trigger, is an error',
    async (name) => {
      await using sim = await simulate({ step: { event: { name, payload: null } } });
      const result = await sim.runHere();
      expect(errors(result)).toEqual([expect.stringContaining('event file cannot be read')]);
      expect(sim.agent.journal).toEqual([]);
    },
  );

  it('of 25 MB is read', async () => {
    const { name, payload } = pullRequest({ number: PULL });
    const event = { name, payload: { ...payload, filler: 'x'.repeat(25 * 1024 * 1024) } };
    await using sim = await simulate({ step: { event } });
    const result = await sim.runHere();
    expect(result.outputs['comment-url']).toContain(`/pull/${PULL}#`);
  });

  it('that is deeply nested is an error on a comment event', async () => {
    const { name } = issueComment({ number: PULL, body: 'x' });
    const payload = `{"action":"created","x":${'['.repeat(500_000)}${']'.repeat(500_000)}}`;
    await using sim = await simulate({ step: { event: { name, payload } } });
    const result = await sim.runHere();
    expect(errors(result)).toHaveLength(1);
    expect(sim.agent.journal).toEqual([]);
  });
});

it.each([
  ['throws in the report', 'String.prototype.replaceAll = () => { throw new Error() }'],
  ['leaves a promise pending', 'Promise.race = () => new Promise(() => {})'],
])('a bug that %s fails the step, even if nothing can be written', async (_, bug) => {
  const nodeArgs = ['--import', `data:text/javascript,${encodeURIComponent(bug)}`];
  await using sim = await simulate({ step: { nodeArgs } });
  const result = await sim.start().result;
  expect(result.exitCode).toBe(1);
  expect(result.stderr).toBe('');
  expect(sim.agent.posts()).toEqual([]);
});
