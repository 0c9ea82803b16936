import type { Agent, AgentOptions, JobPart, TurnScript } from '../agent.ts';
import type { GitHub, GitHubOptions } from '../github/server.ts';
import type { Event } from '../runner/files.ts';
import type { Step, StepResult } from '../runner/process.ts';

// What all stories share. The action, its process and every request are real; who answers is not.

export const REPOSITORY = 'octo/docs';
export const PROJECT = 'docs';
export const API_KEY = 'mint_demo_0123456789abcdef';

/** A story is told in its order: what starts, its runs, what came of them, the lesson. */
export interface Story {
  readonly title: string;
  /** What is simulated, a line each, ahead of the addresses that are only known later. */
  readonly starts: readonly string[];
  readonly agent: Pick<AgentOptions, 'jobs' | 'onPost'>;
  readonly github: Pick<GitHubOptions, 'issues' | 'collaborators'>;
  /** Seconds of the story in a second of the demo. */
  readonly pace: number;
  readonly runs: readonly Run[];
  /** What must be true in the end, in sentences. */
  check(seen: Seen): Readonly<Record<string, boolean>>;
  readonly lesson: readonly string[];
}

export interface Run {
  readonly title: string;
  /** What happens ahead of it, or why it runs. */
  readonly about: string;
  readonly trigger: Trigger;
  readonly with: NonNullable<Step['with']>;
  readonly github?: Step['github'];
}

export type Trigger =
  | { readonly kind: 'event'; readonly event: Event }
  /** Somebody comments, and the comment starts the workflow. */
  | {
      readonly kind: 'comment';
      readonly number: number;
      readonly by: string;
      readonly body: string;
    };

export interface Seen {
  readonly agent: Agent;
  readonly github: GitHub;
  /** Of the runs, in their order. */
  readonly results: readonly StepResult[];
}

/** A job that came to rest, with its pull request if it made one. */
export function atRest(pull: number | null, status = 'completed'): JobPart {
  const source = { repository: `https://github.com/${REPOSITORY}`, ref: 'main' };
  return { status, prLink: pull === null ? null : linkTo(pull), source };
}

export function linkTo(pull: number): string {
  return `https://github.com/${REPOSITORY}/pull/${pull}`;
}

/** A job that takes up the message, and then comes to rest again. */
export function turn(activeMs: number, doneMs: number, done: JobPart = {}): TurnScript {
  return {
    steps: [
      { afterMs: activeMs, set: { status: 'active' } },
      { afterMs: doneMs, set: { status: 'completed', ...done } },
    ],
  };
}

/** What a run is expected to come to. */
export function cameTo(
  result: StepResult | undefined,
  conclusion: StepResult['conclusion'],
  outputs: Readonly<Record<string, string>>,
): boolean {
  return (
    result?.conclusion === conclusion &&
    Object.entries(outputs).every(([name, value]) => result.outputs[name] === value)
  );
}
