import { lookUntilSeen, type OnMissed, type ServiceContext } from './agent/client.ts';
import type { JobRecord } from './agent/wire.ts';
import { oneLine } from './foreign-text.ts';
import { composePrompt } from './github/command.ts';
import { type Trigger, takesPlaceFromJob } from './github/event.ts';
import type { RunFacts } from './host.ts';
import { type Inputs, JOB_ID_MISSING } from './inputs.ts';
import { type Memory, type Plan, planJob, planLook, rememberedJob, turnKey } from './plan.ts';
import type { Reporter, TurnStart } from './reporter.ts';
import type { Redact } from './secrets.ts';

/** One job of this run, and what is to be done for it. */
export interface Errand {
  readonly kind: 'planned';
  readonly jobId: string;
  readonly prompt: string;
  readonly plan: Plan;
  readonly turn: TurnStart;
  /** The pull request or issue to report to, as far as that is known. */
  readonly conversation: number | null;
  /** Whether the job's own pull request is the place, once the job has shown it. */
  readonly placeFromJob: boolean;
  /** What was seen of the job already. */
  readonly seen: JobRecord | null;
  /** How often it was looked at for that. */
  readonly polls: number;
}

/** A job of which only its own record can say where an earlier attempt or run left its notes. */
export interface OpenErrand {
  readonly kind: 'open';
  readonly jobId: string;
  readonly isLook: boolean;
  /** Looks at the job, for as long as that may help, and reads the notes. */
  readonly find: (onMissed: OnMissed) => Promise<Errand>;
}

export type Errands =
  | { readonly kind: 'ready'; readonly errands: readonly (Errand | OpenErrand)[] }
  | { readonly kind: 'unclear'; readonly problem: string };

interface Asked {
  readonly inputs: Inputs;
  readonly trigger: Trigger;
  readonly facts: RunFacts;
  /** What the comment asks for; empty without a command. */
  readonly text: string;
  readonly startedAt: string;
  readonly redact: Redact;
}

/** Characters of the prompt that are remembered and shown. */
const SHOWN_PROMPT = 1000;

/** Finds out which jobs are meant, and whether their messages went out before. */
export async function prepareErrands(
  asked: Asked,
  reporter: Reporter,
  context: ServiceContext,
): Promise<Errands> {
  const { inputs, trigger } = asked;
  const conversation = inputs.prNumber ?? trigger.conversation;
  const memory = await reporter.recall(usesMemory(inputs) ? conversation : null);
  const jobs = whichJobs(inputs, memory, conversation);
  if (jobs.kind === 'unclear') return jobs;
  const errands = jobs.jobIds.map((jobId) =>
    prepareErrand(jobId, asked, { memory, conversation, reporter, context }),
  );
  return { kind: 'ready', errands };
}

/** A single look at a job that is named needs to know nothing of what was said before. */
function usesMemory({ send, wait, jobIds }: Inputs): boolean {
  return send || wait || jobIds.length === 0;
}

type Jobs =
  | { readonly kind: 'known'; readonly jobIds: readonly string[] }
  | { readonly kind: 'unclear'; readonly problem: string };

function whichJobs(inputs: Inputs, memory: Memory, conversation: number | null): Jobs {
  if (inputs.jobIds.length > 0) return { kind: 'known', jobIds: inputs.jobIds };
  if (conversation === null || !inputs.comment) {
    return { kind: 'unclear', problem: JOB_ID_MISSING };
  }
  const remembered = rememberedJob(memory);
  return remembered.kind === 'job' ? { kind: 'known', jobIds: [remembered.jobId] } : remembered;
}

interface Circumstances {
  readonly memory: Memory;
  readonly conversation: number | null;
  readonly reporter: Reporter;
  readonly context: ServiceContext;
}

