import { setTimeout } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { stage } from './scenario.ts';

const JOBS = 500;
const IDS = Array.from({ length: JOBS }, (_, index) => `job-${index}`);
/** Of real time, for a machine that has much else to do. */
const TIMEOUT_MS = 300_000;

interface Told {
  readonly result: string;
  readonly delivery: string;
  readonly elapsedSeconds: number | null;
}

it(
  `${JOBS} jobs on a service that takes 2 s for each read: all are right, in time, and no poll fails`,
  async () => {
    const pace = 25;
    // Every fifth one works beyond the deadline.
    const isOver = (index: number): boolean => index % 5 !== 4;
    const lengthOf = (index: number): number => (isOver(index) ? 30_000 + index * 200 : 3_600_000);
    await using scene = await stage({
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
      // Time passes while answers are waited for, too.
      time: { pace, graceMs: 0, grainMs: 500 },
    });
    const result = await scene.run();
    const results: readonly Told[] = JSON.parse(result.outputs.results ?? '');
    expect(results.map(({ result, delivery }) => `${result}, ${delivery}`)).toEqual(
      IDS.map((_, index) => `${isOver(index) ? 'completed' : 'timed-out'}, sent`),
    );
    expect(scene.agent.accepted()).toHaveLength(JOBS);
    expect(result.log).not.toMatch(/Polling job|last poll failed/);
    const lateMs = results.map(({ elapsedSeconds }, index) =>
      isOver(index) ? (elapsedSeconds ?? Infinity) * 1000 - lengthOf(index) : 0,
    );
    console.info(
      `${JOBS} jobs, 2 s a read: ends are seen ${Math.round(Math.max(...lateMs) / 1000)} s late at most`,
    );
    expect(Math.max(...lateMs)).toBeLessThan(120_000);
    expect(result.virtualMs).toBeLessThan(11 * 60_000);
  },
  TIMEOUT_MS,
);
