import { expect, it } from 'vitest';
import { type End, type Job, NEW_JOB } from '../../src/job/job.ts';
import { CALM, countKinds, type Kind, kindOf, WORDS, wordOf } from '../../src/job/labels.ts';
import { ended, job, NOT_SENT, READ_ONLY, SENDING, SENT, UNKNOWN } from './record.ts';

it.each<[Partial<End> | null, Partial<Job>, Kind]>([
  [null, SENT, 'working'],
  [null, {}, 'sending'],
  [null, SENDING, 'sending'],
  [null, { id: NEW_JOB }, 'creating'],
  [null, { id: NEW_JOB, ...SENT }, 'working'],
  [null, UNKNOWN, 'sending'],
  [null, { isWaiting: true }, 'waiting'],
  [null, READ_ONLY, 'working'],
  [{ confirmed: true }, {}, 'completed'],
  [{}, {}, 'completed'],
  [{ confirmed: false }, {}, 'unconfirmed'],
  [{ result: 'failed', confirmed: true }, {}, 'failed'],
  [{ result: 'failed', confirmed: false }, {}, 'unconfirmed'],
  [{ result: 'archived' }, {}, 'archived'],
  [{ result: 'archived', confirmed: false }, {}, 'archived'],
  [{ result: 'timed-out' }, {}, 'timed-out'],
  [{ result: 'timed-out' }, READ_ONLY, 'timed-out'],
  [{ result: 'timed-out' }, NOT_SENT, 'not-sent'],
  [{ result: 'active' }, READ_ONLY, 'working'],
  [{ result: 'sent' }, {}, 'sent'],
  [{ result: 'skipped' }, NOT_SENT, 'skipped'],
  [{ result: 'skipped', limit: 3 }, NOT_SENT, 'limited'],
  [{ result: 'skipped', isStopped: true }, NOT_SENT, 'not-sent'],
  [{ result: 'cancelled' }, {}, 'cancelled'],
  [{ result: 'cancelled' }, READ_ONLY, 'cancelled'],
  [{ result: 'cancelled' }, NOT_SENT, 'not-sent'],
  [{ result: 'cancelled' }, UNKNOWN, 'delivery unknown'],
  [{ result: 'error' }, {}, 'unreachable'],
  [{ result: 'error' }, READ_ONLY, 'unreachable'],
  [{ result: 'error' }, UNKNOWN, 'delivery unknown'],
  [{ result: 'error' }, NOT_SENT, 'not-sent'],
])('the end %j, %j: %s', (end, parts, kind) => {
  expect(kindOf(end === null ? job(parts) : ended(end, parts))).toBe(kind);
});

it('countKinds puts what needs attention first', () => {
  const counted = countKinds(['completed', 'failed', 'working', 'completed'], ' · ');
  expect(counted).toBe(`1 ${wordOf('failed')} · 1 ${wordOf('working')} · 2 ${wordOf('completed')}`);
  const calm = (Object.keys(WORDS) as Kind[]).map((kind) => CALM.has(kind));
  expect(calm).toEqual(calm.toSorted());
});
