import { expect, it } from 'vitest';
import { parseRecord } from '../../src/ledger/marker.ts';
import { code, fence, quotation, sentenceToMarkdown } from '../../src/markdown.ts';
import { readRecord } from '../../src/mintlify/client.ts';
import { sanitize } from '../../src/prompt/sanitize/sanitize.ts';
import { checkPrLink } from '../../src/pull-request.ts';
import { escapeCommands, redactor } from '../../src/runner/logger.ts';
import { hasVisibleText, oneLine, quote } from '../../src/text.ts';
import { parseTrigger } from '../../src/trigger/trigger.ts';
import { ok } from '../../src/value-or-problem.ts';

const SIZE = 128 * 1024;
/** Milliseconds of CPU time, enough for a slow machine. Quadratic work takes much longer. */
const MAX_MS = 1000;

/** These are repeated. Each is difficult for some backtracking pattern. */
const PATTERNS = [
  ...['`', '`a``b```c````', '```\n~~~\n', '##[', '::\n', '::a ', '\r\n\r', ' ', '\t ', '\u3000'],
  ...' a¤[¤{"a":¤<!--¤<!-- -->¤a <!-- <?¤--¤👩\u200d💻¤\ud83d¤\u200b\u2800'.split('¤'),
  ...['\u001b[2J\0', '"', '\\', '%41%', '/a.-', '/a/b/pull/1', '/pull/1'],
  ...['\u2028', '> a\na\n', '| a | b |\n', '- - - a\n', 'a ***@***.***:\n', '!['],
  ...['0', '1, ', '|', 'mint_aaaaaaa', 'a', '“', '<!-- agent-follow-up {}\n'],
];

const redact = redactor(['mint_aaaaaaaaaaaaaaaaaaaaaaaab', 'aaaaaaaaaaaaaaab', 'p%41ss"w\\rd']);
const HOST = 'https://github.com';

/** Each of these handles text by others. */
const READERS: Readonly<Record<string, (text: string) => unknown>> = {
  ...{ escapeCommands, redact, hasVisibleText, oneLine, quotation, sentenceToMarkdown, fence },
  ...{ quote: (text) => quote(text, text.length), code: (text) => code(text, text.length) },
  // GitHub accepts 65,536 characters.
  sanitize: (text) => sanitize(`a <!--${text}`.slice(0, 65_536)),
  link: (text) => checkPrLink(`${HOST}/${text}`),
  record: (text) =>
    readRecord(ok(JSON.stringify({ id: 'x', status: text })), { redact, repositoryUrl: HOST }),
  note: (text) => parseRecord(`<!-- agent-follow-up "project":"a"${text}`, 'a'),
  event: (text) => parseTrigger('issue_comment', Buffer.from(text)),
};

it.each(Object.entries(READERS))('%s handles a long text in linear time', async (_, reader) => {
  const slow: string[] = [];
  for (const pattern of PATTERNS) {
    const text = pattern.repeat(SIZE / pattern.length);
    const before = process.threadCpuUsage();
    await reader(text);
    if (process.threadCpuUsage(before).user / 1000 > MAX_MS) slow.push(pattern);
  }
  expect(slow).toEqual([]);
});
