import { isTrusted } from '../github/authorize.ts';
import {
  BOT_SUFFIX,
  EVENTS_ABOUT_JOBS,
  isBot,
  isPullRequestEvent,
  type Trigger,
} from '../github/event.ts';
import type { Inputs } from '../inputs.ts';
import type { RunInfo } from '../runner/environment.ts';

// What a run is going to do. It is decided once, from the inputs, the event and the attempt.

export interface Plan {
  /** When messages and waits end, in milliseconds since 1970. */
  readonly deadline: number;
  readonly comments: Comments;
  /** Whether an earlier attempt may have sent the message. */
  readonly isRerun: boolean;
  /** Whether the message is that of a command, which only the process sends that added the 🚀. */
  readonly claims: boolean;
  /** Whether the notes of earlier runs are read. */
  readonly readsNotes: boolean;
  /** Whether the jobs are polled before anything else is done for them. */
  readonly pollsFirst: boolean;
  /** Whether each message waits until the agent is done with earlier work. */
  readonly waitsForIdle: boolean;
  /** Whether the job is polled just before the message. */
  readonly needsBase: boolean;
  /** Whether a bot triggered the message. */
  readonly byBot: boolean;
  /** The most messages in a row; null if there is no limit. */
  readonly limit: number | null;
  /** Whether earlier messages, of which the notes tell, may stop this one. */
  readonly counts: boolean;
  /** Why no message may be sent, because it could not be counted; empty if it can, or need not. */
  readonly whyUncounted: string;
  /** Whether the message is about the newest commit of the pull request of the event. */
  readonly isAboutHead: boolean;
  /** The bot whose message must not go to the job of this pull request; null if there is none. */
  readonly loopBot: string | null;
}

type Rerun = Pick<RunInfo, 'attempt' | 'triggeringActor'>;

export type Comments =
  /** One comment on the pull request or issue of the run, which is there before the message. */
  | { readonly kind: 'note'; readonly conversation: number }
  /** One comment at the end on the pull request of each job. */
  | { readonly kind: 'pull requests of the jobs' }
  | { readonly kind: 'none'; readonly why: string };

export function makePlan(inputs: Inputs, trigger: Trigger, info: Rerun, startedAt: number): Plan {
  const { send, wait, command, onlyWhen, jobIds } = inputs;
  const comments = planComments(inputs, trigger);
  const isRerun = send && info.attempt > 1;
  const bot = send ? findBot(trigger, info) : null;
  const byBot = bot !== null;
  const limit = send ? planLimit(inputs, info, byBot) : null;
  const hasNote = comments.kind === 'note';
  const mustCount = inputs.maxMessages !== null || (byBot && !isTrusted(trigger));
  const counts = send && hasNote && (limit !== null || trigger.commit !== null);
  const loopBot = isPullRequestEvent(trigger.event) ? bot : null;
  // A message to an agent at work may stop that work. A step that only sends must not hold a runner.
  const waitsForIdle = send && (inputs.whenActive ?? (wait ? 'wait' : 'send')) === 'wait';
  return {
    deadline: startedAt + inputs.timeoutMs,
    comments,
    isRerun,
    claims: command !== null && trigger.comment !== null && trigger.comment.kind !== 'review',
    readsNotes: isRerun || jobIds.length === 0 || counts,
    pollsFirst:
      wait ||
      waitsForIdle ||
      onlyWhen !== null ||
      loopBot !== null ||
      comments.kind === 'pull requests of the jobs',
    waitsForIdle,
    needsBase: wait || waitsForIdle,
    byBot,
    limit,
    counts,
    whyUncounted: send && mustCount && !hasNote ? whyNoNote(comments) : '',
    isAboutHead:
      send &&
      (trigger.commit?.head ?? null) !== null &&
      (inputs.prNumber ?? trigger.conversation) === trigger.conversation,
    loopBot,
  };
}

function planComments(
  { comment, prNumber, send, wait, githubToken }: Inputs,
  { event, conversation }: Trigger,
): Comments {
  if (!comment) return { kind: 'none', why: '“comment: false” is set' };
  // What only looks at jobs has nothing to say, and needs no token.
  if (!send && !(wait && githubToken !== '')) return { kind: 'none', why: 'nothing is sent' };
  const number = prNumber ?? conversation;
  if (number !== null) return { kind: 'note', conversation: number };
  return EVENTS_ABOUT_JOBS.has(event) && githubToken !== ''
    ? { kind: 'pull requests of the jobs' }
    : { kind: 'none', why: 'there is no pull request or issue with a comment' };
}

/** Why a run has no note, in words that continue a sentence. */
export function whyNoNote(comments: Exclude<Comments, { kind: 'note' }>): string {
  return comments.kind === 'none' ? comments.why : 'the event has no pull request or issue';
}

const MOST_OF_BOTS = 3;

/** A person who re-runs has looked. */
function planLimit(
  { maxMessages }: Inputs,
  { attempt, triggeringActor }: Rerun,
  byBot: boolean,
): number | null {
  const isRerunByPerson =
    attempt > 1 && triggeringActor !== '' && !triggeringActor.endsWith(BOT_SUFFIX);
  return isRerunByPerson ? null : (maxMessages ?? (byBot ? MOST_OF_BOTS : null));
}

/** The bot that has triggered the run, or that has re-run it. */
function findBot({ sender }: Trigger, { attempt, triggeringActor }: Rerun): string | null {
  if (sender !== null && isBot(sender)) return sender.login;
  return attempt > 1 && triggeringActor.endsWith(BOT_SUFFIX) ? triggeringActor : null;
}
