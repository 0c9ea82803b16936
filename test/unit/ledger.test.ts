import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decode, encode } from '../../src/memory/data.ts';
import {
  contains,
  EMPTY,
  findJob,
  followsClosely,
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

/** A turn that began some hours after the first ones do; its mark says when, unless it has another. */
function at(hour: number, parts: Partial<Turn> = {}): Turn {
  return turn({ mark: `at-${hour}`, startedAt: START + hour * HOUR, ...parts });
}

/** Jobs and when their turns began, in their order. */
function hoursOf({ jobs }: Ledger): readonly (readonly [string, ...number[]])[] {
  return jobs.map(({ id, turns }) => [
    id,
    ...turns.map(({ startedAt }) => (startedAt - START) / HOUR),
  ]);
}

describe('unite brings together', () => {
  it.each<[string, readonly LedgerJob[], readonly LedgerJob[], ReturnType<typeof hoursOf>]>([
    ['the first job', [], [job('a', at(10))], [['a', 10]]],
    [
      'another job, the newest first',
      [job('a', at(10))],
      [job('b', at(11))],
      [
        ['b', 11],
        ['a', 10],
      ],
    ],
    [
      'an older one',
      [job('a', at(12))],
      [job('b', at(11))],
      [
        ['a', 12],
        ['b', 11],
      ],
    ],
    ['a turn more', [job('a', at(10))], [job('a', at(11))], [['a', 11, 10]]],
    ['an older turn', [job('a', at(11))], [job('a', at(10))], [['a', 11, 10]]],
    ['the same turn', [job('a', at(10))], [job('a', at(10))], [['a', 10]]],
    [
      'two turns that began at the same time',
      [job('a', at(10, { mark: 'y' }))],
      [job('a', at(10, { mark: 'x' }))],
      [['a', 10, 10]],
    ],
    [
      'a job without a message, which stands last',
      [job('a')],
      [job('b', at(11))],
      [['b', 11], ['a']],
    ],
  ])('%s', (_, one, other, united) => {
    expect(hoursOf(unite([ledger(...one), ledger(...other)]))).toEqual(united);
  });

  it('nothing, where there is nothing', () => {
    expect(unite([])).toEqual(EMPTY);
  });

  it.each([
    [null, null, null],
    ['9', null, '9'],
    [null, '9', '9'],
    ['9', '10', '10'],
    ['10', '9', '10'],
  ])('what was dropped: up to run %s, and up to run %s', (one, other, trimmed) => {
    const ledgers = [one, other].map((run) => ({ ...EMPTY, trimmed: run }));
    expect(unite(ledgers).trimmed).toBe(trimmed);
  });

  it('of records the last one that is there', () => {
    const saw = (status: string | null): Ledger => {
      const record = status && { status, model: null, source: null, prLink: null };
      return ledger({ id: 'a', record: record || null, turns: [] });
    };
    expect(unite([saw('active'), saw('failed'), saw(null)]).jobs[0]?.record?.status).toBe('failed');
    expect(unite([saw(null)]).jobs[0]?.record).toBeNull();
  });
});

describe('of copies of a turn', () => {
  type Copy = Pick<Turn, 'delivery'> & Partial<Turn>;
  const kept = (...copies: readonly Copy[]): Turn | undefined =>
    unite(copies.map((copy) => ledger(job('a', turn(copy))))).jobs[0]?.turns[0];

  it.each<[string, Copy, Copy]>([
    ['what comes later', { delivery: 'sending', writes: 1 }, { delivery: 'sent', writes: 2 }],
    ['a refusal', { delivery: 'sending', writes: 1 }, { delivery: 'not-sent', writes: 2 }],
    ['a doubt', { delivery: 'sent', writes: 1 }, { delivery: 'unknown', writes: 2 }],
    ['more than nine', { delivery: 'sending', writes: 9 }, { delivery: 'sent', writes: 10 }],
  ])('by one process the one that it wrote last counts: %s', (_, before, after) => {
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
      'its end',
      { delivery: 'sent', result: 'failed' },
      'a wait that ended before',
      { delivery: 'sent', result: 'timed-out' },
    ],
  ])('of two attempts %s counts more than %s', (_, more, __, less) => {
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

  it('of equal ones of two attempts the later counts', () => {
    const first = { delivery: 'not-sent', attempt: 1, owner: 'p', writes: 9 } as const;
    const second = { delivery: 'not-sent', attempt: 2, owner: 'q', writes: 1 } as const;
    expect(kept(first, second)).toMatchObject(second);
    expect(kept(second, first)).toMatchObject(second);
  });
});

describe('copies of a ledger, whoever brings them together, in whatever order', () => {
  /** Few of them show an order that matters. */
  const RUNS = { numRuns: 2000 };
  const MARKS = ['m', 'n'];
  const JOBS = ['a', 'b'];
  const DELIVERIES = ['not-sent', 'sending', 'unknown', 'sent'] as const;

  /** The copies that a process has written of a turn, the first of them first. */
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
  /** A doubt may end in a refusal, and a refused message may be tried again; what is out stays out. */
  const plausible = anyOrder.map((all) => {
    const sent = all.indexOf('sent');
    return sent === -1 ? all : all.map((delivery, index) => (index < sent ? delivery : 'sent'));
  });
  /** By up to four processes in up to three attempts: two uses of a step may have taken the same turn. */
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

  /** The order of jobs that began at the same time is nobody's concern. */
  function sorted({ jobs, trimmed }: Ledger): Ledger {
    return { jobs: jobs.toSorted((one, other) => (one.id < other.id ? -1 : 1)), trimmed };
  }

  it('say the same', () => {
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

  it('never make less of what may be out', () => {
    fc.assert(
      fc.property(ledgers, (all) => {
        const united = unite(all);
        for (const { id, turns } of united.jobs) {
          for (const one of turns) {
            const others = all.flatMap((copy) =>
              (findJob(copy, id)?.turns ?? []).filter(({ mark }) => mark === one.mark),
            );
            // Only who has written it himself may take it back.
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

describe('a copy that counts less', () => {
  const mine = at(1, { mark: 'm', owner: 'p', writes: 1, delivery: 'unknown', endedAt: null });
  const theirs = at(1, { mark: 'm', owner: 'q', writes: 1, delivery: 'sending', endedAt: null });
  const refused: Turn = { ...mine, writes: 2, delivery: 'not-sent' };
  const both = unite([ledger(job('a', mine)), ledger(job('a', theirs))]);
  const counting = ({ jobs: [first] }: Ledger) =>
    first?.turns.map(({ owner, delivery }) => `${owner} ${delivery}`);

  it('counts again where the message of the other was refused', () => {
    expect(counting(both)).toEqual(['p unknown']);
    expect(counting(unite([both, ledger(job('a', refused))]))).toEqual(['q sending']);
  });

  it('counts again without what a process knows better itself', () => {
    expect(counting(withoutOwner(both, 'p'))).toEqual(['q sending']);
    expect(counting(withoutOwner(both, 'q'))).toEqual(['p unknown']);
  });

  it('stands in the comment as well', () => {
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

  it('is forgotten once the message is out', () => {
    const sent = ledger(job('a', { ...theirs, writes: 2, delivery: 'sent' }));
    expect(unite([both, sent]).jobs[0]?.others).toBeUndefined();
  });
});

describe('isOvertaken', () => {
  const own = turn({ sentAt: START + HOUR });
  const other = (parts: Partial<Turn>): Turn => turn({ mark: 'other', sentAt: null, ...parts });
  const open = { endedAt: null };

  it.each<[string, Turn, Turn, boolean]>([
    ['by itself', own, own, false],
    ['by nothing that was sent before', own, other({ sentAt: START + HOUR - 1 }), false],
    ['by what was sent since', own, other({ sentAt: START + HOUR + 1 }), true],
    [
      'by none that was not sent',
      own,
      other({ delivery: 'not-sent', endedAt: START + 2 * HOUR }),
      false,
    ],
    [
      'by one whose fate is not known',
      own,
      other({ delivery: 'unknown', endedAt: START + 2 * HOUR }),
      true,
    ],
    [
      'by none whose fate was not known before',
      own,
      other({ delivery: 'unknown', endedAt: START }),
      false,
    ],
    [
      'by one that may be under way',
      own,
      other({ ...open, delivery: 'sending', startedAt: START + 1 }),
      true,
    ],
    [
      'by none that was announced more than an hour before',
      own,
      other({ ...open, delivery: 'sending', startedAt: START }),
      false,
    ],
    [
      'by what was sent since it began, if it is not known when it was sent',
      { ...own, sentAt: null },
      other({ sentAt: START + 1 }),
      true,
    ],
  ])('%s', (_, one, two, expected) => {
    expect(isOvertaken(one, [two, one])).toBe(expected);
  });
});

describe('followsClosely', () => {
  const MINUTE = 60_000;
  const own = turn({ startedAt: START + HOUR - 1, sentAt: START + HOUR });
  const other = (sentAt: number | null, parts: Partial<Turn> = {}): Turn =>
    turn({ mark: 'other', sentAt, result: 'sent', endedAt: sentAt, ...parts });

  it.each<[string, Turn, boolean]>([
    ['itself', own, false],
    ['what was sent less than a minute before', other(START + HOUR - MINUTE + 1), true],
    ['nothing that was sent a minute before', other(START + HOUR - MINUTE), false],
    ['nothing that was sent since', other(START + HOUR + 1), false],
    ['none that was not sent', other(START + HOUR - 2, { delivery: 'not-sent' }), false],
    [
      'none whose end was seen before it began',
      other(START + HOUR - 9, { result: 'completed', endedAt: START + HOUR - 2 }),
      false,
    ],
    [
      'one whose end was seen later',
      other(START + HOUR - 9, { result: 'completed', endedAt: START + HOUR }),
      true,
    ],
    ['one that is still worked on', other(START + HOUR - 9, { endedAt: null }), true],
    [
      'one that was announced',
      other(null, { delivery: 'sending', startedAt: START + HOUR - 9 }),
      true,
    ],
    [
      'one whose fate is not known',
      other(null, { delivery: 'unknown', endedAt: START + HOUR - 9 }),
      true,
    ],
  ])('%s', (_, one, expected) => {
    expect(followsClosely(own, [one, own])).toBe(expected);
  });
});

it.each([
  ['1', '1', true],
  ['', '1', true],
  ['9', '10', true],
  ['10', '9', false],
  ['12345678901234567890', '12345678901234567891', true],
  ['12345678901234567891', '12345678901234567890', false],
])('run %s is no newer than %s: %s', (run, other, expected) => {
  expect(isSameOrOlderRun(run, other)).toBe(expected);
});

it('without its owner a ledger keeps the jobs, and the turns of all others', () => {
  const [mine, theirs] = [turn({ owner: 'me' }), turn({ mark: 'other', owner: 'them' })];
  const full = { ...ledger(job('a', mine, theirs), job('b', mine)), trimmed: '7' };
  expect(withoutOwner(full, 'me')).toEqual({ ...ledger(job('a', theirs), job('b')), trimmed: '7' });
});

describe('of our own turns', () => {
  const mine = (parts: Partial<Turn> = {}): Turn => turn({ writes: 3, ...parts });
  const own = ledger(job('a', mine()), job('b', mine()), job('c'));
  const marksOf = ({ jobs }: Ledger) => jobs.map(({ id, turns }) => [id, turns.length]);

  it.each<[string, readonly LedgerJob[], boolean, readonly unknown[]]>([
    [
      'all are there, among others',
      [job('a', turn({ mark: 'other' }), mine()), job('b', mine()), job('c'), job('d')],
      true,
      [
        ['a', 1],
        ['b', 1],
        ['c', 0],
      ],
    ],
    [
      'one is there as it was written later',
      [job('a', mine({ writes: 4 })), job('b', mine()), job('c', turn())],
      true,
      [
        ['a', 1],
        ['b', 1],
        ['c', 0],
      ],
    ],
    [
      'one is there as it was written before',
      [job('a', mine({ writes: 2 })), job('b', mine()), job('c')],
      false,
      [
        ['a', 0],
        ['b', 1],
        ['c', 0],
      ],
    ],
    [
      'one has another owner by now',
      [job('a', mine({ owner: 'later' })), job('b', mine()), job('c')],
      false,
      [
        ['a', 0],
        ['b', 1],
        ['c', 0],
      ],
    ],
    [
      'one is missing',
      [job('a', mine()), job('b'), job('c')],
      false,
      [
        ['a', 1],
        ['b', 0],
        ['c', 0],
      ],
    ],
    [
      'one is that of another job',
      [job('a', mine()), job('c', mine())],
      false,
      [
        ['a', 1],
        ['c', 0],
      ],
    ],
    [
      'a job without any is missing',
      [job('a', mine()), job('b', mine())],
      false,
      [
        ['a', 1],
        ['b', 1],
      ],
    ],
  ])('%s', (_, jobs, isThere, part) => {
    const other = ledger(...jobs);
    expect(contains(other, own)).toBe(isThere);
    expect(marksOf(intersect(own, other))).toEqual(part);
    expect(contains(other, intersect(own, other))).toBe(true);
  });

  it('a record is no turn: it may be another one by now', () => {
    const record: LedgerRecord = { status: 'failed', model: null, source: null, prLink: null };
    const seen = ledger({ ...job('a', mine()), record });
    expect(contains(ledger(job('a', mine())), seen)).toBe(true);
  });

  it('what is trimmed is part of it', () => {
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

  it('leaves what fits as it is', () => {
    expect(trim(full, NOW, () => true)).toEqual(full);
    expect(trim(EMPTY, NOW, () => true)).toEqual(EMPTY);
    expect(trim(EMPTY, NOW, () => false)).toEqual(EMPTY);
  });

  it.each([
    [600, 'nothing', []],
    [599, 'the oldest', [10]],
    [580, 'that is enough', [10]],
    [579, 'the older ones, whatever their jobs', [10, 11]],
    [520, 'and so on', [10, 11, 12, 13]],
    [480, 'at last all', [10, 11, 12, 13, 14, 15]],
  ])('to %i characters shortens prompts: %s', (limit, _, shortened) => {
    const kept = trim(full, NOW, (part) => promptsOf(part).length <= limit);
    expect(hoursOf(kept)).toEqual(hoursOf(full));
    expect(kept.trimmed).toBeNull();
    const short = turnsOf(kept).filter(({ prompt }) => prompt === SHORT);
    expect(short.map(({ startedAt }) => (startedAt - START) / HOUR).sort()).toEqual(shortened);
  });

  it('leaves no half of a character', () => {
    const rockets = ledger(job('a', at(10, { prompt: '\u{1f680}'.repeat(50) })));
    const kept = trim(rockets, NOW, (part) => promptsOf(part).length <= 80);
    expect(promptsOf(kept)).toBe(`${'\u{1f680}'.repeat(39)}\ufffd…`);
  });

  it('drops nothing as long as a prompt can be shortened', () => {
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
      'nothing',
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
      'then the next ones',
      [
        ['a', 15],
        ['b', 14],
        ['c', 13],
      ],
    ],
    [
      5,
      'the last one of a job with the job',
      [
        ['a', 15],
        ['b', 14],
      ],
    ],
    [0, 'and never the newest', [['a', 15]]],
  ])('to a size of %i drops turns: %s', (limit, _, left) => {
    expect(hoursOf(trim(full, NOW, (part) => sizeOf(part) <= limit))).toEqual(left);
  });

  describe('drops first', () => {
    const order = (...turns: readonly Turn[]): readonly number[] => {
      const drops: number[] = [];
      for (let size = turns.length; size >= 1; size--) {
        const kept = trim(ledger(job('a', ...turns)), NOW, (part) => turnsOf(part).length < size);
        const gone = turns.filter((one) => !turnsOf(kept).some(({ mark }) => mark === one.mark));
        drops.push(...gone.map(({ startedAt }) => (startedAt - START) / HOUR));
      }
      return [...new Set(drops)];
    };
    const open = { endedAt: null };
    const ages = -67 * 24;

    it('what no run can need any more, then what has ended, then the oldest', () => {
      expect(order(at(12, open), at(11), at(10), at(9, open), at(8, open), at(ages, open))).toEqual(
        [ages, 10, 11, 8, 9],
      );
    });

    it('what began 66 days ago, and no sooner', () => {
      const [old, young] = [at(12 - 66 * 24), at(11 - 65 * 24)];
      const now = START + 12 * HOUR + 1;
      const one = (only: Turn) =>
        trim(ledger(job('a', at(12), only)), now, (part) => turnsOf(part).length < 2).trimmed;
      expect([one(old), one(young)]).toEqual([null, '1']);
      expect(now - young.startedAt).toBeLessThan(66 * DAY);
    });
  });

  it('drops jobs without a message before any message, those seen first before the others', () => {
    const seen = ['x', 'y', 'z'].map((id) => job(id));
    const few = ledger(job('a', at(15), at(11)), ...seen);
    const to = (limit: number) => trim(few, NOW, (part) => sizeOf(part) <= limit);
    expect(hoursOf(to(5))).toEqual([['a', 15, 11], ['y'], ['z']]);
    expect(hoursOf(to(3))).toEqual([['a', 15, 11]]);
    expect(to(3).trimmed).toBeNull();
    expect(hoursOf(to(2))).toEqual([['a', 15]]);
  });

  describe('remembers the newest run of which it drops what may have been sent', () => {
    type Dropped = Pick<Turn, 'delivery' | 'runId'> & Partial<Turn>;
    const of = (trimmed: string | null, ...turns: readonly Dropped[]): string | null => {
      const jobs = [job('a', at(15), ...turns.map((one, index) => at(index, one)))];
      return trim({ jobs, trimmed }, NOW, (part) => turnsOf(part).length === 1).trimmed;
    };
    const ancient = { startedAt: NOW - 67 * DAY };

    it.each<[string | null, readonly Dropped[], string | null]>([
      [null, [{ delivery: 'sent', runId: '7' }], '7'],
      [null, [{ delivery: 'unknown', runId: '7' }], '7'],
      [null, [{ delivery: 'sending', runId: '7' }], '7'],
      [null, [{ delivery: 'not-sent', runId: '7' }], null],
      [null, [{ delivery: 'sent', runId: '7', ...ancient }], null],
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
      expect(of(trimmed, ...turns)).toBe(expected);
    });
  });

  it.each([1, 20_000, 42_000])('takes 500 jobs to %i characters in a few steps', (limit) => {
    // Nothing that can be made smaller.
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
    // What is newest stays, whatever it takes.
    if (limit === 1) expect(turnsOf(kept)).toHaveLength(1);
    else expect(encode(kept).length).toBeLessThanOrEqual(limit);
    if (limit > 1) expect(encode(kept).length).toBeGreaterThan(limit - 1000);
  });
});
