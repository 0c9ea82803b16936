import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { isFinal, STATUS_NAMES } from '../../src/mintlify-api.ts';
import { turnTo } from '../sim/agent.ts';
import { schedule } from '../sim/events.ts';
import type { StepResult } from '../sim/runner/process.ts';
import { LINK, simulate } from './scenario.ts';

const JOBS = 100;
const IDS = Array.from({ length: JOBS }, (_, index) => `0b7e6f0c-5d1a-4c3e-9f2b-${1e11 + index}`);
const TIMEOUT_MS = 300_000;
const folder = mkdtempSync(join(tmpdir(), 'fleet-'));
afterAll(() => rmSync(folder, { recursive: true }));

const FINAL = STATUS_NAMES.filter(isFinal);
const endOf = (index: number) => FINAL[index % FINAL.length];

/** Milliseconds of the turns: from 10 s to 10 min. */
const LENGTHS = IDS.map((_, index) => 10_000 * 60 ** (((index + 0.5) / JOBS) ** 3));

it(
  'a hundred jobs in one step get the right results with few requests and little memory',
  async () => {
    const usage = join(folder, 'usage');
    const preload = `${new URL('../sim/usage.mjs', import.meta.url)}?${encodeURIComponent(usage)}`;
    await using sim = await simulate({
      with: {
        'job-id': IDS.join('\n'),
        prompt: 'Say more about it. '.repeat(210),
        wait: true,
        'timeout-minutes': '120',
      },
      agent: { jobs: IDS.map((id, n) => ({ id, turns: [turnTo(endOf(n), LENGTHS[n])] })) },
      step: { nodeArgs: ['--import', preload], timeoutMs: TIMEOUT_MS },
      time: { grainMs: 1500 },
    });
    /** Runs the step, and checks that the process needs little memory. */
    const run = async (more?: Parameters<typeof sim.run>[0]): Promise<StepResult> => {
      const result = await sim.run(more);
      const { peakKib } = JSON.parse(readFileSync(usage, 'utf8'));
      expect(peakKib).toBeLessThan(300 * 1024);
      return result;
    };
    const result = await run();
    expect(result.warnings).toEqual([]);
    expect(sim.agent.accepted()).toHaveLength(JOBS);
    for (const id of IDS) expect(sim.agent.accepted(id)).toHaveLength(1);
    expect(JSON.parse(result.outputs.results ?? '')).toMatchObject(
      IDS.map((jobId, n) => ({
        ...{ jobId, result: endOf(n), delivery: 'sent', confirmed: true },
      })),
    );
    expect(Buffer.byteLength(result.outputs.results ?? '')).toBeLessThan(500_000);

    const [comment, ...others] = sim.ownComments();
    expect(others).toEqual([]);
    expect(comment?.body.length).toBeLessThan(60_000);
    expect(comment?.body).toContain(' agent jobs need attention');
    expect(sim.notes()[0]?.jobs.map(({ id }) => id)).toEqual(IDS);
    const calls = sim.github.calls().length;
    console.info(`${JOBS} jobs: ${calls} calls to GitHub, ${readFileSync(usage, 'utf8')}`);
    expect(calls).toBeLessThanOrEqual(30);

    const again = await run({ step: { github: { run_attempt: '2' } } });
    expect(again.outputs.result).toBe(result.outputs.result);
    expect(sim.agent.accepted()).toHaveLength(JOBS);
  },
  TIMEOUT_MS,
);

it('on a schedule, a step with 20 pull requests makes at most three calls for each, and one comment a second', async () => {
  const names = Array.from({ length: 20 }, (_, index) => `job-${index}`);
  const pulls = names.map((_, index) => 100 + index);
  await using sim = await simulate({
    with: { 'job-id': names.join('\n') },
    agent: {
      jobs: names.map((id, n) => ({ id, base: { prLink: LINK.replace('7', `${pulls[n]}`) } })),
    },
    github: { issues: pulls.map((number) => ({ number, pullRequest: true })) },
    step: { event: schedule() },
  });
  // Each of them has an older comment, which is hidden.
  await sim.runHere({ step: { github: { run_id: '1' } } });
  const before = sim.github.calls().length;
  const { outputs } = await sim.runHere({ step: { github: { run_id: '2' } } });
  expect(outputs.delivery).toBe('sent');
  const calls = sim.github.calls().slice(before);
  expect(calls.length).toBeLessThanOrEqual(names.length * 3);
  expect(outputs['comment-url']?.split('\n')).toHaveLength(names.length);
  // Requests may arrive a little closer than they are sent, so this measures ten at a time.
  const created = calls.filter(({ name }) => name === 'POST issues/#/comments');
  const times = created.map(({ request }) => request.at);
  const spans = times.slice(10).map((at, index) => at - (times[index] ?? 0));
  expect(Math.min(...spans)).toBeGreaterThan(9000);
});
