import { OPENING } from '../../src/text.ts';
import { pullRequest, review, reviewComment, type WebhookEvent } from '../sim/events.ts';
import type { Call } from '../sim/github/call-log.ts';
import type { StepResult, StepRun } from '../sim/runner/process.ts';
import { JOB, PULL, type Scenario, type Simulation, simulate } from './scenario.ts';

const OPENING_OF_DATA = `${OPENING} {`;

/** What a message comes from. */
export const ORIGINS = ['a step', 'a review', 'a review comment', 'a comment'] as const;
export type Origin = (typeof ORIGINS)[number];
type Trigger = { readonly with: NonNullable<Scenario['with']>; readonly event: WebhookEvent };

/** What a call is for; otherwise its name. */
export function purposeOf({ name, request: { body } }: Call): string {
  if (name === 'POST issues/#/comments') return body.includes(OPENING_OF_DATA) ? 'note' : 'answer';
  if (name === 'PATCH issues/comments/#') return 'edit';
  return name.startsWith('GET collaborators') ? 'check' : name;
}

/** What each call to GitHub was for. */
export function purposes({ github }: Simulation): readonly string[] {
  return github.calls().map(purposeOf);
}

/** Writes the comment if the message comes from one, and returns the event. */
export function triggerOf({ github, ask }: Simulation, origin: Origin): Trigger {
  const body = '/agent Add examples.';
  const command = { command: '/agent', prompt: '' };
  switch (origin) {
    case 'a step':
      return { with: {}, event: pullRequest({ number: PULL }) };
    case 'a review':
      return { with: command, event: review({ number: PULL, body }) };
    case 'a review comment': {
      const id = github.addReviewComment(PULL, 'alice', { body });
      return { with: command, event: reviewComment({ number: PULL, body, id }) };
    }
    case 'a comment':
      return { with: command, event: ask(body) };
  }
}

/** When an attempt is ended from outside. */
export interface Blow {
  /** `message`, `poll`, what a call to GitHub is for, or a line of the log. */
  readonly at: string | RegExp;
  /** Whether that request still takes effect. */
  readonly isApplied?: boolean;
  readonly by: 'SIGKILL' | 'SIGINT';
}

export interface Attempts extends AsyncDisposable {
  readonly sim: Simulation;
  /** Runs an attempt on src/; on the built action if it has to be that, or gets a blow. */
  run(attempt: number, more?: Attempt): Promise<StepResult>;
}

interface Attempt extends Pick<Scenario, 'with' | 'step'> {
  readonly blow?: Blow | undefined;
  readonly isBuilt?: boolean;
}

/** A run of which each attempt can be ended at any request. */
export async function openAttempts(origin: Origin, scenario: Scenario = {}): Promise<Attempts> {
  let blow: Blow | undefined;
  let run: StepRun | undefined;
  function hits(at: string, isApplied: boolean): boolean {
    if (run === undefined || blow?.at !== at || blow.isApplied !== isApplied) return false;
    run.kill(blow.by);
    blow = undefined;
    return true;
  }
  function onLine(line: string): void {
    if (blow?.at instanceof RegExp && blow.at.test(line)) {
      run?.kill(blow.by);
      blow = undefined;
    }
  }
  const { agent, github } = scenario;
  const sim = await simulate({
    ...scenario,
    agent: {
      jobs: [{ id: JOB }],
      ...agent,
      onPost(n, request) {
        if (hits('message', true)) return { fault: 'hang', accept: true };
        return hits('message', false)
          ? { fault: 'hang', accept: false }
          : agent?.onPost?.(n, request);
      },
      onGet(n, request) {
        const isAfter = sim.agent.posts().length > 0;
        return isAfter && hits('poll', true) ? { fault: 'hang' } : agent?.onGet?.(n, request);
      },
    },
    github: {
      ...github,
      on(request) {
        const call = sim.github.calls().at(-1);
        const isHit = call !== undefined && hits(purposeOf(call), false);
        return isHit ? { fault: 'hang' } : github?.on?.(request);
      },
      trouble: {
        ...github?.trouble,
        loses: (call) => hits(purposeOf(call), true) || github?.trouble?.loses?.(call) === true,
      },
    },
  });
  const trigger = triggerOf(sim, origin);

  return {
    sim,
    async run(attempt, more = {}) {
      const facts = { run_attempt: String(attempt), triggering_actor: 'alice' };
      const step = {
        event: trigger.event,
        ...more.step,
        github: { ...facts, ...more.step?.github },
      };
      const given = { with: { ...trigger.with, ...more.with }, step };
      if (more.isBuilt === true) return sim.run(given);
      if (more.blow === undefined) return sim.runHere(given);
      blow = more.blow;
      run = sim.start({ ...given, step: { ...step, onLine } });
      const result = await run.result;
      run = undefined;
      return result;
    },
    [Symbol.asyncDispose]: () => sim[Symbol.asyncDispose](),
  };
}
