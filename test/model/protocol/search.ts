import { newProcess } from './process.ts';
import { keyOf, movesOf, type Scenario, type World } from './world.ts';

export type IsWrong = (world: World) => boolean;

export interface Found {
  readonly states: number;
  /** The shortest way to a world that is wrong; missing if none is. */
  readonly trace?: readonly string[];
}

/** Visits every world that can be reached, the nearest ones first, until one is wrong. */
export function search(scenario: Scenario, isWrong: IsWrong): Found {
  const first: World = { processes: scenario.setups.map(newProcess), faultsLeft: scenario.most };
  const known = new Set([keyOf(first)]);
  let nearest: [World, readonly string[]][] = [[first, []]];
  while (nearest.length > 0) {
    const next: typeof nearest = [];
    for (const [world, trace] of nearest) {
      if (isWrong(world)) return { states: known.size, trace };
      for (const [what, after] of movesOf(world, scenario)) {
        const key = keyOf(after);
        if (!known.has(key)) next.push([after, [...trace, what]]);
        known.add(key);
      }
    }
    nearest = next;
  }
  return { states: known.size };
}
