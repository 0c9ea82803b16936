import { Execution, isConflict, type Scenario, type Transition } from './execution.ts';
import { randomFrom } from './random-round.ts';
import type { Overrides } from './simulated-run.ts';

// Executes a scenario in every order of its events that makes a difference. The pruning leaves out the
// following, which makes no difference:
//
// - A response arrives right after the effect of its call: then the run makes its next calls, which can
//   take effect at any later time. A run that waits for two responses does nothing before it has both. With
//   a slow call, during which something else can happen to the same run, effect and response are apart.
// - What affects only one run happens at once (a persistent set), such as the end of a sleep or a kill.
//   Other runs do not notice whether it happens before or after their own transitions.
// - Two transitions of different runs that access different things, or only read the same thing, have the
//   same result in both orders. The one that was tried first is not tried again after the other, until
//   something accesses the same (sleep sets). So all calls to the API are independent of all calls to GitHub.
// - A run is killed right after a call that changes something, or before its first call: until its next
//   change, no other run can see when it was killed.
// - Orders in which a call takes longer than its limit, or a list is later than its limit, cannot happen.

/** How an execution ended. */
export interface Verdict {
  readonly wrong: readonly string[];
  /** What is not ideal but also not wrong; else empty. */
  readonly leftover: string;
  /** Describes how it ended. */
  readonly end: string;
}

export interface Exploration {
  /** How many executions were started. */
  readonly executions: number;
  /** How many ended; the others were the same as an earlier one, or impossible. */
  readonly ended: number;
  /** Orders of the events of the longest execution: without pruning, there are at least as many. */
  readonly orders: bigint;
  /** How often each one occurred, with the transitions of its first execution. */
  readonly ends: ReadonlyMap<string, Occurrence>;
  readonly leftovers: ReadonlyMap<string, Occurrence>;
  readonly wrong: ReadonlyMap<string, Occurrence>;
  readonly isComplete: boolean;
}

export interface Occurrence {
  count: number;
  readonly transitions: readonly string[];
}

export interface ExploreOptions {
  readonly overrides?: Overrides;
  /** The maximum number of executions, which are chosen at random. */
  readonly most?: number;
  readonly stopsAtWrong?: boolean;
}

type Sleeping = Pick<Transition, 'key' | 'actor' | 'accesses'>;

interface Branch {
  readonly transitions: readonly string[];
  /** Transitions that were already tried in an equivalent order. */
  readonly asleep: readonly Sleeping[];
}

export async function explore(
  scenario: Scenario,
  check: (execution: Execution) => Verdict,
  { overrides, most = Infinity, stopsAtWrong = false }: ExploreOptions = {},
): Promise<Exploration> {
  const random = most === Infinity ? () => 0.999 : randomFrom(1);
  const branches: Branch[] = [{ transitions: [], asleep: [] }];
  const [ends, leftovers, wrong] = [newMap(), newMap(), newMap()];
  let [executions, ended, orders] = [0, 0, 0n];
  while (branches.length > 0 && executions < most && !(stopsAtWrong && wrong.size > 0)) {
    // The executions themselves never return to the event loop.
    await new Promise(setImmediate);
    const { transitions, asleep } = take(branches, random);
    using execution = new Execution(scenario, overrides);
    executions += 1;
    for (const key of transitions) await execution.repeat(key);
    const played = await playToEnd(execution, transitions, asleep, branches);
    if (played === null) continue;
    ended += 1;
    orders = max(orders, multinomial(execution.points()));
    const verdict = check(execution);
    note(ends, verdict.end, played);
    if (verdict.leftover !== '') note(leftovers, verdict.leftover, played);
    for (const what of verdict.wrong) note(wrong, what, played);
  }
  return { executions, ended, orders, ends, leftovers, wrong, isComplete: branches.length === 0 };
}

/** Executes to the end, and adds the alternatives to `branches`. Null if the execution is not new or not possible. */
async function playToEnd(
  execution: Execution,
  before: readonly string[],
  asleepBefore: readonly Sleeping[],
  branches: Branch[],
): Promise<readonly string[] | null> {
  const transitions = [...before];
  let asleep = asleepBefore;
  for (;;) {
    const possible = execution.transitions();
    if (possible === null) return null;
    if (possible.length === 0) return transitions;
    const [next, ...others] = possible.filter(({ key }) => !asleep.some((one) => one.key === key));
    if (next === undefined) return null;
    let tried = [...asleep, sleeping(next)];
    for (const other of others) {
      branches.push({
        transitions: [...transitions, other.key],
        asleep: stillAsleep(tried, other),
      });
      tried = [...tried, sleeping(other)];
    }
    asleep = stillAsleep(asleep, next);
    transitions.push(next.key);
    await execution.make(next);
  }
}

function sleeping({ key, actor, accesses }: Transition): Sleeping {
  return { key, actor, accesses };
}

/** The transitions that stay asleep after another one. */
function stillAsleep(asleep: readonly Sleeping[], made: Transition): readonly Sleeping[] {
  return asleep.filter(
    ({ actor, accesses }) =>
      actor !== made.actor &&
      accesses.every((access) => made.accesses.every((its) => !isConflict(access, its))),
  );
}

/** Executes at random, without pruning: all possible transitions have the same chance. */
export async function walkAtRandom(
  scenario: Scenario,
  check: (execution: Execution) => Verdict,
  seed: number,
): Promise<Verdict | null> {
  const random = randomFrom(seed);
  using execution = new Execution(scenario);
  for (;;) {
    const possible = execution.allTransitions();
    if (possible === null) return null;
    const next = possible[Math.floor(random() * possible.length)];
    if (next === undefined) return check(execution);
    await execution.make(next);
  }
}

/** Repeats an execution, and returns what happened. */
export async function traceOf(
  scenario: Scenario,
  transitions: readonly string[],
  overrides?: Overrides,
): Promise<readonly string[]> {
  using execution = new Execution(scenario, overrides, true);
  for (const key of transitions) await execution.repeat(key);
  return execution.trace;
}

function take(branches: Branch[], random: () => number): Branch {
  const index = Math.floor(random() * branches.length);
  const chosen = branches[index];
  const last = branches.pop();
  if (chosen === undefined || last === undefined) throw new Error('No branch is left.');
  if (chosen !== last) branches[index] = last;
  return chosen;
}

function newMap(): Map<string, Occurrence> {
  return new Map();
}

function note(
  occurrences: Map<string, Occurrence>,
  what: string,
  transitions: readonly string[],
): void {
  const known = occurrences.get(what);
  if (known === undefined) occurrences.set(what, { count: 1, transitions });
  else known.count += 1;
}

/** The number of orders in which the points of all runs can follow each other. */
function multinomial(points: readonly number[]): bigint {
  let [all, orders] = [0n, 1n];
  for (const count of points) {
    for (let index = 1n; index <= BigInt(count); index++) {
      all += 1n;
      orders = (orders * all) / index;
    }
  }
  return orders;
}

function max(one: bigint, other: bigint): bigint {
  return one > other ? one : other;
}
