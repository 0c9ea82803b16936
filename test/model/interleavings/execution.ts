import type { Clock } from '../../../src/clock.ts';
import type { OwnComment, Reaction } from '../../../src/github/api.ts';
import { FRESH_READ_MS } from '../../../src/memory/comment-store.ts';
import type { Ledger } from '../../../src/memory/ledger.ts';
import { EPOCH } from '../clock.ts';
import { ServerState, type StoredComment } from './server-state.ts';
import {
  type Call,
  type Kind,
  type Network,
  type Overrides,
  type RunSetup,
  type SimulatedRun,
  startRun,
} from './simulated-run.ts';
import { TimeBounds } from './time-bounds.ts';

// One execution of a few runs, in which the caller decides what happens next. Only the order is known, and
// from it the possible times: a call takes any time up to a limit, a sleep exactly its own. An order that
// needs a slower call is impossible.

export interface Scenario {
  readonly name: string;
  readonly runs: readonly RunSetup[];
  /** The runs before each run, by name: it starts after they have ended or were killed. */
  readonly after?: Readonly<Record<string, readonly string[]>>;
  /** Whether a list may lack a comment for 2.5 s. */
  readonly lags: boolean;
  /** The comment that exists at first; null for none. */
  readonly existing: Ledger | null;
  /** Whether someone deletes all comments between two attempts. */
  readonly isDeleted?: boolean;
  /** Whether GitHub has no edit histories. */
  readonly lacksHistory?: boolean;
  /** The number of the pull request of each job that has one. */
  readonly pullRequests?: ReadonlyMap<string, number>;
  /** Runs that may be killed, each at any point. */
  readonly kills?: readonly string[];
  /** Runs that may be cancelled, each at any point. */
  readonly cancels?: readonly string[];
  readonly troubles?: readonly Trouble[];
  /** Names of calls that may take longer than the run waits for them. */
  readonly slow?: readonly string[];
  /** Whether polls of a job may take longer than the maximum age of a read before a write. */
  readonly slowPolls?: boolean;
  /** Whether the response of each call is a separate event. */
  readonly isSplit?: boolean;
}

/** Calls that may get no response. */
export interface Trouble {
  readonly run: string;
  readonly kind: Kind;
  /** Whether they still take effect. */
  readonly takesEffect: boolean;
  /** The maximum number of such calls. */
  readonly most: number;
}

/** Something that may happen next. */
export interface Transition {
  /** Identifies it in every execution that starts with the same transitions. */
  readonly key: string;
  readonly actor: number;
  readonly accesses: readonly Access[];
  /** Adds the time when it happens to the bounds; null if it is no longer possible. */
  readonly schedule: (bounds: TimeBounds) => Scheduled | null;
  readonly make: (scheduled: Scheduled) => void;
}

/** Points in time. */
interface Scheduled {
  /** When the run continues. */
  readonly at: number;
  /** When it affects what it accesses. */
  readonly effectAt: number;
}

export interface Access {
  readonly what: string;
  /** The order of two reads, or of two additions, does not matter. */
  readonly how: 'reads' | 'adds' | 'writes';
}

export const CONVERSATION = 7;

const HOW: Readonly<Record<Kind, Access['how']>> = {
  read: 'reads',
  create: 'writes',
  update: 'writes',
  delete: 'writes',
  react: 'writes',
  unreact: 'writes',
  post: 'adds',
  poll: 'reads',
};

/** How many milliseconds a call takes at most, and a slow one at least and at most. */
const CALL_MS = 400;
const SHORTEST_SLOW_CALL_MS = 1100;
const SLOW_CALL_MS = 9900;
const SLOW_POLL_MS = 2000;
/** How many milliseconds a list may lack a new comment. */
const LAG_MS = 2500;
const TRACED_SLEEP_MS = 1000;
/** The time from the end of an attempt to the next one. */
const UNTIL_RERUN_MS = 300_000;

interface Pending {
  readonly name: string;
  readonly call: Call<unknown>;
  readonly madeAt: number;
  readonly maxMs: number;
  /** Set when it takes effect, with the time. */
  effect: { readonly at: number; readonly settle: () => void } | null;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
}

interface Timer {
  readonly name: string;
  readonly ms: number;
  readonly due: number;
  readonly since: number;
  readonly fire: () => void;
}

