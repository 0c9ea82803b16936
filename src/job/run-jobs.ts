import { withRetries } from '../agent/client.ts';
import type { RunContext } from '../context.ts';
import { isTrusted } from '../github/authorize.ts';
import { reasonFor } from '../github/errors.ts';
import { takesConversationFromJob } from '../github/event.ts';
import { TimeLimit } from '../github/time-limit.ts';
import type { Note } from '../memory/announcements.ts';
import { ownPullRequest } from '../pull-request-link.ts';
import { NO_REASON } from '../reason.ts';
import type { Turn } from '../turn.ts';
import { BATCH_SIZE, Batch } from './batch.ts';
import { type Job, type JobEvent, type Observer, pollerBeforeSend } from './job.ts';
import {
  type JobMemory,
  type Plan,
  planJob,
  planReadOnly,
  stateOf,
  unplannedState,
} from './plan.ts';
import { promptOf, startTurn } from './prepare.ts';
import { createProgress } from './progress.ts';
import { type Message, runJob } from './run-job.ts';
import { firstPollMs, paceOf } from './schedule.ts';

// Runs all jobs of a step at the same time, and keeps the output file up to date.

export async function runJobs(context: RunContext, jobIds: readonly string[]): Promise<void> {
  const { agent, updates } = context;
  const fleet = new Fleet(context, jobIds.length);
  const running: Promise<void>[] = [];
  updates.expectMore(true);
  for (let from = 0; from < jobIds.length; from += BATCH_SIZE) {
    const ids = jobIds.slice(from, from + BATCH_SIZE);
    const batch = new Batch(ids, agent.clock, (states) => updates.announce(states));
    running.push(...ids.map((jobId, index) => fleet.run(jobId, from + index, batch)));
    // A job that throws ends the run, without a wait for the rest of its batch.
    await Promise.race([batch.sent, Promise.all(running)]);
  }
  updates.expectMore(false);
  await Promise.all(running);
}

class Fleet {
  readonly #context: RunContext;
  readonly #size: number;
  readonly #prompt: string;
  readonly #own: Turn;
  readonly #progress: Observer;
  /** Whether only the record of a job names its pull request. */
  readonly #isFromJob: boolean;
  /** Warnings that many jobs have in common: only the first one is an annotation. */
  readonly #warned = new Set<string>();

