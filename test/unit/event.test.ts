import { describe, expect, it } from 'vitest';
import { readTrigger } from '../../src/github/event.ts';
import {
  event,
  issueComment,
  mergeGroup,
  pullRequest,
  push,
  review,
  reviewComment,
  schedule,
  type WebhookEvent,
  workflowDispatch,
} from '../sim/events.ts';

function conversationOf({ name, payload }: WebhookEvent): number | null {
  return readTrigger(name, Buffer.from(JSON.stringify(payload))).conversation;
}

describe('readTrigger finds the conversation of', () => {
  it.each<[string, WebhookEvent, number | null]>([
    ['pull_request', pullRequest({ number: 7 }), 7],
    ['pull_request from a fork', pullRequest({ number: 7, fork: 'mallory/agents' }), 7],
    ['pull_request from a deleted fork', pullRequest({ number: 7, fork: null }), 7],
    ['pull_request_target', pullRequest({ number: 7, target: true }), 7],
    ['issue_comment on a pull request', issueComment({ number: 8, body: 'x' }), 8],
    ['issue_comment on an issue', issueComment({ number: 8, body: 'x', onPullRequest: false }), 8],
    ['issues', event('issues', 'opened', { issue: { number: 9 } }), 9],
    ['pull_request_review', review({ number: 10, body: 'x' }), 10],
    ['pull_request_review_comment', reviewComment({ number: 11, body: 'x' }), 11],
    ['merge_group', mergeGroup({ number: 16 }), 16],
    ['push', push(), null],
    ['schedule', schedule(), null],
    ['workflow_dispatch', workflowDispatch(), null],
    ['an unknown event', { name: 'moon_phase', payload: { issue: { number: 1 } } }, null],
    [
      'an event with a hostile number',
      { name: 'issues', payload: { issue: { number: '1/../2' } } },
      null,
    ],
  ])('%s', (_, webhook, expected) => {
    expect(conversationOf(webhook)).toBe(expected);
  });
});

it.each([
  ['the conversation', { issue: undefined }],
  ['the author', { comment: { user: null } }],
  ['the sender', { sender: undefined }],
])(
  'readTrigger reports a comment event without %s as a problem, and reads no comment',
  (_, parts) => {
    const { name, payload } = issueComment({ number: 7, body: '/agent go' });
    const file = Buffer.from(JSON.stringify({ ...payload, ...parts }));
    expect(readTrigger(name, file)).toMatchObject({
      problem: 'the event file does not say who wrote the comment, and where',
      conversation: null,
      comment: null,
    });
  },
);

it.each([
  ['a missing file', null, 'cannot be read'],
  ['a file that is not JSON', Buffer.from('{"issue":'), 'is not valid JSON'],
  ['a file without a JSON object', Buffer.from('7'), 'does not contain a JSON object'],
  ['an empty file', Buffer.from(''), 'is not valid JSON'],
])('readTrigger reports a problem for %s, and finds no conversation', (_, file, why) => {
  expect(readTrigger('pull_request', file)).toMatchObject({
    problem: expect.stringContaining(why),
    conversation: null,
  });
});
