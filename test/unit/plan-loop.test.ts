import { expect, it } from 'vitest';
import type { Inputs } from '../../src/inputs.ts';
import { makePlan } from '../../src/jobs/plan.ts';
import {
  checks,
  event,
  issueComment,
  mergeGroup,
  pullRequest,
  push,
  RENOVATE,
  schedule,
  triggerOf,
  workflowRun,
} from '../sim/events.ts';
import { INPUTS, START } from './record.ts';

// What a plan says of the loop on the agent's pull request: the limit, the commit, and where nothing can be counted.

const PERSON = pullRequest({ number: 7 });
const BOT = pullRequest({ number: 7, sender: RENOVATE });
const FAILED = workflowRun({ pullRequests: [7] });
const FAILED_BY_BOT = workflowRun({ pullRequests: [7], sender: RENOVATE });
const FIRST = { attempt: 1, triggeringActor: 'alice' };
const AGAIN = { attempt: 2, triggeringActor: 'alice' };
const AGAIN_BY_BOT = { attempt: 2, triggeringActor: RENOVATE.login };
const AGAIN_BY_NOBODY = { attempt: 2, triggeringActor: '' };
const UNLIMITED = { byBot: false, limit: null, counts: false, readsNotes: false, whyUncounted: '' };
const OF_BOTS = { byBot: true, limit: 3, counts: true, readsNotes: true, whyUncounted: '' };
const NOWHERE = 'there is no pull request or issue with a comment';
const ABOUT_JOBS = 'the event has no pull request or issue';

/** An event, the inputs that differ, and the parts of the plan that matter. */
type Row = [
  name: string,
  given: Parameters<typeof triggerOf>[0],
  inputs: Partial<Inputs>,
  expected: object,
  info?: Parameters<typeof makePlan>[2],
];

it.each<Row>([
  ['a person', PERSON, {}, UNLIMITED],
  ['a person with a limit', PERSON, { maxMessages: 5 }, { ...OF_BOTS, byBot: false, limit: 5 }],
  [
    'a person who comments',
    issueComment({ number: 7, body: 'x' }),
    { maxMessages: 5 },
    { limit: 5 },
  ],
  [
    'a command of a person',
    issueComment({ number: 7, body: '/a x' }),
    { command: '/a' },
    UNLIMITED,
  ],
  ['a schedule', schedule(), { prNumber: 7 }, UNLIMITED],
  ['a bot', BOT, {}, OF_BOTS],
  ['a bot with a limit', BOT, { maxMessages: 100 }, { ...OF_BOTS, limit: 100 }],
  [
    'a command of a bot',
    issueComment({ number: 7, body: '/a x', author: RENOVATE }),
    { command: '/a' },
    OF_BOTS,
  ],
  ['a bot without a message', BOT, { send: false, wait: true }, UNLIMITED],
  ['a re-run by a person', PERSON, { maxMessages: 5 }, { limit: null, counts: false }, AGAIN],
  ['that of a bot, by a person', BOT, {}, { byBot: true, limit: null, counts: false }, AGAIN],
  ['by a bot', PERSON, {}, OF_BOTS, AGAIN_BY_BOT],
  ['by nobody who is known', PERSON, { maxMessages: 5 }, { limit: 5 }, AGAIN_BY_NOBODY],
])('makePlan, the limit: %s', check);

it.each<Row>([
  ['a commit', FAILED, {}, { isAboutHead: true, counts: true, limit: null, readsNotes: true }],
  ['that of a bot', FAILED_BY_BOT, {}, { ...OF_BOTS, isAboutHead: true, loopBot: null }],
  ['a re-run by a person', FAILED_BY_BOT, {}, { limit: null, counts: true }, AGAIN],
  ['without comments', FAILED, { comment: false }, { isAboutHead: true, counts: false }],
  ['without a message', FAILED, { send: false, wait: true }, { isAboutHead: false, counts: false }],
  ['on the pull request of the event', FAILED, { prNumber: 7 }, { isAboutHead: true }],
  ['on another one', FAILED, { prNumber: 8 }, { isAboutHead: false, counts: true }],
  [
    'without a pull request',
    workflowRun(),
    {},
    { isAboutHead: false, counts: false, whyUncounted: '' },
  ],
  ['on that of pr-number', checks('check_run', {}), { prNumber: 8 }, { isAboutHead: false }],
  ['no commit', PERSON, {}, { isAboutHead: false }],
])('makePlan, a commit: %s', check);

const branch = { ref: 'refs/heads/agent', sender: RENOVATE };
const created = { ref: 'agent', ref_type: 'branch', sender: RENOVATE };

it.each<Row>([
  ['a bot, “comment: false”', BOT, { comment: false }, { whyUncounted: '“comment: false” is set' }],
  [
    'a bot after checks',
    checks('check_suite', { sender: RENOVATE }),
    {},
    { whyUncounted: NOWHERE },
  ],
  ['a bot, a branch', push(branch), {}, { whyUncounted: ABOUT_JOBS }],
  ['a bot, a branch with pr-number', push(branch), { prNumber: 7 }, OF_BOTS],
  ['a bot, a new branch', event('create', undefined, created), {}, { whyUncounted: NOWHERE }],
  ['a bot, no message', push(branch), { send: false }, { whyUncounted: '' }],
  ['a bot, trusted', mergeGroup({ sender: RENOVATE }), {}, { whyUncounted: '', counts: false }],
  ['a person', PERSON, { comment: false }, { whyUncounted: '' }],
  [
    'a person, re-run by a bot',
    PERSON,
    { comment: false },
    { whyUncounted: '“comment: false” is set' },
    AGAIN_BY_BOT,
  ],
  ['a limit on a schedule', schedule(), { maxMessages: 3 }, { whyUncounted: ABOUT_JOBS }],
  ['a limit after checks', workflowRun(), { maxMessages: 3 }, { whyUncounted: NOWHERE }],
  ['a limit with pr-number', schedule(), { maxMessages: 3, prNumber: 7 }, { whyUncounted: '' }],
])('makePlan, why nothing can be counted: %s', check);

function check(
  _: string,
  given: Row[1],
  inputs: Partial<Inputs>,
  expected: object,
  info: Row[4] = FIRST,
): void {
  expect(makePlan({ ...INPUTS, ...inputs }, triggerOf(given), info, START)).toMatchObject(expected);
}
