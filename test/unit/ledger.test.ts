import { describe, expect, it } from 'vitest';
import {
  contains,
  fromMarker,
  isUpTo,
  type Ledger,
  type LedgerJob,
  merge,
  ownPart,
  toMarker,
  trim,
} from '../../src/memory/ledger.ts';
import type { Turn, TurnResult } from '../../src/turn.ts';
import { record, turn } from './record.ts';

function ledger(prompt: string): Ledger {
  const asked = { key: 'comment:1:0123456789abcdef', by: 'octocat', prompt } as const;
  const { status, model, source, prLink } = record({ model: null });
  return {
    projectId: 'proj-1',
    jobs: [{ id: 'job-1', record: { status, model, source, prLink }, turns: [turn(asked)] }],
  };
}

it.each(['plain', '-->', '--!>', '<!-- x -->', '}\n-->', '"\\u003e', '\u2028\u0085', '🚀'])(
  'the marker survives the prompt %j',
  (prompt) => {
    const marker = toMarker(ledger(prompt));
    expect(marker.slice(4, -3)).not.toMatch(/[<>\n]|--/);
    expect(fromMarker(`${marker}\nrest`, 'proj-1')).toEqual({
      kind: 'ledger',
      ledger: ledger(prompt),
    });
  },
);

it('what would be true if the run ended now is not remembered', () => {
  const soFar = { result: 'sent', reason: 'The run ended before the agent was done.' } as const;
  const open = turn({ ...soFar, endedAt: null });
  const marker = toMarker({ projectId: 'p', jobs: [{ id: 'job-1', record: null, turns: [open] }] });
  expect(marker).toContain('"result":null');
  expect(fromMarker(marker, 'p')).toMatchObject({
    ledger: { jobs: [{ turns: [{ delivery: 'sent', reason: '', endedAt: null }] }] },
  });
});

it.each([
  ['a reason', '"reason":""', '"reason":"x"'],
  ['a result', '"result":null', '"result":"failed"'],
])('of a turn under way %s that somebody wrote into it is not read', (_, written, forged) => {
  const open = turn({ endedAt: null });
  const marker = toMarker({ projectId: 'p', jobs: [{ id: 'job-1', record: null, turns: [open] }] });
  const changed = marker.replace(written, forged);
  expect(changed).not.toBe(marker);
  expect(fromMarker(changed, 'p')).toEqual(fromMarker(marker, 'p'));
});

it.each([
  ['not at the start', ` ${toMarker(ledger('x'))}`],
  ['nothing', ''],
  ['of another comment of ours', '<!-- agent-follow-up:report x -->'],
])('no ledger: %s', (_, body) => {
  expect(fromMarker(body, 'proj-1')).toEqual({ kind: 'none' });
});

it.each([
  ['cut off', toMarker(ledger('x')).slice(0, -30)],
  ['an earlier version', toMarker(ledger('x')).replace('v1', 'v0')],
  ['an unknown word', toMarker(ledger('x')).replace('"sent"', '"teleported"')],
  [
    'an attempt that no number can hold',
    toMarker(ledger('x')).replace('"runAttempt":"1"', `"runAttempt":"${'9'.repeat(20)}"`),
  ],
  ['a job that is none', toMarker(ledger('x')).replace('job-1', '../x')],
  ['no JSON', '<!-- agent-follow-up:v1 {x} -->'],
])('a ledger that cannot be read: %s', (_, body) => {
  expect(fromMarker(body, 'proj-1')).toEqual({ kind: 'unreadable' });
});

it('is of one project', () => {
  expect(fromMarker(toMarker(ledger('x')), 'proj-2')).toEqual({ kind: 'none' });
});

it('knows one of a later version, whatever else it holds', () => {
  const later = '<!-- agent-follow-up:v2 {"projectId":"proj-1","jobs":"in another form"} -->';
  expect(fromMarker(later, 'proj-1')).toEqual({ kind: 'unreadable' });
  expect(fromMarker(later, 'proj-2')).toEqual({ kind: 'none' });
});

