import { parse } from 'yaml';
import { read, type Workflow } from '../../contract/workflows.ts';
import type { Agent, AgentOptions, JobPart, TurnScript } from '../agent.ts';
import type { WebhookEvent } from '../events.ts';
import type { InlineOptions } from '../github/reviews.ts';
import type { RunJobOptions } from '../github/runs.ts';
import type { GitHub, GitHubOptions } from '../github/server.ts';
import type { StepResult } from '../runner/process.ts';

// What all scenarios share. The action, its process and every request are real; the servers are simulated.

export const REPOSITORY = 'octo/docs';
export const PROJECT = 'docs';
export const API_KEY = 'mint_demo_0123456789abcdef';

export interface Scenario {
  readonly title: string;
  /** Lines that describe the simulated API and GitHub. */
  readonly setup: readonly string[];
  readonly agent: Pick<AgentOptions, 'jobs' | 'create'>;
  readonly github: Required<Pick<GitHubOptions, 'issues' | 'collaborators'>>;
  /** How many commits the agent adds to the first pull request because of the n-th message. */
  readonly commits?: readonly number[];
  /** Virtual seconds per real second. */
  readonly pace: number;
  /** Variables of the repository, besides the project. */
  readonly vars?: Readonly<Record<string, string>>;
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
  /** Its file, without `.yml`. */
  readonly file: string;
  readonly workflow: Workflow;
}

/** Who triggers the run. Without `by`, nobody does. */
export type Trigger =
  | { readonly kind: 'event'; readonly event: WebhookEvent; readonly by?: string }
  /** Someone writes a comment or submits a review. */
  | Written
  /** Checks of the newest commit of a pull request have ended. */
  | {
      readonly kind: 'checks';
      readonly number: number;
      readonly by: string;
      readonly conclusion: string;
      /** What the job that failed has written. */
      readonly failed?: RunJobOptions;
    };

export interface Written {
  readonly kind: 'comment' | 'review';
  readonly number: number;
  readonly by: string;
  readonly body: string;
  /** Of a review. */
  readonly inline?: readonly InlineOptions[];
}

export interface FinalState {
  readonly agent: Agent;
  readonly github: GitHub;
  /** One per run, in order; undefined if no runner has started. */
  readonly results: readonly (StepResult | undefined)[];
}

/** A workflow of `examples/`. */
export function example(file: string): Pick<Run, 'file' | 'workflow'> {
  return { file, workflow: parse(read(`examples/${file}.yml`)) };
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