/** A run. Its clock does not advance while it waits for calls. */
interface Actor {
  readonly index: number;
  readonly setup: RunSetup;
  phase: 'waiting' | 'running' | 'over' | 'killed';
  run: SimulatedRun | null;
  clock: number;
  made: number;
  calls: Pending[];
  timers: Timer[];
  /** Points in time: of its last step, and of the read on which a write is based. */
  at: number;
  readAt: number | null;
  /** Whether a kill is possible at this point. */
  mayBeKilled: boolean;
  /** Whether it would have acted differently with the correct time. */
  isImpossible: boolean;
  readonly troubles: Map<Trouble, number>;
  points: number;
}

/** An access, and when it happened. */
interface Effect extends Access {
  readonly actor: number;
  readonly at: number;
}

export class Execution {
  readonly scenario: Scenario;
  readonly server: ServerState;
  readonly trace: string[] = [];
  readonly failures: unknown[] = [];
  readonly #actors: readonly Actor[];
  readonly #overrides: Overrides;
  readonly #isTraced: boolean;
  readonly #bounds = TimeBounds.startRun();
  /** The last effect of each kind by each run. */
  #effects: readonly Effect[] = [];
  /** When each comment was created, by its ID. */
  readonly #createdAt = new Map<number, number>();

  constructor(scenario: Scenario, overrides: Overrides = {}, isTraced = false) {
    this.scenario = scenario;
    this.#overrides = overrides;
    this.#isTraced = isTraced;
    this.server = new ServerState(scenario.pullRequests ?? new Map());
    this.server.keepsHistory = scenario.lacksHistory !== true;
    const { existing, runs } = scenario;
    if (existing !== null) {
      this.server.create(CONVERSATION, this.server.text.compose(existing), '', EPOCH - 3_600_000);
    }
    this.#actors = runs.map((setup, index) => ({
      ...{ index, setup, phase: 'waiting', run: null, clock: EPOCH, made: 0, points: 0 },
      ...{ calls: [], timers: [], mayBeKilled: false, isImpossible: false, at: 0, readAt: null },
      troubles: new Map(
        (scenario.troubles ?? [])
          .filter(({ run }) => run === setup.name)
          .map((trouble) => [trouble, trouble.most]),
      ),
    }));
  }

  /** Node keeps combined signals, and everything that they reference, until one of them is aborted. */
  [Symbol.dispose](): void {
    for (const { run } of this.#actors) run?.cancel.abort(new Error('the execution has ended'));
  }

  /** Null if it has not started. */
  run(name: string): SimulatedRun | null {
    return this.#actors.find(({ setup }) => setup.name === name)?.run ?? null;
  }

  isOver(name: string): boolean {
    return this.#actors.some(({ setup, phase }) => setup.name === name && phase === 'over');
  }

  /** The number of points of each run that starts at once. */
  points(): readonly number[] {
    const { after = {} } = this.scenario;
    return this.#actors.filter(({ setup }) => !(setup.name in after)).map(({ points }) => points);
  }

  /** Makes a transition, and lets all runs continue until they wait again. */
  async make(transition: Transition): Promise<void> {
    const actor = this.#actors[transition.actor] as Actor;
    actor.mayBeKilled = false;
    const scheduled = transition.schedule(this.#bounds);
    if (scheduled === null) throw new Error(`Not possible now: ${transition.key}.`);
    actor.at = scheduled.at;
    // The effect of a call and its response are two points.
    actor.points += transition.accesses.length + 1;
    for (const access of transition.accesses)
      this.#addEffect({ ...access, actor: transition.actor, at: scheduled.effectAt });
    transition.make(scheduled);
    await waitUntilIdle();
    this.#bounds.keepOnly(this.#neededTimes());
  }

  /**
   * The possible transitions, pruned: those that affect only one run do not enable or prevent others, so
   * they are made first. Null if the execution is impossible, because a transition is missed.
   */
  transitions(): readonly Transition[] | null {
    const all = this.#transitionsByActor();
    const own = all?.find(
      (transitions) =>
        transitions.length > 0 && transitions.every(({ accesses }) => accesses.length === 0),
    );
    return own ?? all?.flat() ?? null;
  }

  /** All possible transitions. */
  allTransitions(): readonly Transition[] | null {
    return this.#transitionsByActor()?.flat() ?? null;
  }

  #transitionsByActor(): readonly (readonly Transition[])[] | null {
    const all = this.#actors.map((actor) => this.#transitionsOf(actor));
    const isOver = this.#actors.some(
      (actor, index) => actor.isImpossible || isTooLate(actor, all[index] ?? []),
    );
    return isOver ? null : all;
  }

  /** Repeats a transition that another execution made after the same ones. */
  async repeat(key: string): Promise<void> {
    const transition = this.#actors
      .flatMap((actor) => this.#candidates(actor))
      .find((one) => one.key === key);
    if (transition === undefined)
      throw new Error(`The transition ${key} is not possible: the execution is not repeatable.`);
    await this.make(transition);
  }

  #transitionsOf(actor: Actor): readonly Transition[] {
    return this.#candidates(actor).filter(({ schedule }) => schedule(this.#bounds.copy()) !== null);
  }

  /** The transitions, including those that are too late. */
  #candidates(actor: Actor): readonly Transition[] {
    switch (actor.phase) {
      case 'waiting':
        return this.#start(actor);
      case 'running':
        return [
          ...actor.calls.flatMap((pending) => this.#callTransitions(actor, pending)),
          ...actor.timers.map((timer) => this.#end(actor, timer)),
          ...this.#interruptions(actor),
        ];
      default:
        return [];
    }
  }

  #start(actor: Actor): readonly Transition[] {
    const { index, setup } = actor;
    const names = this.scenario.after?.[setup.name] ?? [];
    const before = this.#actors.filter(({ setup }) => names.includes(setup.name));
    if (before.some(({ phase }) => phase === 'waiting' || phase === 'running')) return [];
    const schedule = (bounds: TimeBounds): Scheduled | null => {
      const at = bounds.point();
      const isAfter = before.every((one) => bounds.isAtLeast(at, one.at, UNTIL_RERUN_MS));
      return isAfter ? { at, effectAt: at } : null;
    };
    const make = (): void => {
      if (before.length > 0) {
        if (this.scenario.isDeleted) this.server.comments.splice(0);
        actor.clock = Math.max(...before.map(({ clock }) => clock)) + UNTIL_RERUN_MS;
      }
      actor.phase = 'running';
      actor.mayBeKilled = includesRun(this.scenario.kills, actor);
      this.#log(actor, 'starts');
      actor.run = startRun(setup, this.#network(actor), this.server, this.#overrides);
      const end = (): void => {
        endRun(actor, 'over');
      };
      actor.run.over.then(end, (error) => {
        end();
        this.failures.push(error);
      });
    };
    return [{ key: `${setup.name} starts`, actor: index, accesses: [], schedule, make }];
  }

  #callTransitions(actor: Actor, pending: Pending): readonly Transition[] {
    const { name, call, effect } = pending;
    if (effect !== null) return [this.#responseArrives(actor, pending, effect)];
    const base = { actor: actor.index, accesses: [{ what: call.on, how: HOW[call.kind] }] };
    const recentIds = this.#recentIds(call);
    const goesWell = subsets(recentIds).map((hidden): Transition => {
      const isListed = ({ id }: StoredComment): boolean => !hidden.includes(id);
      return {
        ...base,
        key: `${name} without ${hidden.join('+')}`,
        schedule: (bounds) => this.#scheduleCall(actor, pending, hidden, bounds),
        make: ({ effectAt }) => this.#takeEffect(actor, pending, isListed, effectAt),
      };
    });
    if (call.kind === 'poll' && this.scenario.slowPolls) {
      goesWell.push({
        ...base,
        key: `${name} takes long`,
        schedule: (bounds) => this.#scheduleCall(actor, pending, [], bounds, FRESH_READ_MS),
        make: ({ effectAt }) => {
          // The run measures how long the poll took.
          actor.clock += SLOW_POLL_MS;
          this.#takeEffect(actor, pending, () => true, effectAt);
        },
      });
    }
    const trouble = [...actor.troubles].find(([{ kind }, left]) => kind === call.kind && left > 0);
    if (trouble === undefined) return goesWell;
    const [{ takesEffect }, left] = trouble;
    const schedule = (bounds: TimeBounds): Scheduled | null =>
      this.#scheduleCall(actor, pending, [], bounds);
    const make = ({ effectAt }: Scheduled): void => {
      actor.troubles.set(trouble[0], left - 1);
      const settle = (): void => settleBy(pending, call.unanswered);
      if (takesEffect) this.#takeEffect(actor, pending, () => true, effectAt, settle);
      else this.#settle(actor, pending, settle, effectAt);
      this.#log(actor, takesEffect ? 'gets no response' : `fails to ${call.kind} ${call.on}`);
    };
    return [...goesWell, { ...base, key: `${name} fails`, schedule, make }];
  }

  /** IDs of comments that a list may show or still lack. */
  #recentIds({ query }: Call<unknown>): readonly number[] {
    if (query === undefined || !this.scenario.lags) return [];
    return this.server
      .unknownTo(query)
      .map(({ id }) => id)
      .filter((id) => this.#createdAt.has(id));
  }

  /** Unless the call is slow, its response arrives right after its effect, without loss of generality. */
  #scheduleCall(
    actor: Actor,
    pending: Pending,
    hidden: readonly number[],
    bounds: TimeBounds,
    minMs = 0,
  ): Scheduled | null {
    const { call, madeAt } = pending;
    const maxMs = minMs > 0 ? SLOW_POLL_MS : pending.maxMs;
    const at = bounds.point();
    const conflicts = this.#effects.filter((effect) =>
      isConflict(effect, { what: call.on, how: HOW[call.kind] }),
    );
    const isInTime =
      bounds.isAtLeast(at, madeAt, 0) &&
      bounds.isAtMost(at, madeAt, maxMs) &&
      conflicts.every((effect) => bounds.isAtLeast(at, effect.at, 0)) &&
      hidden.every((id) => bounds.isAtMost(at, this.#createdAt.get(id) ?? at, LAG_MS));
    if (!isInTime) return null;
    if (this.#isSplit(pending)) return { at: actor.at, effectAt: at };
    const scheduled = this.#scheduleResponse(actor, { ...pending, maxMs }, at, bounds);
    return scheduled && bounds.isAtLeast(scheduled.at, madeAt, minMs) ? scheduled : null;
  }

  #scheduleResponse(
    actor: Actor,
    pending: Pending,
    effectAt: number,
    bounds: TimeBounds,
  ): Scheduled | null {
    const { name, madeAt, maxMs } = pending;
    const at = this.#scheduleStep(actor, name, bounds);
    const isInTime =
      at !== null && bounds.isAtLeast(at, effectAt, 0) && bounds.isAtMost(at, madeAt, maxMs);
    return isInTime ? { at, effectAt } : null;
  }

  /** The next step of a run is not later than the limit of anything else for which it waits. */
  #scheduleStep(actor: Actor, name: string, bounds: TimeBounds): number | null {
    const at = bounds.point();
    const isInTime =
      bounds.isAtLeast(at, actor.at, 0) &&
      actor.calls.every(
        (call) => call.name === name || bounds.isAtMost(at, call.madeAt, call.maxMs),
      ) &&
      actor.timers.every(
        (timer) => timer.name === name || bounds.isAtMost(at, timer.since, timer.ms),
      );
    return isInTime ? at : null;
  }

  #takeEffect(
    actor: Actor,
    pending: Pending,
    isListed: (comment: StoredComment) => boolean,
    at: number,
    instead: (() => void) | null = null,
  ): void {
    const { call, resolve, reject } = pending;
    let detail = '';
    let settle: () => void;
    try {
      const value = call.act(isListed);
      settle = () => resolve(value);
      if (call.kind === 'create') this.#createdAt.set((value as { id: number }).id, at);
      if (this.#isTraced) detail = describe(call, value, this.server);
    } catch (error) {
      settle = () => reject(error);
      detail = ` -> ${error}`;
    }
    actor.mayBeKilled = HOW[call.kind] !== 'reads' && includesRun(this.scenario.kills, actor);
    this.#log(actor, `${call.kind} ${call.on}${detail}`);
    this.#settle(actor, pending, instead ?? settle, at);
  }

  #settle(actor: Actor, pending: Pending, settle: () => void, at: number): void {
    if (this.#isSplit(pending)) {
      pending.effect = { at, settle };
      return;
    }
    actor.calls = actor.calls.filter((one) => one !== pending);
    if (pending.call.kind === 'read') actor.readAt = pending.madeAt;
    settle();
  }

  #isSplit(pending: Pending): boolean {
    return this.scenario.isSplit === true || isSlow(pending);
  }

  #responseArrives(
    actor: Actor,
    pending: Pending,
    effect: NonNullable<Pending['effect']>,
  ): Transition {
    return {
      ...{ key: `${pending.name} arrives`, actor: actor.index, accesses: [] },
      schedule: (bounds) => {
        const scheduled = this.#scheduleResponse(actor, pending, effect.at, bounds);
        const minMs = isSlow(pending) ? SHORTEST_SLOW_CALL_MS : 0;
        return scheduled && bounds.isAtLeast(scheduled.at, pending.madeAt, minMs)
          ? scheduled
          : null;
      },
      make: () => {
        // The run measures how long the call took.
        if (isSlow(pending)) actor.clock += SHORTEST_SLOW_CALL_MS;
        this.#log(actor, `gets the response to ${pending.call.kind} ${pending.call.on}`);
        actor.calls = actor.calls.filter((one) => one !== pending);
        if (pending.call.kind === 'read') actor.readAt = pending.madeAt;
        effect.settle();
      },
    };
  }

  #end(actor: Actor, timer: Timer): Transition {
    return {
      ...{ key: `${timer.name} ends`, actor: actor.index, accesses: [] },
      schedule: (bounds) => {
        const at = this.#scheduleStep(actor, timer.name, bounds);
        const isInTime =
          at !== null &&
          bounds.isAtLeast(at, timer.since, timer.ms) &&
          bounds.isAtMost(at, timer.since, timer.ms);
        return isInTime ? { at, effectAt: at } : null;
      },
      make: () => {
        if (timer.ms >= TRACED_SLEEP_MS) this.#log(actor, `has waited for ${timer.ms} ms`);
        actor.timers = actor.timers.filter((one) => one !== timer);
        actor.clock = Math.max(actor.clock, timer.due);
        timer.fire();
      },
    };
  }

  #interruptions(actor: Actor): readonly Transition[] {
    const { index, setup, run } = actor;
    const base = { actor: index, accesses: [] };
    const transitions: Transition[] = [];
    if (actor.mayBeKilled) {
      const make = (): void => {
        endRun(actor, 'killed');
        this.#log(actor, 'is killed');
      };
      const schedule = (): Scheduled => ({ at: actor.at, effectAt: actor.at });
      transitions.push({ ...base, key: `${setup.name} is killed`, schedule, make });
    }
    if (includesRun(this.scenario.cancels, actor) && run?.cancel.signal.aborted === false) {
      const make = (): void => {
        this.#log(actor, 'is cancelled');
        run.cancel.abort(new Error('cancelled'));
      };
      const schedule = (bounds: TimeBounds): Scheduled | null => {
        const at = this.#scheduleStep(actor, '', bounds);
        return at === null ? null : { at, effectAt: at };
      };
      transitions.push({ ...base, key: `${setup.name} is cancelled`, schedule, make });
    }
    return transitions;
  }

  #network(actor: Actor): Network {
    const counts = new Map<string, number>();
    const nameOf = (what: string): string => {
      const count = (counts.get(what) ?? 0) + 1;
      counts.set(what, count);
      return `${actor.setup.name} ${what} ${count}`;
    };
    const sleep = (ms: number, signal: AbortSignal): Promise<void> =>
      new Promise((resolve, reject) => {
        if (signal.aborted) {
          reject(signal.reason);
          return;
        }
        const stop = (): void => {
          actor.timers = actor.timers.filter((one) => one !== timer);
          reject(signal.reason);
        };
        const fire = (): void => {
          signal.removeEventListener('abort', stop);
          resolve();
        };
        const timer = { name: nameOf('sleep'), ms, due: actor.clock + ms, since: actor.at, fire };
        actor.timers.push(timer);
        signal.addEventListener('abort', stop, { once: true });
      });
    const clock: Clock = { startedAt: actor.clock, now: () => actor.clock, sleep };
    const call = <T>(made: Call<T>): Promise<T> =>
      new Promise<T>((resolve, reject) => {
        const name = nameOf(made.kind);
        if (made.kind === 'create' || made.kind === 'update') this.#checkAgeOfRead(actor);
        actor.calls.push({
          ...{ name, call: made, madeAt: actor.at, effect: null, reject },
          maxMs: this.#maxMs(name, made),
          resolve: resolve as (value: unknown) => void,
        });
      });
    return { clock, random: () => 0.5, call };
  }

  #maxMs(name: string, { kind }: Call<unknown>): number {
    if (this.scenario.slow?.includes(name)) return SLOW_CALL_MS;
    return kind === 'poll' && this.scenario.slowPolls ? FRESH_READ_MS : CALL_MS;
  }

  /** The clock of a run does not advance, so the age of a read is checked here. */
  #checkAgeOfRead(actor: Actor): void {
    const { at, readAt } = actor;
    actor.readAt = null;
    actor.isImpossible ||= readAt !== null && !this.#bounds.isAtMost(at, readAt, FRESH_READ_MS);
  }

  #addEffect(effect: Effect): void {
    this.#effects = [
      ...this.#effects.filter(
        ({ actor, what, how }) =>
          actor !== effect.actor || what !== effect.what || how !== effect.how,
      ),
      effect,
    ];
  }

  #neededTimes(): ReadonlySet<number> {
    return new Set([
      ...this.#effects.map(({ at }) => at),
      ...this.#createdAt.values(),
      ...this.#actors.flatMap(({ at, readAt, calls, timers }) => [
        at,
        ...(readAt === null ? [] : [readAt]),
        ...calls.flatMap(({ madeAt, effect }) => (effect ? [madeAt, effect.at] : [madeAt])),
        ...timers.map(({ since }) => since),
      ]),
    ]);
  }

  #log({ setup }: Actor, what: string): void {
    if (this.#isTraced) this.trace.push(`${setup.name} ${what}`);
  }
}