/** Turns by their times, the newest first. */
function job(id: string, ...times: readonly string[]): LedgerJob {
  const at = (time: string) => Date.parse(`2026-11-21T${time}:00.000Z`);
  const turns = times.map((time) => turn({ key: `${id}:${time}`, startedAt: at(time) }));
  return { id, record: null, turns };
}
function withParts({ turns, ...facts }: LedgerJob, parts: Partial<Turn>): LedgerJob {
  return { ...facts, turns: turns.map((turn) => ({ ...turn, ...parts })) };
}
/** Of a job that was not in the status for a message. */
function skipped(id: string, ...times: readonly string[]): LedgerJob {
  return withParts(job(id, ...times), { delivery: 'not-sent', result: 'skipped' });
}
const timeOf = ({ startedAt }: Turn) => new Date(startedAt).toISOString().slice(11, 16);
const keys = ({ jobs }: Ledger) => jobs.map(({ id, turns }) => [id, ...turns.map(timeOf)]);

describe('merge', () => {
  const both = (standing: readonly LedgerJob[], own: readonly LedgerJob[]) =>
    keys(merge({ projectId: 'p', jobs: standing }, { projectId: 'p', jobs: own }));

  it.each<[string, LedgerJob[], LedgerJob[], string[][]]>([
    ['the first job', [], [job('a', '10:00')], [['a', '10:00']]],
    [
      'another job',
      [job('a', '10:00')],
      [job('b', '11:00')],
      [
        ['b', '11:00'],
        ['a', '10:00'],
      ],
    ],
    [
      'an older one',
      [job('a', '12:00')],
      [job('b', '11:00')],
      [
        ['a', '12:00'],
        ['b', '11:00'],
      ],
    ],
    ['a turn more', [job('a', '10:00')], [job('a', '11:00')], [['a', '11:00', '10:00']]],
    ['the same turn', [job('a', '10:00')], [job('a', '10:00')], [['a', '10:00']]],
    ['a job without turns', [job('a')], [job('b', '11:00')], [['b', '11:00']]],
    ['a job whose only turn is skipped', [], [skipped('a', '10:00')], []],
    [
      'a skipped turn of a job that was spoken to',
      [job('a', '10:00')],
      [skipped('a', '11:00')],
      [['a', '10:00']],
    ],
    [
      'a turn that was noted before it was skipped',
      [withParts(job('a', '10:00'), { delivery: 'sending' })],
      [skipped('a', '10:00')],
      [],
    ],
  ])('of %s', (_, standing, own, merged) => {
    expect(both(standing, own)).toEqual(merged);
  });

  type End = TurnResult | null;
  it.each<[End, End, End]>([
    ['completed', 'sent', 'completed'],
    ['failed', 'sent', 'failed'],
    ['timed-out', 'sent', 'sent'],
    [null, 'sent', 'sent'],
    ['sent', 'completed', 'completed'],
    ['failed', 'completed', 'completed'],
  ])('does not forget how a turn ended: %s, then %s', (before, now, kept) => {
    const ended = (result: End): Ledger => {
      // Of one that is under way `result` says what is true if the run ends now.
      const parts = result === null ? ({ result: 'sent', endedAt: null } as const) : { result };
      return { projectId: 'p', jobs: [withParts(job('a', '10:00'), parts)] };
    };
    const merged = merge(ended(before), ended(now));
    expect(merged).toEqual(ended(kept));
  });

  it.each([
    [undefined, undefined, undefined],
    ['9', undefined, '9'],
    [undefined, '9', '9'],
    ['9', '10', '10'],
    ['10', '9', '10'],
  ])('keeps the newer of what is forgotten: %s and %s', (standing, own, forgotten) => {
    const both = (run: string | undefined): Ledger => ({
      projectId: 'p',
      jobs: [],
      forgotten: run,
    });
    expect(merge(both(standing), both(own)).forgotten).toBe(forgotten);
  });
});

describe('trim drops', () => {
  const full: Ledger = {
    projectId: 'p',
    jobs: [job('a', '15:00', '11:00'), job('b', '14:00', '12:00', '10:00'), job('c', '13:00')],
  };
  const count = ({ jobs }: Ledger): number =>
    jobs.reduce((sum, { turns }) => sum + 1 + turns.length, 0);

  it.each([
    [
      9,
      'nothing',
      [
        ['a', '15:00', '11:00'],
        ['b', '14:00', '12:00', '10:00'],
        ['c', '13:00'],
      ],
    ],
    [
      8,
      'the oldest turn',
      [
        ['a', '15:00', '11:00'],
        ['b', '14:00', '12:00'],
        ['c', '13:00'],
      ],
    ],
    [
      7,
      'then the next',
      [
        ['a', '15:00'],
        ['b', '14:00', '12:00'],
        ['c', '13:00'],
      ],
    ],
    [
      6,
      'but the last of none',
      [
        ['a', '15:00'],
        ['b', '14:00'],
        ['c', '13:00'],
      ],
    ],
    [
      5,
      'then a whole job',
      [
        ['a', '15:00'],
        ['b', '14:00'],
      ],
    ],
    [1, 'and never the newest', [['a', '15:00']]],
  ])('to a length of %i: %s', (limit, _, left) => {
    const { ledger: kept, text } = trim(full, (part) => 'x'.repeat(count(part)), limit);
    expect(keys(kept)).toEqual(left);
    expect(text).toHaveLength(count(kept));
  });
});

