import { describe, expect, it } from 'vitest';
import { cleanText, readWords } from '../../src/carried/comment.ts';
import { OPENING } from '../../src/text.ts';
import {
  ALICE,
  checkRun,
  issueComment,
  pullRequest,
  RENOVATE,
  review,
  triggerOf,
  type WebhookEvent,
  workflowRun,
} from '../sim/events.ts';

const on = (body: string, more: Partial<Parameters<typeof issueComment>[0]> = {}): WebhookEvent =>
  issueComment({ number: 7, body, ...more });
/** The account of the author was deleted. */
function byNobody({ name, payload }: WebhookEvent): WebhookEvent {
  const withoutAuthor = (part: unknown) => part && { ...part, user: null };
  const { comment, review } = payload;
  return {
    name,
    payload: { ...payload, comment: withoutAuthor(comment), review: withoutAuthor(review) },
  };
}
const elsewhereCommented = (name: string): WebhookEvent => ({
  name,
  payload: { action: 'created', comment: { id: 1, body: '/agent go', user: ALICE }, sender: ALICE },
});
const reviewed = (body: string | null, action = 'submitted'): WebhookEvent =>
  review({ number: 7, body, action });

describe('readWords', () => {
  it.each<[string, string | null, WebhookEvent, string]>([
    ['the text after the command', '/agent', on('/agent go'), 'go'],
    ['many lines, CRLF', '/agent', on('/agent add\r\n\r\n- this\r\n'), 'add\n\n- this'],
    ['a command in capitals', '/agent', on('/AGENT\tgo'), 'go'],
    ['a command with a colon', '/agent', on('/agent: do it'), 'do it'],
    ['a command with a comma', '/agent', on('/agent, do it'), 'do it'],
    ['a full-width colon', '/agent', on('/agent：修复'), '修复'],
    ['a full-width comma', '/agent', on('/agent，\n修复'), '修复'],
    ['a full-width space', '/agent', on('/agent\u3000修复'), '修复'],
    ['a zero-width space after it', '/agent', on('/agent\u200b go'), 'go'],
    ['an emoji style after it', '/agent', on('/agent\ufe0f: go'), 'go'],
    ['an emoji in its other style', '⚡', on('⚡\ufe0f\u200d go'), 'go'],
    ['only the command and what is invisible', '/agent', on('/agent\u2060'), ''],
    ['only the command', '/agent', on('/agent'), ''],
    ['nothing visible', '/agent', on('/agent \u200b<!-- x -->\u2800'), ''],
    ['a command that is a pattern', 'a.b*', on('a.b* go'), 'go'],
    ['no text of a comment without a command', null, on('So.'), ''],
    ['a submitted review', '/agent', reviewed('/agent go'), 'go'],
    ['all of a review without a command', null, reviewed('So. <!-- x -->'), 'So.'],
    ['nothing of a review without text', null, reviewed(null), ''],
    ['no text of another event', '/agent', pullRequest({ number: 7 }), ''],
    [
      'no text of a run that failed',
      '/agent',
      workflowRun({ fields: { conclusion: 'failure' } }),
      '',
    ],
    ['no text of a run that passed, without a command', null, workflowRun(), ''],
  ])('reads %s', (_, command, given, value) => {
    expect(readWords(triggerOf(given), command)).toEqual({ kind: 'ok', value });
  });

  const noCommand = 'The comment does not begin with the word “/agent”.';
  const onlyNew = 'Only new comments and reviews are acted on; write a new one.';
  const noBots = 'is by a bot or an app; only people may ask by comments.';
  const elsewhere = 'The commit is in another repository';
  const nothing = 'Nothing has failed. There is nothing to send.';
  it.each<[string, WebhookEvent, string]>([
    ['no command', on('Nice work!'), noCommand],
    ['white space before it', on(' /agent go'), noCommand],
    ['a longer word', on('/AGENTS go'), noCommand],
    ['a longer word after what is invisible', on('/agent\u200bs go'), noCommand],
    ['a review without text', reviewed(null), noCommand],
    ['an edited comment', on('/agent go', { action: 'edited' }), onlyNew],
    ['a deleted comment', on('/agent go', { action: 'deleted' }), onlyNew],
    ['a bot', on('/agent go', { author: RENOVATE }), noBots],
    ['an app', on('/agent go', { viaApp: true }), noBots],
    ['the name of a bot', on('/agent go', { author: { ...ALICE, login: 'a[bot]' } }), noBots],
    [
      'a deleted comment of a deleted account',
      byNobody(on('/agent go', { action: 'deleted' })),
      onlyNew,
    ],
    ['a dismissed review of one', byNobody(reviewed('/agent go', 'dismissed')), onlyNew],
    ['a comment of one', byNobody(on('/agent go')), 'not sent by the author'],
    [
      'a comment on a discussion',
      elsewhereCommented('discussion_comment'),
      'on discussions are not supported',
    ],
    ['a comment on a commit', elsewhereCommented('commit_comment'), 'on commits are not supported'],
    ['an own comment', on(`/agent ${OPENING} -->`), 'contains the hidden marker'],
    ['someone else', on('/agent go', { sender: { ...ALICE, id: 3 } }), 'not sent by the author'],
    ['a run of a fork', workflowRun({ fork: 'mallory/agents' }), elsewhere],
    ['a run of a fork that was deleted', workflowRun({ fork: null }), elsewhere],
    ['a check of a fork', checkRun({ fields: { check_suite: { head_branch: null } } }), elsewhere],
    ['a run that passed', workflowRun(), nothing],
    ['a check that was cancelled', checkRun({ fields: { conclusion: 'cancelled' } }), nothing],
  ])('refuses %s', (_, given, why) => {
    const words = readWords(triggerOf(given), '/agent');
    expect(words).toEqual({ kind: 'problem', problem: expect.stringContaining(why) });
  });

  it.each<[string, WebhookEvent]>([
    ['a bot', on('So.', { author: RENOVATE })],
    ['an edited comment', on('So.', { action: 'edited' })],
    ['a run of a fork', workflowRun({ fork: 'mallory/agents' })],
  ])('refuses %s without a command, too', (_, given) => {
    expect(readWords(triggerOf(given), null)).toMatchObject({ kind: 'problem' });
  });
});

describe('cleanText', () => {
  it.each([
    ['a\r\nb\rc', 'a\nb\nc'],
    ['a\u202e\u200bb\u200d\u{e0041}', 'ab\u200d'],
    ['a<!-- x -->b<!--\n-->c', 'abc'],
    ['a<!-->b<!--->c', 'abc'],
    ['a<!-- x --!>b', 'ab'],
    ['a<!-- <!-- x -->b', 'ab'],
    ['a<!-- never closed', 'a'],
    ['a<!-- x --> <!-- never closed -- >', 'a '],
    ['a<!<!-- -->-- hidden -->b', 'a'],
    ['a<!-<!-- x -->- hidden', 'a'],
    ['a --> b', 'a --> b'],
    ['a <! -- b -- >', 'a <! -- b -- >'],
  ])('of %j is %j', (text, expected) => {
    expect(cleanText(text)).toBe(expected);
  });
});
