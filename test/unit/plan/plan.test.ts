import { expect, it } from 'vitest';
import { endAs } from '../../../src/job/outcome.ts';
import { makePlan } from '../../../src/plan/plan.ts';
import type { Inputs } from '../../../src/runner/inputs.ts';
import { isFinal, STATUS_NAMES } from '../../../src/service.ts';
import {
  COPILOT,
  checkRun,
  event,
  issueComment,
  mergeGroup,
  pullRequest,
  push,
  RENOVATE,
  review,
  schedule,
  triggerOf,
  workflowDispatch,
  workflowRun,
} from '../../sim/events.ts';
import { INPUTS, START } from '../record.ts';

const PERSON = pullRequest({ number: 7 });
const BOT = pullRequest({ number: 7, sender: RENOVATE });
const COMMAND = issueComment({ number: 7, body: '/a x' });
const FAILED = workflowRun({ pullRequests: [7] });
const FAILED_BY_BOT = workflowRun({ pullRequests: [7], sender: RENOVATE });
const FIRST = { attempt: 1, triggeringActor: 'alice' };
const AGAIN = { attempt: 2, triggeringActor: 'alice' };
const AGAIN_BY_BOT = { attempt: 2, triggeringActor: RENOVATE.login };
const AGAIN_BY_NOBODY = { attempt: 2, triggeringActor: '' };
const RERUN = { start: 'Re-run the workflow', waitsOn: true };
const NOTE = { kind: 'note', conversation: 7 };
const NOWHERE = 'there is no pull request or issue with a comment';
const ABOUT_JOBS = 'the event has no pull request or issue';
const ASKS = { command: '/a' };
const OFF = '“comment: false” is set';

/** An event, the inputs that differ, and the parts of the plan that matter. */
type Row = [
  name: string,
  given: Parameters<typeof triggerOf>[0],
  inputs: Partial<Inputs>,
  expected: object,
  info?: Parameters<typeof makePlan>[2],
];

function planOf(given: Row[1], inputs: Partial<Inputs>, info: Row[4] = FIRST) {
  return makePlan({ ...INPUTS, ...inputs }, triggerOf(given), info, START);
}

function check(_: string, given: Row[1], inputs: Row[2], expected: object, info?: Row[4]): void {
  const plan = planOf(given, inputs, info);
  expect(plan).toMatchObject({ deadline: START + 60_000, ...expected });
}

it.each<Row>([
  ['only a message: it holds no runner', PERSON, { wait: false }, { waitsForIdle: false }],
  ['with a wait: earlier work comes first', PERSON, {}, { waitsForIdle: true }],
  ...STATUS_NAMES.map(
    (status): Row => [
      `only-when: ${status}`,
      PERSON,
      { onlyWhen: new Set([status, 'failed']) },
      { waitsForIdle: isFinal(status) },
    ],
  ),
])('makePlan, earlier work: %s', check);

const none = (why: string): object => ({ comments: { kind: 'none', why } });
it.each<Row>([
  ['a pull request', PERSON, {}, { comments: NOTE }],
  ['comment: false', PERSON, { comment: false }, none(OFF)],
  ['pr-number', PERSON, { prNumber: 9 }, { comments: { ...NOTE, conversation: 9 } }],
  ...[
    ...[schedule(), push(), workflowDispatch(), event('repository_dispatch')],
    ...[event('release'), event('create'), event('delete'), mergeGroup()],
  ].map(
    (given): Row => [given.name, given, {}, { comments: { kind: 'pull requests of the jobs' } }],
  ),
  ...['status', 'deployment', 'deployment_status', 'page_build', 'check_suite'].map(
    (name): Row => [name, event(name), { createJob: true }, none(NOWHERE)],
  ),
  ['a schedule without a token', schedule(), { githubToken: '' }, none(NOWHERE)],
])('makePlan, the comment: %s', check);

