import { describe, expect, it } from 'vitest';
import { isConfirmed, type JobRecord, observe, pollWithinMs, type Turn } from '../../src/turn.ts';
import { record, turn } from './record.ts';

const SENT_AT = 1000;
const SETTLE = 60_000;
const LINK = 'https://github.com/octo/agents/pull/1';

function startTurn(base: Partial<JobRecord> | null): Turn {
  return turn({ base: base && record(base), sentAt: SENT_AT });
}

/** The evaluation after polls at these seconds after the message, at the time of the last poll. */
function afterPolls(
  base: Partial<JobRecord> | null,
  polls: readonly (readonly [number, Partial<JobRecord>])[],
  settleMs = SETTLE,
): Evaluation {
  let current = startTurn(base);
  let now = SENT_AT;
  for (const [seconds, parts] of polls) {
    now = SENT_AT + seconds * 1000;
    current = observe(current, record(parts), now, now);
  }
  return evaluate(current, now, settleMs);
}

interface Evaluation {
  readonly confirmed: boolean | null;
  readonly pollWithinMs?: number | null;
}

const done = (confirmed: boolean): Evaluation => ({ confirmed });
const open = (pollWithinMs: number | null): Evaluation => ({ confirmed: null, pollWithinMs });

function evaluate(of: Turn, now: number, settleMs: number): Evaluation {
  const confirmed = isConfirmed(of, settleMs);
  return confirmed === null ? open(pollWithinMs(of, now, settleMs)) : done(confirmed);
}

const completed = { status: 'completed' };
const active = { status: 'active' };
const failed = { status: 'failed' };

describe('the evaluation of a turn', () => {
  it.each<[string, Evaluation, Evaluation]>([
    ['no poll yet', afterPolls(completed, []), open(5000)],
    ['the earlier status at once', afterPolls(completed, [[0, completed]]), open(5000)],
    [
      'active, then final',
      afterPolls(completed, [
        [0, active],
        [5, completed],
      ]),
      done(true),
    ],
    [
      'the earlier status, active, final',
      afterPolls(failed, [
        [0, failed],
        [20, active],
        [60, completed],
      ]),
      done(true),
    ],
    [
      'still active',
      afterPolls(completed, [
        [0, active],
        [500, active],
      ]),
      open(null),
    ],
    [
      'another final status',
      afterPolls(failed, [
        [0, failed],
        [5, completed],
      ]),
      done(true),
    ],
    [
      'a new link',
      afterPolls(completed, [
        [0, completed],
        [5, { ...completed, prLink: LINK }],
      ]),
      done(true),
    ],
    [
      'archived again',
      afterPolls(completed, [[5, { status: 'archived', archivedAt: '2026-11-21T12:00:00Z' }]]),
      done(true),
    ],
    [
      'no evidence, 57 s',
      afterPolls(completed, [
        [0, completed],
        [57, completed],
      ]),
      open(3000),
    ],
    [
      'no evidence, settle time over',
      afterPolls(completed, [
        [0, completed],
        [60, completed],
      ]),
      done(false),
    ],
    [
      'failed all the time',
      afterPolls(failed, [
        [0, failed],
        [60, failed],
      ]),
      done(false),
    ],
    [
      'a link that is missing later',
      afterPolls({ ...completed, prLink: LINK }, [[5, completed]]),
      open(5000),
    ],
    [
      'an unknown status is no evidence',
      afterPolls(completed, [
        [0, { status: 'queued' }],
        [5, completed],
      ]),
      open(5000),
    ],
    [
      'an unknown status is not final',
      afterPolls(completed, [[70, { status: 'queued' }]]),
      open(5000),
    ],
    ['a missing status', afterPolls(completed, [[0, { status: null }]]), open(5000)],
    [
      'base active: first final',
      afterPolls(active, [
        [0, active],
        [30, completed],
      ]),
      open(5000),
    ],
    [
      'base active: final for 57 s',
      afterPolls(active, [
        [30, completed],
        [87, completed],
      ]),
      open(3000),
    ],
    [
      'base active: final for 60 s',
      afterPolls(active, [
        [30, completed],
        [90, completed],
      ]),
      done(false),
    ],
    [
      'base active: always active, then final',
      afterPolls(active, [
        [0, active],
        [30, active],
        [60, completed],
      ]),
      open(5000),
    ],
    [
      'base active: final, active again, final',
      afterPolls(active, [
        [0, completed],
        [30, active],
        [70, completed],
      ]),
      done(true),
    ],
    [
      'base active: an unknown status in between is no evidence',
      afterPolls(active, [
        [0, completed],
        [30, { status: 'queued' }],
        [40, completed],
      ]),
      open(5000),
    ],
    [
      'base active: a new link may belong to the turn before',
      afterPolls(active, [[5, { ...completed, prLink: LINK }]]),
      open(5000),
    ],
    [
      'base odd counts as active',
      afterPolls({ status: 'queued' }, [
        [0, completed],
        [60, completed],
      ]),
      done(false),
    ],
    [
      'base without a status counts as active',
      afterPolls({ status: null }, [[0, completed]]),
      open(5000),
    ],
    [
      'no base: final for 60 s',
      afterPolls(null, [
        [0, completed],
        [60, completed],
      ]),
      done(false),
    ],
    [
      'no base: final, active again, final',
      afterPolls(null, [
        [0, completed],
        [30, active],
        [70, completed],
      ]),
      done(false),
    ],
  ])('%s', (_, evaluation, expected) => {
    expect(evaluation).toEqual(expected);
  });

  it('ends at once without a settle time, and is confirmed only by evidence', () => {
    expect(afterPolls(completed, [[0, completed]], 0)).toEqual(done(false));
    expect(afterPolls(active, [[0, completed]], 0)).toEqual(done(false));
    expect(afterPolls(failed, [[0, completed]], 0)).toEqual(done(true));
  });

  it('does not end before a poll that started after the settle time', () => {
    const polled = observe(startTurn({}), record(), SENT_AT + 50_000, SENT_AT + 61_000);
    expect(evaluate(polled, SENT_AT + 70_000, SETTLE)).toEqual(open(0));
  });
});

describe('evidence of a message', () => {
  it.each([
    ['the same record', {}, {}, false],
    ['active', {}, active, true],
    ['another link', { prLink: LINK }, { prLink: `${LINK}2` }, true],
    ['another archive time', { archivedAt: 'a' }, { archivedAt: 'b' }, true],
    ['an unknown status', {}, { status: 'COMPLETED' }, false],
  ])('%s', (_, base, polled, expected) => {
    const before = turn({ base: record(base) });
    expect(observe(before, record(polled), 0, 0).evidence).toBe(expected);
  });
});