  constructor(context: RunContext, size: number) {
    const { inputs, runtime, states, trigger } = context;
    this.#context = context;
    this.#size = size;
    this.#prompt = promptOf(context);
    this.#own = startTurn(context, this.#prompt);
    this.#isFromJob = inputs.prNumber === null && takesConversationFromJob(trigger);
    const progress = createProgress(runtime.log, runtime.clock, size);
    this.#progress = (event, state) => {
      states.set(state.jobId, state);
      progress(event, state);
      return undefined;
    };
  }

  async run(jobId: string, index: number, batch: Batch): Promise<void> {
    const { inputs, updates, states, agent, conversation } = this.#context;
    const state = unplannedState(jobId, this.#own, !inputs.send);
    states.set(jobId, state);
    const job: Job = {
      ...{ inputs, context: agent, conversation, observer: this.#progress },
      ...{ state, warned: new Set() },
      ...{ pace: paceOf(index, this.#size), firstPollMs: firstPollMs(index) },
    };
    if (!inputs.send) batch.leave(jobId);
    let memory = await this.#locate(job);
    // If another use of the step was faster, the job is planned again without its turn.
    while (!(await this.#carryOut(job, memory, batch))) {
      memory = await updates.load(this.#conversationOf(job));
    }
  }

  /** Finds the conversation of a job, and what is remembered there. The first attempt needs no memory. */
  async #locate(job: Job): Promise<JobMemory> {
    const { inputs, info, agent, updates, memory } = this.#context;
    const needsMemory = inputs.send ? info.attempt > 1 : inputs.wait;
    if (!needsMemory) return null;
    if (!this.#isFromJob || !inputs.comment) return memory;
    const unstopped = { ...agent, queue: { ...agent.queue, stopped: NEVER } };
    const poll = await withRetries(unstopped, pollerBeforeSend(job, unstopped));
    if (poll.kind !== 'fetched') return poll;
    job.conversation = ownPullRequest(poll.record.prLink, info.repositoryUrl);
    return updates.load(job.conversation);
  }

  /** Plans a job, and carries the plan out. Resolves to whether that was possible; if not, plan it again. */
  #carryOut(job: Job, memory: JobMemory, batch: Batch): Promise<boolean> {
    const { inputs, states, updates } = this.#context;
    const { jobId } = job.state;
    const plan = this.#plan(jobId, memory);
    job.state = stateOf(job.state, plan, this.#own, inputs.wait);
    states.set(jobId, job.state);
    const isWritten = this.#isWritten(plan);
    if (isWritten) updates.update(job.state, job.conversation);
    job.observer = this.#observer(job, isWritten, batch);
    this.#say(jobId, plan);
    return runJob(job, plan, this.#message(job, plan, batch));
  }

  #plan(jobId: string, found: JobMemory): Plan {
    const { inputs, runtime } = this.#context;
    // It may be unreadable because the run was cancelled.
    const isCancelled = found?.kind === 'problem' && runtime.signal.aborted;
    const memory: JobMemory = isCancelled ? { kind: 'cancelled', why: NO_REASON } : found;
    return inputs.send
      ? planJob(this.#context, memory, jobId, this.#own)
      : planReadOnly(memory, jobId, inputs.wait);
  }

  /** Says why a re-run does not send the message. */
  #say(jobId: string, plan: Plan): void {
    const { log } = this.#context.runtime;
    if (plan.kind !== 'ended' && plan.kind !== 'resume') return;
    if (plan.kind === 'ended') {
      log.info(`An earlier attempt saw the end of job ${jobId}; nothing is sent again.`);
    }
    if (plan.turn.leg !== this.#own.leg) {
      log.info(
        `In the earlier attempt, another job of the matrix sent the message to job ${jobId}; it is not ` +
          'sent again.',
      );
    }
    if (plan.turn.promptHash !== this.#own.promptHash) {
      log.info(
        `The prompt to job ${jobId} was another one in the earlier attempt; this one is not sent.`,
      );
    }
  }

  /** A refused job is not written to the comment: a later attempt would conclude that nothing was sent. */
  #isWritten(plan: Plan): boolean {
    if (plan.kind === 'refuse') return false;
    const isContinued = plan.kind === 'resume' || plan.kind === 'ended';
    // Only the run of a turn may change it.
    return !isContinued || plan.turn.runId === this.#own.runId;
  }

  #message(job: Job, plan: Plan, batch: Batch): Message {
    const { inputs, agent, updates, info, runtime } = this.#context;
    const pollsForComment = inputs.comment && this.#isFromJob;
    return {
      prompt: this.#prompt,
      baseline:
        inputs.wait || inputs.onlyWhen !== null ? 'fresh' : pollsForComment ? 'once' : 'none',
      firstPoll: this.#firstPoll(pollsForComment),
      mustBeNoted: info.attempt > 1 && !inputs.resendOnRerun,
      isUnchecked: info.attempt > 1 && plan.kind === 'send' && plan.earlier === null,
      announce: async () => {
        if (plan.kind === 'send' && plan.warning !== '') this.#warn(plan.warning);
        const conversation = this.#conversationOf(job);
        updates.update(job.state, conversation);
        if (conversation === null && info.attempt === 1) this.#warnOfNoPullRequest();
        const noting = batch.announce(job.state);
        const leftMs = Math.max(0, agent.deadline - agent.clock.now());
        const inTime = new TimeLimit(agent.clock, leftMs).waitFor(noting, runtime.signal);
        return inTime.catch((error): Note => ({ kind: 'missing', why: reasonFor(error) }));
      },
    };
  }

  #firstPoll(isForComment: boolean): Message['firstPoll'] {
    const { inputs, trigger, info } = this.#context;
    if (isForComment || inputs.onlyWhen !== null) return 'before';
    // The jobs of a batch are announced at once.
    if (this.#size > 1) return 'after';
    // A trusted run reads the comment at the same time. Others have done so while the permission was checked.
    return isTrusted(trigger) || info.attempt > 1 ? 'before' : 'beside';
  }

  /** Logs what happens, and keeps the batch, the comment and the output file up to date. */
  #observer(job: Job, isWritten: boolean, batch: Batch): Observer {
    const { updates, writeOutputs } = this.#context;
    return (event, state) => {
      const { kind } = event;
      this.#progress(event, state);
      if (LEAVES_BATCH.has(kind)) batch.leave(state.jobId);
      if (kind === 'withdrawn') updates.withdraw(state.jobId);
      if (isWritten && (kind === 'delivered' || kind === 'ended')) {
        updates.update(state, this.#conversationOf(job));
      }
      // The end of a single job is written when the run ends.
      const isDue = kind === 'ended' ? this.#size > 1 : CHANGES_DELIVERY.has(kind);
      return isDue ? writeOutputs() : undefined;
    };
  }

  /** The one that the event names or, if it names none, the pull request that the job has now. */
  #conversationOf({ conversation, state: { record, turn } }: Job): number | null {
    if (!this.#isFromJob) return conversation;
    // The response to the message may lack the link that a poll has returned.
    const prLink = record?.prLink ?? turn.base?.prLink ?? null;
    return ownPullRequest(prLink, this.#context.info.repositoryUrl) ?? conversation;
  }

  #warn(text: string): void {
    const { log } = this.#context.runtime;
    const say = this.#warned.has('resend') ? log.info : log.warning;
    this.#warned.add('resend');
    say(text);
  }

  /** Not needed if comments are off, or if re-runs may send again anyway. */
  #warnOfNoPullRequest(): void {
    const { inputs, runtime } = this.#context;
    if (!inputs.comment || inputs.resendOnRerun || this.#warned.has('pull request')) return;
    this.#warned.add('pull request');
    runtime.log.notice(
      this.#isFromJob
        ? 'The job has no pull request in this repository yet, so no comment can note the message before ' +
            'it is sent; a re-run will not send it again.'
        : 'This event belongs to no pull request or issue, so no comment can note the message; a re-run ' +
            'will not send it again. To change that, set pr-number.',
    );
  }
}

const CHANGES_DELIVERY: ReadonlySet<JobEvent['kind']> = new Set([
  'sending',
  'held',
  'delivered',
  'resumed',
]);

const LEAVES_BATCH: ReadonlySet<JobEvent['kind']> = new Set([
  'held',
  'delivered',
  'doubted',
  'resumed',
  'ended',
]);

/** Never aborted: polling continues after the queue has stopped. */
const NEVER = new AbortController().signal;
