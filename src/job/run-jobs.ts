import { pollUntilFetched } from '../agent/client.ts';
import type { RunContext } from '../context.ts';
import { takesConversationFromJob } from '../github/event.ts';
import type { JobState } from '../turn.ts';
import { type Job, type JobEvent, type Observer, pollHooks } from './job.ts';
import { type Located, planJob, planLook, stateOf, stateUnplanned } from './plan.ts';
import { ownPullRequest, promptOf, startTurn } from './prepare.ts';
import { createProgress } from './progress.ts';
import { runJob } from './run-job.ts';
import { firstPollMs, paceOf } from './schedule.ts';

// Runs all jobs of a step, each by its own clock, and keeps the output file true all the while.

/** Where a job is told of, and what is remembered there. */
interface Place {
  readonly conversation: number | null;
  readonly memory: Located;
}

export async function runJobs(
  context: RunContext,
  jobIds: readonly string[],
  known: Place,
): Promise<void> {
  const { states, updates, runtime, inputs, info } = context;
  const progress = createProgress(runtime.log, runtime.clock, jobIds.length);
  const prompt = promptOf(context);
  const startedAt = runtime.clock.now();
  const toSend = new Set<string>();
  let hasWarned = false;
  let announced: Promise<boolean> | undefined;

  /** Only the first is an annotation; the others go to the log. */
  function warn(text: string): void {
    if (text === '') return;
    const say = hasWarned ? runtime.log.info : runtime.log.warning;
    say(text);
    hasWarned = true;
  }

  /** The first message announces all whose place was known from the beginning. */
  function announceAll(): Promise<boolean> {
    announced ??= updates.announce([...states.values()].filter(({ jobId }) => toSend.has(jobId)));
    return announced;
  }

  async function run(jobId: string, index: number): Promise<void> {
    const start = startTurn(context, { jobId, prompt, startedAt });
    const options = {
      ...{ wait: inputs.wait, timeoutMs: inputs.timeoutMs, settleMs: inputs.settleMs },
      ...{ pollIntervalMs: inputs.pollIntervalMs, pace: paceOf(index, jobIds.length) },
      firstPollMs: firstPollMs(index),
    };
    const begin = (state: JobState, observer: Observer, isOvertaken: boolean): Job => {
      states.set(jobId, state);
      return { options, context: context.agent, observer, isOvertaken, state, warned: new Set() };
    };
    let place = known;
    let polls = 0;
    const isLate = isPlaceUnknown(context);
    if (isLate) {
      const unplanned = stateUnplanned(jobId, start, !inputs.send);
      const job = begin(unplanned, (event) => void progress(event), false);
      place = await locate(job, context);
      polls = job.state.polls;
    }
    const { memory, conversation } = place;
    const plan = inputs.send
      ? planJob({ ...info, memory, jobId, key: start.key, wait: inputs.wait })
      : planLook(memory, jobId, inputs.wait);
    // Refused jobs and looks without an open message are not reported.
    const isTold = plan.kind !== 'refuse' && (plan.kind !== 'look' || plan.turn !== null);

    function observe(event: JobEvent): string | undefined {
      const { kind, state } = event;
      states.set(jobId, state);
      progress(event);
      if (kind === 'delivered') context.onDelivered();
      const isStage = kind === 'delivered' || kind === 'ended';
      if (isTold && isStage) updates.update(state, placeOf(state, context) ?? conversation);
      // The end of a single job is written by who ends the run.
      const isDue = kind === 'ended' ? jobIds.length > 1 : CHANGES_DELIVERY.has(kind);
      return isDue ? context.writeOutputs() : undefined;
    }

    const state = stateOf(jobId, plan, start, { wait: inputs.wait, polls });
    const job = begin(state, observe, plan.kind === 'resume' && plan.isOvertaken);
    if (isTold) updates.update(state, conversation);
    if (plan.kind === 'send' && !isLate) toSend.add(jobId);
    const announce = async (): Promise<string | undefined> => {
      if (plan.kind === 'send') warn(plan.warning);
      const isNoted = await (isLate ? updates.announce([job.state]) : announceAll());
      // In the first attempt the message goes out all the same: nobody has sent it before.
      return isNoted || info.attempt === 1 ? undefined : NOT_NOTED;
    };
    if (plan.kind === 'ended') {
      runtime.log.info(`An earlier attempt saw the end of job ${jobId}; nothing is sent again.`);
    }
    await runJob(job, plan, { prompt, onlyWhen: inputs.onlyWhen, announce });
  }

  await Promise.all(jobIds.map(run));
}

const CHANGES_DELIVERY: ReadonlySet<JobEvent['kind']> = new Set([
  'sending',
  'held',
  'delivered',
  'resumed',
]);

const NOT_NOTED =
  'This is a re-run, and the comment could not be written, so another re-run could not tell that the ' +
  'message was sent. Give the job `pull-requests: write`, or start a new run.';

/** Whether only the job's own record can say where an earlier attempt or run left its notes. */
function isPlaceUnknown({ inputs, trigger, info }: RunContext): boolean {
  const needsNotes = inputs.send ? info.attempt > 1 : inputs.wait;
  return (
    inputs.comment && needsNotes && inputs.prNumber === null && takesConversationFromJob(trigger)
  );
}

/** Never aborts: polling goes on after the queue has stopped. */
const NEVER = new AbortController().signal;

/** Polls the job for its pull request, for as long as that may help, and reads what stands there. */
async function locate(job: Job, { agent, updates, info }: RunContext): Promise<Place> {
  const unstopped = { ...agent, queue: { ...agent.queue, stopped: NEVER } };
  const look = await pollUntilFetched(unstopped, job.state.jobId, pollHooks(job));
  if (look.kind !== 'fetched') {
    return { conversation: null, memory: { kind: 'not-found', ending: look } };
  }
  const conversation = ownPullRequest(look.record.prLink, info);
  return { conversation, memory: await updates.load(conversation) };
}

/** Where no event names the conversation, the job does so as soon as it shows its pull request. */
function placeOf({ record, turn }: JobState, { inputs, trigger, info }: RunContext): number | null {
  if (inputs.prNumber !== null || !takesConversationFromJob(trigger)) return null;
  // The answer to the message may do without the link that a poll has shown.
  return ownPullRequest(record?.prLink ?? turn.base?.prLink ?? null, info);
}
