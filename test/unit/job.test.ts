import { describe, expect, it } from 'vitest';
import {
  type Base,
  doubtMs,
  elapsedMs,
  isConfirmed,
  isFinal,
  type JobRecord,
  observe,
} from '../../src/job.ts';
import type { RunContext } from '../../src/jobs/context.ts';
import { storeRecord } from '../../src/jobs/poll.ts';
import { job, PULL, record, START } from './record.ts';

const SETTLE = 60_000;
const [ACTIVE, COMPLETED, FAILED] = ['active', 'completed', 'failed'] as const;

/** `polls` are seconds after the message, each with the status. */
function afterPolls(base: Base | null, polls: string, settleMs: number): boolean | number {
  const polled = job({ base, delivery: 'sent', sentAt: START });
  let now = START;
  for (const [, second, status = ''] of polls.matchAll(/(\d+) (\w+)/g)) {
    now = START + Number(second) * 1000;
    observe(polled, status, now, now);
  }
  return isConfirmed(polled, settleMs) ?? doubtMs(polled, now, settleMs);
}

describe('isConfirmed or, while that is open, doubtMs', () => {
  it.each<[string, string, string, boolean | number]>([
    ['no poll yet', COMPLETED, '', 5000],
    ['the status from before', COMPLETED, '0 completed', 5000],
    ['at work, then done', COMPLETED, '0 active, 5 completed', true],
    ['as before, at work, done', FAILED, '0 failed, 20 active, 60 completed', true],
    ['still at work', COMPLETED, '0 active, 500 active', Infinity],
    ['another final status', FAILED, '0 failed, 5 completed', true],
    ['archived is no evidence', COMPLETED, '0 completed, 55 archived', 5000],
    ['archived, 60 s', COMPLETED, '5 archived, 60 archived', false],
    ['as before, 57 s', COMPLETED, '0 completed, 57 completed', 3000],
    ['as before, 60 s', COMPLETED, '0 completed, 60 completed', false],
    ['failed as before, 60 s', FAILED, '0 failed, 60 failed', false],
    ['an undocumented status is no evidence', COMPLETED, '0 queued, 5 completed', 5000],
    ['an undocumented status is not final', COMPLETED, '70 queued', 5000],
    ['at work before: not done', ACTIVE, '0 active', Infinity],
    ['at work before: done', ACTIVE, '0 active, 30 completed', 5000],
    ['at work before: done for 57 s', ACTIVE, '30 completed, 87 completed', 3000],
    ['at work before: done for 60 s', ACTIVE, '30 completed, 90 completed', false],
    ['at work before: done twice', ACTIVE, '0 completed, 30 active, 70 completed', true],
    ['at work before: another end', ACTIVE, '0 failed, 5 completed', 5000],
    ['at work before: odd', ACTIVE, '0 completed, 30 queued, 40 completed', 5000],
    ['undocumented before: as at work', 'queued', '0 completed, 60 completed', false],
  ])('%s', (_, status, polls, expected) => {
    expect(afterPolls({ status }, polls, SETTLE)).toBe(expected);
  });

  it.each<[string, boolean | number]>([
    ['0 completed, 60 completed', false],
    ['0 completed, 30 active, 70 completed', false],
    ['0 active', Infinity],
  ])('is never true if nothing is known of the time before: %s', (polls, expected) => {
    expect(afterPolls(null, polls, SETTLE)).toBe(expected);
  });

  it.each([
    [COMPLETED, COMPLETED, false],
    [ACTIVE, COMPLETED, false],
    [FAILED, COMPLETED, true],
  ])('with settle-seconds: 0, at once: %s before, then %s', (status, then, expected) => {
    expect(afterPolls({ status }, `0 ${then}`, 0)).toBe(expected);
  });

  it('only by a poll that started after the settle time', () => {
    const polled = job({ base: { status: COMPLETED }, sentAt: START });
    observe(polled, COMPLETED, START + 50_000, START + 61_000);
    expect(isConfirmed(polled, SETTLE)).toBeNull();
    expect(doubtMs(polled, START + 70_000, SETTLE)).toBe(1000);
  });
});

it('storeRecord keeps what a response leaves out, and takes over null', () => {
  const one = job();
  const store = (some: JobRecord, at: number): void => {
    const run = { clock: { now: () => at }, jobLog: { say: () => {} } };
    storeRecord(run as unknown as RunContext, one, some);
  };
  store({ id: 'job-1', model: 'opus' }, 1);
  expect(one.firstSeenAt).toBeNull();
  store(record({ prLink: PULL }), 2);
  store(record({ status: ACTIVE }), 3);
  expect(one).toMatchObject({
    firstSeenAt: 2,
    record: { status: ACTIVE, prLink: PULL, model: 'opus' },
  });
  store(record({ prLink: null }), 4);
  expect(one.record?.prLink).toBeNull();
});

it.each([
  [COMPLETED, true],
  [FAILED, true],
  ['archived', true],
  [ACTIVE, false],
  ['COMPLETED', false],
  [null, false],
])('isFinal of %s is %s', (status, expected) => {
  expect(isFinal(status)).toBe(expected);
});

it.each([
  [null, 5, null],
  [1, null, null],
  [1, 5, 4],
])('elapsedMs of a message at %s, with the end at %s: %s', (sentAt, endedAt, expected) => {
  expect(elapsedMs(job({ sentAt, endedAt }))).toBe(expected);
});
