import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { AgentOptions, JobScript, JournalEntry, PostReply, Reply } from '../sim/agent.ts';
import { schedule } from '../sim/events.ts';
import { HAS_SIGNALS } from '../sim/platform.ts';
import type { StepResult } from '../sim/runner/process.ts';
import {
  commentTexts,
  errors,
  JOB,
  LONG_TURN,
  OUTPUT_NAMES,
  ownComments,
  PULL,
  remembered,
  type Scenario,
  type Simulation,
  simulate,
  warnings,
} from './scenario.ts';

const ids = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `job-${index + 1}`);
const FIVE = ids(5);

function jobs(names: readonly string[], parts: Omit<JobScript, 'id'> = {}): readonly JobScript[] {
  return names.map((id) => ({ id, ...parts }));
}

/** Simulates several jobs, without comments unless the scenario turns them on. */
function simulateJobs({ with: inputs = {}, agent = {}, ...more }: Scenario, names = FIVE) {
  return simulate({
    ...more,
    with: { 'job-id': names.join('\n'), comment: false, ...inputs },
    agent: { jobs: jobs(names), ...agent },
  });
}

interface JobResult {
  readonly jobId: string;
  readonly result: string;
  readonly delivery: string;
  readonly status: string | null;
  readonly reason: string;
  readonly polls: number;
}

function resultsOf(outputs: Readonly<Record<string, string>>): readonly JobResult[] {
  return JSON.parse(outputs.results ?? '');
}

/** Runs the step, and sends it a signal as soon as its log contains the words. */
async function signalAtLine(
  sim: Simulation,
  words: string,
  signal: NodeJS.Signals,
): Promise<StepResult> {
  const onLine = (line: string): void => {
    if (line.includes(words)) run.kill(signal);
  };
  const run = sim.start({ step: { onLine } });
  return run.result;
}

/** Runs the step, and sends it a signal as soon as the API receives the message to a job. */
async function signalAtMessage(
  sim: Simulation,
  atMessage: { hook: ((jobId: string) => void) | undefined },
  job: string,
  signal: NodeJS.Signals,
): Promise<StepResult> {
  const run = sim.start();
  atMessage.hook = (jobId) => {
    if (jobId === job) run.kill(signal);
  };
  return run.result;
}

const jobOf = ({ path }: JournalEntry): string => path.split('/')[5] ?? '';
const answerFor =
  <T extends Reply | PostReply>(job: string, reply: T) =>
  (_: number, request: JournalEntry): T | undefined =>
    jobOf(request) === job ? reply : undefined;

