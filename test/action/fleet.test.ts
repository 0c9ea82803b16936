import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import { nextPollMs } from '../../src/job/schedule.ts';
import type { JobScript } from '../sim/agent.ts';
import { ALICE, issueComment, schedule } from '../sim/events.ts';
import type { StepResult } from '../sim/runner/process.ts';
import {
  errors,
  LONG_TURN,
  ownComments,
  PULL,
  remembered,
  simulate,
  warnings,
} from './scenario.ts';

const JOBS = 500;
/** As long as the IDs of Mintlify. */
const IDS = Array.from(
  { length: JOBS },
  (_, index) => `0b7e6f0c-5d1a-4c3e-9f2b-${String(index).padStart(12, '0')}`,
);
const CONVERSATIONS = 60;
/** Calls that create or update a comment. */
const WRITES = ['POST issues/#/comments', 'PATCH issues/comments/#'];
const KIB_IN_MIB = 1024;
/** In real time, for a machine with other work. */
const TIMEOUT_MS = 300_000;
const folder = mkdtempSync(join(tmpdir(), 'fleet-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Milliseconds that the turns take: from 10 s to 30 min, most of them less than 3 min. */
const LENGTHS = Array.from(
  { length: JOBS },
  (_, index) => 10_000 * 180 ** (((index + 0.5) / JOBS) ** 3),
);
const STATUSES = ['completed', 'failed', 'archived'] as const;

const jobs: readonly JobScript[] = LENGTHS.map((afterMs, index) => ({
  id: IDS[index] ?? '',
  turns: [
    {
      steps: [
        { afterMs: 0, set: { status: 'active' } },
        { afterMs, set: { status: STATUSES[index % STATUSES.length] } },
      ],
    },
  ],
}));

const COMMAND = { author: ALICE.login, body: '/agent Add examples.' };

/** The polls that the job would need alone, including the one before the message. */
function pollsAlone(lengthMs: number): number {
  let polls = 1;
  for (let at = 0; at < lengthMs; polls++) {
    at += nextPollMs(at);
  }
  return polls;
}

// They run at the same time, because the second one mostly waits.
describe.concurrent(`${JOBS} jobs`, () => {
  it(
    'in one step get the right results with few requests and little memory',
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
        agent: { jobs, hourlyLimit: null },
        github: { issues: [{ number: PULL, pullRequest: true, comments: [COMMAND] }] },
        step: { nodeArgs: ['--import', preload], timeoutMs: TIMEOUT_MS },
        time: { grainMs: 1500 },
      });
      /** Runs the step, and checks that the comment has all jobs and that the process needs little memory. */
      const run = async (more?: Parameters<typeof sim.run>[0]): Promise<StepResult> => {
        const result = await sim.run(more);
        const [comment] = ownComments(sim.github);
        expect(comment?.body.length).toBeLessThan(65_536);
        expect(comment?.body).toContain('| Job |');
        const { jobs, trimmed } = remembered(sim.github);
        expect(jobs.map(({ id }) => id).toSorted()).toEqual(IDS);
        expect(trimmed).toBe(null);
        const { peakKib } = JSON.parse(readFileSync(usage, 'utf8'));
        expect(peakKib).toBeLessThan(150 * KIB_IN_MIB);
        return result;
      };
      const result = await run();
      expect(warnings(result)).toEqual([]);
      const results: readonly JobResult[] = JSON.parse(result.outputs.results ?? '');

      expect(results.map(({ jobId }) => jobId)).toEqual(IDS);
      for (const [index, { result, delivery, confirmed }] of results.entries()) {
        const expected = {
          result: STATUSES[index % STATUSES.length],
          delivery: 'sent',
          confirmed: true,
        };
        expect({ result, delivery, confirmed }).toEqual(expected);
      }
      expect(sim.agent.accepted()).toHaveLength(JOBS);
      for (const { id } of jobs) expect(sim.agent.accepted(id)).toHaveLength(1);

      expect(sim.agent.maxSockets).toBeLessThanOrEqual(64);
      const calls = sim.github.calls().length;
      expect(calls).toBeLessThanOrEqual(60);
      expect(Buffer.byteLength(result.outputs.results ?? '')).toBeLessThan(500_000);
      for (const [index, { polls }] of results.entries()) {
        expect(polls).toBeLessThanOrEqual(1.1 * pollsAlone(LENGTHS[index] ?? 0) + 1);
      }
      const total = sim.agent.gets().length;
      const alone = LENGTHS.reduce((sum, length) => sum + pollsAlone(length), 0);
      const share = busiestShare(sim.agent.gets().map(({ at }) => at));
      console.info(
        `${JOBS} jobs: ${total} polls (${alone} if each job were alone), ${sim.agent.maxSockets} sockets, ` +
          `${calls} calls to GitHub, ` +
          `at most ${Math.round(100 * share)} % of a minute's polls within 5 s`,
      );
      expect(total).toBeLessThanOrEqual(1.1 * alone);
      expect(share).toBeLessThan(0.5);

      const again = await run({ step: { github: { run_attempt: '2' } } });
      expect(again.outputs.result).toBe(result.outputs.result);
      expect(sim.agent.accepted()).toHaveLength(JOBS);
      expect(sim.github.calls().length - calls).toBeLessThanOrEqual(6);

      const id = sim.github.comments(PULL)[0]?.id ?? 0;
      const step = {
        event: issueComment({ number: PULL, body: COMMAND.body, id }),
        github: { run_id: '2' },
      };
      const inputs = { command: '/agent', prompt: '' };
      const unclear = await run({ with: { ...inputs, 'job-id': '' }, step });
      expect(errors(unclear)).toEqual([
        expect.stringMatching(/ names 500 jobs: .* and 490 more\. Set job-id to one of them/),
      ]);
      const command = await run({ with: { ...inputs, 'job-id': IDS[7] ?? '' }, step });
      expect(command.outputs).toMatchObject({ delivery: 'sent' });
      expect(sim.agent.accepted(IDS[7])).toHaveLength(2);
    },
    TIMEOUT_MS,
  );

  it(
    'get the right results in time if the API takes 2 s for each poll',
    async () => {
      const pace = 25;
      // One in 25 works until after the deadline.
      const endsInTime = (index: number): boolean => index % 25 !== 24;
      const lengthOf = (index: number): number =>
        endsInTime(index) ? 30_000 + index * 100 : 3_600_000;
      await using sim = await simulate({
        with: {
          'job-id': IDS.join('\n'),
          ...{ wait: true, comment: false, 'timeout-minutes': '10' },
        },
        agent: {
          jobs: IDS.map((id, index) => ({
            id,
            turns: [
              {
                steps: [
                  { afterMs: 0, set: { status: 'active' } },
                  { afterMs: lengthOf(index), set: { status: 'completed' } },
                ],
              },
            ],
          })),
          hourlyLimit: null,
          onGet: () => setTimeout(2000 / pace, undefined),
        },
        step: { timeoutMs: TIMEOUT_MS },
        // Time also passes while the action waits for responses.
        time: { pace, graceMs: 0, grainMs: 500 },
      });
      const result = await sim.run();
      const results: readonly JobResult[] = JSON.parse(result.outputs.results ?? '');
      expect(results.map(({ result, delivery }) => `${result}, ${delivery}`)).toEqual(
        IDS.map((_, index) => `${endsInTime(index) ? 'completed' : 'timed-out'}, sent`),
      );
      expect(sim.agent.accepted()).toHaveLength(JOBS);
      expect(result.log).not.toMatch(/Polling job|last poll failed/);
      const lateMs = results.map(({ elapsedSeconds }, index) =>
        endsInTime(index) ? (elapsedSeconds ?? Infinity) * 1000 - lengthOf(index) : 0,
      );
      console.info(
        `${JOBS} jobs, 2 s per poll: final statuses are found at most ${Math.round(Math.max(...lateMs) / 1000)} s late`,
      );
      expect(Math.max(...lateMs)).toBeLessThan(120_000);
      expect(result.virtualMs).toBeLessThan(11 * 60_000);
    },
    TIMEOUT_MS,
  );
});

