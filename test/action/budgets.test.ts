import { expect, it } from 'vitest';
import type { Agent } from '../sim/agent.ts';
import { ALICE, issueComment, push } from '../sim/events.ts';
import { JOB, PULL, type Scenario, simulate } from './scenario.ts';

// How many calls a run makes, and which calls wait for others. The simulations respond in rounds: when all
// calls of a round have arrived, they get their responses, and the next round begins. A call that waited
// for another one of its round would never be made.

/** Names of calls: those of the simulated GitHub, `poll` and `message`. */
type Round = readonly string[];

const READ = 'read';
const CREATE = 'POST issues/#/comments';
const UPDATE = 'PATCH issues/comments/#';
const REACT = 'POST issues/comments/#/reactions';
const PERMISSION = 'GET collaborators/*/permission';
const WRITES: Round = [CREATE, UPDATE];
const POLL = 'poll';
const MESSAGE = 'message';

/** The calls after the last poll. The last one comes after a pause. */
const END: readonly Round[] = [[READ], [UPDATE], [READ]];

interface Case {
  readonly name: string;
  readonly with: Scenario['with'];
  /** The rounds before the message, which has its own round. */
  readonly before: (write: string) => readonly Round[];
  readonly after: readonly Round[];
  readonly calls: number;
}

/** A step that only sends. */
const PLAIN: Scenario['with'] = {
  prompt: 'Add error handling examples.',
  command: '',
  wait: false,
  'pr-number': PULL,
};

const COMMAND = { author: ALICE.login, body: '/agent Add examples.' };
const command = { command: '/agent', prompt: '' };

const CASES: readonly Case[] = [
  {
    name: 'a run that only sends',
    with: {},
    before: (write) => [[READ], [write], [READ]],
    after: END,
    calls: 6,
  },
  {
    name: 'a run that waits',
    with: { wait: true },
    before: (write) => [[READ, POLL], [write], [READ]],
    after: [[UPDATE], ...END],
    calls: 8,
  },
  {
    name: 'a command that only sends',
    with: command,
    before: (write) => [
      [READ, PERMISSION],
      [REACT, write],
      [READ, REACT],
    ],
    after: END,
    calls: 9,
  },
  {
    name: 'a command that waits',
    with: { ...command, wait: true },
    // The job is not polled before the permission is known.
    before: (write) => [
      [READ, PERMISSION],
      [REACT, POLL, write],
      [READ, REACT],
    ],
    // The run does not wait for the last reaction.
    after: [[UPDATE], [READ, REACT], [UPDATE], [READ]],
    calls: 12,
  },
];

/** Responds in rounds. Polls that belong to no round get a response at once. */
function respondInRounds(rounds: readonly Round[]) {
  const unexpected: string[] = [];
  let done = 0;
  let readAgain = 0;
  let missing = [...(rounds[0] ?? [])];
  let waiting: (() => void)[] = [];
  return {
    unexpected,
    get done() {
      return done;
    },
    /** Reads just before a write, because the machine stalled and the last read became too old. */
    get readAgain() {
      return readAgain;
    },
    async arrive(name: string): Promise<undefined> {
      const index = missing.indexOf(name);
      if (index === -1) {
        if (name === READ && missing.some((one) => WRITES.includes(one))) readAgain += 1;
        else if (name !== POLL) unexpected.push(`${name} in round ${done + 1}`);
        return;
      }
      missing.splice(index, 1);
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.push(resolve);
      if (missing.length === 0) {
        done += 1;
        missing = [...(rounds[done] ?? [])];
        for (const respond of waiting) respond();
        waiting = [];
      }
      await promise;
    },
  };
}

/** The number of polls before the message. The first one is repeated if it becomes too old. */
function pollsBefore({ posts, gets }: Agent): number {
  const sentAt = posts().at(-1)?.at ?? 0;
  return gets().filter(({ at }) => at < sentAt).length;
}

for (const { name, with: inputs, before, after, calls } of CASES) {
  it.each([
    ['a new comment', false],
    ['an existing comment', true],
  ])(`${name} makes few calls, and makes them in parallel if possible: %s`, async (_, exists) => {
    let rounds = respondInRounds([]);
    await using sim = await simulate({
      with: inputs ?? {},
      github: {
        issues: [{ number: PULL, pullRequest: true, comments: [COMMAND] }],
        on(request) {
          const call = sim.github.calls().find((one) => one.request === request);
          return rounds.arrive(call?.name ?? '');
        },
      },
      agent: {
        jobs: [{ id: JOB }],
        onGet: () => rounds.arrive(POLL),
        onPost: () => rounds.arrive(MESSAGE),
      },
    });
    if (exists)
      await sim.runHere({ step: { event: push(), github: { run_id: '1' } }, with: PLAIN });
    const earlier = sim.github.calls().length;
    const expected = [...before(exists ? UPDATE : CREATE), [MESSAGE], ...after];
    rounds = respondInRounds(expected);
    const id = sim.github.comments(PULL)[0]?.id ?? 0;
    const event =
      inputs?.command === undefined
        ? push()
        : issueComment({ number: PULL, body: COMMAND.body, id });
    const result = await sim.run({
      with: { 'pr-number': PULL },
      step: { event, github: { run_id: '2' } },
    });

    expect(result.outputs.delivery).toBe('sent');
    expect(rounds.unexpected).toEqual([]);
    expect(rounds.done).toBe(expected.length);
    const made = sim.github.calls().length - earlier - rounds.readAgain;
    expect(rounds.readAgain).toBeLessThanOrEqual(1);
    expect(made).toBeLessThanOrEqual(calls);
    expect(pollsBefore(sim.agent)).toBeLessThanOrEqual(2);
  });
}

it('a run without a comment makes no call to GitHub', async () => {
  await using sim = await simulate({ with: { comment: false, wait: true } });
  const result = await sim.run();
  expect(result.outputs.result).toBe('completed');
  expect(sim.github.calls()).toEqual([]);
  expect(pollsBefore(sim.agent)).toBe(1);
});
