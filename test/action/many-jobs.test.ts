import { setTimeout as wait } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { STATUSES } from '../../src/mintlify-api.ts';
import type { StepResult } from '../sim/runner/process.ts';
import { type Scenario, type Simulation, simulate } from './scenario.ts';

const ids = (count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `job-${index + 1}`);
const AN_HOUR_LATER = { status: 429, headers: { 'retry-after': '3600' }, body: { error: 'No' } };

/** Simulates several jobs, without comments unless the scenario turns them on. */
function simulateJobs(names: readonly string[], { with: inputs, agent }: Scenario) {
  return simulate({
    with: { 'job-id': names.join('\n'), comment: false, ...inputs },
    agent: { jobs: names.map((id) => ({ id })), ...agent },
  });
}

function resultsOf({ outputs }: StepResult): readonly Readonly<Record<string, string>>[] {
  return JSON.parse(outputs.results ?? '');
}

function acceptedBy({ agent }: Simulation): readonly string[] {
  const accepted = agent.accepted().map(({ jobId }) => jobId);
  return accepted.sort();
}

it('several jobs get at most 4 messages at a time', async () => {
  const names = ids(48);
  let [open, most, next] = [0, 0, Promise.withResolvers<void>()];
  /** Answers none before four of them are open, and one more would have had time to arrive. */
  async function onPost(): Promise<undefined> {
    const own = next;
    open += 1;
    most = Math.max(most, open);
    if (open === 4) {
      await wait(30);
      next = Promise.withResolvers();
      own.resolve();
    }
    await own.promise;
    open -= 1;
  }
  await using sim = await simulateJobs(names, { agent: { onPost } });
  const result = await sim.runHere();
  expect(result.outputs.result).toBe('sent');
  expect(acceptedBy(sim)).toEqual(names.toSorted());
  expect(most).toBe(4);
  // Each message uses a new connection, because the server may close a used one at any time.
  expect(new Set(sim.agent.posts().map(({ socket }) => socket)).size).toBe(48);
});

it('a 429 for an hour stops the remaining messages, and a re-run sends only those', async () => {
  const names = ids(70);
  let isLimited = true;
  const four = Promise.withResolvers<void>();
  await using sim = await simulateJobs(names, {
    with: { comment: true },
    agent: {
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
  const withResult = (one: string) => resultsOf(first).filter(({ result }) => result === one);
  expect(withResult('sent')).toHaveLength(8);
  const reasons = withResult('error').map(({ reason }) => reason);
  expect(reasons.toSorted()).toEqual([
    expect.stringContaining(' 401'),
    expect.stringMatching(/ 429.*100\/h.*asks to wait until 20\d\d-.*UTC/),
  ]);
  const skipped = withResult('skipped');
  expect(skipped).toHaveLength(60);
  for (const { delivery, reason } of skipped) {
    expect(delivery).toBe('not-sent');
    expect(reason).toMatch(/^The API accepts no more messages for now\. The message to .*20\d\d-/);
  }
  expect(sim.agent.posts()).toHaveLength(12);
  expect(first.outputs).toMatchObject({ result: 'error', delivery: 'sent' });
  expect(first.errors).toHaveLength(1);
  expect(sim.commentTexts().at(-1)).not.toContain('⏳');

  isLimited = false;
  const second = await sim.runHere({ step: { github: { run_attempt: '2' } } });
  expect(second.outputs).toMatchObject({ result: 'sent', delivery: 'sent' });
  expect(acceptedBy(sim)).toEqual(names.toSorted());
});

const statuses = [...Object.keys(STATUSES), 'odd'];
const mixed = statuses.map((status, index) => ({ id: `job-${index + 1}`, base: { status } }));

it.concurrent.each(Object.keys(STATUSES))('only-when: just %s jobs get it', async (only) => {
  // An undocumented status counts as active.
  const isWanted = (status: string) => status === only || (only === 'active' && status === 'odd');
  const sent = mixed.flatMap(({ id, base: { status } }) => (isWanted(status) ? id : []));
  const names = mixed.map(({ id }) => id);
  const inputs = { 'only-when': only, comment: true };
  await using sim = await simulateJobs(names, { with: inputs, agent: { jobs: mixed } });
  const result = await (only === 'failed' ? sim.run() : sim.runHere());
  expect(result.conclusion).toBe('success');
  expect(acceptedBy(sim)).toEqual(sent);
  expect(result.log).toMatch(RegExp(`${statuses.length} jobs: \\d sent, \\d skipped\\.`));
  for (const [index, { jobId = '', ...one }] of resultsOf(result).entries()) {
    const status = statuses[index] ?? '';
    if (sent.includes(jobId)) expect(one).toMatchObject({ result: 'sent', reason: '' });
    else {
      expect(one).toMatchObject({ result: 'skipped', delivery: 'not-sent', status });
      expect(one.reason).toMatch(/^The job is .*; only .* jobs get the message/);
      expect(one.reason).toContain(status);
    }
  }
  // Only those are in the comment, from its first version on.
  for (const text of sim.commentTexts()) {
    const named = text.match(/(?<=`)job-\d(?=`)/g);
    expect([...new Set(named)].sort()).toEqual(sent);
  }
  expect(sim.notes()[0]?.jobs.map(({ id }) => id)).toEqual(sent);
});

it('an API that limits the rate of polls delays the messages to a hundred jobs, and stops none', async () => {
  const names = ids(100);
  const inSecond = new Map<number, number>();
  const onGet = (_: number, { at }: { readonly at: number }) => {
    const second = Math.floor(at / 1000);
    const count = (inSecond.get(second) ?? 0) + 1;
    inSecond.set(second, count);
    return count > 20 ? { status: 429, headers: { 'retry-after': '1' } } : undefined;
  };
  await using sim = await simulateJobs(names, { agent: { onGet } });
  const result = await sim.runHere();
  expect(resultsOf(result).filter(({ result }) => result === 'sent')).toHaveLength(100);
  expect(Math.max(...inSecond.values())).toBeLessThanOrEqual(40);
});
