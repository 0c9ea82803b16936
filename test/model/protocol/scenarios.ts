import type { IsWrong } from './explore.ts';
import type { Setup } from './process.ts';
import type { Rule } from './rules.ts';
import { type Fault, NORMAL, type Result, type Scenario, STORM, type World } from './world.ts';

type Part = Partial<Setup>;
type Setups = readonly Setup[];

const STEP: Setup = {
  ...{ name: '', run: 'A', attempt: 1, leg: '', command: '', jobs: ['j1'], message: '' },
  ...{ hasNotes: true, identity: 'bot', off: null },
};

/** Each part in each attempt. */
function processes(attempts: readonly number[], parts: readonly Part[], common: Part = {}): Setups {
  return attempts.flatMap((attempt) =>
    parts.map((part) => {
      const setup = { ...STEP, ...common, ...part, attempt };
      const { run, leg, name, command } = setup;
      const message = setup.message || command || `${run}${leg}${name}`;
      return { ...setup, name: `${run}${attempt}${leg}${name}`, message };
    }),
  );
}

const ONE = [{}];
const FOR_TWO = { jobs: ['j1', 'j2'] };
const LEGS = [{ leg: ' x' }, { leg: ' y' }];
/** Of a composite action or a reusable workflow: nothing tells them apart. */
const USES = [{ name: ' use 1' }, { name: ' use 2' }];
const TWO = [{ run: 'A' }, { run: 'B' }];
const THREE = [...TWO, { run: 'C' }];
const COMMAND = { command: 'c' };
const BARE = { ...COMMAND, hasNotes: false };

const STEPS = processes([1, 2, 3], ONE);
const STEPS_FOR_TWO = processes([1, 2, 3], ONE, FOR_TWO);
const STEPS_IN_LEGS = processes([1, 2, 3], LEGS);
const STEPS_IN_USES = processes([1, 2], USES);
const STEPS_WITHOUT_NOTES = processes([1, 2, 3], ONE, { hasNotes: false });
const COMMANDS = processes([1, 2, 3], ONE, COMMAND);
const COMMANDS_FOR_TWO = processes([1, 2, 3], ONE, { ...COMMAND, ...FOR_TWO });
const COMMANDS_IN_LEGS = processes([1, 2], LEGS, COMMAND);
const COMMANDS_IN_USES = processes([1, 2], USES, COMMAND);
const TWO_RUNS = processes([1], TWO, COMMAND);
const TWO_RUNS_FOR_TWO = processes([1], TWO, { ...COMMAND, ...FOR_TWO });
const THREE_RUNS = processes([1], THREE, COMMAND);
const TWO_RERUNS = processes([1, 2], TWO, COMMAND);

/** The most faults in one history: in the test, and in the long run. */
export const ORDERS: Record<string, readonly [Setups, number, number]> = {
  'a step': [STEPS, Infinity, Infinity],
  'a step for two jobs': [STEPS_FOR_TWO, 2, Infinity],
  'a step without notes': [STEPS_WITHOUT_NOTES, Infinity, Infinity],
  'a step in two legs': [STEPS_IN_LEGS, 1, 3],
  'a step used twice': [processes([1, 2, 3], USES), 1, Infinity],
  'a command': [COMMANDS, Infinity, Infinity],
  'a command for two jobs': [COMMANDS_FOR_TWO, 2, Infinity],
  'a command in two legs': [COMMANDS_IN_LEGS, 2, Infinity],
  'a command used twice': [COMMANDS_IN_USES, 1, Infinity],
  'two runs': [TWO_RERUNS, 2, Infinity],
  'two runs for two jobs': [processes([1, 2], TWO, { ...COMMAND, ...FOR_TWO }), 0, 3],
  'two runs in three attempts': [processes([1, 2, 3], TWO, COMMAND), 0, 2],
  'two runs without notes': [processes([1, 2, 3], TWO, BARE), 2, Infinity],
  'three runs': [THREE_RUNS, Infinity, Infinity],
  'three runs for two jobs': [processes([1], THREE, { ...COMMAND, ...FOR_TWO }), 1, Infinity],
  'three runs in two attempts': [processes([1, 2], THREE, COMMAND), 0, 1],
  'three runs without notes': [processes([1, 2], THREE, BARE), 1, Infinity],
};

/** Processes, faults, and a possible result. */
export type Trial = readonly [Setups, readonly Fault[], IsWrong];

export const isSentTwice: IsWrong = ({ accepted }) => Object.values(accepted).some((n) => n > 1);
const isUntrue: IsWrong = (world) => hasResult(world, 'untrue');
const isRefused: IsWrong = (world) => hasResult(world, 'refused');

