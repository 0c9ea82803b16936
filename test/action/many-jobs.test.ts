import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type {
  AgentOptions,
  JobPart,
  JobScript,
  JournalEntry,
  PostReply,
  Reply,
  TurnScript,
} from '../sim/agent.ts';
import { HAS_SIGNALS } from '../sim/platform.ts';
import type { StepResult } from '../sim/runner/process.ts';
import {
  commentTexts,
  errors,
  LONG_TURN,
  notes,
  OUTPUT_NAMES,
  type Scenario,
  type Simulation,
  simulate,
  warnings,
} from './scenario.ts';

const ids = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `job-${index + 1}`);
const FIVE = ids(5);
const RERUN = { step: { github: { run_attempt: '2' } } };
const AN_HOUR_LATER = { status: 429, headers: { 'retry-after': '3600' } };

function jobs(names: readonly string[], parts: Omit<JobScript, 'id'> = {}): readonly JobScript[] {
  return names.map((id) => ({ id, ...parts }));
}

/** The agent works for so many milliseconds. */
function turnOf(afterMs: number, set: JobPart = { status: 'completed' }): TurnScript {
  return {
    steps: [
      { afterMs: 0, set: { status: 'active' } },
      { afterMs, set },
    ],
  };
}

/** Simulates several jobs, without comments unless the scenario turns them on. */
function simulateJobs(scenario: Scenario & { readonly names?: readonly string[] }) {
  const { names = FIVE, with: inputs = {}, agent = {}, ...more } = scenario;
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

function resultsOf({ outputs }: StepResult): readonly JobResult[] {
  return JSON.parse(outputs.results ?? '');
}

/** The jobs with this result. */
function jobsWith(result: StepResult, wanted: string): readonly string[] {
  return resultsOf(result).flatMap(({ jobId, result }) => (result === wanted ? jobId : []));
}

function acceptedBy({ agent }: Simulation): readonly string[] {
  return agent
    .accepted()
    .map(({ jobId }) => jobId)
    .sort();
}

const jobOf = ({ path }: JournalEntry): string => path.split('/')[5] ?? '';
const answerFor =
  <T extends Reply | PostReply>(job: string, reply: T) =>
  (_: number, request: JournalEntry): T | undefined =>
    jobOf(request) === job ? reply : undefined;

/** Counts the requests that are open at once, and answers none before `count` of them are open. */
function openAtOnce(count: number) {
  let open = 0;
  let release = Promise.withResolvers<void>();
  const state = { most: 0, arrive };
  async function arrive(): Promise<undefined> {
    open += 1;
    state.most = Math.max(state.most, open);
    const { promise, resolve } = release;
    // One more would have time to arrive.
    if (open === count) {
      wait(30).then(() => {
        release = Promise.withResolvers();
        resolve();
      });
    }
    await promise;
    open -= 1;
  }
  return state;
}

describe('several jobs', () => {
  it('each get one message, from one run with one set of outputs', async () => {
    await using sim = await simulateJobs({ with: { 'job-id': 'job-2, job-1 job-3\njob-1,' } });
    const result = await sim.run();
    expect(result.conclusion).toBe('success');
    expect(result.outputs).toMatchObject({
      ...{ result: 'sent', delivery: 'sent', confirmed: '', reason: '' },
      'job-id': 'job-2\njob-1\njob-3',
    });
    expect(acceptedBy(sim)).toEqual(['job-1', 'job-2', 'job-3']);
    expect(sim.agent.gets()).toHaveLength(3);
  });

  it('can each end at a different time, and are shown with the worst first', async () => {
    const names = ids(3);
    const linkOf = (index: number): string => `https://github.com/octo/agents/pull/${index + 1}`;
    const ends = [
      [20_000, 'completed'],
      [300_000, 'failed'],
      [60_000, 'completed'],
    ] as const;
    await using sim = await simulateJobs({
      names,
      with: { wait: true },
      agent: {
        jobs: ends.map(([afterMs, status], index) => ({
          id: `job-${index + 1}`,
          turns: [turnOf(afterMs, { status, prLink: linkOf(index) })],
        })),
      },
    });
    const result = await sim.runHere();
    expect(result.conclusion).toBe('failure');
    expect(errors(result)).toEqual([
      '1 of 3 jobs failed (“job-2”): The API does not say why the agent failed. Open the job in the dashboard (https://app.mintlify.com).',
    ]);
    expect(result.outputs).toMatchObject({
      ...{ result: 'failed', status: 'failed', confirmed: 'true' },
      'pr-link': names.map((_, index) => linkOf(index)).join('\n'),
    });
    expect(jobsWith(result, 'completed')).toEqual(['job-1', 'job-3']);
    const rows = result.summary.split('\n').filter((line) => /^\|.*`job-/.test(line));
    expect(rows.map((row) => /`job-\d`/.exec(row)?.[0])).toEqual(['`job-2`', '`job-1`', '`job-3`']);
  });

  it('get at most 4 messages at a time', async () => {
    const messages = openAtOnce(4);
    const names = ids(48);
    await using sim = await simulateJobs({
      names,
      agent: { jobs: jobs(names), onPost: messages.arrive },
    });
    const result = await sim.runHere();
    expect(result.outputs.result).toBe('sent');
    expect(acceptedBy(sim)).toEqual(names.toSorted());
    expect(messages.most).toBe(4);
    // Each message uses a new connection, because the server may close a used one at any time.
    expect(new Set(sim.agent.posts().map(({ socket }) => socket)).size).toBe(48);
  });
});

describe.concurrent('one job’s failure does not affect the others', () => {
  const completed = { result: 'completed', delivery: 'sent', status: 'completed', reason: '' };
  const FAILING = 'job-3';
  const notSent = { result: 'error', delivery: 'not-sent' };
  const unknown = { result: 'error', delivery: 'unknown' };
  it.each<[string, Pick<AgentOptions, 'onPost' | 'onGet'>, Partial<JobResult>]>([
    [
      'the request with its message hangs',
      { onPost: answerFor(FAILING, { fault: 'hang', accept: false }) },
      unknown,
    ],
    ['the API refuses its message', { onPost: answerFor(FAILING, { status: 404 }) }, notSent],
    ['it is not found', { onGet: answerFor(FAILING, { status: 404 }) }, { ...notSent, polls: 1 }],
    ['its first polls hang', { onGet: answerFor(FAILING, { fault: 'hang' }) }, notSent],
  ])('if %s', async (name, faults, expected) => {
    await using sim = await simulateJobs({
      with: { wait: true, 'timeout-minutes': '20' },
      agent: { jobs: jobs(FIVE), ...faults },
    });
    const isBuilt = name === 'the API refuses its message';
    const result = await (isBuilt ? sim.run() : sim.runHere());
    for (const one of resultsOf(result)) {
      expect(one).toMatchObject(one.jobId === FAILING ? expected : completed);
    }
    expect(errors(result).length + warnings(result).length).toBe(1);
    expect(acceptedBy(sim)).toEqual(FIVE.filter((id) => id !== FAILING));
  });
});

it('the wait for many jobs ends at most 60 s after the deadline, even if the last polls hang', async () => {
  const names = ids(90);
  await using sim = await simulateJobs({
    names,
    with: { send: 'false', wait: true, prompt: '', 'timeout-minutes': '1' },
    agent: {
      jobs: jobs(names, { base: { status: 'active' } }),
      onGet: (n) => (n <= names.length ? undefined : { fault: 'hang' }),
    },
  });
  const result = await sim.runHere();
  expect(result.outputs).toMatchObject({ result: 'timed-out', delivery: 'not-sent' });
  expect(result.virtualMs).toBeLessThan(122_000);
});

describe.concurrent('a 429', () => {
  it('that lasts too long stops the remaining messages, and a re-run sends only those', async () => {
    const names = ids(70);
    let isLimited = true;
    const four = Promise.withResolvers<void>();
    await using sim = await simulateJobs({
      names,
      with: { comment: true },
      agent: {
        jobs: jobs(names),
        hourlyLimit: null,
        async onPost(n) {
          if (!isLimited || n <= 8) return undefined;
          // The first refusal stops what is not sent yet.
          if (n === 12) four.resolve();
          await four.promise;
          if (n !== 10) return AN_HOUR_LATER;
          // This one has a reason of its own, which comes later.
          await wait(150);
          return { status: 401 };
        },
      },
    });
    const first = await sim.runHere();
    expect(jobsWith(first, 'sent')).toHaveLength(8);
    const refused = resultsOf(first).filter(({ result }) => result === 'error');
    expect(refused.map(({ reason }) => /\b4\d\d\b/.exec(reason)?.[0]).sort()).toEqual([
      '401',
      '429',
    ]);
    expect(refused.find(({ reason }) => reason.includes('429'))?.reason).toMatch(
      /100\/h.*asks to wait until 20\d\d-.*UTC/,
    );
    const skipped = resultsOf(first).filter(({ result }) => result === 'skipped');
    expect(skipped).toHaveLength(60);
    for (const { delivery, reason } of skipped) {
      expect(delivery).toBe('not-sent');
      expect(reason).toMatch(
        /^The API accepts no more messages for now\. The message to job “job-\d+” was/,
      );
      expect(reason).toMatch(/asks to wait until 20\d\d-.*UTC/);
    }
    expect(sim.agent.posts()).toHaveLength(12);
    expect(first.outputs).toMatchObject({ result: 'error', delivery: 'sent' });
    expect(errors(first)).toHaveLength(1);
    expect(commentTexts(sim.github).at(-1)).not.toContain('⏳');

    isLimited = false;
    const second = await sim.runHere(RERUN);
    expect(second.outputs).toMatchObject({ result: 'sent', delivery: 'sent' });
    expect(acceptedBy(sim)).toEqual(names.toSorted());
  });

  it('stops the messages of a re-run, but not its wait for the earlier ones', async () => {
    const names = ['job-2', 'job-1'];
    const isSent = Promise.withResolvers<void>();
    await using sim = await simulateJobs({
      names,
      with: { comment: true, wait: true, 'timeout-minutes': '10' },
      agent: {
        jobs: jobs(names, { turns: [LONG_TURN] }),
        onPost(_, request) {
          // The limit is reached after the message to job-2.
          if (jobOf(request) === 'job-1') return isSent.promise.then(() => AN_HOUR_LATER);
          isSent.resolve();
          return undefined;
        },
      },
    });
    expect(resultsOf(await sim.runHere())).toMatchObject([
      { result: 'timed-out', delivery: 'sent' },
      { result: 'error', delivery: 'not-sent' },
    ]);
    expect(resultsOf(await sim.runHere(RERUN))).toMatchObject([
      { result: 'completed', delivery: 'sent' },
      { result: 'error', delivery: 'not-sent' },
    ]);
    expect(acceptedBy(sim)).toEqual(['job-2']);
  });

  it('with a short pause delays messages, and loses none', async () => {
    const names = ids(12);
    await using sim = await simulateJobs({
      names,
      agent: {
        jobs: jobs(names),
        onPost: (n) =>
          n > 4 && n <= 8 ? { status: 429, headers: { 'retry-after': '20' } } : undefined,
      },
    });
    const result = await sim.runHere();
    expect(jobsWith(result, 'sent')).toEqual(names);
    expect(acceptedBy(sim)).toEqual(names.toSorted());
  });
});

describe.runIf(HAS_SIGNALS)('a step that ends before all messages are sent', () => {
  /** Runs the step, and sends it a signal as soon as the API receives so many messages. */
  async function signalAt(
    count: number,
    signal: NodeJS.Signals,
    names: readonly string[],
    onPost: NonNullable<AgentOptions['onPost']>,
  ): Promise<readonly [StepResult, Simulation]> {
    let kill: (() => void) | undefined;
    const sim = await simulateJobs({
      names,
      agent: {
        jobs: jobs(names),
        onPost(n, request) {
          if (n === count) kill?.();
          return onPost(n, request);
        },
      },
    });
    const run = sim.start();
    kill = () => run.kill(signal);
    return [await run.result, sim];
  }

  it('reports the delivery of each job if the run is cancelled', async () => {
    const [result, sim] = await signalAt(8, 'SIGINT', ids(12), (n) =>
      n > 4 ? { fault: 'hang', accept: true } : undefined,
    );
    await using _ = sim;
    const by = (delivery: string) => resultsOf(result).filter((one) => one.delivery === delivery);
    expect(by('sent').map(({ result }) => result)).toEqual(Array(4).fill('sent'));
    for (const one of [...by('unknown'), ...by('not-sent')]) expect(one.result).toBe('cancelled');
    expect(sim.agent.posts().length).toBe(4 + by('unknown').length);
    expect(by('not-sent').length).toBeGreaterThanOrEqual(4);
    expect(result.outputs).toMatchObject({ result: 'cancelled', delivery: 'unknown' });
    expect(result.exitCode).toBe(1);
  });

  it.each([5, 60])('has all outputs in the file if it is killed: %i jobs', async (count) => {
    const names = ids(count);
    const [result, sim] = await signalAt(2, 'SIGKILL', names, () => ({
      ...{ fault: 'hang', accept: true },
    }));
    await using _ = sim;
    expect(Object.keys(result.outputs).sort()).toEqual(OUTPUT_NAMES.toSorted());
    expect(result.outputs).toMatchObject({ result: 'error', delivery: 'unknown' });
    expect(resultsOf(result).map(({ jobId }) => jobId)).toEqual(names);
    const claimed = resultsOf(result).filter(({ delivery }) => delivery === 'not-sent');
    for (const { jobId } of claimed) expect(sim.agent.accepted(jobId)).toEqual([]);
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
      with: { 'only-when': onlyWhen, comment: true },
      agent: { jobs: mixed },
    });
    const result = await (onlyWhen === 'failed' ? sim.run() : sim.runHere());
    expect(result.conclusion).toBe('success');
    expect(acceptedBy(sim)).toEqual(sent);
    expect(result.log).toMatch(
      onlyWhen === 'any' ? /5 jobs: 5 sent\./ : /5 jobs: \d sent, \d skipped\./,
    );
    for (const one of resultsOf(result)) {
      if (sent.includes(one.jobId)) expect(one).toMatchObject({ result: 'sent', reason: '' });
      else {
        const status = statuses[Number(one.jobId.slice(4)) - 1] ?? '';
        expect(one).toMatchObject({ result: 'skipped', delivery: 'not-sent', status });
        expect(one.reason).toMatch(/^The job is .*; only .* jobs get the message/);
        expect(one.reason).toContain(status);
      }
    }
    // Only those are in the comment, from its first version on.
    for (const text of commentTexts(sim.github)) {
      const named = [...text.matchAll(/(?<=`)job-\d(?=`)/g)].map(([id]) => id);
      expect([...new Set(named)].sort()).toEqual(sent);
    }
    expect(notes(sim.github)[0]?.jobs.map(({ id }) => id)).toEqual(sent);
  });

  it('fails the step for skipped jobs only if fail-on contains skipped', async () => {
    await using sim = await simulateJobs({
      with: { 'only-when': 'failed', 'fail-on': 'archived, skipped' },
      agent: { jobs: mixed },
    });
    const result = await sim.runHere();
    expect(result).toMatchObject({
      conclusion: 'failure',
      outputs: { result: 'sent', reason: '' },
    });
    expect(errors(result)).toEqual([
      expect.stringMatching(
        /^4 of 5 jobs skipped \(first “job-2”\): The job is completed; only failed jobs/,
      ),
    ]);
  });
});
