import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Ledger } from '../../src/memory/ledger.ts';
import { composeText } from '../../src/memory/text.ts';
import type { AgentOptions, JobScript, PostReply } from '../sim/agent.ts';
import {
  commentTexts,
  errors,
  JOB,
  ownComments,
  PROJECT,
  remembered,
  simulate,
  warnings,
} from './scenario.ts';

// `confirmed` is true only if a poll after the message shows an effect that only the message can have.

const link = (number: number): string => `https://github.com/octo/agents/pull/${number}`;
const record = (status: string, prLink: string | null = null) => ({ id: JOB, status, prLink });
const at = (seconds: number, status: string) => ({ afterMs: seconds * 1000, set: { status } });

async function waitFor(agent: Partial<AgentOptions>, inputs: Record<string, string> = {}) {
  await using sim = await simulate({ with: { wait: true, ...inputs }, agent });
  const result = await sim.runHere();
  return { result, sim };
}

function job(base: JobScript['base'], ...steps: ReturnType<typeof at>[]): Partial<AgentOptions> {
  return { jobs: [{ id: JOB, base: base ?? {}, turns: [{ steps }] }] };
}

/** Accepts the message, and returns this body. */
function accepts(body: object): () => PostReply {
  return () => ({ body, accept: true });
}

describe('confirmed is false', () => {
  it('if a working agent starts on the message only after settle-seconds', async () => {
    const { result } = await waitFor(
      job({ status: 'active' }, at(10, 'completed'), at(120, 'active'), at(200, 'completed')),
    );
    expect(result.outputs).toMatchObject({ result: 'completed', confirmed: 'false' });
    expect(result.outputs.reason).toContain('already working when the message was sent');
    // Better evidence is not possible, so there is no warning.
    expect([...errors(result), ...warnings(result)]).toEqual([]);
    expect(result.conclusion).toBe('success');
  });

  it.each(['completed', 'active'])('with settle-seconds: 0 if the job was %s', async (status) => {
    const { result } = await waitFor(job({ status }, at(1, 'completed')), {
      'settle-seconds': '0',
    });
    expect(result.outputs).toMatchObject({ result: 'completed', confirmed: 'false' });
  });

  it('if the response has the status active, but the polls return the old one', async () => {
    const { result } = await waitFor({
      jobs: [{ id: JOB, turns: [{ steps: [] }] }],
      onPost: accepts(record('active')),
    });
    expect(result.outputs).toMatchObject({ result: 'completed', confirmed: 'false' });
    expect(warnings(result)).toEqual([expect.stringContaining('possibly from the earlier turn')]);
    expect(result.virtualMs).toBeGreaterThan(60_000);
  });

  it('if the response has a new link, but the polls never return it', async () => {
    const { result } = await waitFor({
      jobs: [{ id: JOB, base: { prLink: link(1) }, turns: [{ steps: [] }] }],
      onPost: accepts(record('completed', link(2))),
    });
    expect(result.outputs).toMatchObject({ confirmed: 'false', 'pr-link': link(1) });
  });

  it('if the job changes because of another message during the pause after a 429', async () => {
    const { result, sim } = await waitFor({
      jobs: [{ id: JOB, turns: [{ steps: [] }] }],
      onGet: (n) => ({ body: record('completed', link(n === 1 ? 1 : 2)) }),
      onPost: (n) => (n === 1 ? { status: 429, headers: { 'retry-after': '60' } } : undefined),
    });
    expect(result.outputs).toMatchObject({ result: 'completed', confirmed: 'false' });
    expect(sim.agent.journal.slice(0, 4).map(({ method }) => method)).toEqual([
      ...['GET', 'POST', 'GET', 'POST'],
    ]);
  });

  it('in a later run if the agent never started on the message', async () => {
    await using sim = await simulate({ agent: { jobs: [{ id: JOB, turns: [{ steps: [] }] }] } });
    expect((await sim.run()).outputs.result).toBe('sent');
    const later = await sim.run({
      with: { send: 'false', wait: true, prompt: '' },
      step: { github: { run_id: '2002' } },
    });
    expect(later.outputs).toMatchObject({ result: 'completed', confirmed: 'false' });
    expect(warnings(later)).toEqual([
      expect.stringContaining('Its status before the message is not known'),
    ]);
    for (const text of [later.summary, ...commentTexts(sim.github)]) {
      expect(text).not.toMatch(/no files changed|pull request (created|updated)/);
    }
  });
});