describe('several jobs', () => {
  it('each get one message, from one run with one set of outputs', async () => {
    await using sim = await simulateJobs({ with: { 'job-id': 'job-2, job-1 job-3\njob-1,' } });
    const result = await sim.run();
    expect(result.conclusion).toBe('success');
    expect(result.outputs).toMatchObject({
      result: 'sent',
      delivery: 'sent',
      'job-id': 'job-2\njob-1\njob-3',
      confirmed: '',
      reason: '',
    });
    expect(sim.agent.accepted().map(({ jobId }) => jobId)).toEqual(['job-2', 'job-1', 'job-3']);
    expect(sim.agent.gets()).toEqual([]);
    expect(result.log).toContain(
      '1 of the IDs in job-id is a repetition; each job gets one message.',
    );
  });

  it('can each end at a different time', async () => {
    const lengths = [20_000, 300_000, 60_000];
    await using sim = await simulateJobs({
      with: { wait: true, 'job-id': ids(3).join(' ') },
      agent: {
        jobs: lengths.map((afterMs, index) => ({
          id: `job-${index + 1}`,
          turns: [
            {
              steps: [
                { afterMs: 0, set: { status: 'active' } },
                {
                  afterMs,
                  set: {
                    status: index === 1 ? 'failed' : 'completed',
                    prLink: `https://github.com/octo/agents/pull/${index + 1}`,
                  },
                },
              ],
            },
          ],
        })),
      },
    });
    const result = await sim.runHere();
    expect(result.conclusion).toBe('failure');
    expect(errors(result)).toEqual([
      '1 of 3 agent jobs failed, job-2: The agent failed on job job-2. The API does not say why; check the job in the Mintlify dashboard.',
    ]);
    expect(result.outputs).toMatchObject({
      result: 'failed',
      status: 'failed',
      confirmed: 'true',
      'pr-link': ids(3)
        .map((_, index) => `https://github.com/octo/agents/pull/${index + 1}`)
        .join('\n'),
    });
    expect(resultsOf(result.outputs).map(({ result }) => result)).toEqual([
      'completed',
      'failed',
      'completed',
    ]);
    expect(result.summary).toContain('1 of 3 agent jobs failed');
    const rows = result.summary.split('\n').filter((line) => /^\|.*`job-/.test(line));
    expect(rows.map((row) => /`job-\d`/.exec(row)?.[0])).toEqual(['`job-2`', '`job-1`', '`job-3`']);
    expect(result.summary.match(/^ {4}section /gm)).toHaveLength(3);
  });

  it('each get one line in the log when they end, and no line is repeated', async () => {
    await using sim = await simulateJobs({ with: { wait: true, 'timeout-minutes': '10' } });
    const result = await sim.runHere();
    expect(result.log.match(/^\[\d\/5\] completed job-\d after /gm)).toHaveLength(5);
    const lines = result.log.split('\n').filter((line) => !/^(##|$)/.test(line));
    expect(lines.filter((line, index) => lines.indexOf(line) !== index)).toEqual([]);
  });

  it('get at most four messages at a time', async () => {
    let openCount = 0;
    let mostOpen = 0;
    let allFour: PromiseWithResolvers<void> | undefined;
    await using sim = await simulateJobs(
      {
        agent: {
          jobs: jobs(ids(20)),
          async onPost() {
            openCount += 1;
            mostOpen = Math.max(mostOpen, openCount);
            // Answers none of them until four have arrived and a fifth one had time to arrive.
            allFour ??= Promise.withResolvers<void>();
            const { promise, resolve } = allFour;
            if (openCount === 4) wait(30).then(resolve);
            await promise;
            allFour = undefined;
            openCount -= 1;
            return undefined;
          },
        },
      },
      ids(20),
    );
    const result = await sim.runHere();
    expect(result.outputs.result).toBe('sent');
    expect(sim.agent.accepted()).toHaveLength(20);
    expect(mostOpen).toBe(4);
    // Each message uses a new connection, because the server may close a used one at any time.
    expect(new Set(sim.agent.posts().map(({ socket }) => socket)).size).toBe(20);
  });

  it('have an output `results` below the size limit of job outputs, even with long texts', async () => {
    const names = ids(200);
    const error = '\u0000"\\🚀ä'.repeat(300);
    await using sim = await simulateJobs(
      { agent: { jobs: [], onPost: () => ({ status: 400, body: { error } }) } },
      names,
    );
    const result = await sim.runHere();
    expect(Buffer.byteLength(result.outputs.results ?? '')).toBeLessThan(500_000);
    expect(resultsOf(result.outputs).map(({ jobId }) => jobId)).toEqual(names);
    expect(Buffer.byteLength(result.summary)).toBeLessThan(1_048_576);
    expect(errors(result)).toEqual([
      expect.stringContaining('200 of 200 agent jobs without a message, first job-1: '),
    ]);
  });
});

describe.concurrent('one job’s failure does not affect the others', () => {
  const completed = { result: 'completed', delivery: 'sent', status: 'completed', reason: '' };
  const FAILING = 'job-3';
  it.each<[string, Pick<AgentOptions, 'onPost' | 'onGet'>, Partial<JobResult>]>([
    [
      'the request with its message hangs',
      { onPost: answerFor(FAILING, { fault: 'hang', accept: false }) },
      { result: 'error', delivery: 'unknown' },
    ],
    [
      'the API answers 500 to its message',
      { onPost: answerFor(FAILING, { status: 500 }) },
      { result: 'error', delivery: 'unknown' },
    ],
    [
      'the API refuses its message',
      { onPost: answerFor(FAILING, { status: 404 }) },
      { result: 'error', delivery: 'not-sent' },
    ],
    [
      'its polls return the record of another job',
      { onGet: answerFor(FAILING, { body: { id: 'job-1', status: 'completed' } }) },
      { result: 'error', delivery: 'not-sent' },
    ],
    [
      'it is not found',
      { onGet: answerFor(FAILING, { status: 404 }) },
      { result: 'error', delivery: 'not-sent' },
    ],
    [
      'the API refuses its polls',
      { onGet: answerFor(FAILING, { status: 403 }) },
      { result: 'error', delivery: 'not-sent' },
    ],
  ])('if %s', async (name, faults, expected) => {
    await using sim = await simulateJobs({
      with: { wait: true, 'timeout-minutes': '20', 'poll-interval-seconds': '30' },
      agent: { jobs: jobs(FIVE), ...faults },
    });
    const isBuilt = name === 'the request with its message hangs';
    const result = await (isBuilt ? sim.run() : sim.runHere());
    for (const one of resultsOf(result.outputs)) {
      expect(one).toMatchObject(one.jobId === FAILING ? expected : completed);
    }
    expect(errors(result)).toHaveLength(1);
    expect(sim.agent.accepted()).toHaveLength(4);
  });

  it.runIf(HAS_SIGNALS)('and its result is in the outputs before the others end', async () => {
    await using sim = await simulateJobs(
      {
        with: { wait: true },
        agent: {
          jobs: jobs(ids(2), { turns: [LONG_TURN] }),
          onPost: async (_, request) => {
            if (jobOf(request) !== 'job-2') return undefined;
            await wait(150);
            return { status: 400 };
          },
        },
      },
      ids(2),
    );
    const result = await signalAtLine(sim, '1 of 2 jobs have', 'SIGKILL');
    const [, second] = resultsOf(result.outputs);
    expect(second).toMatchObject({ result: 'error', delivery: 'not-sent' });
  });

  const anHourLater = { status: 503, headers: { 'retry-after': '3600' } };

  it('if its baseline poll is delayed, the messages to the others are not', async () => {
    const names = ids(8);
    const busy = new Set(names.slice(0, 4));
    await using sim = await simulateJobs(
      {
        with: { wait: true, 'timeout-minutes': '20', 'poll-interval-seconds': '30' },
        agent: {
          jobs: jobs(names),
          onGet: (_, request) => (busy.has(jobOf(request)) ? anHourLater : undefined),
        },
      },
      names,
    );
    const result = await sim.runHere();
    for (const one of resultsOf(result.outputs)) {
      const expected = { result: 'timed-out', delivery: 'not-sent', polls: 1 };
      expect(one).toMatchObject(busy.has(one.jobId) ? expected : completed);
    }
    expect(resultsOf(result.outputs)[0]?.reason).toMatch(/timeout-minutes.*503/);
  });

  it.runIf(HAS_SIGNALS)(
    'and a killed re-run reports its delivery as unknown if its comment was not found yet',
    async () => {
      const messages: Parameters<typeof signalAtMessage>[1] = { hook: undefined };
      await using sim = await simulateJobs({
        with: { comment: true, 'timeout-minutes': '5', 'resend-on-rerun': true },
        step: { event: schedule(), github: { run_attempt: '2' } },
        agent: {
          jobs: jobs(FIVE),
          onPost(_, request) {
            messages.hook?.(jobOf(request));
            return undefined;
          },
          onGet: answerFor(FAILING, { status: 503, headers: { 'retry-after': '200' } }),
        },
      });
      const result = await signalAtMessage(sim, messages, 'job-5', 'SIGKILL');
      const found = resultsOf(result.outputs).find(({ jobId }) => jobId === FAILING);
      expect(found).toMatchObject({ result: 'error', delivery: 'unknown' });
    },
  );

  it.each<[string, Scenario, Partial<JobResult>, Partial<JobResult>]>([
    [
      'a re-run',
      {
        with: { 'resend-on-rerun': true },
        step: { event: schedule(), github: { run_attempt: '2' } },
      },
      { result: 'timed-out', delivery: 'not-sent' },
      { result: 'sent', delivery: 'sent' },
    ],
    [
      'a wait without a message',
      { with: { send: 'false', wait: true, prompt: '' }, step: { event: schedule() } },
      { result: 'timed-out', delivery: 'not-sent' },
      { result: 'completed', delivery: 'not-sent' },
    ],
  ])(
    '%s starts, even if the comment of one job cannot be found',
    async (_, scenario, failing, other) => {
      await using sim = await simulateJobs({
        ...scenario,
        with: { comment: true, 'timeout-minutes': '5', ...scenario.with },
        agent: {
          jobs: jobs(FIVE, { base: { status: 'completed' } }),
          onGet: answerFor(FAILING, anHourLater),
        },
      });
      for (const one of resultsOf((await sim.runHere()).outputs)) {
        expect(one).toMatchObject(one.jobId === FAILING ? failing : other);
      }
    },
  );
});

it('the wait for many jobs ends 2 s after the deadline, even if the last polls hang', async () => {
  const names = ids(90);
  await using sim = await simulateJobs(
    {
      with: { send: 'false', wait: true, prompt: '', 'timeout-minutes': '1' },
      agent: {
        jobs: jobs(names, { base: { status: 'active' } }),
        onGet: () => ({ fault: 'hang' }),
      },
    },
    names,
  );
  const result = await sim.runHere();
  expect(result.outputs).toMatchObject({ result: 'timed-out', delivery: 'not-sent' });
  expect(result.virtualMs).toBeLessThan(62_500);
});

describe.concurrent('the hourly limit of the project', () => {
  it('stops all remaining messages if it lasts longer than the deadline', async () => {
    await using sim = await simulateJobs(
      {
        with: { wait: true },
        agent: {
          jobs: jobs(ids(20)),
          hourlyLimit: null,
          onPost: (n) => (n > 8 ? { status: 429, headers: { 'retry-after': '1800' } } : undefined),
        },
      },
      ids(20),
    );
    const result = await sim.runHere();
    const results = resultsOf(result.outputs);
    expect(results.filter(({ result }) => result === 'completed')).toHaveLength(8);
    const [failed, ...more] = results.filter(({ result }) => result === 'error');
    expect(failed?.reason).toMatch(/429.*100\/h.*try again after 20\d\d-.*\(UTC\)/);
    expect(more).toEqual([]);
    const skipped = results.filter(({ result }) => result === 'skipped');
    expect(skipped).toHaveLength(11);
    for (const { delivery, reason } of skipped) {
      expect(delivery).toBe('not-sent');
      expect(reason).toMatch(/^Nothing was sent to job job-\d+, because the API accepts no more/);
      expect(reason).toMatch(/try again after 20\d\d-.*\(UTC\)/);
    }
    // The refused message, and those that were sent at the same time.
    expect(sim.agent.posts().length).toBeLessThanOrEqual(12);
    expect(result.outputs).toMatchObject({ result: 'error', delivery: 'sent' });
    expect(errors(result)).toHaveLength(1);
  });

  it('does not replace the reason of another refused message', async () => {
    await using sim = await simulateJobs(
      {
        agent: {
          jobs: jobs(ids(2)),
          onPost: async (_, request) => {
            if (jobOf(request) === 'job-1')
              return { status: 429, headers: { 'retry-after': '3600' } };
            await wait(150);
            return { status: 401 };
          },
        },
      },
      ids(2),
    );
    const [, second] = resultsOf((await sim.runHere()).outputs);
    expect(second).toMatchObject({ result: 'error', reason: expect.stringContaining('401') });
  });

  it('stops the messages of a re-run, but not its wait for the earlier ones', async () => {
    const turns = [
      {
        steps: [
          { afterMs: 0, set: { status: 'active' } },
          { afterMs: 200_000, set: { status: 'completed' } },
        ],
      },
    ];
    let pollsUntilDelay = 0;
    await using sim = await simulateJobs(
      {
        with: { comment: true, wait: true, 'timeout-minutes': '3' },
        step: { event: schedule() },
        github: { issues: [11, 12].map((number) => ({ number, pullRequest: true })) },
        agent: {
          jobs: [11, 12].map((number, index) => ({
            id: `job-${index + 1}`,
            base: { status: 'completed', prLink: `https://github.com/octo/agents/pull/${number}` },
            turns,
          })),
          onPost: answerFor('job-1', { status: 429, headers: { 'retry-after': '3600' } }),
          onGet(_, request) {
            if (jobOf(request) !== 'job-2') return undefined;
            pollsUntilDelay -= 1;
            if (pollsUntilDelay !== 0) return undefined;
            return { status: 503, headers: { 'retry-after': '5' } };
          },
        },
      },
      // The message to job-2 is sent before the limit is reached.
      ['job-2', 'job-1'],
    );
    await sim.runHere();
    pollsUntilDelay = 1;
    const second = await sim.runHere({ step: { github: { run_attempt: '2' } } });
    expect(resultsOf(second.outputs)).toMatchObject([
      { result: 'completed', delivery: 'sent' },
      { result: 'error', delivery: 'not-sent' },
    ]);
    expect(sim.agent.accepted()).toHaveLength(1);
  });

  it.each<[string, number, Scenario['step'], (index: number) => number]>([
    ['on a schedule, with a pull request for each job', 7, { event: schedule() }, (n) => 11 + n],
    ['on one pull request', 70, {}, () => PULL],
  ])(
    'lets a re-run send the remaining messages, and none twice: %s',
    async (_, count, step, numberOf) => {
      const names = ids(count);
      const numbers = [...new Set(names.map((_, index) => numberOf(index)))];
      let isLimited = true;
      await using sim = await simulateJobs(
        {
          with: { comment: true },
          step: { ...step },
          github: { issues: numbers.map((number) => ({ number, pullRequest: true })) },
          agent: {
            jobs: names.map((id, index) => ({
              id,
              base: { prLink: `https://github.com/octo/agents/pull/${numberOf(index)}` },
            })),
            onPost: (n) =>
              isLimited && n > 3 ? { status: 429, headers: { 'retry-after': '3600' } } : undefined,
          },
        },
        names,
      );
      const first = await sim.runHere();
      const by = ({ outputs }: StepResult, wanted: string): readonly string[] =>
        resultsOf(outputs).flatMap(({ jobId, result }) => (result === wanted ? jobId : []));
      expect(by(first, 'sent')).toHaveLength(3);
      expect(by(first, 'skipped').length).toBeGreaterThanOrEqual(3);
      const turns = numbers.flatMap((number) =>
        remembered(sim.github, number).jobs.flatMap((job) => job.turns),
      );
      expect(turns.filter(({ delivery }) => delivery === 'sent')).toHaveLength(3);
      expect(turns.filter(({ delivery }) => delivery === 'not-sent')).toHaveLength(count - 3);
      for (const number of numbers) {
        expect(ownComments(sim.github, number)[0]?.body).not.toContain('⏳');
      }

      isLimited = false;
      const second = await sim.runHere({ step: { github: { run_attempt: '2' } } });
      expect(second.outputs).toMatchObject({ result: 'sent', delivery: 'sent' });
      expect(sim.agent.accepted()).toHaveLength(count);
      for (const id of names) expect(sim.agent.accepted(id)).toHaveLength(1);
    },
  );

  it('delays messages, and loses none, if it ends before the deadline', async () => {
    await using sim = await simulateJobs(
      {
        agent: {
          jobs: jobs(ids(12)),
          onPost: (n) =>
            n > 4 && n <= 8 ? { status: 429, headers: { 'retry-after': '20' } } : undefined,
        },
      },
      ids(12),
    );
    const result = await sim.runHere();
    expect(result.outputs.result).toBe('sent');
    expect(sim.agent.accepted()).toHaveLength(12);
    for (const id of ids(12)) expect(sim.agent.accepted(id)).toHaveLength(1);
  });
});

