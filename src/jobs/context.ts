import type { LimitFunction } from 'p-limit';
import type { AgentContext } from '../agent/http.ts';
import { isBot, isPullRequestEvent } from '../github/event.ts';
import type { Inputs } from '../inputs.ts';
import type { End, Job } from '../job.ts';
import type { AboutNote, NoteData } from '../note/data.ts';
import type { Note } from '../note/note.ts';
import { saveOutputs } from '../report/finish.ts';
import { endedNow } from '../report/outputs.ts';
import type { Story } from '../report/render.ts';
import type { Result } from '../text.ts';
import type { Start } from './answer.ts';
import type { JobLog } from './log.ts';

/** What an authorized run works with. */
export interface RunContext extends Start {
  readonly inputs: Inputs;
  readonly agent: AgentContext;
  /** What is sent; empty if nothing is. */
  readonly prompt: string;
  /** The pull request or issue that the event or `pr-number` names; null if they name none. */
  readonly conversation: number | null;
  /** The notes found there, or why they are not known; null if nobody needs them. */
  readonly notes: Result<readonly NoteData[]> | null;
  /** What the comments of this process say about it. */
  readonly about: AboutNote;
  readonly story: Story;
  /** In the order of the inputs. */
  readonly jobs: readonly Job[];
  readonly log: JobLog;
  /** A few messages at a time, in the order of the jobs. All of them count against one rate limit. */
  readonly limitSends: LimitFunction;
  /** Polls do not wait for messages. */
  readonly limitPolls: LimitFunction;
  /** Aborted, with the reason, when the rate limit refuses a message: it would refuse the others as well. */
  readonly stop: AbortController;
  /** The comment of this process; null if there is none, or none yet. */
  note: Note | null;
  /** Takes back the claim of the command; null if this process has not claimed it. */
  release: (() => Promise<void>) | null;
  /** Whether the process is about to end. */
  isOver: boolean;
  /** Whether a message may have been sent. */
  hasStarted: boolean;
}

/** If there are more jobs, they are polled less often, and the outputs are written less often. */
export const MOST_JOBS_IN_DETAIL = 20;

/**
 * Writes the outputs as they are now. `isDetail`: because of a single message. With many jobs, that is done
 * only before the first one, and says that every message may have been sent.
 */
export function save(run: RunContext, isDetail: boolean): void {
  const { runtime, inputs, jobs, note } = run;
  const isRare = isDetail && jobs.length > MOST_JOBS_IN_DETAIL;
  if (isRare && run.hasStarted) return;
  run.hasStarted ||= isDetail;
  const shown = isRare
    ? jobs.map((job) => ({ ...job, isPosting: job.delivery === 'sending' }))
    : jobs;
  saveOutputs(runtime, { ended: endedNow(shown, inputs.wait), commentUrls: [note?.url ?? ''] });
}

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
