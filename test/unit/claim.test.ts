import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Claim } from '../../src/github/reactions.ts';
import { findEarlier, findHolder } from '../../src/memory/claim.ts';
import type { Ledger } from '../../src/memory/ledger.ts';
import type { Turn } from '../../src/turn.ts';
import { job, ledger, START, turn } from './record.ts';

/** A turn of a step that has not ended. By default, its owner has the same name as its mark. */
function open(mark: string, parts: Partial<Turn> = {}): Turn {
  return turn({ mark, owner: mark, endedAt: null, ...parts });
}

function command(mark: string, parts: Partial<Turn> = {}): Turn {
  return open(mark, { origin: 'comment:7', runId: mark, ...parts });
}

describe('findEarlier returns for a step', () => {
  const own = open('own', { attempt: 3, leg: 'leg', prompt: 'Go.', startedAt: START + 9000 });
  const early = (mark: string, parts: Partial<Turn> = {}): Turn =>
    open(mark, { leg: 'leg', prompt: 'Go.', ...parts });
  const later = { startedAt: START + 1 };
  const other = { leg: 'another' };

  it.each<[string, readonly Turn[], string | null]>([
    ['nothing if no turns exist', [], null],
    ['no turn of another step', [early('a', { origin: 'run:1:job:other' })], null],
    ['no turn of a command', [early('a', { origin: 'comment:7' })], null],
    [
      'no turn that another use of the step has in this attempt',
      [early('a', { attempt: 3 })],
      null,
    ],
    [
      'a turn of its own leg that another leg without a turn has continued in this attempt',
      [early('a', { attempt: 3, ownerLeg: 'another' })],
      'a',
    ],
    [
      'a turn with its own prompt that another use without a turn has continued in this attempt',
      [early('a', { attempt: 3, ownerPromptHash: 'another' })],
      'a',
    ],
    [
      'a turn with its prompt that another leg with another prompt has continued in this attempt',
      [early('a', { ...other, attempt: 3, ownerLeg: 'third', ownerPromptHash: 'another' })],
      'a',
    ],
    [
      'no turn that a use with the same prompt already has in this attempt',
      [early('a', { attempt: 3, prompt: 'Stop.' })],
      null,
    ],
    ['no turn that another leg has in this attempt', [early('a', { ...other, attempt: 3 })], null],
    ['the only turn', [early('a')], 'a'],
    ['the only turn, even with another prompt', [early('a', { prompt: 'Go, at 12:01.' })], 'a'],
    ['the only turn, even of another leg', [early('a', other)], 'a'],
    [
      'a turn of any earlier attempt',
      [early('a', { attempt: 3 }), early('b', { attempt: 1, ...later })],
      'b',
    ],
    ['the turn that started first', [early('b', later), early('a')], 'a'],
    [
      'the turn of the latest attempt, because a lost runner can write late that an earlier one sent nothing',
      [early('a', { delivery: 'not-sent' }), early('b', { attempt: 2, ...later })],
      'b',
    ],
    [
      'the turn of the latest attempt, even of another leg',
      [early('a', { ...other, delivery: 'not-sent' }), early('b', { ...other, attempt: 2 })],
      'b',
    ],
    [
      'a turn with the same prompt instead of the first turn',
      [early('a', { prompt: 'Stop.' }), early('b', later)],
      'b',
    ],
    [
      'a turn with the same prompt instead of a prompt that only begins the same',
      [early('a', { promptHash: 'of another end' }), early('b', later)],
      'b',
    ],
    [
      'the first turn with the same prompt, even if a later one was not sent',
      [early('a'), early('b', { delivery: 'not-sent', ...later })],
      'a',
    ],
    [
      'a turn that was sent instead of the first turn, if both have the same prompt',
      [early('a', { delivery: 'not-sent' }), early('b', later)],
      'b',
    ],
    [
      'a turn that was sent instead of one of a later attempt',
      [early('a', { attempt: 2, delivery: 'not-sent' }), early('b', later)],
      'b',
    ],
    [
      'a turn with the same prompt instead of one that was not sent, if both are of other legs',
      [
        early('a', { ...other, prompt: 'Stop.', delivery: 'not-sent' }),
        early('b', { ...other, ...later }),
      ],
      'b',
    ],
    [
      'a turn of the same leg instead of one with the same prompt',
      [early('a', other), early('b', { prompt: 'Stop.', ...later })],
      'b',
    ],
    [
      'a turn of the same leg and prompt instead of one of another leg that was not sent',
      [early('a', { ...other, delivery: 'not-sent' }), early('b', later)],
      'b',
    ],
    [
      'a turn that was not sent, if all are of other legs',
      [early('a', other), early('b', { ...other, ...later, delivery: 'not-sent' })],
      'b',
    ],
    [
      'any other turn instead of a withdrawn one',
      [
        early('a', { delivery: 'not-sent', result: 'skipped', endedAt: START }),
        early('b', { ...other, ...later }),
      ],
      'b',
    ],
    [
      'a withdrawn turn if it is the only one',
      [early('a', { delivery: 'not-sent', result: 'skipped', endedAt: START })],
      'a',
    ],
    [
      'the first turn that is still free, if uses with the same leg and prompt took others',
      [early('a', { attempt: 3 }), early('c', { startedAt: START + 2 }), early('b', later)],
      'b',
    ],
  ])('%s', (_, turns, mark) => {
    expect(findEarlier(turns, own)?.mark ?? null).toBe(mark);
    expect(findEarlier(turns.toReversed(), own)?.mark ?? null).toBe(mark);
  });

  it('nothing in the first attempt', () => {
    expect(findEarlier([early('a')], { ...own, attempt: 1 })).toBeNull();
  });
});

