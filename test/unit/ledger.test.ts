import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decode, encode } from '../../src/memory/data.ts';
import {
  contains,
  EMPTY,
  findJob,
  followsUnfinished,
  intersect,
  isOvertaken,
  isSameOrOlderRun,
  type Ledger,
  type LedgerJob,
  type LedgerRecord,
  trim,
  unite,
  weightOf,
  withoutOwner,
} from '../../src/memory/ledger.ts';
import type { Turn } from '../../src/turn.ts';
import { job, ledger, START, turn } from './record.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

/** A turn that starts so many hours after `START`. By default, its mark names the hour. */
function at(hour: number, parts: Partial<Turn> = {}): Turn {
  return turn({ mark: `at-${hour}`, startedAt: START + hour * HOUR, ...parts });
}

/** The jobs in their order, each with the hours in which its turns started. */
function hoursOf({ jobs }: Ledger): readonly (readonly [string, ...number[]])[] {
  return jobs.map(({ id, turns }) => [
    id,
    ...turns.map(({ startedAt }) => (startedAt - START) / HOUR),
  ]);
}

describe('unite', () => {
  it.each<[string, readonly LedgerJob[], readonly LedgerJob[], ReturnType<typeof hoursOf>]>([
    ['an empty ledger and a job', [], [job('a', at(10))], [['a', 10]]],
    [
      'two jobs, the newer one first',
      [job('a', at(10))],
      [job('b', at(11))],
      [
        ['b', 11],
        ['a', 10],
      ],
    ],
    [
      'a job and an older one',
      [job('a', at(12))],
      [job('b', at(11))],
      [
        ['a', 12],
        ['b', 11],
      ],
    ],
    [
      'a turn and a newer one of the same job',
      [job('a', at(10))],
      [job('a', at(11))],
      [['a', 11, 10]],
    ],
    [
      'a turn and an older one of the same job',
      [job('a', at(11))],
      [job('a', at(10))],
      [['a', 11, 10]],
    ],
    ['copies of the same turn', [job('a', at(10))], [job('a', at(10))], [['a', 10]]],
    [
      'two turns that started at the same time',
      [job('a', at(10, { mark: 'y' }))],
      [job('a', at(10, { mark: 'x' }))],
      [['a', 10, 10]],
    ],
    [
      'a job without a message, which comes last',
      [job('a')],
      [job('b', at(11))],
      [['b', 11], ['a']],
    ],
  ])('combines %s', (_, one, other, united) => {
    expect(hoursOf(unite([ledger(...one), ledger(...other)]))).toEqual(united);
  });

  it('returns an empty ledger for no ledgers', () => {
    expect(unite([])).toEqual(EMPTY);
  });

  it.each([
    [null, null, null],
    ['9', null, '9'],
    [null, '9', '9'],
    ['9', '10', '10'],
    ['10', '9', '10'],
  ])('keeps the newer run with a dropped turn of %s and %s: %s', (one, other, trimmed) => {
    const ledgers = [one, other].map((run) => ({ ...EMPTY, trimmed: run }));
    expect(unite(ledgers).trimmed).toBe(trimmed);
  });

  it('keeps the last record that is not null', () => {
    const withStatus = (status: string | null): Ledger => {
      const record = status && { status, model: null, source: null, prLink: null };
      return ledger({ id: 'a', record: record || null, turns: [] });
    };
    expect(
      unite([withStatus('active'), withStatus('failed'), withStatus(null)]).jobs[0]?.record?.status,
    ).toBe('failed');
    expect(unite([withStatus(null)]).jobs[0]?.record).toBeNull();
  });
});