it(
  'jobs on many pull requests make few calls to GitHub, with one write per second on average',
  async () => {
    const names = Array.from({ length: CONVERSATIONS }, (_, index) => `job-${index}`);
    const pullOf = (index: number): number => 100 + index;
    await using sim = await simulate({
      with: { 'job-id': names.join('\n'), wait: true, 'poll-interval-seconds': '60' },
      agent: {
        jobs: names.map((id, index) => ({
          id,
          base: { prLink: `https://github.com/octo/agents/pull/${pullOf(index)}` },
          turns: [LONG_TURN],
        })),
      },
      github: { issues: names.map((_, index) => ({ number: pullOf(index), pullRequest: true })) },
      step: { event: schedule(), timeoutMs: TIMEOUT_MS },
    });
    const { outputs } = await sim.run();
    expect(outputs.result).toBe('completed');
    const calls = sim.github.calls();
    expect(calls.length).toBeLessThanOrEqual(500);
    for (const [index] of names.entries()) {
      expect(sim.github.comments(pullOf(index))).toHaveLength(1);
    }
    const writes = calls
      .filter(({ name }) => WRITES.includes(name))
      .map(({ request }) => request.at);
    const busiest = writes.map(
      (at) => writes.filter((other) => other >= at && other < at + 10_000).length,
    );
    console.info(
      `${CONVERSATIONS} conversations: ${calls.length} calls to GitHub, at most ${Math.max(...busiest)} writes in 10 s`,
    );
    expect(Math.max(...busiest)).toBeLessThanOrEqual(11);
  },
  TIMEOUT_MS,
);

interface JobResult {
  readonly jobId: string;
  readonly result: string;
  readonly delivery: string;
  readonly confirmed: boolean | null;
  readonly polls: number;
  readonly elapsedSeconds: number | null;
}

/**
 * The share of the busiest 5 s in the polls of their minute: 1/12 if the polls are spread evenly, and
 * nearly 1 if jobs with an interval of 30 s are polled in bunches. It is measured from the tenth minute,
 * after which no interval changes, to the twentieth, after which few jobs are left.
 */
function busiestShare(times: readonly number[]): number {
  const start = Math.min(...times);
  const counts = new Map<number, number>();
  for (const time of times) {
    const slot = Math.floor((time - start) / 5000);
    counts.set(slot, (counts.get(slot) ?? 0) + 1);
  }
  const minutes = Array.from({ length: 10 }, (_, index) =>
    Array.from({ length: 12 }, (_, slot) => counts.get((index + 10) * 12 + slot) ?? 0),
  );
  const shares = minutes.map((slots) => Math.max(...slots) / slots.reduce((sum, n) => sum + n, 0));
  return Math.max(...shares);
}
