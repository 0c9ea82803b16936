import { describe, expect, it } from 'vitest';
import type { AgentOptions, Answer } from '../sim/agent.ts';
import { HAS_SIGNALS } from '../sim/platform.ts';
import { type Blow, isClaimed, ORIGINS, type Origin, openAttempts, purposeOf } from './attempts.ts';
import { errors, JOB, notes, ownComments, type Scenario, warnings } from './scenario.ts';

/** What a re-run does, after all. */
type Outcome = 'sends' | 'goes on' | 'is refused';

interface Row {
  readonly title: string;
  /** How the first attempt ends. */
  readonly blow?: Blow;
  readonly onPost?: () => Answer;
  /** Whether the agent is at work on something else in the first attempt, which waits for that. */
  readonly isBusy?: boolean;
  /** The calls to GitHub that fail in the first attempt, and how. */
  readonly fails?: Readonly<Record<string, Answer>>;
  /** The calls of the first attempt whose answers are lost. */
  readonly loses?: readonly string[];
  /** Undefined if a step cannot end like that. */
  readonly step?: Outcome;
  readonly command: Outcome;
}

const DOWN: Answer = { status: 503 };
const LONG = { 'retry-after': '9999' };

function killed(at: string, isApplied: boolean): Blow {
  return { at, isApplied, by: 'SIGKILL' };
}

function cancelled(at: string, isApplied: boolean): Blow {
  return { at, isApplied, by: 'SIGINT' };
}

const ROWS: readonly Row[] = [
  {
    title: 'was killed before its claim',
    blow: killed('claim', false),
    command: 'sends',
  },
  {
    title: 'was killed between its claim and its note',
    blow: killed('note', false),
    step: 'sends',
    command: 'is refused',
  },
  {
    title: 'was killed between its note and the message',
    blow: killed('note', true),
    step: 'is refused',
    command: 'is refused',
  },
  {
    title: 'was killed during the POST, before the API accepted it',
    blow: killed('message', false),
    step: 'is refused',
    command: 'is refused',
  },
  {
    title: 'was killed during the POST, after the API accepted it',
    blow: killed('message', true),
    step: 'is refused',
    command: 'is refused',
  },
  {
    title: 'was killed before it wrote that the message was sent',
    blow: killed('edit', false),
    step: 'is refused',
    command: 'is refused',
  },
  {
    title: 'was killed while it waited',
    blow: killed('edit', true),
    step: 'goes on',
    command: 'goes on',
  },
  {
    title: 'was refused for a wrong key',
    onPost: () => ({ status: 401 }),
    step: 'sends',
    command: 'sends',
  },
  {
    title: 'was refused by the rate limit',
    onPost: () => ({ status: 429, headers: LONG }),
    step: 'sends',
    command: 'sends',
  },
  {
    title: 'got a server error, so that the message may have arrived',
    onPost: () => DOWN,
    step: 'is refused',
    command: 'is refused',
  },
  {
    title: 'could not create its note',
    fails: { note: DOWN },
    step: 'sends',
    command: 'sends',
  },
  {
    title: 'could not create its note and not take back its claim',
    fails: { note: DOWN, newest: DOWN, release: DOWN },
    step: 'sends',
    command: 'is refused',
  },
  {
    title: 'gave up a note that was created all the same',
    fails: { newest: DOWN },
    loses: ['note'],
    step: 'is refused',
    // Its claim was taken back, so that of the re-run is new.
    command: 'sends',
  },
  {
    title: 'could not write that the message was sent',
    fails: { edit: DOWN },
    step: 'is refused',
    command: 'is refused',
  },
  {
    title: 'was cancelled before the API accepted the message',
    blow: cancelled('message', false),
    step: 'is refused',
    command: 'is refused',
  },
  {
    title: 'was cancelled in the pause after a rate limit',
    blow: { at: /Trying again in/, by: 'SIGINT' },
    onPost: () => ({ status: 429, headers: { 'retry-after': '60' } }),
    step: 'sends',
    command: 'sends',
  },
  {
    title: 'was cancelled while it waited for earlier work',
    blow: { at: /Waiting for earlier work/, by: 'SIGINT' },
    isBusy: true,
    step: 'sends',
    command: 'sends',
  },
  {
    title: 'was killed while it waited for earlier work',
    blow: { at: /Waiting for earlier work/, by: 'SIGKILL' },
    isBusy: true,
    step: 'is refused',
    command: 'is refused',
  },
  {
    title: 'timed out while it waited for earlier work',
    isBusy: true,
    step: 'sends',
    command: 'sends',
  },
  {
    title: 'was cancelled while it waited',
    blow: cancelled('poll', true),
    step: 'goes on',
    command: 'goes on',
  },
  {
    title: 'sent the message and saw the end',
    step: 'goes on',
    command: 'goes on',
  },
];

/** How each kind of message meets each row. */
const CASES = ORIGINS.flatMap((origin) =>
  ROWS.flatMap((row) => {
    const outcome = isClaimed(origin) ? row.command : row.step;
    return outcome === undefined || (row.blow !== undefined && !HAS_SIGNALS)
      ? []
      : [{ ...row, origin, outcome }];
  }),
);

describe.concurrent('a re-run', () => {
  it.each(CASES)('of $origin $outcome if the attempt before $title', async (one) => {
    const { origin, outcome, blow, fails = {}, loses = [] } = one;
    let attempt = 1;
    const isFirst = (): boolean => attempt === 1;
    const onPost: AgentOptions['onPost'] = () => (isFirst() ? one.onPost?.() : undefined);
    await using attempts = await openAttempts(origin, {
      with: { wait: true, ...(one.isBusy && { 'when-active': 'wait' }) },
      agent: {
        onPost,
        onGet: () => (one.isBusy && isFirst() ? { body: { id: JOB, status: 'active' } } : undefined),
      },
      github: {
        on: () => {
          const call = attempts.sim.github.calls().at(-1);
          return isFirst() && call !== undefined ? fails[purposeOf(call)] : undefined;
        },
        trouble: { loses: (call) => isFirst() && loses.includes(purposeOf(call)) },
      },
    });
    const { sim, run } = attempts;

    await run(1, { blow });
    const before = sim.agent.accepted().length;
    const comments = ownComments(sim.github).length;

    for (attempt = 2; attempt <= 3; attempt++) {
      const result = await run(attempt);
      if (outcome === 'is refused') {
        expect(result.outputs).toMatchObject({ result: 'error', delivery: 'unknown' });
        expect(errors(result)).toEqual([
          expect.stringContaining('it cannot tell whether an earlier attempt sent the message'),
        ]);
        expect(ownComments(sim.github)).toHaveLength(comments);
      } else {
        expect(result.outputs).toMatchObject({ result: 'completed', delivery: 'sent' });
        expect(result.annotations).toEqual([]);
        expect(notes(sim.github).at(-1)).toMatchObject({ attempt, jobs: [{ delivery: 'sent' }] });
      }
      const sent = outcome === 'is refused' ? before : 1;
      expect(sim.agent.accepted()).toHaveLength(sent);
    }

    // With resend-on-rerun, the refused ones are sent, and no others.
    const again = await run(attempt, { with: { 'resend-on-rerun': true } });
    expect(again.outputs).toMatchObject({ result: 'completed', delivery: 'sent' });
    const isResent = outcome === 'is refused';
    expect(warnings(again)).toEqual(
      isResent ? [expect.stringMatching(/cannot tell .*, because .* \(resend-on-rerun\)\.$/)] : [],
    );
    expect(sim.agent.accepted()).toHaveLength(isResent ? before + 1 : 1);
  });
});
