import { expect, it } from 'vitest';
import { type JobResult, unknownJob } from '../../src/outcome.ts';
import { createNarrator, type News } from '../../src/report/narrator.ts';

const MINUTE_MS = 60_000;

/** What the log gets to read, groups as `[title]`. */
function narrate(jobs: number, ...news: readonly News[]): readonly string[] {
  const said: string[] = [];
  const log = (text: string): void => {
    said.push(text);
  };
  const group = (title: string): void => log(`[${title}]`);
  let now = 0;
  const tell = createNarrator(
    { info: log, debug: log, notice: log, warning: log, error: log, group, endGroup() {} },
    { now: () => now, date: () => new Date(now), sleep: async () => {} },
    jobs,
  );
  for (const one of news) {
    tell(one);
    now += MINUTE_MS;
  }
  return said;
}

function job(more: Partial<JobResult> = {}): JobResult {
  return { ...unknownJob('j', { delivery: 'not-sent', result: 'error', reason: '' }), ...more };
}

const completed = { kind: 'seen', status: 'completed' } as const;
const active = { kind: 'seen', status: 'active' } as const;

it('a message that may have been lost is looked for, which is neither before it nor after', () => {
  const doubt = job({ status: 'active', delivery: 'unknown' });
  expect(
    narrate(
      1,
      { ...completed, soFar: job({ status: 'completed' }) },
      { kind: 'sending', soFar: job({ delivery: 'unknown' }) },
      { kind: 'doubted', why: 'It broke.', lookMs: 30_000, soFar: doubt },
      { ...active, soFar: doubt },
      { kind: 'delivered', soFar: job({ delivery: 'sent', elapsedSeconds: 0 }) },
    ),
  ).toEqual([
    '[Before the message]',
    'Job j is completed before the message.',
    '[Message]',
    'Sending the message to job j.',
    'It broke. Looking for up to 30 s whether job j shows the message.',
    'Job j is active.',
    'The message to job j is delivered.',
  ]);
});

it.each([
  [200, ', 3 min 20 s ago'],
  [0, ''],
])('a re-run %i s after the message of an earlier attempt', (elapsedSeconds, ago) => {
  const doubt = job({ status: 'active', delivery: 'unknown' });
  expect(
    narrate(
      1,
      { kind: 'doubted', why: 'Nobody knows.', lookMs: 30_000, soFar: doubt },
      { ...active, soFar: doubt },
      { kind: 'resumed', soFar: job({ delivery: 'sent', elapsedSeconds }) },
    ),
  ).toEqual([
    '[Looking]',
    'Nobody knows. Looking for up to 30 s whether job j shows the message.',
    'Job j is active.',
    `An earlier attempt sent the message to job j${ago}; it is not sent again.`,
  ]);
});

it('many jobs stand under one title, and one heartbeat counts those that have ended', () => {
  const waiting = { kind: 'waiting', nextLookMs: 5000, remainingMs: 90_000 } as const;
  const soFar = job({ status: 'active', delivery: 'sent', elapsedSeconds: 9 });
  expect(narrate(2, { ...active, soFar }, { kind: 'ended', soFar }, { ...waiting, soFar })).toEqual(
    [
      '[2 jobs]',
      'Job j is active, 9 s after the message.',
      '1 of 2 jobs have ended; 1 min 30 s remain for the others.',
    ],
  );
});
