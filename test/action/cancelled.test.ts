import { describe, expect, it } from 'vitest';
import type { AgentOptions } from '../sim/agent.ts';
import { push } from '../sim/events.ts';
import { HAS_SIGNALS } from '../sim/platform.ts';
import type { StepRun } from '../sim/runner/process.ts';
import {
  commentTexts,
  errors,
  expectPromises,
  JOB,
  PULL,
  type Scenario,
  simulate,
  warnings,
} from './scenario.ts';

/** Runs a step that gets a signal when the API receives the request `at`. */
async function cancelAt(
  at: 'poll before' | 'message' | 'poll after',
  { signal = 'SIGINT', ...scenario }: Scenario & { signal?: 'SIGINT' | 'SIGTERM' } = {},
) {
  let run: StepRun | undefined;
  const stop = (): { fault: 'hang'; accept: boolean } => {
    run?.kill(signal);
    return { fault: 'hang', accept: at === 'message' };
  };
  const agent: Partial<AgentOptions> = {
    jobs: [{ id: JOB }],
    onPost: () => (at === 'message' ? stop() : undefined),
    onGet: (n) =>
      (at === 'poll before' && n === 1) || (at === 'poll after' && n === 3) ? stop() : undefined,
  };
  await using sim = await simulate({ ...scenario, with: { wait: true, ...scenario.with }, agent });
  run = sim.start();
  const result = await run.result;
  expectPromises(result, sim.agent, sim.github);
  return { result, sim, comments: commentTexts(sim.github) };
}

describe.runIf(HAS_SIGNALS)('a cancelled run ends at once with the right outputs', () => {
  it('before the message', async () => {
    const { result, sim } = await cancelAt('poll before');
    expect(result.exitCode).toBe(1);
    expect(result.outputs).toMatchObject({ result: 'cancelled', delivery: 'not-sent' });
    expect(sim.agent.posts()).toEqual([]);
  });

  it.each(['SIGINT', 'SIGTERM'] as const)('while it sends the message (%s)', async (signal) => {
    const { result, sim } = await cancelAt('message', { signal });
    expect(result.exitCode).toBe(1);
    expect(result.outputs).toMatchObject({ result: 'cancelled', delivery: 'unknown' });
    expect(errors(result)).toEqual([expect.stringContaining('may or may not have been delivered')]);
    expect(sim.agent.posts()).toHaveLength(1);
  });

  it('while it waits', async () => {
    const { result, comments } = await cancelAt('poll after');
    expect(result.exitCode).toBe(1);
    expect(result.outputs).toMatchObject({
      result: 'cancelled',
      delivery: 'sent',
      status: 'active',
    });
    expect(errors(result)).toEqual([
      expect.stringContaining('stopped waiting; the agent keeps working'),
    ]);
    expect(comments.at(-1)).toContain('Run cancelled: stopped waiting, the agent keeps working');
    expect(result.virtualMs).toBeLessThan(20_000);
  });

  it('and updates the comment if only the job names the pull request', async () => {
    let run: StepRun | undefined;
    await using sim = await simulate({
      with: { wait: true },
      step: { event: push() },
      agent: {
        jobs: [{ id: JOB, base: { prLink: `https://github.com/octo/agents/pull/${PULL}` } }],
        onPost() {
          run?.kill('SIGINT');
          return { fault: 'hang', accept: true };
        },
      },
    });
    run = sim.start();
    const result = await run.result;
    expect(result.outputs).toMatchObject({ result: 'cancelled', delivery: 'unknown' });
    expect(commentTexts(sim.github)).toEqual([
      expect.stringContaining('⏳'),
      expect.stringContaining('Run cancelled: the message'),
    ]);
    expect(result.outputs['comment-url']).toContain(`/pull/${PULL}#`);
  });

  it.each<[string, Scenario]>([
    ['in a re-run', { step: { github: { run_attempt: '2' } } }],
    ['to find the job', { with: { 'job-id': '' } }],
    ['in a re-run on a push', { step: { event: push(), github: { run_attempt: '2' } } }],
  ])('while it reads the comment %s', async (_, scenario) => {
    let run: StepRun | undefined;
    await using sim = await simulate({
      ...scenario,
      agent: {
        jobs: [{ id: JOB, base: { prLink: `https://github.com/octo/agents/pull/${PULL}` } }],
      },
      github: {
        issues: [{ number: PULL, pullRequest: true }],
        on() {
          run?.kill('SIGINT');
          return { fault: 'hang' };
        },
      },
    });
    run = sim.start();
    const result = await run.result;
    expectPromises(result, sim.agent, sim.github);
    expect(result.outputs).toMatchObject({ result: 'cancelled', delivery: 'not-sent' });
    expect(errors(result)).toEqual([expect.stringContaining('cancelled')]);
    expect(warnings(result)).toEqual([]);
    expect(sim.agent.posts()).toEqual([]);
  });

  it('even if GitHub no longer responds', async () => {
    const { result } = await cancelAt('poll after', {
      github: { issues: [{ number: PULL }], on: () => ({ fault: 'hang' }) },
    });
    expect(result.exitCode).toBe(1);
    expect(result.outputs).toMatchObject({ result: 'cancelled', delivery: 'sent' });
    expect(result.virtualMs).toBeLessThan(30_000);
  });
});

