import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { Deadline } from '../../src/github/deadline.ts';
import { GitHubError } from '../../src/github/errors.ts';
import { virtualClock } from '../model/clock.ts';

const TOTAL_MS = 10_000;
/** Timers ignore fractions of a millisecond. */
const roughly = (ms: number): number => Math.round(ms / 10) * 10;

/** When a wait starts, how long its work takes, and when and how the wait ends. */
type Wait = readonly [atMs: number, workMs: number, endedMs: number, how: 'done' | 'late'];

async function runWaits(waits: readonly (readonly [number, number])[]) {
  const clock = virtualClock(0);
  const { signal } = new AbortController();
  const deadline = new Deadline(clock.seen, TOTAL_MS);
  const ended = await clock.drive(
    Promise.all(
      waits.map(async ([atMs, workMs]) => {
        if (atMs > 0) await clock.sleep(atMs, signal);
        const how = await deadline.waitFor(clock.sleep(workMs, signal)).then(
          () => 'done',
          () => 'late',
        );
        return [roughly(clock.now()), how];
      }),
    ),
  );
  return { ended, timersLeft: clock.pending() };
}

describe('waits that share 10 s', () => {
  it.each<[string, readonly Wait[]]>([
    ['a short wait is done', [[0, 9000, 9000, 'done']]],
    ['a long wait is late after 10 s', [[0, 11_000, 10_000, 'late']]],
    [
      'consecutive waits are added up',
      [
        [0, 6000, 6000, 'done'],
        [6000, 6000, 10_000, 'late'],
      ],
    ],
    [
      'the time between waits does not count',
      [
        [0, 6000, 6000, 'done'],
        [60_000, 3500, 63_500, 'done'],
        [90_000, 6000, 90_500, 'late'],
      ],
    ],
    [
      'simultaneous waits count once',
      [
        [0, 6000, 6000, 'done'],
        [0, 6000, 6000, 'done'],
        [20_000, 3900, 23_900, 'done'],
      ],
    ],
    [
      'overlapping waits count from the first start to the last end',
      [
        [0, 4000, 4000, 'done'],
        [2000, 5000, 7000, 'done'],
        [20_000, 2900, 22_900, 'done'],
        [30_000, 2900, 30_100, 'late'],
      ],
    ],
    [
      'a wait within another one does not count',
      [
        [0, 8000, 8000, 'done'],
        [1000, 1000, 2000, 'done'],
        [3000, 1000, 4000, 'done'],
        [20_000, 1900, 21_900, 'done'],
      ],
    ],
    [
      'overlapping waits are late at the same time',
      [
        [0, 20_000, 10_000, 'late'],
        [4000, 20_000, 10_000, 'late'],
      ],
    ],
    [
      'a wait after the 10 s is late at once',
      [
        [0, 20_000, 10_000, 'late'],
        [30_000, 500, 30_000, 'late'],
      ],
    ],
  ])('%s', async (_, waits) => {
    const { ended } = await runWaits(waits.map(([atMs, workMs]) => [atMs, workMs]));
    expect(ended).toEqual(waits.map(([, , endedMs, how]) => [endedMs, how]));
  });

  it('leave no timer', async () => {
    expect((await runWaits([[0, 10]])).timersLeft).toBe(0);
  });
});

it('waitFor returns the result of the work, or throws its error', async () => {
  const clock = virtualClock(0);
  const deadline = new Deadline(clock.seen, TOTAL_MS);
  expect(await deadline.waitFor(Promise.resolve(7))).toBe(7);
  await expect(deadline.waitFor(Promise.reject(new TypeError('x')))).rejects.toThrow(TypeError);
});

it('waitFor ends when the signal is aborted, and does not use up the remaining time', async () => {
  const clock = virtualClock(0);
  const { signal } = new AbortController();
  const deadline = new Deadline(clock.seen, TOTAL_MS);
  const cancel = new AbortController();
  clock.after(3000, () => cancel.abort());
  const never = deadline.waitFor(new Promise(() => {}), cancel.signal);
  await expect(clock.drive(never)).rejects.toThrow(GitHubError);
  expect(roughly(clock.now())).toBe(3000);
  expect(getEventListeners(cancel.signal, 'abort')).toEqual([]);
  await clock.drive(deadline.waitFor(clock.sleep(6900, signal)));
  expect(roughly(clock.now())).toBe(9900);
  const afterwards = deadline.waitFor(new Promise(() => {}), cancel.signal);
  await expect(clock.drive(afterwards)).rejects.toThrow('GitHub did not answer in time');
});
