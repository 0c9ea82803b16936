import { describe, expect, it } from 'vitest';
import { parseTrigger, whyNoSecrets } from '../../../src/trigger/trigger.ts';
import * as on from '../../sim/events.ts';
import {
  ALICE,
  DEPENDABOT,
  type Json,
  RENOVATE,
  SHA,
  type WebhookEvent,
} from '../../sim/events.ts';

function ofFork({ name, payload }: WebhookEvent): WebhookEvent {
  return { name, payload: { ...payload, pull_request: { number: 7, head: { repo: null } } } };
}

it.each<[string, WebhookEvent, number | null, boolean]>([
  ['pull_request', on.pullRequest({ number: 7 }), 7, true],
  ['issue_comment on a pull request', on.issueComment({ number: 8, body: 'x' }), 8, true],
  ['one on an issue', on.issueComment({ number: 8, body: 'x', onPullRequest: false }), 8, false],
  ['issues', on.event('issues', 'opened', { issue: { number: 9 } }), 9, false],
  ['pull_request_review', on.review({ number: 10, body: 'x' }), 10, true],
  ['pull_request_review_comment', on.reviewComment({ number: 11, body: 'x' }), 11, true],
  ['schedule', on.schedule(), null, false],
  ['an unknown event', { name: 'moon_phase', payload: { issue: { number: 1 } } }, 1, false],
])('parseTrigger finds the conversation of %s', (_, webhook, conversation, isPullRequest) => {
  expect(on.triggerOf(webhook)).toMatchObject({ conversation, isPullRequest });
});

const ABOUT_COMMITS = ['workflow_run', 'check_run'] as const;

const OTHER = 'b'.repeat(40);

/** An event about a commit, with these fields. */
function aboutCommit(name: (typeof ABOUT_COMMITS)[number], fields: Json): WebhookEvent {
  const { payload } = name === 'workflow_run' ? on.workflowRun() : on.checkRun();
  return { name, payload: { ...payload, [name]: { ...(payload[name] as Json), ...fields } } };
}

describe.each(ABOUT_COMMITS)('parseTrigger finds in %s', (name) => {
  const own = on.pullOfCommit(7);
  const foreign = on.pullOfCommit(8, SHA, 2);
  const elsewhere = { ...own, number: 8, head: { ...(own.head as Json), ref: 'agent/8' } };
  const ofNoRepository = { ...own, head: { sha: SHA, repo: null } };
  const hundred = (repositoryId: number): readonly Json[] =>
    Array.from({ length: 100 }, (_, index) => on.pullOfCommit(100 + index, SHA, repositoryId));

  it.each<[string, Json, number | null]>([
    ['the only pull request', { pull_requests: [own] }, 7],
    ['the only one of 101', { pull_requests: [...hundred(2), own] }, 7],
    ['none', { pull_requests: [] }, null],
    ['none in this repository', { pull_requests: [foreign] }, null],
    ['two', { pull_requests: [own, on.pullOfCommit(8)] }, null],
    ['the only one of two with its head', { pull_requests: [own, on.pullOfCommit(8, OTHER)] }, 7],
    ['the only one of two with its head and branch', { pull_requests: [elsewhere, own] }, 7],
    ['none of two', { pull_requests: [8, 9].map((n) => on.pullOfCommit(n, OTHER)) }, null],
    ['a hundred', { pull_requests: hundred(1) }, null],
    ['no list', { pull_requests: null }, null],
    ['the only one with a repository', { pull_requests: [own, ofNoRepository] }, 7],
    ['one whose repository is gone', { pull_requests: [{ ...own, base: {} }] }, null],
  ])('%s', (_, fields, conversation) => {
    const head = conversation === null ? null : SHA;
    expect(on.triggerOf(aboutCommit(name, fields))).toMatchObject({
      ...{ conversation, check: { sha: SHA, head, isElsewhere: false } },
    });
  });

  it('no commit that is none', () => {
    const fields = { head_sha: null, pull_requests: [own] };
    const payload = Buffer.from(JSON.stringify(aboutCommit(name, fields).payload));
    const problem = 'the event file does not say which commit it is about';
    expect(parseTrigger(name, payload)).toEqual({ kind: 'problem', problem });
  });

  it.each(['requested', 'rerequested', 'requested_action'])('no new failure when %s', (action) => {
    const about = aboutCommit(name, { conclusion: 'failure' });
    const again = { ...about, payload: { ...about.payload, action } };
    expect(on.triggerOf(again)).toMatchObject({ check: { failure: null } });
  });

  it.each([
    ['success', null],
    ['failure', 'failed'],
    ['timed_out', 'timed out'],
    ['startup_failure', 'could not start'],
    ['cancelled', null],
    [null, null],
  ])('how it failed: %s', (conclusion, failure) => {
    expect(on.checkOf(aboutCommit(name, { conclusion }))).toMatchObject({ failure });
  });
});