describe.concurrent('a step that ends before all messages are sent', () => {
  it.runIf(HAS_SIGNALS)('reports the delivery of each job if the run is cancelled', async () => {
    const messages: Parameters<typeof signalAtMessage>[1] = { hook: undefined };
    await using sim = await simulateJobs(
      {
        agent: {
          jobs: jobs(ids(12)),
          onPost(n, request) {
            messages.hook?.(jobOf(request));
            return n > 4 ? { fault: 'hang', accept: true } : undefined;
          },
        },
      },
      ids(12),
    );
    const result = await signalAtMessage(sim, messages, 'job-8', 'SIGINT');
    const by = (delivery: string) =>
      resultsOf(result.outputs).filter((one) => one.delivery === delivery);
    expect(by('sent').map(({ result }) => result)).toEqual(Array(4).fill('sent'));
    for (const one of [...by('unknown'), ...by('not-sent')]) expect(one.result).toBe('cancelled');
    expect(sim.agent.posts().length).toBe(4 + by('unknown').length);
    expect(by('not-sent').length).toBeGreaterThanOrEqual(4);
    expect(result.outputs).toMatchObject({ result: 'cancelled', delivery: 'unknown' });
    expect(result.exitCode).toBe(1);
  });

  it('reports a time-out for the remaining jobs if the deadline passes', async () => {
    await using sim = await simulateJobs(
      {
        with: { 'timeout-minutes': '0.5' },
        agent: {
          jobs: jobs(ids(8)),
          onPost: (n) => (n > 4 ? { status: 429, headers: { 'retry-after': '20' } } : undefined),
        },
      },
      ids(8),
    );
    const result = await sim.runHere();
    const results = resultsOf(result.outputs);
    expect(results.slice(0, 4).map(({ result }) => result)).toEqual(Array(4).fill('sent'));
    for (const { result, delivery } of results.slice(4)) {
      expect(['timed-out', 'error', 'skipped']).toContain(result);
      expect(delivery).toBe('not-sent');
    }
    expect(sim.agent.accepted()).toHaveLength(4);
  });
});

