import { expect, it } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { openJobLog } from '../../../src/delivery/job-log.ts';
import { nextPollMs } from '../../../src/delivery/wait.ts';
import type { JobState } from '../../../src/job/job.ts';
import { LABELS } from '../../../src/job/labels.ts';
import { ended, job, PULL, SENT, START } from '../record.ts';
import { recordingRuntime } from '../recording-runtime.ts';

const MINUTE_MS = 60_000;

/** The log of these jobs, with a deadline after half an hour. */
function open(...jobs: readonly JobState[]) {
  const time = { now: 0 };
  const { runtime, logged } = recordingRuntime();
  const clock = { ...systemClock, now: () => time.now };
  return { logged, time, log: openJobLog({ ...runtime, clock }, jobs, 30 * MINUTE_MS) };
}

it('with one job, each change is a line, and one a minute shows that the run continues', () => {
  const one = job();
  const { log, logged, time } = open(one);
  log.say(one, 'Sending the message.');
  for (; time.now < 3 * MINUTE_MS; time.now += 10_000) {
    if (time.now === MINUTE_MS) log.say(one, 'Polling failed.');
    log.beat('The job is active');
  }
  log.ended(one);
  expect(logged).toEqual([
    'info: Sending the message.',
    'info: Polling failed.',
    'info: The job is active; time-out in 28 min.',
  ]);
});

it('with several jobs, a line for each that got its message or ends, and one a minute', () => {
  const jobs = [job({ id: 'a', ...SENT }), job({ id: 'b' }), job({ id: 'c' })] as const;
  const [a, b, c] = jobs;
  const { log, logged, time } = open(...jobs);
  log.say(a, 'The message is delivered.', 'info');
  log.say(b, 'It is busy.');
  time.now = MINUTE_MS;
  log.beat('');
  const pull = { id: 'a', prLink: PULL };
  const failed = ended({ result: 'failed' }, { endedAt: START + 474_000, record: pull });
  Object.assign(a, failed, { id: 'a' });
  log.ended(a);
  Object.assign(c, ended({ result: 'sent' }), { id: 'c' });
  log.ended(c);
  time.now = 2 * MINUTE_MS;
  log.beat('');
  log.beat('');
  expect(logged).toEqual([
    'info: Job a: The message is delivered.',
    'debug: Job b: It is busy.',
    `info: 0 of 3 jobs done (2 ${LABELS.sending.word}, 1 ${LABELS.working.word}); time-out in 29 min.`,
    `info: [1/3] ${LABELS.failed.word} a after 7 min 54 s ${PULL}`,
    `info: [2/3] ${LABELS.sent.word} c`,
    `info: 2 of 3 jobs done (1 ${LABELS.failed.word}, 1 ${LABELS.sending.word}, 1 ${LABELS.sent.word}); time-out in 28 min.`,
  ]);
});

it('a warning is an annotation once, for however many jobs', () => {
  const [a, b] = [job({ id: 'a' }), job({ id: 'b' })];
  const many = open(a, b);
  for (const one of [a, b]) many.log.warn(one, 'It is odd.');
  expect(many.logged).toEqual(['warning: Job a: It is odd.']);
  const single = open(a);
  for (const text of ['It is odd.', 'It is odd.']) single.log.warn(a, text);
  expect(single.logged).toEqual(['warning: It is odd.']);
});

it.each([
  ['looks early', 0, 1000],
  ['looks again at two seconds', 1000, 1000],
  ['never less than 2 s', 4000, 2000],
  ['short jobs', 20_000, 2000],
  ['a twentieth of the time', 200_000, 10_000],
  ['at most 30 s', 7_200_000, 30_000],
])('nextPollMs: %s', (_, sinceMs, expected) => {
  expect(nextPollMs(sinceMs)).toBe(expected);
});
