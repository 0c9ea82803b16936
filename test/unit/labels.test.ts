import { expect, it } from 'vitest';
import type { End, Job } from '../../src/job.ts';
import {
  CALM,
  countKinds,
  detailOf,
  inWords,
  type Kind,
  kindOf,
  WORDS,
  wordOf,
} from '../../src/labels.ts';
import { ended, job, record } from './record.ts';

const IN_DOUBT = 'the message may or may not have been delivered';
const NOT_SENT = 'message not sent';
const ACTIVE = { record: record({ status: 'active' }) };
const notSent = { delivery: 'not-sent' } as const;
const unknown = { delivery: 'unknown' } as const;
const polledOnly = { delivery: 'not-sent', isReadOnly: true } as const;

it.each<[Partial<End> | null, Partial<Job>, Kind, string]>([
  [null, { delivery: 'sent' }, 'working', ''],
  [null, {}, 'sending', ''],
  [null, unknown, 'sending', ''],
  [null, { isWaiting: true }, 'waiting', ''],
  [null, polledOnly, 'working', ''],
  [{ confirmed: true }, {}, 'completed', ''],
  [{}, {}, 'completed', ''],
  [{ confirmed: false }, {}, 'unconfirmed', ''],
  [{ result: 'failed', confirmed: true }, {}, 'failed', ''],
  [{ result: 'failed', confirmed: false }, {}, 'failed', 'perhaps on an earlier message'],
  [{ result: 'archived' }, {}, 'archived', ''],
  [{ result: 'timed-out' }, notSent, 'timed-out', NOT_SENT],
  [{ result: 'timed-out' }, ACTIVE, 'timed-out', 'the agent is still working'],
  [{ result: 'timed-out' }, { record: record() }, 'timed-out', 'not confirmed'],
  [
    { result: 'timed-out' },
    { ...polledOnly, ...ACTIVE },
    'timed-out',
    'the agent is still working',
  ],
  [{ result: 'active' }, polledOnly, 'working', ''],
  [{ result: 'sent' }, {}, 'sent', ''],
  [{ result: 'skipped' }, notSent, 'skipped', ''],
  [{ result: 'cancelled' }, {}, 'cancelled', ''],
  [{ result: 'cancelled' }, polledOnly, 'cancelled', ''],
  [{ result: 'cancelled' }, notSent, 'cancelled', NOT_SENT],
  [{ result: 'cancelled' }, unknown, 'cancelled', IN_DOUBT],
  [{ result: 'cancelled' }, { delivery: 'sending', isPosting: true }, 'cancelled', IN_DOUBT],
  [{ result: 'error' }, {}, 'unknown', 'the job can no longer be polled'],
  [{ result: 'error' }, polledOnly, 'unknown', 'the job can no longer be polled'],
  [{ result: 'error' }, unknown, 'unknown', IN_DOUBT],
  [{ result: 'error' }, notSent, 'not-sent', ''],
  [{ result: 'error' }, { delivery: 'sending' }, 'not-sent', ''],
  [{ result: 'error' }, { delivery: 'sending', isPosting: true }, 'unknown', IN_DOUBT],
])('the end %j, %j: %s, %s', (end, parts, kind, detail) => {
  const one = end === null ? job(parts) : ended(end, parts);
  expect([kindOf(one), detailOf(one)]).toEqual([kind, detail]);
  expect(inWords(one)).toBe(detail === '' ? wordOf(kind) : `${wordOf(kind)}, ${detail}`);
});

it('countKinds puts what needs attention first', () => {
  const counted = countKinds(['completed', 'failed', 'working', 'completed'], ' · ');
  expect(counted).toBe(`1 ${wordOf('failed')} · 1 ${wordOf('working')} · 2 ${wordOf('completed')}`);
  const calm = (Object.keys(WORDS) as Kind[]).map((kind) => CALM.has(kind));
  expect(calm).toEqual(calm.toSorted());
});
