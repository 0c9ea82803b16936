import { expect, it } from 'vitest';
import type { Job, JobResult } from '../../src/job.ts';
import { wordOf } from '../../src/labels.ts';
import { renderTimeline } from '../../src/report/timeline.ts';
import { ended, START } from './record.ts';

const at = (second: number): number => START + second * 1000;

function timed(id: string, result: JobResult, from: number, to: number, parts = {}): Job {
  return ended({ result }, { id, sentAt: at(from), endedAt: at(to), ...parts });
}
function barsOf(...jobs: readonly Job[]): readonly string[] {
  return renderTimeline(jobs)
    .split('\n')
    .filter((line) => / : |section |leftPadding|tickInterval|axisFormat/.test(line))
    .map((line) => line.trim());
}

it('has one bar per job from the message to the end, in the color of the result, the worst first', () => {
  const polled = { isReadOnly: true, delivery: 'not-sent', sentAt: null, firstSeenAt: at(1) };
  const bars = barsOf(
    timed('a', 'completed', 0.5, 40),
    timed('longer-id', 'failed', 0, 80),
    timed('c', 'cancelled', 0, 60),
    timed('not-sent', 'skipped', 0, 9, { sentAt: null, delivery: 'not-sent' }),
    timed('at-once', 'sent', 0, 0),
    timed('polled', 'completed', 0, 11, polled),
    timed('late', 'sent', 0, 5),
  );
  expect(bars).toEqual([
    ...['leftPadding: 87', 'axisFormat %H:%M:%S', 'tickInterval 30second'],
    ...['section longer-id', `${wordOf('failed')} : crit, ${at(0)}, ${at(80)}`],
    ...['section c', `${wordOf('cancelled')} : active, ${at(0)}, ${at(60)}`],
    ...['section late', `${wordOf('sent')} : ${at(0)}, ${at(5)}`],
    ...['section a', `${wordOf('completed')} : done, ${at(0.5)}, ${at(40)}`],
    ...['section polled', `${wordOf('completed')} : done, ${at(1)}, ${at(11)}`],
  ]);
});

it.each([
  [2, '1second', '%H:%M:%S'],
  [240, '1minute', '%H:%M'],
  [3600, '30minute', '%H:%M'],
  [86_400, '6hour', '%H:%M'],
  [500_000, '1day', '%H:%M'],
])('has few ticks for %i s: %s', (seconds, tick, format) => {
  const bars = barsOf(timed('a', 'completed', 0, seconds), timed('b', 'completed', 0, 1));
  expect(bars).toEqual(expect.arrayContaining([`tickInterval ${tick}`, `axisFormat ${format}`]));
});

it.each([
  [20, ''],
  [21, 'The timeline shows 20 of 21 jobs.'],
])('shows 20 of %i jobs, with a note: %j', (count, words) => {
  const jobs = Array.from({ length: count }, (_, n) => timed(`job-${n}`, 'completed', 0, 9));
  const text = renderTimeline(jobs);
  expect(text.match(/^ {4}section /gm)).toHaveLength(20);
  expect(text.slice(text.lastIndexOf('```') + 3).trim()).toBe(words);
});

it('contains no word that Mermaid would parse as syntax, and no long word', () => {
  const jobs = ['end', 'a: b; c#d\n', 'x'.repeat(40)].map((id) => timed(id, 'failed', 0, 9));
  expect(barsOf(...jobs).filter((line) => line.startsWith('section'))).toEqual([
    ...['section _end', 'section a_b_c_d_', `section ${'x'.repeat(18)}..`],
  ]);
});

it.each([
  ['for one job', [timed('a', 'failed', 0, 60)], false],
  ['for less than a second', [timed('a', 'failed', 0, 0.9), timed('b', 'failed', 0, 0.9)], false],
  ['for a second', [timed('a', 'failed', 0, 1), timed('b', 'failed', 0, 0)], true],
  ['without any time', [timed('a', 'sent', 0, 0), timed('b', 'sent', 1, 1)], false],
])('%s: %#', (_, jobs, expected) => {
  expect(renderTimeline(jobs).includes('gantt')).toBe(expected);
});
