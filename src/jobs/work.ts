import pLimit, { type LimitFunction } from 'p-limit';
import type { RunContext } from '../context.ts';
import type { End, Job } from '../job.ts';
import { JobLog } from './log.ts';

/** The jobs of a step at work, and what they share. */
export interface Work {
  readonly context: RunContext;
  readonly log: JobLog;
  /** A few messages at a time, in the order of the jobs. All of them count against one rate limit. */
  readonly limitSends: LimitFunction;
  /** Polls do not wait for messages. */
  readonly limitPolls: LimitFunction;
  /** Aborted, with the reason, when the rate limit refuses a message: it would refuse the others as well. */
  readonly stop: AbortController;
}

const MOST_SENDS_AT_ONCE = 4;
const MOST_POLLS_AT_ONCE = 24;

/** If there are more jobs, they are polled less often, and the outputs are written less often. */
export const MOST_JOBS_IN_DETAIL = 20;

export function startWork(context: RunContext): Work {
  const { runtime, jobs, agent } = context;
  return {
    context,
    log: new JobLog(runtime.log, runtime.clock, jobs, agent.deadline),
    limitSends: pLimit(MOST_SENDS_AT_ONCE),
    limitPolls: pLimit(MOST_POLLS_AT_ONCE),
    stop: new AbortController(),
  };
}

/** Ends a job. What may have been delivered has its delivery already. */
export function endJob({ context, log }: Work, job: Job, end: End): void {
  job.end = end;
  job.endedAt = context.agent.clock.now();
  job.isWaiting = false;
  job.isPosting = false;
  if (job.delivery === 'sending') job.delivery = 'not-sent';
  context.note?.touch();
  log.ended(job);
}

/** Returns false if the run was cancelled, which ends the pause early. */
export async function pause({ context }: Work, ms: number): Promise<boolean> {
  const { clock, signal } = context.agent;
  await clock.sleep(Math.max(0, ms), signal).catch(() => {});
  return !signal.aborted;
}
