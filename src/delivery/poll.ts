import { afterPause, duration } from '../clock.ts';
import { showStatus } from '../job/explain.ts';
import {
  isDone,
  type JobRecord,
  type JobState,
  NEW_JOB,
  recordPoll,
  recordResponse,
} from '../job/job.ts';
import { type Stop, type StopCode, stop } from '../job/stop-reasons.ts';
import { getJob, type Missed } from '../mintlify/client.ts';
import { explainPause } from '../mintlify/errors.ts';
import {
  isRateLimited,
  LONGEST_OUTAGE_MS,
  mayPass,
  pollAgainMs,
  pollNowAgainMs,
} from '../mintlify/retry.ts';
import { type Exchange, isFromApi } from '../mintlify/transport.ts';
import { isFinal, isKnownStatus } from '../mintlify-api.ts';
import { quote, sentences } from '../text.ts';
import { pause, type Run, stopIfTooLate, stopWork } from './run-state.ts';

// Polls of a job. Before the message, three that fail or one mistake end the job; in a wait, all
// may fail for ten minutes.

/** `rule`: the end of the job, or milliseconds until the next poll; all have failed `forMs`. */
async function poll(
  run: Run,
  job: JobState,
  rule: (missed: Missed, failed: number, forMs: number) => Stop | number,
): Promise<Stop | undefined> {
  const { clock, signal } = run.runtime;
  const since = clock.now();
  let lastWhy = '';
  for (let failed = 1; ; failed += 1) {
    const missed = await pollOnce(run, job);
    if (signal.aborted) return stopWork(run, job);
    if (missed === undefined) return undefined;
    const next = rule(missed, failed, clock.now() - since);
    if (typeof next !== 'number') return next;
    const { why } = missed;
    if (why !== lastWhy) {
      run.log.say(job, `Polling failed. ${why} Polling again ${afterPause(next)}.`);
    }
    lastWhy = why;
    run.log.beat('Polling still fails');
    await pause(run, next);
  }
}

/** A poll outside a wait: the first one, and the last one before the message. */
export async function pollNow(run: Run, job: JobState): Promise<Stop | undefined> {
  if (run.runtime.clock.now() >= run.plan.deadline) return stopWork(run, job);
  let counted = 0;
  return poll(run, job, ({ why, exchange }, failed, forMs) => {
    if (!isRateLimited(exchange)) counted += 1;
    const nextMs = pollNowAgainMs(exchange, { failed: counted, forMs }, run.runtime.random);
    if (nextMs !== null) return stopIfTooLate(run, job, { afterMs: nextMs, why }) ?? nextMs;
    const count = failed === 1 ? '' : `${failed} polls failed in a row.`;
    const last = sentences(count, why, explainPause(exchange, run.agent));
    return stopAfter(exchange, job, last);
  });
}

const CODES: Readonly<Record<number, StopCode>> = {
  401: 'api-key',
  402: 'no-credits',
  403: 'api-key',
  404: 'not-found',
  409: 'job-closed',
  429: 'rate-limit',
};

/** After a poll that failed, or a message that was not sent. */
export function stopAfter(exchange: Exchange, job: JobState, why: string): Stop {
  if (job.message.kind === 'sent') return stop('unreachable', { why });
  // What stands before the API knows neither keys nor jobs.
  const isByApi = exchange.kind === 'answer' && isFromApi(exchange.body);
  const code = (isByApi && CODES[exchange.status]) || 'api';
  if (code === 'job-closed') {
    // A new message would go to the closed job as well.
    return job.id === NEW_JOB ? stop('api', { why }, 'when fixed') : stop(code, { why });
  }
  return stop(code, { why }, mayPass(exchange) ? 'later' : 'when fixed');
}

export function pollInWait(run: Run, job: JobState): Promise<Stop | undefined> {
  const { clock, random } = run.runtime;
  return poll(run, job, ({ why, exchange }, failed, forMs) => {
    const last = sentences(why, explainPause(exchange, run.agent));
    const leftMs = run.plan.deadline - clock.now();
    // An end that was seen counts then.
    if (leftMs <= 0 || isDone(job, true) !== 'no') return stopWork(run, job, last);
    if (forMs < LONGEST_OUTAGE_MS) return Math.min(pollAgainMs(exchange, failed, random), leftMs);
    return stopAfter(exchange, job, `All polls failed for ${duration(forMs)}. ${last}`);
  });
}

async function pollOnce(run: Run, job: JobState): Promise<Missed | undefined> {
  const { clock } = run.runtime;
  const from = clock.now();
  const read = await getJob(run.agent, job.id);
  if (read.kind === 'missed') return read;
  const record = read.value;
  logRecord(run, job, record);
  recordPoll(job, record, from, clock.now());
  if (!isKnownStatus(record.status)) {
    const what = record.status ? `the unknown status ${quote(record.status)}` : 'no status';
    const counts = 'it counts as not final, so a wait may last until “timeout-minutes”';
    run.log.warn(job, `The job has ${what}; ${counts}.`);
  }
  const isBusy = job.isWaiting && !isFinal(record.status);
  const what = isBusy
    ? 'Waiting until the agent is done with what it is doing: the job'
    : 'The job';
  run.log.beat(`${what} is ${showStatus(job.record?.status ?? 'unknown')}`);
  return undefined;
}

export function takeResponse(run: Run, job: JobState, record: JobRecord): void {
  logRecord(run, job, record);
  recordResponse(job, record);
}

/** Before it is recorded. */
function logRecord(run: Run, job: JobState, { status, linkProblem }: JobRecord): void {
  if (status !== undefined && status !== job.record?.status) {
    run.log.say(job, `The job is ${showStatus(status)}.`);
  }
  if (linkProblem !== undefined) {
    run.log.warn(job, `The pull request link of the job is left out: ${linkProblem}.`);
  }
}
