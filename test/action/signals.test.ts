import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Agent } from '../sim/agent.ts';
import { answer, head, startBlackHole, startFaultServer } from '../sim/fault-server.ts';
import { HAS_HOST_ALIASES, HAS_SIGNALS, TEMP } from '../sim/platform.ts';
import type { StepResult, StepRun } from '../sim/runner/process.ts';
import { commentTexts, expectPromises, PULL, type Scenario, simulate } from './scenario.ts';

type Strike = () => void;
interface Phase {
  readonly name: string;
  /** Sets the sim so that `strike` is called in the phase. */
  readonly sim: (strike: Strike) => Scenario | Promise<Scenario & AsyncDisposable>;
  readonly delivery: 'sent' | 'not-sent' | 'unknown';
  /** Default: cancelled. */
  readonly result?: 'sent';
}

const HANG = { fault: 'hang' } as const;
const waiting = { wait: true };

function hang(strike: Strike): typeof HANG {
  strike();
  return HANG;
}

function onLine(words: string, strike: Strike): NonNullable<Scenario['step']> {
  return { onLine: (line) => (line.includes(words) ? strike() : undefined) };
}

const PHASES: readonly Phase[] = [
  {
    name: 'before any request',
    sim: (strike) => ({
      with: waiting,
      step: onLine('The API is at', strike),
      agent: { onGet: () => HANG },
    }),
    delivery: 'not-sent',
  },
  {
    name: 'connecting',
    async sim(strike) {
      const hole = await startBlackHole();
      return {
        with: { 'base-url': `http://127.0.0.1:${hole.port}`, comment: false },
        step: onLine('Sending the message', strike),
        [Symbol.asyncDispose]: () => hole[Symbol.asyncDispose](),
      };
    },
    delivery: 'not-sent',
  },
  {
    name: 'looking before the message',
    sim: (strike) => ({ with: waiting, agent: { onGet: () => hang(strike) } }),
    delivery: 'not-sent',
  },
  {
    name: 'awaiting the answer to the message',
    sim: (strike) => ({ agent: { onPost: () => ({ ...hang(strike), accept: true }) } }),
    delivery: 'unknown',
  },
  {
    name: 'reading the answer to the message',
    async sim(strike) {
      const server = await startFaultServer({
        onRequest() {
          setTimeout(strike, 100);
          return answer(head(200, { 'content-type': 'application/json', 'content-length': 99 }));
        },
      });
      return {
        with: { 'base-url': server.origin },
        [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
      };
    },
    result: 'sent',
    delivery: 'sent',
  },
  {
    name: 'holding a message back',
    sim: (strike) => ({
      agent: { onPost: () => ({ status: 429, headers: { 'retry-after': '100' } }) },
      step: onLine('was not accepted', strike),
      // The signal is to come before the pause is over.
      time: { pace: 1 },
    }),
    delivery: 'not-sent',
  },
  {
    name: 'between looks',
    sim: (strike) => ({ with: waiting, step: onLine('Waiting for the agent', strike) }),
    delivery: 'sent',
  },
  {
    name: 'looking at the job',
    sim: (strike) => ({
      with: waiting,
      agent: { onGet: (n) => (n < 4 ? undefined : hang(strike)) },
    }),
    delivery: 'sent',
  },
  {
    name: 'commenting before the message',
    sim: (strike) => ({
      github: {
        issues: [{ number: PULL }],
        on: ({ method }) => (method === 'POST' ? hang(strike) : undefined),
      },
    }),
    delivery: 'not-sent',
  },
];

async function play(
  phase: Phase,
  strikes: 1 | 2,
): Promise<{ result: StepResult; agent: Agent; comments: readonly string[] }> {
  let run: StepRun | undefined;
  let struck = false;
  const strike = (): void => {
    if (struck) return;
    struck = true;
    run?.kill('SIGINT');
    if (strikes === 2) setTimeout(() => run?.kill('SIGTERM'), 20);
  };
  const scenario = await phase.sim(strike);
  await using sim = await simulate(scenario);
  run = sim.start();
  const result = await run.result;
  if (Symbol.asyncDispose in scenario) await scenario[Symbol.asyncDispose]();
  if (strikes === 1) expectPromises(result, sim.agent, sim.github);
  return { result, agent: sim.agent, comments: commentTexts(sim.github) };
}

describe.runIf(HAS_SIGNALS).concurrent('after a signal the step ends with what is true', () => {
  it.each(PHASES)('$name: $delivery', async (phase) => {
    const { result, agent } = await play(phase, 1);
    expect(result.exitCode).toBe(1);
    expect(result.outputs).toMatchObject({
      result: phase.result ?? 'cancelled',
      delivery: phase.delivery,
    });
    if (phase.delivery === 'not-sent') expect(agent.accepted()).toEqual([]);
  });
});

describe
  .runIf(HAS_SIGNALS)
  .concurrent('after two signals it ends at once, and what is on disk is true', () => {
    it.each(PHASES)('$name: $delivery', async (phase) => {
      const { result, agent } = await play(phase, 2);
      expect(result.exitCode === 1 || result.signal !== null).toBe(true);
      const { delivery } = result.outputs;
      if (delivery === 'not-sent') expect(agent.accepted()).toEqual([]);
    });
  });

describe.runIf(HAS_HOST_ALIASES)('while DNS does not answer', () => {
  const folder = mkdtempSync(join(TEMP, 'aliases-'));
  const aliases = join(folder, 'pipe');
  beforeAll(() => execFileSync('mkfifo', [aliases]));
  afterAll(() => rmSync(folder, { recursive: true }));
  const inputs = { 'base-url': 'https://agent', comment: false };
  // Node waits for the thread in which the resolver opens the pipe.
  const step = { env: { HOSTALIASES: aliases }, timeoutMs: 20_000 };

  it('a cancelled step ends, and all its outputs are set', async () => {
    let strike = (): void => {};
    const onLine = (line: string): void => {
      if (line.includes('Sending the message')) strike();
    };
    await using sim = await simulate({ with: inputs, step: { ...step, onLine } });
    const run = sim.start();
    strike = () => run.kill('SIGINT');
    const result = await run.result;
    expectPromises(result, sim.agent, sim.github);
    expect(result.outputs).toMatchObject({ result: 'cancelled', delivery: 'not-sent' });
    expect(result.conclusion).not.toBe('success');
  });

  it('a step gives up, and says why', async () => {
    await using sim = await simulate({ with: inputs, step });
    const result = await sim.run();
    expect(result.outputs).toMatchObject({ result: 'error', delivery: 'not-sent' });
    expect(result.outputs.reason).toContain('no connection within 10 s');
    expect(result.conclusion).toBe('failure');
  });
});
