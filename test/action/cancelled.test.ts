import { expect, it } from 'vitest';
import { LABELS } from '../../src/job/labels.ts';
import { turnTo } from '../sim/agent.ts';
import { issueComment } from '../sim/events.ts';
import { answer, head, startFaultServer, whole } from '../sim/fault-server.ts';
import { HAS_SIGNALS } from '../sim/platform.ts';
import type { StepRun } from '../sim/runner/process.ts';
import { expectPromises, JOB, PULL, type Scenario, simulate } from './scenario.ts';

// What a run leaves that is cancelled or killed in the middle: its outputs are true.

/** Sends the signal, and leaves the request without a response. */
type Hang = () => typeof HANG;
interface Phase {
  readonly name: string;
  readonly scenario: (hang: Hang) => Scenario | Promise<Scenario & AsyncDisposable>;
  readonly delivery: 'sent' | 'not-sent' | 'unknown';
  /** Default: cancelled. */
  readonly result?: 'sent';
  /** The signal, the label and the reason of a cancelled run. Default: SIGINT. */
  readonly says?: readonly [signal: NodeJS.Signals, label: keyof typeof LABELS, reason: string];
  /** What one that is killed has set: its result, `job-id` and reason. */
  readonly left?: readonly [result: string, id: string, reason: string];
}

const HANG = { fault: 'hang' } as const;
const WAITING = { wait: true };
const from = (first: number, hang: Hang) => (n: number) => (n < first ? undefined : hang());

const PHASES: readonly Phase[] = [
  {
    name: 'while it polls the job before the message',
    scenario: (hang) => ({ with: WAITING, agent: { onGet: hang } }),
    delivery: 'not-sent',
    left: ['error', '', 'The run ended before anything was sent.'],
  },
  {
    name: 'while it waits for a job, after another one has failed',
    scenario: (hang) => ({
      with: { ...WAITING, 'job-id': `${JOB} job-2` },
      agent: {
        jobs: [{ id: JOB, turns: [turnTo('failed', 1000)] }, { id: 'job-2' }],
        onGet: from(20, hang),
      },
    }),
    delivery: 'sent',
  },
  {
    name: 'while it waits for the response to the message',
    scenario: (hang) => ({ agent: { onPost: () => ({ ...hang(), accept: true }) } }),
    delivery: 'unknown',
    says: ['SIGTERM', 'delivery unknown', 'The message may have arrived'],
    left: ['error', JOB, 'ended while the message was being sent. The message may have'],
  },
  {
    name: 'while it polls the job after the message',
    scenario: (hang) => ({ with: WAITING, agent: { onGet: from(4, hang) } }),
    delivery: 'sent',
    says: ['SIGINT', 'cancelled', 'The agent may keep working'],
    left: ['sent', JOB, 'The run ended before the agent was done.'],
  },
  {
    name: 'while it waits for earlier work',
    scenario: (hang) => ({
      with: WAITING,
      agent: { jobs: [{ id: JOB, base: { status: 'active' } }], onGet: from(5, hang) },
    }),
    delivery: 'not-sent',
    says: ['SIGHUP', 'not-sent', 'stopped before the message was sent'],
    left: ['error', '', 'The run ended before anything was sent.'],
  },
  {
    name: 'while the permission is checked',
    scenario: (hang) => ({
      step: { event: issueComment({ number: PULL, body: 'Go.' }) },
      github: { on: hang },
    }),
    delivery: 'not-sent',
  },
  {
    name: 'while a re-run reads the comments',
    scenario: (hang) => ({ step: { github: { run_attempt: '2' } }, github: { on: hang } }),
    // An earlier attempt may have sent the message.
    delivery: 'unknown',
    left: ['error', '', 'This attempt ended before anything was sent.'],
  },
  {
    name: 'while it reads the response to the message',
    async scenario(hang) {
      const server = await startFaultServer({
        onRequest({ method }) {
          if (method === 'GET') return answer(whole(200, { id: JOB, status: 'completed' }));
          // By then, the step has read the head.
          setTimeout(hang, 1000);
          return answer(head(200, { 'content-type': 'application/json', 'content-length': 99 }));
        },
      });
      const inputs = { 'base-url': server.origin };
      return { with: inputs, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
    },
    result: 'sent',
    delivery: 'sent',
  },
  ...(['1', '2'] as const).map(
    (run_attempt): Phase => ({
      name: `while attempt ${run_attempt} creates the comment`,
      scenario: (hang) => ({
        step: { github: { run_attempt } },
        github: { on: ({ path }) => (path.endsWith('/comments') ? hang() : undefined) },
      }),
      delivery: run_attempt === '1' ? 'not-sent' : 'unknown',
    }),
  ),
];

/** Runs a step that gets this signal in the phase. */
async function play({ scenario, delivery }: Phase, signal: NodeJS.Signals) {
  let run: StepRun | undefined;
  let isInterrupted = false;
  const given = await scenario(() => {
    if (!isInterrupted) run?.kill(signal);
    isInterrupted = true;
    return HANG;
  });
  await using sim = await simulate(given);
  run = sim.start();
  const result = await run.result;
  if (Symbol.asyncDispose in given) await given[Symbol.asyncDispose]();
  expectPromises(result, sim);
  if (delivery === 'not-sent') expect(sim.agent.accepted()).toEqual([]);
  return { result, sim };
}

it.runIf(HAS_SIGNALS).concurrent.each(PHASES)(
  'after a signal, a step ends with the right outputs, and says what it knows, $name: $delivery',
  async (phase) => {
    const { delivery, result: ended = 'cancelled', says } = phase;
    const [signal, label, reason] = says ?? ['SIGINT', null, ''];
    const { result, sim } = await play(phase, signal);
    expect(result.exitCode).toBe(1);
    // For a further one, there is no time.
    expect(sim.github.comments(PULL).length).toBeLessThanOrEqual(1);
    expect(result.outputs).toMatchObject({ result: ended, delivery });
    expect(result.virtualMs).toBeLessThan(60_000);
    if (label === null) return;
    expect(result.errors).toEqual([expect.stringContaining(reason)]);
    expect(sim.commentTexts().at(-1)).toContain(LABELS[label].title);
    expect(sim.commentTexts().at(-1)).toContain(reason);
    expect(sim.notes()[0]?.jobs[0]?.delivery).toBe(delivery);
  },
);

it.concurrent.each(PHASES.filter(({ left }) => left !== undefined))(
  'a step that is killed has already set its outputs $name',
  async (phase) => {
    const { delivery, left: [ended, id, reason] = ['', '', ''] } = phase;
    const { result, sim } = await play(phase, 'SIGKILL');
    expect(result.outputs).toMatchObject({ result: ended, delivery, 'job-id': id });
    expect(result.outputs.reason).toContain(reason);
    // A re-run must not take it for a message that was certainly not sent.
    for (const { jobs } of sim.notes()) {
      expect(jobs).toMatchObject([{ delivery: delivery === 'sent' ? 'sent' : 'sending' }]);
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
