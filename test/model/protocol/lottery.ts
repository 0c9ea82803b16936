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
import { readRunInfo } from '../../../src/runner/environment.ts';
import { readInputs } from '../../../src/runner/inputs.ts';
import { toOutputs } from '../../../src/runner/outputs.ts';
import { findSource } from '../../../src/trigger/command.ts';
import { ok } from '../../../src/value-or-problem.ts';
import { triggerOf, type WebhookEvent } from '../../sim/events.ts';
import { recordingRuntime } from '../../unit/recording-runtime.ts';
import { virtualClock } from '../clock.ts';

// A conversation on which processes run at once, in virtual time. What they decide, write, look for
// and collapse is real; GitHub and the API are lists in memory, whose answers get lost.

export const PULL = 7;

interface Entry {
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

/** Of a process that was killed, both are empty. */
export interface Outcome {
  readonly setup: Setup;
  readonly result: string;
  readonly delivery: string;
}

/** Milliseconds after which a write that had no answer may still be done. */
const LATEST_MS = 4000;

export type World = ReturnType<typeof newWorld>;

export function newWorld(random: () => number, lagMs: number) {
  const clock = virtualClock();
  const entries: Entry[] = [];
  /** The messages that the API has accepted. */
  const accepted: (Pick<Setup, 'run' | 'attempt'> & { readonly job: string })[] = [];
  /** Edits by another process than the one that has created the comment. */
  const stolen: number[] = [];
  return {
    ...{ clock, entries, accepted, stolen },
    chance: (share: number) => random() < share,
    upTo: (ms: number) => Math.floor(random() * ms),
    listed: () => entries.filter(({ at }) => at + lagMs <= clock.now()),
    add(body: string): Entry {
      const entry = { id: 101 + entries.length, body, at: clock.now() };
      entries.push(entry);
      return entry;
    },
    edit(id: number, body: string): void {
      const entry = entries.find((one) => one.id === id);
      if (entry === undefined) return;
      if (processOf(entry.body) !== processOf(body)) stolen.push(id);
      entry.body = body;
    },
  };
}

function processOf(body: string): string | undefined {
  return /"process":"(\w+)"/.exec(body)?.[1];
}

/** Never settles: the process is gone. */
const GONE = new Promise<never>(() => {});

interface Process {
  readonly world: World;
  readonly setup: Setup;
  requests: number;
  isOver: boolean;
  die(): void;
}

/** It takes time, and may be the last of its process: killed before it takes effect, or after. */
async function request<T>(process: Process, effect: () => T): Promise<T> {
  const { world, setup } = process;
  process.requests += 1;
  const isLast = process.requests === setup.killAt;
  await world.clock.pass(20 + world.upTo(1500));
  if (process.isOver) return GONE;
  const isUndone = isLast && world.chance(0.5);
  const done = isUndone ? undefined : effect();
  if (isLast) process.die();
  else await world.clock.pass(world.upTo(500));
  return process.isOver ? GONE : (done as T);
}

function gitHubOf(process: Process): GitHub {
  const { world, setup } = process;
  const { luck } = setup;
  const known = new Map<number, string>();
  const shown = ({ id, body }: Entry) => {
    const url = `https://github.com/octo/agents/pull/${PULL}#issuecomment-${id}`;
    return { id, nodeId: `IC_${id}`, url, body: known.get(id) ?? body, isEdited: false };
  };
  const read = <T>(get: () => T) =>
    request(process, () => {
      if (world.chance(luck.fails)) throw new GitHubError(502, 'bad');
      return get();
    });
  const write = <T>(put: () => T) =>
    request(process, () => {
      if (!world.chance(luck.loses)) return put();
      const ms = world.chance(0.4) ? 0 : world.upTo(LATEST_MS);
      if (ms === 0) put();
      else if (!world.chance(luck.drops)) world.clock.after(ms, put);
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
        return listed.map((entry) => ({ ...shown(entry), id: `IC_${entry.id}` }));
      }),
    createComment: (_: number, body: string) =>
      write(() => {
        const entry = world.add(body);
        known.set(entry.id, body);
        return shown(entry);
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

function transportOf(process: Process): Run['agent']['transport'] {
  const { world, setup } = process;
  const { run, attempt, luck } = setup;
  const jobOf = (path: string): string => /\/job\/([^/]+)/.exec(path)?.[1] ?? '';
  const accept = (path: string): string => {
    const job = jobOf(path);
    world.accepted.push({ run, attempt, job });
    return job || `new-${world.accepted.length}`;
  };
  return {
    get: (path) => request(process, () => answer(200, { id: jobOf(path), status: 'completed' })),
    postOnce: (path) =>
      request(process, () => {
        if (world.chance(luck.refuses)) return answer(401, { error: 'No.' });
        if (!world.chance(luck.doubts)) return answer(200, { id: accept(path), status: 'odd' });
        if (world.chance(0.5)) accept(path);
        return answer(503, { error: 'Later.' });
      }),
  } as Partial<Run['agent']['transport']> as Run['agent']['transport'];
}

/** Runs a process, from its inputs to its last request. */
export async function runIn(world: World, setup: Setup): Promise<Outcome> {
  const { promise: killed, resolve } = Promise.withResolvers<Omit<Outcome, 'setup'>>();
  const process: Process = {
    ...{ world, setup, requests: 0, isOver: false },
    die() {
      process.isOver = true;
      resolve({ result: '', delivery: '' });
    },
  };
  return { setup, ...(await Promise.race([killed, workOf(process)])) };
}

async function workOf(process: Process) {
  const { world, setup } = process;
  const { seen } = world.clock;
  const clock: Clock = {
    ...{ ...seen, startedAt: seen.now() },
    sleep: (ms, signal) => seen.sleep(ms, signal).then(() => (process.isOver ? GONE : undefined)),
  };
  const inputsOf = Object.entries(setup.with).map(([k, v]) => [`INPUT_${k.toUpperCase()}`, v]);
  const env = {
    ...{ GITHUB_REPOSITORY: 'octo/agents', GITHUB_RUN_ID: setup.run, GITHUB_JOB: 'build' },
    ...{ GITHUB_RUN_ATTEMPT: `${setup.attempt}`, GITHUB_TRIGGERING_ACTOR: 'alice' },
    ...{ GITHUB_ACTION: 'step', GITHUB_WORKFLOW: 'Follow up' },
    ...{ 'INPUT_PROJECT-ID': 'project_1', 'INPUT_API-KEY': 'mint_01234567', INPUT_WAIT: 'false' },
    ...{ 'INPUT_GITHUB-TOKEN': 'ghs_x', 'INPUT_TIMEOUT-MINUTES': '30' },
    ...Object.fromEntries(inputsOf),
  };
  const { runtime } = recordingRuntime({ clock, env });
  const info = readRunInfo(env);
  const trigger = triggerOf(setup.event);
  const { inputs } = readInputs(env, (text) => text);
  const github = gitHubOf(process);
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
  const opened = openRun({
    ...planned,
    request: { ...task, sections: [], commentsOn: new Map<string, number>() },
  });
  const agent = { ...opened.agent, transport: transportOf(process) };
  const run = await deliver({ ...opened, agent });
  const ended = endedNow(run.jobs, inputs.wait);
  const { commentUrls } = await notify(run, describeRun(run), ended);
  const outputs = toOutputs({ ended, commentUrls });
  return { result: outputs.result, delivery: outputs.delivery };
}
