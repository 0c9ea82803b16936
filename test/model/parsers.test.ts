import fc from 'fast-check';
import { micromark } from 'micromark';
import { gfm, gfmHtml } from 'micromark-extension-gfm';
import { expect, it } from 'vitest';
import { code, fence, sentenceToMarkdown } from '../../src/markdown.ts';
import { formatCode } from '../../src/prompt/conversation/review.ts';
import { readVisibleText } from '../../src/prompt/sanitize/visible-text.ts';
import { checkPrLink } from '../../src/pull-request.ts';
import { readInputs } from '../../src/runner/inputs.ts';
import { escapeCommands, redactor } from '../../src/runner/logger.ts';
import { oneLine, quote, withoutInvisible } from '../../src/text.ts';
import { FORGERIES } from '../sim/forgeries.ts';
import { parseCommands } from '../sim/runner/commands.ts';

// Random input for all that reads text by others: one property for each rule that protects from it.

const { MODEL_RUNS } = process.env;
const RUNS = MODEL_RUNS === undefined ? { numRuns: 700, seed: 1 } : { numRuns: Number(MODEL_RUNS) };
const FORGED = FORGERIES.map(({ text }) => text);
const same = (text: string): string => text;

/** Checks the examples and many random values. */
function always<T>(of: fc.Arbitrary<T>, check: (value: T) => void, examples: readonly T[] = []) {
  const given = examples.map((example): [T] => [example]);
  fc.assert(fc.property(of, check), { ...RUNS, examples: given });
}

/** Texts with a meaning in the runner, Markdown or HTML, or that mislead readers. */
const TOKENS = [
  ...':: ::error:: ::set-output\u3000name=a:: ::add-mask:: ##[ ##[error] ##'.split(' '),
  ...'[ ] # group] %0A %3A ` `` ``` ````` ~~~ | \\ \\| --- <!-- --> --!> --'.split(' '),
  ...'< > & " \' * _ $ > - 1. # [x](y) <img/src=x> </code> </pre> <details>'.split(' '),
  ...'&lt; &#10; @octo #1 octo/agents#2 ![x](https://a.example) https://a.example'.split(' '),
  ...'javascript: text a B 0 . / { }'.split(' '),
  // White space, controls, and characters that are invisible, reorder the line or belong together.
  ...' \n\r\t\v\f\0\b\u00a0\u0085\u1680\u2007\u2028\u2029\u3000\ufeff\u180e\u200b\u200c\u200d',
  ...'\u202e\u2066\u00ad\ufe0f\u2800\u3164\u{e0041}\u{e007f}👩💻\u{10ffff}\ufffd\u0301“”',
  ...['\r\n', '    ', '\u001b[2J', '\ud83d', '\ude00', 'e\u0301'],
];

/** Any except a surrogate. fast-check's own arbitrary takes a second before the first value. */
const codePoint = fc.nat(0x10ffff - 0x800).map((code) => (code < 0xd800 ? code : code + 0x800));
const unit = fc.nat(0xffff);

const join = (parts: readonly string[]): string => parts.join('');
/** Text that attempts to be a command, markup or a link. */
const hostileText: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: fc.array(fc.constantFrom(...TOKENS), { maxLength: 25 }).map(join) },
  fc.array(codePoint, { maxLength: 60 }).map((codes) => String.fromCodePoint(...codes)),
  fc.array(unit, { maxLength: 40 }).map((units) => String.fromCharCode(...units)),
);