describe('findEarlier returns for a command', () => {
  const own = command('own', { startedAt: START + 9000 });

  it.each<[string, readonly Turn[], string | null]>([
    ['nothing if no turns exist', [], null],
    ['no turn of another comment', [command('a', { origin: 'comment:8' })], null],
    [
      'no turn of a review comment with the same ID',
      [command('a', { origin: 'review-comment:7' })],
      null,
    ],
    ['no turn of a step', [open('a')], null],
    ['the turn of the same attempt of another run', [command('a')], 'a'],
    ['the turn of a later attempt of another run', [command('a', { attempt: 3 })], 'a'],
    [
      'the turn with the strongest evidence that it was sent',
      [
        command('a', { delivery: 'not-sent' }),
        command('b', { delivery: 'sending' }),
        command('c', { delivery: 'unknown' }),
        command('d', { delivery: 'sent', startedAt: START + 1 }),
      ],
      'd',
    ],
    [
      'the first of several turns with equal evidence',
      [command('b', { startedAt: START + 1 }), command('a')],
      'a',
    ],
  ])('%s', (_, turns, mark) => {
    expect(findEarlier(turns, own)?.mark ?? null).toBe(mark);
    expect(findEarlier(turns.toReversed(), own)?.mark ?? null).toBe(mark);
  });
});

const JOB = 'a';
const CLAIMS: readonly Claim[] = ['ours', 'taken', 'failed', 'refused', 'none'];

/** Versions of a comment, each with the given turns of the job. */
function versions(...all: readonly (readonly Turn[])[]): readonly Ledger[] {
  return all.map((turns) => ledger(job('other', ...turns), job(JOB, ...turns)));
}

describe('findHolder decides which run sends a command', () => {
  const own = command('own', { delivery: 'sending' });
  const other = (delivery: Turn['delivery']): Turn => command('other', { delivery });

  it.each<[string, readonly Ledger[], Readonly<Record<Claim, 'ours' | 'theirs'>>]>([
    [
      'no other run has a turn of it',
      versions([], [own]),
      { ours: 'ours', taken: 'ours', failed: 'ours', refused: 'ours', none: 'ours' },
    ],
    [
      'the comment has no readable version',
      [],
      { ours: 'ours', taken: 'ours', failed: 'ours', refused: 'ours', none: 'ours' },
    ],
    [
      'another run is about to send it, and noted it first',
      versions([other('sending')], [other('sending'), own]),
      { ours: 'ours', taken: 'theirs', failed: 'theirs', refused: 'theirs', none: 'theirs' },
    ],
    [
      'another run is about to send it, and noted it second',
      versions([own], [other('sending'), own]),
      { ours: 'ours', taken: 'theirs', failed: 'theirs', refused: 'theirs', none: 'ours' },
    ],
    [
      'another run is about to send it, and only an overwritten version contains its note',
      versions([other('sending')], [own]),
      { ours: 'ours', taken: 'theirs', failed: 'theirs', refused: 'theirs', none: 'theirs' },
    ],
    [
      'our note was overwritten, and written again',
      versions([own], [other('sending')], [other('sending'), own]),
      { ours: 'ours', taken: 'theirs', failed: 'theirs', refused: 'theirs', none: 'ours' },
    ],
    [
      'another run has sent it',
      versions([own], [other('sending'), own], [other('sent'), own]),
      { ours: 'theirs', taken: 'theirs', failed: 'theirs', refused: 'theirs', none: 'theirs' },
    ],
    [
      'another run may have sent it',
      versions([own], [other('unknown'), own]),
      { ours: 'theirs', taken: 'theirs', failed: 'theirs', refused: 'theirs', none: 'theirs' },
    ],
    [
      'another run has noted that it did not send it',
      versions([other('sending')], [command('other', { delivery: 'not-sent', writes: 1 }), own]),
      { ours: 'ours', taken: 'ours', failed: 'ours', refused: 'ours', none: 'ours' },
    ],
    [
      'another run is about to send another command',
      versions([command('other', { origin: 'comment:8', delivery: 'sending' }), own]),
      { ours: 'ours', taken: 'ours', failed: 'ours', refused: 'ours', none: 'ours' },
    ],
    [
      'another run has sent it to another job',
      [ledger(job('other', other('sent')), job(JOB, own))],
      { ours: 'ours', taken: 'ours', failed: 'ours', refused: 'ours', none: 'ours' },
    ],
  ])('if %s', (_, seen, expected) => {
    for (const claim of CLAIMS) {
      const holder = findHolder(seen, JOB, own, claim);
      expect([claim, holder?.mark ?? 'own']).toEqual([
        claim,
        expected[claim] === 'ours' ? 'own' : 'other',
      ]);
    }
  });

  it('even before our own note is in the comment', () => {
    const seen = versions([other('sending')]);
    expect(findHolder(seen, JOB, own, 'taken')?.mark).toBe('other');
  });
});

