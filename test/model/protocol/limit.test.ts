import { expect, test } from 'vitest';
import { search } from './explore.ts';
import {
  countIn,
  type Fault,
  isOver,
  isStart,
  type Rule,
  type Run,
  type Scenario,
  spaceOf,
  type World,
} from './limit.ts';

// Every order of runs at the same time under a limit, or about one commit. With `MODEL_TRACES=1` it prints the shortest
// way to what each rule prevents, and to what is admitted.

const LONG = process.env.MODEL_RUNS !== undefined;

const STORM = [
  ...(['refused', 'kill', 'no list', 'no answer'] as const),
  ...(['late creation', 'late edit', 'lost edit'] as const),
];

type IsWrong = (world: World, scenario: Scenario) => boolean;
type Trial = readonly [runs: readonly Run[], limit: number, faults: readonly Fault[], IsWrong];

const RUN: Run = { run: '', attempt: 1, command: '', byBot: true, commit: '', isLimited: true };

function some(count: number, parts: Partial<Run> = {}): readonly Run[] {
  return ['A', 'B', 'C', 'D', 'E'].slice(0, count).map((run) => ({ ...RUN, run, ...parts }));
}

const COMMAND: Run = { ...RUN, run: 'X', command: 'issue:7', byBot: false, isLimited: false };
const COMMAND_AGAIN: Run = { ...COMMAND, attempt: 2 };
/** A bot re-runs the run of a person. */
const COMMAND_AGAIN_BY_BOT: Run = { ...COMMAND, attempt: 2, byBot: true, isLimited: true };
const AGAIN: Run = { ...RUN, run: 'A', attempt: 2 };
const AGAIN_BY_PERSON: Run = { ...AGAIN, isLimited: false };
const COMMAND_OF_BOT: Run = { ...COMMAND, byBot: true, isLimited: true };
/** About one commit, without a limit. */
function aboutOne(count: number, parts: Partial<Run> = {}): readonly Run[] {
  return some(count, { commit: 'c1', isLimited: false, ...parts });
}

/** What was accepted since the last command of a person, in the order of the comments. */
function rowsIn({ notes }: World, { runs }: Scenario): readonly Run[] {
  const accepted = notes.filter(({ isAccepted }) => isAccepted).map(({ owner }) => runs[owner]);
  const all = accepted.flatMap((run) => run ?? []);
  return all.slice(all.findLastIndex(isStart) + 1);
}

/** A message that the limit may stop has as many before it, also in a row that is over. */
const isPassed: IsWrong = ({ notes, ...world }, scenario) =>
  notes.some(({ owner, isAccepted }, place) => {
    const row = rowsIn({ ...world, notes: notes.slice(0, place) }, scenario);
    return isAccepted && scenario.runs[owner]?.isLimited === true && row.length >= scenario.limit;
  });

const isPassedInTime: IsWrong = ({ sinceCommand }, { limit }) => sinceCommand > limit;
const isTwice: IsWrong = (world, scenario) => rowsIn(world, scenario).length > 1;
const isNobody: IsWrong = (world, scenario) =>
  isOver(world) && rowsIn(world, scenario).length === 0;
/** Of single attempts: fewer than the limit, although there are as many. */
const isFewer: IsWrong = (world, scenario) =>
  isOver(world) && rowsIn(world, scenario).length < Math.min(scenario.limit, scenario.runs.length);

/** A later run counts what was not sent, or does not count what was. */
const isMiscounted: IsWrong = (world, scenario) =>
  isOver(world) && countIn(world, scenario) !== rowsIn(world, scenario).length;

/** The limit has stopped a run, and no comment below the newest message says so. */
const isUntold: IsWrong = (world) => {
  const { notes, at } = world;
  const newest = notes.findLastIndex(({ isAccepted }) => isAccepted);
  const isTold = notes.slice(newest + 1).some(({ tellsLimit }) => tellsLimit);
  return isOver(world) && at.includes('stopped') && !isTold;
};
/** A run was stopped, and none has sent since the last command. */
const isStoppedInVain: IsWrong = (world, scenario) =>
  isNobody(world, scenario) && world.at.includes('stopped');

function tried([runs, limit, faults, isWrong]: Trial, off: Rule | null = null, mostFaults = 9) {
  const scenario = { runs, limit, faults, mostFaults, off };
  return search(spaceOf(scenario), (world) => isWrong(world, scenario));
}

function expectTrace(title: string, { trace }: ReturnType<typeof tried>): void {
  expect(trace).not.toBeNull();
  if (process.env.MODEL_TRACES) console.info([title, ...(trace ?? [])].join('\n  '));
}

/** The most faults in one history: in the test, and in the long run. */
const ORDERS: Record<string, readonly [readonly Run[], number, number]> = {
  'three runs': [some(3), 9, 9],
  'four runs': [some(4), 1, 9],
  'five runs': [some(5), 0, 9],
  'four runs, one by a person again': [[...some(4), AGAIN_BY_PERSON], 0, 9],
  'three runs, one by a bot again': [[...some(3), AGAIN], 1, 9],
  'two runs and a command': [[...some(2), COMMAND], 2, 9],
  'four runs and a command': [[...some(4), COMMAND], 0, 3],
  'two runs and a command again': [[...some(2), COMMAND, COMMAND_AGAIN], 1, 9],
  'two runs and a command again by a bot': [[...some(2), COMMAND, COMMAND_AGAIN_BY_BOT], 1, 9],
  'three runs and a command of a bot': [[...some(3), COMMAND_OF_BOT], 0, 9],
  'two runs, one again, and a command': [[...some(2), AGAIN, COMMAND], 1, 9],
};
const LIMITS = [1, 2, 3];

