import { pollUntilFetched } from '../agent/client.ts';
import type { RunContext } from '../context.ts';
import { createDeadline } from '../github/deadline.ts';
import { whyOf } from '../github/errors.ts';
import { takesConversationFromJob } from '../github/event.ts';
import { isAbout } from '../memory/ledger.ts';
import type { Memory, Note } from '../memory/updates.ts';
import type { JobState, Turn } from '../turn.ts';
import { BATCH_SIZE, Batch } from './batch.ts';
import { type Job, type JobEvent, type JobOptions, type Observer, pollHooks } from './job.ts';
import { type Located, type Plan, planJob, planLook, stateOf, stateUnplanned } from './plan.ts';
import { ownPullRequest, promptOf, startTurn } from './prepare.ts';
import { createProgress } from './progress.ts';
import { type Message, runJob } from './run-job.ts';
import { firstPollMs, paceOf } from './schedule.ts';

// Runs all jobs of a step, each by its own clock, and keeps the output file true all the while.

/** The conversation of a job, and what is remembered there. */
interface Home {
  readonly conversation: number | null;
  readonly memory: Located;
}

/** The conversation that the event or `pr-number` names, and what is remembered there. */
interface Known {
  readonly conversation: number | null;
  readonly memory: Promise<Memory>;
}

export async function runJobs(
  context: RunContext,
  jobIds: readonly string[],
  known: Known,
): Promise<void> {
  const fleet = new Fleet(context, jobIds, known);
  const running: Promise<void>[] = [];
  context.updates.expectMore(true);
  for (let from = 0; from < jobIds.length; from += BATCH_SIZE) {
    const ids = jobIds.slice(from, from + BATCH_SIZE);
    const batch = new Batch(ids, context.agent.clock, (states) => context.updates.announce(states));
    running.push(...ids.map((jobId, index) => fleet.run(jobId, from + index, batch)));
    // One that fails ends the run; the others of its batch need not be waited for.
    await Promise.race([batch.sent, Promise.all(running)]);
  }
  context.updates.expectMore(false);
  await Promise.all(running);
}

class Fleet {
  readonly #context: RunContext;
  readonly #jobIds: readonly string[];
  readonly #known: Known;
  readonly #prompt: string;
  readonly #own: Turn;
  readonly #progress: Observer;
  /** Warnings that many jobs have in common: only the first is an annotation. */
  readonly #warned = new Set<string>();

