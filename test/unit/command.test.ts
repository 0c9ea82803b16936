import { describe, expect, it } from 'vitest';
import { cleanText, composePrompt, quoteContext, readRequest } from '../../src/github/command.ts';
import type { Account, CommentTrigger } from '../../src/github/event.ts';
import { OPENING } from '../../src/text.ts';

const ALICE: Account = { login: 'alice', id: 1, type: 'User' };
const RENOVATE: Account = { login: 'renovate[bot]', id: 2, type: 'Bot' };

function comment(parts: Partial<CommentTrigger> = {}): CommentTrigger {
  return {
    ...{ kind: 'comment', id: 1, nodeId: '', action: 'created', conversation: 7, context: null },
    ...{ body: '/agent go', authorId: 1, sender: ALICE, viaApp: false },
    ...parts,
  };
}

describe('readRequest', () => {
  const byBot = { authorId: 2, sender: RENOVATE, viaApp: true };

  it.each<[string, string | null, CommentTrigger | null, string]>([
    ['the text after the command', '/agent', comment(), 'go'],
    ['a command in capitals', '/agent', comment({ body: '/AGENT\tgo' }), 'go'],
    ['only the command', '/agent', comment({ body: '/agent' }), ''],
    ['nothing visible', '/agent', comment({ body: '/agent \u200b<!-- x -->\u2800' }), ''],
    ['no text without a command', null, comment({ body: 'So.' }), ''],
    ['no text without a comment', null, null, ''],
    ['a submitted review', '/agent', comment({ kind: 'review', action: 'submitted' }), 'go'],
    ['a bot in allowed-bots, through its app', '/agent', comment(byBot), 'go'],
  ])('reads %s', (_, command, given, value) => {
    const allowedBots = new Set([RENOVATE.login]);
    expect(readRequest(given, { command, allowedBots })).toEqual({ kind: 'ok', value });
  });

  const noBots =
    'The comment is by a bot or an app; only people and bots in “allowed-bots” may ask.';
  it.each<[string, Partial<CommentTrigger> | null, string]>([
    [
      'no comment',
      null,
      'This step acts only on comments and reviews that begin with the word “/agent” (command).',
    ],
    ['a longer word', { body: '/agents go' }, 'The comment does not begin with the word “/agent”.'],
    [
      'an edit',
      { action: 'edited' },
      'Only new comments and reviews are acted on; write a new one.',
    ],
    [
      'a review',
      { kind: 'review' },
      'Only new comments and reviews are acted on; write a new one.',
    ],
    ['a bot', byBot, noBots],
    ['an app', { viaApp: true }, noBots],
    ['a person with the name of a bot', { sender: { ...ALICE, login: 'a[bot]' } }, noBots],
    ['an own comment', { body: `/agent ${OPENING}x -->` }, 'contains the hidden marker'],
    ['someone else', { sender: { ...ALICE, id: 3 } }, 'not sent by the author'],
  ])('refuses %s', (_, parts, why) => {
    const given = parts === null ? null : comment(parts);
    const request = readRequest(given, { command: '/agent', allowedBots: new Set() });
    expect(request).toEqual({ kind: 'problem', problem: expect.stringContaining(why) });
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

describe('composePrompt', () => {
  const position = { path: 'docs/a.md', line: 12, startLine: null, diffHunk: '@@ -1 +1 @@\n+`x`' };
  const hunk = 'The part of the diff around it:\n\n```diff\n@@ -1 +1 @@\n+`x`\n```';
  const where = 'Context: this was written on the file “docs/a.md”';

  it.each([
    ['a comment without context', '', null, 'Go.'],
    ['the prompt input', 'Be brief.', null, 'Be brief.\n\nGo.'],
    ['a line of the diff', '', position, `Go.\n\n${where}, line 12. ${hunk}`],
    ['a line that no longer exists', '', { ...position, line: null }, `Go.\n\n${where}. ${hunk}`],
    ['a line without a diff', '', { ...position, diffHunk: '' }, `Go.\n\n${where}, line 12.`],
  ])('includes %s', (_, instructions, context, prompt) => {
    const parts = context === null ? [] : [quoteContext(context)];
    expect(composePrompt(instructions, 'Go.', ...parts)).toBe(prompt);
  });
});
