import type { RunReport } from '../comment/render.ts';
import { describeStart } from '../comment/starter.ts';
import type { TrackingComment } from '../comment/tracking-comment.ts';
import type { Context } from '../context.ts';
import { showStatus } from '../job/explain.ts';
import { type JobState, mayBeSent, newJob, toPhase, update } from '../job/job.ts';
import { endedNow, toOutcome } from '../job/outcome.ts';
import { type Stop, stop } from '../job/stop-reasons.ts';
import type { Ledger } from '../ledger/ledger.ts';
import { LEAST_POST_MS } from '../mintlify/retry.ts';
import { type AgentContext, createTransport } from '../mintlify/transport.ts';
import type { Plan, Planned } from '../plan/plan.ts';
import { findEndedPull } from '../plan/pull-request.ts';
import { Prompt } from '../prompt/prompt.ts';
import type { Request } from '../prompt/request.ts';
import { saveOutputs } from '../runner/outputs.ts';
import { sentences } from '../text.ts';
import type { Result } from '../value-or-problem.ts';
import { openJobLog } from './job-log.ts';

/** What the delivery hands on to the report. */
export interface Delivered extends Context {
  readonly plan: Plan;
  /** The records of the page, and then those above the own comment. */
  readonly ledger: Result<Ledger>;
  readonly jobs: readonly JobState[];
  readonly prompt: Prompt;
  readonly comment?: TrackingComment;
}

/** What only the delivery needs. */
export interface Run extends Delivered {
  /** Only requests to the API use it. */
  readonly agent: AgentContext;
  readonly log: ReturnType<typeof openJobLog>;
  /** Aborted, with the `Stop` of the others, when no more messages can be sent. */
  readonly stopAll: AbortController;
  /** Whether an earlier attempt may have sent it: a re-run knows it below its own comment. */
  readonly isUnsure: boolean;
}

export function openRun(ready: Planned & { readonly request: Request }): Run {
  const { context, plan, ledger, jobIds, request } = ready;
  const { runtime, info, inputs, isRerun } = context;
  const { deadline } = plan;
  const jobs = jobIds.map(newJob);
  return {
    ...context,
    ...{ plan, ledger, jobs, isUnsure: isRerun },
    prompt: new Prompt(runtime, request),
    agent: {
      ...runtime,
      transport: createTransport({ ...inputs, ...runtime }),
      ...{ baseUrl: inputs.baseUrl, projectId: inputs.projectId },
      repositoryUrl: info.repositoryUrl,
      deadline,
    },
    log: openJobLog(runtime, jobs, deadline),
    stopAll: new AbortController(),
  };
}

export function describeRun(run: Delivered): RunReport {
  const { inputs, plan, info, runtime, prompt } = run;
  const { command, wait, createJob, jobIds } = inputs;
  const { deadline, limit } = plan;
  return {
    mergedOrClosed: findEndedPull(run),
    info,
    command,
    startedAt: runtime.clock.startedAt,
    ...describeStart(run.trigger, runtime),
    ...(wait && { until: deadline }),
    ...(limit !== undefined && 'most' in limit && { most: limit.most }),
    createsJobs: createJob && jobIds.length === 0,
    ...prompt.preview,
  };
}

export function save({ runtime, inputs, jobs, comment }: Run): Result<null> {
  const ended = endedNow(jobs, inputs.wait);
  return saveOutputs(runtime, { ended, commentUrls: [comment?.url ?? ''] });
}

export function pendingJobs({ jobs }: Run): readonly JobState[] {
  return jobs.filter((job) => job.end === undefined && job.message.kind === 'pending');
}

export function endJob(run: Run, job: JobState, why: Stop): void {
  const isUnsure = run.isUnsure && job.message.kind === 'pending';
  if (isUnsure) update(job, { message: { kind: 'unknown', isEarlier: true } });
  else if (mayBeSent(job)) update(job, { message: { kind: 'not-sent' } });
  const end = toOutcome(job, why, run.plan.facts, run.inputs.wait);
  const doubt = 'This attempt sent nothing; an earlier one may have sent the message.';
  const isToldDoubt = isUnsure && end.result !== 'skipped';
  const explanation = sentences(isToldDoubt ? doubt : '', end.explanation);
  const endedAt = run.runtime.clock.now();
  update(job, { end: { ...end, explanation }, endedAt, isWaiting: false });
  run.log.ended(job);
}

/** Why no message can be sent after a pause of `afterMs`. `why`: why the last request failed. */
export function stopIfTooLate(
  run: Run,
  job: JobState,
  { afterMs = 0, why = '' } = {},
): Stop | undefined {
  const { clock, signal } = run.runtime;
  const { signal: all } = run.stopAll;
  if (!signal.aborted && all.aborted) return all.reason;
  const leftMs = run.plan.deadline - clock.now() - afterMs;
  return signal.aborted || leftMs <= LEAST_POST_MS ? stopWork(run, job, why) : undefined;
}

/** The run is cancelled, or else its time is over. `why`: why the last request failed. */
export function stopWork({ runtime, inputs }: Run, job: JobState, why = ''): Stop {
  const code = runtime.signal.aborted ? 'cancelled' : 'timed-out';
  const status = showStatus(job.record?.status);
  const details = { phase: toPhase(job), jobId: job.id, status, limitMs: inputs.timeoutMs, why };
  const first = job.isWaiting && job.waitsFor !== undefined && { first: job.waitsFor };
  return stop(code, { ...details, ...first }, job.isWaiting ? 'later' : 'now');
}

export function pause({ runtime: { clock, signal } }: Context, ms: number): Promise<void> {
  return clock.sleep(ms, signal).catch(() => {});
}
