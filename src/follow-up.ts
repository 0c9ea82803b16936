import type { ServiceContext } from './agent/client.ts';
import { followJob, type Order, type Progress, type Task } from './agent/follow.ts';
import { firstLookMs, paceOf } from './agent/schedule.ts';
import { writeOutputs } from './ending.ts';
import { type Errand, type OpenErrand, ownPullRequest } from './errand.ts';
import type { Host, RunFacts } from './host.ts';
import type { Inputs } from './inputs.ts';
import { type Delivery, type JobResult, unknownJob } from './outcome.ts';
import { createNarrator } from './report/narrator.ts';
import type { Reporter } from './reporter.ts';

/** What is known of each job by now, in input order. */
export type Board = Map<string, JobResult>;

interface Scene {
  readonly host: Host;
  readonly inputs: Inputs;
  readonly facts: RunFacts;
  readonly context: ServiceContext;
  readonly reporter: Reporter;
  readonly board: Board;
  /** Called once for each message that is out. */
  readonly onDelivered: () => void;
}

/** Runs every errand, and keeps the board and the output file true all the while. */
export async function followUp(
  errands: readonly (Errand | OpenErrand)[],
  scene: Scene,
): Promise<void> {
  const { host, board, reporter } = scene;
  for (const errand of errands) board.set(errand.jobId, notBegun(errand));
  const narrate = createNarrator(host.console, host.clock, errands.length);
  const write = (): string | undefined =>
    writeOutputs(host, { results: [...board.values()], commentUrls: [] });
  let hasWarned = false;
  // Of further jobs the log tells: annotations for each of them would hide the others.
  const warn = (text: string): void => {
    if (text === '') return;
    const say = hasWarned ? host.console.info : host.console.warning;
    say(text);
    hasWarned = true;
  };
  let noted: Promise<void> | undefined;
  const noteTogether = (): Promise<void> => {
    const jobIds = new Set(errands.filter(isToBeSent).map(({ jobId }) => jobId));
    noted ??= reporter.sending([...board.values()].filter(({ jobId }) => jobIds.has(jobId)));
    return noted;
  };

  async function run(begun: Errand | OpenErrand, index: number): Promise<void> {
    const { jobId } = begun;
    let soFar = notBegun(begun);
    const learn = (result: JobResult): void => {
      soFar = result;
      board.set(jobId, result);
    };
    const isOpen = begun.kind === 'open';
    const errand = isOpen
      ? await begun.find((why, afterMs) => narrate({ kind: 'missed', why, afterMs, soFar }))
      : begun;
    learn(notBegun(errand));
    const observe = (progress: Progress): string | undefined => {
      learn(progress.soFar);
      narrate(progress);
      if (progress.kind === 'delivered') tellDelivery(errand, soFar, scene);
      return CHANGES_DELIVERY.has(progress.kind) ? write() : undefined;
    };
    const place = { pace: paceOf(index, errands.length), firstLookMs: firstLookMs(index) };
    const beforeSend = (warning: string): Promise<void> => {
      warn(warning);
      return isOpen ? reporter.sending([soFar]) : noteTogether();
    };
    learn(await runErrand(errand, scene, { observe, beforeSend, place }));
    // The end of a single job is written by who ends the run.
    if (errands.length > 1) write();
    narrate({ kind: 'ended', soFar });
    findPlace(errand, soFar, scene);
    reporter.note(soFar, 'ended');
  }

  await Promise.all(errands.map(run));
}

function isToBeSent(errand: Errand | OpenErrand): boolean {
  return errand.kind === 'planned' && errand.plan.kind === 'send';
}

const CHANGES_DELIVERY: ReadonlySet<Progress['kind']> = new Set([
  'sending',
  'held',
  'delivered',
  'resumed',
]);

interface Circumstances {
  readonly observe: (progress: Progress) => string | undefined;
  /** Awaited when the message is about to go out, with what is to be said of that. */
  readonly beforeSend: (warning: string) => Promise<void>;
  /** Where the job's looks lie among those of the others. */
  readonly place: Pick<Order, 'pace' | 'firstLookMs'>;
}

async function runErrand(
  errand: Errand,
  scene: Scene,
  { observe, beforeSend, place }: Circumstances,
): Promise<JobResult> {
  const { jobId, prompt, plan, seen, polls } = errand;
  const { inputs, facts, host, context } = scene;
  const { serverUrl } = facts;
  const follow = (task: Task): Promise<JobResult> =>
    followJob({ ...inputs, ...place, jobId, task, polls, serverUrl }, context, observe);
  switch (plan.kind) {
    case 'send': {
      const { onlyWhen } = inputs;
      const { warning } = plan;
      return follow({
        ...{ kind: 'send', prompt, onlyWhen, seen },
        beforeSend: () => beforeSend(warning),
      });
    }
    case 'go-on':
      return follow({ kind: 'go-on', earlier: plan.earlier });
    case 'look':
      return follow({ kind: 'look', turn: plan.earlier });
    case 'done':
      host.console.info(`An earlier attempt saw the end of job ${jobId}; nothing is sent again.`);
      return { ...plan.result, polls };
    case 'refuse': {
      const { result } = plan;
      const reason = host.redact(plan.reason);
      return { ...unknownJob(jobId, { delivery: 'not-sent', result, reason }), polls };
    }
  }
}

function tellDelivery(errand: Errand, soFar: JobResult, scene: Scene): void {
  findPlace(errand, soFar, scene);
  scene.onDelivered();
  scene.reporter.note(soFar, 'delivered');
}

/** Where only the job can name the conversation, it does so as soon as it shows its link. */
function findPlace(errand: Errand, result: JobResult, { facts, reporter }: Scene): void {
  const { jobId, plan, turn, conversation, placeFromJob } = errand;
  if (!placeFromJob || plan.kind === 'refuse' || plan.kind === 'look') return;
  // The answer to the message may do without the link that a look has shown.
  const prLink = result.prLink ?? result.resumption.base?.prLink ?? null;
  const place = ownPullRequest(prLink, facts) ?? conversation;
  reporter.assign(jobId, { turn, conversation: place, isOut: plan.kind !== 'send' });
}

/** What is true of a job if the run ends before its turn has come. */
function notBegun(errand: Errand | OpenErrand): JobResult {
  const ended = (delivery: Delivery, reason: string): JobResult =>
    unknownJob(errand.jobId, { delivery, result: 'error', reason });
  if (errand.kind === 'open' && !errand.isLook) {
    return ended('unknown', 'The run ended before it was known what an earlier attempt had sent.');
  }
  if (errand.kind === 'open' || errand.plan.kind === 'look') {
    const reason = 'The run ended before the look at the job did.';
    return { ...ended('not-sent', reason), isLook: true };
  }
  const { plan } = errand;
  switch (plan.kind) {
    case 'done':
      return plan.result;
    case 'go-on':
      return ended(
        plan.earlier.delivery,
        'The run ended before it could go on where an earlier attempt had stopped.',
      );
    default:
      return ended('not-sent', 'The run ended before the message was sent.');
  }
}