it('a link from which an earlier run removed a secret is not compared', async () => {
  const prLink = 'https://github.com/acme-corp/agents/pull/1';
  await using sim = await simulate({
    with: { wait: true, 'timeout-minutes': '0.5' },
    agent: { jobs: [{ id: JOB, base: { prLink }, turns: [{ steps: [] }] }] },
  });
  const env = { HTTPS_PROXY: 'http://user:acme-corp@127.0.0.1:9' };
  await sim.start({ step: { env } }).result;
  const again = { step: { github: { run_attempt: '2' } }, with: { 'timeout-minutes': '5' } };
  expect((await sim.run(again)).outputs.confirmed).toBe('false');
});

it('a baseline that takes more than a second is read again', async () => {
  await using sim = await simulate({
    with: { wait: true, comment: false },
    agent: {
      jobs: [{ id: JOB, turns: [{ steps: [] }] }],
      // The second poll returns the work on another message.
      onGet: (n) =>
        n === 1
          ? wait(1100).then(() => ({ body: record('completed') }))
          : { body: record(n === 2 ? 'active' : 'completed') },
    },
  });
  expect((await sim.runHere()).outputs.confirmed).toBe('false');
  expect(sim.agent.journal.slice(0, 3).map(({ method }) => method)).toEqual([
    ...['GET', 'GET', 'POST'],
  ]);
});

describe('if an earlier attempt ended with delivery unknown, confirmed stays false', () => {
  const nextAttempt = { step: { github: { run_attempt: '2' } } };

  it.each([502, 503])(
    'after %i, even if another message changes the job in between',
    async (status) => {
      let isLater = false;
      await using sim = await simulate({
        with: { wait: true },
        agent: {
          jobs: [{ id: JOB, base: { status: 'completed', prLink: link(1) } }],
          onGet: () => (isLater ? { body: record('completed', link(2)) } : undefined),
          onPost: () => ({ status, accept: false }),
        },
      });
      expect((await sim.runHere()).outputs).toMatchObject({
        delivery: 'unknown',
        confirmed: 'false',
      });
      isLater = true;
      expect((await sim.runHere(nextAttempt)).outputs.confirmed).toBe('false');
      expect(sim.agent.posts()).toHaveLength(1);
    },
  );
});

it('several jobs are not confirmed if delivery is unknown for one of them', async () => {
  const steps = [at(1, 'active'), at(10, 'completed')];
  await using sim = await simulate({
    with: { wait: true, 'job-id': 'job-1 job-2', comment: false },
    agent: {
      jobs: ['job-1', 'job-2'].map((id) => ({ id, turns: [{ steps }] })),
      onPost: (_, { path }) =>
        path.includes('job-2') ? { status: 502, accept: false } : undefined,
    },
  });
  expect((await sim.runHere()).outputs).toMatchObject({
    delivery: 'unknown',
    confirmed: 'false',
  });
});

it.each<[string, string, ReturnType<typeof at>[]]>([
  ['completed', 'completed', [at(1, 'active'), at(60, 'completed')]],
  ['completed', 'failed', [at(1, 'active'), at(60, 'failed')]],
  ['active', 'completed', [at(5, 'completed'), at(15, 'active'), at(60, 'completed')]],
])(
  'from %s to %s, confirmed is false if another run sends a message during the wait, with one annotation',
  async (before, after, steps) => {
    const other = (): Ledger => {
      const [mine] = remembered(sim.github).jobs;
      const turns = (mine?.turns ?? []).map((turn) => ({
        ...turn,
        ...{ origin: 'run:2:job:step', mark: 'other', owner: 'other', runId: '2' },
        ...{ startedAt: sim.time.now(), sentAt: sim.time.now() },
      }));
      return { jobs: [{ id: JOB, record: null, turns }], trimmed: null };
    };
    await using sim = await simulate({
      with: { wait: true },
      agent: {
        ...job({ status: before }, ...steps),
        onGet(n) {
          const [comment] = ownComments(sim.github);
          if (n === 6 && comment !== undefined) {
            sim.github.editComment(
              comment.id,
              composeText(PROJECT, other(), () => 'Theirs.'),
            );
          }
          return undefined;
        },
      },
    });
    const result = await sim.runHere();
    expect(result.outputs).toMatchObject({ result: after, confirmed: 'false' });
    expect([...errors(result), ...warnings(result)]).toEqual([
      expect.stringContaining('Another message was sent to it since'),
    ]);
    expect(result.summary).toContain('Another message was sent to it since');
  },
);

