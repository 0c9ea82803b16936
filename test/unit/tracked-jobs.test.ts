import { describe, expect, it } from 'vitest';
import { TrackedJobs } from '../../src/memory/tracked-jobs.ts';
import type { JobState } from '../../src/turn.ts';
import { virtualClock } from '../model/clock.ts';
import { record, state } from './record.ts';

describe('the pull requests of a job for which the API returns another one', () => {
  const open = { endedAt: null } as const;
  it.each<[string, JobState, readonly number[]]>([
    ['are only the first one before its message is sent', state({}, { delivery: 'not-sent' }), [7]],
    ['are both after the message may be sent', state({}, { ...open, delivery: 'unknown' }), [7, 8]],
    ['are both after the message is sent', state({}, { ...open, delivery: 'sent' }), [7, 8]],
    [
      'are both if it gets no message',
      state({ isReadOnly: true, record: record() }, { delivery: 'not-sent' }),
      [7, 8],
    ],
  ])('%s', (_, next, expected) => {
    const jobs = new TrackedJobs(virtualClock(0).seen);
    const first = state({ isReadOnly: next.isReadOnly }, { ...open, delivery: 'not-sent' });
    jobs.store(first, null);
    jobs.store(first, 7);
    expect([...jobs.store(next, 8).conversations]).toEqual(expected);
    expect(jobs.statesAt(8)).toEqual(expected.includes(8) ? [next] : []);
  });
});