/** Not every message is sent, or not every process is green. */
const isUnfinished: IsWrong = (world, scenario) =>
  isMissing(world, scenario) || hasResult(world, 'red') || isRefused(world, scenario);

/** A process cannot tell, or says what is untrue, and the message is not sent. */
const isStuck: IsWrong = (world, scenario) =>
  isMissing(world, scenario) && (isRefused(world, scenario) || isUntrue(world, scenario));

/** The message is not sent, and the last attempt of each run is green. */
const isSilent: IsWrong = (world, scenario) => {
  const result = (setup: Setup) => world.processes[scenario.setups.indexOf(setup)]?.result;
  const ran = scenario.setups.filter((setup) => result(setup) !== 'absent');
  const last = ran.filter(
    ({ run, attempt }) => !ran.some((other) => other.run === run && other.attempt > attempt),
  );
  const isGreen = last.every((setup) => result(setup) === 'green');
  return last.length > 0 && isGreen && isMissing(world, scenario);
};

/** Attempt 2 is refused, and attempt 3 sends the message all the same, to each job once. */
export const isSentAfterRefusal: IsWrong = (world, scenario) => {
  const [, second, third] = world.processes;
  const isSent = second?.result === 'refused' && third?.result === 'green';
  return isSent && !isMissing(world, scenario) && !isSentTwice(world, scenario);
};

function isMissing({ processes, accepted }: World, { setups }: Scenario): boolean {
  const isSent = ({ message, jobs }: Setup) =>
    jobs.every((job) => accepted[`${message} ${job}`] !== undefined);
  return processes.every(({ result }) => result !== null) && !setups.every(isSent);
}

function hasResult({ processes }: World, wanted: Result): boolean {
  return processes.some(({ result }) => result === wanted);
}

function each(all: readonly Setups[], faults: readonly Fault[], isWrong: IsWrong) {
  return all.map((setups): Trial => [setups, faults, isWrong]);
}

const ALL_STEPS = [STEPS, STEPS_FOR_TWO, STEPS_IN_LEGS];
const ALL_COMMANDS = [COMMANDS, COMMANDS_FOR_TWO, COMMANDS_IN_LEGS];
const NEVER_LATE = STORM.filter((fault) => fault !== 'late');

/** Trials that never have their result. */
export const PROMISES: Record<string, readonly Trial[]> = {
  'Without a fault, all is sent and green': each([...ALL_STEPS, ...ALL_COMMANDS], [], isUnfinished),
  'Every day, a re-run can tell': each([...ALL_STEPS, COMMANDS], NORMAL, isRefused),
  'No process says what is untrue': each([STEPS, COMMANDS], [...STORM, ...NORMAL], isUntrue),
  'Who checks the jobs and deletes the comment, never sends twice': [
    [STEPS, [...STORM, ...NORMAL, 'deleted after a check'], isSentTwice],
    [STEPS_FOR_TWO, ['kill', 'no answer', 'cancelled', 'deleted after a check'], isSentTwice],
    [STEPS_IN_USES, ['kill', 'no answer', 'deleted after a check'], isSentTwice],
  ],
  'A command that is not sent is red somewhere': [
    ...each([COMMANDS, TWO_RUNS], [...STORM, ...NORMAL], isSilent),
    ...each([TWO_RERUNS], [...NEVER_LATE, 'cancelled'], isSilent),
  ],
};

