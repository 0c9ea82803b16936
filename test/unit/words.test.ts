import { describe, expect, it } from 'vitest';
import { cleanText, readWords } from '../../src/carried/words.ts';
import { issueComment, review, triggerOf, type WebhookEvent } from '../sim/events.ts';

const on = (body: string): WebhookEvent => issueComment({ number: 7, body });
const reviewed = (body: string | null): WebhookEvent => review({ number: 7, body });

describe('readWords', () => {
  it.each<[string, string | null, WebhookEvent, string]>([
    ['the text after the command', '/agent', on('/agent go'), 'go'],
    ['many lines, CRLF', '/agent', on('/agent add\r\n\r\n- this\r\n'), 'add\n\n- this'],
    ['a command in capitals', '/agent', on('/AGENT\tgo'), 'go'],
    ['a command with a colon', '/agent', on('/agent: do it'), 'do it'],
    ['a command with a comma', '/agent', on('/agent, do it'), 'do it'],
    ['a full-width colon', '/agent', on('/agent：修复'), '修复'],
    ['a full-width comma', '/agent', on('/agent，\n修复'), '修复'],
    ['an ideographic comma', '/agent', on('/agent、直して'), '直して'],
    ['an Arabic comma', '/agent', on('/agent، نعم'), 'نعم'],
    ['a full-width space', '/agent', on('/agent\u3000修复'), '修复'],
    ['a zero-width space after it', '/agent', on('/agent\u200b go'), 'go'],
    ['an emoji style after it', '/agent', on('/agent\ufe0f: go'), 'go'],
    ['an emoji in its other style', '⚡', on('⚡\ufe0f\u200d go'), 'go'],
    ['only the command and what is invisible', '/agent', on('/agent\u2060'), ''],
    ['only the command', '/agent', on('/agent'), ''],
    ['nothing visible', '/agent', on('/agent \u200b<!-- x -->\u2800'), ''],
    ['only signs', '/agent', on('/agent: ```\n…\n``` -> !'), ''],
    ['an emoji', '/agent', on('/agent 👍'), '👍'],
    ['an emoji of a sign', '/agent', on('/agent #\ufe0f\u20e3'), '#\ufe0f\u20e3'],
    ['a flag', '/agent', on('/agent 🇫🇷'), '🇫🇷'],
    ['a command that is a pattern', 'a.b*', on('a.b* go'), 'go'],
    ['a command that would be hidden', '[agent]', on('[agent]: go'), ''],
    ['a paragraph, which is no code', '/agent', on('/agent\n    go <!-- x -->'), 'go'],
    ['no text of a comment without a command', null, on('So.'), ''],
    ['a submitted review', '/agent', reviewed('/agent go'), 'go'],
    ['all of a review without a command', null, reviewed('So. <!-- x -->'), 'So.'],
    ['nothing of a review without text', null, reviewed(null), ''],
  ])('reads %s', async (_, command, given, words) => {
    const { comment } = triggerOf(given);
    expect(comment && (await readWords(comment, command))).toBe(words);
  });
});

/** S stands for a comment that readers see, and H for one that they do not. */
function filled(text: string, hidden: string): string {
  return text.replaceAll('S', '<!-- x -->').replaceAll('H', hidden);
}

