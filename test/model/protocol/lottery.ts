import type { Clock } from '../../../src/clock.ts';
import { deliver } from '../../../src/delivery/deliver.ts';
import { describeRun, openRun, type Run } from '../../../src/delivery/run-state.ts';
import type { GitHub } from '../../../src/github/client.ts';
import { GitHubError } from '../../../src/github/errors.ts';
import { endedNow } from '../../../src/job/outcome.ts';
import { isStop, STOP_REASONS } from '../../../src/job/stop-reasons.ts';
import type { Exchange } from '../../../src/mintlify/transport.ts';
import { makePlan } from '../../../src/plan/plan.ts';
import { reportEarlyEnd } from '../../../src/report/finish.ts';
import { notify } from '../../../src/report/notify.ts';
import { ok } from '../../../src/result.ts';
import { readRunInfo } from '../../../src/runner/environment.ts';
import { readInputs } from '../../../src/runner/inputs.ts';
import { toOutputs } from '../../../src/runner/outputs.ts';
import { findSource } from '../../../src/trigger/command.ts';
import { triggerOf, type WebhookEvent } from '../../sim/events.ts';
import { recordingRuntime } from '../../unit/recording-runtime.ts';

// A conversation on which processes run at once, in time that jumps from one thing that happens to the next. What they decide,
// write, look for and collapse is real; GitHub and the API are lists in memory, whose answers get lost.

export const PULL = 7;

export interface Entry {
  readonly id: number;
  body: string;
  readonly at: number;
}

/** What can go wrong, each with its chance. */
export interface Luck {
  /** A write has no answer: it was done, or is done later. */
  readonly loses: number;
  /** Of those, one is never done. */
  readonly drops: number;
  /** A read fails. */
  readonly fails: number;
  /** The answer of the API to a message says nothing of what became of it. */
  readonly doubts: number;
  /** The API refuses a message. */
  readonly refuses: number;
}
export const NO_TROUBLE: Luck = { loses: 0, drops: 0, fails: 0, doubts: 0, refuses: 0 };

export interface Setup {
  readonly run: string;
  readonly attempt: number;
  readonly event: WebhookEvent;
  readonly with: Readonly<Record<string, string>>;
  /** After so many requests, it is killed. */
  readonly killAt?: number | undefined;
  readonly luck: Luck;
}

export interface Outcome {
  readonly setup: Setup;
  readonly isKilled: boolean;
  readonly result: string;
  readonly delivery: string;
}

/** Milliseconds after which a write that had no answer may still be done. */
const LATEST_MS = 4000;

export class World {
  now = Date.UTC(2026, 10, 28);
  readonly entries: Entry[] = [];
  /** The messages that the API has accepted. */
  readonly accepted: (Pick<Setup, 'run' | 'attempt'> & {
    readonly job: string;
    readonly about: string;
  })[] = [];
  /** Edits by another process than the one that has created the comment. */
  readonly stolen: string[] = [];
  readonly #random: () => number;
  readonly #lagMs: number;
  readonly #due: { readonly at: number; readonly go: () => void }[] = [];
  #lastId = 100;

  constructor(random: () => number, lagMs: number) {
    this.#random = random;
    this.#lagMs = lagMs;
  }

  chance(share: number): boolean {
    return this.#random() < share;
  }