describe('unite, for copies of a turn', () => {
  type Copy = Pick<Turn, 'delivery'> & Partial<Turn>;
  const kept = (...copies: readonly Copy[]): Turn | undefined =>
    unite(copies.map((copy) => ledger(job('a', turn(copy))))).jobs[0]?.turns[0];

  it.each<[string, Copy, Copy]>([
    ['a sent message', { delivery: 'sending', writes: 1 }, { delivery: 'sent', writes: 2 }],
    ['a refused message', { delivery: 'sending', writes: 1 }, { delivery: 'not-sent', writes: 2 }],
    ['an unclear delivery', { delivery: 'sent', writes: 1 }, { delivery: 'unknown', writes: 2 }],
    ['the tenth write', { delivery: 'sending', writes: 9 }, { delivery: 'sent', writes: 10 }],
  ])('keeps the copy that a process wrote last: %s', (_, before, after) => {
    expect(kept(before, after)).toMatchObject(after);
    expect(kept(after, before)).toMatchObject(after);
  });

  it.each<[string, Copy, string, Copy]>([
    ['sent', { delivery: 'sent' }, 'unknown', { delivery: 'unknown' }],
    ['sent', { delivery: 'sent' }, 'sending', { delivery: 'sending' }],
    ['sent', { delivery: 'sent' }, 'not-sent', { delivery: 'not-sent' }],
    ['unknown', { delivery: 'unknown' }, 'sending', { delivery: 'sending' }],
    ['unknown', { delivery: 'unknown' }, 'not-sent', { delivery: 'not-sent' }],
    ['sending', { delivery: 'sending' }, 'not-sent', { delivery: 'not-sent' }],
    [
      'a final result',
      { delivery: 'sent', result: 'failed' },
      'a timeout',
      { delivery: 'sent', result: 'timed-out' },
    ],
  ])('prefers %s to %s, whichever attempt wrote it', (_, more, __, less) => {
    const [first, second] = [
      { attempt: 1, owner: 'p', writes: 7 },
      { attempt: 2, owner: 'q', writes: 1 },
    ];
    for (const [one, other] of [
      [first, second],
      [second, first],
    ]) {
      expect(kept({ ...more, ...one }, { ...less, ...other })).toMatchObject({ ...more, ...one });
      expect(kept({ ...less, ...one }, { ...more, ...other })).toMatchObject({ ...more, ...other });
    }
  });

  it('prefers the later attempt if the copies are equal', () => {
    const first = { delivery: 'not-sent', attempt: 1, owner: 'p', writes: 9 } as const;
    const second = { delivery: 'not-sent', attempt: 2, owner: 'q', writes: 1 } as const;
    expect(kept(first, second)).toMatchObject(second);
    expect(kept(second, first)).toMatchObject(second);
  });
});

