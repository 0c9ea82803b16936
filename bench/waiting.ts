// How often a job is polled, and how late its end is found: the schedule of this action compared with
// fixed intervals and with other actions.

import { jobLengths } from './lengths.ts';
import { AT_LEAST_5_S, fixed, STRATEGIES, type Strategy } from './strategies.ts';
import { table } from './table.ts';

export interface Cost {
  /** Average polls of one job, without a poll at the start, which some actions make. */
  readonly polls: number;
  /** Average seconds from the end of a job until the step acts on it. */
  readonly late: number;
  /** The average of the same time as a share of the length of the job. */
  readonly waste: number;
}

export interface Compared extends Cost, Pick<Strategy, 'name' | 'kind' | 'how'> {
  /** Whether no other strategy is better in one way and not worse in the other. */
  readonly isOnFront: boolean;
}

const JOBS = 5000;
const LONGEST_INTERVAL_S = 52;
const SHORTEST_INTERVAL_S = 4.3;
const INTERVALS = 60;

/** The average cost of a strategy over all lengths of jobs. */
export function costOf({ next, afterEnd = 0 }: Pick<Strategy, 'next' | 'afterEnd'>): Cost {
  const sum = { polls: 0, late: 0, waste: 0 };
  for (const length of jobLengths(JOBS)) {
    let elapsed = 0;
    let polls = 0;
    while (elapsed < length) {
      elapsed += next(elapsed, polls);
      polls += 1;
    }
    const late = elapsed - length + afterEnd;
    sum.polls += polls + (afterEnd > 0 ? 1 : 0);
    sum.late += late;
    sum.waste += late / length;
  }
  return { polls: sum.polls / JOBS, late: sum.late / JOBS, waste: sum.waste / JOBS };
}

export function compareWaiting(): readonly Compared[] {
  const costs = STRATEGIES.map((strategy) => ({ ...strategy, ...costOf(strategy) }));
  return costs.map(({ name, kind, how, polls, late, waste }) => ({
    ...{ name, kind, how, polls, late, waste },
    isOnFront: !costs.some((other) => dominates(other, { polls, waste })),
  }));
}

type Point = Pick<Cost, 'polls' | 'waste'>;

/** Whether it is better in one way, and not worse in the other. */
export function dominates(one: Point, other: Point): boolean {
  const isNoWorse = one.polls <= other.polls && one.waste <= other.waste;
  return isNoWorse && (one.polls < other.polls || one.waste < other.waste);
}

/** The cost of fixed intervals, from the longest to the shortest. */
export function costOfIntervals(): readonly Cost[] {
  const ratio = SHORTEST_INTERVAL_S / LONGEST_INTERVAL_S;
  return Array.from({ length: INTERVALS }, (_, index) =>
    costOf(fixed(LONGEST_INTERVAL_S * ratio ** (index / (INTERVALS - 1)))),
  );
}

export function describeWaiting(costs: readonly Compared[]): string {
  const [own] = costs;
  const ten = costs.find(({ name }) => name === 'a fixed 10 s');
  if (own === undefined || ten === undefined) throw new Error('nothing to compare');
  const rarer = costOf(AT_LEAST_5_S);
  const rows = costs.map(({ name, how, polls, late, waste, isOnFront }) => [
    name === own.name ? `**${name}**` : name,
    how,
    polls.toFixed(1),
    (polls / own.polls).toFixed(2),
    `${late.toFixed(1)} s`,
    `${(100 * waste).toFixed(1)} %`,
    (waste / own.waste).toFixed(2),
    isOnFront ? 'yes' : '',
  ]);
  const head = [
    ...['waiting', 'polls the job', 'polls', 'ratio', 'late', 'wasted', 'ratio'],
    'on the Pareto front',
  ];
  return `For jobs of 20 s to 60 min, log-uniformly, on average. Late: the time from the end of a job
until the step acts on it. Wasted: the same, as a share of the length of the job. The ratios are relative to this action.

${table(head, rows, 2)}

Compared with a fixed 10 s, this action wastes ${(own.waste / ten.waste).toFixed(2)} times as much with ${(own.polls / ten.polls).toFixed(2)} times the polls.

A job that has not started on the message yet is polled every 5 s, because it cannot end before it starts. One that has
started is polled every 2 s at first: with at least 5 s, it would be polled ${rarer.polls.toFixed(1)} times, and ${(100 * rarer.waste).toFixed(1)} % would be wasted,
${(rarer.waste / own.waste).toFixed(2)} times as much.`;
}
