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
  /** The bot whose message must not go to the job of this pull request; null if there is none. */
  readonly bot: string | null;
}

export type Comments =
  /** One comment on the pull request or issue of the run, which is there before the message. */
  | { readonly kind: 'note'; readonly conversation: number }
  /** One comment at the end on the pull request of each job. */
  | { readonly kind: 'pull requests of the jobs' }
  | { readonly kind: 'none'; readonly why: string };

export function makePlan(
  inputs: Inputs,
  trigger: Trigger,
  info: Pick<RunInfo, 'attempt' | 'triggeringActor'>,
  startedAt: number,
): Plan {
  const { send, wait, command, onlyWhen, jobIds } = inputs;
  const comments = planComments(inputs, trigger);
  const isRerun = send && info.attempt > 1;
  const bot = send ? findBot(trigger, info) : null;
  // A message to an agent at work may stop that work. A step that only sends must not hold a runner.
  const waitsForIdle = send && (inputs.whenActive ?? (wait ? 'wait' : 'send')) === 'wait';
  return {
    deadline: startedAt + inputs.timeoutMs,
    comments,
    isRerun,
    claims: command !== null && trigger.comment !== null && trigger.comment.kind !== 'review',
    readsNotes: isRerun || jobIds.length === 0,
    pollsFirst:
      wait ||
      waitsForIdle ||
      onlyWhen !== null ||
      bot !== null ||
      comments.kind === 'pull requests of the jobs',
    waitsForIdle,
    needsBase: wait || waitsForIdle,
    bot,
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

/** The bot that has triggered the run on a pull request, which may be that of the job, or that has re-run it. */
function findBot(
  { event, sender }: Trigger,
  { attempt, triggeringActor }: Pick<RunInfo, 'attempt' | 'triggeringActor'>,
): string | null {
  if (!isPullRequestEvent(event)) return null;
  if (sender !== null && isBot(sender)) return sender.login;
  return attempt > 1 && triggeringActor.endsWith(BOT_SUFFIX) ? triggeringActor : null;
}
