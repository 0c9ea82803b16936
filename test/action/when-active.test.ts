import { describe, expect, it } from 'vitest';
import { iconOf, titleOf } from '../../src/job/labels.ts';
import type { AgentOptions, Reply, Scripted } from '../sim/agent.ts';
import type { GitHubOptions } from '../sim/github/server.ts';
import { commentTexts, type Simulation, simulate } from './scenario.ts';

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

const WAIT_TITLES = [titleOf('waiting'), titleOf('sending')];

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
    expect(result.stdout).toMatch(/^The agent is at work\. The message waits until /m);
    expect(result.stdout).toMatch(
      /^Waiting until the agent is done with .*: the job is active; time-out in .*\.$/m,
    );
    const titles = commentTexts(sim.github).map((text) => text.split('\n')[0]);
    // Before the message, an edit shows that the comment can be kept true.
    const words = [...WAIT_TITLES, titleOf('working'), iconOf('completed')];
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

  it.each([WAIT, { wait: true, 'when-active': 'send' }, {}])(
    'that is done, or with %j, is sent at once',
    async (inputs) => {
      const agent = busy(inputs === WAIT ? 0 : 5);
      await using sim = await simulate({ with: { ...inputs, 'timeout-minutes': '2' }, agent });
      const startedAt = sim.time.now();
      const { outputs, stdout } = await sim.runHere();
      expect(outputs.delivery).toBe('sent');
      expect(sentAfter(sim, startedAt)).toBeLessThan(0.5);
      expect(stdout).not.toContain('The message waits');
    },
  );
});

describe('a delayed message whose comment cannot be kept true', () => {
  const failing = (reply: Scripted<Reply>, most = Infinity): GitHubOptions => {
    let failed = 0;
    return {
      on({ method }) {
        if (method !== 'PATCH' || failed >= most) return undefined;
        failed += 1;
        return reply;
      },
    };
  };

  it.each<[string, Scripted<Reply>, string]>([
    ['the token has expired', { status: 401, body: { message: 'Bad credentials' } }, 'error'],
    ['the conversation is locked', { status: 403, body: { message: 'is locked' } }, 'error'],
    ['the comment is deleted', { status: 404, body: { message: 'Not Found' } }, 'error'],
    ['GitHub is down', { status: 502 }, 'timed-out'],
    ['GitHub limits the rate', { status: 429, headers: { 'retry-after': '9' } }, 'timed-out'],
  ])('is not sent: %s', async (_, reply, expected) => {
    await using sim = await simulate({ with: WAIT, agent: busy(5), github: failing(reply) });
    const { outputs } = await sim.runHere();
    expect(outputs).toMatchObject({ result: expected, delivery: 'not-sent' });
    expect(outputs.reason).toContain('The comment could not be updated');
    expect(sim.agent.posts()).toEqual([]);
  });

  it('is sent later if that passes', async () => {
    const github = failing({ status: 502 }, 3);
    await using sim = await simulate({ with: WAIT, agent: busy(5), github });
    expect((await sim.runHere()).outputs).toMatchObject({ result: 'completed', delivery: 'sent' });
  });

  it('is confirmed once for ten jobs', async () => {
    const jobs = Array.from({ length: 10 }, (_, n) => ({ id: `job-${n}` }));
    const inputs = { ...WAIT, 'job-id': jobs.map(({ id }) => id).join() };
    await using sim = await simulate({ with: inputs, agent: { ...busy(5), jobs } });
    expect((await sim.runHere()).outputs).toMatchObject({ result: 'completed', delivery: 'sent' });
    expect(sim.github.calls('PATCH issues/comments/#').length).toBeLessThanOrEqual(14);
  });
});
