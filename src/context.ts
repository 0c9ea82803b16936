import type { AgentContext } from './agent/client.ts';
import type { Connect } from './github/api.ts';
import type { Trigger } from './github/event.ts';
import type { Inputs } from './inputs.ts';
import type { Job } from './job.ts';
import type { AboutNote, NoteData } from './note/data.ts';
import type { Note } from './note/note.ts';
import type { ReactionAnswer } from './note/reactions.ts';
import type { Result } from './result.ts';
import type { RunInfo } from './runner/environment.ts';
import type { Runtime } from './runner/runtime.ts';

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
