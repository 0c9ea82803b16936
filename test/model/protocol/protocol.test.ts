import { expect, test } from 'vitest';
import { NEW_JOB } from '../../../src/job/job.ts';
import { shortHash } from '../../../src/ledger/record.ts';
import { newProcess, type Rule, type Setup } from './process.ts';
import type { IsWrong } from './promises.ts';
import * as is from './promises.ts';
import { type Fault, keyOf, movesOf, type Scenario, STORM, type World } from './world.ts';

// Every order of the protocol of docs/delivery.md, with everything that can happen to each call. With `MODEL_TRACES=1` it
// prints the shortest way to what each rule prevents, and to what is admitted.

const LONG = process.env.MODEL_RUNS !== undefined;

type Trial = readonly [
  isWrong: IsWrong,
  setups: readonly Setup[],
  faults?: readonly Fault[],
  parts?: Partial<Scenario>,
];

type Named = readonly [title: string, ...Trial];

function tried([isWrong, setups, faults = [], parts]: Trial, off?: Rule): Found {
  const usual = { most: Infinity, isLagging: true, hasOldTexts: false, isInOrder: true };
  const own = setups.map((setup) => ({ ...setup, off }));
  const scenario = { ...usual, faults, ...parts, setups: own };
  return search(scenario, isWrong);
}

interface Found {
  readonly states: number;
  /** The shortest way to a world that is wrong; missing if none is. */
  readonly trace?: readonly string[];
}

/** Visits every world that can be reached, the nearest ones first, until one is wrong. */
function search(scenario: Scenario, isWrong: IsWrong): Found {
  const first: World = { processes: scenario.setups.map(newProcess), faultsLeft: scenario.most };
  const known = new Set([keyOf(first)]);
  let nearest: [World, readonly string[]][] = [[first, []]];
  while (nearest.length > 0) {
    const next: typeof nearest = [];
    for (const [world, trace] of nearest) {
      if (isWrong(world)) return { states: known.size, trace };
      for (const [what, after] of movesOf(world, scenario)) {
        const key = keyOf(after);
        if (!known.has(key)) next.push([after, [...trace, what]]);
        known.add(key);
      }
    }
    nearest = next;
  }
  return { states: known.size };
}

function expectTrace(title: string, { trace }: Found): void {
  if (process.env.MODEL_TRACES) console.info([title, ...(trace ?? [])].join('\n  '));
  expect(trace).toBeDefined();
}

function any(...promises: readonly IsWrong[]): IsWrong {
  return (world) => promises.some((isWrong) => isWrong(world));
}

// Who runs.

type Parts = Partial<Omit<Setup, 'id'> & Setup['id']>;

/** `A1 A2 B1`: the runs, by letter, and their attempts. `A1a A1b`: the legs of a matrix. */
function runs(names: string, parts: Parts = {}): readonly Setup[] {
  const { jobs = ['x'], limit, place = 'here', ...id } = parts;
  const message = { command: '', commit: '', byBot: false };
  const usual = { project: shortHash('project'), step: shortHash('step'), ...message };
  return names.split(' ').map((name) => {
    const [run = '', attempt, leg = ''] = name;
    const own = { ...usual, run, attempt: Number(attempt), process: shortHash(name), ...id };
    return { name, jobs, limit, leg, place, id: own };
  });
}

function bots(names: string, most: number, parts: Parts = {}): readonly Setup[] {
  return runs(names, { byBot: true, limit: { most }, ...parts });
}

const COMMAND = { command: 'issue:7' };
const COMMIT = { commit: 'c1', byBot: true };
const CREATES = { jobs: [NEW_JOB] };
const TWO_JOBS = { jobs: ['x', 'y'] };
const BLIND = { place: '' };
const OTHER = { commit: 'c2' };
const OLD_TEXTS = { hasOldTexts: true };
const OTHER_STEP = { step: shortHash('other') };
const OTHER_PROJECT = { project: shortHash('other') };

const { isTwice, isPassed, isTwiceForCommit, isCreatedTwice, fewerThan } = is;
const isOnce = any(isTwice, isTwiceForCommit);
const LIMITS = [1, 2];

