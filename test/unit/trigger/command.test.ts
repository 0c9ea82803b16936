import { expect, it } from 'vitest';
import { OPENING } from '../../../src/text.ts';
import { whyNothing } from '../../../src/trigger/command.ts';
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
} from '../../sim/events.ts';
import { INFO } from '../record.ts';

const on = (body: string, more: Partial<Parameters<typeof issueComment>[0]> = {}): WebhookEvent =>
  issueComment({ number: 7, body, ...more });
/** The account of the author was deleted. */
function byNobody({ name, payload }: WebhookEvent): WebhookEvent {
  const withoutAuthor = (part: unknown) => part && { ...part, user: null };
  const { comment, review } = payload;
  const parts = { comment: withoutAuthor(comment), review: withoutAuthor(review) };
  return { name, payload: { ...payload, ...parts } };
}
function elsewhereCommented(name: string): WebhookEvent {
  const comment = { id: 1, body: '/agent go', user: ALICE };
  return { name, payload: { action: 'created', comment, sender: ALICE } };
}
const reviewed = (body: string | null, action = 'submitted'): WebhookEvent =>
  review({ number: 7, body, action });

const FAILED = { conclusion: 'failure' };
const OWN_FILE = '.github/workflows/agent.yml';
const HERE = { ...INFO, workflow: `${INFO.repository}/${OWN_FILE}` };

it.each<[string, string | null, WebhookEvent]>([
  ['a comment with the command', '/agent', on('/agent go')],
  ['a comment without a command', null, on('So.')],
  ['a quotation of a comment of ours', '/agent', on(`/agent go\n> ${OPENING} -->\n >${OPENING}`)],
  ['another event', '/agent', pullRequest({ number: 7 })],
  ['a run that failed', '/agent', workflowRun({ fields: { conclusion: 'failure' } })],
  ['a run that passed, without a command', null, workflowRun()],
])('whyNothing is null for %s', (_, command, given) => {
  expect(whyNothing(triggerOf(given), command, HERE)).toBeNull();
});

const noCommand = 'The comment does not begin with “/agent”, the word in';
const onlyNew = 'Only new comments and reviews are acted on; write a new one.';
const noBots = 'is by a bot or an app; only people may ask by comments.';
const elsewhere = 'The commit is in another repository';
it.each<[string, WebhookEvent, string]>([
  ['white space before it', on(' /agent go'), noCommand],
  ['a longer word', on('/AGENTS go'), noCommand],
  ['a review without text', reviewed(null), noCommand],
  ['an edited comment', on('/agent go', { action: 'edited' }), onlyNew],
  ['a deleted comment', on('/agent go', { action: 'deleted' }), onlyNew],
  ['an app', on('/agent go', { fields: { performed_via_github_app: { id: 7 } } }), noBots],
  ['the name of a bot', on('/agent go', { author: { ...ALICE, login: 'a[bot]' } }), noBots],
  ['a dismissed review of nobody', byNobody(reviewed('/agent go', 'dismissed')), onlyNew],
  ['a comment of a deleted account', byNobody(on('/agent go')), 'not sent by the author'],
  ['a comment on a discussion', elsewhereCommented('discussion_comment'), 'on discussions are'],
  ['a comment on a commit', elsewhereCommented('commit_comment'), 'on commits are not supported'],
  ['an own comment', on(`/agent ${OPENING} -->`), 'contains the hidden marker'],
  ['one below a quotation', on(`/agent\n> a\n\nb ${OPENING} -->`), 'contains the hidden marker'],
  ['someone else', on('/agent go', { sender: { ...ALICE, id: 3 } }), 'not sent by the author'],
  ['a run of a fork', workflowRun({ fork: 'mallory/agents' }), elsewhere],
  ['a run of a fork that was deleted', workflowRun({ fork: null }), elsewhere],
  ['a check of a fork', checkRun({ fields: { check_suite: { head_branch: null } } }), elsewhere],
  ['a run that passed', workflowRun(), 'Nothing has failed.'],
  ['a check again', checkRun({ action: 'rerequested', fields: FAILED }), 'Only the type “compl'],
  ['a stopped check', checkRun({ fields: { conclusion: 'cancelled' } }), 'check was cancelled'],
])('whyNothing refuses %s', (_, given, why) => {
  expect(whyNothing(triggerOf(given), '/agent', HERE)).toContain(why);
});

it.each<[string, WebhookEvent]>([
  ['a bot', on('So.', { author: RENOVATE })],
  ['an edited comment', on('So.', { action: 'edited' })],
  ['a run of a fork', workflowRun({ fork: 'mallory/agents' })],
])('whyNothing refuses %s without a command, too', (_, given) => {
  expect(whyNothing(triggerOf(given), null, HERE)).not.toBeNull();
});
