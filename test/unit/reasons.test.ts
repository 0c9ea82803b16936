import { expect, it } from 'vitest';
import { type End, endAs } from '../../src/job/ends.ts';
import type { Job } from '../../src/job/job.ts';
import {
  cancelledEnd,
  doneEnd,
  doubtfulEnd,
  endNow,
  lostEnd,
  timedOutEnd,
  unwantedEnd,
} from '../../src/job/reasons.ts';
import { job, NOT_SENT, READ_ONLY, record, SENDING, SENT, UNKNOWN } from './record.ts';

const LIMIT = { timeoutMs: 1_800_000, wait: true, jobIds: [] };
const NOTED = { inputs: LIMIT, plan: { comments: { kind: 'note' } } };
const UNNOTED = { inputs: LIMIT, plan: { comments: { kind: 'none' } } };
const OF_LIST = { ...UNNOTED, inputs: { ...LIMIT, jobIds: ['job-1', 'job-2'] } };
const IN_DOUBT = 'may have arrived, so it was not sent again';
const AGAIN = ' To keep waiting, re-run the workflow; the message is not sent again.';
const LATER = 'To keep waiting, use a later run with “send: false” and ';
const ACTIVE = { record: record({ status: 'active' }) };
const WAITING = job({ isWaiting: true });
const UNPOLLED = job(READ_ONLY);
const POLLED = job({ ...READ_ONLY, ...ACTIVE });
const TAKEN = 'https://github.com/octo/docs/pull/7#issuecomment-1';

function done(status: string, is: Parameters<typeof doneEnd>[1], before?: string): End {
  const base = before === undefined ? {} : { status: before };
  return doneEnd(job({ ...SENT, base, record: record({ status }) }), is);
}
function timedOut(status: string, why = ''): End {
  return timedOutEnd(job({ ...SENT, record: record({ status }) }), NOTED, why);
}

