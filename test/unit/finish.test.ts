import { describe, expect, it } from 'vitest';
import { sentence } from '../../src/reason.ts';
import { conclude, crash, fail, skip } from '../../src/report/finish.ts';
import type { JobState, Turn } from '../../src/turn.ts';
import { record, state } from './record.ts';
import { type Flushed, finishedRun, recordingRuntime } from './recording-runtime.ts';

const NO_COMMENT: Flushed = { urls: [], unwritten: '', reviewed: [] };
const FAILED = ['It failed.'];
const ACTIVE = record({ status: 'active' });
const UNWRITABLE = 'The outputs cannot be written (ENOSPC), so later steps do not see them.';

function job(turn: Partial<Turn>, parts: Partial<JobState> = {}): JobState {
  return state(parts, turn);
}

describe('skip', () => {
  it('succeeds, and outputs the reason and the URL of the comment', () => {
    const { runtime, logged, outputs } = recordingRuntime();
    expect(skip(runtime, 'Not for me.', 'https://github.com/c')).toBe(0);
    expect(logged).toEqual(['notice (Message skipped): Not for me.']);
    expect(outputs).toMatchObject([
      { result: 'skipped', reason: 'Not for me.', 'comment-url': 'https://github.com/c' },
    ]);
  });
  it('fails if the outputs cannot be written, and logs them', () => {
    const { runtime, logged } = recordingRuntime({ canWrite: false });
    expect(skip(runtime, 'Not for me.')).toBe(1);
    expect(logged).toEqual([
      'notice (Message skipped): Not for me.',
      `error: ${UNWRITABLE} They are: result skipped, delivery not-sent, status unknown.`,
    ]);
  });
});

it('fail reports the error in the annotation, the outputs and the summary', () => {
  const { runtime, logged, outputs, summaries } = recordingRuntime();
  expect(fail(runtime, sentence`${'x'} is bad.`)).toBe(1);
  expect(logged).toEqual(['error (Nothing was sent): Nothing was sent. x is bad.']);
  expect(outputs).toMatchObject([{ result: 'error', reason: 'Nothing was sent. x is bad.' }]);
  expect(summaries).toEqual([expect.stringContaining('\n\n`x` is bad.')]);
});

describe('conclude', () => {
  const end = (states: readonly JobState[], options?: { canWrite: boolean }) => {
    const recorded = recordingRuntime(options);
    const code = conclude(finishedRun(recorded.runtime, states, NO_COMMENT));
    return code.then((exitCode) => ({ exitCode, ...recorded }));
  };

  it.each<[string, Partial<Turn>, 0 | 1, readonly string[]]>([
    ['adds no annotation to a success', {}, 0, []],
    [
      'fails with an error if the result is in fail-on',
      { result: 'failed', reason: FAILED },
      1,
      ['error (Agent failed): It failed.'],
    ],
    [
      'succeeds with a warning if the result is not in fail-on',
      { result: 'archived', reason: ['Gone.'] },
      0,
      ['warning (Agent job archived): Gone.'],
    ],
    [
      'succeeds with a notice if the job was skipped',
      { result: 'skipped', delivery: 'not-sent', reason: ['Not now.'] },
      0,
      ['notice (Message skipped): Not now.'],
    ],
  ])('%s', async (_, parts, code, annotations) => {
    const { exitCode, logged } = await end([job(parts)]);
    expect(exitCode).toBe(code);
    expect(logged.filter((text) => !text.startsWith('info'))).toEqual(annotations);
  });

  it('logs the reasons of all jobs, and annotates the worst one', async () => {
    const prLink = 'https://github.com/octo/docs/pull/7';
    const notNow = { result: 'skipped', delivery: 'not-sent', reason: ['Not now.'] } as const;
    const skipped = job(notNow, { jobId: 'a', record: record({ prLink }) });
    const failed = job({ result: 'failed', reason: FAILED }, { jobId: 'b' });
    const { logged } = await end([skipped, failed, job({}, { jobId: 'c' })]);
    expect(logged).toEqual([
      'group: Reasons',
      'info: Job b: failed. It failed.',
      `info: Job a: skipped. Not now. ${prLink}`,
      'info: 3 jobs: 1 failed, 1 sent, 1 skipped.',
      'error (Agent failed): 1 of 3 agent jobs failed, b: It failed.',
    ]);
  });

  it.each([
    [60, 20],
    [500, 50],
  ])('given %i jobs, lists at most %i and counts the remaining ones', async (count, listed) => {
    const states = Array.from({ length: count }, (_, n) =>
      job({ result: 'failed', reason: FAILED }, { jobId: `j${n}` }),
    );
    const { logged } = await end(states);
    expect(logged).toHaveLength(listed + 4);
    expect(logged.slice(-3)).toEqual([
      `info: The job summary has ${count - listed} more.`,
      `info: ${count} jobs: ${count} failed.`,
      `error (Agent failed): ${count} of ${count} agent jobs failed, first j0: It failed.`,
    ]);
  });

  it('logs only the number of jobs if all succeeded', async () => {
    const { logged } = await end([job({}, { jobId: 'a' }), job({}, { jobId: 'b' })]);
    expect(logged).toEqual(['info: 2 jobs: 2 sent.']);
  });

  it('logs nothing without jobs', async () => {
    const { exitCode, logged } = await end([]);
    expect([exitCode, logged]).toEqual([0, []]);
  });

  it('logs the outputs if they cannot be written, with a single error', async () => {
    const outputsWith = (result: string) =>
      `They are: result ${result}, delivery sent, status active`;
    const sent = await end([job({}, { record: ACTIVE })], { canWrite: false });
    expect(sent.exitCode).toBe(1);
    expect(sent.logged).toContain(`error: ${UNWRITABLE} ${outputsWith('sent')}.`);

    const failed = job({ result: 'failed', reason: FAILED }, { record: ACTIVE });
    const { logged } = await end([failed], { canWrite: false });
    expect(logged).toContain(`info: ${UNWRITABLE} ${outputsWith('failed')}.`);
    expect(logged.filter((text) => text.startsWith('error'))).toEqual([
      'error (Agent failed): It failed.',
    ]);
  });
});

