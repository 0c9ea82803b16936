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

// `confirmed` is true only after a look since the message that shows what only it can have caused.

const link = (number: number): string => `https://github.com/octo/agents/pull/${number}`;
const shows = (status: string, prLink: string | null = null) => ({ id: JOB, status, prLink });
const at = (seconds: number, status: string) => ({ afterMs: seconds * 1000, set: { status } });

async function waitFor(agent: Partial<AgentOptions>, inputs: Record<string, string> = {}) {
  await using sim = await simulate({ with: { wait: true, ...inputs }, agent });
  const result = await sim.runHere();
  return { result, sim };
}

function job(base: JobScript['base'], ...steps: ReturnType<typeof at>[]): Partial<AgentOptions> {
  return { jobs: [{ id: JOB, base: base ?? {}, turns: [{ steps }] }] };
}

/** Takes the message, and answers with a record of its own. */
function takes(record: object): () => PostReply {
  return () => ({ body: record, accept: true });
}

describe('is not said without evidence', () => {
  it('an agent at work whose queue takes longer than the settle window', async () => {
    const { result } = await waitFor(
      job({ status: 'active' }, at(10, 'completed'), at(120, 'active'), at(200, 'completed')),
    );
    expect(result.outputs).toMatchObject({ result: 'completed', confirmed: 'false' });
    expect(result.outputs.reason).toContain('already working when the message was sent');
    // It could not be known better, so nobody is warned.
    expect([...errors(result), ...warnings(result)]).toEqual([]);
    expect(result.conclusion).toBe('success');
  });

  it.each(['completed', 'active'])('settle-seconds: 0, and the job was %s', async (status) => {
    const { result } = await waitFor(job({ status }, at(1, 'completed')), {
      'settle-seconds': '0',
    });
    expect(result.outputs).toMatchObject({ result: 'completed', confirmed: 'false' });
  });

  it('an answer that says active, and reads that are behind', async () => {
    const { result } = await waitFor({
      jobs: [{ id: JOB, turns: [{ steps: [] }] }],
      onPost: takes(shows('active')),
    });
    expect(result.outputs).toMatchObject({ result: 'completed', confirmed: 'false' });
    expect(warnings(result)).toEqual([expect.stringContaining('possibly from the earlier turn')]);
    expect(result.virtualMs).toBeGreaterThan(60_000);
  });

  it('an answer with a new link, and reads that never show it', async () => {
    const { result } = await waitFor({
      jobs: [{ id: JOB, base: { prLink: link(1) }, turns: [{ steps: [] }] }],
      onPost: takes(shows('completed', link(2))),
    });
    expect(result.outputs).toMatchObject({ confirmed: 'false', 'pr-link': link(1) });
  });

  it('a message of somebody else that is answered while a 429 is waited out', async () => {
    const { result, sim } = await waitFor({
      jobs: [{ id: JOB, turns: [{ steps: [] }] }],
      onGet: (n) => ({ body: shows('completed', link(n === 1 ? 1 : 2)) }),
      onPost: (n) => (n === 1 ? { status: 429, headers: { 'retry-after': '60' } } : undefined),
    });
    expect(result.outputs).toMatchObject({ result: 'completed', confirmed: 'false' });
    expect(sim.agent.journal.slice(0, 4).map(({ method }) => method)).toEqual([
      ...['GET', 'POST', 'GET', 'POST'],
    ]);
  });

  it('a message of the evening that the agent never took up, waited for in the morning', async () => {
    await using sim = await simulate({ agent: { jobs: [{ id: JOB, turns: [{ steps: [] }] }] } });
    expect((await sim.run()).outputs.result).toBe('sent');
    const morning = await sim.run({
      with: { send: 'false', wait: true, prompt: '' },
      step: { github: { run_id: '2002' } },
    });
    expect(morning.outputs).toMatchObject({ result: 'completed', confirmed: 'false' });
    expect(warnings(morning)).toEqual([
      expect.stringContaining('Its status before the message is not known'),
    ]);
    for (const text of [morning.summary, ...commentTexts(sim.github)]) {
      expect(text).not.toMatch(/no files changed|pull request (created|updated)/);
    }
  });
});

