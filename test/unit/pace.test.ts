import { describe, expect, it } from 'vitest';
import { Pace } from '../../src/memory/pace.ts';
import { virtualClock } from '../model/clock.ts';

describe('the writes of a run', () => {
  /** When each write starts, in seconds. */
  async function writeTimes(conversations: readonly number[], cancelAtMs = Infinity) {
    const clock = virtualClock(0);
    const cancel = new AbortController();
    if (cancelAtMs < Infinity) clock.after(cancelAtMs, () => cancel.abort());
    const pace = new Pace(clock.seen, cancel.signal);
    // Writes to one conversation wait for each other.
    const last = new Map<number, Promise<unknown>>();
    const times = conversations.map((conversation) => {
      const time = (last.get(conversation) ?? Promise.resolve()).then(async () => {
        await pace.wait(conversation);
        return Math.round(clock.now() / 1000);
      });
      last.set(conversation, time);
      return time;
    });
    return clock.drive(Promise.all(times));
  }

  it.each<[string, readonly number[], readonly number[]]>([
    ['on one conversation start at once', [7, 7, 7], [0, 0, 0]],
    ['on several conversations start once per second', [7, 8, 9], [0, 1, 2]],
    ['on alternating conversations start once per second', [7, 8, 7, 8], [0, 1, 2, 3]],
    [
      'on one conversation start once per second after a write on another one',
      [7, 8, 8, 8],
      [0, 1, 2, 3],
    ],
  ])('%s', async (_, conversations, expected) => {
    expect(await writeTimes(conversations)).toEqual(expected);
  });

  it('start at most 60 times per minute', async () => {
    const times = await writeTimes(Array.from({ length: 130 }, () => 7));
    expect(times.filter((at) => at === 0)).toHaveLength(60);
    expect(times.filter((at) => at === 60)).toHaveLength(60);
    expect(times.filter((at) => at === 120)).toHaveLength(10);
  });

  it('continue a minute after the first of 60 writes', async () => {
    const times = await writeTimes([7, 8, ...Array.from({ length: 59 }, () => 7)]);
    expect(times.slice(-2)).toEqual([59, 60]);
  });

  it('start at most 400 times per hour on many conversations', async () => {
    const times = await writeTimes(Array.from({ length: 500 }, (_, number) => number));
    expect(times.filter((at) => at < 3600)).toHaveLength(400);
    expect(times[400]).toBe(3600);
  });

  it('start at once after a cancellation', async () => {
    const times = await writeTimes([7, 8, 9, 10, 11], 1500);
    expect(times).toEqual([0, 1, 2, 2, 2]);
  });
});