describe('conclude updates a job if the comments show a later message of another run', () => {
  const confirmed = job({ result: 'completed', confirmed: true }, { jobId: 'a', record: record() });
  const other = job({ result: 'completed', confirmed: true }, { jobId: 'b' });
  const why = 'Another message was sent to it since.';
  const unconfirmed = {
    ...confirmed,
    turn: { ...confirmed.turn, confirmed: false, reason: [why] },
  };

  it.each<[string, string[]]>([
    ['and the comment was written', ['https://github.com/c']],
    ['and the comment could not be written', []],
  ])('%s: in the outputs, the summary and a warning', async (_, urls) => {
    const { runtime, logged, outputs, summaries } = recordingRuntime();
    const context = finishedRun(runtime, [confirmed, other], {
      ...NO_COMMENT,
      urls,
      reviewed: [unconfirmed],
    });
    expect(await conclude(context)).toBe(0);
    expect(logged).toEqual([
      'group: Reasons',
      `info: Job a: completed, unconfirmed. ${why}`,
      'info: 2 jobs: 2 completed.',
      `warning (Agent completed): 1 of 2 agent jobs completed, a: ${why}`,
    ]);
    expect(outputs).toMatchObject([
      { confirmed: 'true', reason: '', 'comment-url': '' },
      { confirmed: 'false', reason: expect.stringContaining(why), 'comment-url': urls.join() },
    ]);
    expect(summaries).toEqual([expect.stringContaining('unconfirmed')]);
  });
});

it('conclude adds a comment that could not be written to the summary', async () => {
  const { runtime, outputs, summaries } = recordingRuntime();
  const unwritten = { ...NO_COMMENT, unwritten: 'The text of the comment.' };
  await conclude(finishedRun(runtime, [job({})], unwritten));
  expect(summaries).toEqual([expect.stringContaining('The text of the comment.')]);
  expect(outputs).toHaveLength(1);
});

describe('crash', () => {
  const PREFIX =
    'An unexpected error ended the run; please report it. The output delivery says whether the ' +
    'message was sent.';
  const bare = new TypeError('x is not a function');
  delete bare.stack;

  it.each([
    ['an error', new RangeError('too deep'), 'RangeError: too deep'],
    ['an error without a stack', bare, 'TypeError: x is not a function'],
    ['a value that is not an error', 'a thing', 'a thing'],
  ])('reports %s, and keeps the known outputs', (_, thrown, what) => {
    const { runtime, logged, outputs } = recordingRuntime();
    expect(crash(runtime, [job({}, { record: ACTIVE })], thrown)).toBe(1);
    expect(logged[0]).toBe(`error (Unexpected error): ${PREFIX} ${what}`);
    expect(outputs).toMatchObject([{ result: 'error', delivery: 'sent', status: 'active' }]);
  });
  it('logs the stack only as a debug message', () => {
    const { runtime, logged } = recordingRuntime();
    crash(runtime, [], new RangeError('too deep'));
    expect(logged).toHaveLength(2);
    expect(logged[1]).toMatch(/^debug: RangeError: too deep\n\s+at /);
  });
});
