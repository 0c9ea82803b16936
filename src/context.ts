import type { AgentContext } from './agent/context.ts';
import type { Trigger } from './github/event.ts';
import type { Inputs } from './inputs.ts';
import type { Memory } from './memory/announcements.ts';
import type { Updates } from './memory/updates.ts';
import type { RunInfo } from './runner/environment.ts';
import type { Runtime } from './runner/runtime.ts';
import type { JobState } from './turn.ts';

/** What an authorized run works with. */
export interface RunContext {
  readonly runtime: Runtime;
  readonly inputs: Inputs;
  readonly info: RunInfo;
  readonly trigger: Trigger;
  /** What the comment asks for; empty without a command. */
  readonly text: string;
  /** A random name of this process, by which it recognizes its own turns. */
  readonly mark: string;
  readonly agent: AgentContext;
  readonly updates: Updates;
  /** The pull request or issue that the event or `pr-number` names; null if they name none. */
  readonly conversation: number | null;
  /** What is remembered there. It never rejects. */
  readonly memory: Promise<Memory>;
  /** What is known of each job so far, in input order. */
  readonly states: Map<string, JobState>;
  /** Writes the outputs as they are now. If that fails, it returns a sentence that says why. */
  readonly writeOutputs: () => string | undefined;
}
