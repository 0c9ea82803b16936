import { describe, expect, it } from 'vitest';
import { compose, type Request } from '../../src/carried/carry.ts';
import {
  cleanText,
  type InlineComment,
  quoteContext,
  quoteInline,
  readWords,
} from '../../src/carried/comment.ts';
import type { CodeContext } from '../../src/github/event.ts';
import { OPENING } from '../../src/text.ts';
import {
  ALICE,
  checks,
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
const reviewed = (body: string | null, action = 'submitted'): WebhookEvent =>
  review({ number: 7, body, action });

describe('readWords', () => {
  it.each<[string, string | null, WebhookEvent, string]>([
    ['the text after the command', '/agent', on('/agent go'), 'go'],
    ['a command in capitals', '/agent', on('/AGENT\tgo'), 'go'],
    ['a command with a colon', '/agent', on('/agent: do it'), 'do it'],
    ['only the command', '/agent', on('/agent'), ''],
    ['nothing visible', '/agent', on('/agent \u200b<!-- x -->\u2800'), ''],
    ['a command that is a pattern', 'a.b*', on('a.b* go'), 'go'],
    ['no text of a comment without a command', null, on('So.'), ''],
    ['a submitted review', '/agent', reviewed('/agent go'), 'go'],
    ['all of a review without a command', null, reviewed('So. <!-- x -->'), 'So.'],
    ['nothing of a review without text', null, reviewed(null), ''],
    ['no text of another event', '/agent', pullRequest({ number: 7 }), ''],
    ['no text of a run that passed, without a command', null, workflowRun(), ''],
  ])('reads %s', (_, command, given, value) => {
    expect(readWords(triggerOf(given), command)).toEqual({ kind: 'ok', value });
  });

  const noCommand = 'The comment does not begin with the word “/agent”.';
  const onlyNew = 'Only new comments and reviews are acted on; write a new one.';
  const noBots = 'is by a bot or an app; only people may ask by comments.';
  const elsewhere = 'The commit is in another repository';
  const nothing = 'Nothing has failed, so there is nothing to send.';
  it.each<[string, WebhookEvent, string]>([
    ['no command', on('Nice work!'), noCommand],
    ['white space before it', on(' /agent go'), noCommand],
    ['a quoted command', on('> /agent go'), noCommand],
    ['a review without text', reviewed(null), noCommand],
    ['an edited comment', on('/agent go', { action: 'edited' }), onlyNew],
    ['a dismissed review', reviewed('/agent go', 'dismissed'), onlyNew],
    ['a bot', on('/agent go', { author: RENOVATE }), noBots],
    ['an app', on('/agent go', { viaApp: true }), noBots],
    ['the name of a bot', on('/agent go', { author: { ...ALICE, login: 'a[bot]' } }), noBots],
    ['an own comment', on(`/agent ${OPENING} -->`), 'contains the hidden marker'],
    ['someone else', on('/agent go', { sender: { ...ALICE, id: 3 } }), 'not sent by the author'],
    ['a run of a fork', workflowRun({ fork: 'mallory/agents' }), elsewhere],
    ['a run of a fork that was deleted', workflowRun({ fork: null }), elsewhere],
    ['a check of a fork', checks('check_suite', { fields: { head_branch: null } }), elsewhere],
    ['a run that passed', workflowRun(), nothing],
    [
      'checks that were cancelled',
      checks('check_run', { fields: { conclusion: 'cancelled' } }),
      nothing,
    ],
  ])('refuses %s', (_, given, why) => {
    const words = readWords(triggerOf(given), '/agent');
    expect(words).toEqual({ kind: 'problem', problem: expect.stringContaining(why) });
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

describe('compose', () => {
  const failure = { facts: ['`CI` failed.'], outputs: [], isFailure: true, warning: '' };
  const NONE: Request = { prompt: '', words: '', parts: [], summary: '', carried: [] };
  const log = { ...failure, summary: '+ log of `CI`' };

  it.each<[string, Partial<Request>, prompt: string, shown: string, attached: string]>([
    ['a prompt', { prompt: 'Go.' }, 'Go.', 'Go.', ''],
    [
      'a prompt before words',
      { prompt: 'Be brief.', words: 'Go.' },
      'Be brief.\n\nGo.',
      'Be brief.\n\nGo.',
      '',
    ],
    [
      'the code with the words',
      { words: 'Go.', parts: ['Context.'] },
      'Go.\n\nContext.',
      'Go.\n\nContext.',
      '',
    ],
    [
      'inline comments, which people see as a summary',
      { words: 'Go.', parts: ['One.', 'Two.'], summary: '+ 2 comments' },
      ...(['Go.\n\nOne.\n\nTwo.', 'Go.', '+ 2 comments'] as const),
    ],
    [
      'a failure with a prompt',
      { prompt: 'Go.', carried: [log] },
      'Go.\n\n`CI` failed.',
      'Go.',
      log.summary,
    ],
    [
      'a failure alone',
      { carried: [log] },
      ...(['Find out why, and fix it.\n\n`CI` failed.', '', log.summary] as const),
    ],
  ])('%s', (_, given, prompt, shown, attached) => {
    expect(compose({ ...NONE, ...given })).toEqual({ prompt, shown, attached });
  });
});

const CODE: CodeContext = {
  path: 'docs/a.md',
  line: 12,
  startLine: null,
  diffHunk: '@@ -1 +1 @@\n+`x`',
};
const DIFF = '> ```diff\n> @@ -1 +1 @@\n> +`x`\n> ```';

describe('quoteContext', () => {
  const hunk = `The part of the diff around it:\n\n${DIFF}`;

  it.each<[string, Partial<CodeContext>, string]>([
    ['a line', {}, `“docs/a.md”, line 12. ${hunk}`],
    ['several lines', { startLine: 9 }, `“docs/a.md”, lines 9 to 12. ${hunk}`],
    ['a line that no longer exists', { line: null }, `“docs/a.md”. ${hunk}`],
    ['no diff', { diffHunk: '' }, '“docs/a.md”, line 12.'],
  ])('of %s', (_, parts, expected) => {
    const context = `Context: this was written on the file ${expected}`;
    expect(quoteContext({ ...CODE, ...parts })).toBe(context);
  });
});

describe('a quoted diff', () => {
  const long = (count: number): string => '\n+line'.repeat(count);

  it.each([
    ['backticks', '+```\n+````', '`````diff\n+```\n+````\n`````'],
    ['a lone CR, which starts no line', '+a\r```\rb', '````diff\n+a```b\n````'],
    ['HTML comments, which are code', '+<!-- a -->', '```diff\n+<!-- a -->\n```'],
    ['more lines', `@@\n+first${long(50)}`, `\`\`\`diff\n@@\n…${long(50)}\n\`\`\``],
    ['other line breaks, which start no line', '+a\u2028```\u2029b', '````diff\n+a```b\n````'],
    ['half of a character', '+a\ud800', '```diff\n+a\ufffd\n```'],
  ])('with %s', (_, diffHunk, expected) => {
    const block = expected.replace(/^/gm, '> ');
    expect(quoteContext({ ...CODE, diffHunk }).split(':\n\n')[1]).toBe(block);
  });
});

describe('quoteInline', () => {
  const inline = (parts: Partial<InlineComment> = {}): InlineComment => ({
    ...{ ...CODE, isOutdated: false, text: 'Shorter.' },
    ...parts,
  });
  const whole = { line: null, diffHunk: '' };
  const quoted = (...comments: readonly Partial<InlineComment>[]): readonly string[] =>
    quoteInline(comments.map(inline));

  it.each<[string, Partial<InlineComment>, string]>([
    ['a line', {}, `line 12:\n\n${DIFF}\n\nShorter.`],
    ['older lines', { isOutdated: true }, `line 12 of an older commit:\n\n${DIFF}\n\nShorter.`],
    ['hidden text', { text: 'a<!-- b -->\u200bc <!-- d' }, `line 12:\n\n${DIFF}\n\nac`],
    ['only hidden text', { text: '<!-- b -->' }, `line 12:\n\n${DIFF}`],
    ['no diff', { diffHunk: '' }, 'line 12:\n\nShorter.'],
  ])('quotes %s', (_, parts, expected) => {
    expect(quoted(parts)).toEqual([`Comment 1 of 1, on the file “docs/a.md”, ${expected}`]);
  });

  it('quotes a comment on a whole file', () => {
    expect(quoted(whole)).toEqual(['Comment 1 of 1, on the file “docs/a.md”:\n\nShorter.']);
    expect(quoted(whole, whole)).toHaveLength(2);
  });

  it('sorts by files, then by lines, and keeps the order on a line', () => {
    const texts = quoted(
      { path: 'b.md', line: 2, text: 'five' },
      { path: 'a.md', line: 10, startLine: 1, text: 'three' },
      { path: 'a.md', line: 9, text: 'two' },
      { path: 'a.md', line: 10, text: 'four' },
      { path: 'a.md', ...whole, text: 'one' },
      { path: 'b.md', line: 2, text: 'six' },
    ).map((text) => text.split('\n').at(-1));
    expect(texts).toEqual(['one', 'two', 'three', 'four', 'five', 'six']);
  });
});
