import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { GitHubError } from '../../src/github/errors.ts';
import { TimeLimit } from '../../src/github/time-limit.ts';
import { virtualClock } from '../model/clock.ts';

const TOTAL_MS = 10_000;
/** Timers leave out what is less than a millisecond. */
const roughly = (ms: number): number => Math.round(ms / 10) * 10;

/** When a wait begins, how long its work takes, and when it ended, and how. */
type Wait = readonly [atMs: number, workMs: number, endedMs: number, how: 'done' | 'late'];

async function endings(waits: readonly (readonly [number, number])[]) {
  const clock = virtualClock(0);
  const { signal } = new AbortController();
  const timeLimit = new TimeLimit(clock.seen, TOTAL_MS);
  const ended = await clock.drive(
    Promise.all(
      waits.map(async ([atMs, workMs]) => {
        if (atMs > 0) await clock.sleep(atMs, signal);
        const how = await timeLimit.waitFor(clock.sleep(workMs, signal)).then(
          () => 'done',
          () => 'late',
        );
        return [roughly(clock.now()), how];
      }),
    ),
  );
  return { ended, timersLeft: clock.pending() };
}

describe('waits that have 10 s in common', () => {
  it.each<[string, readonly Wait[]]>([
    ['one that is short enough', [[0, 9000, 9000, 'done']]],
    ['one that is too long', [[0, 11_000, 10_000, 'late']]],
    [
      'two, one after the other, use it up together',
      [
        [0, 6000, 6000, 'done'],
        [6000, 6000, 10_000, 'late'],
      ],
    ],
    [
      'what lies between them does not count',
      [
        [0, 6000, 6000, 'done'],
        [60_000, 3500, 63_500, 'done'],
        [90_000, 6000, 90_500, 'late'],
      ],
    ],
    [
      'two at the same time count once',
      [
        [0, 6000, 6000, 'done'],
        [0, 6000, 6000, 'done'],
        [20_000, 3900, 23_900, 'done'],
      ],
    ],
    [
      'two that overlap count from the first to the last',
      [
        [0, 4000, 4000, 'done'],
        [2000, 5000, 7000, 'done'],
        [20_000, 2900, 22_900, 'done'],
        [30_000, 2900, 30_100, 'late'],
      ],
    ],
    [
      'one within another adds nothing',
      [
        [0, 8000, 8000, 'done'],
        [1000, 1000, 2000, 'done'],
        [3000, 1000, 4000, 'done'],
        [20_000, 1900, 21_900, 'done'],
      ],
    ],
    [
      'all that overlap are late at the same moment',
      [
        [0, 20_000, 10_000, 'late'],
        [4000, 20_000, 10_000, 'late'],
      ],
    ],
    [
      'once it is used up, nothing is waited for',
      [
        [0, 20_000, 10_000, 'late'],
        [30_000, 500, 30_000, 'late'],
      ],
    ],
  ])('%s', async (_, waits) => {
    const { ended } = await endings(waits.map(([atMs, workMs]) => [atMs, workMs]));
    expect(ended).toEqual(waits.map(([, , endedMs, how]) => [endedMs, how]));
  });

  it('leave no timer behind', async () => {
    expect((await endings([[0, 10]])).timersLeft).toBe(0);
  });
});

it('gives what the work gives, and fails as it fails', async () => {
  const clock = virtualClock(0);
  const timeLimit = new TimeLimit(clock.seen, TOTAL_MS);
  expect(await timeLimit.waitFor(Promise.resolve(7))).toBe(7);
  await expect(timeLimit.waitFor(Promise.reject(new TypeError('x')))).rejects.toThrow(TypeError);
});

it('ends at the signal, and no sooner uses up the rest', async () => {
  const clock = virtualClock(0);
  const { signal } = new AbortController();
  const timeLimit = new TimeLimit(clock.seen, TOTAL_MS);
  const cancel = new AbortController();
  clock.after(3000, () => cancel.abort());
  const never = timeLimit.waitFor(new Promise(() => {}), cancel.signal);
  await expect(clock.drive(never)).rejects.toThrow(GitHubError);
  expect(roughly(clock.now())).toBe(3000);
  expect(getEventListeners(cancel.signal, 'abort')).toEqual([]);
  await clock.drive(timeLimit.waitFor(clock.sleep(6900, signal)));
  expect(roughly(clock.now())).toBe(9900);
  const afterwards = timeLimit.waitFor(new Promise(() => {}), cancel.signal);
  await expect(clock.drive(afterwards)).rejects.toThrow('GitHub did not answer in time');
});
