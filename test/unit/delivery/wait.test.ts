import { expect, it } from 'vitest';
import { nextPollMs } from '../../../src/delivery/wait.ts';

it.each([
  ['looks early', 0, 1000],
  ['looks again at two seconds', 1000, 1000],
  ['never less than 2 s', 4000, 2000],
  ['short jobs', 20_000, 2000],
  ['a twentieth of the time', 200_000, 10_000],
  ['at most 30 s', 7_200_000, 30_000],
])('nextPollMs: %s', (_, sinceMs, expected) => {
  expect(nextPollMs(sinceMs)).toBe(expected);
});
