import { expect, test } from 'vitest';
import { messageBefore } from '../../../src/ledger/decide.ts';
import type { LedgerEntry } from '../../../src/ledger/ledger.ts';
import { shortHash } from '../../../src/ledger/record.ts';

// Every order of runs whose messages to one job go out one after the other: they list, send and end, are cancelled or killed, and
// lists show what a comment said before.

interface Process {
  readonly at: 'start' | 'queue' | 'work' | 'done' | 'over' | 'dead' | 'expired';
  /** The place of its comment. */
  readonly number?: number;
  /** What its comment has said, as far as a list may show it. */
  readonly said: readonly Said[];
  /** When the API took its message, among all. */
  readonly sent?: number;
}
type Said = 'sending' | 'sent' | 'ended' | 'not-sent';
type World = readonly Process[];

const NOW = 1_000_000;
const ENDED = { result: 'completed', confirmed: true, at: 1 } as const;

function entryOf(run: number, said: Said, isExpired = false): LedgerEntry {
  const job = {
    sending: { delivery: 'sending' },
    sent: { delivery: 'sent' },
    ended: { delivery: 'sent', ended: ENDED },
    'not-sent': { delivery: 'not-sent', ended: { ...ENDED, result: 'cancelled' } },
  } as const;
  const hash = shortHash(`${run}`);
  return {
    ...{ url: `${run}`, nodeId: `${run}`, createdAt: '', run: `${run}`, attempt: 1, command: '' },
    ...{ project: hash, step: hash, process: hash, commit: '', byBot: false },
    deadline: isExpired ? NOW - 60_000 : NOW,
    jobs: [{ id: 'x', ...job[said] }],
  };
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
  const count = (of: (process: Process) => boolean) => world.filter(of).length;
  return world.flatMap((process, index) => {
    const { at, said } = process;
    const to = (next: Partial<Process>): World => world.with(index, { ...process, ...next });
    const dead = to({ at: 'dead' });
    switch (at) {
      case 'start': {
        const number = count((one) => one.number !== undefined);
        return [to({ at: 'queue', number, said: ['sending'] })];
      }
      case 'queue': {
        const own = entryOf(index, 'sending');
        const isFree = (above: readonly LedgerEntry[]) =>
          messageBefore(above, { message: own, jobId: 'x', now: NOW }) === undefined;
        const sent = count((one) => one.sent !== undefined);
        const sends = listsFor(world, index).some(isFree) ? [to({ at: 'work', sent })] : [];
        return [...sends, to({ at: 'over', said: [...said, 'not-sent'] }), dead];
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

const TITLE =
  'of %i runs, one is at work at a time, in the order of their comments, and none is stuck';
test.each([2, 3])(TITLE, (size) => {
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
  const haveAll = (world: World) => world.every(({ sent }) => sent !== undefined);
  expect(worlds.some(haveAll)).toBe(true);
});
