import type { Ledger } from '../../../src/memory/ledger.ts';
import { newTurn } from '../../../src/turn.ts';
import { EPOCH } from '../clock.ts';
import { CONVERSATION, type Scenario, type Trouble } from './execution.ts';
import type { RunSetup } from './simulated-run.ts';

// Runs that write to the same pull request at the same time or in a row.

export interface Group {
  readonly name: string;
  /** How many messages all runs together have to send. */
  readonly messages: number;
  readonly scenarios: readonly Scenario[];
}

export const JOB = 'job-1';
const PULL_REQUESTS = new Map([[JOB, CONVERSATION]]);

/** A single scenario. */
export interface Single extends Pick<Group, 'name' | 'messages'> {
  readonly scenario: Scenario;
}

export const A: RunSetup = {
  ...{ name: 'A', runId: '1001', attempt: 1, step: 'follow-up:one', leg: 'null' },
  ...{ event: 'pull_request', conversation: CONVERSATION, jobIds: [JOB], wait: false },
  reply: 'accepts',
};

/** Another run of another workflow. */
const B: RunSetup = { ...A, name: 'B', runId: '1002' };

function rerunOf(setup: RunSetup): RunSetup {
  return { ...setup, name: `${setup.name}2`, attempt: 2, reply: 'accepts' };
}

/** The data in the comment of an older run. */
export const EXISTING: Ledger = {
  jobs: [
    {
      id: JOB,
      record: null,
      turns: [
        {
          ...newTurn({
            ...{ origin: 'run:1:x:y', leg: '', mark: 'old', by: null, prompt: 'x' },
            ...{ promptHash: 'x', startedAt: EPOCH - 4_000_000, runId: '1', attempt: 1 },
          }),
          ...{ delivery: 'sent', result: 'sent', sentAt: EPOCH - 3_900_000 },
          endedAt: EPOCH - 3_800_000,
        },
      ],
    },
  ],
  trimmed: null,
};

interface Start {
  readonly start: string;
  readonly existing: Ledger | null;
  readonly lags: boolean;
}

/** If a comment exists, no run creates one, so that the lag of lists does not matter. */
const STARTS: readonly Start[] = [
  { start: 'a comment exists', existing: EXISTING, lags: false },
  { start: 'no comment yet', existing: null, lags: false },
  { start: 'no comment yet, lists lag', existing: null, lags: true },
];

function withEachStart(
  name: string,
  scenario: Omit<Scenario, 'name' | 'lags' | 'existing'>,
): readonly Scenario[] {
  return STARTS.map(({ start, ...schedule }) => ({
    ...scenario,
    ...schedule,
    name: `${name}; ${start}`,
  }));
}

/** Only the starts without a comment: otherwise no run creates one. */
function withoutComment(
  name: string,
  scenario: Omit<Scenario, 'name' | 'lags' | 'existing'>,
): readonly Scenario[] {
  return withEachStart(name, scenario).filter(({ existing }) => existing === null);
}

const leg = (setup: RunSetup, number: number): RunSetup => ({
  ...setup,
  leg: `{"part":${number}}`,
});
const LEGS = [leg(A, 1), leg({ ...B, runId: A.runId }, 2)];
const EMPTY_LEGS = [A, { ...B, runId: A.runId }];
const on = (event: RunSetup['event'], runs: readonly RunSetup[]): readonly RunSetup[] =>
  runs.map((setup) => ({
    ...setup,
    event,
    conversation: event === 'schedule' || event === 'workflow_dispatch' ? null : CONVERSATION,
  }));
const waiting = (runs: readonly RunSetup[]): readonly RunSetup[] =>
  runs.map((setup) => ({ ...setup, wait: true }));

const refusingFirst = (runs: readonly RunSetup[]): readonly RunSetup[] =>
  runs.map((setup, index) => (index === 0 ? { ...setup, reply: 'refuses' } : setup));