describe('unite, for any copies of a ledger', () => {
  /** The order of the copies could matter only in a few of the runs. */
  const RUNS = { numRuns: 2000 };
  const MARKS = ['m', 'n'];
  const JOBS = ['a', 'b'];
  const DELIVERIES = ['not-sent', 'sending', 'unknown', 'sent'] as const;

  /** The copies that a process has written of a turn, the oldest first. */
  const history = (
    deliveries: fc.Arbitrary<readonly Turn['delivery'][]>,
  ): fc.Arbitrary<readonly Partial<Turn>[]> =>
    fc.tuple(deliveries, fc.nat({ max: 5 })).map(([all, endsAt]) =>
      all.map((delivery, index) => ({
        ...{ delivery, writes: index + 1 },
        ...(index < endsAt ? { endedAt: null } : { result: 'completed' }),
      })),
    );
  const anyDelivery = fc.constantFrom(...DELIVERIES);
  const anyOrder = fc.array(anyDelivery, { minLength: 1, maxLength: 4 });
  /** An unclear message may be refused later, and a refused one sent again. A sent one stays sent. */
  const plausible = anyOrder.map((all) => {
    const sent = all.indexOf('sent');
    return sent === -1 ? all : all.map((delivery, index) => (index < sent ? delivery : 'sent'));
  });
  /** By up to four processes in up to three attempts: two uses of a step may continue the same turn. */
  const copies: fc.Arbitrary<readonly Partial<Turn>[]> = fc
    .array(fc.tuple(history(plausible), fc.integer({ min: 1, max: 3 })), {
      minLength: 1,
      maxLength: 4,
    })
    .map((all) =>
      all.flatMap(([ones, attempt], index) =>
        ones.map((one) => ({ ...one, attempt, owner: `p${index}` })),
      ),
    );
  /** Three ledgers, each with at most one copy of each turn. */
  const ledgers = fc
    .record(Object.fromEntries(MARKS.flatMap((mark) => JOBS.map((id) => [mark + id, copies]))))
    .chain((known) => {
      const one = fc
        .tuple(
          fc.record(
            Object.fromEntries(
              Object.entries(known).map(([key, all]) => [
                key,
                fc.option(fc.constantFrom(...all), { freq: 3 }),
              ]),
            ),
          ),
          fc.option(fc.constantFrom('7', '8', '10')),
        )
        .map(([chosen, trimmed]): Ledger => {
          const turnsOf = (id: string): readonly Turn[] =>
            MARKS.flatMap((mark) => {
              const parts = chosen[mark + id];
              return parts ? [turn({ mark, ...parts })] : [];
            });
          return { jobs: JOBS.map((id) => job(id, ...turnsOf(id))), trimmed };
        });
      return fc.tuple(one, one, one);
    });

  /** The order of jobs that started at the same time does not matter. */
  function sorted({ jobs, trimmed }: Ledger): Ledger {
    return { jobs: jobs.toSorted((one, other) => (one.id < other.id ? -1 : 1)), trimmed };
  }

  it('returns the same in any order and grouping', () => {
    fc.assert(
      fc.property(ledgers, ([one, other, third]) => {
        const all = sorted(unite([one, other, third]));
        expect(sorted(unite([third, one, other]))).toEqual(all);
        expect(sorted(unite([other, one, third]))).toEqual(all);
        expect(sorted(unite([unite([one, other]), third]))).toEqual(all);
        expect(sorted(unite([one, unite([other, third])]))).toEqual(all);
        expect(sorted(unite([unite([one, other]), unite([other, third])]))).toEqual(all);
        expect(sorted(unite([all, all, one]))).toEqual(all);
        expect(contains(all, all)).toBe(true);
      }),
      RUNS,
    );
  });

  it('never forgets a message that may be sent', () => {
    fc.assert(
      fc.property(ledgers, (all) => {
        const united = unite(all);
        for (const { id, turns } of united.jobs) {
          for (const one of turns) {
            const others = all.flatMap((copy) =>
              (findJob(copy, id)?.turns ?? []).filter(({ mark }) => mark === one.mark),
            );
            // Only the process that wrote a copy can replace it.
            const latest = [...Map.groupBy(others, ({ owner }) => owner).values()].map((own) =>
              own.reduce((last, copy) => (copy.writes > last.writes ? copy : last)),
            );
            expect(weightOf(one)).toBe(Math.max(...latest.map(weightOf)));
          }
        }
      }),
      RUNS,
    );
  });
});

describe('a copy that does not count', () => {
  const mine = at(1, { mark: 'm', owner: 'p', writes: 1, delivery: 'unknown', endedAt: null });
  const theirs = at(1, { mark: 'm', owner: 'q', writes: 1, delivery: 'sending', endedAt: null });
  const refused: Turn = { ...mine, writes: 2, delivery: 'not-sent' };
  const both = unite([ledger(job('a', mine)), ledger(job('a', theirs))]);
  const counting = ({ jobs: [first] }: Ledger) =>
    first?.turns.map(({ owner, delivery }) => `${owner} ${delivery}`);

  it('counts if the message of the other process was refused', () => {
    expect(counting(both)).toEqual(['p unknown']);
    expect(counting(unite([both, ledger(job('a', refused))]))).toEqual(['q sending']);
  });

  it('counts without the turns of the other process', () => {
    expect(counting(withoutOwner(both, 'p'))).toEqual(['q sending']);
    expect(counting(withoutOwner(both, 'q'))).toEqual(['p unknown']);
  });

  it('is part of the data in the comment', () => {
    expect(contains(decode(encode(both)), ledger(job('a', theirs)))).toBe(true);
    expect(counting(withoutOwner(decode(encode(both)), 'p'))).toEqual(['q sending']);
  });

  it('is shortened and dropped with its turn', () => {
    const long = { prompt: 'x'.repeat(500) };
    const all = unite([
      ledger(job('a', { ...mine, ...long }), job('b', at(9, { prompt: 'y' }))),
      ledger(job('a', { ...theirs, ...long })),
    ]);
    const promptsIn = (limit: number) =>
      trim(all, START, (one) => JSON.stringify(one).length < limit)
        .jobs.flatMap((one) => [...one.turns, ...(one.others ?? [])])
        .map(({ prompt }) => prompt.length);
    const { length } = JSON.stringify(all);
    expect(promptsIn(length + 1)).toEqual([1, 500, 500]);
    expect(promptsIn(length)).toEqual([1, 80, 80]);
    expect(promptsIn(length - 900)).toEqual([1]);
  });

  it('is dropped after the message is sent', () => {
    const sent = ledger(job('a', { ...theirs, writes: 2, delivery: 'sent' }));
    expect(unite([both, sent]).jobs[0]?.others).toBeUndefined();
  });
});