describe('cleanText', () => {
  // The number of the example of code or HTML (CommonMark 0.31.2), and the example with such comments.
  it.each([
    ...['107:    S\n      S', '108:  - H\n\n    H', '109:1.  H\n\n    - H', '111:    S\n\n    S'],
    ...['113:H a\n    H', '114:    S\nH', '115:# H\n    S\nH\n---\n    S', '116:        S\n    S'],
    ...['119:```\nS\n```\nH', '120:~~~\nS\n~~~\nH', '121:``\nH\n``', '122:```\nS\n~~~\nS\n```\nH'],
    ...['124:````\nS\n```\nS\n``````\nH', '127:`````\n\n```\nS', '128:> ```\n> S\n\nH'],
    ...['131: ```\n S\nS\n```\nH', '134:    ```\n    S\n    ```\nH', '136:   ```\nS\n  ```\nH'],
    ...[
      '137:```\nS\n    ```\nS',
      '138:``` ```\nH',
      '139:~~~~~~\nS\n~~~~~\nS',
      '140:a\n```\nS\n```\nH',
    ],
    ...['145:``` aa ```\nH', '147:```\n```S\n```\nH', '152:<DIV>\n\nH*a*\n\n</DIV>'],
    ...[
      '155:<div>\nH\n\nH',
      '161:<div></div>\n```\nH\n```',
      '173:<textarea>\n\n`H`\n\n</textarea>',
    ],
    ...[
      '176:> <div>\n> `H`\n\n`S`',
      '179:H*b*\n`S`',
      '185:  H\n\n    S',
      '187:A\n<div>\n`H`\n</div>',
    ],
    ...['189:A\n<a href="b">\n`S`', '330:`S`H', '331:`` S ` S ``H', '337:``\na S\nb S\n``H'],
    ...['340:`S\\`a H`', '343:*a`S*`', '344:[a `S](/b`)', '345:`<a b="`H>`', '346:<a b="`">H`'],
    ...['348:<https://a.b.`b>H`', '349:```H``', '350:`H', '351:`H a``S``'],
  ])('of example %j has the comments that readers see', async (example) => {
    const text = example.replace(/^\d+:/, '');
    expect(await cleanText(filled(text, '<!-- x -->'))).toBe(filled(text, ''));
  });

  it.each([
    ['a\r\nb\rc', 'a\nb\nc'],
    ['\ufeffa\u202e\u200bb\u200d\u{e0041}', 'ab\u200d'],
    // The other examples with what is hidden: 181 to 183 and 627 to 631.
    ['<!-- Foo\n\nbar\n   baz -->\nokay', '\nokay'],
    ["<?php\n\n  echo '>';\n\n?>\nokay", '\nokay'],
    ['<!DOCTYPE html>', ''],
    ['<![CDATA[\nif (a < b)\n\n]]>\nokay', '\nokay'],
    ['foo <!-- this is a --\ncomment - with hyphens -->', 'foo '],
    ['foo <!--> foo -->\n\nfoo <!---> foo -->', 'foo  foo -->\n\nfoo  foo -->'],
    ['foo <?php echo $a; ?>', 'foo '],
    ['foo <!ELEMENT br EMPTY>', 'foo '],
    ['foo <![CDATA[>&<]]>', 'foo '],
    // Only at the start of a line, readers do not see what is not closed. A browser reads on after the block.
    ['a <!-- never closed', 'a <!-- never closed'],
    ['a <!-- not closed\n\nb -->', 'a <!-- not closed\n\nb -->'],
    ['a\n   <!-- never closed\n\nb', 'a\n   '],
    ['> <!-- never closed\n\nb', '> '],
    ['<div>\n<!-- closed\n\nlater --> <!-- b --> c', '<div>\n c'],
    ['<div>\n<? a\n</ b', '<div>\n'],
    ['a --> b <! -- b -- > \\<!-- c --> <details>', 'a --> b <! -- b -- > \\<!-- c --> <details>'],
    // What is only hidden once another part is removed.
    ['a<!<!-- -->-- hidden -->b', 'ab'],
    ['<!<!<!<!<!<!<!-- -->-- -->-- -->-- -->-- -->-- -->-- --> b [c]', ''],
    ['a <\u200b!-- b --> c', 'a  c'],
    // Definitions.
    ['[//]: # (a\nb)\n\nc', '\n\nc'],
    ['[A  b] ![c][] [d](e) [f][g] ![h](i)\n\n[a b]: x\n[c]: x\n[g]: x "y"', null],
    ['[a]\n\n[a]: x\n[a]: y\n[d](e)\n[d]: z', '[a]\n\n[a]: x\n\n[d](e)\n[d]: z'],
    ['[a](x)\n\n[a]: y', '[a](x)\n\n'],
    ['a [^1]\n\n[^1]: b\n\n[^2]: c [^2]', 'a [^1]\n\n[^1]: b\n\n'],
    // Words after a language, and cells without a head.
    ['```js hidden words\na\n```', '```js \na\n```'],
    ['|a|\n|-|\n|b|hidden|\n|c|', '|a|\n|-|\n|b\n|c|'],
    // Where GitHub and the parser differ (cmark-gfm 0.29).
    ['<!here> a <!b>', null],
    ['a <!--- b ---> c', null],
    ['a <!--- b ----> c', 'a <!--- b ----> c'],
    ['a <!--- b -----> c', 'a  c'],
    ['a <!--- b ---> c <!-- d --> `e`\n\nf', 'a \n\nf'],
    ['> a\n<b>\n`<!-- x -->`', '> a\n\n<b>\n``'],
    ['a <!X<!--?> b --> c', 'a <!X c'],
    ['<!-- --><!-- a\n> b <!-- c <!---->d', ''],
    ['a <? b> <!-- c ?> d <!-- e --> f', 'a  f'],
    ['a [^1]\n\n[^1]: b\n\n<!-- c', 'a [^1]\n\n\n\n'],
    ['- [ ] <!-- a\n- [x] - [^1]: a', '- '],
    ['- [ ] `a` [b](c) <!-- d -->', '- [ ] `a` [b](c) '],
    ['| a | b |\n|-|\nc <!--\n|-|\nd --> [e]', ''],
    ['a\n<b>\n|-|\nc|hidden', 'a\n<b>\n'],
    ['``` a \fb\n```\n~~~ a\vb', '``` a \n```\n~~~ a'],
    ['[a b]: c(d\ne', ''],
    ['a [b](c(` ) <!-- d --> `', 'a [b'],
    ['`[b](c(`', null],
    ['b](c) and d]: e(f', null],
    ['a [b](c (d(e)) f', 'a '],
    // What would take long is read up to where something could be hidden.
    [`${'>'.repeat(60)} a [b] <b> </b>`, `${'>'.repeat(60)} a `],
    [`<b> ${'a\n'.repeat(6000)} <!-- c`, `<b> ${'a\n'.repeat(6000)} `],
    [`${'*\\'.repeat(9000)} <!-- c --> d`, `${'*\\'.repeat(9000)} `],
    // Answers by mail.
    ['a\n\nOn 1 May, b <c@d.e> wrote:\n\n> f\n\n> g\n', 'a\n'],
    ['a\nOn Mon, 1 May 2026,\nbob\nwrote:\n> f', 'a'],
    ['a\nOn 1 May, b wrote:\n> f\ng', null],
    ['a\nOn 1 May, b wrote:\n', null],
    ['On\na\nb\nc\nd wrote:\n> f', null],
    ['a\nHe wrote:\n> f', null],
  ])('of %j is %j', async (text, expected) => {
    const cleaned = await cleanText(text);
    expect(cleaned).toBe(expected ?? text);
    expect(await cleanText(cleaned)).toBe(cleaned);
  });
});