/** In a storm. The most faults in one history: in the test, and in the long run. */
const ORDERS: readonly (readonly [string, number, number, IsWrong, readonly Setup[]])[] = [
  ['two attempts', 9, 9, isTwice, runs('A1 A2')],
  ['three attempts', 3, 9, isTwice, runs('A1 A2 A3')],
  ['a command to two jobs', 3, 9, isTwice, runs('A1 A2', { ...COMMAND, ...TWO_JOBS })],
  ['three attempts for two jobs', 1, 4, isTwice, runs('A1 A2 A3', TWO_JOBS)],
  ['two steps', 1, 4, isTwice, [...runs('A1 A2'), ...runs('A1 A2', OTHER_STEP)]],
  ['without comments', 9, 9, isTwice, runs('A1 A2', BLIND)],
  ...LIMITS.flatMap((most): typeof ORDERS => [
    [`limit ${most}: two runs`, 9, 9, isPassed, bots('A1 B1', most)],
    [`limit ${most}: three runs`, 2, 9, isPassed, bots('A1 B1 C1', most)],
    [`limit ${most}: four runs`, 0, 3, isPassed, bots('A1 B1 C1 D1', most)],
    [`limit ${most}: a re-run`, 1, 9, any(isTwice, isPassed), bots('A1 A2 B1', most)],
    [`limit ${most}: by a person`, 1, 9, isPassed, [...bots('A1 B1', most), ...runs('A2')]],
    [`limit ${most}: a command`, 1, 9, isPassed, [...bots('A1 B1', most), ...runs('X1', COMMAND)]],
    [`limit ${most}: again`, 0, 3, isPassed, [...bots('A1 B1', most), ...runs('X1 X2', COMMAND)]],
    [`limit ${most}: a commit`, 1, 9, any(isOnce, isPassed), bots('A1 A2 B1', most, COMMIT)],
  ]),
  ['a commit: two runs', 9, 9, isOnce, runs('A1 B1', COMMIT)],
  ['a commit: three runs', 2, 9, isOnce, runs('A1 B1 C1', COMMIT)],
  ['a commit: four runs', 1, 3, isOnce, runs('A1 B1 C1 D1', COMMIT)],
  ['a commit: a re-run', 2, 9, isOnce, runs('A1 A2 B1', COMMIT)],
  ['creations: two runs', 9, 9, isCreatedTwice, runs('A1 B1', CREATES)],
  ['creations: three runs', 2, 9, isCreatedTwice, runs('A1 B1 C1', CREATES)],
  ['creations: a re-run', 1, 9, is.isTwiceInRun, [...runs('A1 A2', CREATES), ...runs('B1')]],
];

test.for(ORDERS)('%s: never twice, and never untrue', ([title, most, long, isWrong, setups]) => {
  const isAnyWrong = any(isWrong, is.isUntrue, is.isGreen);
  const { states, trace } = tried([isAnyWrong, setups, STORM, { most: LONG ? long : most }]);
  if (LONG || process.env.MODEL_STATES) console.info(`${title}: ${states} states`);
  expect(trace).toBeUndefined();
});

const TWO_BOTS = bots('A1 B1', 1);
const TWO_COMMITS = runs('A1 B1', COMMIT);
const TWO_CREATIONS = runs('A1 B1', CREATES);
const AGAIN = runs('A1 A2');
const TO_TWO = runs('A1 A2', { ...COMMAND, ...TWO_JOBS });
/** What a re-run goes on with starts no count. */
const COMMAND_AGAIN = [...TWO_BOTS, ...runs('X1 X2', { ...COMMAND, ...TWO_JOBS })];

const PROMISES: readonly Named[] = [
  ...LIMITS.flatMap((most): readonly Named[] => [
    ['as many are sent as the limit allows', fewerThan(most), bots('A1 B1 C1 D1', most)],
    ['a re-run does not count twice', fewerThan(most), bots('A1 A2 B1', most)],
  ]),
  ['steps count apart', fewerThan(2), [...bots('A1', 1), ...bots('B1', 1, OTHER_STEP)]],
  ['legs count once', fewerThan(3), bots('A1a A1b B1', 2)],
  ['one message for a commit is sent', fewerThan(1), runs('A1 B1 C1 D1', COMMIT)],
  ['another commit stops none', fewerThan(2), [...runs('A1', COMMIT), ...runs('B1', OTHER)]],
  ['one message for a commit, under a limit', fewerThan(1), bots('A1 B1 C1', 1, COMMIT)],
  ['one job is created', fewerThan(1), runs('A1 B1 C1', CREATES)],
  ['legs of an attempt do not stop each other', fewerThan(2), runs('A2a A2b')],
  ['legs to one job do not send twice', isTwice, runs('A1a A1b A2a A2b'), STORM, { most: 1 }],
  ['a command of a bot starts no count', isPassed, [...TWO_BOTS, ...bots('X1', 1, COMMAND)]],
  ['a re-run sends what was refused', any(fewerThan(2), isTwice), TO_TWO, ['refused'], { most: 1 }],
  ['a late edit does no harm', isPassed, COMMAND_AGAIN, ['late'], { most: 1, isLagging: false }],
  ['nor does an old text', isTwice, runs('A1 A2 A3'), STORM, { most: 1, hasOldTexts: true }],
  ['nor does one under a limit', isPassed, COMMAND_AGAIN, [], { ...OLD_TEXTS, isLagging: false }],
];