describe('isOvertaken is', () => {
  const own = turn({ sentAt: START + HOUR });
  const other = (parts: Partial<Turn>): Turn => turn({ mark: 'other', sentAt: null, ...parts });
  const open = { endedAt: null };

  it.each<[string, Turn, Turn, boolean]>([
    ['false for the turn itself', own, own, false],
    ['false if the other message was sent before', own, other({ sentAt: START + HOUR - 1 }), false],
    ['true if the other message was sent after it', own, other({ sentAt: START + HOUR + 1 }), true],
    [
      'false if the other message was not sent',
      own,
      other({ delivery: 'not-sent', endedAt: START + 2 * HOUR }),
      false,
    ],
    [
      'true if the delivery of the other message is unknown',
      own,
      other({ delivery: 'unknown', endedAt: START + 2 * HOUR }),
      true,
    ],
    [
      'false if the delivery is unknown, but the other turn ended before',
      own,
      other({ delivery: 'unknown', endedAt: START }),
      false,
    ],
    [
      'true if the other message may be on its way',
      own,
      other({ ...open, delivery: 'sending', startedAt: START + 1 }),
      true,
    ],
    [
      'false if the other message was announced an hour before and not sent',
      own,
      other({ ...open, delivery: 'sending', startedAt: START }),
      false,
    ],
    [
      'true if the other message was sent after the turn started and its own time is unknown',
      { ...own, sentAt: null },
      other({ sentAt: START + 1 }),
      true,
    ],
  ])('%s', (_, one, two, expected) => {
    expect(isOvertaken(one, [two, one])).toBe(expected);
  });
});

describe('followsUnfinished is', () => {
  const MINUTE = 60_000;
  const base = (status: string) => ({ status, prLink: null, archivedAt: null });
  const sent = { startedAt: START + HOUR - 1, sentAt: START + HOUR };
  const own = turn({ ...sent, base: base('completed') });
  const other = (sentAt: number | null, parts: Partial<Turn> = {}): Turn =>
    turn({ mark: 'other', sentAt, result: 'sent', endedAt: sentAt, ...parts });

  it.each<[string, Turn, boolean]>([
    ['false for the turn itself', own, false],
    ['true for a message less than a minute before', other(START + HOUR - MINUTE + 1), true],
    ['false for a message a minute before', other(START + HOUR - MINUTE), false],
    ['false for a later message', other(START + HOUR + 1), false],
    [
      'false for a message that was not sent',
      other(START + HOUR - 2, { delivery: 'not-sent' }),
      false,
    ],
    [
      'false if a poll showed the end of the other turn before this one started',
      other(START + HOUR - 9, { result: 'completed', confirmed: true, endedAt: START + HOUR - 2 }),
      false,
    ],
    [
      'true if that end was not confirmed',
      other(START + HOUR - 9, { result: 'completed', confirmed: false, endedAt: START + HOUR - 2 }),
      true,
    ],
    [
      'true if a poll showed the end of the other turn later',
      other(START + HOUR - 9, { result: 'completed', confirmed: true, endedAt: START + HOUR }),
      true,
    ],
    [
      'true while the agent works on the other message',
      other(START + HOUR - 9, { endedAt: null }),
      true,
    ],
    [
      'true if the other message was announced',
      other(null, { delivery: 'sending', startedAt: START + HOUR - 9 }),
      true,
    ],
    [
      'true if the delivery of the other message is unknown',
      other(null, { delivery: 'unknown', endedAt: START + HOUR - 9 }),
      true,
    ],
  ])('%s', (_, one, expected) => {
    expect(followsUnfinished(own, [one, own])).toBe(expected);
  });

  it.each<[string, Turn, boolean]>([
    ['true for a message that may have had to wait, too', other(START + 1), true],
    ['true if that is certain', other(START + 1, { base: base('active') }), true],
    ['false for a message an hour before', other(START), false],
    [
      'false for the message that the agent works on',
      other(START + 1, { base: base('failed') }),
      false,
    ],
  ])('if the agent was working, %s', (_, one, expected) => {
    const queued = turn({ ...sent, base: base('active') });
    expect(followsUnfinished(queued, [one, queued])).toBe(expected);
  });

  it('true for a message just before the turn started, if its own time is unknown', () => {
    expect(followsUnfinished({ ...own, sentAt: null }, [other(START + HOUR - 2)])).toBe(true);
  });
});

