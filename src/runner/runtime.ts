import type { Clock } from '../clock.ts';
import type { Env } from './environment.ts';
import type { Log } from './log.ts';
import type { Redact } from './secrets.ts';

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
  /** 0 to 1, uniform. */
  readonly random: () => number;
  /** A random name that nobody else has. */
  readonly newId: () => string;
  /** Makes V8 keep its heap small. */
  readonly saveMemory: () => void;
  /** Stops V8 from optimizing in the background, which delays the end of the process. */
  readonly deferTierUp: () => void;
  /** Both append to their file synchronously, and throw if that is not possible. */
  readonly writeOutputs: (outputs: Readonly<Record<string, string>>) => void;
  readonly writeSummary: (markdown: string) => void;
}