test.for(PROMISES)('%s', ([, ...trial]) => {
  expect(tried(trial).trace).toBeUndefined();
});

/** Nothing is wrong in them, unless the rule is left out. */
const NEEDED: readonly (readonly [Rule, ...Trial])[] = [
  ['decide before the note', is.isLittered, AGAIN, ['kill'], { isLagging: false }],
  ...(['decide after the note', 'the list shows the own note'] as const).flatMap(
    (rule): typeof NEEDED => [
      [rule, isTwice, AGAIN],
      [rule, isPassed, TWO_BOTS],
      [rule, isTwiceForCommit, TWO_COMMITS],
      [rule, isCreatedTwice, TWO_CREATIONS],
    ],
  ),
  ['only notes above the own', fewerThan(1), TWO_BOTS],
  ['only notes above the own', fewerThan(1), TWO_COMMITS],
  ['only notes above the own', fewerThan(1), TWO_CREATIONS],
  ['no note, no message', isTwice, AGAIN, ['no note']],
  ['no list, no message', isTwice, AGAIN, ['no list']],
  ['no list, no message', isPassed, TWO_BOTS, ['no list']],
  ['sending from its creation', isTwice, AGAIN, ['kill']],
  ['not-sent is final', isTwice, AGAIN, ['kill']],
  ['sent is final', isTwice, TO_TWO, ['cancelled']],
  ['a doubt is unknown', isTwice, AGAIN, ['no answer']],
  ['a found job counts as any', is.isTwiceInRun, [...runs('A1 A2', CREATES), ...runs('B1')]],
  ['the last edit again', is.isRefused, AGAIN, ['late'], { most: 1 }],
];

test.for(NEEDED)('"%s" is needed', ([rule, ...trial]) => {
  expect(tried(trial).trace).toBeUndefined();
  expectTrace(`Without "${rule}":`, tried(trial, rule));
});

/** What SECURITY.md admits. */
const ADMITTED: readonly Named[] = [
  ['Twice: a note is deleted', isTwice, AGAIN, ['deleted']],
  ['Twice: its line is changed', isTwice, AGAIN, ['changed']],
  ['Twice: the step changes', is.isTwiceInRun, [...runs('A1'), ...runs('A2', OTHER_STEP)]],
  ['Twice: the job changes', is.isTwiceInRun, [...runs('A1'), ...runs('A2', { jobs: ['y'] })]],
  ['Twice: `pr-number` or token change', isTwice, [...runs('A1'), ...runs('A2', { place: 'z' })]],
  ['Twice: `comment` changes', isTwice, [...runs('A1', BLIND), ...runs('A2')]],
  ['Twice: the project changes', is.isTwiceInRun, [...runs('A1'), ...runs('A2', OTHER_PROJECT)]],
  ['Twice: two workflows answer a command', is.isTwiceForCommand, runs('A1 B1', COMMAND)],
  ['Twice: a proxy refuses what arrived', isTwice, AGAIN, ['refused by a proxy']],
  ['Twice: a smaller number is visible later', isTwice, AGAIN, ['out of order']],
  ['Twice: a runner wakes up after the next attempt', isTwice, AGAIN, [], { isInOrder: false }],
  ['Beyond the limit: a note is deleted', isPassed, TWO_BOTS, ['deleted']],
  ['Beyond the limit: visible later', isPassed, TWO_BOTS, ['out of order']],
  ['Not sent: killed between note and result', is.isStuck, AGAIN, ['kill']],
  ['Not sent: the edits fail', is.isStuck, AGAIN, ['refused', 'late']],
  ['Not sent: the creation is late', is.isStuck, AGAIN, ['no note']],
  ['Not sent: a note is damaged', is.isStuck, AGAIN, ['refused', 'damaged']],
  ['Not sent: GitHub hides the own note', fewerThan(1), runs('A2'), ['hidden']],
  ['Not sent: no comments', is.isStuck, runs('A1 A2', BLIND), ['refused']],
  ['Not sent: two legs to one job', is.isGreen, runs('A1a A1b A2b'), ['refused']],
  ['Not sent: killed after it has stopped others', fewerThan(1), TWO_BOTS, ['kill']],
  ['Not sent: refused after it has stopped others', fewerThan(1), TWO_COMMITS, ['refused']],
];

test.for(ADMITTED)('%s', ([title, ...trial]) => {
  expectTrace(title, tried(trial));
});
