import { describe, expect, it } from 'vitest';
import type { JobEvent as Change } from '../../src/job/job.ts';
import { createProgress } from '../../src/job/progress.ts';
import { ours } from '../../src/reason.ts';
import { conclude } from '../../src/report/finish.ts';
import type { Log } from '../../src/runner/log.ts';
import type { JobState, Turn } from '../../src/turn.ts';
import { record, state } from './record.ts';
import { finishedRun, recordingRuntime } from './recording-runtime.ts';

type JobEvent = Change & { readonly state: JobState };

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** A log that records its lines, with groups as `[title]`, and a clock that the test sets. */
function recordLog() {
  const logged: string[] = [];
  const debugLogged: string[] = [];
  const log = (text: string): void => {
    logged.push(text);
  };
  const group = (title: string): void => log(`[${title}]`);
  const all: Log = {
    info: log,
    debug: (text) => debugLogged.push(text),
    notice: log,
    warning: log,
    error: log,
    group,
    endGroup() {},
  };
  const time = { now: 0 };
  const clock = { startedAt: 0, now: () => time.now, sleep: async () => {} };
  return { logged, debugLogged, log: all, time, clock };
}

function startProgress(...given: Parameters<typeof createProgress>): (event: JobEvent) => void {
  const progress = createProgress(...given);
  return (event) => progress(event, event.state);
}

/** The lines that the log has for events that are a minute apart. */
function linesFor(jobs: number, ...events: readonly JobEvent[]): readonly string[] {
  const { logged, log, time, clock } = recordLog();
  const report = startProgress(log, clock, jobs);
  for (const event of events) {
    report(event);
    time.now += MINUTE_MS;
  }
  return logged;
}

function job(turn: Partial<Turn>, status: string | null = null, jobId = 'j'): JobState {
  const open = { delivery: 'not-sent', result: 'error', endedAt: null } as const;
  const polled = status === null ? null : record({ status });
  return state({ jobId, record: polled }, { ...open, ...turn });
}

const status = { kind: 'status' } as const;

describe('the log of one job', () => {
  it('has its own group while the job is polled for a message that may be lost', () => {
    const doubt = job({ delivery: 'unknown' }, 'active');
    expect(
      linesFor(
        1,
        { ...status, state: job({}, 'completed') },
        { kind: 'sending', state: job({ delivery: 'unknown' }) },
        { kind: 'doubted', why: ours('It broke.'), pollMs: 30_000, state: doubt },
        { ...status, state: doubt },
        { kind: 'delivered', state: job({ delivery: 'sent', sentAt: 4 * MINUTE_MS }) },
      ),
    ).toEqual([
      '[Before the message]',
      'Job j is completed before the message.',
      '[Message]',
      'Sending the message to job j.',
      'It broke. Polling for up to 30 s to see whether job j got the message.',
      'Job j is active.',
      'The message to job j is delivered.',
    ]);
  });

  it.each([
    [200, ', 3 min 20 s ago'],
    [0, ''],
  ])('in a re-run shows that the message was sent %i s ago', (seconds, ago) => {
    const doubt = job({ delivery: 'unknown' }, 'active');
    const sentAt = 2 * MINUTE_MS - seconds * 1000;
    expect(
      linesFor(
        1,
        { kind: 'doubted', why: ours('It is not known.'), pollMs: 30_000, state: doubt },
        { ...status, state: doubt },
        { kind: 'resumed', state: job({ delivery: 'sent', sentAt }) },
      ),
    ).toEqual([
      '[Polling]',
      'It is not known. Polling for up to 30 s to see whether job j got the message.',
      'Job j is active.',
      `An earlier attempt sent the message to job j${ago}; it is not sent again.`,
    ]);
  });

  it('has at most 25 lines in 12 minutes', () => {
    const { logged, log, time, clock } = recordLog();
    const report = startProgress(log, clock, 1);
    const sent = job({ delivery: 'sent', sentAt: 0 }, 'active');
    report({ ...status, state: job({}, 'completed') });
    report({ kind: 'sending', state: job({}) });
    report({ kind: 'delivered', state: sent });
    report({ ...status, state: sent });
    for (; time.now < 12 * MINUTE_MS; time.now += 10_000) {
      const remainingMs = 30 * MINUTE_MS - time.now;
      report({ kind: 'waiting', nextPollMs: 10_000, remainingMs, state: sent });
    }
    report({ kind: 'ended', state: sent });
    expect(logged.length).toBeGreaterThan(10);
    expect(logged.length).toBeLessThanOrEqual(25);
    expect(logged.at(-1)).toBe(
      'Job j is still active, 11 min after the message; 19 min remain, the next poll is in 10 s.',
    );
  });
});

