import fc from 'fast-check';
import { micromark } from 'micromark';
import { gfm, gfmHtml } from 'micromark-extension-gfm';
import { describe, expect, it } from 'vitest';
import type { Exchange } from '../../src/agent/http.ts';
import { readRecord, readRefusal } from '../../src/agent/job-record.ts';
import { retryAfterMs } from '../../src/agent/retry.ts';
import { isTrusted } from '../../src/github/authorize.ts';
import { cleanText, composePrompt, readRequest } from '../../src/github/command.ts';
import { type CommentTrigger, readTrigger, type Trigger } from '../../src/github/event.ts';
import { type Ledger, type LedgerJob, toLedgerJob } from '../../src/memory/ledger.ts';
import { type CommentData, composeText, readText } from '../../src/memory/text.ts';
import { checkPrLink } from '../../src/pull-request-link.ts';
import { code, fence } from '../../src/report/markdown.ts';
import { escapeCommands } from '../../src/runner/log.ts';
import { redactor } from '../../src/runner/secrets.ts';
import { hasVisibleText, oneLine } from '../../src/sanitize.ts';
import { DELIVERIES, RESULTS, type Turn } from '../../src/turn.ts';
import { parseCommands } from '../sim/runner/commands.ts';
import { hostileText } from './hostile.ts';

const RUNS = { numRuns: Number(process.env.MODEL_RUNS ?? 700) };

const same = (text: string): string => text;

/** As GitHub renders it, but without its sanitizer, which would hide problems. */
const AS_GITHUB = { extensions: [gfm()], htmlExtensions: [gfmHtml()], allowDangerousHtml: true };
const render = (markdown: string): string => micromark(markdown, AS_GITHUB);

/** Checks many random values. If the check fails for one, fast-check shrinks and prints it. */
function always<T>(arbitrary: fc.Arbitrary<T>, check: (value: T) => void): void {
  fc.assert(fc.property(arbitrary, check), RUNS);
}

describe('Retry-After', () => {
  const NOW = new Date('2026-11-21T12:00:00Z');

  function waitFor(retryAfter: readonly string[], date = ''): number | null {
    const exchange: Exchange = {
      kind: 'answer',
      status: 429,
      contentType: '',
      retryAfter,
      date,
      locationHost: '',
      requestId: '',
      body: { kind: 'ok', value: '' },
    };
    return retryAfterMs(exchange, NOW.getTime());
  }

  const digits = fc.stringMatching(/^0{0,20}[0-9]{1,20}$/);
  const moment = fc.date({
    min: new Date('1970-01-01T00:00:00Z'),
    max: new Date('9999-12-31T23:59:59Z'),
    noInvalidDate: true,
  });
  /** HTTP dates have whole seconds. */
  const seconds = (date: Date): number => Math.floor(date.getTime() / 1000);
  const two = (most: number) =>
    fc.nat({ max: most }).map((number) => String(number).padStart(2, '0'));
  /** The parts of an HTTP date that may not exist. */
  const dateParts = fc.record({
    weekday: fc.constantFrom('Mon', 'Tue', 'Sun', 'mon', 'Xyz'),
    day: two(33),
    month: fc.constantFrom('Jan', 'Feb', 'Jun', 'Nov', 'Dec', 'nov', 'Nov.', 'Foo'),
    year: fc.oneof(
      fc.constantFrom('1969', '2026'),
      fc.integer({ min: 1000, max: 9999 }).map(String),
    ),
    hour: two(25),
    minute: two(65),
    // A leap second can be read as the next second, or as invalid.
    second: two(65).filter((second) => second !== '60'),
    zone: fc.constantFrom('GMT', 'GMT', 'UTC', '+0000', 'gmt', ''),
  });

  it('reads digits as seconds, however many there are', () => {
    always(digits, (text) => {
      // If Date cannot represent the time, it only has to be far away.
      const expected = Math.min(Number(text) * 1000, 9e14);
      expect(Math.min(waitFor([text]) ?? -1, 9e14)).toBe(expected);
    });
  });

  it('compares a date with the Date header of the response, or else with the current time', () => {
    always(fc.tuple(moment, moment), ([at, sent]) => {
      const wait = (from: Date) => Math.max(0, seconds(at) - seconds(from)) * 1000;
      expect(waitFor([at.toUTCString()], sent.toUTCString())).toBe(wait(sent));
      expect(waitFor([at.toUTCString()])).toBe(wait(NOW));
    });
  });

  it('ignores a date that does not exist', () => {
    always(dateParts, ({ weekday, day, month, year, hour, minute, second, zone }) => {
      const text = `${weekday}, ${day} ${month} ${year} ${hour}:${minute}:${second} ${zone}`;
      const number = ['Jan', 'Feb', 'Jun', 'Nov', 'Dec'].indexOf(month);
      const iso = `${year}-${['01', '02', '06', '11', '12'][number]}-${day}T${hour}:${minute}`;
      const at = new Date(`${iso}:${second}.000Z`);
      const exists =
        zone === 'GMT' &&
        ['Mon', 'Tue', 'Sun'].includes(weekday) &&
        !Number.isNaN(at.getTime()) &&
        at.toISOString().startsWith(iso);
      const expected = exists ? Math.max(0, at.getTime() - NOW.getTime()) : null;
      expect(waitFor([text])).toBe(expected);
    });
  });

  it('uses the largest of several values, and ignores invalid ones', () => {
    const junk = fc.oneof(
      hostileText,
      fc.constantFrom('-1', '+1', '1.5', '1e3', '0x10', ' ', '', 'Infinity', '１２', '1, 3', '1s'),
      moment.map((date) => date.toISOString()),
    );
    const short = fc.nat({ max: 100_000 });
    always(fc.tuple(fc.array(junk), fc.array(short)), ([others, waits]) => {
      const values = [
        ...others.filter((text) => !/^\s*[0-9]+\s*$/.test(text)),
        ...waits.map(String),
      ];
      const expected = waits.length === 0 ? null : Math.max(...waits) * 1000;
      expect(waitFor(values)).toBe(expected);
    });
  });
});

