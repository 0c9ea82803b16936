import { describe, expect, it } from 'vitest';
import { nextLookMs } from '../../src/agent/schedule.ts';

describe('nextLookMs', () => {
  it.each([
    ['first look after 5 s', 0, null, null, 5000],
    ['from a second on', 1000, null, null, 4000],
    ['never less than 2 s', 4000, null, null, 2000],
    ['short jobs', 20_000, null, null, 2000],
    ['a twentieth', 200_000, null, null, 10_000],
    ['at most 30 s', 7_200_000, null, null, 30_000],
    ['while in doubt', 7_200_000, 5000, null, 5000],
    ['the user’s own interval beats all', 7_200_000, 5000, 90_000, 90_000],
  ])('%s', (_, sinceSendMs, lookWithinMs, fixedMs, expected) => {
    expect(nextLookMs({ sinceSendMs, lookWithinMs, fixedMs, pace: 1 })).toBe(expected);
  });
});

/** Looks and the share of the job's length waited too long, on average. */
function cost(next: (elapsed: number) => number): { looks: number; waste: number } {
  const jobs = Array.from({ length: 2000 }, (_, index) => 20_000 * 180 ** ((index + 0.5) / 2000));
  let looks = 0;
  let waste = 0;
  for (const length of jobs) {
    let elapsed = 0;
    while (elapsed < length) {
      elapsed += next(elapsed);
      looks += 1;
    }
    waste += (elapsed - length) / length;
  }
  return { looks: looks / jobs.length, waste: waste / jobs.length };
}

describe('over job lengths spread log-uniformly from 20 s to 60 min', () => {
  const adaptive = cost((sinceSendMs) =>
    nextLookMs({ sinceSendMs, lookWithinMs: null, fixedMs: null, pace: 1 }),
  );
  const fixed = cost(() => 10_000);

  it('needs no more looks than a fixed 10 s', () => {
    expect(adaptive.looks).toBeLessThanOrEqual(fixed.looks);
  });

  it('wastes less than 3 % of the length, and at most half of what a fixed 10 s does', () => {
    expect(adaptive.waste).toBeLessThan(0.03);
    expect(adaptive.waste).toBeLessThanOrEqual(fixed.waste / 2);
  });
});