describe('of our own turns', () => {
  const own: Ledger = {
    projectId: 'p',
    jobs: [job('a', '12:00'), job('b', '12:00'), skipped('c', '12:00')],
  };
  const changed = (id: string, time: string): LedgerJob =>
    withParts(job(id, time), { prompt: 'another' });

  it.each<[string, readonly LedgerJob[], boolean, string[][]]>([
    [
      'all of them, among others',
      [job('a', '13:00', '12:00'), job('b', '12:00', '11:00'), job('d', '10:00')],
      true,
      [
        ['a', '12:00'],
        ['b', '12:00'],
        ['c', '12:00'],
      ],
    ],
    [
      'all, and an earlier turn of what we skipped',
      [job('a', '12:00'), job('b', '12:00'), job('c', '11:00')],
      true,
      [
        ['a', '12:00'],
        ['b', '12:00'],
        ['c', '12:00'],
      ],
    ],
    [
      'and the one that we skipped',
      [job('a', '12:00'), job('b', '12:00'), job('c', '12:00')],
      false,
      [
        ['a', '12:00'],
        ['b', '12:00'],
        ['c', '12:00'],
      ],
    ],
    [
      'a turn is missing',
      [job('a', '12:00'), job('b', '11:00')],
      false,
      [['a', '12:00'], ['b'], ['c', '12:00']],
    ],
    ['a job is missing', [job('a', '12:00')], false, [['a', '12:00'], ['b'], ['c', '12:00']]],
    [
      'a turn was changed',
      [changed('a', '12:00'), job('b', '12:00')],
      false,
      [
        ['a', '12:00'],
        ['b', '12:00'],
        ['c', '12:00'],
      ],
    ],
  ])('%s', (_, jobs, isThere, part) => {
    const kept = { projectId: 'p', jobs };
    expect(contains(kept, own)).toBe(isThere);
    expect(keys(ownPart(kept, own))).toEqual(part);
  });

  it('what is kept of them is as it is kept', () => {
    const kept = { projectId: 'p', jobs: [changed('a', '12:00')], forgotten: '7' };
    const [first] = ownPart(kept, own).jobs;
    expect(first?.turns).toEqual(changed('a', '12:00').turns);
    expect(contains(kept, ownPart(kept, own))).toBe(true);
  });
});

it.each([
  [undefined, undefined, true],
  [undefined, '1', true],
  ['1', undefined, false],
  ['', '1', true],
  ['9', '10', true],
  ['10', '9', false],
  ['12345678901234567890', '12345678901234567891', true],
])('run %s is no newer than %s: %s', (run, other, expected) => {
  expect(isUpTo(run, other)).toBe(expected);
});

