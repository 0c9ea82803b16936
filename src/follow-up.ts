import type { ServiceContext } from './agent/client.ts';
import { followJob, type Order, type Progress } from './agent/follow.ts';
import { writeOutputs } from './ending.ts';
import type { Errand } from './errand.ts';
import { ownPullRequest } from './errand.ts';
import type { Host, RunFacts } from './host.ts';
import type { Inputs } from './inputs.ts';
import { type JobResult, unknownJob } from './outcome.ts';
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
export async function followUp(errands: readonly Errand[], scene: Scene): Promise<void> {
  const { host, board, reporter } = scene;
  for (const errand of errands) board.set(errand.jobId, notBegun(errand));
  const narrate = createNarrator(host.console, host.clock);
  let noted: Promise<void> | undefined;
  const noteBeforeSend = (): Promise<void> => {
    noted ??= reporter.sending(toBeSent(errands).flatMap(({ jobId }) => board.get(jobId) ?? []));
    return noted;
  };

  await Promise.all(
    errands.map(async (errand) => {
      const observe = (progress: Progress): string | undefined => {
        board.set(errand.jobId, progress.soFar);
        narrate(progress);
        if (progress.kind === 'delivered') tellDelivery(errand, progress.soFar, scene);
        if (!CHANGES_DELIVERY.has(progress.kind)) return undefined;
        return writeOutputs(host, { results: [...board.values()], commentUrls: [] });
      };
      const result = await runErrand(errand, scene, { observe, beforeSend: noteBeforeSend });
      board.set(errand.jobId, result);
      findPlace(errand, result, scene);
    }),
  );
}

function toBeSent(errands: readonly Errand[]): readonly Errand[] {
  return errands.filter(({ plan }) => plan.kind === 'send');
}

const CHANGES_DELIVERY: ReadonlySet<Progress['kind']> = new Set([
  'sending',
  'held',
  'delivered',
  'resumed',
]);

interface Hooks {
  readonly observe: (progress: Progress) => string | undefined;
  readonly beforeSend: () => Promise<void>;
}

async function runErrand(errand: Errand, scene: Scene, hooks: Hooks): Promise<JobResult> {
  const { jobId, prompt, plan, base } = errand;
  const { inputs, facts, host, context } = scene;
  const order: Order = {
    ...inputs,
    jobId,
    prompt,
    base,
    serverUrl: facts.serverUrl,
    earlier: null,
    beforeSend: hooks.beforeSend,
  };
  switch (plan.kind) {
    case 'send':
      if (plan.warning !== '') host.console.warning(plan.warning);
      return followJob(order, context, hooks.observe);
    case 'go-on':
      return followJob({ ...order, earlier: plan.earlier }, context, hooks.observe);
    case 'done':
      host.console.info(`An earlier attempt saw the end of job ${jobId}; nothing is sent again.`);
      return plan.result;
    case 'refuse':
      return unknownJob(jobId, { delivery: 'not-sent', outcome: 'error', reason: plan.reason });
  }
}

function tellDelivery(errand: Errand, soFar: JobResult, scene: Scene): void {
  findPlace(errand, soFar, scene);
  scene.onDelivered();
  if (scene.inputs.wait) scene.reporter.delivered([soFar]);
}

/** Where only the job can name the conversation, it does so as soon as it shows its link. */
function findPlace(errand: Errand, { prLink }: JobResult, { facts, reporter }: Scene): void {
  if (!errand.placeFromJob || errand.plan.kind === 'refuse') return;
  const place = ownPullRequest(prLink, facts) ?? errand.conversation;
  reporter.assign(errand.jobId, errand.turn, place);
}

function notBegun({ jobId, plan }: Errand): JobResult {
  if (plan.kind === 'done') return plan.result;
  if (plan.kind === 'go-on') {
    const reason = 'The run ended before it could go on where an earlier attempt had stopped.';
    return unknownJob(jobId, { delivery: plan.earlier.delivery, outcome: 'error', reason });
  }
  return unknownJob(jobId, {
    delivery: 'not-sent',
    outcome: 'error',
    reason: 'The run ended before the message was sent.',
  });
}