it.each<[End, End['result'], string, boolean?]>([
  [endAs('sent'), 'sent', ''],
  [endAs('could not send', 'So.'), 'error', 'So.'],
  [done('completed', 'confirmed'), 'completed', '', true],
  [done('completed', 'no message'), 'completed', ''],
  [
    done('failed', 'confirmed'),
    'failed',
    'The API does not say why the agent failed. Open the job',
    true,
  ],
  [done('archived', 'no message'), 'archived', 'does not work on archived jobs; use another'],
  [done('archived', 'confirmed'), 'archived', 'was at work on the message, but now', true],
  [done('archived', 'unconfirmed'), 'archived', 'the agent may not have worked on', false],
  [
    done('completed', 'unconfirmed', 'completed'),
    'completed',
    'before the message, and did not change for 1 min',
    false,
  ],
  [done('completed', 'unconfirmed', 'failed'), 'completed', 'was not seen at work, so', false],
  [done('completed', 'unconfirmed', 'active'), 'completed', 'was already at work when', false],
  [done('failed', 'unconfirmed'), 'failed', 'before the message is not known', false],
  [timedOut('active'), 'timed-out', 'not seen to be done within 30 min. Its last known status is'],
  [timedOut('active'), 'timed-out', AGAIN],
  [
    timedOutEnd(job({ ...SENT, waitedMs: 900_000 }), NOTED, ''),
    'timed-out',
    'within 30 min (waited 15 min for what it was already doing, 15 min for this). Its last',
  ],
  [timedOut('queued', 'So.'), 'timed-out', 'is “queued”, and it may keep working. The last poll'],
  [timedOut('completed'), 'timed-out', 'is completed, but within 30 min it was not confirmed'],
  [timedOutEnd(job(SENT), UNNOTED, ''), 'timed-out', `is not known, and it may keep`],
  [timedOutEnd(job(SENT), UNNOTED, ''), 'timed-out', `${LATER}“job-id: job-1”.`],
  [timedOutEnd(job(SENT), OF_LIST, ''), 'timed-out', `${LATER}the same “job-id”.`],
  [timedOutEnd(POLLED, UNNOTED, ''), 'timed-out', ' To keep waiting, re-run the workflow.'],
  [timedOutEnd(UNPOLLED, NOTED, ''), 'timed-out', 'The job could not be polled within 30 min.'],
  [
    timedOutEnd(job(), NOTED, 'So.'),
    'timed-out',
    'could not be sent within 30 min. So. Re-run the workflow.',
  ],
  [
    timedOutEnd(WAITING, NOTED, 'So.'),
    'timed-out',
    'seen to be done with what it was already doing. The',
  ],
  [timedOutEnd(WAITING, NOTED, ''), 'timed-out', ' Re-run the workflow later.'],
  [timedOutEnd(WAITING, UNNOTED, ''), 'timed-out', ' Start a new run later.'],
  [lostEnd(job(SENT), UNNOTED, 'So.'), 'error', `can no longer be polled. So. The agent may keep`],
  [lostEnd(job(SENT), UNNOTED, 'So.'), 'error', LATER],
  [lostEnd(job(SENT), NOTED, 'So.'), 'error', AGAIN],
  [lostEnd(POLLED, NOTED, 'So.'), 'error', 'The job cannot be polled. So.'],
  [lostEnd(job(), NOTED, 'So.'), 'error', 'So.'],
  [cancelledEnd(job(), NOTED), 'cancelled', 'cancelled before the message was sent. Re-run the'],
  [cancelledEnd(job(), UNNOTED), 'cancelled', 'before the message was sent. Start a new run.'],
  [cancelledEnd(UNPOLLED, NOTED), 'cancelled', 'cancelled before the job was polled.'],
  [cancelledEnd(job(SENT), NOTED), 'cancelled', `no longer waits for it.${AGAIN}`],
  [cancelledEnd(job(SENT), UNNOTED), 'cancelled', LATER],
  [
    cancelledEnd(job(SENT), { ...NOTED, inputs: { ...LIMIT, wait: false } }),
    'cancelled',
    'was cancelled.',
  ],
  [doubtfulEnd(job(), 'So.', false), 'error', `So. The message ${IN_DOUBT}`],
  [doubtfulEnd(job(), 'So.', true), 'cancelled', IN_DOUBT],
  [unwantedEnd(job(ACTIVE), new Set(['failed', 'archived'])), 'skipped', 'failed or archived jobs'],
  [endAs('same commit', TAKEN), 'skipped', `Another run has taken this commit: ${TAKEN}.`],
  [endAs('other creation', TAKEN), 'error', `have created, the agent job: ${TAKEN}. Once that`],
  [
    endAs('not known what was sent', 'so'),
    'error',
    'it is not known what was sent before: so. Try again later.',
  ],
  [
    endAs('cannot count for a bot', 'so'),
    'skipped',
    'bots trigger are counted by comments, but so.',
  ],
  [
    endAs('cannot count', 'so'),
    'error',
    'counts by comments, but so. Remove it, or set “pr-number”.',
  ],
])('%#: %o', (end, result, words, confirmed) => {
  expect([end.result, end.confirmed]).toEqual([result, confirmed]);
  expect(end.explanation).toContain(words);
  expect(end.explanation === '').toBe(words === '');
});

it.each<[Partial<Job>, boolean, End['result'], string, boolean?]>([
  [NOT_SENT, true, 'error', 'The run ended before the message was sent.'],
  [SENDING, true, 'error', IN_DOUBT],
  [UNKNOWN, true, 'error', IN_DOUBT],
  [SENT, false, 'sent', ''],
  [SENT, true, 'sent', 'The run ended before the agent was done.', false],
  [READ_ONLY, true, 'error', 'while the job was being polled'],
])('endNow, if the run is killed: %j', (parts, wait, result, words, confirmed) => {
  const end = endNow(job(parts), wait);
  expect([end.result, end.confirmed]).toEqual([result, confirmed]);
  expect(end.explanation).toContain(words);
});
