import { expect, it } from 'vitest';
import type { End, Job } from '../../src/job.ts';
import {
  cancelledEnd,
  doneEnd,
  doubtfulEnd,
  endAs,
  endNow,
  loopEnd,
  lostEnd,
  refusedEnd,
  stoppedEnd,
  takenEnd,
  timedOutEnd,
  unwantedEnd,
} from '../../src/reasons.ts';
import { ended, job, record, START } from './record.ts';

const LIMIT = { inputs: { timeoutMs: 1_800_000 } };
const NOTED = { ...LIMIT, note: {} };
const UNNOTED = { ...LIMIT, note: null };
const IN_DOUBT = 'may have arrived, so it was not sent again';
const SENT = { delivery: 'sent', sentAt: START } as const;
const WAITING = job({ isWaiting: true });
const UNPOLLED = job({ isReadOnly: true });
const POLLED = job({ isReadOnly: true, record: record({ status: 'active' }) });

function done(status: string, confirmed: boolean | null, before?: string): End {
  const base = before === undefined ? null : { status: before };
  return doneEnd(job({ ...SENT, base, record: record({ status }) }), confirmed, 60_000);
}
function timedOut(status: string, miss = ''): End {
  return timedOutEnd(job({ ...SENT, record: record({ status }) }), NOTED, miss);
}
const active = job({ record: record({ status: 'active' }) });

it.each<[End, End['result'], boolean | null, string]>([
  [endAs('sent'), 'sent', null, ''],
  [endAs('active'), 'active', null, ''],
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
  [timedOutEnd(job(SENT), UNNOTED, ''), 'timed-out', null, 'is not known, and it may keep working'],
  [timedOutEnd(job(SENT), UNNOTED, ''), 'timed-out', null, 'or wait in a later run with'],
  [timedOutEnd(POLLED, UNNOTED, ''), 'timed-out', null, 'or re-run the workflow: it only waits'],
  [timedOutEnd(UNPOLLED, NOTED, ''), 'timed-out', null, 'The job could not be polled within'],
  [timedOutEnd(job(), NOTED, 'So.'), 'timed-out', null, '(30 min). So.'],
  [timedOutEnd(WAITING, NOTED, 'So.'), 'timed-out', null, 'later. The last poll failed: So.'],
  [timedOutEnd(WAITING, NOTED, ''), 'timed-out', null, '(30 min). The agent was still at work'],
  [timedOutEnd(job(), NOTED, ''), 'timed-out', null, 'The message could not be sent within'],
  [lostEnd(job(SENT), UNNOTED, 'So.'), 'error', null, 'can no longer be polled. So. The agent'],
  [lostEnd(POLLED, NOTED, 'So.'), 'error', null, 'The job cannot be polled. So.'],
  [lostEnd(job(), NOTED, 'So.'), 'error', null, 'So.'],
  [endAs('error', 'So.'), 'error', null, 'So.'],
  [stoppedEnd('So.'), 'skipped', null, 'The API accepts no more messages for now. So.'],
  [cancelledEnd(job(), NOTED), 'cancelled', null, 'cancelled before the message was sent.'],
  [cancelledEnd(UNPOLLED, NOTED), 'cancelled', null, 'cancelled before the job was polled.'],
  [
    cancelledEnd(job(SENT), NOTED),
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
