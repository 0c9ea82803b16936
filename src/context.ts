import type { AgentContext } from './agent/client.ts';
import type { Clock } from './clock.ts';
import type { Trigger } from './github/event.ts';
import type { Inputs } from './inputs.ts';
import type { Memory } from './memory/announcements.ts';
import type { Updates } from './memory/updates.ts';
import type { Env, RunInfo } from './runner/environment.ts';
import type { Log } from './runner/log.ts';
import type { Redact } from './runner/secrets.ts';
import type { JobState } from './turn.ts';

/** What a run takes from the process. */
export interface Runtime {
  readonly env: Env;
  readonly log: Log;
  readonly redact: Redact;
  readonly clock: Clock;
  /** Aborted when the run is cancelled. */
  readonly signal: AbortSignal;
  /** Rejects with an error that no code has caught. */
  readonly crashed: Promise<never>;
  readonly random: () => number;
  /** Makes V8 keep its heap small. */
  readonly saveMemory: () => void;
  /** Stops V8 from optimizing in the background, which delays the end of the process. */
  readonly deferTierUp: () => void;
  /** Both write synchronously, and throw if the file cannot be written. */
  readonly writeOutputs: (outputs: Readonly<Record<string, string>>) => void;
  readonly writeSummary: (markdown: string) => void;
}

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
