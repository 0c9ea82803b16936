import type { Clock } from './clock.ts';
import type { Console } from './console.ts';
import type { Outputs } from './outputs.ts';
import type { Redact } from './secrets.ts';

/** What a run takes from the process. */
export interface Host {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly console: Console;
  readonly redact: Redact;
  readonly clock: Clock;
  /** Aborted when the run is cancelled. */
  readonly signal: AbortSignal;
  /** Rejects with what was thrown outside of every call. */
  readonly crashed: Promise<never>;
  readonly random: () => number;
  /** Makes the engine keep its heap small rather than collect garbage seldom. */
  readonly saveMemory: () => void;
  /** Keeps the engine from compiling in the background what a process that ends would wait for. */
  readonly compileOnce: () => void;
  /** Both write synchronously, and throw where the file cannot be written. */
  readonly writeOutputs: (outputs: Outputs) => void;
  readonly writeSummary: (markdown: string) => void;
}

/** The runner's variables that a run is known by. */
export interface RunFacts {
  /** `https://github.com`, or that of the GitHub Enterprise server. */
  readonly serverUrl: string;
  readonly apiUrl: string;
  readonly graphqlUrl: string;
  /** `owner/name`. */
  readonly repository: string;
  readonly runId: string;
  /** 1 for the first run, more for a re-run. */
  readonly attempt: number;
  /** Names this step of this run, whatever the attempt. */
  readonly origin: string;
  /** Who started this attempt, as far as the runner says; for people to read. */
  readonly actor: string;
  /** Who started this attempt; empty if the runner does not say so. */
  readonly triggeringActor: string;
}

const GITHUB = 'https://github.com';

export function readRunFacts(env: Host['env']): RunFacts {
  const apiUrl = env.GITHUB_API_URL || 'https://api.github.com';
  const serverUrl = env.GITHUB_SERVER_URL ?? '';
  const attempt = Number(env.GITHUB_RUN_ATTEMPT);
  const runId = env.GITHUB_RUN_ID ?? '';
  return {
    serverUrl: URL.canParse(serverUrl) ? serverUrl : GITHUB,
    apiUrl,
    graphqlUrl: env.GITHUB_GRAPHQL_URL || `${apiUrl}/graphql`,
    repository: env.GITHUB_REPOSITORY ?? '',
    runId,
    attempt: Number.isSafeInteger(attempt) && attempt > 0 ? attempt : 1,
    origin: `run:${runId}:${env.GITHUB_JOB ?? ''}:${env.GITHUB_ACTION ?? ''}`,
    actor: env.GITHUB_TRIGGERING_ACTOR || env.GITHUB_ACTOR || '',
    triggeringActor: env.GITHUB_TRIGGERING_ACTOR || '',
  };
}