  upTo(ms: number): number {
    return Math.floor(this.#random() * ms);
  }

  /** Lets everything happen until there is nothing left. */
  async play(all: Promise<unknown>): Promise<void> {
    let isOver = false;
    void all.finally(() => {
      isOver = true;
    });
    for (;;) {
      for (let turns = 0; turns < 3; turns += 1) await new Promise(setImmediate);
      const next = this.#due.reduce((one, other) => (other.at < one.at ? other : one), {
        ...{ at: Infinity, go: () => {} },
      });
      if (next.at === Infinity) {
        if (isOver) return;
        continue;
      }
      this.#due.splice(this.#due.indexOf(next), 1);
      this.now = Math.max(this.now, next.at);
      next.go();
    }
  }

  at(ms: number, go: () => void): void {
    this.#due.push({ at: this.now + Math.max(0, ms), go });
  }

  pass(ms: number): Promise<void> {
    return new Promise((resolve) => this.at(ms, resolve));
  }

  listed(): readonly Entry[] {
    return this.entries.filter(({ at }) => at + this.#lagMs <= this.now);
  }

  add(body: string): Entry {
    const entry = { id: ++this.#lastId, body, at: this.now };
    this.entries.push(entry);
    return entry;
  }

  edit(id: number, body: string): void {
    const entry = this.entries.find((one) => one.id === id);
    if (entry === undefined) return;
    if (processOf(entry.body) !== processOf(body)) this.stolen.push(`${id}`);
    entry.body = body;
  }
}

function processOf(body: string): string | undefined {
  return /"process":"(\w+)"/.exec(body)?.[1];
}

/** Never settles: the process is gone. */
const GONE = new Promise<never>(() => {});

interface Life {
  calls: number;
  isOver: boolean;
  end(): void;
}

/** A request takes time, and may be the last thing that the process does: before it takes effect, or after. */
async function request<T>(world: World, setup: Setup, life: Life, effect: () => T): Promise<T> {
  life.calls += 1;
  const isLast = life.calls === setup.killAt;
  await world.pass(20 + world.upTo(1500));
  if (life.isOver) return GONE;
  if (isLast && world.chance(0.5)) return die(life);
  const done = effect();
  if (isLast) return die(life);
  await world.pass(world.upTo(500));
  return life.isOver ? GONE : done;
}

function die(life: Life): Promise<never> {
  life.isOver = true;
  life.end();
  return GONE;
}

function urlOf({ id }: Entry): string {
  return `https://github.com/octo/agents/pull/${PULL}#issuecomment-${id}`;
}

function gitHubOf(world: World, setup: Setup, life: Life): GitHub {
  const known = new Map<number, string>();
  const { luck } = setup;
  const read = <T>(get: () => T) =>
    request(world, setup, life, () => {
      if (world.chance(luck.fails)) throw new GitHubError(502, 'bad');
      return get();
    });
  const write = <T>(put: () => T) =>
    request(world, setup, life, () => {
      if (!world.chance(luck.loses)) return put();
      const ms = world.chance(0.4) ? 0 : world.upTo(LATEST_MS);
      if (ms === 0) put();
      else if (!world.chance(luck.drops)) world.at(ms, put);
      throw new GitHubError(504, 'lost');
    });
  const all: Partial<Record<keyof GitHub, unknown>> = {
    ownComments: () =>
      read(() => {
        const listed = world.listed();
        // As in api.ts: texts are read again only if there is a new one.
        if (!listed.every(({ id }) => known.has(id))) {
          for (const { id, body } of listed) known.set(id, body);
        }
        return listed.map((entry) => ({
          ...{ id: `IC_${entry.id}`, url: urlOf(entry), isEdited: false },
          body: known.get(entry.id) ?? '',
        }));
      }),
    createComment: (_: number, body: string) =>
      write(() => {
        const entry = world.add(body);
        known.set(entry.id, body);
        return { id: entry.id, nodeId: `IC_${entry.id}`, url: urlOf(entry) };
      }),
    updateComment: (id: number, body: string) => write(() => world.edit(id, body)),
    react: async () => {},
  };
  const refuse = () =>
    read(() => {
      throw new GitHubError(404, 'Not Found');
    });
  return new Proxy(all, { get: (target, name) => Reflect.get(target, name) ?? refuse }) as GitHub;
}

function answer(status: number, body: object): Exchange {
  return {
    ...{ kind: 'answer', status, contentType: 'application/json', pauseMs: null },
    ...{ location: '', body: ok(JSON.stringify(body)) },
  };
}

function transportOf(world: World, setup: Setup, life: Life): Run['agent']['transport'] {
  const { run, attempt, luck, event } = setup;
  const jobOf = (path: string): string => /\/job\/([^/]+)/.exec(path)?.[1] ?? '';
  const about = JSON.stringify(event.payload.comment ?? '');
  const accept = (path: string): string => {
    const job = jobOf(path);
    world.accepted.push({ run, attempt, job, about });
    return job || `new-${world.accepted.length}`;
  };
  return {
    get: (path) =>
      request(world, setup, life, () => answer(200, { id: jobOf(path), status: 'completed' })),
    postOnce: (path) =>
      request(world, setup, life, () => {
        if (world.chance(luck.refuses)) return answer(401, { error: 'No.' });
        if (!world.chance(luck.doubts)) return answer(200, { id: accept(path), status: 'odd' });
        if (world.chance(0.5)) accept(path);
        return answer(503, { error: 'Later.' });
      }),
  } as Partial<Run['agent']['transport']> as Run['agent']['transport'];
}

/** Runs a process, from its inputs to its last request. */
export async function runIn(world: World, setup: Setup): Promise<Outcome> {
  const { promise: killed, resolve: end } = Promise.withResolvers<'killed'>();
  const life: Life = { calls: 0, isOver: false, end: () => end('killed') };
  const said = await Promise.race([killed, work(world, setup, life)]);
  return said === 'killed'
    ? { setup, isKilled: true, result: '', delivery: '' }
    : { setup, isKilled: false, ...said };
}

async function work(world: World, setup: Setup, life: Life) {
  const sleep = (ms: number, signal: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      world.at(ms, () => life.isOver || resolve());
    });
  const clock: Clock = {
    ...{ startedAt: world.now, now: () => world.now, sleep },
    timeout: () => new AbortController().signal,
  };
  const env = {
    ...{ GITHUB_REPOSITORY: 'octo/agents', GITHUB_RUN_ID: setup.run, GITHUB_JOB: 'build' },
    ...{ GITHUB_RUN_ATTEMPT: `${setup.attempt}`, GITHUB_TRIGGERING_ACTOR: 'alice' },
    ...{ GITHUB_ACTION: 'step', GITHUB_WORKFLOW: 'Follow up' },
    ...{ 'INPUT_PROJECT-ID': 'project_1', 'INPUT_API-KEY': 'mint_01234567', INPUT_WAIT: 'false' },
    ...{ 'INPUT_GITHUB-TOKEN': 'ghs_x', 'INPUT_TIMEOUT-MINUTES': '30' },
    ...Object.fromEntries(
      Object.entries(setup.with).map(([k, v]) => [`INPUT_${k.toUpperCase()}`, v]),
    ),
  };
  const { runtime } = recordingRuntime({ clock, env });
  const info = readRunInfo(env);
  const trigger = triggerOf(setup.event);
  const inputs = readInputs(env, (text) => text).inputs;
  const github = gitHubOf(world, setup, life);
  const source = findSource(trigger, inputs);
  const isRerun = setup.attempt > 1;
  const context = { runtime, info, trigger, github, source, inputs, problems: [], isRerun };
  const planned = await makePlan(context);
  if (isStop(planned)) {
    await reportEarlyEnd(runtime, planned, context);
    const { result } = STOP_REASONS[planned.code];
    return { result, delivery: isRerun ? 'unknown' : 'not-sent' };
  }
  const task = { prompt: 'Go.', words: '', isPrivate: false };
  const request = { ...task, sections: [], commentsOn: new Map<string, number>() };
  const opened = openRun({ ...planned, request });
  const agent = { ...opened.agent, transport: transportOf(world, setup, life) };
  const run = await deliver({ ...opened, agent });
  const { commentUrls } = await notify(run, describeRun(run));
  const outputs = toOutputs({ ended: endedNow(run.jobs, inputs.wait), commentUrls });
  return { result: outputs.result, delivery: outputs.delivery };
}
