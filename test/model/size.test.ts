import { expect, it } from 'vitest';
import type { Exchange } from '../../src/agent/http.ts';
import { readRecord, readRefusal } from '../../src/agent/job-record.ts';
import { retryAfterMs } from '../../src/agent/retry.ts';
import { cleanText } from '../../src/github/command.ts';
import { readTrigger } from '../../src/github/event.ts';
import { decode, encode } from '../../src/memory/data.ts';
import type { Ledger } from '../../src/memory/ledger.ts';
import { composeText, readText } from '../../src/memory/text.ts';
import { checkPrLink } from '../../src/pull-request-link.ts';
import { code, fence, link } from '../../src/report/markdown.ts';
import { escapeCommands } from '../../src/runner/log.ts';
import { redactor } from '../../src/runner/secrets.ts';
import { hasVisibleText, oneLine, withoutInvisible } from '../../src/sanitize.ts';

const SIZE = 1024 * 1024;
/** Milliseconds, enough for a slow machine. Quadratic work takes minutes. */
const MAX_MS = 2000;
/** Shorter times do not show how the work grows. */
const FLOOR_MS = 200;
/** Twice the text takes linear work twice as long, and quadratic work four times. */
const MAX_GROWTH = 4;

/** The maximum length of a comment on GitHub. */
const COMMENT_LIMIT = 65_536;

/** These are repeated until the text has its size. Each is difficult for some backtracking pattern. */
const PATTERNS: Readonly<Record<string, string>> = {
  backticks: '`',
  'runs of backticks': '`a``b```c````',
  'fences and line breaks': '```\n~~~\n',
  'bracket commands': '##[',
  'half bracket commands': '##',
  'colon commands': '::\n',
  'long names of commands': '::a ',
  'line breaks': '\r\n\r',
  spaces: ' ',
  tabs: '\t',
  'wide spaces': '\u3000\u00a0\u2028',
  'spaces and letters': ' a',
  'open square brackets': '[',
  'open braces': '{"a":',
  'both brackets': '[]',
  parentheses: '(',
  'open comments': '<!--',
  'opened and closed comments': '<!-- -->',
  dashes: '-',
  'emoji with joiners': '👩\u200d💻',
  joiners: '\u200d',
  'half surrogates': '\ud83d',
  'invisible letters': '\u200b\u{e0041}\u2800',
  'controls of all kinds': '\u001b[2J\0\u202e',
  quotes: '"',
  backslashes: '\\',
  percents: '%41%',
  slashes: '/',
  'path segments': '/a.-',
  'pull requests': '/a/b/pull/1',
  'merge requests': '/-/merge_requests/1',
  'queued pull requests': '/pr-1-a',
  digits: '0',
  'ones and commas': '1, ',
  pipes: '|',
  'part of a secret': 'mint_aaaaaaa',
  letters: 'a',
  links: 'https://github.com/octo/agents/pull/1',
};

const SECRETS = ['mint_aaaaaaaaaaaaaaaaaaaaaaaab', 'aaaaaaaaaaaaaaab', 'p%41ss"w\\rd'];
const redact = redactor(SECRETS);
const GITHUB = 'https://github.com';
const REPOSITORY = `${GITHUB}/octo/agents`;

const [FIRST_LINE = '', DATA_LINE = ''] = composeText('proj-1', ledgerOf('x'), () => '').split(
  /\n+/,
);