const trouble = (kind: Trouble['kind'], takesEffect: boolean, most = 1): readonly Trouble[] => [
  { run: 'A', kind, takesEffect, most },
];

const COMMANDS = on('issue_comment', [A, B]);
const REVIEWS = on('pull_request_review', [A, B]);

export const legs: Group = {
  name: 'two jobs of a matrix',
  messages: 2,
  scenarios: [
    ...withEachStart('two legs', { runs: LEGS }),
    ...withEachStart('two jobs with an empty leg', { runs: EMPTY_LEGS }),
    ...withoutComment('the response to a creation is lost', {
      ...{ runs: LEGS, troubles: trouble('create', true) },
    }),
    ...withoutComment('a creation fails', { runs: LEGS, troubles: trouble('create', false) }),
  ],
};

export const commands: Group = {
  name: 'two workflows on one command',
  messages: 1,
  scenarios: [
    ...withEachStart('a comment', { runs: COMMANDS }),
    ...withEachStart('a review', { runs: REVIEWS }),
    ...withEachStart('the API refuses the message of one run', { runs: refusingFirst(COMMANDS) }),
    ...withEachStart('the same on a review', { runs: refusingFirst(REVIEWS) }),
    ...withEachStart('a reaction fails once', {
      runs: COMMANDS,
      troubles: trouble('react', false),
    }),
    ...withEachStart('a reaction fails twice', {
      ...{ runs: COMMANDS, troubles: trouble('react', false, 2) },
    }),
    ...withoutComment('the response to a creation is lost', {
      ...{ runs: COMMANDS, troubles: trouble('create', true) },
    }),
    ...withoutComment('the same on a review', { runs: REVIEWS, troubles: trouble('create', true) }),
    ...withoutComment('a creation fails', { runs: COMMANDS, troubles: trouble('create', false) }),
    ...withoutComment('the same on a review', {
      runs: REVIEWS,
      troubles: trouble('create', false),
    }),
  ],
};

export const lostReactions: Group = {
  name: 'two workflows on one command, and the response to a reaction is lost',
  messages: 1,
  scenarios: withEachStart('a comment', { runs: COMMANDS, troubles: trouble('react', true) }),
};

const EVENTS = [
  ...(['pull_request', 'issue_comment', 'pull_request_review'] as const),
  ...(['schedule', 'workflow_dispatch'] as const),
] as const;

export const reruns: Group = {
  name: 'a run and its re-run',
  messages: 1,
  scenarios: EVENTS.flatMap((event) =>
    [[A], waiting([A]), [{ ...A, reply: 'refuses' } as const]].flatMap((first, index) => {
      const runs = on(event, [...first, ...first.map(rerunOf)]);
      const name = `${event}${['', ', waits', ', is refused first'][index]}`;
      const base = { runs, after: { A2: ['A'] }, pullRequests: PULL_REQUESTS };
      return [
        ...withEachStart(`${name}, is killed`, { ...base, kills: ['A'] }),
        ...withEachStart(`${name}, is cancelled`, { ...base, cancels: ['A'] }),
        ...withoutComment(`${name}, is killed, and the response to its creation is lost`, {
          ...{ ...base, kills: ['A'], troubles: trouble('create', true) },
        }),
      ];
    }),
  ),
};

export const withoutConversation: Group = {
  name: 'a run and its re-run, and the job has no pull request',
  messages: 1,
  scenarios: withEachStart('schedule', {
    runs: on('schedule', [A, rerunOf(A)]),
    ...{ after: { A2: ['A'] }, kills: ['A'] },
  }),
};

export const rerunsBesideOthers: Group = {
  name: 'a run that is killed while another one runs, and its re-run',
  messages: 1,
  scenarios: [
    ...withEachStart('a comment', {
      runs: [...COMMANDS, ...COMMANDS.slice(0, 1).map(rerunOf)],
      ...{ after: { A2: ['A'] }, kills: ['A'] },
    }),
    ...withEachStart('a review', {
      runs: [...REVIEWS, ...REVIEWS.slice(0, 1).map(rerunOf)],
      ...{ after: { A2: ['A'] }, kills: ['A'] },
    }),
  ],
};

