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
  uncountedEnd,
  unwantedEnd,
} from '../../src/reasons.ts';
import { base, ended, job, NOT_SENT, READ_ONLY, record, SENDING, SENT, UNKNOWN } from './record.ts';

const LIMIT = { timeoutMs: 1_800_000, wait: true };
const NOTED = { inputs: LIMIT, note: {} };
const UNNOTED = { inputs: LIMIT, note: null };
const IN_DOUBT = 'may have arrived, so it was not sent again';
const WAITING = job({ isWaiting: true });
const UNPOLLED = job(READ_ONLY);
const POLLED = job({ ...READ_ONLY, record: record({ status: 'active' }) });

type Done = Parameters<typeof doneEnd>[1];
function done(status: string, is: Done, before: string | null = null): End {
  return doneEnd(job({ ...SENT, base: base(before), record: record({ status }) }), is, 60_000);
}
function timedOut(status: string, miss = ''): End {
  return timedOutEnd(job({ ...SENT, record: record({ status }) }), NOTED, miss);
}
const active = job({ record: record({ status: 'active' }) });

it.each<[End, End['result'], boolean | null, string]>([
  [endAs('sent'), 'sent', null, ''],
  [endAs('active'), 'active', null, ''],
  [done('completed', 'confirmed'), 'completed', true, ''],
  [done('completed', 'no message'), 'completed', null, ''],
  [done('failed', 'confirmed'), 'failed', true, 'The agent gave no reason.'],
  [done('archived', 'no message'), 'archived', null, 'does not work on archived jobs; use another'],
  [done('archived', 'confirmed'), 'archived', true, 'was at work on the message, but now'],
  [done('archived', 'unconfirmed'), 'archived', false, 'the agent may not have worked on'],
  [done('completed', 'unconfirmed', 'failed'), 'completed', false, '1 min after it, so this may'],
  [done('completed', 'unconfirmed', 'active'), 'completed', false, 'was already at work when'],
  [done('failed', 'unconfirmed'), 'failed', false, 'its status before the message is not known'],
  [timedOut('active'), 'timed-out', null, 'was not done within 30 min. Its status is active'],
  [timedOut('queued', 'So.'), 'timed-out', null, 'Its status is “queued”'],
  [timedOut('queued', 'So.'), 'timed-out', null, ' The last poll failed: So.'],
  [
    timedOut('completed'),
    'timed-out',
    null,
    'is completed, but within 30 min it was not confirmed',
  ],
  [timedOutEnd(job(SENT), UNNOTED, ''), 'timed-out', null, 'is not known, and it may keep working'],
  [timedOutEnd(POLLED, UNNOTED, ''), 'timed-out', null, 'The agent was not done within 30 min.'],
  [timedOutEnd(UNPOLLED, NOTED, ''), 'timed-out', null, 'The job could not be polled within'],
  [timedOutEnd(job(), NOTED, 'So.'), 'timed-out', null, 'within 30 min. So.'],
  [timedOutEnd(WAITING, NOTED, 'So.'), 'timed-out', null, 'later. The last poll failed: So.'],
  [timedOutEnd(WAITING, NOTED, ''), 'timed-out', null, '30 min. The agent was still at work'],
  [timedOutEnd(job(), NOTED, ''), 'timed-out', null, 'The message could not be sent within'],
  [lostEnd(job(SENT), UNNOTED, 'So.'), 'error', null, 'can no longer be polled. So. The agent'],
  [lostEnd(POLLED, NOTED, 'So.'), 'error', null, 'The job cannot be polled. So.'],
  [lostEnd(job(), NOTED, 'So.'), 'error', null, 'So.'],
  [endAs('error', 'So.'), 'error', null, 'So.'],
  [stoppedEnd('So.'), 'skipped', null, 'The API accepts no more messages for now. So.'],
  [cancelledEnd(job(), NOTED), 'cancelled', null, 'cancelled before the message was sent.'],
  [cancelledEnd(UNPOLLED, NOTED), 'cancelled', null, 'cancelled before the job was polled.'],
  [cancelledEnd(job(SENT), NOTED), 'cancelled', null, 'the cancelled run no longer waits for it.'],
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
  [
    refusedEnd('so', 'Do.'),
    'error',
    null,
    'whether an earlier attempt sent the message, because so.',
  ],
  [refusedEnd('so', 'Do.'), 'error', null, ' Do.'],
])('%#: %o', (end, result, confirmed, words) => {
  expect(end).toMatchObject({ result, confirmed });
  expect(end.reason).toContain(words);
  expect(end.reason === '').toBe(words === '');
});