describe('if another message was sent before', () => {
  // The agent starts on the first message after 20 s.
  const statusAt = (seconds: number): string =>
    seconds < 20 ? 'completed' : seconds < 60 ? 'active' : 'completed';

  it.each([
    [5000, 'false'],
    [300_000, 'true'],
  ])('%i ms before, confirmed is %s', async (pauseMs, confirmed) => {
    let firstAt = 0;
    await using sim = await simulate({
      agent: {
        jobs: [{ id: JOB }],
        onGet: () => ({ body: record(statusAt((sim.time.now() - firstAt) / 1000)) }),
      },
    });
    firstAt = sim.time.now();
    await sim.runHere();
    await sim.pass(pauseMs);
    // The agent starts on the second message 20 s later, too.
    if (pauseMs > 60_000) firstAt = sim.time.now();
    const second = await sim.runHere({
      with: { wait: true },
      step: { github: { run_id: '2002' } },
    });
    expect(second.outputs).toMatchObject({ result: 'completed', confirmed });
    expect(warnings(second)).toEqual(
      confirmed === 'true'
        ? []
        : [expect.stringContaining('An earlier message to it has no confirmed end')],
    );
  });

  // The agent is done after 200 s, starts again after 230 s, and is done again after 400 s.
  it.each([
    ['completed', 'true'],
    ['active', 'false'],
  ])(
    'when the status was %s, and this one while the agent works, confirmed is %s',
    async (before, confirmed) => {
      let firstAt = 0;
      const statusAt = (seconds: number): string => {
        if (seconds < 0) return before;
        return seconds < 200 || (seconds > 230 && seconds < 400) ? 'active' : 'completed';
      };
      await using sim = await simulate({
        with: { wait: true },
        agent: {
          jobs: [{ id: JOB }],
          onPost() {
            firstAt ||= sim.time.now();
            return undefined;
          },
          onGet: () => {
            const seconds = firstAt === 0 ? -1 : (sim.time.now() - firstAt) / 1000;
            return { body: record(statusAt(seconds)) };
          },
        },
      });
      await sim.runHere({ with: { 'timeout-minutes': '1.5' } });
      const second = await sim.runHere({ step: { github: { run_id: '2002' } } });
      expect(second.outputs).toMatchObject({ result: 'completed', confirmed });
      expect(second.virtualMs).toBeGreaterThan(300_000);
    },
  );

  it.each([
    ['60', 5, 'true'],
    ['0', 20, 'false'],
  ])(
    'and waited for with settle-seconds: %s, while the agent starts after %i s, confirmed is %s',
    async (settle, startS, confirmed) => {
      const turn = { steps: [at(startS, 'active'), at(startS + 20, 'completed')] };
      await using sim = await simulate({
        with: { wait: true },
        agent: { jobs: [{ id: JOB, turns: [turn, turn] }] },
      });
      const first = await sim.runHere({ with: { 'settle-seconds': settle } });
      expect(first.outputs).toMatchObject({ result: 'completed', confirmed });
      const second = await sim.runHere({ step: { github: { run_id: '2002' } } });
      expect(second.outputs).toMatchObject({ result: 'completed', confirmed });
    },
  );
});

describe('confirmed is true', () => {
  it('if a working agent completes, starts again and completes again', async () => {
    const { result } = await waitFor(
      job({ status: 'active' }, at(10, 'completed'), at(30, 'active'), at(100, 'completed')),
    );
    expect(result.outputs).toMatchObject({ result: 'completed', confirmed: 'true', reason: '' });
    expect(result.virtualMs).toBeLessThan(160_000);
  });

  it('even with settle-seconds: 0 if there is evidence', async () => {
    const { result } = await waitFor(job({ status: 'failed' }, at(1, 'completed')), {
      'settle-seconds': '0',
    });
    expect(result.outputs).toMatchObject({ result: 'completed', confirmed: 'true' });
  });
});

it('with only-when, a job is polled again after a pause, and skipped if its status has changed', async () => {
  await using sim = await simulate({
    with: { 'only-when': 'failed' },
    agent: {
      jobs: [{ id: JOB }],
      onGet: (n) => ({ body: record(n === 1 ? 'failed' : 'active') }),
      onPost: (n) => (n === 1 ? { status: 429, headers: { 'retry-after': '60' } } : undefined),
    },
  });
  const result = await sim.runHere();
  expect(result.outputs).toMatchObject({ result: 'skipped', delivery: 'not-sent' });
  expect(sim.agent.accepted()).toEqual([]);
});

it('a run with send: false does not say what has changed', async () => {
  const prLink = link(3);
  await using sim = await simulate({
    with: { send: 'false', wait: true, prompt: '' },
    agent: { jobs: [{ id: JOB, base: { prLink } }] },
  });
  const result = await sim.runHere();
  expect(result.outputs).toMatchObject({ result: 'completed', confirmed: '', reason: '' });
  expect(result.summary).not.toMatch(/Confirmed|no files changed/);
  expect(result.summary).toContain('Agent completed');
});
