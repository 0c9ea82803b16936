import { movesOf, newWorld, type Scenario, type World } from './world.ts';

export type IsWrong = (world: World, scenario: Scenario) => boolean;

/** How a world was reached. */
interface Way {
  readonly what: string;
  readonly before: Way | null;
}

/** Visits every world that a scenario can come to, the nearest ones first, until one is wrong. */
export function explore(
  scenario: Scenario,
  isWrong: IsWrong,
): { readonly states: number; readonly trace: readonly string[] | null } {
  const first = newWorld(scenario);
  const known = new Set([keyOf(first)]);
  let nearest: readonly (readonly [World, Way | null])[] = [[first, null]];
  while (nearest.length > 0) {
    const next: [World, Way][] = [];
    for (const [world, before] of nearest) {
      if (isWrong(world, scenario)) return { states: known.size, trace: traceOf(before) };
      for (const { what, world: after } of movesOf(world, scenario)) {
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