describe('findHolder decides which attempt sends the message of a step', () => {
  const own = open('own', { attempt: 2, delivery: 'sending' });
  const early = (delivery: Turn['delivery'], parts: Partial<Turn> = {}): Turn =>
    open('early', { delivery, ...parts });

  it.each<[string, readonly Ledger[], Turn, string | null]>([
    ['no other turns exist', versions([own]), own, null],
    [
      'another use of the step is about to send in the same attempt',
      versions([open('other', { attempt: 2, delivery: 'sending' }), own]),
      own,
      null,
    ],
    [
      'another use of the step has sent in the first attempt',
      versions([open('other'), { ...own, attempt: 1 }]),
      { ...own, attempt: 1 },
      null,
    ],
    ['an earlier attempt has sent it', versions([own], [early('sent'), own]), own, 'early'],
    ['an earlier attempt may have sent it', versions([early('unknown')], [own]), own, 'early'],
    ['an earlier attempt was about to send it', versions([early('sending')], [own]), own, 'early'],
    [
      'an earlier attempt has not sent it',
      versions([early('sending')], [early('not-sent', { writes: 1 })], [own]),
      own,
      null,
    ],
    [
      'GitHub has started a later attempt, whose matrix has other legs',
      versions([open('later', { attempt: 3, leg: 'another', delivery: 'not-sent' }), own]),
      own,
      'later',
    ],
    [
      'an earlier attempt has sent that of another leg, which may be the same job of a dynamic matrix',
      versions([early('sent', { leg: 'another' }), own]),
      own,
      'early',
    ],
  ])('if %s', (_, seen, mine, mark) => {
    for (const claim of CLAIMS) {
      expect([claim, findHolder(seen, JOB, mine, claim)?.mark ?? null]).toEqual([claim, mark]);
    }
  });

  describe('if it continues a turn that was not sent, and', () => {
    const before = early('not-sent');
    const taken = (owner: string, delivery: Turn['delivery'] = 'sending'): Turn =>
      early(delivery, { owner, attempt: 2, writes: 1 });

    it.each<[string, readonly Ledger[], string | null]>([
      ['only this use has taken it', versions([before], [taken('own')]), null],
      [
        'another use had taken it before',
        versions([before], [taken('other')], [taken('own')]),
        'other',
      ],
      ['another use took it later', versions([before], [taken('own')], [taken('other')]), null],
      [
        'another use has taken it, and no version shows that this one has',
        versions([before], [taken('other')]),
        'other',
      ],
      [
        'another use took it at the same time, and its name sorts after ours',
        [ledger(job(JOB, taken('own'), taken('zoe')))],
        null,
      ],
      [
        'another use took it at the same time, and its name sorts before ours',
        [ledger(job(JOB, taken('own'), taken('bob')))],
        'bob',
      ],
      [
        'another use took it later, but has sent it',
        versions([taken('own')], [taken('other', 'sent')]),
        'other',
      ],
      [
        'another use took it at the same time, its name sorts after ours, and it may have sent it',
        [ledger(job(JOB, taken('own'), taken('zoe', 'unknown')))],
        'zoe',
      ],
      [
        'another use had taken it before, and has not sent it',
        versions([taken('other')], [{ ...taken('other', 'not-sent'), writes: 2 }], [taken('own')]),
        null,
      ],
    ])('%s', (_, seen, owner) => {
      const found = findHolder(seen, JOB, taken('own'), 'ours');
      expect(found?.owner ?? null).toBe(owner);
    });
  });
});

describe('exactly one of three sends, even if notes were overwritten', () => {
  const OWNERS = ['p', 'q', 'r'];
  const early = open('early', { delivery: 'not-sent', endedAt: START });

  it.each<[string, readonly Turn[]]>([
    [
      'runs of a command with reactions that decide nothing',
      OWNERS.map((mark, at) => command(mark, { delivery: 'sending', startedAt: START - at })),
    ],
    [
      'uses of a step that took the same turn',
      OWNERS.map(
        (owner): Turn => ({ ...early, delivery: 'sending', endedAt: null, owner, attempt: 2 }),
      ),
    ],
  ])('%s', (_, all) => {
    const version = fc.subarray([...all]);
    // Each run has read back its own note before.
    const seen = fc.array(version, { maxLength: 6 }).map((some) => versions([early], ...some, all));
    fc.assert(
      fc.property(seen, (known) => {
        const holders = all.map((own) => findHolder(known, JOB, own, 'none'));
        expect(holders.filter((holder) => holder === null)).toHaveLength(1);
      }),
    );
  });
});
