import { describe, expect, it } from 'vitest';
import { iconOf, titleOf } from '../../src/labels.ts';
import type { AgentOptions, Reply } from '../sim/agent.ts';
import { issueComment } from '../sim/events.ts';
import type { StepRun } from '../sim/runner/process.ts';
import {
  commentTexts,
  errors,
  JOB,
  notes,
  ownComments,
  PULL,
  type Scenario,
  type Simulation,
  simulate,
  warnings,
} from './scenario.ts';

// With `when-active: wait`, a message to a job on which the agent is at work waits until it is done.

const WAIT = { 'when-active': 'wait', wait: true };
const MINUTE = 60_000;

/** The agent is at earlier work for these minutes. The message then takes it a minute. */
function busy(
  minutes: number,
  more: (minute: number) => Reply | string | undefined = () => undefined,
): Partial<AgentOptions> {
  const start = new Map<string, number>();
  const sent = new Set<string>();
  return {
    onPost(_, { path }) {
      sent.add(path.replace(/\/message$/, ''));
      return undefined;
    },
    onGet(_, { path, at }) {
      start.set(path, start.get(path) ?? at);
      if (sent.has(path)) return undefined;
      const minute = (at - (start.get(path) ?? 0)) / MINUTE;
      const reply = more(minute) ?? (minute < minutes ? 'active' : 'completed');
      const id = path.split('/').at(-1);
      return typeof reply === 'string' ? { body: { id, status: reply, prLink: null } } : reply;
    },
  };
}

/** Virtual minutes from the start of the run to the message, or null. */
function sentAfter({ agent, time }: Simulation, startedAt: number): number | null {
  expect(time.now()).toBeGreaterThan(startedAt);
  const [message] = agent.accepted();
  return message === undefined ? null : (message.at - startedAt) / MINUTE;
}

describe('a message to a job at work', () => {
  it('waits until that is done, and its end is then confirmed', async () => {
    await using sim = await simulate({ with: WAIT, agent: busy(5) });
    const startedAt = sim.time.now();
    const result = await sim.run();
    expect(result.outputs).toMatchObject({
      ...{ result: 'completed', delivery: 'sent', confirmed: 'true', reason: '' },
    });
    expect(result.annotations).toEqual([]);
    expect(sentAfter(sim, startedAt)).toBeGreaterThan(5);
    expect(sentAfter(sim, startedAt)).toBeLessThan(6.5);
    expect(result.stdout).toMatch(/^Waiting for earlier work: /m);
    expect(result.stdout).toMatch(
      /^Waiting for earlier work: the job is active; time-out in .*\.$/m,
    );
    const titles = commentTexts(sim.github).map((text) => text.split('\n')[0]);
    const words = [titleOf('waiting'), titleOf('working'), iconOf('completed')];
    expect(titles).toEqual(words.map((text) => expect.stringContaining(text)));
  });

  it('waits on if another message comes first', async () => {
    let polls = 0;
    // Done for one poll; the one just before the message shows that the agent is at work again.
    const again = (minute: number) => {
      if (minute < 2 || minute > 4) return undefined;
      polls += 1;
      return polls === 1 ? 'completed' : 'active';
    };
    await using sim = await simulate({ with: WAIT, agent: busy(2, again) });
    const startedAt = sim.time.now();
    const { outputs } = await sim.runHere();
    expect(outputs).toMatchObject({ result: 'completed', confirmed: 'true' });
    expect(sentAfter(sim, startedAt)).toBeGreaterThan(4);
  });

  it.each<[string, Scenario['with'], string]>([
    ['without wait, too', { 'when-active': 'wait' }, 'sent'],
    ['by default with wait: true', { wait: true }, 'completed'],
  ])('waits %s', async (_, inputs, ended) => {
    await using sim = await simulate({ with: inputs, agent: busy(2) });
    const startedAt = sim.time.now();
    const { outputs } = await sim.runHere();
    expect(outputs).toMatchObject({ result: ended, delivery: 'sent' });
    expect(sentAfter(sim, startedAt)).toBeGreaterThan(2);
    expect(sentAfter(sim, startedAt)).toBeLessThan(3);
  });

  it.each([WAIT, { wait: true, 'when-active': 'send' }, {}])(
    'that is done, or with %j, is sent at once',
    async (inputs) => {
      const agent = busy(inputs === WAIT ? 0 : 5);
      await using sim = await simulate({ with: { ...inputs, 'timeout-minutes': '2' }, agent });
      const startedAt = sim.time.now();
      const { outputs, stdout } = await sim.runHere();
      expect(outputs.delivery).toBe('sent');
      expect(sentAfter(sim, startedAt)).toBeLessThan(0.5);
      expect(stdout).not.toContain('Waiting for earlier work');
    },
  );

  it('is not sent if the deadline comes first', async () => {
    await using sim = await simulate({
      with: { ...WAIT, 'timeout-minutes': '3' },
      agent: busy(60),
    });
    const startedAt = sim.time.now();
    const result = await sim.run();
    expect(result.conclusion).toBe('failure');
    expect(result.outputs).toMatchObject({ result: 'timed-out', delivery: 'not-sent' });
    expect(errors(result)).toEqual([
      expect.stringMatching(
        /was not sent within 3 min, because the agent was not seen to be done with something else/,
      ),
    ]);
    expect(sentAfter(sim, startedAt)).toBeNull();
    expect(sim.time.now() - startedAt).toBeLessThan(3 * MINUTE + 2000);
    expect(commentTexts(sim.github).at(-1)).toContain(titleOf('not-sent'));
    expect(result.summary).toContain('not seen to be done');
    expect(notes(sim.github)).toMatchObject([{ jobs: [{ delivery: 'not-sent' }] }]);
  });
});