/** Whether something for which a run waits is no longer possible. */
function isTooLate({ phase, calls }: Actor, transitions: readonly Transition[]): boolean {
  if (phase !== 'running') return false;
  const isPossible = ({ name, effect }: Pending): boolean =>
    effect !== null || transitions.some(({ key }) => key.startsWith(`${name} without`));
  return transitions.length === 0 || !calls.every(isPossible);
}

function isSlow({ maxMs }: Pending): boolean {
  return maxMs === SLOW_CALL_MS;
}

function endRun(actor: Actor, phase: 'over' | 'killed'): void {
  actor.phase = phase;
  actor.calls = [];
  actor.timers = [];
}

function includesRun(names: readonly string[] | undefined, { setup }: Actor): boolean {
  return names?.includes(setup.name) === true;
}

export function isConflict(one: Access, other: Access): boolean {
  return one.what === other.what && (one.how !== other.how || one.how === 'writes');
}

function subsets(ids: readonly number[]): readonly (readonly number[])[] {
  const [first, ...others] = ids;
  if (first === undefined) return [[]];
  return subsets(others).flatMap((subset) => [subset, [first, ...subset]]);
}

function settleBy({ resolve, reject }: Pending, make: () => unknown): void {
  try {
    resolve(make());
  } catch (error) {
    reject(error);
  }
}