/** Each function handles text by others, of the greatest length that it can have. */
const READERS: Readonly<Record<string, (text: string) => unknown>> = {
  escapeCommands,
  redactor: redact,
  'redactor of words in links': redactor(['pull', 'http', '1, 2'], [REPOSITORY]),
  oneLine: (text) => oneLine(text),
  hasVisibleText,
  withoutInvisible,
  'cleanText of a comment': cleanText,
  'cleanText of hidden text': (text) => cleanText(`a<!--${text}`),
  'cleanText of visible text': (text) => cleanText(`<!-->${text}-->`),
  code: (text) => code(text),
  'code of a whole comment': (text) => code(text, COMMENT_LIMIT),
  fence: (text) => fence(text),
  'fence of a whole comment': (text) => fence(text, COMMENT_LIMIT),
  link: (text) => link('x', `https://github.com/${text}`),
  'readRecord of the text': (text) => readRecord(text, redact, GITHUB),
  'readRecord of each field': (text) =>
    readRecord(
      JSON.stringify({ id: 'job-1', status: text, prLink: text, source: { repository: text } }),
      redact,
      GITHUB,
    ),
  'readRefusal of the text': (text) => readRefusal(text, redact),
  'readRefusal of its sentence': (text) => readRefusal(JSON.stringify({ error: text }), redact),
  'readRefusal of its details': (text) =>
    readRefusal(JSON.stringify({ error: '', details: text.match(/.{1,9}/gs) }), redact),
  'checkPrLink of the text': (text) => checkPrLink(text, [GITHUB, REPOSITORY]),
  'checkPrLink of its path': (text) =>
    checkPrLink(`https://github.com/${text}`, [GITHUB, REPOSITORY]),
  'checkPrLink of the repository': (text) =>
    checkPrLink('https://a.example/o/r/pull/1', [GITHUB, `https://${text}`]),
  'Retry-After': (text) => retryAfterMs(refusal([text, `Mon, ${text}`], text), Date.now()),
  'data of the text and back': (text) => decode(encode(ledgerOf(text))),
  'readText of the text': (text) => readText(text, 'proj-1'),
  'readText after a valid first line': (text) => readText(`${FIRST_LINE}\n${text}`, 'proj-1'),
  'readText before a valid last line': (text) => readText(`${text}\n${DATA_LINE}`, 'proj-1'),
  'readText of many valid last lines': (text) =>
    readText(`${FIRST_LINE}\n${`${DATA_LINE}\n`.repeat(text.length / 100)}${text}`, 'proj-1'),
  'readText of other data': (text) =>
    readText(`${FIRST_LINE}\n\n${DATA_LINE.replace(/ [^ ]+ -->$/, ` ${text} -->`)}`, 'proj-1'),
  'readTrigger of the text': (text) => readTrigger('issue_comment', Buffer.from(text)),
  'readTrigger of a branch': (text) =>
    readTrigger(
      'merge_group',
      Buffer.from(
        JSON.stringify({
          merge_group: { head_ref: `refs/heads/gh-readonly-queue/${text}/pr-1-g` },
        }),
      ),
    ),
};

function refusal(retryAfter: readonly string[], date: string): Exchange {
  return {
    kind: 'answer',
    status: 429,
    contentType: 'application/json',
    retryAfter,
    date,
    locationHost: '',
    requestId: '',
    body: { kind: 'ok', value: '' },
  };
}

function ledgerOf(text: string): Ledger {
  return {
    trimmed: null,
    jobs: [
      {
        id: 'job-1',
        record: { status: text, model: null, source: null, prLink: null },
        turns: [],
      },
    ],
  };
}

function textOf(pattern: string, size: number): string {
  return pattern.repeat(Math.ceil(size / pattern.length)).slice(0, size);
}

/** CPU time of this thread only, so that other programs do not matter. */
function millisecondsOf(work: () => unknown): number {
  const before = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(before);
  return (user + system) / 1000;
}

/** The shortest of several times, without garbage collection. */
function quickest(work: () => unknown): number {
  return Math.min(...[1, 2, 3].map(() => millisecondsOf(work)));
}

const TEXTS = Object.entries(PATTERNS).map(([name, pattern]) => ({
  name,
  whole: textOf(pattern, SIZE),
  half: textOf(pattern, SIZE / 2),
}));

/** The time for the whole text divided by that for its half. If it is high, it is measured again. */
function growthOf(reader: (text: string) => unknown, whole: string, half: string): number {
  const once = millisecondsOf(() => reader(whole)) / millisecondsOf(() => reader(half));
  if (once <= MAX_GROWTH) return once;
  return quickest(() => reader(whole)) / quickest(() => reader(half));
}

/** Each reader gets a different tenth of the patterns, and all of them in a long run. */
const EACH = process.env.MODEL_RUNS === undefined ? 10 : 1;
const CASES = Object.entries(READERS).map(([name, reader], shift) => ({
  name,
  reader,
  texts: TEXTS.filter((_, index) => (index + shift) % EACH === 0),
}));

it.each(CASES)('$name handles 1 MiB of any text in linear time', ({ reader, texts }) => {
  const slow = texts.flatMap(({ name, whole, half }) => {
    const ms = millisecondsOf(() => reader(whole));
    if (ms > MAX_MS) return [`${name}: ${Math.round(ms)} ms`];
    const growth = ms < FLOOR_MS ? 2 : growthOf(reader, whole, half);
    return growth > MAX_GROWTH
      ? [`${name}: ${growth.toFixed(1)} times as long as for half of it`]
      : [];
  });
  expect(slow).toEqual([]);
});