describe('the response body of the API', () => {
  const FIELDS = ['id', 'status', 'prLink', 'model', 'source', 'createdAt', 'archivedAt'];
  const value = fc.oneof(
    fc.jsonValue(),
    hostileText,
    fc.constantFrom('job-1', 'active', 'completed', 'x'.repeat(5000)),
    fc.record({ repository: hostileText, ref: fc.option(hostileText) }),
  );
  const key = fc.constantFrom(
    ...FIELDS,
    'error',
    'message',
    '__proto__',
    'constructor',
    'prototype',
  );
  /** Not by JSON.stringify of an object, so that `__proto__` can be a key. */
  const object = fc.array(fc.tuple(key, value), { maxLength: 10 }).map((pairs) => {
    const fields = pairs.map(([name, field]) => `${JSON.stringify(name)}:${JSON.stringify(field)}`);
    return `{"id":"job-1"${fields.map((field) => `,${field}`).join('')}}`;
  });
  const body = fc.oneof(
    { weight: 3, arbitrary: object },
    fc.json(),
    hostileText,
    object.map((text) => text.slice(0, -3)),
  );

  const SERVER_URL = 'https://github.com';

  function isText(field: unknown): boolean {
    return field === null || (typeof field === 'string' && field.length <= 4096);
  }

  it('becomes a record with valid fields, or a problem', () => {
    always(body, (text) => {
      const read = readRecord(text, same, SERVER_URL);
      expect(({} as { x?: unknown }).x).toBeUndefined();
      if (read.kind === 'problem') {
        // The problem does not quote the body.
        expect(read.problem).toMatch(
          /^(an empty body|invalid JSON \(\d+ bytes\)|JSON that is not a job record)$/,
        );
      }
      if (read.kind !== 'ok') return;
      const { id, status, prLink, linkProblem, model, source, createdAt, archivedAt, ...more } =
        read.value;
      expect(Object.keys(more)).toEqual([]);
      expect(typeof id).toBe('string');
      expect(status ?? 'none').toMatch(/^[\w-]{1,64}$/);
      expect([prLink, linkProblem, model, createdAt, archivedAt].every(isText)).toBe(true);
      expect(prLink === null || linkProblem === null).toBe(true);
      expect(source === null || (isText(source.ref) && isText(source.repository))).toBe(true);
    });
  });

  it('keeps the values of a valid record', () => {
    // No field is longer than its limit.
    const upTo = (limit: number) => fc.option(hostileText.map((text) => text.slice(0, limit)));
    const record = fc.record({
      id: hostileText,
      status: fc.constantFrom('active', 'completed', 'archived', 'failed', 'queued', null),
      prLink: fc.constantFrom(null, 'https://github.com/octo/agents/pull/1'),
      model: upTo(400),
      source: fc.option(fc.record({ repository: hostileText, ref: upTo(400) })),
      createdAt: upTo(40),
      archivedAt: upTo(40),
    });
    always(record, (sent) => {
      expect(readRecord(JSON.stringify(sent), same, SERVER_URL)).toEqual({
        kind: 'ok',
        value: { ...sent, linkProblem: null },
      });
    });
  });

  it('provides the texts of an error unchanged, or none', () => {
    always(
      fc.oneof(
        body,
        fc.jsonValue().map((error) => JSON.stringify({ error })),
        fc.jsonValue().map((details) => JSON.stringify({ error: 'no', details })),
      ),
      (text) => {
        expect(readRefusal(text, same).every((part) => typeof part === 'string')).toBe(true);
      },
    );
    always(hostileText, (text) => {
      const body = JSON.stringify({ error: text, details: [text] });
      expect(readRefusal(body, same)).toEqual(text === '' ? [] : [text, text]);
    });
  });
});

