import { expect, it } from 'vitest';
import type { End, Job } from '../../src/job.ts';
import { CALM, countKinds, type Kind, kindOf, WORDS, wordOf } from '../../src/labels.ts';
import { ended, job } from './record.ts';

const notSent = { delivery: 'not-sent' } as const;
const unknown = { delivery: 'unknown' } as const;
const polledOnly = { delivery: 'not-sent', isReadOnly: true } as const;

it.each<[Partial<End> | null, Partial<Job>, Kind]>([
  [null, { delivery: 'sent' }, 'working'],
  [null, {}, 'sending'],
  [null, unknown, 'sending'],
  [null, { isWaiting: true }, 'waiting'],
  [null, polledOnly, 'working'],
  [{ confirmed: true }, {}, 'completed'],
  [{}, {}, 'completed'],
  [{ confirmed: false }, {}, 'unconfirmed'],
  [{ result: 'failed', confirmed: true }, {}, 'failed'],
  [{ result: 'failed', confirmed: false }, {}, 'unconfirmed'],
  [{ result: 'archived' }, {}, 'archived'],
  [{ result: 'archived', confirmed: false }, {}, 'archived'],
  [{ result: 'timed-out' }, {}, 'timed-out'],
  [{ result: 'timed-out' }, polledOnly, 'timed-out'],
  [{ result: 'timed-out' }, notSent, 'not-sent'],
  [{ result: 'active' }, polledOnly, 'working'],
  [{ result: 'sent' }, {}, 'sent'],
  [{ result: 'skipped' }, notSent, 'skipped'],
  [{ result: 'cancelled' }, {}, 'cancelled'],
  [{ result: 'cancelled' }, polledOnly, 'unknown'],
  [{ result: 'cancelled' }, notSent, 'not-sent'],
  [{ result: 'cancelled' }, unknown, 'doubtful'],
  [{ result: 'error' }, {}, 'unknown'],
  [{ result: 'error' }, polledOnly, 'unknown'],
  [{ result: 'error' }, unknown, 'doubtful'],
  [{ result: 'error' }, notSent, 'not-sent'],
])('the end %j, %j: %s', (end, parts, kind) => {
  expect(kindOf(end === null ? job(parts) : ended(end, parts))).toBe(kind);
});

it('countKinds puts what needs attention first', () => {
  const counted = countKinds(['completed', 'failed', 'working', 'completed'], ' · ');
  expect(counted).toBe(`1 ${wordOf('failed')} · 1 ${wordOf('working')} · 2 ${wordOf('completed')}`);
  const calm = (Object.keys(WORDS) as Kind[]).map((kind) => CALM.has(kind));
  expect(calm).toEqual(calm.toSorted());
});