it.each(['', 'https://github.com/x'])('parseTrigger finds the page of a check: %j', (url) => {
  const fields = { id: 5, html_url: url || null };
  expect(on.checkOf(aboutCommit('check_run', fields))).toMatchObject({ id: 5, url });
});

it.each([
  { name: 'push', payload: on.workflowRun({ pullRequests: [7] }).payload },
  on.event('check_suite', 'completed', { check_suite: { pull_requests: [on.pullOfCommit(7)] } }),
])('parseTrigger takes no other event for one about a commit: $name', (given) => {
  expect(on.triggerOf(given)).toMatchObject({ kind: 'workflow', conversation: null });
});

it.each([
  ['the conversation', { issue: undefined }],
  ['the sender', { sender: undefined }],
])('parseTrigger reports a comment event without %s as a problem', (_, parts) => {
  const { name, payload } = on.issueComment({ number: 7, body: '/agent go' });
  const file = Buffer.from(JSON.stringify({ ...payload, ...parts }));
  const problem = 'the event file does not say who wrote the comment, and where';
  expect(parseTrigger(name, file)).toMatchObject({ problem });
});

it('parseTrigger finds no line of a comment on a whole file', () => {
  const { name, payload } = on.reviewComment({ number: 7, body: 'x' });
  const comment = { ...(payload.comment as object), subject_type: 'file', line: 1 };
  const { context } = on.commentOf({ name, payload: { ...payload, comment } });
  expect(context).toMatchObject({ path: 'docs/guide.md', line: null });
});

it.each([
  ['a missing file', null, 'cannot be read'],
  ['a file that is not JSON', Buffer.from('{"issue":'), 'does not contain a JSON object'],
  ['a file without a JSON object', Buffer.from('7'), 'does not contain a JSON object'],
])('parseTrigger reports a problem for %s', (_, file, why) => {
  expect(parseTrigger('schedule', file)).toMatchObject({ problem: expect.stringContaining(why) });
});

const TARGET = 'pull_request_target';
it.each<[string, WebhookEvent, string | null]>([
  ['a pull request from a deleted fork', on.pullRequest({ number: 7, fork: null }), 'from forks'],
  ['a pull request from a branch', on.pullRequest({ number: 7 }), null],
  ['one by a bot', on.pullRequest({ number: 7, sender: RENOVATE }), null],
  ['one by Dependabot', on.pullRequest({ number: 7, sender: DEPENDABOT }), 'Dependabot secrets'],
  ['one by a person', on.pullRequest({ number: 7, author: DEPENDABOT, sender: ALICE }), null],
  ['on the target', { ...on.pullRequest({ number: 7, fork: null }), name: TARGET }, null],
  ['a review of one from a fork', ofFork(on.review({ number: 7, body: 'x' })), 'from forks'],
  ['a review of one from a branch', on.review({ number: 7, body: 'x' }), null],
  ['a review comment there', ofFork(on.reviewComment({ number: 7, body: 'x' })), 'from forks'],
  ['a deployment', { ...on.push({ sender: DEPENDABOT }), name: 'deployment_status' }, 'Dependabot'],
  ['a branch of it', { ...on.push({ sender: DEPENDABOT }), name: 'create' }, 'Dependabot secrets'],
  ['a push by another bot', on.push({ sender: RENOVATE }), null],
  ['a comment', on.issueComment({ number: 7, body: 'x' }), null],
])('whyNoSecrets: %s, %j', (_, given, expected) => {
  const why = whyNoSecrets(on.triggerOf(given));
  expect(why).toEqual(expected && expect.stringContaining(expected));
});