test.for(Object.entries(ORDERS))('%s: never more than the limit', ([title, [runs, most, long]]) => {
  for (const limit of LIMITS) {
    const { states, trace } = tried([runs, limit, STORM, isPassed], null, LONG ? long : most);
    expect(trace).toBeNull();
    if (LONG || process.env.MODEL_STATES)
      console.info(`${title}, limit ${limit}: ${states} states`);
  }
});

test.for([2, 3, 4, 5])('one message for a commit, in %i runs', (count) => {
  const most = LONG ? 9 : 5 - count;
  const { states, trace } = tried([aboutOne(count), 0, STORM, isTwice], null, most);
  expect(trace).toBeNull();
  if (LONG || process.env.MODEL_STATES)
    console.info(`${count} runs about a commit: ${states} states`);
});

/** Without a fault. */
const PROMISES: Record<string, readonly Trial[]> = {
  'As many are sent as the limit allows': LIMITS.map((n) => [some(5), n, [], isFewer]),
  'One message for a commit is sent': [
    [aboutOne(5), 0, [], isNobody],
    [aboutOne(4, { isLimited: true }), 2, [], isNobody],
    [aboutOne(4, { isLimited: true }), 2, [], isTwice],
  ],
  'The limit is told': LIMITS.map((n) => [some(5), n, [], isUntold]),
  'What was sent is counted, and nothing else': Object.values(ORDERS).flatMap(([runs]) =>
    [1, 2].map((n): Trial => [runs, n, [], isMiscounted]),
  ),
};

test.for(Object.entries(PROMISES))('%s', ([, trials]) => {
  for (const trial of trials) expect(tried(trial).trace).toBeNull();
});

/** Trials that have their result without the rule only. */
const NEEDED: Record<Rule, readonly Trial[]> = {
  'second look': [
    [some(2), 1, [], isPassed],
    [aboutOne(2), 0, [], isTwice],
  ],
  'comments before the own one': [
    [some(2), 1, [], isNobody],
    [aboutOne(2), 0, [], isNobody],
  ],
  'no note, no message': [[some(2), 1, ['late creation'], isPassed]],
  'no list, no message': [
    [some(2), 1, ['no list'], isPassed],
    [aboutOne(2), 0, ['no list'], isTwice],
  ],
  'sending counts': [
    [some(2), 1, [], isPassed],
    [aboutOne(2), 0, [], isTwice],
  ],
  'unknown counts': [[some(2), 1, ['no answer'], isPassed]],
  'once for all attempts': [
    [[...some(2), COMMAND, COMMAND_AGAIN], 1, [], isPassed],
    [[...some(1), AGAIN], 1, [], isMiscounted],
  ],
  'texts are read again': [[[...some(3), COMMAND, COMMAND_AGAIN], 2, [], isPassed]],
  'a sent command starts anew': [[[...some(2), COMMAND], 1, ['refused'], isPassed]],
  'a command of a person starts anew': [[[...some(2), COMMAND_OF_BOT], 1, [], isPassed]],
};

test.for(Object.entries(NEEDED))('"%s" is needed', ([rule, trials]) => {
  for (const trial of trials) {
    expect(tried(trial).trace).toBeNull();
    expectTrace(`Without "${rule}":`, tried(trial, rule as Rule));
  }
});

const ADMITTED: Record<string, Trial> = {
  'Nobody sends: the first is killed after the other stopped': [
    some(2),
    1,
    ['kill'],
    isStoppedInVain,
  ],
  'Nobody sends: the first is refused after the other stopped': [
    some(2),
    1,
    ['refused'],
    isStoppedInVain,
  ],
  'Nobody sends about a commit: the first is refused': [
    aboutOne(2),
    0,
    ['refused'],
    isStoppedInVain,
  ],
  'Counted: the edit of a withdrawal is lost': [some(2), 1, ['lost edit'], isMiscounted],
  'Counted: the edit of a command is lost': [[...some(1), COMMAND], 1, ['lost edit'], isMiscounted],
  'Counted: a comment that was given up appears': [some(1), 1, ['late creation'], isMiscounted],
  'Stopped after a command: it looked before that was sent': [
    [...some(2), COMMAND],
    1,
    [],
    isStoppedInVain,
  ],
  'Passed: a comment is deleted or not listed': [some(2), 1, ['deleted'], isPassed],
  'Passed: a person runs it again': [
    [...some(2), AGAIN_BY_PERSON],
    1,
    ['refused'],
    (world, scenario) => rowsIn(world, scenario).length > scenario.limit,
  ],
  'Passed: a step is used twice in a run': [[...some(1), ...some(1)], 1, [], isPassed],
  'Passed in time: a message waits above a command': [[...some(2), COMMAND], 1, [], isPassedInTime],
};

test.for(Object.entries(ADMITTED))('%s', ([title, trial]) => {
  expectTrace(title, tried(trial));
});
