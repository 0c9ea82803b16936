import type { Agent, AgentOptions, JobPart, TurnScript } from '../agent.ts';
import type { GitHub, GitHubOptions } from '../github/server.ts';
import type { Event } from '../runner/files.ts';
import type { Step, StepResult } from '../runner/process.ts';

// What all scenarios share. The action, its process and every request are real; the servers are simulated.

export const REPOSITORY = 'octo/docs';
export const PROJECT = 'docs';
export const API_KEY = 'mint_demo_0123456789abcdef';

export interface Scenario {
  readonly title: string;
  /** Lines that describe the simulated API and GitHub. */
  readonly setup: readonly string[];
  readonly agent: Pick<AgentOptions, 'jobs' | 'onPost' | 'onGet'>;
  readonly github: Required<Pick<GitHubOptions, 'issues' | 'collaborators'>>;
  /** The titles of the commits that the agent adds to the first pull request because of the n-th message. */
  readonly commits?: readonly (readonly string[])[];
  /** Virtual seconds per real second. */
  readonly pace: number;
  readonly runs: readonly Run[];
  /** Sentences about the end of the scenario, and whether each is true. */
  check(end: FinalState): Readonly<Record<string, boolean>>;
  readonly lessons: readonly string[];
}

export interface Run {
  readonly title: string;
  /** What happens before the run, or why it runs. */
  readonly about: string;
  readonly trigger: Trigger;
  readonly with: NonNullable<Step['with']>;
  readonly github?: Step['github'];
}

export type Trigger =
  | { readonly kind: 'event'; readonly event: Event }
  /** Someone writes a comment, which triggers the workflow. */
  | {
      readonly kind: 'comment';
      readonly number: number;
      readonly by: string;
      readonly body: string;
    };

export interface FinalState {
  readonly agent: Agent;
  readonly github: GitHub;
  /** One per run, in order. */
  readonly results: readonly StepResult[];
}

/** A job that is not active, with its pull request if it created one. */
export function idleJob(pull: number | null, status = 'completed'): JobPart {
  const source = { repository: `https://github.com/${REPOSITORY}`, ref: 'main' };
  return { status, prLink: pull === null ? null : linkTo(pull), source };
}

export function linkTo(pull: number): string {
  return `https://github.com/${REPOSITORY}/pull/${pull}`;
}

/** The job is active after `activeMs` and completed after `doneMs`. */
export function turn(activeMs: number, doneMs: number, done: JobPart = {}): TurnScript {
  return {
    steps: [
      { afterMs: activeMs, set: { status: 'active' } },
      { afterMs: doneMs, set: { status: 'completed', ...done } },
    ],
  };
}

/** Whether the run has this conclusion and these outputs. */
export function endedWith(
  result: StepResult | undefined,
  conclusion: StepResult['conclusion'],
  outputs: Readonly<Record<string, string>>,
): boolean {
  return (
    result?.conclusion === conclusion &&
    Object.entries(outputs).every(([name, value]) => result.outputs[name] === value)
  );
}