/** Describes the response to a call, for traces. */
export function describe({ kind }: Call<unknown>, value: unknown, server: ServerState): string {
  const describeComment = ({ id, versions }: OwnComment): string =>
    `${id}: ${versions.map((body) => describeLedger(server.ledgerOf(body))).join(' / ')}`;
  switch (kind) {
    case 'read': {
      const comments = value as readonly OwnComment[];
      return ` -> ${comments.map(describeComment).join('; ') || 'nothing'}`;
    }
    case 'create':
    case 'update':
      return ` -> ${value === null ? 'gone' : describeComment(value as OwnComment)}`;
    case 'react':
      return (value as Reaction).isNew ? ' -> 201' : ' -> 200';
    default:
      return '';
  }
}

function describeLedger({ jobs }: Ledger): string {
  return jobs
    .flatMap(({ turns }) => turns)
    .map(({ mark, owner, delivery, endedAt }) => {
      const who = mark === owner ? mark : `${mark} by ${owner}`;
      return `${who} ${delivery}${endedAt === null ? '…' : ''}`;
    })
    .join(', ');
}

/**
 * Resolves when all runs wait: Node runs the next tick only after all promise callbacks. This suffices
 * because no run waits for real events, and is much faster than a turn of the event loop.
 */
export function waitUntilIdle(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}
