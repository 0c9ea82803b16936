import { expect, it } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import type { Context } from '../../../src/context.ts';
import { A_RUN } from '../../../src/job/explain.ts';
import { stop } from '../../../src/job/stop-reasons.ts';
import { isFinal, STATUS_NAMES } from '../../../src/mintlify-api.ts';
import { draftPlan } from '../../../src/plan/plan.ts';
import type { RunInfo } from '../../../src/runner/environment.ts';
import type { Inputs } from '../../../src/runner/inputs.ts';
import { findSource } from '../../../src/trigger/command.ts';
import * as on from '../../sim/events.ts';
import { COPILOT, RENOVATE } from '../../sim/events.ts';
import { INFO, INPUTS, START } from '../record.ts';

const PERSON = on.pullRequest({ number: 7 });
const BOT = on.pullRequest({ number: 7, sender: RENOVATE });
const BY_COPILOT = on.pullRequest({ number: 7, sender: COPILOT });
const COMMAND = on.issueComment({ number: 7, body: '/a x' });
const FAILED = on.workflowRun({ pullRequests: [7] });
const FIRST = { attempt: 1, triggeringActor: 'alice' };
const AGAIN = { attempt: 2, triggeringActor: 'alice' };
const AGAIN_BY_BOT = { attempt: 2, triggeringActor: RENOVATE.login };
const AGAIN_BY_COPILOT = { attempt: 2, triggeringActor: 'copilot' };
const AGAIN_BY_NOBODY = { attempt: 2, triggeringActor: '' };
const NOTE = { kind: 'tracking comment', conversation: 7 };
const NOWHERE = 'there is no pull request or issue with a comment';
const ABOUT_JOBS = 'the event has no pull request or issue';
const ASKS = { command: '/a' };
const ASKS_TWO = { ...ASKS, jobIds: ['a', 'b'] };
const COMMAND_AGAIN = { ...A_RUN, isCommand: true, isRerun: true };
const OFF = '“comment: false” is set';

type Rerun = Pick<RunInfo, 'attempt' | 'triggeringActor'>;

/** An event, the inputs that differ, and the parts of the plan that matter. */
type Row = [string, on.WebhookEvent, Partial<Inputs>, expected: object, info?: Rerun];

function planOf(given: Row[1], parts: Partial<Inputs>, rerun: Rerun = FIRST) {
  const trigger = on.triggerOf(given);
  const inputs = { ...INPUTS, ...parts };
  const info = { ...INFO, ...rerun };
  const runtime = { clock: { ...systemClock, startedAt: START } };
  const source = findSource(trigger, inputs);
  const context = { inputs, trigger, info, source, runtime, isRerun: rerun.attempt > 1 };
  return draftPlan(context as Context);
}

function check(_: string, given: Row[1], inputs: Row[2], expected: object, info?: Row[4]): void {
  const plan = planOf(given, inputs, info);
  expect(plan).toMatchObject({ deadline: START + 60_000, ...expected });
}

it.each<Row>([
  ['only a message: it holds no runner', PERSON, { wait: false }, { waitsForIdle: false }],
  ['with a wait: earlier work comes first', PERSON, {}, { waitsForIdle: true }],
  ...STATUS_NAMES.map((status): Row => {
    const inputs = { onlyWhen: new Set([status, 'failed'] as const) };
    return [`only-when: ${status}`, PERSON, inputs, { waitsForIdle: isFinal(status) }];
  }),
])('draftPlan, earlier work: %s', check);

const none = (why: string): object => ({ comments: { kind: 'none', why } });
it.each<Row>([
  ['comment: false', PERSON, { comment: false }, none(OFF)],
  ['pr-number', PERSON, { prNumber: 9 }, { comments: { ...NOTE, conversation: 9 } }],
  ['a push', on.push(), {}, { comments: { kind: 'pull requests of the jobs' } }],
  ['a status, by a program', on.event('status'), { createJob: true }, none(NOWHERE)],
  ['a schedule without a token', on.schedule(), { githubToken: '' }, none(NOWHERE)],
])('draftPlan, the comment: %s', check);

it.each<Row>([
  ['a message', PERSON, {}, { decidesBelow: false, facts: A_RUN }],
  ['a re-run', PERSON, {}, { decidesBelow: true }, AGAIN],
  ['no note', PERSON, { comment: false }, { facts: { ...A_RUN, hasRecords: false } }],
  ['two jobs', COMMAND, ASKS_TWO, { facts: { ...A_RUN, hasSeveralJobs: true } }],
  ['a command, run again', COMMAND, ASKS, { facts: COMMAND_AGAIN }, AGAIN],
  ['a commit', FAILED, {}, { decidesBelow: true, headOf: 7 }],
  ['a commit without comments', FAILED, { comment: false }, { decidesBelow: false, headOf: 7 }],
])('draftPlan, the second list, and what people do then: %s', check);

it('draftPlan asks for no newest commit on another pull request than that of the event', () => {
  expect(planOf(FAILED, { prNumber: 8 }).headOf).toBe(undefined);
  expect(planOf(on.checkRun(), { prNumber: 8 }).headOf).toBe(undefined);
});

const branch = { ref: 'refs/heads/agent', sender: RENOVATE };
const forBot = (why: string) => ({ limit: { uncounted: stop('uncounted-bot', { why }) } });
const byBot = (is: boolean) => ({ message: { byBot: is } });
const uncounted = (why: string) => ({ limit: { uncounted: stop('uncounted', { why }) } });

it.each<Row>([
  ['a comment', COMMAND, { maxMessages: 5 }, { decidesBelow: true, limit: { most: 5 } }],
  ['a bot', BOT, {}, { ...byBot(true), limit: { most: 3 } }],
  ['re-run by a bot', COMMAND, ASKS, { ...byBot(true), limit: { most: 3 } }, AGAIN_BY_BOT],
  ['a bot without a suffix, again', BY_COPILOT, {}, { limit: { most: 3 } }, AGAIN_BY_COPILOT],
  ['by nobody who is known', PERSON, { maxMessages: 5 }, { limit: { most: 5 } }, AGAIN_BY_NOBODY],
  ['a bot, “comment: false”', BOT, { comment: false }, forBot(OFF)],
  ['a bot, a branch', on.push(branch), {}, forBot(ABOUT_JOBS)],
  ['a limit for a bot', on.push({ sender: RENOVATE }), { maxMessages: 3 }, uncounted(ABOUT_JOBS)],
  ['with pr-number', on.schedule(), { maxMessages: 3, prNumber: 7 }, { limit: { most: 3 } }],
])('draftPlan, a limit: %s', check);

it.each<Row>([
  ['a person', PERSON, {}, byBot(false)],
  ['a command', COMMAND, { command: '/a', maxMessages: 5 }, {}],
  ['a review without a command', on.review({ number: 7, body: 'x' }), { maxMessages: 5 }, {}],
  ['a limit on a schedule, which has no page', on.schedule(), { maxMessages: 3 }, {}],
  ['a bot on a trusted event', on.mergeGroup({ sender: RENOVATE }), {}, byBot(true)],
  ['re-run by a person', PERSON, { maxMessages: 5 }, {}, AGAIN],
])('draftPlan, no limit: %s', (_, given, inputs, expected, info) => {
  const plan = planOf(given, inputs, info);
  expect(plan).toMatchObject(expected);
  expect(plan.limit).toBe(undefined);
});
