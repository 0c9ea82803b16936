import { expect, it } from 'vitest';
import { LABELS } from '../../src/job/labels.ts';
import { turnTo } from '../sim/agent.ts';
import { issueComment } from '../sim/events.ts';
import { answer, head, startFaultServer, whole } from '../sim/fault-server.ts';
import type { GitHubOptions } from '../sim/github/server.ts';
import { HAS_SIGNALS } from '../sim/platform.ts';
import type { StepResult, StepRun } from '../sim/runner/process.ts';
import { expectPromises, JOB, PULL, type Scenario, type Simulation, simulate } from './scenario.ts';

// What a run leaves that is cancelled or killed in the middle: its outputs are true.

type Interrupt = () => void;
interface Phase {
  readonly name: string;
  /** The scenario that calls `interrupt` in the phase. */
  readonly scenario: (interrupt: Interrupt) => Scenario | Promise<Scenario & AsyncDisposable>;
  readonly delivery: 'sent' | 'not-sent' | 'unknown';
  /** Default: cancelled. */
  readonly result?: 'sent';
}

const HANG = { fault: 'hang' } as const;
const WAITING = { wait: true };

function hang(interrupt: Interrupt): typeof HANG {
  interrupt();
  return HANG;
}

const from = (first: number, interrupt: Interrupt) => (n: number) =>
  n < first ? undefined : hang(interrupt);

const BEFORE_POLL: Phase = {
  name: 'while it polls the job before the message',
  scenario: (interrupt) => ({ with: WAITING, agent: { onGet: () => hang(interrupt) } }),
  delivery: 'not-sent',
};
const IN_POST: Phase = {
  name: 'while it waits for the response to the message',
  scenario: (interrupt) => ({ agent: { onPost: () => ({ ...hang(interrupt), accept: true }) } }),
  delivery: 'unknown',
};
const IN_WAIT: Phase = {
  name: 'while it polls the job after the message',
  scenario: (interrupt) => ({ with: WAITING, agent: { onGet: from(4, interrupt) } }),
  delivery: 'sent',
};
const WHEN_ACTIVE: Phase = {
  name: 'while it waits for earlier work',
  scenario: (interrupt) => ({
    with: WAITING,
    agent: { jobs: [{ id: JOB, base: { status: 'active' } }], onGet: from(5, interrupt) },
  }),
  delivery: 'not-sent',
};
const IN_LIST: Phase = {
  name: 'while it reads the comments',
  scenario: (interrupt) => ({
    step: { github: { run_attempt: '2' } },
    github: { issues: [{ number: PULL }], on: () => hang(interrupt) },
  }),
  // An earlier attempt may have sent the message.
  delivery: 'unknown',
};

