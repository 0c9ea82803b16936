import { expect, it } from 'vitest';
import {
  askAgain,
  cancelledEnd,
  doneEnd,
  doubtfulEnd,
  endNow,
  lostEnd,
  timedOutEnd,
  unwantedEnd,
} from '../../../src/job/explain.ts';
import type { Job } from '../../../src/job/job.ts';
import { type End, endAs } from '../../../src/job/outcome.ts';
import { job, NOT_SENT, record, SENDING, SENT, UNKNOWN } from '../record.ts';

const LIMIT_MS = 1_800_000;
const IN_DOUBT = 'may have arrived, so it was not sent again';
const AGAIN = ' To keep waiting, re-run the workflow; the message is not sent again.';
const LOOK = 'Check the job in the dashboard';
const ACTIVE = { record: record({ status: 'active' }) };
const RERUN = { start: 'Re-run the workflow', waitsOn: true } as const;
const NEW_RUN = { start: 'Start a new run', waitsOn: false } as const;
const COMMENT = { start: 'Comment again', waitsOn: true } as const;
const WAITING = job({ isWaiting: true });
const TAKEN = 'https://github.com/octo/docs/pull/7#issuecomment-1';

function done(status: string, is: Parameters<typeof doneEnd>[1], before?: string): End {
  const base = before === undefined ? {} : { status: before };
  return doneEnd(job({ ...SENT, base, record: record({ status }) }), is);
}
function timedOut(status: string, why = ''): End {
  return timedOutEnd(job({ ...SENT, record: record({ status }) }), RERUN, LIMIT_MS, why);
}

it.each<[End, End['result'], string, boolean?]>([
  [endAs('sent'), 'sent', ''],
  [endAs('could not send', 'So.'), 'error', 'So.'],
  [done('completed', 'confirmed'), 'completed', '', true],
  [
    done('failed', 'confirmed'),
    'failed',
    'The API does not say why the agent failed. Open the job',
    true,
  ],
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
    timedOutEnd(job({ ...SENT, waitedMs: 900_000 }), RERUN, LIMIT_MS, ''),
    'timed-out',
    'within 30 min (waited 15 min for what it was already doing, 15 min for this). Its last',
  ],
  [timedOut('odd', 'So.'), 'timed-out', 'is “odd”, and it may keep working. The last poll'],
  [timedOut('completed'), 'timed-out', 'is completed, but within 30 min it was not confirmed'],
  [timedOutEnd(job(SENT), NEW_RUN, LIMIT_MS, ''), 'timed-out', `is not known, and it may keep`],
  [timedOutEnd(job(SENT), NEW_RUN, LIMIT_MS, ''), 'timed-out', LOOK],
  [
    timedOutEnd(job(), RERUN, LIMIT_MS, 'So.'),
    'timed-out',
    'could not be sent within 30 min. So. Re-run the workflow.',
  ],
  [
    timedOutEnd(WAITING, RERUN, LIMIT_MS, 'So.'),
    'timed-out',
    'seen to be done with what it was already doing. The',
  ],
  [timedOutEnd(WAITING, RERUN, LIMIT_MS, ''), 'timed-out', ' Re-run the workflow later.'],
  [timedOutEnd(WAITING, NEW_RUN, LIMIT_MS, ''), 'timed-out', ' Start a new run later.'],
  [
    lostEnd(job(SENT), NEW_RUN, 'So.', ''),
    'error',
    `can no longer be read. So. The agent may keep`,
  ],
  [lostEnd(job(SENT), NEW_RUN, 'So.', ''), 'error', LOOK],
  [lostEnd(job(SENT), RERUN, 'So.', ''), 'error', AGAIN],
  [lostEnd(job(), RERUN, 'So.', 'Comment again.'), 'error', 'So. Comment again.'],
  [timedOutEnd(WAITING, COMMENT, LIMIT_MS, ''), 'timed-out', ' Comment again later.'],
  [cancelledEnd(job(SENT), COMMENT, true), 'cancelled', `no longer waits for it.${AGAIN}`],
  [
    cancelledEnd(job(), RERUN, true),
    'cancelled',
    'cancelled before the message was sent. Re-run the',
  ],
  [
    cancelledEnd(job(), NEW_RUN, true),
    'cancelled',
    'before the message was sent. Start a new run.',
  ],
  [cancelledEnd(job(SENT), RERUN, true), 'cancelled', `no longer waits for it.${AGAIN}`],
  [cancelledEnd(job(SENT), NEW_RUN, true), 'cancelled', LOOK],
  [cancelledEnd(job(SENT), RERUN, false), 'cancelled', 'was cancelled.'],
  [doubtfulEnd(job(), 'So.', false), 'error', `So. The message ${IN_DOUBT}`],
  [doubtfulEnd(job(), 'So.', true), 'cancelled', IN_DOUBT],
  [unwantedEnd(job(ACTIVE), new Set(['failed', 'archived'])), 'skipped', 'failed or archived jobs'],
  [endAs('same commit', TAKEN, null), 'skipped', 'showed as failed then.'],
  [
    endAs('same commit', TAKEN, '/docs'),
    'skipped',
    `${TAKEN}. Its message has what GitHub showed as failed then; “/docs” sends`,
  ],
  [
    endAs('other creation', TAKEN, 'So.'),
    'error',
    `have created, the agent job: ${TAKEN}. Wait until`,
  ],
  [
    endAs('not known what was sent', 'so', 'Comment again later.'),
    'error',
    'it is not known what was sent before: so. Comment again later.',
  ],
  [
    endAs('cannot count for a bot', 'so'),
    'skipped',
    'bots trigger are counted by comments, but so.',
  ],
  [
    endAs('cannot count', 'so'),
    'error',
    'counts by comments, but so. Remove “max-messages”, or set “pr-number”.',
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
])('endNow, if the run is killed: %j', (parts, wait, result, words, confirmed) => {
  const end = endNow(job(parts), wait);
  expect([end.result, end.confirmed]).toEqual([result, confirmed]);
  expect(end.explanation).toContain(words);
});

it.each([
  ['Comment again', true, 'Comment again later.'],
  ['Re-run the workflow', false, 'Once this is fixed, re-run the workflow.'],
] as const)('askAgain: %s, may pass: %s', (start, mayPass, said) => {
  expect(askAgain(start, mayPass)).toBe(said);
});
