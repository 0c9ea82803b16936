import { type Move, movesOf, newWorld, type Scenario, type World } from './world.ts';

export type IsWrong = (world: World, scenario: Scenario) => boolean;

/** All worlds that can be reached. Two with the same key are the same. */
export interface Space<One> {
  readonly first: One;
  readonly movesOf: (world: One) => readonly Move<One>[];
  readonly keyOf: (world: One) => string;
}

interface Found {
  readonly states: number;
  readonly trace: readonly string[] | null;
}

/** How a world was reached. */
interface Way {
  readonly what: string;
  readonly before: Way | null;
}

/** Visits every world that a scenario can come to. */
export function explore(scenario: Scenario, isWrong: IsWrong): Found {
  const first = newWorld(scenario);
  const space = { first, movesOf: (world: World) => movesOf(world, scenario), keyOf };
  return search(space, (world) => isWrong(world, scenario));
}

/** Visits every world, the nearest ones first, until one is wrong. */
export function search<One>(
  { first, movesOf, keyOf }: Space<One>,
  isWrong: (world: One) => boolean,
): Found {
  const known = new Set([keyOf(first)]);
  let nearest: readonly (readonly [One, Way | null])[] = [[first, null]];
  while (nearest.length > 0) {
    const next: [One, Way][] = [];
    for (const [world, before] of nearest) {
      if (isWrong(world)) return { states: known.size, trace: traceOf(before) };
      for (const { what, world: after } of movesOf(world)) {
        const key = keyOf(after);
        if (known.has(key)) continue;
        known.add(key);
        next.push([after, { what, before }]);
      }
    }
    nearest = next;
  }
  return { states: known.size, trace: null };
}

function keyOf({ processes, notes, rockets, late, accepted, faultsLeft }: World): string {
  const sorted = (all: readonly unknown[]) => all.map((one) => JSON.stringify(one)).toSorted();
  const keys = processes.map(({ key }) => key);
  const counts = sorted(Object.entries(accepted));
  return JSON.stringify([keys, sorted(notes), sorted(rockets), sorted(late), counts, faultsLeft]);
}

function traceOf(last: Way | null): readonly string[] {
  const trace: string[] = [];
  for (let way = last; way !== null; way = way.before) trace.unshift(way.what);
  return trace;
}