const PHASES: readonly Phase[] = [
  BEFORE_POLL,
  {
    name: 'while it waits for a job, after another one has failed',
    scenario: (interrupt) => ({
      with: { ...WAITING, 'job-id': `${JOB} job-2` },
      agent: {
        jobs: [{ id: JOB, turns: [turnTo('failed', 1000)] }, { id: 'job-2' }],
        onGet: from(20, interrupt),
      },
    }),
    delivery: 'sent',
  },
  IN_POST,
  IN_WAIT,
  WHEN_ACTIVE,
  {
    name: 'while the permission is checked',
    scenario: (interrupt) => ({
      step: { event: issueComment({ number: PULL, body: 'Go.' }) },
      github: { on: () => hang(interrupt) },
    }),
    delivery: 'not-sent',
  },
  IN_LIST,
  {
    name: 'while it reads the response to the message',
    async scenario(interrupt) {
      const server = await startFaultServer({
        onRequest({ method }) {
          if (method === 'GET') return answer(whole(200, { id: JOB, status: 'completed' }));
          // By then, the step has read the head.
          setTimeout(interrupt, 1000);
          return answer(head(200, { 'content-type': 'application/json', 'content-length': 99 }));
        },
      });
      const inputs = { 'base-url': server.origin };
      return { with: inputs, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
    },
    result: 'sent',
    delivery: 'sent',
  },
  {
    name: 'while it creates the comment',
    scenario(interrupt) {
      const on: GitHubOptions['on'] = ({ path }) =>
        path.endsWith('/comments') ? hang(interrupt) : undefined;
      return { github: { issues: [{ number: PULL }], on } };
    },
    delivery: 'not-sent',
  },
];

interface Played {
  readonly result: StepResult;
  readonly sim: Simulation;
}

/** Runs a step that gets this signal in the phase. */
async function play(phase: Phase, signal: NodeJS.Signals): Promise<Played> {
  let run: StepRun | undefined;
  let isInterrupted = false;
  const scenario = await phase.scenario(() => {
    if (!isInterrupted) run?.kill(signal);
    isInterrupted = true;
  });
  await using sim = await simulate(scenario);
  run = sim.start();
  const result = await run.result;
  if (Symbol.asyncDispose in scenario) await scenario[Symbol.asyncDispose]();
  expectPromises(result, sim.agent, sim.github);
  if (phase.delivery === 'not-sent') expect(sim.agent.accepted()).toEqual([]);
  return { result, sim };
}

it.runIf(HAS_SIGNALS).concurrent.each(PHASES)(
  'after a signal, a step ends with the right outputs $name: $delivery',
  async (phase) => {
    const { result, sim } = await play(phase, 'SIGINT');
    expect(result.exitCode).toBe(1);
    // For a further one, there is no time.
    expect(sim.github.comments(PULL).length).toBeLessThanOrEqual(1);
    const { delivery, result: ended = 'cancelled' } = phase;
    expect(result.outputs).toMatchObject({ result: ended, delivery });
    expect(result.virtualMs).toBeLessThan(60_000);
  },
);

it.concurrent.each([
  [BEFORE_POLL, 'error', '', 'The run ended before anything was sent.'],
  [WHEN_ACTIVE, 'error', '', 'The run ended before anything was sent.'],
  [IN_LIST, 'error', '', 'This attempt ended before anything was sent.'],
  [IN_POST, 'error', JOB, 'ended while the message was being sent. The message may have arrived'],
  [IN_WAIT, 'sent', JOB, 'The run ended before the agent was done.'],
])(
  'a step that is killed has already set its outputs $0.name',
  async (phase, ended, id, reason) => {
    const { result, sim } = await play(phase, 'SIGKILL');
    expect(result.outputs).toMatchObject({
      ...{ result: ended, delivery: phase.delivery, 'job-id': id },
      reason: expect.stringContaining(reason),
    });
    // A re-run must not take it for a message that was certainly not sent.
    for (const { jobs } of sim.notes()) {
      expect(jobs).toMatchObject([{ delivery: phase === IN_WAIT ? 'sent' : 'sending' }]);
    }
  },
);

it.each([
  ['killed', ['SIGKILL'], null, {}],
  // What ends a group of processes often sends both at once.
  ['cancelled', ['SIGINT', 'SIGTERM'], 0, {}],
  // With a pace, all of real time counts, so the second signal is late.
  ['cancelled again', ['SIGINT', 'SIGTERM'], 1, { pace: 100 }],
] as const)(
  'a run that is %s during its report keeps its result',
  async (_, signals, exitCode, time) => {
    let run: StepRun | undefined;
    await using sim = await simulate({
      with: WAITING,
      time,
      github: {
        issues: [{ number: PULL, pullRequest: true }],
        // The last edit comes after the outputs.
        on({ body }) {
          if (!body.includes(LABELS.completed.icon)) return undefined;
          for (const [index, signal] of signals.entries()) {
            setTimeout(() => run?.kill(signal), index * 700);
          }
          return HANG;
        },
      },
    });
    run = sim.start();
    const result = await run.result;
    expect(result.exitCode).toBe(exitCode);
    expect(result.outputs).toMatchObject({
      ...{ result: 'completed', delivery: 'sent', confirmed: 'true' },
      'comment-url': expect.stringContaining(`/pull/${PULL}#`),
    });
    expect(result.virtualMs).toBeLessThan(90_000);
  },
);

it.runIf(HAS_SIGNALS).each([
  [IN_POST, 'SIGTERM', 'delivery unknown', 'The message may have arrived'],
  [IN_WAIT, 'SIGINT', 'cancelled', 'The agent may keep working'],
  [WHEN_ACTIVE, 'SIGHUP', 'not-sent', 'stopped before the message was sent'],
] as const)('a cancelled run says what it knows: %o', async (phase, signal, kind, reason) => {
  const { result, sim } = await play(phase, signal);
  expect(result.errors).toEqual([expect.stringContaining(reason)]);
  expect(sim.commentTexts().at(-1)).toContain(LABELS[kind].title);
  expect(sim.commentTexts().at(-1)).toContain(reason);
  expect(sim.notes()[0]?.jobs[0]?.delivery).toBe(phase.delivery);
});