const LISTS = { isRerun: false, listsNotes: true, decidesAgain: false };
it.each<Row>([
  ['a message', PERSON, {}, { isRerun: false, listsNotes: false, decidesAgain: false }],
  ['no job-id', PERSON, { jobIds: [] }, LISTS],
  ['a re-run', PERSON, {}, { isRerun: true, listsNotes: true, decidesAgain: true }, AGAIN],
  ['a note', PERSON, {}, { again: RERUN }],
  ['no note', PERSON, { comment: false }, { again: { start: 'Start a new run', waitsOn: false } }],
  [
    'no note of two',
    PERSON,
    { comment: false, jobIds: ['a', 'b'] },
    { again: { start: 'Start a new run with only the jobs that got no message' } },
  ],
  ['a command', COMMAND, ASKS, { again: { start: 'Comment again', waitsOn: true } }],
  ['a command to two jobs', COMMAND, { ...ASKS, jobIds: ['a', 'b'] }, { again: RERUN }],
  ['a command, run again', COMMAND, ASKS, { again: RERUN }, AGAIN],
  [
    'a command without a note',
    COMMAND,
    { ...ASKS, comment: false },
    { again: { start: 'Comment again', waitsOn: false } },
  ],
  ['a limit', PERSON, { maxMessages: 5 }, { listsNotes: true, decidesAgain: true }],
  ['a commit', FAILED, {}, { listsNotes: true, decidesAgain: true, headOf: 7 }],
  ['a commit without comments', FAILED, { comment: false }, { listsNotes: false, headOf: 7 }],
])('makePlan, the list of notes: %s', check);

it.each<Row>([
  ['on another pull request', FAILED, { prNumber: 8 }, {}],
  ['without a pull request', workflowRun(), {}, {}],
  ['on that of pr-number', checkRun(), { prNumber: 8 }, {}],
  ['on an event about no commit', PERSON, {}, {}],
])('makePlan, no newest commit is asked for: %s', (_, given, inputs) => {
  expect(planOf(given, inputs)).not.toHaveProperty('headOf');
});

const branch = { ref: 'refs/heads/agent', sender: RENOVATE };
const created = { ref: 'agent', ref_type: 'branch', sender: RENOVATE };
const forBot = (why: string) => ({ limit: { uncounted: endAs('cannot count for a bot', why) } });
const uncounted = (why: string) => ({ limit: { uncounted: endAs('cannot count', why) } });

it.each<Row>([
  ['a person with max-messages', PERSON, { maxMessages: 5 }, { byBot: false, limit: { most: 5 } }],
  ['a person who comments', COMMAND, { maxMessages: 5 }, { limit: { most: 5 } }],
  ['a bot', BOT, {}, { byBot: true, limit: { most: 3 } }],
  ['a bot after checks', FAILED_BY_BOT, {}, { byBot: true, limit: { most: 3 } }],
  ['re-run by a bot', COMMAND, ASKS, { byBot: true, limit: { most: 3 } }, AGAIN_BY_BOT],
  [
    'a bot without a suffix, re-run by it',
    pullRequest({ number: 7, sender: COPILOT }),
    {},
    { limit: { most: 3 } },
    { attempt: 2, triggeringActor: 'copilot' },
  ],
  ['by nobody who is known', PERSON, { maxMessages: 5 }, { limit: { most: 5 } }, AGAIN_BY_NOBODY],
  ['a bot, “comment: false”', BOT, { comment: false }, forBot(OFF)],
  [
    'a bot without a conversation',
    event('check_suite', 'completed', { sender: RENOVATE }),
    {},
    forBot(NOWHERE),
  ],
  ['a bot, a branch', push(branch), {}, forBot(ABOUT_JOBS)],
  ['a bot, a branch with pr-number', push(branch), { prNumber: 7 }, { limit: { most: 3 } }],
  ['a bot, a new branch', event('create', undefined, created), {}, forBot(ABOUT_JOBS)],
  ['a person, re-run by a bot', PERSON, { comment: false }, forBot(OFF), AGAIN_BY_BOT],
  ['a limit on a schedule', schedule(), { maxMessages: 3 }, uncounted(ABOUT_JOBS)],
  ['a limit after checks', workflowRun(), { maxMessages: 3 }, uncounted(NOWHERE)],
  ['a limit with pr-number', schedule(), { maxMessages: 3, prNumber: 7 }, { limit: { most: 3 } }],
])('makePlan, a limit: %s', check);

it.each<Row>([
  ['a person', PERSON, {}, { byBot: false }],
  ['a person, “comment: false”', PERSON, { comment: false }, {}],
  ['a command', COMMAND, { command: '/a', maxMessages: 5 }, {}],
  ['a review without a command', review({ number: 7, body: 'x' }), { maxMessages: 5 }, {}],
  ['a schedule', schedule(), { prNumber: 7 }, {}],
  ['a bot on a trusted event', mergeGroup({ sender: RENOVATE }), {}, { byBot: true }],
  ['re-run by a person', PERSON, { maxMessages: 5 }, {}, AGAIN],
  ['that of a bot, re-run by a person', BOT, {}, { byBot: true }, AGAIN],
])('makePlan, no limit: %s', (_, given, inputs, expected, info) => {
  const plan = planOf(given, inputs, info);
  expect(plan).toMatchObject(expected);
  expect(plan).not.toHaveProperty('limit');
});
