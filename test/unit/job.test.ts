import { describe, expect, it } from 'vitest';
import {
  accepted,
  type Delivery,
  type Done,
  deliveryOf,
  doubted,
  doubtMs,
  elapsedMs,
  ended,
  isBaseFresh,
  isDone,
  isFinal,
  type Job,
  type JobRecord,
  learned,
  type Message,
  mayBeSent,
  newJob,
  observed,
  polling,
  posting,
  resumed,
  sending,
  setWaiting,
} from '../../src/job.ts';
import { endAs } from '../../src/reasons.ts';
import { job, PULL, record, START } from './record.ts';

const SETTLE = 60_000;
const [ACTIVE, COMPLETED, FAILED] = ['active', 'completed', 'failed'] as const;

/** A job that got its message at START. `before`: what the poll just before it showed; null if there was none. */
function sentTo(before: JobRecord | null): Job {
  const one = newJob('job-1', false);
  if (before !== null) observed(one, before, START, START);
  sending(one);
  posting(one, START, null);
  accepted(one, START);
  return one;
}

/** `polls` are seconds after the message, each with the status. */
function poll(one: Job, polls: string, settleMs = SETTLE): Done | number {
  let now = START;
  for (const [, second, status = ''] of polls.matchAll(/(\d+) (\w+)/g)) {
    now = START + Number(second) * 1000;
    observed(one, record({ status }), now, now);
  }
  const done = isDone(one, settleMs);
  return done === 'no' ? doubtMs(one, now, settleMs) : done;
}

describe('isDone or, while that is open, doubtMs', () => {
  it.each<[string, string, string, Done | number]>([
    ['no poll yet', COMPLETED, '', 5000],
    ['the status from before', COMPLETED, '0 completed', 5000],
    ['at work, then done', COMPLETED, '0 active, 5 completed', 'confirmed'],
    ['as before, at work, done', FAILED, '0 failed, 20 active, 60 completed', 'confirmed'],
    ['still at work', COMPLETED, '0 active, 500 active', Infinity],
    ['another final status', FAILED, '0 failed, 5 completed', 'confirmed'],
    ['archived is no evidence', COMPLETED, '0 completed, 55 archived', 5000],
    ['archived, 60 s', COMPLETED, '5 archived, 60 archived', 'unconfirmed'],
    ['archived while at work', COMPLETED, '0 active, 5 archived', 'confirmed'],
    ['as before, 57 s', COMPLETED, '0 completed, 57 completed', 3000],
    ['as before, 60 s', COMPLETED, '0 completed, 60 completed', 'unconfirmed'],
    ['failed as before, 60 s', FAILED, '0 failed, 60 failed', 'unconfirmed'],
    ['an undocumented status is no evidence', COMPLETED, '0 queued, 5 completed', 5000],
    ['an undocumented status is not final', COMPLETED, '70 queued', 5000],
    ['at work before: not done', ACTIVE, '0 active', Infinity],
    ['at work before: done', ACTIVE, '0 active, 30 completed', 5000],
    ['at work before: done for 57 s', ACTIVE, '30 completed, 87 completed', 3000],
    ['at work before: done for 60 s', ACTIVE, '30 completed, 90 completed', 'unconfirmed'],
    ['at work before: done twice', ACTIVE, '0 completed, 30 active, 70 completed', 'confirmed'],
    ['at work before: another end', ACTIVE, '0 failed, 5 completed', 5000],
    ['at work before: odd', ACTIVE, '0 completed, 30 queued, 40 completed', 5000],
    ['undocumented before: as at work', 'queued', '0 completed, 60 completed', 'unconfirmed'],
  ])('%s', (_, status, polls, expected) => {
    expect(poll(sentTo(record({ status })), polls)).toBe(expected);
  });

  it.each<[string, Done | number]>([
    ['0 completed, 60 completed', 'unconfirmed'],
    ['0 completed, 30 active, 70 completed', 'unconfirmed'],
    ['0 active', Infinity],
  ])('is never confirmed if nothing is known of the time before: %s', (polls, expected) => {
    expect(poll(sentTo(null), polls)).toBe(expected);
    expect(poll(sentTo({ id: 'job-1', prLink: PULL }), polls)).toBe(expected);
  });

  it.each([
    [COMPLETED, COMPLETED, 'unconfirmed'],
    [ACTIVE, COMPLETED, 'unconfirmed'],
    [FAILED, COMPLETED, 'confirmed'],
  ])('with settle-seconds: 0, at once: %s before, then %s', (status, then, expected) => {
    expect(poll(sentTo(record({ status })), `0 ${then}`, 0)).toBe(expected);
  });

  it('only by a poll that started after the settle time', () => {
    const one = sentTo(record());
    observed(one, record(), START + 50_000, START + 61_000);
    expect(isDone(one, SETTLE)).toBe('no');
    expect(doubtMs(one, START + 70_000, SETTLE)).toBe(1000);
  });

  it.each<[string, string | null, boolean, string, Done | number]>([
    ['as before', COMPLETED, false, '60 completed', 'unconfirmed'],
    ['at work', COMPLETED, false, '60 active, 70 completed', 'confirmed'],
    ['seen at work by the earlier attempt', COMPLETED, true, '60 completed', 'confirmed'],
    ['with nothing known of before', null, true, '60 completed', 'unconfirmed'],
    ['with other work since', null, false, '60 completed', 5000],
  ])('continues the message of an earlier attempt: %s', (_, base, isOurs, polls, expected) => {
    const one = newJob('job-1', false);
    resumed(one, START, base, isOurs);
    expect(poll(one, polls)).toBe(expected);
    expect(deliveryOf(one)).toBe('sent');
  });
});

