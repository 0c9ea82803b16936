import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Claim } from '../../src/github/reactions.ts';
import { findEarlier, findHolder } from '../../src/memory/claim.ts';
import type { Ledger } from '../../src/memory/ledger.ts';
import type { Turn } from '../../src/turn.ts';
import { job, ledger, START, turn } from './record.ts';

/** Open, and of a step unless the test says otherwise; its owner is its mark. */
function open(mark: string, parts: Partial<Turn> = {}): Turn {
  return turn({ mark, owner: mark, endedAt: null, ...parts });
}

function command(mark: string, parts: Partial<Turn> = {}): Turn {
  return open(mark, { origin: 'comment:7', runId: mark, ...parts });
}

describe('of a step, the turn of an earlier attempt', () => {
  const own = open('own', { attempt: 3, leg: 'leg', prompt: 'Go.', startedAt: START + 9000 });
  const early = (mark: string, parts: Partial<Turn> = {}): Turn =>
    open(mark, { leg: 'leg', prompt: 'Go.', ...parts });
  const later = { startedAt: START + 1 };
  const other = { leg: 'another' };

  it.each<[string, readonly Turn[], string | null]>([
    ['there is none', [], null],
    ['is none of another step', [early('a', { origin: 'run:1:job:other' })], null],
    ['is none of a command', [early('a', { origin: 'comment:7' })], null],
    ['is none that another use has in this attempt', [early('a', { attempt: 3 })], null],
    [
      'is its own, although another leg, which had none, has it in this attempt',
      [early('a', { attempt: 3, ownerLeg: 'another' })],
      'a',
    ],
    [
      'is its own, although another use with another prompt, which had none, has it in this attempt',
      [early('a', { attempt: 3, ownerPromptHash: 'another' })],
      'a',
    ],
    [
      'is that with its prompt, although another leg with another prompt has it in this attempt',
      [early('a', { ...other, attempt: 3, ownerLeg: 'third', ownerPromptHash: 'another' })],
      'a',
    ],
    [
      'is none that another use with another prompt has by right in this attempt',
      [early('a', { attempt: 3, prompt: 'Stop.' })],
      null,
    ],
    ['is none that another leg has in this attempt', [early('a', { ...other, attempt: 3 })], null],
    ['is the only one', [early('a')], 'a'],
    ['is the only one, of whatever prompt', [early('a', { prompt: 'Go, at 12:01.' })], 'a'],
    ['is the only one, of whatever leg', [early('a', other)], 'a'],
    [
      'is of any attempt before',
      [early('a', { attempt: 3 }), early('b', { attempt: 1, ...later })],
      'b',
    ],
    ['is the one that began first', [early('b', later), early('a')], 'a'],
    [
      'is that of the latest attempt: a lost runner may write late that an earlier one sent nothing',
      [early('a', { delivery: 'not-sent' }), early('b', { attempt: 2, ...later })],
      'b',
    ],
    [
      'is that of the latest attempt, also of another leg',
      [early('a', { ...other, delivery: 'not-sent' }), early('b', { ...other, attempt: 2 })],
      'b',
    ],
    [
      'is rather of the same prompt than the first',
      [early('a', { prompt: 'Stop.' }), early('b', later)],
      'b',
    ],
    [
      'is rather of the same prompt than of one that begins like it',
      [early('a', { promptHash: 'of another end' }), early('b', later)],
      'b',
    ],
    [
      'is of several with the same prompt the first, even if a later one was not sent',
      [early('a'), early('b', { delivery: 'not-sent', ...later })],
      'a',
    ],
    [
      'is of several with the same prompt rather one that was sent than the first',
      [early('a', { delivery: 'not-sent' }), early('b', later)],
      'b',
    ],
    [
      'is rather one that was sent, also than one of a later attempt',
      [early('a', { attempt: 2, delivery: 'not-sent' }), early('b', later)],
      'b',
    ],
    [
      'is of other legs rather one of the same prompt than one that was not sent',
      [
        early('a', { ...other, prompt: 'Stop.', delivery: 'not-sent' }),
        early('b', { ...other, ...later }),
      ],
      'b',
    ],
    [
      'is rather of the same leg than of the same prompt',
      [early('a', other), early('b', { prompt: 'Stop.', ...later })],
      'b',
    ],
    [
      'is of the same leg and prompt, although another leg was not sent',
      [early('a', { ...other, delivery: 'not-sent' }), early('b', later)],
      'b',
    ],
    [
      'of another leg is rather one that was not sent',
      [early('a', other), early('b', { ...other, ...later, delivery: 'not-sent' })],
      'b',
    ],
    [
      'is rather any than one that was withdrawn',
      [
        early('a', { delivery: 'not-sent', result: 'skipped', endedAt: START }),
        early('b', { ...other, ...later }),
      ],
      'b',
    ],
    [
      'is one that was withdrawn, if there is no other',
      [early('a', { delivery: 'not-sent', result: 'skipped', endedAt: START })],
      'a',
    ],
    [
      'of two uses alike is each in its turn',
      [early('a', { attempt: 3 }), early('c', { startedAt: START + 2 }), early('b', later)],
      'b',
    ],
  ])('%s', (_, turns, mark) => {
    expect(findEarlier(turns, own)?.mark ?? null).toBe(mark);
    expect(findEarlier(turns.toReversed(), own)?.mark ?? null).toBe(mark);
  });

  it('is none in the first attempt', () => {
    expect(findEarlier([early('a')], { ...own, attempt: 1 })).toBeNull();
  });
});

