import { describe, expect, it } from 'vitest';
import { Pace } from '../../src/memory/pace.ts';
import { virtualClock } from '../model/clock.ts';

describe('the turns of a run to write', () => {
  /** When each of them came, in seconds. */
  async function turns(conversations: readonly number[], cancelAtMs = Infinity) {
    const clock = virtualClock(0);
    const cancel = new AbortController();
    if (cancelAtMs < Infinity) clock.after(cancelAtMs, () => cancel.abort());
    const pace = new Pace(clock.seen, cancel.signal);
    // What is written to one conversation is written one after the other.
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
    ['on one conversation come at once', [7, 7, 7], [0, 0, 0]],
    ['on several come one a second', [7, 8, 9], [0, 1, 2]],
    ['on several in turn come one a second', [7, 8, 7, 8], [0, 1, 2, 3]],
    ['on one come one a second as well once there are several', [7, 8, 8, 8], [0, 1, 2, 3]],
  ])('%s', async (_, conversations, expected) => {
    expect(await turns(conversations)).toEqual(expected);
  });

  it('come 60 a minute at the most', async () => {
    const times = await turns(Array.from({ length: 130 }, () => 7));
    expect(times.filter((at) => at === 0)).toHaveLength(60);
    expect(times.filter((at) => at === 60)).toHaveLength(60);
    expect(times.filter((at) => at === 120)).toHaveLength(10);
  });

  it('come again once a minute has passed since the first of 60', async () => {
    const times = await turns([7, 8, ...Array.from({ length: 59 }, () => 7)]);
    expect(times.slice(-2)).toEqual([59, 60]);
  });

  it('come 400 an hour at the most, on however many conversations', async () => {
    const times = await turns(Array.from({ length: 500 }, (_, number) => number));
    expect(times.filter((at) => at < 3600)).toHaveLength(400);
    expect(times[400]).toBe(3600);
  });

  it('come at once after a cancel', async () => {
    const times = await turns([7, 8, 9, 10, 11], 1500);
    expect(times).toEqual([0, 1, 2, 2, 2]);
  });
});