describe('an outage during the wait for earlier work', () => {
  const out = (to: number) => (minute: number) =>
    minute > 1 && minute < to ? { status: 503 } : undefined;

  it('of 9 minutes is waited out', async () => {
    await using sim = await simulate({ with: WAIT, agent: busy(11, out(10)) });
    const { outputs } = await sim.runHere();
    expect(outputs).toMatchObject({ result: 'completed', delivery: 'sent', confirmed: 'true' });
  });

  it.each([
    ['30', 'error', /^Job job-1: All polls failed for 10 min.*\. The API answered 503/],
    ['5', 'timed-out', /was not sent within 5 min.*The last poll failed: .*503/],
  ])('ends it after 10 minutes, or at the deadline of %s minutes', async (limit, ended, reason) => {
    const inputs = { ...WAIT, 'timeout-minutes': limit };
    await using sim = await simulate({ with: inputs, agent: busy(60, out(60)) });
    const result = await sim.runHere();
    expect(result.outputs).toMatchObject({ result: ended, delivery: 'not-sent' });
    expect(errors(result)).toEqual([expect.stringMatching(reason)]);
    expect(sim.agent.posts()).toEqual([]);
  });
});

it('of 60 jobs, each one waits for itself, and GitHub is told twice of their messages', async () => {
  const ids = Array.from({ length: 60 }, (_, index) => `job-${index + 1}`);
  const isBusyFor = (id: string): number => (ids.indexOf(id) % 3) * (ids.indexOf(id) + 1) * 5000;
  let startedAt = 0;
  await using sim = await simulate({
    with: { ...WAIT, 'job-id': ids.join(' ') },
    agent: {
      jobs: ids.map((id) => ({ id })),
      onGet: (_, { path, at }) => {
        const id = path.split('/').at(-1) ?? '';
        return at - startedAt < isBusyFor(id) ? { body: { id, status: 'active' } } : undefined;
      },
    },
  });
  startedAt = sim.time.now();
  const { outputs, stdout } = await sim.runHere();
  expect(outputs).toMatchObject({ result: 'completed', delivery: 'sent', confirmed: 'true' });
  expect(sim.agent.posts()).toHaveLength(60);
  for (const { jobId, at } of sim.agent.accepted()) {
    expect(at - startedAt).toBeGreaterThanOrEqual(isBusyFor(jobId));
  }
  expect(stdout).toMatch(/\d+ waiting/);
  expect(commentTexts(sim.github).join('\n')).toMatch(/40 waiting/);
  expect(commentTexts(sim.github).length).toBeLessThanOrEqual(4);
});