it.each<[string, End, string]>([
  ['nothing, if all is well', done('completed', 'confirmed'), ''],
  ['nothing, if it is for anyone', done('failed', 'confirmed'), ''],
  ['settle-seconds', done('completed', 'unconfirmed', 'failed'), 'increase “settle-seconds”'],
  ['when-active', done('completed', 'unconfirmed', 'active'), 'set “when-active: wait”'],
  ['the time', timedOut('active'), 'To wait longer, increase “timeout-minutes”.'],
  ['a longer time to settle', timedOut('completed'), 'should be well above “settle-seconds”'],
  [
    'a later run',
    timedOutEnd(job(SENT), UNNOTED, ''),
    '“timeout-minutes”. To keep waiting, use a later run',
  ],
  ['more time for earlier work', timedOutEnd(WAITING, NOTED, ''), 'increase “timeout-minutes”'],
  ['more time to send', timedOutEnd(job(), NOTED, 'So.'), 'increase “timeout-minutes”'],
  ['a later run, if polling failed', lostEnd(job(SENT), UNNOTED, 'So.'), 'use a later run with'],
  ['a later run after a cancellation', cancelledEnd(job(SENT), UNNOTED), 'use a later run with'],
  ['the statuses', unwantedEnd(active, new Set(['failed'])), 'those in “only-when”'],
  ['a place to count', uncountedEnd('so'), 'Set “pr-number”'],
])('the hint for the author of the workflow: %s', (_, { hint }, words) => {
  expect(hint).toContain(words);
  expect(hint === '').toBe(words === '');
});

it.each<[string, End]>([
  ['did not wait long enough', timedOut('active')],
  ['only polls', timedOutEnd(POLLED, UNNOTED, '')],
  ['can no longer poll', lostEnd(job(SENT), NOTED, 'So.')],
  ['is cancelled', cancelledEnd(job(SENT), NOTED)],
])('a run that %s can be run again to keep waiting', (_, { reason }) => {
  expect(reason).toMatch(/ To keep waiting, re-run the workflow; this sends no message\.$/);
});

it('a cancelled run that does not wait has no hint to wait again', () => {
  const run = { ...NOTED, inputs: { ...LIMIT, wait: false } };
  expect(cancelledEnd(job(SENT), run)).toMatchObject({
    reason: 'The run was cancelled.',
    hint: '',
  });
});

it.each<[Partial<Job>, boolean, End['result'], boolean | null, string]>([
  [{}, true, 'error', null, 'The run ended before the message was sent.'],
  [NOT_SENT, true, 'error', null, 'The run ended before the message was sent.'],
  [SENDING, true, 'error', null, IN_DOUBT],
  [UNKNOWN, true, 'error', null, IN_DOUBT],
  [SENT, false, 'sent', null, ''],
  [SENT, true, 'sent', false, 'The run ended before the agent was done.'],
  [READ_ONLY, true, 'error', null, 'while the job was being polled'],
])('endNow, if the run is killed: %j', (parts, wait, result, confirmed, words) => {
  const end = endNow(job(parts), wait);
  expect(end).toMatchObject({ result, confirmed });
  expect(end.reason).toContain(words);
});

it('endNow is the end if the job has one', () => {
  const one = ended({ result: 'failed', reason: 'So.' });
  expect(endNow(one, true)).toBe(one.end);
});