  constructor(context: RunContext, jobIds: readonly string[], known: Known) {
    const { log, clock } = context.runtime;
    this.#context = context;
    this.#jobIds = jobIds;
    this.#known = known;
    this.#prompt = promptOf(context);
    this.#own = startTurn(context, this.#prompt, clock.now());
    const progress = createProgress(log, clock, jobIds.length);
    this.#progress = (event) => {
      context.states.set(event.state.jobId, event.state);
      progress(event);
      return undefined;
    };
  }

  async run(jobId: string, index: number, batch: Batch): Promise<void> {
    const { inputs, updates } = this.#context;
    const unplanned = this.#begin(stateUnplanned(jobId, this.#own, !inputs.send), index);
    if (!inputs.send) batch.leave(jobId);
    const { memory, conversation } = await this.#locate(unplanned);
    let job = await this.#carryOut(unplanned, { memory, conversation }, batch);
    // Another use of the step was faster; what is left is found out anew.
    while (job !== null) {
      const home = placeOf(job.state, this.#context) ?? conversation;
      const again = { conversation, memory: await updates.load(home) };
      job = await this.#carryOut({ ...unplanned, state: job.state }, again, batch);
    }
  }

  /** Plans a job, and carries the plan out. Resolves to the job as it is if it has to be planned again. */
  async #carryOut(
    unplanned: Job,
    { conversation, memory }: Home,
    batch: Batch,
  ): Promise<Job | null> {
    const { inputs, states, updates } = this.#context;
    const { jobId, polls } = unplanned.state;
    const plan = this.#plan(jobId, memory);
    const state = stateOf(jobId, plan, this.#own, { wait: inputs.wait, polls });
    states.set(jobId, state);
    const isWritten = this.#isWritten(plan);
    if (isWritten) updates.update(state, conversation);
    const job: Job = {
      ...unplanned,
      isOvertaken: plan.kind === 'resume' && plan.isOvertaken,
      state,
      observer: (event) => this.#observe(event, { isWritten, conversation, batch }),
    };
    this.#say(jobId, plan);
    const isDone = await runJob(job, plan, this.#message(job, plan, conversation, batch));
    return isDone ? null : job;
  }

  #begin(state: JobState, index: number): Job {
    const { inputs, states, agent } = this.#context;
    const options: JobOptions = {
      ...{ wait: inputs.wait, timeoutMs: inputs.timeoutMs, settleMs: inputs.settleMs },
      ...{ pollIntervalMs: inputs.pollIntervalMs, pace: paceOf(index, this.#jobIds.length) },
      firstPollMs: firstPollMs(index),
    };
    states.set(state.jobId, state);
    const observer = this.#progress;
    return { options, context: agent, observer, isOvertaken: false, state, warned: new Set() };
  }

  /** What the plan needs to know; in the first attempt nothing was sent before. */
  async #locate(job: Job): Promise<Home> {
    const { inputs, trigger, info } = this.#context;
    const { conversation, memory } = this.#known;
    const needsMemory = inputs.send ? info.attempt > 1 : inputs.wait;
    if (!needsMemory) return { conversation, memory: { kind: 'none' } };
    const isNamed = inputs.prNumber !== null || !takesConversationFromJob(trigger);
    if (isNamed || !inputs.comment) return { conversation, memory: await memory };
    return locate(job, this.#context);
  }

  #plan(jobId: string, found: Located): Plan {
    const { inputs, runtime } = this.#context;
    // A cancel may be why it could not be read.
    const isCancelled = found.kind === 'unreadable' && runtime.signal.aborted;
    const memory: Located = isCancelled ? CANCELLED : found;
    const { wait, resendOnRerun } = inputs;
    const isNamed = this.#known.conversation !== null;
    return inputs.send
      ? planJob({ memory, jobId, own: this.#own, wait, isNamed, resendOnRerun })
      : planLook(memory, jobId, wait);
  }

  /** What a re-run does without its message. */
  #say(jobId: string, plan: Plan): void {
    const { log } = this.#context.runtime;
    if (plan.kind !== 'ended' && plan.kind !== 'resume') return;
    if (plan.kind === 'ended') {
      log.info(`An earlier attempt saw the end of job ${jobId}; nothing is sent again.`);
    }
    if (!isAbout(plan.turn, this.#own.prompt)) {
      log.info(
        `The prompt to job ${jobId} was another one in the earlier attempt; this one is not sent.`,
      );
    }
  }

  /** Refused jobs are not written down: a later attempt would take them for not sent. */
  #isWritten(plan: Plan): boolean {
    if (plan.kind === 'refuse') return false;
    const goesOn = plan.kind === 'resume' || plan.kind === 'ended';
    // Nobody changes the turn of another run.
    return !goesOn || plan.turn.runId === this.#own.runId;
  }

  #message(job: Job, plan: Plan, conversation: number | null, batch: Batch): Message {
    const { inputs, agent, updates, info, runtime } = this.#context;
    const takesPlace = this.#takesPlace();
    return {
      prompt: this.#prompt,
      onlyWhen: inputs.onlyWhen,
      baseline: inputs.wait || inputs.onlyWhen !== null ? 'fresh' : takesPlace ? 'once' : 'none',
      // One write covers all jobs of a batch, so only what is needed for it comes first.
      pollsFirst: takesPlace || inputs.onlyWhen !== null || this.#jobIds.length === 1,
      mustBeNoted: info.attempt > 1 && !inputs.resendOnRerun,
      own: this.#own,
      announce: async () => {
        if (plan.kind === 'send' && plan.warning !== '') this.#warn(plan.warning);
        const number = placeOf(job.state, this.#context) ?? conversation;
        updates.update(job.state, number);
        if (number === null && takesPlace && info.attempt === 1) this.#warnOfNoPlace();
        const noting = batch.announce(job.state);
        const leftMs = Math.max(0, agent.deadline - agent.clock.now());
        const inTime = createDeadline(agent.clock, leftMs).waitFor(noting, runtime.signal);
        return inTime.catch((error): Note => ({ kind: 'missing', why: whyOf(error) }));
      },
    };
  }

  #observe(
    event: JobEvent,
    {
      isWritten,
      conversation,
      batch,
    }: { readonly isWritten: boolean; readonly conversation: number | null; readonly batch: Batch },
  ): string | undefined {
    const { updates, writeOutputs } = this.#context;
    const { kind, state } = event;
    this.#progress(event);
    if (LEAVES_BATCH.has(kind)) batch.leave(state.jobId);
    if (kind === 'unwanted') updates.withdraw(state.jobId);
    const isStage = kind === 'delivered' || kind === 'ended';
    if (isWritten && isStage) {
      updates.update(state, placeOf(state, this.#context) ?? conversation);
    }
    // The end of a single job is written by who ends the run.
    const isDue = kind === 'ended' ? this.#jobIds.length > 1 : CHANGES_DELIVERY.has(kind);
    return isDue ? writeOutputs() : undefined;
  }

  /** Whether only the job's own record names the conversation. */
  #takesPlace(): boolean {
    const { inputs, trigger } = this.#context;
    return inputs.comment && inputs.prNumber === null && takesConversationFromJob(trigger);
  }

  #warn(text: string): void {
    const { log } = this.#context.runtime;
    const say = this.#warned.has('resend') ? log.info : log.warning;
    this.#warned.add('resend');
    say(text);
  }

  #warnOfNoPlace(): void {
    if (this.#warned.has('place')) return;
    this.#warned.add('place');
    this.#context.runtime.log.notice(
      'The job shows no pull request in this repository yet, so nothing is remembered of the message ' +
        'before it is sent; a re-run will not send it again.',
    );
  }
}

const CANCELLED: Located = { kind: 'not-found', ending: { kind: 'cancelled' } };

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

/** Never aborts: polling goes on after the queue has stopped. */
const NEVER = new AbortController().signal;

/** Polls the job for its pull request, for as long as that may help, and reads what stands there. */
async function locate(job: Job, { agent, updates, info }: RunContext): Promise<Home> {
  const unstopped = { ...agent, queue: { ...agent.queue, stopped: NEVER } };
  const poll = await pollUntilFetched(unstopped, job.state.jobId, pollHooks(job));
  if (poll.kind !== 'fetched') {
    return { conversation: null, memory: { kind: 'not-found', ending: poll } };
  }
  const conversation = ownPullRequest(poll.record.prLink, info);
  return { conversation, memory: await updates.load(conversation) };
}

/** Where no event names the conversation, the job does so as soon as it shows its pull request. */
function placeOf({ record, turn }: JobState, { inputs, trigger, info }: RunContext): number | null {
  if (inputs.prNumber !== null || !takesConversationFromJob(trigger)) return null;
  // The answer to the message may do without the link that a poll has shown.
  return ownPullRequest(record?.prLink ?? turn.base?.prLink ?? null, info);
}