describe('a poll', () => {
  it('before the message is the base, and is no evidence', () => {
    const one = newJob('job-1', false);
    polling(one);
    observed(one, record({ status: FAILED, prLink: null }), START, START + 300);
    expect(one).toMatchObject({
      ...{ polls: 1, base: { status: FAILED, prLink: null, at: START } },
      after: { work: 'earlier work', seenAt: 0 },
    });
    expect(isBaseFresh(one, START + 1000)).toBe(true);
    expect(isBaseFresh(one, START + 1001)).toBe(false);
    observed(one, { id: 'job-1' }, START + 2000, START + 2300);
    expect(one.base).toEqual({ status: null, at: START + 2000 });
  });

  it('counts as the base only if it started within a second before the message', () => {
    const late = newJob('job-1', false);
    observed(late, record(), START, START);
    posting(late, START + 1001, null);
    accepted(late, START + 1100);
    expect(late.base).toBeNull();
    expect(poll(late, '2 active, 5 completed')).toBe(5000);
  });

  it('keeps what a response leaves out, and takes over null', () => {
    const one = newJob('job-1', false);
    const known = (some: Partial<JobRecord>) => learned(one, { id: 'job-1', ...some });
    known({ model: 'opus' });
    known({ status: COMPLETED, prLink: PULL });
    known({ status: ACTIVE });
    expect(one.record).toEqual({ ...record({ status: ACTIVE, prLink: PULL }), model: 'opus' });
    known({ prLink: null });
    expect(one.record?.prLink).toBeNull();
    // The response to the message is no poll.
    expect(one).toMatchObject({ base: null, polls: 0, after: { seenAt: 0 } });
  });

  it('after the message without a status changes nothing of what is known of its work', () => {
    const one = sentTo(record());
    observed(one, record({ status: ACTIVE }), START + 1000, START + 1000);
    const { after, base } = one;
    observed(one, { id: 'job-1', prLink: PULL }, START + 2000, START + 2000);
    expect(one).toMatchObject({ after, base, record: { prLink: PULL } });
  });
});

describe('what becomes of the message', () => {
  it.each<[Message['kind'], Delivery, boolean, Delivery]>([
    ['none', 'not-sent', false, 'not-sent'],
    ['open', 'not-sent', true, 'not-sent'],
    ['sending', 'unknown', true, 'not-sent'],
    ['unknown', 'unknown', false, 'unknown'],
    ['sent', 'sent', false, 'sent'],
    ['not-sent', 'not-sent', false, 'not-sent'],
  ])('%s: if the run is killed, %s; may be sent: %s; if it ends, %s', (kind, now, open, then) => {
    const one = job({ message: { kind, at: START } as Message, isWaiting: true });
    expect([deliveryOf(one), mayBeSent(one)]).toEqual([now, open]);
    ended(one, endAs('error', 'So.'), START + 5);
    expect(one).toMatchObject({ endedAt: START + 5, isWaiting: false, end: { reason: 'So.' } });
    expect([deliveryOf(one), mayBeSent(one)]).toEqual([then, false]);
  });

  it('is in doubt after a request without an answer', () => {
    const one = newJob('job-1', false);
    setWaiting(one, true);
    sending(one);
    posting(one, START, { number: 7, sha: 'a', commits: 3 });
    expect(one).toMatchObject({ isWaiting: false, head: { sha: 'a' } });
    doubted(one);
    expect(deliveryOf(one)).toBe('unknown');
  });
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

it.each<[Message, number | null, number | null]>([
  [{ kind: 'unknown' }, 5, null],
  [{ kind: 'sent', at: 1 }, null, null],
  [{ kind: 'sent', at: 1 }, 5, 4],
])('elapsedMs of the message %j, with the end at %s: %s', (message, endedAt, expected) => {
  expect(elapsedMs(job({ message, endedAt }))).toBe(expected);
});