describe.concurrent('only-when', () => {
  const statuses = ['failed', 'completed', 'active', 'archived', 'odd'];
  const mixed = statuses.map((status, index) => ({ id: `job-${index + 1}`, base: { status } }));

  it.each<[string, readonly string[]]>([
    ['failed', ['job-1']],
    ['failed, completed', ['job-1', 'job-2']],
    ['active', ['job-3', 'job-5']],
    ['any', FIVE],
  ])('sends the message only to jobs with the status: %s', async (onlyWhen, sent) => {
    await using sim = await simulateJobs({
      with: { 'only-when': onlyWhen },
      agent: { jobs: mixed },
    });
    const result = await (onlyWhen === 'failed' ? sim.run() : sim.runHere());
    expect(result.conclusion).toBe('success');
    expect(
      sim.agent
        .accepted()
        .map(({ jobId }) => jobId)
        .sort(),
    ).toEqual(sent);
    for (const one of resultsOf(result.outputs)) {
      // If the machine stalls for a second, the action polls the baseline again.
      expect(one.polls).toBeGreaterThanOrEqual(onlyWhen === 'any' ? 0 : 1);
      expect(one.polls).toBeLessThanOrEqual(onlyWhen === 'any' ? 0 : 2);
      if (sent.includes(one.jobId)) expect(one).toMatchObject({ result: 'sent', reason: '' });
      else {
        const status = statuses[Number(one.jobId.slice(4)) - 1];
        expect(one).toMatchObject({ result: 'skipped', delivery: 'not-sent', status });
        expect(one.reason).toBe(
          `Nothing was sent to job ${one.jobId}: it is ${status}, and only-when is ${onlyWhen}.`,
        );
      }
    }
  });

  it('does not count the status of an earlier poll if the latest one has none', async () => {
    await using sim = await simulate({
      with: { 'only-when': 'failed' },
      agent: {
        jobs: [{ id: JOB }],
        onGet: (n) => ({ body: { id: JOB, ...(n === 1 ? { status: 'failed' } : {}) } }),
        onPost: (n) =>
          n === 1 ? { status: 429, headers: { 'retry-after': '5' } } : { body: { id: JOB } },
      },
    });
    const { outputs } = await sim.runHere();
    expect(sim.agent.posts()).toHaveLength(1);
    expect(outputs).toMatchObject({ result: 'skipped', delivery: 'not-sent', status: '' });
    expect(outputs.reason).toMatch(/ is in an unknown status, and only-when is /);
  });

  it('does not match a status that is not a plain word', async () => {
    await using sim = await simulate({
      with: { 'only-when': 'completed' },
      agent: { jobs: [{ id: JOB, base: { status: 'all done!' } }] },
    });
    const result = await sim.runHere();
    expect(result.outputs.result).toBe('skipped');
    expect(sim.agent.posts()).toEqual([]);
    expect(result.log).toContain(
      `Nothing was sent to job ${JOB}: it is in an unknown status, and only-when is completed.`,
    );
  });

  it('ends the log with the number of skipped jobs', async () => {
    await using sim = await simulateJobs({
      with: { 'only-when': 'failed' },
      agent: {
        jobs: FIVE.map((id, index) => ({
          id,
          base: { status: index < 2 ? 'failed' : 'completed' },
        })),
      },
    });
    const result = await sim.runHere();
    expect(result.log).toContain('5 jobs: 2 sent, 3 skipped.');
  });

  it('succeeds with a notice and without a comment if no job has the status', async () => {
    await using sim = await simulate({
      with: { 'only-when': 'failed' },
    });
    const result = await sim.runHere();
    expect(result.conclusion).toBe('success');
    expect(result.outputs).toMatchObject({ result: 'skipped', delivery: 'not-sent' });
    expect(result.annotations.filter(({ type }) => type === 'notice')).toHaveLength(1);
    expect(sim.github.comments(PULL)).toEqual([]);
    expect(sim.agent.posts()).toEqual([]);
  });

  it('fails the step for skipped jobs only if fail-on contains skipped', async () => {
    await using sim = await simulate({ with: { 'only-when': 'failed', 'fail-on': 'skipped' } });
    expect((await sim.runHere()).conclusion).toBe('failure');
  });

  it.each([
    ['skipped', /^4 of 5 agent jobs skipped, first job-2: Nothing was sent .*it is completed/],
    ['archived, skipped', /^4 of 5 agent jobs skipped, first job-2: /],
  ])('reports which jobs fail the step with fail-on: %s', async (failOn, message) => {
    await using sim = await simulateJobs({
      with: { 'only-when': 'failed', 'fail-on': failOn },
      agent: { jobs: mixed },
    });
    const result = await sim.runHere();
    expect(result).toMatchObject({
      conclusion: 'failure',
      outputs: { result: 'sent', reason: '' },
    });
    expect(errors(result)).toEqual([expect.stringMatching(message)]);
  });

  it('lists in the comment only the jobs that got the message', async () => {
    await using sim = await simulateJobs({
      with: { 'only-when': 'failed', comment: true },
      agent: { jobs: mixed },
    });
    await sim.runHere();
    const [comment = ''] = commentTexts(sim.github).slice(-1);
    expect(comment.match(/`job-\d`/g)).toEqual(['`job-1`']);
    expect(sim.github.comments(PULL)).toHaveLength(1);
  });
});