it.each([
  ['1', '1', true],
  ['', '1', true],
  ['9', '10', true],
  ['10', '9', false],
  ['12345678901234567890', '12345678901234567891', true],
  ['12345678901234567891', '12345678901234567890', false],
])('isSameOrOlderRun for run %s and run %s is %s', (run, other, expected) => {
  expect(isSameOrOlderRun(run, other)).toBe(expected);
});

it('withoutOwner keeps all jobs, and the turns of all other owners', () => {
  const [mine, theirs] = [turn({ owner: 'me' }), turn({ mark: 'other', owner: 'them' })];
  const full = { ...ledger(job('a', mine, theirs), job('b', mine)), trimmed: '7' };
  expect(withoutOwner(full, 'me')).toEqual({ ...ledger(job('a', theirs), job('b')), trimmed: '7' });
});

describe('contains and intersect', () => {
  const mine = (parts: Partial<Turn> = {}): Turn => turn({ writes: 3, ...parts });
  const own = ledger(job('a', mine()), job('b', mine()), job('c'));
  const marksOf = ({ jobs }: Ledger) => jobs.map(({ id, turns }) => [id, turns.length]);

  it.each<[string, readonly LedgerJob[], boolean, readonly unknown[]]>([
    [
      'accept all turns, among other ones',
      [job('a', turn({ mark: 'other' }), mine()), job('b', mine()), job('c'), job('d')],
      true,
      [
        ['a', 1],
        ['b', 1],
        ['c', 0],
      ],
    ],
    [
      'accept a later version of a turn',
      [job('a', mine({ writes: 4 })), job('b', mine()), job('c', turn())],
      true,
      [
        ['a', 1],
        ['b', 1],
        ['c', 0],
      ],
    ],
    [
      'reject an earlier version of a turn',
      [job('a', mine({ writes: 2 })), job('b', mine()), job('c')],
      false,
      [
        ['a', 0],
        ['b', 1],
        ['c', 0],
      ],
    ],
    [
      'reject a turn with another owner',
      [job('a', mine({ owner: 'later' })), job('b', mine()), job('c')],
      false,
      [
        ['a', 0],
        ['b', 1],
        ['c', 0],
      ],
    ],
    [
      'notice a missing turn',
      [job('a', mine()), job('b'), job('c')],
      false,
      [
        ['a', 1],
        ['b', 0],
        ['c', 0],
      ],
    ],
    [
      'reject a turn of another job',
      [job('a', mine()), job('c', mine())],
      false,
      [
        ['a', 1],
        ['c', 0],
      ],
    ],
    [
      'notice a missing job without turns',
      [job('a', mine()), job('b', mine())],
      false,
      [
        ['a', 1],
        ['b', 1],
      ],
    ],
  ])('%s', (_, jobs, isContained, part) => {
    const other = ledger(...jobs);
    expect(contains(other, own)).toBe(isContained);
    expect(marksOf(intersect(own, other))).toEqual(part);
    expect(contains(other, intersect(own, other))).toBe(true);
  });

  it('ignore the records of jobs', () => {
    const record: LedgerRecord = { status: 'failed', model: null, source: null, prLink: null };
    const recorded = ledger({ ...job('a', mine()), record });
    expect(contains(ledger(job('a', mine())), recorded)).toBe(true);
  });

  it('compare which turns were trimmed', () => {
    const trimmed = (run: string | null): Ledger => ({ ...EMPTY, trimmed: run });
    expect(contains(trimmed('10'), trimmed('9'))).toBe(true);
    expect(contains(trimmed('10'), trimmed(null))).toBe(true);
    expect(contains(trimmed('9'), trimmed('10'))).toBe(false);
    expect(contains(trimmed(null), trimmed('10'))).toBe(false);
  });
});