describe('a pull request link', () => {
  const HOSTS = ['github.com', 'gitlab.com', 'bitbucket.org', 'ghe.example', 'git.example:8443'];
  const host = fc.oneof(
    {
      weight: 3,
      arbitrary: fc.constantFrom(...HOSTS, 'GITHUB.com', 'evil.example', 'github.com.'),
    },
    fc.constantFrom(
      'github.com@evil.example',
      'a:b@github.com',
      '[::1]',
      '127.0.0.1',
      'gıthub.com',
    ),
    fc
      .array(fc.constantFrom(...'ab.-_~!$&\'()*+,;="{}`^|%<>[] \\'), { minLength: 1, maxLength: 4 })
      .map((parts) => `a${parts.join('')}b`),
    hostileText,
  );
  const segment = fc.oneof(
    fc.constantFrom(
      'octo',
      'agents',
      'pull',
      '1',
      '-',
      'merge_requests',
      'pull-requests',
      '..',
      '.',
    ),
    fc.constantFrom('%2e%2e', '%2f', '%7bid%7d', '(x)', '[y]', '<z>', '', '0', '٣', 'a\tb', 'a b'),
    hostileText,
  );
  const path = fc.oneof(
    {
      weight: 3,
      arbitrary: fc.constantFrom(
        '/o/r/pull/1',
        '/g/s/p/-/merge_requests/2',
        '/w/r/pull-requests/3',
      ),
    },
    fc
      .tuple(segment, segment, fc.constantFrom('pull', 'pull-requests'), segment)
      .map((all) => `/${all.join('/')}`),
    fc.array(segment, { maxLength: 7 }).map((all) => `/${all.join('/')}`),
  );
  const url = fc.oneof(
    {
      weight: 8,
      arbitrary: fc
        .record({
          scheme: fc.oneof(
            { weight: 5, arbitrary: fc.constant('https://') },
            fc.constantFrom('http://', 'HTTPS://', 'javascript:', '//', 'https:/'),
          ),
          host,
          path,
          rest: fc.oneof(
            { weight: 4, arbitrary: fc.constant('') },
            fc.constantFrom('/', '?a=b', '#c', '/files', '/(', '\n'),
          ),
        })
        .map((parts) => `${parts.scheme}${parts.host}${parts.path}${parts.rest}`),
    },
    // fast-check's own arbitrary takes a second before the first URL.
    fc.stringMatching(
      /^https?:\/\/[a-z\d]{1,8}(\.[a-z]{2,6}){1,2}(\/([\w.~!$&'()*+,;=:@-]|%[\dA-F]{2}){0,9}){0,5}$/,
    ),
    hostileText,
  );
  const anyLinks = fc.record({ link: url, serverUrl: url, repository: fc.option(url) });
  /** The same host everywhere, as in a link that is crafted to be accepted. */
  const sameHost = fc.tuple(host, path, path).map(([name, one, other]) => ({
    link: `https://${name}${one}`,
    serverUrl: 'https://github.com',
    repository: `https://${name}${other}`,
  }));

  it('is accepted only if it is https to a pull request on a known code host', () => {
    always(fc.oneof(anyLinks, sameHost), ({ link, serverUrl, repository }) => {
      const checked = checkPrLink(link, [serverUrl, repository ?? '']);
      if (checked.kind !== 'ok' || checked.value === null) return;
      expect(checked.value).not.toMatch(/[()<>[\]\s"'`{}|\\^$;&*!?#\p{C}]/u);
      const found = new URL(checked.value);
      expect(found.href).toBe(checked.value);
      expect(found.protocol).toBe('https:');
      expect(found.username + found.password + found.search + found.hash).toBe('');
      const known = [serverUrl, repository ?? ''].flatMap((known) => URL.parse(known)?.host ?? []);
      expect([...HOSTS.slice(0, 3), ...known]).toContain(found.host);
      expect(found.pathname).toMatch(/\/(pull|-\/merge_requests|pull-requests)\/[1-9]\d{0,9}$/i);
      expect(found.pathname).not.toMatch(/\/\.+(\/|$)/);
    });
  });

  it('is kept unchanged if it is plain', () => {
    const name = fc.stringMatching(/^[\w-][\w.-]{0,20}$/);
    always(fc.tuple(name, name, fc.integer({ min: 1, max: 2 ** 31 })), ([owner, repo, number]) => {
      const link = `https://github.com/${owner}/${repo}/pull/${number}`;
      const checked = checkPrLink(link, []);
      expect(checked).toEqual({ kind: 'ok', value: link });
    });
  });
});

describe('the data of a comment', () => {
  const text = fc.option(hostileText);
  const EPOCH = Date.UTC(2026, 10, 21);
  const time = fc.integer({ min: EPOCH, max: Date.UTC(2099) });
  const line = fc.option(hostileText.map((text) => oneLine(text)));
  const digits = fc.stringMatching(/^\d{1,20}$/);
  const written = fc.record({
    ...{ origin: hostileText, leg: hostileText, mark: hostileText, owner: hostileText },
    ownerLeg: hostileText,
    ownerPromptHash: hostileText,
    writes: fc.nat(),
    by: text,
    prompt: hostileText,
    promptHash: hostileText,
    delivery: fc.constantFrom('sending', ...DELIVERIES),
    result: fc.constantFrom(...RESULTS),
    confirmed: fc.option(fc.boolean()),
    prLinkChange: fc.constantFrom('created', 'updated', 'none'),
    reason: fc.array(hostileText, { maxLength: 4 }),
    // Times count from the earliest possible start of a turn.
    startedAt: fc.constant(EPOCH),
    sentAt: fc.option(time),
    endedAt: fc.option(time),
    base: fc.option(fc.record({ status: text, prLink: text, archivedAt: text })),
    evidence: fc.boolean(),
    runId: digits,
    attempt: fc.nat().map((before) => before + 1),
    wasFinal: fc.constant(false),
    finalSince: fc.constant(null),
    seenAt: fc.constant(0),
  });
  /** A turn that has not ended has no result. */
  const turn: fc.Arbitrary<Turn> = written.map((one) =>
    one.endedAt === null ? { ...one, result: 'error', reason: [] } : one,
  );
  /** One copy of each turn, the newest first. */
  const inOrder = ({ id, record, turns }: LedgerJob): LedgerJob => toLedgerJob(id, record, turns);
  const job: fc.Arbitrary<LedgerJob> = fc
    .record<LedgerJob>({
      id: fc.stringMatching(/^[\w\-~:@]{1,256}$/),
      record: fc.record({
        status: text,
        model: line,
        source: fc.option(
          fc.record({ repository: hostileText.map((text) => oneLine(text)), ref: line }),
        ),
        prLink: fc.option(fc.constant('https://github.com/octo/agents/pull/7')),
      }),
      turns: fc.array(turn, { maxLength: 3 }),
    })
    .map(inOrder);
  const ledger: fc.Arbitrary<Ledger> = fc.record({
    jobs: fc.array(job, { maxLength: 3 }),
    trimmed: fc.option(digits),
  });
  const none: CommentData = 'none';

  it('is read as it was written, whatever the visible text is', () => {
    always(fc.tuple(ledger, hostileText, hostileText), ([saved, project, visible]) => {
      const body = composeText(project, saved, () => visible);
      expect(readText(body, project)).toEqual(saved);
      expect(readText(body, `${project}x`)).toEqual(none);
    });
  });

  it('is not found in any other text', () => {
    always(hostileText, (body) => {
      expect(readText(body, 'proj-1')).toEqual(none);
      for (const like of [body, `data 1 ${body}`, `data 1 0123456789abcdef ${body}`]) {
        expect(readText(`<!-- agent-follow-up ${like} -->`, 'proj-1')).toEqual(none);
      }
    });
  });

  it('is read completely or not at all if someone changed it', () => {
    const cut = fc.tuple(ledger, fc.nat(), fc.nat({ max: 5 }), hostileText);
    always(cut, ([saved, offset, count, inserted]) => {
      const body = composeText('proj-1', saved, () => 'The visible text.');
      const at = offset % body.length;
      const changed = body.slice(0, at) + inserted + body.slice(at + count);
      const read = readText(changed, 'proj-1');
      if (typeof read !== 'string') expect(read).toEqual(saved);
    });
  });
});

describe('the log', () => {
  it('contains no command in escaped text', () => {
    always(hostileText, (text) => {
      const shown = escapeCommands(text);
      expect(parseCommands(shown)).toEqual([]);
      expect(parseCommands(`Job ${shown}`)).toEqual([]);
      expect(shown).not.toMatch(/(?![\n\t])[\p{Cc}\p{Cf}]/u);
    });
  });

  it('shows plain text unchanged', () => {
    always(fc.stringMatching(/^[\w .,;"'()/#-]{0,60}$/), (text) => {
      expect(escapeCommands(text)).toBe(text);
    });
  });
});

describe('redactor', () => {
  /** Characters of each width in UTF-8, and some of several code points. */
  const grapheme = fc.oneof(
    ...[
      [0x21, 0x7e],
      [0xc0, 0x24f],
      [0x3041, 0x3096],
      [0x1f600, 0x1f64f],
    ].map(([min = 0, max = 0]) =>
      fc.integer({ min, max }).map((code) => String.fromCodePoint(code)),
    ),
    fc.constantFrom('e\u0301', '\u{1f469}\u200d\u{1f4bb}', '\u{1f1e8}\u{1f1ed}', '\u0928\u093f'),
  );
  // Without asterisks: the mask consists of them, so the remaining text could form the secret again.
  // Only as long as each offset and remainder of base64 needs: long patterns are slow.
  const secret = fc.oneof(
    fc.stringMatching(/^[\x21-\x29\x2b-\x7e]{8,20}$/),
    fc
      .array(grapheme, { minLength: 8, maxLength: 14 })
      .map((parts) => parts.join('').replaceAll('*', '+')),
  );
  const bytes = fc.uint8Array({ maxLength: 20 });

  it('removes each secret: unchanged, in JSON and in a URL', () => {
    always(
      fc.tuple(fc.array(secret, { minLength: 1, maxLength: 2 }), hostileText, hostileText),
      ([secrets, before, after]) => {
        const forms = secrets.flatMap((one) => [
          one,
          JSON.stringify(one).slice(1, -1),
          encodeURIComponent(one),
        ]);
        // All forms in one text: most of the time is spent on the pattern.
        const shown = redactor(secrets)(forms.map((form) => before + form + form + after).join(''));
        expect(forms.filter((form) => shown.includes(form))).toEqual([]);
      },
    );
  });

  it('removes a secret in base64 at any byte offset', () => {
    always(fc.tuple(secret, bytes, bytes), ([one, before, after]) => {
      const all = Buffer.concat([before, Buffer.from(one), after]);
      const shown = redactor([one])(all.toString('base64'));
      const parts = shown.split('***');
      expect(parts.length).toBeGreaterThan(1);
      for (const part of parts) {
        for (const shift of [0, 1, 2, 3]) {
          expect(Buffer.from(part.slice(shift), 'base64').includes(one)).toBe(false);
        }
      }
    });
  });

  it('does not change a text without a secret', () => {
    always(fc.tuple(secret, fc.stringMatching(/^[a-f ]{0,60}$/)), ([one, text]) => {
      if (!text.includes(one)) expect(redactor([`${one}!`])(text)).toBe(text);
    });
  });
});

describe('Markdown', () => {
  const asHtml = (text: string): string =>
    text
      .replaceAll('&', '&amp;')
      .replaceAll('<', '&lt;')
      .replaceAll('>', '&gt;')
      .replaceAll('"', '&quot;');
  const limit = fc.oneof(fc.constant(200), fc.integer({ min: 1, max: 30 }));

  it('oneLine returns one line within its limit, without invisible characters', () => {
    always(fc.tuple(hostileText, limit), ([text, most]) => {
      const line = oneLine(text, most);
      expect(line).not.toMatch(
        /[\p{Cc}\p{Zl}\p{Zp}\u202a-\u202e\u2066-\u2069\u200b\u{e0000}-\u{e007f}]/u,
      );
      expect(line.length).toBeLessThanOrEqual(most);
      expect(line.isWellFormed()).toBe(true);
    });
  });

  const TABLE_HEAD =
    '<table>\n<thead>\n<tr>\n<th>a</th>\n<th>b</th>\n</tr>\n</thead>\n<tbody>\n<tr>\n';
  const TABLE_END = '\n<td>z</td>\n</tr>\n</tbody>\n</table>';

  it('code renders as one code element, in a sentence and in a table', () => {
    always(hostileText, (text) => {
      const span = code(text);
      expect(span).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}|]/u);
      if (span === '') return;
      const element = `<code>${asHtml(oneLine(text).replaceAll('|', '¦'))}</code>`;
      const shown = render(`x ${span} y\n\n| a | b |\n| --- | --- |\n| ${span} | z |`);
      expect(shown).toBe(`<p>x ${element} y</p>\n${TABLE_HEAD}<td>${element}</td>${TABLE_END}`);
    });
  });

  it('fence renders as one code element that ends at the right line', () => {
    always(fc.tuple(hostileText, limit), ([text, most]) => {
      const block = fence(text, most);
      expect(block).not.toMatch(/(?!\n|\t|\u200c|\u200d)[\p{Cc}\p{Cf}]/u);
      const inside = block.slice(block.indexOf('\n') + 1, block.lastIndexOf('\n'));
      expect(inside.length).toBeLessThanOrEqual(most);
      expect(render(`before\n${block}\n*after*`)).toBe(
        `<p>before</p>\n<pre><code class="language-text">${asHtml(inside)}\n</code></pre>\n<p><em>after</em></p>`,
      );
    });
  });

  it('hasVisibleText is true if a line of the text has visible characters', () => {
    always(hostileText, (text) => {
      const left = oneLine(text, 1000).replace(/\u200c|\u200d|\ufe0f|\ufffd|\s/g, '');
      const shown = text.toWellFormed().replaceAll('\ufffd', '');
      expect(hasVisibleText(shown)).toBe(left !== '');
    });
  });
});

describe('the event', () => {
  const COMMENT_EVENTS = [
    'issue_comment',
    'pull_request_review',
    'pull_request_review_comment',
  ] as const;
  const CONVERSATION_EVENTS = ['issues', 'pull_request', 'pull_request_target', ...COMMENT_EVENTS];
  const EVENTS = [
    ...CONVERSATION_EVENTS,
    'workflow_run',
    'check_run',
    'check_suite',
    'merge_group',
    'push',
  ];
  const event = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...EVENTS) },
    fc.constantFrom('', 'constructor', 'toString', '__proto__', 'hasOwnProperty'),
  );
  const odd = fc.oneof(fc.jsonValue(), hostileText);
  const number = fc.oneof(
    fc.integer({ min: 1 }),
    fc.double(),
    fc.constantFrom('1', null, 0, -1, 1e300, 2 ** 53),
  );
  /** Each field may be missing or have any other type. */
  const oddly = (fields: Readonly<Record<string, fc.Arbitrary<unknown>>>): fc.Arbitrary<unknown> =>
    fc.oneof(
      { weight: 8, arbitrary: fc.record(fields) },
      { weight: 2, arbitrary: fc.record(fields, { requiredKeys: [] }) },
      odd,
    );
  const issue = oddly({ number });
  const repository = oddly({ id: fc.constantFrom(1, 2) });
  const run = oddly({
    pull_requests: fc.array(oddly({ number, base: oddly({ repo: repository }) })),
  });
  const startedBy = fc.oneof(fc.constantFrom('push', 'schedule', 'pull_request', 'issues'), odd);
  const headRef = fc.oneof(
    hostileText,
    fc
      .tuple(hostileText, fc.integer())
      .map(([branch, pr]) => `refs/heads/gh-readonly-queue/${branch}/pr-${pr}-abc0`),
  );
  const account = oddly({
    login: fc.oneof(hostileText, fc.constant('renovate[bot]')),
    id: number,
    type: fc.constantFrom('User', 'Bot'),
  });
  const comment = oddly({
    id: number,
    node_id: odd,
    body: odd,
    user: account,
    performed_via_github_app: fc.oneof(fc.constant(null), odd),
    path: odd,
    line: number,
    diff_hunk: odd,
  });
  const payload = oddly({
    action: odd,
    issue,
    pull_request: oddly({ number, head: oddly({ repo: repository }) }),
    workflow_run: oddly({ event: startedBy, head_repository: repository, pull_requests: odd }),
    check_run: run,
    check_suite: run,
    merge_group: oddly({ head_ref: headRef }),
    comment,
    review: comment,
    sender: account,
    repository,
  });
  const file = fc.oneof(
    { weight: 6, arbitrary: payload.map((value) => JSON.stringify(value)) },
    fc.json(),
    fc.uint8Array(),
    fc.constant(null),
  );

  function read(name: string, content: string | Uint8Array | null): Trigger {
    return readTrigger(name, typeof content === 'string' ? Buffer.from(content) : content);
  }

  function isPositive(value: unknown): boolean {
    return Number.isSafeInteger(value) && (value as number) > 0;
  }

  // Three checks in one test, because creating random events takes most of the time.
  it('has a positive number or none, a complete comment or none, and is trusted only by its name or if it cannot come from a fork', () => {
    const expectWhole = ({ comment, conversation }: Trigger): void => {
      if (comment === null) return;
      expect(isPositive(conversation)).toBe(true);
      expect([comment.id, comment.author.id, comment.sender.id].every(isPositive)).toBe(true);
      const texts = [comment.action, comment.nodeId, comment.body, comment.author.type];
      expect(texts.every((text) => typeof text === 'string')).toBe(true);
    };
    // A missing field throws, and then the event is not trusted.
    const isFromHere = (name: string, content: string | Uint8Array | null): boolean => {
      try {
        const payload = JSON.parse(String(content));
        const { pull_request: pull, workflow_run: run, sender, repository } = payload;
        const isHere = ({ id }: { id: unknown }) => isPositive(id) && id === repository.id;
        return name === 'pull_request'
          ? isHere(pull.head.repo) && sender.type === 'Bot' && sender.login.endsWith('[bot]')
          : isHere(run.head_repository) && ['push', 'schedule'].includes(run.event);
      } catch {
        return false;
      }
    };
    always(fc.tuple(event, file), ([name, content]) => {
      const trigger = read(name, content);
      expect(trigger.event).toBe(name);
      expect(trigger.conversation === null || isPositive(trigger.conversation)).toBe(true);
      const isComment = (COMMENT_EVENTS as readonly string[]).includes(name);
      expect(trigger.comment !== null).toBe(isComment && trigger.problem === null);
      expectWhole(trigger);
      const trusted = isTrusted(trigger);
      if (name === 'push' || name === 'merge_group') expect(trusted).toBe(true);
      else if (trusted) expect(isFromHere(name, content)).toBe(true);
    });
  });

  it('has a conversation if its payload has one', () => {
    always(fc.tuple(fc.integer({ min: 1, max: 2 ** 31 }), hostileText), ([pr, body]) => {
      const user = { login: 'octocat', id: 1, type: 'User' };
      const written = { id: 7, body, user, performed_via_github_app: null };
      const numbered = { number: pr };
      const payload = {
        issue: numbered,
        pull_request: numbered,
        comment: written,
        review: written,
      };
      const content = JSON.stringify({ ...payload, sender: user });
      for (const name of CONVERSATION_EVENTS) {
        const trigger = read(name, content);
        expect(trigger.conversation).toBe(pr);
        expect(trigger.comment?.body ?? body).toBe(body);
      }
    });
  });
});