describe.concurrent('the comments on many jobs', () => {
  it('are one on the pull request of the event, written at most three times', async () => {
    await using sim = await simulateJobs({ with: { comment: true, wait: true } });
    const result = await sim.runHere();
    const texts = commentTexts(sim.github);
    expect(texts).toHaveLength(3);
    expect(texts.map((text) => text.match(/`job-\d`/g)?.length)).toEqual([5, 5, 5]);
    expect(texts[0]).toContain('⏳');
    expect(texts[1]).toContain('working');
    expect(texts[2]).toContain('5 agent jobs completed');
    expect(result.outputs['comment-url']).toContain(`/pull/${PULL}#`);
  });

  it('are on the pull request of each job if the event has none', async () => {
    const names = ids(3);
    await using sim = await simulateJobs(
      {
        with: { comment: true, wait: true },
        github: { issues: names.map((_, index) => ({ number: 11 + index, pullRequest: true })) },
        agent: {
          jobs: names.map((id, index) => ({
            id,
            base: { prLink: `https://github.com/octo/agents/pull/${11 + index}` },
          })),
        },
        step: { event: schedule() },
      },
      names,
    );
    const result = await sim.runHere();
    for (const [index, id] of names.entries()) {
      const [comment] = sim.github.comments(11 + index);
      expect(comment?.body).toContain(`Job \`${id}\``);
      expect(comment?.body).toContain('completed');
      for (const other of names.filter((name) => name !== id)) {
        expect(comment?.body).not.toContain(other);
      }
    }
    expect(result.outputs['comment-url']?.split('\n')).toHaveLength(3);
    // Each comment is written before the message, after it, and at the end.
    expect(sim.github.writes()).toHaveLength(3 * names.length);
  });

  it('announce no message to a job that was skipped before the first message', async () => {
    await using sim = await simulate({
      with: { 'job-id': 'job-1 job-2', 'only-when': 'failed' },
      agent: {
        jobs: [
          { id: 'job-1', base: { status: 'active' } },
          { id: 'job-2', base: { status: 'failed' } },
        ],
        onGet: async (_, request) => {
          if (jobOf(request) === 'job-2') await wait(60);
          return undefined;
        },
      },
    });
    await sim.runHere();
    expect(commentTexts(sim.github).at(-1)).not.toContain('⏳');
    const again = await sim.runHere({ step: { github: { run_attempt: '2' } } });
    expect(resultsOf(again.outputs)[0]).toMatchObject({ result: 'skipped', delivery: 'not-sent' });
  });

  it('keep a re-run from sending any message again', async () => {
    await using sim = await simulateJobs({ with: { comment: true } });
    await sim.runHere();
    const second = await sim.runHere({ step: { github: { run_attempt: '2' } } });
    expect(second.outputs).toMatchObject({ result: 'sent', delivery: 'sent' });
    expect(sim.agent.posts()).toHaveLength(5);
  });

  it('let a re-run send only the messages that were never announced', async () => {
    await using sim = await simulateJobs({ with: { comment: true } });
    await sim.runHere({ with: { 'job-id': 'job-1, job-3' } });
    const second = await sim.runHere({ step: { github: { run_attempt: '2' } } });
    expect(second.outputs).toMatchObject({ result: 'sent', delivery: 'sent' });
    expect(second.annotations).toEqual([]);
    for (const id of FIVE) expect(sim.agent.accepted(id)).toHaveLength(1);
  });

  it.runIf(HAS_SIGNALS)('include a late job on a pull request of several jobs', async () => {
    const two = ids(2);
    const prLink = `https://github.com/octo/agents/pull/${PULL}`;
    let kill: (() => void) | undefined;
    await using sim = await simulateJobs(
      {
        with: { comment: true, wait: true },
        step: { event: schedule() },
        agent: {
          jobs: two.map((id, index) => ({
            id,
            base: { prLink, status: 'failed' },
            turns: [
              {
                steps: [
                  { afterMs: 0, set: { status: 'active' } },
                  { afterMs: 10_000 + index * 900_000, set: { status: 'completed' } },
                ],
              },
            ],
          })),
          // The second message is sent after the first one was answered.
          onPost: (n, request) =>
            n === 2 && jobOf(request) === 'job-2'
              ? { status: 429, headers: { 'retry-after': '60' } }
              : undefined,
          onGet(_, request) {
            if (jobOf(request) === 'job-2' && sim.agent.accepted('job-2').length > 0) kill?.();
            return undefined;
          },
        },
      },
      two,
    );
    const run = sim.start();
    kill = () => run.kill('SIGKILL');
    const first = await run.result;
    kill = undefined;
    expect(resultsOf(first.outputs).map(({ result }) => result)).toEqual(['completed', 'sent']);
    const second = await sim.runHere({ step: { github: { run_attempt: '2' } } });
    expect(resultsOf(second.outputs).map(({ result }) => result)).toEqual([
      'completed',
      'completed',
    ]);
    expect(sim.agent.accepted()).toHaveLength(2);
    expect(
      commentTexts(sim.github)
        .at(-1)
        ?.match(/`job-\d`/g),
    ).toHaveLength(2);
    expect(commentTexts(sim.github).at(-1)).toContain('2 agent jobs completed');
  });

  it('list each late job', async () => {
    const prLink = `https://github.com/octo/agents/pull/${PULL}`;
    const delays = new Map([
      ['job-2', '40'],
      ['job-3', '100'],
    ]);
    await using sim = await simulateJobs(
      {
        with: { comment: true, wait: true },
        step: { event: schedule() },
        agent: {
          jobs: jobs(ids(3), {
            base: { prLink, status: 'failed' },
            turns: [
              {
                steps: [
                  { afterMs: 0, set: { status: 'active' } },
                  { afterMs: 10_000, set: { status: 'completed' } },
                ],
              },
            ],
          }),
          onPost(_, request) {
            const seconds = delays.get(jobOf(request));
            delays.delete(jobOf(request));
            return seconds ? { status: 429, headers: { 'retry-after': seconds } } : undefined;
          },
        },
      },
      ids(3),
    );
    const result = await sim.runHere();
    expect(result.outputs).toMatchObject({ result: 'completed', delivery: 'sent' });
    expect(sim.github.comments(PULL)).toHaveLength(1);
    const [text = ''] = commentTexts(sim.github).slice(-1);
    expect(text).toContain('3 agent jobs completed');
  });

  it.each([50, 60])('each report the sent message in the end, for %i jobs', async (count) => {
    const names = ids(count);
    const numbers = names.map((_, index) => 101 + index);
    await using sim = await simulateJobs(
      {
        with: { comment: true, wait: false },
        github: { issues: numbers.map((number) => ({ number, pullRequest: true })) },
        agent: {
          jobs: names.map((id, index) => ({
            id,
            base: { prLink: `https://github.com/octo/agents/pull/${numbers[index]}` },
          })),
        },
        step: { event: schedule() },
      },
      names,
    );
    const result = await sim.runHere();
    expect(result.outputs).toMatchObject({ result: 'sent', delivery: 'sent' });
    expect(warnings(result)).toEqual([]);
    const deliveries = numbers.map(
      (number) => remembered(sim.github, number).jobs[0]?.turns[0]?.delivery,
    );
    expect(deliveries).toEqual(numbers.map(() => 'sent'));
    const times = sim.github.writes().map(({ at }) => at);
    expect(times).toHaveLength(2 * names.length);
    // Requests that are sent a second apart may arrive a little closer, so this measures ten at a time.
    const spans = times.slice(10).map((at, index) => at - (times[index] ?? 0));
    expect(Math.min(...spans)).toBeGreaterThan(8000);
  });

  it('delay no message for long if GitHub hangs, and cause one warning', async () => {
    const names = ids(3);
    await using sim = await simulateJobs(
      {
        with: { comment: true, wait: true, 'poll-interval-seconds': '60' },
        github: { on: () => ({ fault: 'hang' }) },
        agent: {
          jobs: names.map((id, index) => ({
            id,
            base: { status: 'failed', prLink: `https://github.com/octo/agents/pull/${11 + index}` },
          })),
        },
        step: { event: schedule() },
      },
      names,
    );
    const result = await sim.runHere();
    expect(result.outputs).toMatchObject({ result: 'completed', delivery: 'sent' });
    expect(warnings(result)).toEqual([
      expect.stringMatching(/^The comment on #1\d, and those on 2 others, could not be/),
    ]);
    for (const id of names) expect(result.summary).toContain(`Job \`${id}\``);
  });
});

it.runIf(HAS_SIGNALS)('all outputs are set before the first message is sent', async () => {
  await using sim = await simulateJobs({
    agent: { jobs: jobs(FIVE), onPost: () => ({ fault: 'hang', accept: true }) },
  });
  const result = await signalAtLine(sim, 'Sending the message to job job-2', 'SIGKILL');
  expect(Object.keys(result.outputs).sort()).toEqual(OUTPUT_NAMES.toSorted());
  expect(result.outputs).toMatchObject({ result: 'error', delivery: 'unknown' });
  expect(resultsOf(result.outputs).map(({ jobId }) => jobId)).toEqual(FIVE);
});