it('what was remembered without a secret of that time is not compared', async () => {
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

it('a base that took over a second to arrive is looked for once more', async () => {
  await using sim = await simulate({
    with: { wait: true, comment: false },
    agent: {
      jobs: [{ id: JOB, turns: [{ steps: [] }] }],
      // What another message began meanwhile is seen from then on.
      onGet: (n) =>
        n === 1
          ? wait(1100).then(() => ({ body: shows('completed') }))
          : { body: shows(n === 2 ? 'active' : 'completed') },
    },
  });
  expect((await sim.runHere()).outputs.confirmed).toBe('false');
  expect(sim.agent.journal.slice(0, 3).map(({ method }) => method)).toEqual([
    ...['GET', 'GET', 'POST'],
  ]);
});

describe('of a doubt of an earlier attempt', () => {
  const nextAttempt = { step: { github: { run_attempt: '2' } } };

  it.each([502, 503])(
    '%i, nothing was taken, and somebody else sends a message',
    async (status) => {
      let isLater = false;
      await using sim = await simulate({
        with: { wait: true },
        agent: {
          jobs: [{ id: JOB, base: { status: 'completed', prLink: link(1) } }],
          onGet: () => (isLater ? { body: shows('completed', link(2)) } : undefined),
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

it('several jobs are not confirmed where one of them is in doubt', async () => {
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

it('a message that another run sends to the job during the wait takes it back', async () => {
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
      ...job({ status: 'completed' }, at(1, 'active'), at(60, 'completed')),
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
  expect(result.outputs).toMatchObject({ result: 'completed', confirmed: 'false' });
  expect(warnings(result)).toEqual([
    expect.stringContaining('Another message was sent to it since'),
  ]);
  expect(result.summary).toContain('Another message was sent to it since');
});

describe('of two messages that are sent one right after the other', () => {
  // The agent starts on the first one after 20 s.
  const statusAt = (seconds: number): string =>
    seconds < 20 ? 'completed' : seconds < 60 ? 'active' : 'completed';

  it.each([
    ['5 s', 5000, 'false'],
    ['5 minutes', 300_000, 'true'],
  ])('%s later', async (_, pauseMs, confirmed) => {
    let firstAt = 0;
    await using sim = await simulate({
      agent: {
        jobs: [{ id: JOB }],
        onGet: () => ({ body: shows(statusAt((sim.time.now() - firstAt) / 1000)) }),
      },
    });
    firstAt = sim.time.now();
    await sim.runHere();
    await sim.pass(pauseMs);
    // Half a minute before the agent starts on the second one.
    if (pauseMs > 60_000) firstAt = sim.time.now();
    const second = await sim.runHere({
      with: { wait: true },
      step: { github: { run_id: '2002' } },
    });
    expect(second.outputs).toMatchObject({ result: 'completed', confirmed });
    expect(warnings(second)).toEqual(
      confirmed === 'true'
        ? []
        : [expect.stringContaining('Another message was sent to it shortly before')],
    );
  });
});

describe('is said', () => {
  it('of an agent at work that ends, begins anew and ends again', async () => {
    const { result } = await waitFor(
      job({ status: 'active' }, at(10, 'completed'), at(30, 'active'), at(100, 'completed')),
    );
    expect(result.outputs).toMatchObject({ result: 'completed', confirmed: 'true', reason: '' });
    expect(result.virtualMs).toBeLessThan(160_000);
  });

  it('without a settle window, too, once there is evidence', async () => {
    const { result } = await waitFor(job({ status: 'failed' }, at(1, 'completed')), {
      'settle-seconds': '0',
    });
    expect(result.outputs).toMatchObject({ result: 'completed', confirmed: 'true' });
  });
});

it('a job that is wanted only in a status is polled anew after a pause, and then skipped', async () => {
  await using sim = await simulate({
    with: { 'only-when': 'failed' },
    agent: {
      jobs: [{ id: JOB }],
      onGet: (n) => ({ body: shows(n === 1 ? 'failed' : 'active') }),
      onPost: (n) => (n === 1 ? { status: 429, headers: { 'retry-after': '60' } } : undefined),
    },
  });
  const result = await sim.runHere();
  expect(result.outputs).toMatchObject({ result: 'skipped', delivery: 'not-sent' });
  expect(sim.agent.accepted()).toEqual([]);
});

it('a single poll says nothing of what changed', async () => {
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
