import { OPENING } from '../../src/text.ts';
import { pullRequest, review, reviewComment, type WebhookEvent } from '../sim/events.ts';
import type { Call } from '../sim/github/call-log.ts';
import type { StepResult, StepRun } from '../sim/runner/process.ts';
import {
  AGAIN,
  COMMAND,
  JOB,
  type More,
  PULL,
  type Scenario,
  type Simulation,
  simulate,
} from './scenario.ts';

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
function triggerOf({ github, ask }: Simulation, origin: Origin): Trigger {
  const body = '/agent Add examples.';
  if (origin === 'a step') return { with: {}, event: pullRequest({ number: PULL }) };
  if (origin === 'a review') return { with: COMMAND, event: review({ number: PULL, body }) };
  if (origin === 'a comment') return { with: COMMAND, event: ask(body) };
  const id = github.addReviewComment(PULL, 'alice', { body });
  return { with: COMMAND, event: reviewComment({ number: PULL, body, id }) };
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

interface Attempt extends More {
  readonly blow?: Blow | undefined;
  readonly isBuilt?: boolean;
}

/** A run of which each attempt can be ended at any request. */
export async function openAttempts(origin: Origin, scenario: Scenario = {}): Promise<Attempts> {
  let blow: Blow | undefined;
  let run: StepRun | undefined;
  function strike(): true {
    if (blow !== undefined) run?.kill(blow.by);
    blow = undefined;
    return true;
  }
  const hits = (at: string, isApplied: boolean): boolean =>
    run !== undefined && blow?.at === at && blow.isApplied === isApplied && strike();
  const onLine = (line: string): unknown =>
    blow?.at instanceof RegExp && blow.at.test(line) && strike();
  const { agent, github } = scenario;
  const sim = await simulate({
    ...scenario,
    agent: {
      jobs: [{ id: JOB }],
      ...agent,
      onPost(n, request) {
        const accept = [true, false].find((isApplied) => hits('message', isApplied));
        return accept === undefined ? agent?.onPost?.(n, request) : { fault: 'hang', accept };
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
      const github = { ...AGAIN, run_attempt: `${attempt}`, ...more.step?.github };
      const step = { event: trigger.event, ...more.step, github };
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
