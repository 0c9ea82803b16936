import { expect, it } from 'vitest';
import {
  goOn,
  isCreated,
  isDone,
  type JobRecord,
  type JobState,
  markCreated,
  markSent,
  NEW_JOB,
  newJob,
  recordPoll,
  recordResponse,
  update,
} from '../../../src/job/job.ts';
import type { Status } from '../../../src/mintlify-api.ts';
import { PULL, record, START } from '../record.ts';

const [ACTIVE, COMPLETED, FAILED] = ['active', 'completed', 'failed'] as const;

/** A job that got its message at START. `before`: what the last poll before it showed, if there was one. */
function sentTo(before?: JobRecord): JobState {
  const one = newJob('job-1');
  if (before !== undefined) recordPoll(one, before, START, START);
  markSent(one, START);
  return one;
}

type Done = ReturnType<typeof isDone>;

const AGAIN = '30 active, 70 completed*2';

/** `polls` are seconds after the message, each with the status; `*5`: and four more polls, 3 s apart. */
function poll(one: JobState, polls: string): Done {
  let now = START;
  for (const [, second, status = '', times = 1] of polls.matchAll(/(\d+) (\w+)\*?(\d)?/g)) {
    for (let n = 0; n < Number(times); n += 1) {
      now = START + (Number(second) + 3 * n) * 1000;
      recordPoll(one, record({ status }), now, now);
    }
  }
  return isDone(one);
}

it.each<[string, string, string, Done]>([
  ['no poll yet', COMPLETED, '', 'no'],
  ['the status from before', COMPLETED, '0 completed', 'no'],
  ['at work, then done', COMPLETED, '0 active, 5 completed*5', 'confirmed'],
  ['which may be from before', COMPLETED, '0 active, 5 completed*4', 'no'],
  ['which cannot be', COMPLETED, '0 active, 60 completed*2', 'confirmed'],
  ['seen once', COMPLETED, '0 active, 60 completed', 'no'],
  ['as before, at work, done', FAILED, '0 failed, 20 active, 60 completed*2', 'confirmed'],
  ['still at work', COMPLETED, '0 active, 500 active', 'no'],
  ['another final status', FAILED, '0 failed, 5 completed', 'confirmed'],
  ['archived is no evidence', COMPLETED, '0 completed, 55 archived', 'no'],
  ['archived, 60 s', COMPLETED, '5 archived, 60 archived', 'unconfirmed'],
  ['archived while at work', COMPLETED, '0 active, 5 archived*2', 'confirmed'],
  ['as before, 57 s', COMPLETED, '0 completed, 57 completed', 'no'],
  ['as before, 60 s', COMPLETED, '0 completed, 60 completed', 'unconfirmed'],
  ['failed as before, 60 s', FAILED, '0 failed, 60 failed', 'unconfirmed'],
  ['an undocumented status is no evidence', COMPLETED, '0 odd, 5 completed', 'no'],
  ['an undocumented status is not final', COMPLETED, '70 odd', 'no'],
  ['at work before: not done', ACTIVE, '0 active', 'no'],
  ['at work before: done', ACTIVE, '0 active, 30 completed', 'no'],
  ['at work before: done for 57 s', ACTIVE, '30 completed, 87 completed', 'no'],
  ['at work before: done for 60 s', ACTIVE, '30 completed, 90 completed', 'unconfirmed'],
  ['at work before: done twice', ACTIVE, `0 completed, 5 completed, ${AGAIN}`, 'confirmed'],
  ['at work before: seen done once', ACTIVE, `5 completed, ${AGAIN}`, 'no'],
  ['at work before: another end', ACTIVE, '0 failed, 5 completed', 'no'],
  ['at work before: odd', ACTIVE, '0 completed, 30 odd, 40 completed', 'no'],
  ['undocumented before: as at work', 'odd', '0 completed, 60 completed', 'unconfirmed'],
])('isDone: %s', (_, status, polls, expected) => {
  expect(poll(sentTo(record({ status })), polls)).toBe(expected);
});

// Complete, so that a new status cannot come without a thought about what it shows.
const proof: Readonly<Record<Status, Done>> = {
  ...{ active: 'confirmed', completed: 'no', archived: 'no', failed: 'confirmed' },
};
it.each(Object.entries(proof))('isDone after %s, completed as before', (status, expected) => {
  expect(poll(sentTo(record()), `0 ${status}, 5 completed*5`)).toBe(expected);
});

it.each<[string, Done]>([
  ['0 completed, 60 completed', 'unconfirmed'],
  [`0 completed, 5 completed, ${AGAIN}`, 'unconfirmed'],
  ['0 active', 'no'],
])('isDone is never confirmed if nothing is known of the time before: %s', (polls, expected) => {
  expect(poll(sentTo(), polls)).toBe(expected);
  expect(poll(sentTo({ id: 'job-1', prLink: PULL }), polls)).toBe(expected);
});