/** As GitHub renders it, but without its sanitizer, which would hide problems. */
const AS_GITHUB = { extensions: [gfm()], htmlExtensions: [gfmHtml()], allowDangerousHtml: true };
const render = (markdown: string): string => micromark(markdown, AS_GITHUB);
const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
const asHtml = (text: string): string => text.replace(/[&<>"]/g, (one) => ENTITIES[one] ?? one);

const host = fc.oneof(
  fc.constantFrom('github.com', 'gitlab.com', 'bitbucket.org', 'ghe.example', 'git.example:8443'),
  fc.constantFrom('github.com', 'ghe.example', 'GITHUB.com', 'evil.example', 'github.com.'),
  fc.constantFrom('github.com@evil.example', 'a:b@github.com', '[::1]', '127.0.0.1', 'gıthub.com'),
  hostileText,
);
const segment = fc.oneof(
  fc.constantFrom('octo', 'pull', '1', '-', 'files', '..', '.', '', '0'),
  fc.constantFrom('%2e%2e', '%2f', '%7bid%7d', '(x)', '[y]', '<z>', '٣', 'a\tb', 'a b'),
  hostileText,
);
const path = fc.oneof(
  fc.constantFrom('/o/r/pull/1', '/o/r/pull/2/files', '/o/.../pull/3'),
  fc.array(segment, { maxLength: 7 }).map((all) => `/${all.join('/')}`),
);
const url = fc
  .tuple(
    fc.constantFrom('https://', 'https://', 'https://', 'http://', 'HTTPS://', 'javascript:', '//'),
    ...[host, path, fc.constantFrom('', '', '/', '?a=b', '#c', '/files', '\n')],
  )
  .map((parts) => parts.join(''));

it('a link is accepted only if it is plain https, and has the path of a pull request', () => {
  always(url, (link) => {
    const checked = checkPrLink(link);
    if (checked.kind === 'problem') return;
    expect(checked.value).not.toMatch(/[()<>[\]\s"'`{}|\\^$;&*!?#\p{C}]/u);
    const found = new URL(checked.value);
    expect(found.href).toBe(checked.value);
    expect(found.protocol).toBe('https:');
    expect(found.username + found.password + found.search + found.hash).toBe('');
    expect(found.host).toMatch(/^[a-z0-9.-]+(:\d+)?$/);
    expect(found.pathname).toMatch(/^\/[^/]+\/[^/]+\/pull\/[1-9]\d{0,9}$/);
    expect(found.pathname).not.toMatch(/\/\.+(\/|$)/);
  });
});

/** The words `w0`, `w1` … of a page, as browsers show it. */
function wordsShown(html: string): readonly string[] {
  const hidden = /<!--(?:-?>|.*?(?:--!?>|$))|<[!?][^>]*>?|<\/?[a-z][^>]*>/gis;
  return html.replace(hidden, '\n').match(/w\d+/g) ?? [];
}

it('of a text by a stranger, just the words that a page shows arrive', () => {
  const words = fc.constantFrom('w', ' w ', '"w"', '\nw', 'w\n\n');
  const signs = fc.constantFrom(
    ...' ¤\n¤\n\n¤<!--¤-->¤<!¤<?¤>¤<div>¤<b>¤`¤```¤~~~js ¤[¤]¤](¤(¤)¤: ¤![¤[w]: /u¤[^w]: ¤[^w]'.split(
      '¤',
    ),
    ...['> ', '- ', '    ', '|', '\\', '#', '\n|-|-|\n', '<a b="', '&lt;!--'],
  );
  always(fc.array(fc.oneof(words, signs), { maxLength: 30 }), (all) => {
    const text = all.map((part, at) => part.replace('w', `w${at}`)).join('');
    expect(readVisibleText(text).text.match(/w\d+/g) ?? []).toEqual(wordsShown(render(text)));
  });
});

it('the diff of a comment is in one block', () => {
  always(hostileText, (hidden) => {
    const lines = { line: 3, startLine: null, isOutdated: false };
    const on = { path: hidden, ...lines, diffHunk: `+${hidden}` };
    const { parts: [part = ''] = [] } = formatCode(on, (text) => text);
    const [, block = ''] = part.split('The part of the diff around it:\n\n');
    expect(render(block)).toMatch(
      /^<blockquote>\n<pre><code class="language-diff">[^<]*<\/code><\/pre>\n<\/blockquote>$/,
    );
  });
});

it('an ID that is accepted cannot leave its place in a path, a header or a line', () => {
  const id = fc.oneof(segment, fc.stringMatching(/^[\w.~:@-]{1,9}$/), hostileText);
  const secret = fc.oneof(fc.constant('mint_abc'), hostileText);
  always(fc.tuple(id, id, secret), ([project, job, key]) => {
    const env = {
      ...{ 'INPUT_API-KEY': key, 'INPUT_PROJECT-ID': project, 'INPUT_JOB-ID': job },
      ...{ INPUT_PROMPT: 'x', 'INPUT_TIMEOUT-MINUTES': '30', 'INPUT_SETTLE-SECONDS': '60' },
    };
    const { inputs, problems } = readInputs(env, same);
    expect(problems.join('')).not.toMatch(/[\p{Cc}\u2028\u2029]/u);
    if (problems.length > 0) return;
    for (const one of [inputs.projectId, ...inputs.jobIds]) {
      expect(new URL(`https://a.example/v2/${one}/x`).pathname).toBe(`/v2/${one}/x`);
    }
    expect(inputs.apiKey).toMatch(/^[!-~]*$/);
  });
});

it('the log contains no command in escaped text', () => {
  const before = fc.constantFrom('', 'Job ', '#', '##', ':', 'The API said:\n');
  const examples = FORGED.map((text): [string, string] => ['', text]);
  always(
    fc.tuple(before, hostileText),
    ([start, text]) => {
      const shown = escapeCommands(start + text);
      const [first = '', ...further] = shown.split('\n');
      expect(parseCommands(shown)).toEqual([]);
      expect(shown).not.toMatch(/(?![\n\t])[\p{Cc}\p{Cf}]/u);
      expect(further.filter((line) => !line.startsWith('  | '))).toEqual([]);
      if (!first.startsWith('  | ')) expect(escapeCommands(first)).toBe(first);
    },
    examples,
  );
});

it('each secret is removed, also one that contains another or overlaps itself', () => {
  // Without asterisks: what remains beside the mask could form the secret again.
  const secret = fc.stringMatching(/^[\x21-\x29\x2b-\x7e]{8,20}$/);
  always(fc.tuple(secret, hostileText, fc.nat({ max: 8 })), ([one, around, cut]) => {
    const secrets = [one, `${one}${one}`, `b${one}c`];
    const text = [...secrets, one.slice(0, cut) + one, around].join(around);
    const shown = redactor(secrets)(text);
    expect(secrets.filter((each) => shown.includes(each))).toEqual([]);
  });
});

it('text by others is one element of code, in a sentence, in a table and in a block', () => {
  const limit = fc.oneof(fc.constant(200), fc.integer({ min: 1, max: 30 }));
  const check = ([text, most]: readonly [string, number]): void => {
    const line = oneLine(text, most);
    expect(line).not.toMatch(/(?!\u200c|\u200d|\ufe0f)[\p{Cc}\p{Zl}\p{Zp}\p{Cf}]/u);
    expect(line.isWellFormed() && line.length <= most).toBe(true);
    const block = fence(withoutInvisible(text.replace(/\r\n?/g, '\n')));
    const inside = block.slice(block.indexOf('\n') + 1, block.lastIndexOf('\n'));
    expect(render(`before\n${block}\n*after*`)).toBe(
      `<p>before</p>\n<pre><code class="language-text">${asHtml(inside)}\n</code></pre>\n<p><em>after</em></p>`,
    );
    const span = code(text);
    if (span === '') return;
    const element = `<code>${asHtml(oneLine(text).replaceAll('|', '¦'))}</code>`;
    expect(render(`x ${span} y`)).toBe(`<p>x ${element} y</p>`);
    expect(render(`| a | b |\n| --- | --- |\n| ${span} | z |`)).toContain(
      `<tr>\n<td>${element}</td>\n<td>z</td>\n</tr>\n</tbody>\n</table>`,
    );
    const sentence = sentenceToMarkdown(`The API said ${quote(text)}.`);
    expect(render(sentence)).toMatch(/^<p>The API said <code>[^<]*<\/code>\.<\/p>$/);
    const twice = sentenceToMarkdown(`${quote(text)} and ${quote('a`b')}.`);
    expect(render(twice)).toMatch(/^<p><code>[^<]*<\/code> and <code>a`b<\/code>\.<\/p>$/);
  };
  always(
    fc.tuple(hostileText, limit),
    check,
    FORGED.map((text): [string, number] => [text, 200]),
  );
});
