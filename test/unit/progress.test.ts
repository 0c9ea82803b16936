import { expect, it } from 'vitest';
import type { JobEvent } from '../../src/job/job.ts';
import { createProgress } from '../../src/job/progress.ts';
import type { JobState, Turn } from '../../src/turn.ts';
import { record, state } from './record.ts';

const MINUTE_MS = 60_000;

/** What the log gets to read of events that are a minute apart, groups as `[title]`. */
function narrate(jobs: number, ...events: readonly JobEvent[]): readonly string[] {
  const said: string[] = [];
  const log = (text: string): void => {
    said.push(text);
  };
  const group = (title: string): void => log(`[${title}]`);
  let now = 0;
  const tell = createProgress(
    { info: log, debug: log, notice: log, warning: log, error: log, group, endGroup() {} },
    { startedAt: 0, now: () => now, sleep: async () => {} },
    jobs,
  );
  for (const event of events) {
    tell(event);
    now += MINUTE_MS;
  }
  return said;
}

function job(turn: Partial<Turn>, status: string | null = null): JobState {
  const open = { delivery: 'not-sent', result: 'error', endedAt: null } as const;
  const seen = status === null ? null : record({ status });
  return state({ jobId: 'j', record: seen }, { ...open, ...turn });
}

const completed = { kind: 'status', status: 'completed' } as const;
const active = { kind: 'status', status: 'active' } as const;

it('a message that may have been lost is looked for, which is neither before it nor after', () => {
  const doubt = job({ delivery: 'unknown' }, 'active');
  expect(
    narrate(
      1,
      { ...completed, state: job({}, 'completed') },
      { kind: 'sending', state: job({ delivery: 'unknown' }) },
      { kind: 'doubted', why: 'It broke.', pollMs: 30_000, state: doubt },
      { ...active, state: doubt },
      { kind: 'delivered', state: job({ delivery: 'sent', sentAt: 4 * MINUTE_MS }) },
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
])('a re-run %i s after the message of an earlier attempt', (seconds, ago) => {
  const doubt = job({ delivery: 'unknown' }, 'active');
  expect(
    narrate(
      1,
      { kind: 'doubted', why: 'Nobody knows.', pollMs: 30_000, state: doubt },
      { ...active, state: doubt },
      { kind: 'resumed', state: job({ delivery: 'sent', sentAt: 2 * MINUTE_MS - seconds * 1000 }) },
    ),
  ).toEqual([
    '[Looking]',
    'Nobody knows. Looking for up to 30 s whether job j shows the message.',
    'Job j is active.',
    `An earlier attempt sent the message to job j${ago}; it is not sent again.`,
  ]);
});

it('many jobs stand under one title, and one heartbeat counts those that have ended', () => {
  const waiting = { kind: 'waiting', nextPollMs: 5000, remainingMs: 90_000 } as const;
  const sent = job({ delivery: 'sent', sentAt: -9000 }, 'active');
  expect(
    narrate(
      2,
      { ...active, state: sent },
      { kind: 'ended', state: sent },
      { ...waiting, state: sent },
    ),
  ).toEqual([
    '[2 jobs]',
    'Job j is active, 9 s after the message.',
    '1 of 2 jobs have ended; 1 min 30 s remain for the others.',
  ]);
});
