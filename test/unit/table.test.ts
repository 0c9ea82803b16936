import { expect, it } from 'vitest';
import type { Job } from '../../src/job.ts';
import { renderJobs } from '../../src/report/table.ts';
import { ended, job, SENT, START } from './record.ts';

function took(seconds: number): Job {
  return ended({}, { id: `took-${seconds}`, endedAt: START + seconds * 1000 });
}
/** The cells of the column of times. */
function timesOf(...jobs: readonly Job[]): readonly string[] {
  const rows = renderJobs(jobs, 60_000).split('\n').slice(2);
  return rows.map((row) => row.split(' | ')[1] ?? '');
}
function withBar(bar: string, time: string): string {
  return `<sub><span aria-hidden="true">${bar}</span></sub>\u00a0${time}`;
}

it('has a bar for each time, as long as the job took beside the longest', () => {
  const silent = job({ id: 'working', ...SENT });
  expect(timesOf(silent, took(480), took(1), took(240), took(330), took(0))).toEqual([
    '',
    withBar('██████', '8\u00a0min'),
    withBar('▏', '1\u00a0s'),
    withBar('███', '4\u00a0min'),
    withBar('████▏', '5\u00a0min\u00a030\u00a0s'),
    '',
  ]);
});

it('has no bars for fewer than three times', () => {
  expect(timesOf(took(60), took(30), took(0))).toEqual(['1\u00a0min', '30\u00a0s', '']);
});