describe('trim', () => {
  const NOW = START + 20 * HOUR;
  const SHORT = `${'p'.repeat(79)}…`;
  const long = { prompt: 'p'.repeat(100) };
  const full = ledger(
    job('a', at(15, long), at(11, long)),
    job('b', at(14, long), at(12, long), at(10, long)),
    job('c', at(13, long)),
  );
  const turnsOf = ({ jobs }: Ledger) => jobs.flatMap(({ turns }) => turns);
  const promptsOf = (part: Ledger): string =>
    turnsOf(part)
      .map(({ prompt }) => prompt)
      .join('');
  const sizeOf = ({ jobs }: Ledger): number =>
    jobs.reduce((sum, { turns }) => sum + 1 + turns.length, 0);

  it('changes nothing if the ledger fits', () => {
    expect(trim(full, NOW, () => true)).toEqual(full);
    expect(trim(EMPTY, NOW, () => true)).toEqual(EMPTY);
    expect(trim(EMPTY, NOW, () => false)).toEqual(EMPTY);
  });

  it.each([
    [600, 'none', []],
    [599, 'the oldest', [10]],
    [580, 'only as many as necessary', [10]],
    [579, 'the two oldest, whatever their jobs', [10, 11]],
    [520, 'the four oldest', [10, 11, 12, 13]],
    [480, 'all', [10, 11, 12, 13, 14, 15]],
  ])('shortens prompts to fit into %i characters: %s', (limit, _, shortened) => {
    const kept = trim(full, NOW, (part) => promptsOf(part).length <= limit);
    expect(hoursOf(kept)).toEqual(hoursOf(full));
    expect(kept.trimmed).toBeNull();
    const short = turnsOf(kept).filter(({ prompt }) => prompt === SHORT);
    expect(short.map(({ startedAt }) => (startedAt - START) / HOUR).sort()).toEqual(shortened);
  });

  it('does not cut a character in half', () => {
    const rockets = ledger(job('a', at(10, { prompt: '\u{1f680}'.repeat(50) })));
    const kept = trim(rockets, NOW, (part) => promptsOf(part).length <= 80);
    expect(promptsOf(kept)).toBe(`${'\u{1f680}'.repeat(39)}\ufffd…`);
  });

  it('drops nothing while it can shorten a prompt', () => {
    const few = ledger(job('a', at(15, long), at(11, long)), job('c', at(13, long)));
    const to = (limit: number) => trim(few, NOW, (part) => promptsOf(part).length <= limit);
    expect(hoursOf(to(240))).toEqual(hoursOf(few));
    expect(hoursOf(to(239))).toEqual([
      ['a', 15],
      ['c', 13],
    ]);
  });

  it.each([
    [
      9,
      'none',
      [
        ['a', 15, 11],
        ['b', 14, 12, 10],
        ['c', 13],
      ],
    ],
    [
      8,
      'the oldest turn',
      [
        ['a', 15, 11],
        ['b', 14, 12],
        ['c', 13],
      ],
    ],
    [
      6,
      'the three oldest turns',
      [
        ['a', 15],
        ['b', 14],
        ['c', 13],
      ],
    ],
    [
      5,
      'a job with its last turn',
      [
        ['a', 15],
        ['b', 14],
      ],
    ],
    [0, 'all but the newest', [['a', 15]]],
  ])('drops turns to fit into a size of %i: %s', (limit, _, left) => {
    expect(hoursOf(trim(full, NOW, (part) => sizeOf(part) <= limit))).toEqual(left);
  });

  describe('drops first', () => {
    const order = (...turns: readonly Turn[]): readonly number[] => {
      const drops: number[] = [];
      for (let size = turns.length; size >= 1; size--) {
        const kept = trim(ledger(job('a', ...turns)), NOW, (part) => turnsOf(part).length < size);
        const dropped = turns.filter((one) => !turnsOf(kept).some(({ mark }) => mark === one.mark));
        drops.push(...dropped.map(({ startedAt }) => (startedAt - START) / HOUR));
      }
      return [...new Set(drops)];
    };
    const open = { endedAt: null };
    const expiredHour = -67 * 24;

    it('turns that no run can need, then turns that have ended, then the oldest ones', () => {
      expect(
        order(at(12, open), at(11), at(10), at(9, open), at(8, open), at(expiredHour, open)),
      ).toEqual([expiredHour, 10, 11, 8, 9]);
    });

    it('turns that started more than 66 days ago', () => {
      const [old, young] = [at(12 - 66 * 24), at(11 - 65 * 24)];
      const now = START + 12 * HOUR + 1;
      const one = (only: Turn) =>
        trim(ledger(job('a', at(12), only)), now, (part) => turnsOf(part).length < 2).trimmed;
      expect([one(old), one(young)]).toEqual([null, '1']);
      expect(now - young.startedAt).toBeLessThan(66 * DAY);
    });
  });

  it('drops jobs without a message first, in the order in which they were added', () => {
    const unsent = ['x', 'y', 'z'].map((id) => job(id));
    const few = ledger(job('a', at(15), at(11)), ...unsent);
    const to = (limit: number) => trim(few, NOW, (part) => sizeOf(part) <= limit);
    expect(hoursOf(to(5))).toEqual([['a', 15, 11], ['y'], ['z']]);
    expect(hoursOf(to(3))).toEqual([['a', 15, 11]]);
    expect(to(3).trimmed).toBeNull();
    expect(hoursOf(to(2))).toEqual([['a', 15]]);
  });

  describe('remembers the newest run with a dropped turn that may have been sent', () => {
    type Dropped = Pick<Turn, 'delivery' | 'runId'> & Partial<Turn>;
    const trimmedAfter = (trimmed: string | null, ...turns: readonly Dropped[]): string | null => {
      const jobs = [job('a', at(15), ...turns.map((one, index) => at(index, one)))];
      return trim({ jobs, trimmed }, NOW, (part) => turnsOf(part).length === 1).trimmed;
    };
    const expired = { startedAt: NOW - 67 * DAY };

    it.each<[string | null, readonly Dropped[], string | null]>([
      [null, [{ delivery: 'sent', runId: '7' }], '7'],
      [null, [{ delivery: 'unknown', runId: '7' }], '7'],
      [null, [{ delivery: 'sending', runId: '7' }], '7'],
      [null, [{ delivery: 'not-sent', runId: '7' }], null],
      [null, [{ delivery: 'sent', runId: '7', ...expired }], null],
      ['5', [{ delivery: 'not-sent', runId: '7' }], '5'],
      ['9', [{ delivery: 'sent', runId: '7' }], '9'],
      ['9', [{ delivery: 'sent', runId: '10' }], '10'],
      [
        null,
        [
          { delivery: 'sent', runId: '9' },
          { delivery: 'sent', runId: '11' },
          { delivery: 'not-sent', runId: '12' },
          { delivery: 'sent', runId: '10' },
        ],
        '11',
      ],
    ])('%s before, %j: %s', (trimmed, turns, expected) => {
      expect(trimmedAfter(trimmed, ...turns)).toBe(expected);
    });
  });

  it.each([1, 20_000, 42_000])('trims 500 jobs to %i characters in a few steps', (limit) => {
    // Text that does not compress.
    const noise = (n: number): string =>
      Array.from({ length: 30 }, (_, at) => ((n + 1) * (at + 7) * 2_654_435_761).toString(36)).join(
        '',
      );
    const jobs = Array.from({ length: 500 }, (_, n) =>
      job(
        `${noise(n).slice(0, 30)}-${n}`,
        ...[13, 12, 11, 10].map((hour) => at(hour, { prompt: noise(n * 24 + hour), by: `b${n}` })),
      ),
    );
    let steps = 0;
    const fits = (part: Ledger): boolean => {
      steps += 1;
      return encode(part).length <= limit;
    };
    const kept = trim(ledger(...jobs), NOW, fits);
    expect(steps).toBeLessThan(20);
    expect(kept.trimmed).toBe('1');
    // The newest turn stays, even if it does not fit.
    if (limit === 1) expect(turnsOf(kept)).toHaveLength(1);
    else expect(encode(kept).length).toBeLessThanOrEqual(limit);
    if (limit > 1) expect(encode(kept).length).toBeGreaterThan(limit - 1000);
  });
});
