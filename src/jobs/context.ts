import type { LimitFunction } from 'p-limit';
import type { AgentContext } from '../agent/client.ts';
import type { Connect } from '../github/api.ts';
import { isBot, isPullRequestEvent, type Trigger } from '../github/event.ts';
import type { Inputs } from '../inputs.ts';
import type { End, Job } from '../job.ts';
import type { AboutNote, NoteData } from '../note/data.ts';
import type { Note } from '../note/note.ts';
import type { RunInfo, Runtime } from '../runner/environment.ts';
import type { Result } from '../text.ts';
import type { ReactionAnswer } from './answer.ts';
import type { JobLog } from './log.ts';

/** What an authorized run works with. */
export interface RunContext {
  readonly runtime: Runtime;
  readonly inputs: Inputs;
  readonly info: RunInfo;
  readonly trigger: Trigger;
  readonly agent: AgentContext;
  readonly connect: Connect;
  /** What is sent; empty if nothing is. */
  readonly prompt: string;
  /** The pull request or issue that the event or `pr-number` names; null if they name none. */
  readonly conversation: number | null;
  /** The notes found there, or why they are not known; null if nobody needs them. */
  readonly notes: Result<readonly NoteData[]> | null;
  /** What the comments of this process say about it. */
  readonly about: AboutNote;
  /** In the order of the inputs. */
  readonly jobs: readonly Job[];
  readonly log: JobLog;
  /** A few messages at a time, in the order of the jobs. All of them count against one rate limit. */
  readonly limitSends: LimitFunction;
  /** Polls do not wait for messages. */
  readonly limitPolls: LimitFunction;
  /** Aborted, with the reason, when the rate limit refuses a message: it would refuse the others as well. */
  readonly stop: AbortController;
  /** Opens a comment about these jobs, which it does not create yet. */
  readonly openNote: (conversation: number, jobs: readonly Job[], deadline: number) => Note;
  /** The comment of this process; null if there is none, or none yet. */
  note: Note | null;
  /** The claim of the command; null without one. */
  claim: ReactionAnswer | null;
  /** Whether the process is about to end. */
  isOver: boolean;
  /**
   * Writes the outputs as they are now. `isDetail`: because of a single message; with many jobs, that is done
   * only before the first one.
   */
  readonly save: (isDetail: boolean) => void;
}

/** If there are more jobs, they are polled less often, and the outputs are written less often. */
export const MOST_JOBS_IN_DETAIL = 20;

/** Whether a bot has triggered the run on a pull request, which may be that of the job. */
export function isByBot({ trigger: { event, sender } }: RunContext): boolean {
  return isPullRequestEvent(event) && sender !== null && isBot(sender);
}

/**
 * Whether messages wait until the agent is done with earlier work. Those of bots do, because a job at work does not
 * show its pull request yet.
 */
export function waitsForIdle(run: RunContext): boolean {
  return run.inputs.whenActiveWait || isByBot(run);
}

/** Ends a job. What may have been delivered has its delivery already. */
export function endJob({ agent, inputs, jobs, note, log }: RunContext, job: Job, end: End): void {
  if (job.delivery === 'sending') job.delivery = 'not-sent';
  // After a wait that saw no end, nothing is confirmed.
  const isOpen = inputs.wait && !job.isReadOnly && job.delivery !== 'not-sent';
  job.end = { ...end, confirmed: end.confirmed ?? (isOpen ? false : null) };
  job.endedAt = agent.clock.now();
  job.isWaiting = false;
  job.isPosting = false;
  // The last edit follows the end of the last job.
  if (jobs.some((other) => other.end === null)) note?.touch();
  log.ended(job);
}

/** Returns false if the run was cancelled, which ends the pause early. */
export async function pause({ agent }: RunContext, ms: number): Promise<boolean> {
  await agent.clock.sleep(Math.max(0, ms), agent.signal).catch(() => {});
  return !agent.signal.aborted;
}