it('a step that is killed while it waits has already set delivery to sent', async () => {
  let run: StepRun | undefined;
  await using sim = await simulate({
    with: { wait: true },
    agent: {
      onGet(n) {
        if (n === 3) run?.kill('SIGKILL');
        return undefined;
      },
    },
  });
  run = sim.start();
  const result = await run.result;
  expect(result.outputs).toMatchObject({
    result: 'sent',
    delivery: 'sent',
    reason: 'The run ended before the agent was done.',
  });
});

it.each([JOB, `${JOB} job-2`])(
  'a step that is killed after its last poll has already set the result: %s',
  async (ids) => {
    let run: StepRun | undefined;
    let hasEnded = false;
    await using sim = await simulate({
      with: { wait: true, 'job-id': ids },
      agent: {
        jobs: ids.split(' ').map((id) => ({ id })),
        onGet() {
          hasEnded = sim.agent.accepted().some(({ at }) => sim.time.now() - at > 60_000);
          return undefined;
        },
      },
      github: {
        issues: [{ number: PULL, pullRequest: true }],
        // The first call after the last poll is for the comment.
        on() {
          if (!hasEnded) return undefined;
          run?.kill('SIGKILL');
          return { fault: 'hang' };
        },
      },
    });
    run = sim.start();
    const { outputs } = await run.result;
    expect(outputs).toMatchObject({ result: 'completed', delivery: 'sent', confirmed: 'true' });
    expect(outputs['comment-url']).toBe('');
  },
);

it('a step that is killed while it sends has already set delivery to unknown', async () => {
  let run: StepRun | undefined;
  await using sim = await simulate({
    agent: {
      onPost() {
        run?.kill('SIGKILL');
        return { fault: 'hang', accept: true };
      },
    },
  });
  run = sim.start();
  const result = await run.result;
  expect(result.outputs).toMatchObject({
    result: 'error',
    delivery: 'unknown',
    reason:
      'The run ended while the message was being sent. Check the job before you send it again.',
  });
});

it.runIf(HAS_SIGNALS)('a second signal ends the step at once', async () => {
  let run: StepRun | undefined;
  let cancelled = false;
  const stop = (): { fault: 'hang' } => {
    cancelled = true;
    run?.kill('SIGINT');
    return { fault: 'hang' };
  };
  await using sim = await simulate({
    with: { wait: true },
    agent: { onGet: (n) => (n === 3 ? stop() : undefined) },
    github: {
      issues: [{ number: PULL }],
      on: ({ method }) => (method === 'PATCH' && cancelled ? stop() : undefined),
    },
  });
  run = sim.start();
  const result = await run.result;
  expect(result.exitCode).toBe(1);
  expect(result.outputs).toMatchObject({ result: 'cancelled', delivery: 'sent' });
});
