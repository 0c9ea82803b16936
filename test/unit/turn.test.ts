import { describe, expect, it } from 'vitest';
import { isConfirmed, type JobRecord, observe, pollWithinMs, type Turn } from '../../src/turn.ts';
import { record, turn } from './record.ts';

const SENT_AT = 1000;
const SETTLE = 60_000;
const LINK = 'https://github.com/octo/agents/pull/1';

function startTurn(base: Partial<JobRecord> | null): Turn {
  return turn({ base: base && record(base), sentAt: SENT_AT });
}

/** The verdict after looks at given seconds since the answer to the message, judged after the last. */
function afterLooks(
  base: Partial<JobRecord> | null,
  looks: readonly (readonly [number, Partial<JobRecord>])[],
  settleMs = SETTLE,
): Verdict {
  let seen = startTurn(base);
  let now = SENT_AT;
  for (const [seconds, parts] of looks) {
    now = SENT_AT + seconds * 1000;
    seen = observe(seen, record(parts), now, now);
  }
  return evaluate(seen, now, settleMs);
}

interface Verdict {
  readonly confirmed: boolean | null;
  readonly pollWithinMs?: number | null;
}

const done = (confirmed: boolean): Verdict => ({ confirmed });
const open = (pollWithinMs: number | null): Verdict => ({ confirmed: null, pollWithinMs });

function evaluate(of: Turn, now: number, settleMs: number): Verdict {
  const confirmed = isConfirmed(of, settleMs);
  return confirmed === null ? open(pollWithinMs(of, now, settleMs)) : done(confirmed);
}

const completed = { status: 'completed' };
const active = { status: 'active' };
const failed = { status: 'failed' };

describe('a turn', () => {
  it.each<[string, Verdict, Verdict]>([
    ['nothing seen yet', afterLooks(completed, []), open(5000)],
    ['the old status at once', afterLooks(completed, [[0, completed]]), open(5000)],
    [
      'active, then final',
      afterLooks(completed, [
        [0, active],
        [5, completed],
      ]),
      done(true),
    ],
    [
      'stale, active, final',
      afterLooks(failed, [
        [0, failed],
        [20, active],
        [60, completed],
      ]),
      done(true),
    ],
    [
      'still active',
      afterLooks(completed, [
        [0, active],
        [500, active],
      ]),
      open(null),
    ],
    [
      'another final status',
      afterLooks(failed, [
        [0, failed],
        [5, completed],
      ]),
      done(true),
    ],
    [
      'a new link',
      afterLooks(completed, [
        [0, completed],
        [5, { ...completed, prLink: LINK }],
      ]),
      done(true),
    ],
    [
      'archived anew',
      afterLooks(completed, [[5, { status: 'archived', archivedAt: '2026-11-21T12:00:00Z' }]]),
      done(true),
    ],
    [
      'no evidence, 57 s',
      afterLooks(completed, [
        [0, completed],
        [57, completed],
      ]),
      open(3000),
    ],
    [
      'no evidence, window over',
      afterLooks(completed, [
        [0, completed],
        [60, completed],
      ]),
      done(false),
    ],
    [
      'failed for ever',
      afterLooks(failed, [
        [0, failed],
        [60, failed],
      ]),
      done(false),
    ],
    [
      'a link that is gone',
      afterLooks({ ...completed, prLink: LINK }, [[5, completed]]),
      open(5000),
    ],
    [
      'an odd status is no evidence',
      afterLooks(completed, [
        [0, { status: 'queued' }],
        [5, completed],
      ]),
      open(5000),
    ],
    ['an odd status is not final', afterLooks(completed, [[70, { status: 'queued' }]]), open(5000)],
    ['a missing status', afterLooks(completed, [[0, { status: null }]]), open(5000)],
    [
      'base active: first final',
      afterLooks(active, [
        [0, active],
        [30, completed],
      ]),
      open(5000),
    ],
    [
      'base active: final for 57 s',
      afterLooks(active, [
        [30, completed],
        [87, completed],
      ]),
      open(3000),
    ],
    [
      'base active: final for 60 s',
      afterLooks(active, [
        [30, completed],
        [90, completed],
      ]),
      done(false),
    ],
    [
      'base active: active all along, then final',
      afterLooks(active, [
        [0, active],
        [30, active],
        [60, completed],
      ]),
      open(5000),
    ],
    [
      'base active: final, active anew, final',
      afterLooks(active, [
        [0, completed],
        [30, active],
        [70, completed],
      ]),
      done(true),
    ],
    [
      'base active: an odd status in between shows nothing',
      afterLooks(active, [
        [0, completed],
        [30, { status: 'queued' }],
        [40, completed],
      ]),
      open(5000),
    ],
    [
      'base active: a new link may be of the turn before',
      afterLooks(active, [[5, { ...completed, prLink: LINK }]]),
      open(5000),
    ],
    [
      'base odd counts as active',
      afterLooks({ status: 'queued' }, [
        [0, completed],
        [60, completed],
      ]),
      done(false),
    ],
    [
      'base without a status counts as active',
      afterLooks({ status: null }, [[0, completed]]),
      open(5000),
    ],
    [
      'no base: final for 60 s',
      afterLooks(null, [
        [0, completed],
        [60, completed],
      ]),
      done(false),
    ],
    [
      'no base: final, active anew, final',
      afterLooks(null, [
        [0, completed],
        [30, active],
        [70, completed],
      ]),
      done(false),
    ],
  ])('%s', (_, verdict, expected) => {
    expect(verdict).toEqual(expected);
  });

  it('ends at once without a settle window, and confirms nothing more', () => {
    expect(afterLooks(completed, [[0, completed]], 0)).toEqual(done(false));
    expect(afterLooks(active, [[0, completed]], 0)).toEqual(done(false));
    expect(afterLooks(failed, [[0, completed]], 0)).toEqual(done(true));
  });

  it('does not end a window without a poll that began after it', () => {
    const seen = observe(startTurn({}), record(), SENT_AT + 50_000, SENT_AT + 61_000);
    expect(evaluate(seen, SENT_AT + 70_000, SETTLE)).toEqual(open(0));
  });
});

describe('evidence of a message', () => {
  it.each([
    ['the same record', {}, {}, false],
    ['active', {}, active, true],
    ['another link', { prLink: LINK }, { prLink: `${LINK}2` }, true],
    ['another archive time', { archivedAt: 'a' }, { archivedAt: 'b' }, true],
    ['an odd status', {}, { status: 'COMPLETED' }, false],
  ])('%s', (_, base, seen, expected) => {
    const before = turn({ base: record(base) });
    expect(observe(before, record(seen), 0, 0).evidence).toBe(expected);
  });
});
