import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { nextPollMs } from '../../src/job/schedule.ts';
import type { JobScript } from '../sim/agent.ts';
import { stage } from './scenario.ts';

const JOBS = 500;
const KIB_IN_MIB = 1024;
/** Of real time, for a machine that has much else to do. */
const TIMEOUT_MS = 300_000;
const folder = mkdtempSync(join(tmpdir(), 'fleet-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Milliseconds that the turns take: spread log-uniformly from 20 s to 30 min. */
const LENGTHS = Array.from({ length: JOBS }, (_, index) => 20_000 * 90 ** ((index + 0.5) / JOBS));
const STATUSES = ['completed', 'failed', 'archived'] as const;

const jobs: readonly JobScript[] = LENGTHS.map((afterMs, index) => ({
  id: `job-${index}`,
  turns: [
    {
      steps: [
        { afterMs: 0, set: { status: 'active' } },
        { afterMs, set: { status: STATUSES[index % STATUSES.length] } },
      ],
    },
  ],
}));

/** The looks that a job alone would need, the one before the message included. */
function looksAlone(lengthMs: number): number {
  let looks = 1;
  for (let at = 0; at < lengthMs; looks++) {
    at += nextPollMs({ sinceSendMs: at, pollWithinMs: null, fixedMs: null, pace: 1 });
  }
  return looks;
}

it(
  `${JOBS} jobs at once: each is right, and together they cost little`,
  async () => {
    const peak = join(folder, 'peak');
    const preload = `${new URL('../sim/memory.mjs', import.meta.url)}?${encodeURIComponent(peak)}`;
    await using scene = await stage({
      with: {
        'job-id': jobs.map(({ id }) => id).join('\n'),
        wait: true,
        comment: false,
        'timeout-minutes': '120',
      },
      agent: { jobs, hourlyLimit: null },
      step: { nodeArgs: ['--import', preload], timeoutMs: TIMEOUT_MS },
      time: { grainMs: 1500 },
    });
    const result = await scene.run();
    const results: readonly Told[] = JSON.parse(result.outputs.results ?? '');

    expect(results.map(({ jobId }) => jobId)).toEqual(jobs.map(({ id }) => id));
    for (const [index, { result, delivery, confirmed }] of results.entries()) {
      const expected = {
        result: STATUSES[index % STATUSES.length],
        delivery: 'sent',
        confirmed: true,
      };
      expect({ result, delivery, confirmed }).toEqual(expected);
    }
    expect(scene.agent.accepted()).toHaveLength(JOBS);
    for (const { id } of jobs) expect(scene.agent.accepted(id)).toHaveLength(1);

    expect(scene.agent.maxSockets).toBeLessThanOrEqual(64);
    expect(Number(readFileSync(peak, 'utf8'))).toBeLessThan(150 * KIB_IN_MIB);
    expect(Buffer.byteLength(result.outputs.results ?? '')).toBeLessThan(500_000);
    for (const [index, { polls }] of results.entries()) {
      expect(polls).toBeLessThanOrEqual(1.1 * looksAlone(LENGTHS[index] ?? 0) + 1);
    }
    const total = scene.agent.gets().length;
    const alone = LENGTHS.reduce((sum, length) => sum + looksAlone(length), 0);
    const share = busiestShare(scene.agent.gets().map(({ at }) => at));
    console.info(
      `${JOBS} jobs: ${total} looks (${alone} if each were alone), ${scene.agent.maxSockets} sockets, ` +
        `${Math.round(Number(readFileSync(peak, 'utf8')) / KIB_IN_MIB)} MiB, ` +
        `at most ${Math.round(100 * share)} % of a minute's looks within 5 s`,
    );
    expect(total).toBeLessThanOrEqual(1.1 * alone);
    expect(share).toBeLessThan(0.5);
  },
  TIMEOUT_MS,
);

interface Told {
  readonly jobId: string;
  readonly result: string;
  readonly delivery: string;
  readonly confirmed: boolean | null;
  readonly polls: number;
}

/**
 * The share that the busiest 5 s have of the looks of their minute; 1/12 if they are spread evenly,
 * and nearly 1 if jobs with an interval of 30 s are looked at in bunches. From the tenth minute on,
 * after which no interval changes any more.
 */
function busiestShare(times: readonly number[]): number {
  const start = Math.min(...times);
  const counts = new Map<number, number>();
  for (const time of times) {
    const slot = Math.floor((time - start) / 5000);
    counts.set(slot, (counts.get(slot) ?? 0) + 1);
  }
  const minutes = Array.from({ length: 18 }, (_, index) =>
    Array.from({ length: 12 }, (_, slot) => counts.get((index + 10) * 12 + slot) ?? 0),
  );
  const shares = minutes.map((slots) => Math.max(...slots) / slots.reduce((sum, n) => sum + n, 0));
  return Math.max(...shares);
}
