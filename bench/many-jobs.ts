// The runner minutes of one step that waits for many jobs, compared with a matrix that has one job for
// each, and the cost of such a step.

import { nextPollMs, paceOf } from '../src/job/schedule.ts';
import { describeCost } from './cost.ts';
import { jobLengths } from './lengths.ts';
import { table, thousands } from './table.ts';

/** A matrix can have 256 jobs at most, a step 500. */
const COUNTS = [1, 2, 5, 10, 20, 50, 100, 256, 500];
const JOBS_OF_A_MATRIX = 256;

export async function describeManyJobs(): Promise<string> {
  const rows = COUNTS.map((count) => {
    const lengths = jobLengths(count);
    const ends = lengths.map((length, index) => seenEnd(length, paceOf(index, count)));
    const step = minutes(Math.max(...ends));
    // Each job of the matrix polls only one agent job, at its normal pace.
    const matrix = lengths.reduce((sum, length) => sum + minutes(seenEnd(length, 1)), 0);
    const runs = count > JOBS_OF_A_MATRIX ? ` (${Math.ceil(count / JOBS_OF_A_MATRIX)} runs)` : '';
    return [
      String(count),
      ...[thousands(step), thousands(matrix) + runs, (matrix / step).toFixed(1)],
      ...['1', thousands(count) + runs, String(count)],
    ];
  });
  return `Billed minutes, each rounded up, for jobs of 20 s to 60 min, log-uniformly. The set-up time of the runners is left
out, which favors the matrix. A matrix has at most ${JOBS_OF_A_MATRIX} jobs.

${table(['jobs', 'waiting: one step', 'a matrix', 'ratio', 'only sending: one step', 'a matrix', 'ratio'], rows)}

${await describeCost()}`;
}

/** When a poll finds the end of a job, in seconds. */
function seenEnd(length: number, pace: number): number {
  let elapsed = 0;
  while (elapsed < length) {
    elapsed += (nextPollMs(elapsed * 1000) * pace) / 1000;
  }
  return elapsed;
}

function minutes(seconds: number): number {
  return Math.ceil(seconds / 60);
}
