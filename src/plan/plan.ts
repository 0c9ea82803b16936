import { type Again, WITH_THE_REST } from '../job/explain.ts';
import { endAs } from '../job/outcome.ts';
import type { Limit } from '../ledger/decide.ts';
import type { RunInfo } from '../runner/environment.ts';
import type { Inputs } from '../runner/inputs.ts';
import { isFinal } from '../service.ts';
import { isBot } from '../trigger/account.ts';
import { isTrusted, rerunBy } from '../trigger/authorize.ts';
import { askedBy } from '../trigger/command.ts';
import { BY_PROGRAMS, type Trigger } from '../trigger/trigger.ts';

// What a run is going to do. It is decided once, from the inputs, the event and the attempt.

export interface Plan {
  /** When messages and waits end, in milliseconds since 1970. */
  readonly deadline: number;
  readonly comments: Comments;
  readonly again: Again;
  /** Whether an earlier attempt may have sent the message. */
  readonly isRerun: boolean;
  /** Whether the notes there are listed: for a re-run, a limit, a commit or a person, or to find the job or its message. */
  readonly listsNotes: boolean;
  /** Whether they are listed again below the own note, because other runs may have come first. */
  readonly decidesAgain: boolean;
  readonly waitsForIdle: boolean;
  readonly byBot: boolean;
  readonly limit?: Limit;
  /** The pull request of the event, if the message is about its newest commit. */
  readonly headOf?: number;
}

type Rerun = Pick<RunInfo, 'attempt' | 'triggeringActor'>;

export type Comments =
  /** One comment on the pull request or issue of the run, which is there before the message. */
  | { readonly kind: 'note'; readonly conversation: number }
  /** One comment at the end on the pull request of each job. */
  | { readonly kind: 'pull requests of the jobs' }
  | { readonly kind: 'none'; readonly why: string };

export function makePlan(inputs: Inputs, trigger: Trigger, info: Rerun, startedAt: number): Plan {
  const { wait, onlyWhen, jobIds } = inputs;
  const comments = planComments(inputs, trigger);
  const isRerun = info.attempt > 1;
  const byBot = isByBot(trigger, info);
  const limit = planLimit(inputs, trigger, info, comments);
  const { conversation } = trigger;
  const isCheck = trigger.kind === 'check';
  const hasNote = comments.kind === 'note';
  const isAsked = askedBy(trigger, inputs) !== null;
  const counts = hasNote && (limit !== undefined || isCheck);
  // A message to an agent at work may stop that work. But a step that only sends must not hold a runner, and one whose
  // `only-when` lists a status that is not final would wait for the end of what it is meant for.
  const isForWork = onlyWhen !== null && [...onlyWhen].some((status) => !isFinal(status));
  const isHeadKnown = isCheck && trigger.check.head !== null;
  const isAboutHead = isHeadKnown && (inputs.prNumber ?? conversation) === conversation;
  return {
    deadline: startedAt + inputs.timeoutMs,
    comments,
    again: planAgain(inputs, trigger, info, comments),
    isRerun,
    // For a person, they tell what has been said since, and which pull request is that of the job.
    listsNotes: isRerun || jobIds.length === 0 || counts || (hasNote && isAsked),
    decidesAgain: hasNote && (isRerun || counts),
    waitsForIdle: wait && !isForWork,
    byBot,
    ...(limit !== undefined && { limit }),
    ...(isAboutHead && conversation !== null && { headOf: conversation }),
  };
}

function planComments(
  { comment, prNumber, githubToken }: Inputs,
  { event, conversation }: Trigger,
): Comments {
  if (!comment) return { kind: 'none', why: '“comment: false” is set' };
  const number = prNumber ?? conversation;
  if (number !== null) return { kind: 'note', conversation: number };
  // What a person or a clock has started is reported where people look for it.
  return !BY_PROGRAMS.has(event) && githubToken !== ''
    ? { kind: 'pull requests of the jobs' }
    : { kind: 'none', why: 'there is no pull request or issue with a comment' };
}

function planAgain(inputs: Inputs, trigger: Trigger, info: Rerun, comments: Comments): Again {
  const { jobIds } = inputs;
  // A new comment goes to all jobs, also to those that got the message.
  const isCommand = askedBy(trigger, inputs) !== null && jobIds.length <= 1;
  if (comments.kind === 'note') {
    return { start: startAgain(isCommand, info.attempt), waitsOn: true };
  }
  if (isCommand) return { start: 'Comment again', waitsOn: false };
  return jobIds.length > 1
    ? { start: WITH_THE_REST, waitsOn: false }
    : { start: 'Start a new run', waitsOn: false };
}

/** A re-run knows what earlier attempts have sent; a new comment does not. */
export function startAgain(isCommand: boolean, attempt: number): Again['start'] {
  return isCommand && attempt === 1 ? 'Comment again' : 'Re-run the workflow';
}

/** Why a run has no note, in words that continue a sentence. */
export function whyNoNote(comments: Exclude<Comments, { kind: 'note' }>): string {
  return comments.kind === 'none' ? comments.why : 'the event has no pull request or issue';
}

const MOST_OF_BOTS = 3;

/** There is none for what a person asks for, or for a person who re-runs, and so has looked. */
function planLimit(
  inputs: Inputs,
  trigger: Trigger,
  info: Rerun,
  comments: Comments,
): Limit | undefined {
  const byBot = isByBot(trigger, info);
  const isRerunByPerson =
    info.attempt > 1 && info.triggeringActor !== '' && !isRerunByBot(trigger, info);
  const isAsked = askedBy(trigger, inputs) !== null;
  const { maxMessages } = inputs;
  const most = maxMessages ?? (byBot ? MOST_OF_BOTS : null);
  if (most === null || isRerunByPerson || (isAsked && !byBot)) return undefined;
  if (comments.kind === 'note') return { most };
  const why = whyNoNote(comments);
  if (maxMessages !== null) return { uncounted: endAs('cannot count', why) };
  // A bot that is not checked, such as one that pushes to the default branch, need not be counted.
  return isTrusted(trigger) ? undefined : { uncounted: endAs('cannot count for a bot', why) };
}

/** Whether a bot has triggered the run, or has re-run it. */
function isByBot(trigger: Trigger, info: Rerun): boolean {
  return (trigger.sender !== null && isBot(trigger.sender)) || isRerunByBot(trigger, info);
}

function isRerunByBot({ sender }: Trigger, { attempt, triggeringActor }: Rerun): boolean {
  return attempt > 1 && isBot(rerunBy(sender, triggeringActor));
}
