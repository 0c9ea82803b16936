import { describe, expect, it } from 'vitest';
import {
  fromMarker,
  type Ledger,
  type LedgerJob,
  merge,
  toMarker,
  trim,
} from '../../src/github/ledger.ts';

function ledger(prompt: string): Ledger {
  return {
    projectId: 'proj-1',
    jobs: [
      {
        id: 'job-1',
        status: 'completed',
        model: null,
        repository: null,
        ref: null,
        prLink: null,
        turns: [
          {
            key: 'comment:1:0123456789abcdef',
            by: 'octocat',
            prompt,
            delivery: 'sent',
            outcome: null,
            confirmed: null,
            prLinkChange: 'none',
            reason: '',
            startedAt: '2026-11-21T12:00:00.000Z',
            sentAt: null,
            base: null,
            evidence: false,
            elapsedSeconds: 1.5,
            runId: '1',
            runAttempt: '1',
          },
        ],
      },
    ],
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
  const facts = { status: null, model: null, repository: null, ref: null, prLink: null };
  const [turn] = ledger('x').jobs[0]?.turns ?? [];
  if (turn === undefined) throw new Error('a ledger of this test has a turn');
  const at = (time: string) => `2026-11-21T${time}:00.000Z`;
  return {
    ...{ id, ...facts },
    turns: times.map((time) => ({ ...turn, key: `${id}:${time}`, startedAt: at(time) })),
  };
}
const keys = ({ jobs }: Ledger) =>
  jobs.map(({ id, turns }) => [id, ...turns.map(({ startedAt }) => startedAt.slice(11, 16))]);

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
  ])('of %s', (_, standing, own, merged) => {
    expect(both(standing, own)).toEqual(merged);
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