describe('trim', () => {
  const prompts = ({ jobs }: Ledger): string =>
    jobs.flatMap(({ turns }) => turns.map(({ prompt }) => prompt)).join('');
  const short = `${'p'.repeat(79)}…`;

  it.each([
    [600, 'nothing', []],
    [599, 'the oldest turn', ['10:00']],
    [580, 'that is enough', ['10:00']],
    [540, 'the older turns of all jobs', ['10:00', '11:00', '12:00']],
    [520, 'then the newest turn of the job that is oldest', ['10:00', '11:00', '12:00', '13:00']],
    [480, 'at last all', ['10:00', '11:00', '12:00', '13:00', '14:00', '15:00']],
  ])('to a length of %i shortens prompts: %s', (limit, _, shortened) => {
    const full = {
      projectId: 'p',
      jobs: [job('a', '15:00', '11:00'), job('b', '14:00', '12:00', '10:00'), job('c', '13:00')],
    };
    const long = full.jobs.map((one) => withParts(one, { prompt: 'p'.repeat(100) }));
    const { ledger: kept } = trim({ projectId: 'p', jobs: long }, prompts, limit);
    expect(keys(kept)).toEqual(keys(full));
    const turns = kept.jobs.flatMap((one) => one.turns);
    expect(
      turns
        .filter(({ prompt }) => prompt === short)
        .map(timeOf)
        .sort(),
    ).toEqual(shortened);
    expect(kept.forgotten).toBeUndefined();
  });

  it('drops nothing as long as a prompt can be shortened', () => {
    const jobs = [job('a', '15:00', '11:00'), job('c', '13:00')];
    const long = jobs.map((one) => withParts(one, { prompt: 'p'.repeat(100) }));
    const full = { projectId: 'p', jobs: long };
    expect(keys(trim(full, prompts, 240).ledger)).toEqual(keys(full));
    expect(keys(trim(full, prompts, 239).ledger)).toEqual([
      ['a', '15:00'],
      ['c', '13:00'],
    ]);
  });

  it('leaves no half of a character', () => {
    const jobs = [withParts(job('a', '10:00'), { prompt: '\u{1f680}'.repeat(50) })];
    expect(prompts(trim({ projectId: 'p', jobs }, prompts, 80).ledger)).toBe(
      `${'\u{1f680}'.repeat(39)}\ufffd…`,
    );
  });

  describe('remembers the newest run of which it drops what may have been sent', () => {
    const dropped = (
      forgotten: string | undefined,
      ...turns: readonly Pick<Turn, 'delivery' | 'runId'>[]
    ): string | undefined => {
      const { turns: times, ...facts } = job('a', '15:00', ...turns.map((_, i) => `1${i}:00`));
      const all = times.map((one, index) => ({ ...one, ...turns[index - 1] }));
      const full = { projectId: 'p', jobs: [{ ...facts, turns: all }], forgotten };
      return trim(full, ({ jobs }) => 'x'.repeat(jobs[0]?.turns.length ?? 0), 1).ledger.forgotten;
    };

    it.each<[string | undefined, Parameters<typeof dropped>[1][], string | undefined]>([
      [undefined, [{ delivery: 'sent', runId: '7' }], '7'],
      [undefined, [{ delivery: 'unknown', runId: '7' }], '7'],
      [undefined, [{ delivery: 'sending', runId: '7' }], '7'],
      [undefined, [{ delivery: 'not-sent', runId: '7' }], undefined],
      ['5', [{ delivery: 'not-sent', runId: '7' }], '5'],
      ['9', [{ delivery: 'sent', runId: '7' }], '9'],
      ['9', [{ delivery: 'sent', runId: '10' }], '10'],
      [
        undefined,
        [
          { delivery: 'sent', runId: '9' },
          { delivery: 'sent', runId: '11' },
          { delivery: 'not-sent', runId: '12' },
          { delivery: 'sent', runId: '10' },
        ],
        '11',
      ],
    ])('%s before, %j: %s', (forgotten, turns, expected) => {
      expect(dropped(forgotten, ...turns)).toBe(expected);
    });
  });

  it.each([1, 60_000, 1_000_000])('takes 500 jobs to %i characters in a few steps', (limit) => {
    const turns = Array.from({ length: 4 }, (_, hour) => `1${hour}:00`).toReversed();
    const hostile = '<!-- --> "\\\n\u2028\u{1f680}`'.repeat(60);
    const jobs = Array.from({ length: 500 }, (_, index) =>
      withParts(job(`${'j'.repeat(253)}${index}`.slice(-256), ...turns), { prompt: hostile }),
    );
    let renders = 0;
    const render = (part: Ledger): string => {
      renders += 1;
      return toMarker(part);
    };
    const full = { projectId: 'p', jobs };
    const { ledger: kept, text } = trim(full, render, limit);
    expect(text).toBe(toMarker(kept));
    expect(renders).toBeLessThan(20);
    expect(kept.jobs[0]?.turns.map(timeOf)[0]).toBe('13:00');
    // What is newest stays, whatever it takes.
    if (limit === 1) expect(keys(kept).map((times) => times.slice(1))).toEqual([['13:00']]);
    else expect(text.length).toBeLessThanOrEqual(limit);
    if (limit > 1) expect(text.length).toBeGreaterThan(limit - 3000);
  });
});