describe('the command', () => {
  const person = fc.oneof(
    { weight: 3, arbitrary: fc.constant({ login: 'octocat', id: 1, type: 'User' }) },
    fc.record({
      login: hostileText,
      id: fc.constantFrom(1, 2),
      type: fc.constantFrom('User', 'Bot'),
    }),
  );
  const body = fc.oneof(
    {
      weight: 4,
      arbitrary: fc
        .tuple(
          fc.constantFrom('/agent', '/Agent ', '/AGENT\n', ' /agent ', '/agents '),
          hostileText,
        )
        .map((parts) => parts.join('')),
    },
    hostileText,
  );
  const comment: fc.Arbitrary<CommentTrigger> = fc.record({
    kind: fc.constantFrom('comment', 'review-comment', 'review'),
    action: fc.constantFrom(
      'created',
      'submitted',
      'created',
      'submitted',
      'edited',
      'deleted',
      '',
    ),
    conversation: fc.constant(7),
    id: fc.constant(7),
    nodeId: fc.constant(''),
    body,
    author: person,
    sender: person,
    viaApp: fc.oneof({ weight: 5, arbitrary: fc.constant(false) }, fc.constant(true)),
    context: fc.constant(null),
  });

  it('is accepted only at the start of a new comment by a person', () => {
    always(comment, (given) => {
      const request = readRequest(given, { command: '/agent', allowedBots: new Set() });
      if (request.kind === 'problem') {
        expect(request.problem).toMatch(/^[^\p{Cc}]+\.$/u);
        return;
      }
      expect(given.action).toBe(given.kind === 'review' ? 'submitted' : 'created');
      expect(given.body).toMatch(/^\/agent(\s|$)/i);
      expect([given.author.type, given.sender.type, given.viaApp]).toEqual(['User', 'User', false]);
      expect(given.sender.id).toBe(given.author.id);
      if (request.value !== '') expect(hasVisibleText(request.value)).toBe(true);
    });
  });

  it('has a prompt without hidden text', () => {
    always(hostileText, (text) => {
      const cleaned = cleanText(text);
      expect(cleaned).not.toMatch(
        /(?![\n\t])[\p{Cc}\u202a-\u202e\u2066-\u2069\u200b\u{e0000}-\u{e007f}]/u,
      );
      expect(cleaned.isWellFormed()).toBe(true);
    });
    // With an invisible character inside, `<!--` is visible text.
    const comments = fc.constantFrom(
      '<',
      '!',
      '-',
      '--',
      '>',
      '<!--',
      '-->',
      '--!>',
      '\n',
      'a',
      ' ',
    );
    always(fc.array(comments, { maxLength: 20 }), (parts) => {
      const cleaned = cleanText(parts.join(''));
      expect(cleaned).not.toContain('<!--');
      expect(cleanText(cleaned)).toBe(cleaned);
    });
  });

  it('keeps the text around HTML comments', () => {
    const shown = fc.stringMatching(/^[\w .,()#@`*-]{0,20}[\w.]$/);
    const hidden = fc.stringMatching(/^ [\w .,()#@`*\n]{0,20} $/).map((text) => `<!--${text}-->`);
    always(fc.tuple(fc.array(fc.tuple(shown, hidden)), shown), ([pairs, last]) => {
      const text = pairs.flat().join('') + last;
      expect(cleanText(text)).toBe(pairs.map(([one]) => one).join('') + last);
    });
  });

  it('quotes the code of its diff hunk in one block', () => {
    always(fc.tuple(hostileText, fc.stringMatching(/^[a-z]{1,9}$/)), ([diffHunk, path]) => {
      const hunk = cleanText(diffHunk);
      const prompt = composePrompt('', 'x', { path, line: 3, diffHunk });
      if (hunk === '') return;
      expect(render(prompt)).toMatch(
        /^(<p>[^<]*<\/p>\n){2}<pre><code class="language-diff">[^<]*<\/code><\/pre>$/,
      );
    });
  });
});