it('a job at work is not waited for once the API accepts no more messages', async () => {
  await using sim = await simulate({
    with: { ...WAIT, 'job-id': 'job-1 job-2' },
    agent: {
      jobs: [{ id: 'job-1' }, { id: 'job-2', base: { status: 'active' } }],
      onPost: () => ({ status: 429, headers: { 'retry-after': '3600' } }),
    },
  });
  const { outputs, virtualMs } = await sim.runHere();
  expect(JSON.parse(outputs.results ?? '')).toMatchObject([
    { jobId: 'job-1', result: 'error' },
    { jobId: 'job-2', result: 'skipped' },
  ]);
  expect(virtualMs).toBeLessThan(MINUTE);
});

it('two commands a minute apart: one message after the other, each confirmed', async () => {
  const steps = [
    { afterMs: 0, set: { status: 'active' } },
    { afterMs: 3 * MINUTE, set: { status: 'completed' } },
  ];
  await using sim = await simulate({
    with: { ...WAIT, command: '/agent', prompt: '' },
    agent: { jobs: [{ id: JOB, turns: [{ steps }] }] },
  });
  const command = (body: string) => {
    const { id } = sim.github.addComment(PULL, 'alice', body);
    const event = issueComment({ number: PULL, body, id });
    return sim.runHere({ step: { event, github: { run_id: String(id) } } });
  };
  const first = command('/agent one');
  await sim.pass(MINUTE);
  const second = command('/agent two');
  for (const { outputs } of await Promise.all([first, second])) {
    expect(outputs).toMatchObject({ result: 'completed', delivery: 'sent', confirmed: 'true' });
  }
  const [one, two, ...others] = sim.agent.accepted();
  expect(others).toEqual([]);
  expect([one?.prompt, two?.prompt]).toEqual(['one', 'two']);
  expect((two?.at ?? 0) - (one?.at ?? 0)).toBeGreaterThan(3 * MINUTE);
  expect(ownComments(sim.github)).toHaveLength(2);
});

describe('beside only-when', () => {
  it('active, a message goes to the agent at work: it is the one that is meant', async () => {
    const inputs = { wait: true, 'only-when': 'active' };
    await using sim = await simulate({ with: inputs, agent: busy(2) });
    const startedAt = sim.time.now();
    const { outputs } = await sim.runHere();
    expect(outputs).toMatchObject({ result: 'completed', delivery: 'sent' });
    expect(sentAfter(sim, startedAt)).toBeLessThan(0.5);
  });

  it('the status is judged once, in the first poll', async () => {
    const inputs = { ...WAIT, 'only-when': 'active' };
    await using sim = await simulate({ with: inputs, agent: busy(2) });
    const startedAt = sim.time.now();
    const { outputs } = await sim.runHere();
    expect(outputs).toMatchObject({ result: 'completed', delivery: 'sent', confirmed: 'true' });
    expect(sentAfter(sim, startedAt)).toBeGreaterThan(2);
  });

  it('a job that is left out is not waited for', async () => {
    const inputs = { ...WAIT, 'only-when': 'completed failed' };
    await using sim = await simulate({ with: inputs, agent: busy(2) });
    const result = await sim.runHere();
    expect(result.outputs).toMatchObject({ result: 'skipped', delivery: 'not-sent' });
    expect(result.annotations).toHaveLength(1);
    expect(sim.agent.gets()).toHaveLength(1);
    expect(sim.github.writes()).toEqual([]);
  });
});

it('a re-run of a run that was killed during the wait sends nothing', async () => {
  let run: StepRun | undefined;
  const agent = busy(5, (minute) => {
    if (minute > 2) run?.kill('SIGKILL');
    return undefined;
  });
  await using sim = await simulate({ with: WAIT, agent });
  run = sim.start();
  expect((await run.result).outputs).toMatchObject({ result: 'error', delivery: 'not-sent' });
  expect(notes(sim.github)).toMatchObject([{ jobs: [{ delivery: 'sending' }] }]);
  run = undefined;
  const again = await sim.runHere({ step: { github: { run_attempt: '2' } } });
  expect(again.outputs).toMatchObject({ result: 'error', delivery: 'unknown' });
  expect(errors(again)).toHaveLength(1);
  expect(warnings(again)).toEqual([]);
  expect(sim.agent.posts()).toEqual([]);
});