it('isDone only by a poll that started after the settle time', () => {
  const one = sentTo(record());
  recordPoll(one, record(), START + 50_000, START + 61_000);
  expect(isDone(one)).toBe('no');
});

it.each<[string, Partial<Parameters<typeof goOn>[1]>, string, Done]>([
  ['as before', { base: COMPLETED }, '60 completed', 'unconfirmed'],
  ['at work', { base: COMPLETED }, '60 active, 70 completed*2', 'confirmed'],
  ['seen at work', { base: COMPLETED, isOurs: true }, '60 completed*2', 'confirmed'],
  ['with nothing known of before', { isOurs: true }, '60 completed*2', 'unconfirmed'],
  ['with other work since', {}, '60 completed', 'no'],
])('isDone goes on with the message of an earlier attempt: %s', (_, known, polls, expected) => {
  const one = newJob('job-1');
  goOn(one, { id: 'job-1', sentAt: START - 7000, ...known }, START);
  expect(poll(one, polls)).toBe(expected);
  expect(one.message).toEqual({ kind: 'sent', at: START - 7000, isEarlier: true });
});

it('isDone counts the time to settle from this attempt, whatever the earlier clock', () => {
  for (const sentAt of [START - 3_600_000, START + 3_600_000]) {
    const one = newJob('job-1');
    goOn(one, { id: 'job-1', sentAt, base: COMPLETED }, START);
    expect(poll(one, '0 completed, 57 completed')).toBe('no');
    expect(poll(one, '60 completed')).toBe('unconfirmed');
  }
});

it('isDone of a job that the message has created is its first final status', () => {
  const one = newJob(NEW_JOB);
  markCreated(one, 'job-9', START);
  expect(one).toMatchObject({ id: 'job-9', base: { prLink: null } });
  expect([isCreated(one), isCreated(sentTo(record()))]).toEqual([true, false]);
  expect(poll(one, '0 active')).toBe('no');
  expect(poll(one, '2 completed*2')).toBe('confirmed');
});

it('a poll before the message is the base, and is no evidence', () => {
  const one = newJob('job-1');
  recordPoll(one, record({ status: FAILED, prLink: null }), START, START + 300);
  const after = { work: 'earlier work' };
  expect(one).toMatchObject({ base: { status: FAILED, prLink: null }, after });
  // The last one counts, also for what it leaves out.
  recordPoll(one, { id: 'job-1' }, START + 2000, START + 2300);
  expect(one.base).toEqual({});
});

it('a poll counts as the base only if it was made just before the message', () => {
  const one = newJob('job-1');
  recordPoll(one, record({ status: FAILED }), START - 60_000, START - 60_000);
  update(one, { base: {} });
  markSent(one, START);
  expect(poll(one, '2 completed')).toBe('no');
  expect(poll(one, '62 completed')).toBe('unconfirmed');
});

it('a job keeps what a response leaves out, and takes over null', () => {
  const one = newJob('job-1');
  const known = (some: Partial<JobRecord>) => recordResponse(one, { id: 'job-1', ...some });
  known({ linkProblem: 'no' });
  known({ status: COMPLETED, prLink: PULL });
  known({ status: ACTIVE });
  expect(one.record).toEqual({ ...record({ status: ACTIVE, prLink: PULL }), linkProblem: 'no' });
  // While the agent works, the API names none.
  known({ status: ACTIVE, prLink: null });
  expect(one.record?.prLink).toBe(PULL);
  known({ status: COMPLETED, prLink: null });
  expect(one.record?.prLink).toBeNull();
  known({ status: COMPLETED, prLink: PULL });
  // Of a replica that is behind.
  known({ status: COMPLETED, prLink: null });
  expect(one.record?.prLink).toBe(PULL);
  // What cannot be read is left out, too.
  const other = newJob('job-1');
  recordResponse(other, record({ prLink: null, prNumber: null }));
  recordResponse(other, record());
  expect(other.record).toEqual(record({ prLink: undefined, prNumber: undefined }));
  // The response to the message is no poll.
  expect([one.base, one.after.seenAt]).toEqual([undefined, undefined]);
});

it('a poll after the message without a status changes nothing of what is known of its work', () => {
  const one = sentTo(record());
  recordPoll(one, record({ status: ACTIVE }), START + 1000, START + 1000);
  const { after, base } = one;
  recordPoll(one, { id: 'job-1', prLink: PULL }, START + 2000, START + 2000);
  expect(one).toMatchObject({ after, base, record: { prLink: PULL } });
});