describe('the log of many jobs', () => {
  const waiting = { kind: 'waiting', nextPollMs: 5000, remainingMs: 10 * MINUTE_MS } as const;
  const sent = job({ delivery: 'sent', sentAt: -9000 }, 'active');
  const ended = (jobId: string, turn: Partial<Turn>, prLink: string | null = null): JobEvent => ({
    kind: 'ended',
    state: state({ jobId, record: record({ prLink }) }, turn),
  });

  it('has a line for each job that ends, and the counts every minute', () => {
    const prLink = 'https://github.com/octo/docs/pull/104';
    const took = { result: 'failed', sentAt: 0, endedAt: 474_000 } as const;
    expect(
      linesFor(
        3,
        { ...status, state: sent },
        { ...waiting, state: sent },
        ended('a', took, prLink),
        ended('b', { result: 'timed-out', delivery: 'not-sent' }),
        { ...waiting, state: sent },
        ended('c', { result: 'completed' }),
      ),
    ).toEqual([
      'After 1 min: 0 of 3 done.',
      `After 2 min: 0 of 3 done, 9 min remain.`,
      `[1/3] failed a after 7 min 54 s ${prLink}`,
      'After 3 min: 1 of 3 done (1 failed), 8 min remain.',
      '[2/3] timed out b',
      'After 4 min: 2 of 3 done (1 failed, 1 timed out), 7 min remain.',
      'After 5 min: 2 of 3 done (1 failed, 1 timed out), 6 min remain.',
      '[3/3] completed c',
    ]);
  });

  const deliver = (kind: 'delivered' | 'resumed', count: number): readonly JobEvent[] =>
    Array.from({ length: count }, (_, n) => ({ kind, state: { ...sent, jobId: `job-${n}` } }));
  const countersOf = (jobs: number, ...events: readonly JobEvent[]): readonly string[] =>
    linesFor(jobs, ...events).filter((line) => !line.startsWith('After'));

  it.each([
    [3, ['3 of 3 sent.']],
    [45, ['20 of 45 sent.', '40 of 45 sent.', '45 of 45 sent.']],
  ])('counts the messages to %i jobs: %j', (count, lines) => {
    expect(countersOf(count, ...deliver('delivered', count))).toEqual(lines);
  });

  it('counts 500 messages in tenths', () => {
    expect(countersOf(500, ...deliver('delivered', 500))).toHaveLength(10);
  });

  it('counts the messages of earlier attempts, and the jobs without a message', () => {
    const events = [
      ...deliver('resumed', 2),
      ended('x', { result: 'skipped', delivery: 'not-sent' }),
    ];
    expect(countersOf(3, ...events)).toEqual([
      '[1/3] skipped x',
      '2 of 3 sent by an earlier attempt, and not sent again.',
    ]);
  });

  it('has no line for a job that ends after its message is sent', () => {
    const [one] = deliver('delivered', 1) as [JobEvent];
    expect(countersOf(1 + 1, one, ended('job-0', { result: 'sent' }))).toEqual([]);
  });

  it('has events without a line of their own as debug lines', () => {
    const { debugLogged, log, clock } = recordLog();
    const report = startProgress(log, clock, 2);
    const busy = { kind: 'missed', why: ours('It is busy.'), afterMs: 5000, state: sent } as const;
    for (const event of [{ kind: 'sending', state: sent }, ...deliver('delivered', 1)] as const) {
      report(event);
    }
    report({ ...status, state: sent });
    report({ ...status, state: job({ delivery: 'sent' }) });
    for (let n = 0; n < 3; n++) report(busy);
    expect(debugLogged).toEqual([
      'Sending the message to job j.',
      'The message to job job-0 is sent.',
      'Job j is active.',
      'Job j is in an unknown status.',
      'Polling job j failed. It is busy.',
    ]);
  });

  it('has the first two problems at once, and then at most one per minute', () => {
    const why = ours('It is busy.');
    const missed = { kind: 'missed', why, afterMs: 5000, state: sent } as const;
    const problems = linesFor(
      2,
      { kind: 'held', why, afterMs: 5000, state: sent },
      { kind: 'warning', text: 'It is odd.', state: sent },
      missed,
      { kind: 'doubted', why, pollMs: 30_000, state: sent },
      missed,
      ended('a', {}),
      missed,
      missed,
      ended('b', { result: 'failed' }),
    );
    expect(problems.filter((line) => !/^\[/.test(line))).toEqual([
      'The message to job j was not accepted. It is busy.',
      'After 1 min: 0 of 2 done.',
      'It is odd.',
      'After 2 min: 0 of 2 done.',
      'After 3 min: 0 of 2 done. Polling job j failed. It is busy.',
      'After 4 min: 0 of 2 done. It is busy. Polling to see whether job j got the message.',
      'After 5 min: 0 of 2 done. Polling job j failed. It is busy.',
      'After 6 min: 1 of 2 done (1 sent).',
      'After 7 min: 1 of 2 done (1 sent). Polling job j failed. It is busy.',
      'After 8 min: 1 of 2 done (1 sent). Polling job j failed. It is busy.',
    ]);
  });
});

describe('the length of the log', () => {
  /** The whole log of a run with jobs that all fail, one after the other, within an hour. */
  async function linesOf(jobs: number): Promise<readonly string[]> {
    const { logged, log, time, clock } = recordLog();
    const report = startProgress(log, clock, jobs);
    const ids = Array.from({ length: jobs }, (_, n) => `job-${n}`);
    const sent = (jobId: string): JobState => job({ delivery: 'sent', sentAt: 0 }, 'active', jobId);
    const failed = (jobId: string): JobState =>
      state(
        { jobId },
        { result: 'failed', sentAt: 0, endedAt: time.now, reason: ours('It failed.') },
      );
    for (const id of ids) {
      report({ kind: 'sending', state: sent(id) });
      report({ kind: 'delivered', state: sent(id) });
      report({ ...status, state: sent(id) });
      report({ kind: 'missed', why: ours('Busy.'), afterMs: 1000, state: sent(id) });
    }
    for (const [index, id] of ids.entries()) {
      while (time.now < ((index + 1) * HOUR_MS) / (jobs + 1)) {
        time.now += 5000;
        report({ kind: 'waiting', nextPollMs: 5000, remainingMs: HOUR_MS, state: sent(id) });
        report({ kind: 'missed', why: ours('Busy.'), afterMs: 1000, state: sent(id) });
      }
      report({ kind: 'ended', state: failed(id) });
    }
    const { runtime } = recordingRuntime({ log });
    await conclude(
      finishedRun(runtime, ids.map(failed), { urls: [], unwritten: '', reviewed: [] }),
    );
    return logged;
  }

  it.each([
    [60, 150],
    [500, 800],
  ])('for %i jobs is less than %i lines', async (jobs, limit) => {
    const lines = await linesOf(jobs);
    expect(lines.filter((line) => /^\[\d+\/\d+\] failed/.test(line))).toHaveLength(jobs);
    expect(lines.filter((line) => /^After \d+ min/.test(line)).length).toBeGreaterThan(57);
    expect(lines.length).toBeLessThan(limit);
  });
});