export const rerunsOfLegs: Group = {
  name: 'a job of a matrix that is killed while another one runs, and its re-run',
  messages: 2,
  scenarios: [
    ...withEachStart('two legs', {
      runs: [...LEGS, ...LEGS.slice(0, 1).map(rerunOf)],
      ...{ after: { A2: ['A', 'B'] }, kills: ['A'] },
    }),
    ...withEachStart('two runs', {
      runs: [A, B, rerunOf(A)],
      ...{ after: { A2: ['A'] }, kills: ['A'] },
    }),
  ],
};

/** The first attempts in a row, then both re-runs at the same time. */
export const rerunsTogether: Group = {
  name: 'two jobs of a matrix that are re-run together',
  messages: 2,
  scenarios: [LEGS, EMPTY_LEGS].flatMap((runs, index) =>
    (['accepts', 'refuses'] as const).flatMap((reply) => {
      const first = runs.map((setup, at) => (at === 1 ? { ...setup, reply } : setup));
      const name = `${index === 0 ? 'two legs' : 'empty legs'}${reply === 'refuses' ? ', one is refused first' : ''}`;
      return withEachStart(name, {
        runs: [...first, ...first.map(rerunOf)],
        ...{ after: { B: ['A'], A2: ['A', 'B'], B2: ['A', 'B'] }, kills: ['A'] },
      });
    }),
  ),
};

/** With each of the calls before the message. */
export const slowCommands: Group = {
  name: 'two workflows on one command, and GitHub is slow for one of them',
  messages: 1,
  scenarios: ['A read 1', 'A create 1', 'A update 1', 'A react 1', 'A read 2'].flatMap((call) =>
    withEachStart(call, { runs: COMMANDS, slow: [call] }).filter(
      ({ existing }) => !call.includes(existing === null ? 'update' : 'create'),
    ),
  ),
};

export const slowLegs: Group = {
  name: 'two jobs of a matrix, and GitHub is slow for one of them',
  messages: 2,
  scenarios: ['A read 1', 'A create 1', 'A update 1', 'A read 2'].flatMap((call) =>
    withEachStart(call, { runs: LEGS, slow: [call] }).filter(
      ({ existing }) => !call.includes(existing === null ? 'update' : 'create'),
    ),
  ),
};

export const slowPolls: Group = {
  name: 'two runs, and the API is slow before the message',
  messages: 2,
  scenarios: withEachStart('two legs with wait', { runs: waiting(LEGS), slowPolls: true }),
};

/** Cases that no protocol on GitHub can prevent. */
export const LIMITS: readonly Single[] = [
  {
    name: 'the comment is deleted between two attempts',
    messages: 1,
    scenario: {
      ...{ name: 'deleted', runs: [A, rerunOf(A)], after: { A2: ['A'] } },
      ...{ isDeleted: true, existing: null, lags: false },
    },
  },
  {
    name: 'a run is killed and another one overwrites its note, on a server without edit histories',
    messages: 2,
    scenario: {
      ...{ name: 'no history', runs: [A, B, rerunOf(A)], after: { A2: ['A'] }, kills: ['A'] },
      ...{ lacksHistory: true, existing: EXISTING, lags: false },
    },
  },
];

export const GROUPS: readonly Group[] = [
  ...[legs, commands, lostReactions, reruns, withoutConversation, rerunsBesideOthers, rerunsOfLegs],
  ...[rerunsTogether, slowCommands, slowLegs, slowPolls],
];

/** Small scenarios in which much happens. */
export const WALKED: readonly Scenario[] = [
  ...commands.scenarios.filter(({ name }) => name.startsWith('a review')),
  ...reruns.scenarios.filter(({ name }) => name.startsWith('issue_comment, is killed')),
];
