import { expect, it } from 'vitest';
import type { End, Job } from '../../src/job.ts';
import {
  activeEnd,
  doneEnd,
  doubtfulEnd,
  endNow,
  type GiveUp,
  loopEnd,
  lostEnd,
  notSentEnd,
  refusedEnd,
  sentEnd,
  stoppedEnd,
  takenEnd,
  timedOutEnd,
  unwantedEnd,
} from '../../src/reasons.ts';
import { ended, job, record, START } from './record.ts';

const LIMIT = { timeoutMs: 1_800_000 };
const IN_DOUBT = 'may have arrived, so it was not sent again';
const SENT = { delivery: 'sent', sentAt: START } as const;
const POLLED = job({ isReadOnly: true });

function done(status: string, confirmed: boolean | null, before?: string): End {
  const base = before === undefined ? null : { status: before };
  return doneEnd(job({ ...SENT, base, record: record({ status }) }), confirmed, 60_000);
}
function timedOut(status: string, miss = ''): End {
  return timedOutEnd(job({ ...SENT, record: record({ status }) }), LIMIT, miss, true);
}
const active = job({ record: record({ status: 'active' }) });

it.each<[End, End['result'], boolean | null, string]>([
  [sentEnd(), 'sent', null, ''],
  [activeEnd(), 'active', null, ''],
  [done('completed', true), 'completed', true, ''],
  [done('failed', true), 'failed', true, 'To see why the agent failed, open the job'],
  [done('archived', null), 'archived', null, 'does not work on archived jobs; use another'],
  [done('archived', true, 'completed'), 'archived', true, 'was at work on the message, but now'],
  [done('archived', false, 'completed'), 'archived', false, 'the agent may not have worked on'],
  [done('completed', false, 'failed'), 'completed', false, '1 min after it, so this may'],
  [done('completed', false, 'active'), 'completed', false, 'set “when-active: wait”'],
  [done('failed', false), 'failed', false, 'its status before the message is not known'],
  [timedOut('active'), 'timed-out', null, '“timeout-minutes” (30 min). Its status is active'],
  [timedOut('queued', 'So.'), 'timed-out', null, 'Its status is “queued”'],
  [timedOut('queued', 'So.'), 'timed-out', null, ' The last poll failed: So.'],
  [
    timedOut('completed'),
    'timed-out',
    null,
    'The job is completed, but within “timeout-minutes” (30 min)',
  ],
  [timedOutEnd(POLLED, LIMIT, '', true), 'timed-out', null, 'not known, and it may keep working'],
  [lostEnd(job(SENT), 'So.', false), 'error', null, 'can no longer be polled. So. The agent'],
  [lostEnd(POLLED, 'So.', true), 'error', null, 'The job cannot be polled. So.'],
  [
    stoppedEnd(true),
    'cancelled',
    null,
    'the cancelled run no longer waits for it. To know the result, re-run the workflow: it only waits',
  ],
  [doubtfulEnd('So.', false), 'error', null, `So. The message ${IN_DOUBT}`],
  [doubtfulEnd('So.', true), 'cancelled', null, IN_DOUBT],
  [
    unwantedEnd(active, new Set(['failed', 'archived'])),
    'skipped',
    null,
    'only failed or archived',
  ],
  [loopEnd('m[bot]'), 'skipped', null, 'The bot “m[bot]” triggered the run on the pull request of'],
  [takenEnd(), 'skipped', null, 'Another run or step handles the same comment'],
  [refusedEnd('so'), 'error', null, 'whether an earlier attempt sent the message, because so.'],
])('%#: %o', (end, result, confirmed, words) => {
  expect(end).toMatchObject({ result, confirmed });
  expect(end.reason).toContain(words);
  expect(end.reason === '').toBe(words === '');
});

it.each<[GiveUp['kind'], End['result'], sending: string, reading: string]>([
  ['refused', 'error', 'So.', 'So.'],
  ['stopped', 'skipped', 'The API accepts no more messages for now. So.', 'no more messages'],
  [
    'timed-out',
    'timed-out',
    'could not be sent within “timeout-minutes” (30 min). So.',
    'not be polled within',
  ],
  ['cancelled', 'cancelled', 'before the message was sent.', 'before the job was polled.'],
])('notSentEnd, %s: %s', (kind, result, sending, reading) => {
  const cause = { kind, why: 'So.' };
  const end = notSentEnd(job(), LIMIT, cause);
  expect(end).toMatchObject({ result, confirmed: null });
  expect(end.reason).toContain(sending);
  expect(notSentEnd(POLLED, LIMIT, cause).reason).toContain(reading);
});

it.each<[Partial<Job>, boolean, End['result'], boolean | null, string]>([
  [{}, true, 'error', null, 'The run ended before the message was sent.'],
  [{ delivery: 'not-sent' }, true, 'error', null, 'The run ended before the message was sent.'],
  [{ delivery: 'posting' }, true, 'error', null, IN_DOUBT],
  [SENT, false, 'sent', null, ''],
  [SENT, true, 'sent', false, 'The run ended before the agent was done.'],
  [{ isReadOnly: true }, true, 'error', null, 'while the job was being polled'],
])('endNow, if the run is killed: %j', (parts, wait, result, confirmed, words) => {
  const end = endNow(job(parts), wait);
  expect(end).toMatchObject({ result, confirmed });
  expect(end.reason).toContain(words);
});

it('endNow is the end if the job has one', () => {
  const one = ended({ result: 'failed', reason: 'So.' });
  expect(endNow(one, true)).toBe(one.end);
});