/** Trials that have their result without the rule only. */
export const NEEDED: Record<Rule, Trial> = {
  'note: before the message': [STEPS, ['kill'], isSentTwice],
  'note: or no message': [STEPS, ['refused'], isSentTwice],
  'note: one writer': [STEPS, ['late', 'cancelled'], isSentTwice],
  'note: sending from its creation': [STEPS, ['kill'], isSentTwice],
  'note: not-sent is final': [STEPS, ['kill'], isSentTwice],
  'note: sent is final': [STEPS_FOR_TWO, ['cancelled'], isSentTwice],
  'note: a doubt is unknown': [STEPS, ['no answer'], isSentTwice],
  'creation: requested once': [STEPS, ['answer lost', 'cancelled'], isRefused],
  'creation: looked for': [STEPS, ['answer lost'], isRefused],
  'creation: looked for by its id': [STEPS_IN_USES, ['not done', 'kill', 'cancelled'], isSentTwice],
  're-run: needs the list': [STEPS, ['no list'], isSentTwice],
  're-run: not after sending': [STEPS, ['kill'], isSentTwice],
  're-run: not after unknown': [STEPS, ['no answer'], isSentTwice],
  're-run: other attempts': [processes([2], USES), [], isUnfinished],
  're-run: own leg': [STEPS_IN_LEGS, ['never starts'], isRefused],
  're-run: skipped if elsewhere': [COMMANDS_IN_LEGS, [], isUnfinished],
  're-run: refused if nowhere': [COMMANDS, ['kill'], isSilent],
  'claim: 201': [TWO_RUNS, [], isSentTwice],
  'claim: answered': [TWO_RUNS, ['answer lost'], isSentTwice],
  'claim: not refused': [TWO_RUNS, ['refused'], isSentTwice],
  'claim: requested once': [TWO_RUNS, ['answer lost'], isSilent],
  'claim: in every attempt': [TWO_RERUNS, ['cancelled'], isSentTwice],
  'removal: done': [COMMANDS, ['cancelled'], isRefused],
  'removal: own claim': [THREE_RUNS, [], isSentTwice],
  'removal: by id or once': [THREE_RUNS, ['answer lost', 'cancelled'], isSentTwice],
  'removal: no message after': [TWO_RUNS, [], isSentTwice],
  'removal: not after unknown': [TWO_RUNS, ['no answer'], isSentTwice],
  'removal: not after sent': [TWO_RUNS_FOR_TWO, ['cancelled'], isSentTwice],
};

const AGAIN = processes([1, 2], ONE);
const COMMAND_AGAIN = processes([1, 2], ONE, COMMAND);
const SAME = { message: 'the same' };
const TWO_APPS = [{ identity: 'bot' }, { run: 'B', identity: 'app' }];
const FIRST = processes([1], ONE, SAME);
const FIRST_WITHOUT_NOTES = processes([1], ONE, { ...SAME, hasNotes: false });

/** What docs/delivery.md admits. */
export const ADMITTED: Record<string, Trial> = {
  'Twice: a note is deleted, changed or not listed': [AGAIN, ['removed note'], isSentTwice],
  'Twice: a note is deleted, and only one of its jobs was checked': [
    STEPS_FOR_TWO,
    ['no answer', 'deleted after a check of one job'],
    isSentTwice,
  ],
  'Twice: the rocket is removed': [TWO_RERUNS, ['removed rocket'], isSentTwice],
  'Twice: the leg changes': [[...FIRST, ...processes([2], LEGS, SAME)], [], isSentTwice],
  'Twice: `comment` changes': [
    [...FIRST_WITHOUT_NOTES, ...processes([2], ONE, SAME)],
    [],
    isSentTwice,
  ],
  'Twice: a step runs again in an attempt': [processes([1], USES, SAME), [], isSentTwice],
  'Twice: two identities for one command': [processes([1], TWO_APPS, COMMAND), [], isSentTwice],
  'Twice: two workflows for one review': [processes([1], TWO, SAME), [], isSentTwice],
  'Twice: a proxy refuses what arrived': [AGAIN, ['refused by a proxy'], isSentTwice],
  'Not sent: killed between note and result': [AGAIN, ['kill'], isStuck],
  'Not sent: the edit fails': [AGAIN, ['refused', 'refused by the API'], isStuck],
  'Not sent: the creation is late': [AGAIN, ['late'], isStuck],
  'Not sent: a note cannot be read': [AGAIN, ['no list', 'cancelled'], isStuck],
  'Not sent: a rocket without a note': [COMMAND_AGAIN, ['answer lost'], isStuck],
  'Not sent: the rocket stays': [COMMAND_AGAIN, ['refused', 'cancelled'], isStuck],
  'Not sent: a command for some jobs': [COMMANDS_FOR_TWO, ['refused by the API'], isStuck],
  'Not sent: no notes': [STEPS_WITHOUT_NOTES, ['refused by the API'], isStuck],
  'Not sent: two uses': [STEPS_IN_USES, ['refused by the API'], isStuck],
  'Not sent, and green: two uses': [STEPS_IN_USES, ['never starts'], isUntrue],
  'Not sent, and green: a late note': [TWO_RERUNS, ['late', 'kill', 'cancelled'], isSilent],
};

/** What a refusal asks for. */
export const DELETED: Trial = [STEPS, ['kill', 'deleted after a check'], isSentAfterRefusal];
export const NOT_DELETED: Trial = [STEPS, ['kill'], isSentAfterRefusal];

/** A step needs attempts in order and the list. A command does not. */
export const AWAKE: Trial = [AGAIN, [], isSentTwice];
export const CLAIMED: Trial = [COMMANDS, [...STORM, 'removed note'], isSentTwice];