function prepareErrand(
  jobId: string,
  asked: Asked,
  { memory, conversation, reporter, context }: Circumstances,
): Errand | OpenErrand {
  const { inputs, trigger, facts } = asked;
  const placeFromJob = inputs.prNumber === null && takesPlaceFromJob(trigger);
  const goesOn = inputs.send ? facts.attempt > 1 : inputs.wait;
  const plan = (notes: Notes): Errand =>
    planErrand(jobId, asked, { ...notes, placeFromJob }, reporter);
  if (!placeFromJob || !goesOn || !inputs.comment) {
    return plan({ memory, conversation, seen: null, polls: 0 });
  }
  const find: OpenErrand['find'] = async (onMissed) =>
    plan(await findNotes(jobId, facts, { reporter, context, onMissed }));
  return { kind: 'open', jobId, isLook: !inputs.send, find };
}

/** What was sent before is waited for, even where the service takes no more messages. */
const NEVER = new AbortController().signal;

/** What was found of earlier attempts and runs, and where. */
type Notes = Pick<Errand, 'conversation' | 'seen' | 'polls'> & { readonly memory: Memory };

async function findNotes(
  jobId: string,
  facts: RunFacts,
  {
    reporter,
    context,
    onMissed,
  }: Pick<Circumstances, 'reporter' | 'context'> & { readonly onMissed: OnMissed },
): Promise<Notes> {
  let polls = 0;
  const onLook = (): void => {
    polls += 1;
  };
  const unstopped = { ...context, sends: { ...context.sends, stopped: NEVER } };
  const look = await lookUntilSeen(unstopped, jobId, { onLook, onMissed });
  if (look.kind !== 'seen') {
    return { conversation: null, seen: null, polls, memory: { kind: 'not-found', ending: look } };
  }
  const conversation = ownPullRequest(look.record.prLink, facts);
  const memory = await reporter.recall(conversation);
  return { conversation, seen: look.record, polls, memory };
}

function planErrand(
  jobId: string,
  asked: Asked,
  { memory, ...place }: Notes & Pick<Errand, 'placeFromJob'>,
  reporter: Reporter,
): Errand {
  const { inputs, trigger, facts, text } = asked;
  const { conversation } = place;
  const prompt =
    inputs.command === null
      ? inputs.prompt
      : composePrompt(inputs.prompt, text, trigger.comment?.context ?? null);
  const turn = startTurn(jobId, prompt, asked);
  const plan = inputs.send
    ? planJob({ ...inputs, ...facts, memory, jobId, key: turn.key })
    : planLook(memory, jobId);
  const errand = { kind: 'planned' as const, jobId, prompt, plan, turn, ...place };
  switch (plan.kind) {
    case 'send':
      reporter.assign(jobId, { turn, conversation, isOut: false });
      return errand;
    case 'go-on':
    case 'done': {
      const { startedAt, by } = plan.turn;
      const known = { ...turn, startedAt, by };
      reporter.assign(jobId, { turn: known, conversation, isOut: true });
      return { ...errand, turn: known };
    }
    case 'look':
      // Without a message there is nothing to tell of.
      if (plan.turn !== null) {
        reporter.assign(jobId, { turn: plan.turn, conversation, isOut: true });
      }
      return errand;
    case 'refuse':
      // It may have been sent before: nothing is to be written over what is remembered.
      return errand;
  }
}

function startTurn(jobId: string, prompt: string, asked: Asked): TurnStart {
  const { inputs, trigger, facts, startedAt, redact } = asked;
  const { comment, event } = trigger;
  const by = comment?.author.login ?? (event === 'schedule' ? null : facts.actor || null);
  const origin = comment === null ? facts.origin : `${comment.kind}:${comment.id}`;
  return {
    key: turnKey(origin, [inputs.projectId, jobId, prompt]),
    by: by === null ? null : oneLine(redact(by), 100),
    // What is cut before it is redacted may keep a part of a secret.
    prompt: redact(prompt).slice(0, SHOWN_PROMPT).toWellFormed(),
    startedAt,
    runId: facts.runId,
    runAttempt: String(facts.attempt),
  };
}

/** The number of a pull request in this repository; null for any other link. */
export function ownPullRequest(
  prLink: string | null,
  { serverUrl, repository }: RunFacts,
): number | null {
  const prefix = `${serverUrl}/${repository}/pull/`.toLowerCase();
  if (prLink === null || !prLink.toLowerCase().startsWith(prefix)) return null;
  const number = /^[1-9]\d{0,9}$/.exec(prLink.slice(prefix.length));
  return number === null ? null : Number(number[0]);
}
