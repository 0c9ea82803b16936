import { expect, test } from 'vitest';
import { explore } from './explore.ts';
import type { Rule } from './rules.ts';
import {
  ADMITTED,
  AWAKE,
  CLAIMED,
  DELETED,
  isSentTwice,
  NEEDED,
  NOT_DELETED,
  ORDERS,
  PROMISES,
  type Trial,
} from './scenarios.ts';
import { STORM } from './world.ts';

// Every order of the protocol of docs/note.md, with everything that can happen to each call. With
// `MODEL_TRACES=1` it prints the shortest way to what each rule prevents, and to what is admitted.

const LONG = process.env.MODEL_RUNS !== undefined;

interface Options {
  readonly most?: number;
  readonly off?: Rule | null;
  readonly isInOrder?: boolean;
}

function tried([processes, faults, isWrong]: Trial, options: Options = {}) {
  const { most = Infinity, off = null, isInOrder = true } = options;
  const setups = processes.map((setup) => ({ ...setup, off }));
  return explore({ setups, faults, most, isInOrder }, isWrong);
}

function expectTrace(title: string, { trace }: ReturnType<typeof tried>): void {
  expect(trace).not.toBeNull();
  if (process.env.MODEL_TRACES) console.info([title, ...(trace ?? [])].join('\n  '));
}

test.for(Object.entries(ORDERS))('%s: never twice', ([title, [setups, most, mostInLong]]) => {
  const faults = [...STORM, 'cancelled', 'refused by the API'] as const;
  const { states, trace } = tried([setups, faults, isSentTwice], {
    most: LONG ? mostInLong : most,
  });
  expect(trace).toBeNull();
  if (LONG) console.info(`${title}: ${states} states`);
});

test.for(Object.entries(PROMISES))('%s', ([, trials]) => {
  for (const trial of trials) expect(tried(trial).trace).toBeNull();
});

test.for(Object.entries(NEEDED))('"%s" is needed', ([rule, trial]) => {
  expect(tried(trial).trace).toBeNull();
  expectTrace(`Without "${rule}":`, tried(trial, { off: rule as Rule }));
});

test.for(Object.entries(ADMITTED))('%s', ([title, trial]) => {
  expectTrace(title, tried(trial));
});

test('After a refusal, the message is sent once its comment is deleted, and not before', () => {
  expectTrace('Sent after a refusal:', tried(DELETED));
  expect(tried(NOT_DELETED).trace).toBeNull();
});

test('Only steps need attempts in order, and the list', () => {
  expectTrace('Twice: a runner wakes up', tried(AWAKE, { isInOrder: false }));
  expect(tried(CLAIMED, { isInOrder: false, most: LONG ? 2 : 1 }).trace).toBeNull();
});
