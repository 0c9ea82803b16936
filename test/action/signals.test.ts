import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Agent } from '../sim/agent.ts';
import { answer, head, startBlackHole, startFaultServer } from '../sim/fault-server.ts';
import { HAS_HOST_ALIASES, HAS_SIGNALS, TEMP } from '../sim/platform.ts';
import type { StepResult, StepRun } from '../sim/runner/process.ts';
import { commentTexts, expectPromises, PULL, type Scenario, simulate } from './scenario.ts';

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
const waiting = { wait: true };

function hang(interrupt: Interrupt): typeof HANG {
  interrupt();
  return HANG;
}

function onLine(words: string, interrupt: Interrupt): NonNullable<Scenario['step']> {
  return { onLine: (line) => (line.includes(words) ? interrupt() : undefined) };
}

const PHASES: readonly Phase[] = [
  {
    name: 'before any request',
    scenario: (interrupt) => ({
      with: waiting,
      step: onLine('The API is at', interrupt),
      agent: { onGet: () => HANG },
    }),
    delivery: 'not-sent',
  },
  {
    name: 'while it connects',
    async scenario(interrupt) {
      const hole = await startBlackHole();
      return {
        with: { 'base-url': `http://127.0.0.1:${hole.port}`, comment: false },
        step: onLine('Sending the message', interrupt),
        [Symbol.asyncDispose]: () => hole[Symbol.asyncDispose](),
      };
    },
    delivery: 'not-sent',
  },
  {
    name: 'while it reads the baseline',
    scenario: (interrupt) => ({ with: waiting, agent: { onGet: () => hang(interrupt) } }),
    delivery: 'not-sent',
  },
  {
    name: 'while it waits for the response to the message',
    scenario: (interrupt) => ({ agent: { onPost: () => ({ ...hang(interrupt), accept: true }) } }),
    delivery: 'unknown',
  },
  {
    name: 'while it reads the response to the message',
    async scenario(interrupt) {
      const server = await startFaultServer({
        onRequest() {
          setTimeout(interrupt, 100);
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
    name: 'while it waits to send the message again',
    scenario: (interrupt) => ({
      agent: { onPost: () => ({ status: 429, headers: { 'retry-after': '100' } }) },
      step: onLine('was not accepted', interrupt),
      // In real time, the signal arrives before the pause is over.
      time: { pace: 1 },
    }),
    delivery: 'not-sent',
  },
  {
    name: 'between polls',
    scenario: (interrupt) => ({ with: waiting, step: onLine('Waiting for the agent', interrupt) }),
    delivery: 'sent',
  },
  {
    name: 'while it polls the job',
    scenario: (interrupt) => ({
      with: waiting,
      agent: { onGet: (n) => (n < 4 ? undefined : hang(interrupt)) },
    }),
    delivery: 'sent',
  },
  {
    name: 'while it writes the note',
    scenario: (interrupt) => ({
      github: {
        issues: [{ number: PULL }],
        on: ({ method }) => (method === 'POST' ? hang(interrupt) : undefined),
      },
    }),
    delivery: 'not-sent',
  },
];

async function play(
  phase: Phase,
  signals: 1 | 2,
): Promise<{ result: StepResult; agent: Agent; comments: readonly string[] }> {
  let run: StepRun | undefined;
  let isInterrupted = false;
  const interrupt = (): void => {
    if (isInterrupted) return;
    isInterrupted = true;
    run?.kill('SIGINT');
    if (signals === 2) setTimeout(() => run?.kill('SIGTERM'), 20);
  };
  const scenario = await phase.scenario(interrupt);
  await using sim = await simulate(scenario);
  run = sim.start();
  const result = await run.result;
  if (Symbol.asyncDispose in scenario) await scenario[Symbol.asyncDispose]();
  if (signals === 1) expectPromises(result, sim.agent, sim.github);
  return { result, agent: sim.agent, comments: commentTexts(sim.github) };
}

describe.runIf(HAS_SIGNALS).concurrent('after a signal, a step ends with the right outputs', () => {
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
  .concurrent('after two signals, a step ends at once, and its outputs are right', () => {
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