describe('of a command, the turn of whichever run', () => {
  const own = command('own', { startedAt: START + 9000 });

  it.each<[string, readonly Turn[], string | null]>([
    ['there is none', [], null],
    ['is none of another comment', [command('a', { origin: 'comment:8' })], null],
    [
      'is none of a review with the same number',
      [command('a', { origin: 'review-comment:7' })],
      null,
    ],
    ['is none of a step', [open('a')], null],
    ['is that of the same attempt of another run', [command('a')], 'a'],
    ['is that of a later attempt of another run', [command('a', { attempt: 3 })], 'a'],
    [
      'is the one that says most',
      [
        command('a', { delivery: 'not-sent' }),
        command('b', { delivery: 'sending' }),
        command('c', { delivery: 'unknown' }),
        command('d', { delivery: 'sent', startedAt: START + 1 }),
      ],
      'd',
    ],
    [
      'is of those that say as much the first',
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

/** Versions of a comment, each with what it says of the job. */
function versions(...all: readonly (readonly Turn[])[]): readonly Ledger[] {
  return all.map((turns) => ledger(job('other', ...turns), job(JOB, ...turns)));
}

describe('whose a command is', () => {
  const own = command('own', { delivery: 'sending' });
  const other = (delivery: Turn['delivery']): Turn => command('other', { delivery });

  it.each<[string, readonly Ledger[], Readonly<Record<Claim, 'ours' | 'theirs'>>]>([
    [
      'nobody has a turn of it',
      versions([], [own]),
      { ours: 'ours', taken: 'ours', failed: 'ours', refused: 'ours', none: 'ours' },
    ],
    [
      'nothing can be read',
      [],
      { ours: 'ours', taken: 'ours', failed: 'ours', refused: 'ours', none: 'ours' },
    ],
    [
      'somebody is about to send it, and was first',
      versions([other('sending')], [other('sending'), own]),
      { ours: 'ours', taken: 'theirs', failed: 'theirs', refused: 'theirs', none: 'theirs' },
    ],
    [
      'somebody is about to send it, and was second',
      versions([own], [other('sending'), own]),
      { ours: 'ours', taken: 'theirs', failed: 'theirs', refused: 'theirs', none: 'ours' },
    ],
    [
      'somebody is about to send it, of whom only a version tells that was overwritten',
      versions([other('sending')], [own]),
      { ours: 'ours', taken: 'theirs', failed: 'theirs', refused: 'theirs', none: 'theirs' },
    ],
    [
      'ours was overwritten, and is there again',
      versions([own], [other('sending')], [other('sending'), own]),
      { ours: 'ours', taken: 'theirs', failed: 'theirs', refused: 'theirs', none: 'ours' },
    ],
    [
      'somebody has sent it',
      versions([own], [other('sending'), own], [other('sent'), own]),
      { ours: 'theirs', taken: 'theirs', failed: 'theirs', refused: 'theirs', none: 'theirs' },
    ],
    [
      'somebody has sent it, or not',
      versions([own], [other('unknown'), own]),
      { ours: 'theirs', taken: 'theirs', failed: 'theirs', refused: 'theirs', none: 'theirs' },
    ],
    [
      'somebody has stepped back',
      versions([other('sending')], [command('other', { delivery: 'not-sent', writes: 1 }), own]),
      { ours: 'ours', taken: 'ours', failed: 'ours', refused: 'ours', none: 'ours' },
    ],
    [
      'somebody is about to send another one',
      versions([command('other', { origin: 'comment:8', delivery: 'sending' }), own]),
      { ours: 'ours', taken: 'ours', failed: 'ours', refused: 'ours', none: 'ours' },
    ],
    [
      'somebody has sent it to another job',
      [ledger(job('other', other('sent')), job(JOB, own))],
      { ours: 'ours', taken: 'ours', failed: 'ours', refused: 'ours', none: 'ours' },
    ],
  ])('where %s', (_, seen, expected) => {
    for (const claim of CLAIMS) {
      const holder = findHolder(seen, JOB, own, claim);
      expect([claim, holder?.mark ?? 'own']).toEqual([
        claim,
        expected[claim] === 'ours' ? 'own' : 'other',
      ]);
    }
  });

  it('is found in the first reading, where ours does not stand yet', () => {
    const seen = versions([other('sending')]);
    expect(findHolder(seen, JOB, own, 'taken')?.mark).toBe('other');
  });
});

describe('whose the message of a step is', () => {
  const own = open('own', { attempt: 2, delivery: 'sending' });
  const early = (delivery: Turn['delivery'], parts: Partial<Turn> = {}): Turn =>
    open('early', { delivery, ...parts });

  it.each<[string, readonly Ledger[], Turn, string | null]>([
    ['nothing shows up', versions([own]), own, null],
    [
      'another use of it is about to send, in the same attempt',
      versions([open('other', { attempt: 2, delivery: 'sending' }), own]),
      own,
      null,
    ],
    [
      'in the first attempt another use of it has sent',
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
      'an earlier attempt has sent that of another leg, which a dynamic matrix may have renamed',
      versions([early('sent', { leg: 'another' }), own]),
      own,
      'early',
    ],
  ])('where %s', (_, seen, mine, mark) => {
    for (const claim of CLAIMS) {
      expect([claim, findHolder(seen, JOB, mine, claim)?.mark ?? null]).toEqual([claim, mark]);
    }
  });

  describe('that goes on with a turn that was not sent', () => {
    const before = early('not-sent');
    const taken = (owner: string, delivery: Turn['delivery'] = 'sending'): Turn =>
      early(delivery, { owner, attempt: 2, writes: 1 });

    it.each<[string, readonly Ledger[], string | null]>([
      ['only this one has it', versions([before], [taken('own')]), null],
      [
        'another use had taken it before',
        versions([before], [taken('other')], [taken('own')]),
        'other',
      ],
      ['another use took it later', versions([before], [taken('own')], [taken('other')]), null],
      [
        'another use has taken it, and nothing ever showed that this one has',
        versions([before], [taken('other')]),
        'other',
      ],
      [
        'another use took it at the same time, and comes behind by its name',
        [ledger(job(JOB, taken('own'), taken('zoe')))],
        null,
      ],
      [
        'another use took it at the same time, and comes first by its name',
        [ledger(job(JOB, taken('own'), taken('bob')))],
        'bob',
      ],
      [
        'another use took it later, and has sent it all the same',
        versions([taken('own')], [taken('other', 'sent')]),
        'other',
      ],
      [
        'another use took it at the same time, has a name behind it, and may have sent it',
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

describe('of three that are about to send just one does, whatever was overwritten', () => {
  const OWNERS = ['p', 'q', 'r'];
  const early = open('early', { delivery: 'not-sent', endedAt: START });

  it.each<[string, readonly Turn[]]>([
    [
      'runs whose reactions tell nothing',
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
    // Each has read its own back before.
    const seen = fc.array(version, { maxLength: 6 }).map((some) => versions([early], ...some, all));
    fc.assert(
      fc.property(seen, (known) => {
        const holders = all.map((own) => findHolder(known, JOB, own, 'none'));
        expect(holders.filter((holder) => holder === null)).toHaveLength(1);
      }),
    );
  });
});
