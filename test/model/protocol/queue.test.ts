import { expect, it } from 'vitest';
import { messageBefore } from '../../../src/ledger/decide.ts';
import type { LedgerEntry } from '../../../src/ledger/ledger.ts';
import { found } from '../../unit/record.ts';

// Every order of runs whose messages to one job go out one after the other: they list, send and end,
// are cancelled or killed, and lists show what a comment said before.

interface Process {
  readonly at: 'start' | 'queue' | 'work' | 'done' | 'over' | 'dead' | 'expired';
  /** The place of its comment. */
  readonly number?: number;
  /** What its comment has said, as far as a list may show it. */
  readonly said: readonly (keyof typeof SAID)[];
  /** When the API took its message, among all. */
  readonly sent?: number;
}
type World = readonly Process[];

const NOW = 1_000_000;
const ended = { result: 'completed', confirmed: true, at: 1 } as const;
const SAID = {
  sending: { delivery: 'sending' },
  sent: { delivery: 'sent' },
  ended: { delivery: 'sent', ended },
  'not-sent': { delivery: 'not-sent', ended: { ...ended, result: 'cancelled' } },
} as const;

function entryOf(run: number, said: keyof typeof SAID, isExpired = false): LedgerEntry {
  const deadline = isExpired ? NOW - 60_000 : NOW;
  const process = `${run}`.padEnd(16, '0');
  return found({ run: `${run}`, process, deadline, jobs: [{ id: 'x', ...SAID[said] }] });
}

/** All that the comments above may show. */
function listsFor(world: World, own: number): LedgerEntry[][] {
  const number = world[own]?.number ?? 0;
  return world
    .map((process, run) => ({ ...process, run }))
    .filter((other) => other.number !== undefined && other.number < number)
    .sort((one, other) => (one.number ?? 0) - (other.number ?? 0))
    .reduce<LedgerEntry[][]>(
      (lists, { said, run, at }) =>
        lists.flatMap((list) => said.map((one) => [...list, entryOf(run, one, at === 'expired')])),
      [[]],
    );
}

function movesOf(world: World): World[] {
  const count = (what: 'number' | 'sent') => world.filter((one) => one[what] !== undefined).length;
  return world.flatMap((process, index) => {
    const { at, said } = process;
    const to = (next: Partial<Process>): World => world.with(index, { ...process, ...next });
    const dead = to({ at: 'dead' });
    switch (at) {
      case 'start':
        return [to({ at: 'queue', number: count('number'), said: ['sending'] })];
      case 'queue': {
        const own = entryOf(index, 'sending');
        const isFree = (above: readonly LedgerEntry[]) =>
          messageBefore(above, { message: own, jobId: 'x', now: NOW }) === undefined;
        const sends = listsFor(world, index).some(isFree);
        const given = to({ at: 'over', said: [...said, 'not-sent'] });
        return [...(sends ? [to({ at: 'work', sent: count('sent') })] : []), given, dead];
      }
      case 'work':
        return [to({ said: ['sending', 'sent'] }), to({ at: 'done' }), dead];
      case 'done':
        return [to({ at: 'over', said: [...said, 'ended'] }), dead];
      case 'dead':
        return [to({ at: 'expired' })];
      default:
        return [];
    }
  });
}

function worldsOf(size: number): readonly World[] {
  const known = new Map<string, World>();
  const left: World[] = [Array(size).fill({ at: 'start', said: [] })];
  for (let world = left.pop(); world !== undefined; world = left.pop()) {
    const key = JSON.stringify(world);
    if (known.has(key)) continue;
    known.set(key, world);
    left.push(...movesOf(world));
  }
  return [...known.values()];
}

it.each([2, 3])('of %i runs, one is at work at a time, in order, and none is stuck', (size) => {
  const worlds = worldsOf(size);
  for (const world of worlds) {
    expect(world.filter(({ at }) => at === 'work').length).toBeLessThan(2);
    const sent = world.filter((one) => one.sent !== undefined);
    const bySent = sent.toSorted((one, other) => (one.sent ?? 0) - (other.sent ?? 0));
    const byNumber = sent.toSorted((one, other) => (one.number ?? 0) - (other.number ?? 0));
    expect(bySent).toEqual(byNumber);
    const isOver = world.every(({ at }) => at === 'over' || at === 'expired');
    expect(movesOf(world).length > 0).toBe(!isOver);
  }
  expect(worlds.some((world) => world.every(({ sent }) => sent !== undefined))).toBe(true);
});
