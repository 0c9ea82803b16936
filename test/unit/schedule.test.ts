import { describe, expect, it } from 'vitest';
import { AT_LEAST_5_S, fixed, OWN } from '../../bench/strategies.ts';
import { compareWaiting, costOf, costOfIntervals, dominates } from '../../bench/waiting.ts';
import { firstPollMs, nextPollMs, paceOf } from '../../src/job/schedule.ts';

describe('nextPollMs', () => {
  it.each([
    ['first poll after 5 s', 0, 5000],
    ['sooner after a second', 1000, 4000],
    ['never less than 2 s', 4000, 2000],
    ['short jobs', 20_000, 2000],
    ['a twentieth of the time', 200_000, 10_000],
    ['at most 30 s', 7_200_000, 30_000],
  ])('%s', (_, sinceSendMs, expected) => {
    expect(nextPollMs(sinceSendMs)).toBe(expected);
  });
});

describe('paceOf', () => {
  it('is 1 for a single job, whatever its index', () => {
    expect([0, 1, 7].map((index) => paceOf(index, 1))).toEqual([1, 1, 1]);
  });

  it.each([2, 8, 60, 500])('gives %i jobs different factors close to 1', (count) => {
    const paces = Array.from({ length: count }, (_, index) => paceOf(index, count));
    const sorted = paces.toSorted((one, other) => one - other);
    const gaps = sorted.slice(1).map((pace, index) => pace - (sorted[index] ?? 0));
    // With equal gaps, each gap would be 0.1 / count.
    expect(Math.min(...gaps)).toBeGreaterThan(0.1 / count / 3);
    expect(Math.min(...paces)).toBeGreaterThanOrEqual(0.95);
    expect(Math.max(...paces)).toBeLessThan(1.05);
    const mean = paces.reduce((sum, pace) => sum + pace, 0) / count;
    if (count >= 8) expect(Math.abs(mean - 1)).toBeLessThan(0.01);
  });
});

it('the first polls start at once, 50 ms apart', () => {
  expect([0, 1, 2, 499].map(firstPollMs)).toEqual([0, 50, 100, 24_950]);
});

describe('the schedule, for job lengths spread log-uniformly from 20 s to 60 min', () => {
  const costs = compareWaiting();
  const own = costOf(OWN);
  const ten = costOf(fixed(10));

  it('needs no more polls than a fixed 10 s', () => {
    expect(own.polls).toBeLessThanOrEqual(ten.polls);
  });

  it('wastes less than 3 % of the length, and at most half as much as a fixed 10 s', () => {
    expect(own.waste).toBeLessThan(0.03);
    expect(own.waste).toBeLessThanOrEqual(ten.waste / 2);
  });

  it.each(costs.filter(({ kind }) => kind !== 'own'))(
    'wastes less than $name, $how, or needs fewer polls',
    (other) => {
      expect(other.waste > own.waste || other.polls > own.polls).toBe(true);
    },
  );

  it('wastes less than any fixed interval that needs no more polls, and beats those with as many', () => {
    const intervals = costOfIntervals();
    expect(intervals.filter((other) => dominates(other, own))).toEqual([]);
    expect(intervals.filter((other) => dominates(own, other)).length).toBeGreaterThan(0);
  });

  it('polls a job more often after it has started, which saves a third of the waste', () => {
    const rarer = costOf(AT_LEAST_5_S);
    expect(own.waste).toBeLessThanOrEqual((rarer.waste * 2) / 3);
    expect(dominates(rarer, own)).toBe(false);
  });

  it('a strategy is on the Pareto front if and only if no other one dominates it', () => {
    const names = costs.filter(({ isOnFront }) => isOnFront).map(({ name }) => name);
    expect(names).toContain(OWN.name);
    for (const one of costs) {
      const better = costs.filter((other) => dominates(other, one));
      expect(better.length > 0).toBe(!one.isOnFront);
    }
  });
});
