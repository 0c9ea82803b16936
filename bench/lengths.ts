// How long agents work, an assumption of the bench: from 20 s to 60 min, log-uniformly, so that each
// doubling is equally likely. Not random but evenly distributed, and the same in each run.

const SHORTEST_S = 20;
const LONGEST_S = 3600;

/** `count` lengths in seconds, the shortest first. */
export function jobLengths(count: number): readonly number[] {
  return Array.from(
    { length: count },
    (_, index) => SHORTEST_S * (LONGEST_S / SHORTEST_S) ** ((index + 0.5) / count),
  );
}
