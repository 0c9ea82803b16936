import { afterAll, describe, expect, it } from 'vitest';
import { explain } from '../../src/agent/explain.ts';
import type { Exchange } from '../../src/agent/http.ts';
import { systemClock } from '../../src/clock.ts';
import type { Ledger } from '../../src/memory/ledger.ts';
import { composeText, readText } from '../../src/memory/text.ts';
import { checkPrLink } from '../../src/pull-request-link.ts';
import { type Reason, reasonToText, sentence } from '../../src/reason.ts';
import { renderLedger, renderProblem } from '../../src/report/comment.ts';
import { code, fence } from '../../src/report/markdown.ts';
import { renderSummary } from '../../src/report/summary.ts';
import { escapeCommands } from '../../src/runner/log.ts';
import type { JobRecord, JobState, Turn } from '../../src/turn.ts';
import { FORGERIES } from '../sim/forgeries.ts';
import { forgedIn, type Rendered, rendered } from '../sim/rendered.ts';
import { parseCommands } from '../sim/runner/commands.ts';
import { record, START, state, turn } from './record.ts';

const SITE = { repositoryUrl: 'https://github.com/octo/agents' };
const PROJECT = 'project_1';
const COMMENT = 'https://github.com/octo/agents/pull/7#issuecomment-1';
const OWN_LINK =
  /^https:\/\/github\.com\/octo\/agents\/(?:actions\/runs\/1|pull\/1|pull\/7#issuecomment-1)$/;
const FORBIDDEN = /(?![\n\t])[\p{Cc}\p{Cf}\u2028\u2029]/u;
/** The joiners, which scripts and emoji need, may stay. */
const HIDDEN = /(?!\n|\t|\u200c|\u200d)[\p{Cc}\p{Cf}]/gu;

const RECORD = record({
  status: 'failed',
  prLink: 'https://github.com/octo/agents/pull/1',
  source: { repository: 'https://github.com/octo/agents', ref: 'main' },
});
const TURN = turn({
  by: 'alice',
  prompt: 'Say more.',
  result: 'failed',
  confirmed: true,
  prLinkChange: 'none',
  reason: sentence`The agent failed on job ${'job-1'}.`,
  sentAt: START + 5000,
  endedAt: START + 10_000,
  evidence: true,
});
const HARMLESS = 'harmless';

type Fields = Readonly<Record<string, (text: string) => string>>;

const LEDGER_FIELDS: Fields = {
  'the id of the job': (text) => comment(ledger({}, {}, text)),
  'the status': (text) => comment(ledger({ status: text })),
  'the model': (text) => comment(ledger({ model: text })),
  'the repository': (text) => comment(ledger({ source: { repository: text, ref: null } })),
  'the ref': (text) => comment(ledger({ source: { repository: 'octo/agents', ref: text } })),
  'the pull request link': (text) => comment(ledger({ prLink: checked(text) })),
  'who asked': (text) => comment(ledger({}, { by: text })),
  'the prompt': (text) => comment(ledger({}, { prompt: text.slice(0, 1000) })),
  'the reason': (text) => comment(ledger({}, { reason: quoting(text) })),
  'the reason of several jobs': (text) => comment(fleet({ reason: quoting(text) })),
  'the id of several jobs': (text) => comment(fleet({}, text)),
  'the prompts of several jobs': (text) => comment(fleet({ prompt: text.slice(0, 1000) })),
  'the prompt of a message that is sent': (text) =>
    comment(
      ledger({}, { prompt: text.slice(0, 1000), by: text, endedAt: null, delivery: 'sending' }),
    ),
  'every field': (text) =>
    comment(
      ledger(
        { model: text, source: { repository: text, ref: text }, status: text },
        { by: text, reason: quoting(text) },
      ),
    ),
};

const SUMMARY_FIELDS: Fields = {
  'the id of the job': (text) => summary({ jobId: text }),
  'the status': (text) => summary({ record: { ...RECORD, status: text } }),
  'the model': (text) => summary({ record: { ...RECORD, model: text } }),
  'the repository': (text) =>
    summary({ record: { ...RECORD, source: { repository: text, ref: null } } }),
  'the ref': (text) =>
    summary({ record: { ...RECORD, source: { repository: 'octo/agents', ref: text } } }),
  'the pull request link': (text) => summary({ record: { ...RECORD, prLink: checked(text) } }),
  'the reason': (text) => summary({ turn: { ...TURN, reason: quoting(text) } }),
  'who asked': (text) => summary({ turn: { ...TURN, by: text } }),
  'the reasons of several jobs': (text) =>
    summaryOf(
      ['a', 'b'].map((jobId) => stateWith({ jobId, turn: { ...TURN, reason: quoting(text) } })),
    ),
  'the ids of several jobs': (text) =>
    summaryOf([`a${text}`, `b${text}`].map((jobId) => stateWith({ jobId }))),
  'the problem': (text) =>
    renderSummary({
      states: [],
      problem: quoting(text),
      commentUrls: [COMMENT],
    }),
  'the answer to a command': (text) =>
    renderProblem(quoting(text), { ...SITE, runId: '1', attempt: 1 }).replace(/^.*\n/, ''),
  'a comment that was not written': (text) =>
    renderSummary({
      states: [state({ record: RECORD, turn: TURN })],
      commentUrls: [],
      unwrittenComment: renderLedger(
        ledger({ model: text }, { prompt: text, reason: quoting(text) }),
        SITE,
      ),
    }),
};

let cases = 0;

afterAll(() => console.info(`Forgeries: ${FORGERIES.length} texts, ${cases} cases in-process`));

function ledger(seen: Partial<JobRecord>, parts: Partial<Turn> = {}, id = RECORD.id): Ledger {
  const turns = ['first', 'second'].map((mark) => ({ ...TURN, mark, ...parts }));
  return { jobs: [{ id, record: { ...RECORD, ...seen }, turns }], trimmed: null };
}

/** Jobs that have nothing in common, of which one has an earlier message. */
function fleet(parts: Partial<Turn>, id = RECORD.id): Ledger {
  const one = { ...TURN, ...parts };
  const jobs = [
    {
      id: `a${id}`,
      record: RECORD,
      turns: [one, { ...one, startedAt: one.startedAt - 1, mark: 'earlier' }],
    },
    { id: `b${id}`, record: null, turns: [{ ...one, prompt: `${one.prompt}!`, by: 'bob' }] },
  ];
  return { jobs, trimmed: null };
}

function quoting(text: string): Reason {
  return sentence`The service said: ${text}.`;
}

function comment(of: Ledger): string {
  return composeText(PROJECT, of, (known) => renderLedger(known, SITE));
}

function stateWith(parts: Partial<JobState>): JobState {
  return state({ record: RECORD, turn: TURN, polls: 3, ...parts });
}

function summary(parts: Partial<JobState>): string {
  return summaryOf([stateWith(parts)]);
}

function summaryOf(states: readonly JobState[]): string {
  return renderSummary({
    states,
    commentUrls: [COMMENT],
  });
}

function checked(text: string): string | null {
  const link = checkPrLink(text, [SITE.repositoryUrl]);
  return link.kind === 'ok' ? link.value : null;
}

function isOwn(href: string): boolean {
  return OWN_LINK.test(href);
}

/** Blank texts leave out what stands around them. Of a prompt only the beginning is kept. */
function isShown(text: string): boolean {
  return code(text.slice(0, 1000).trim()) !== '';
}

/** Characters that move or hide what stands around them. */
function hiddenIn(text: string): readonly string[] {
  return text.match(HIDDEN) ?? [];
}

/** The names of the texts with which something is wrong. */
function wrong(problem: (text: string) => unknown): readonly unknown[] {
  return FORGERIES.flatMap(({ name, text }) => {
    cases += 1;
    const found = problem(text);
    const good = found === undefined || (Array.isArray(found) && found.length === 0);
    return good ? [] : [[name, found]];
  });
}

function changed(shown: Rendered, harmless: Rendered): readonly string[] {
  return shapeOf(shown) === shapeOf(harmless) ? [] : [shown.skeleton];
}

/** A prompt of several lines stands in a fence, and one that is new may stand below the heading. */
function shapeOf({ skeleton }: Rendered): string {
  return skeleton
    .replace(/<pre>(<code><\/code>)<\/pre>(?:\n<p><sub>Only the .*?<\/p>)?/g, '<p>$1</p>')
    .replace(/(asked the agent: .*?<\/p>\n)<p><code><\/code><\/p>\n/s, '$1');
}

/** What the first line and the data of a comment lack. An id that is none is never read back. */
function damagedIn(body: string, text: string): readonly unknown[] {
  const lines = body.split('\n');
  const read = readText(body, PROJECT);
  const isRead =
    typeof read === 'string'
      ? !/^[\w\-.~:@]{1,256}$/.test(`b${text}`)
      : composeText(PROJECT, read, () => '').endsWith(`\n${lines.at(-1)}`);
  const isWhole =
    /^<!-- agent-follow-up [0-9a-f]{16} -->$/.test(lines.at(0) ?? '') &&
    /^<!-- agent-follow-up data 1 [0-9a-f]{16} [\w+/=]+ -->$/.test(lines.at(-1) ?? '');
  return isWhole && isRead ? [] : [lines.at(0), lines.at(-1)?.slice(0, 200)];
}

describe('of every text, in each field of the comment', () => {
  it.each(Object.entries(LEDGER_FIELDS))('%s holds nothing but code', (field, render) => {
    const harmless = rendered(render(HARMLESS));
    expect(forgedIn(harmless, isOwn)).toEqual([]);
    const found = wrong((text) => {
      const markdown = render(text);
      // The data is long, and `damagedIn` reads it.
      const shown = rendered(markdown.replace(/(?<=\n<!-- ).*$/, 'data -->'));
      const comments = shown.comments.slice(1, -1);
      const hidden = [...hiddenIn(markdown), ...damagedIn(markdown, text)];
      const other =
        field === 'the pull request link' || !isShown(text) ? [] : changed(shown, harmless);
      return [...forgedIn(shown, isOwn), ...comments, ...hidden, ...other];
    });
    expect(found).toEqual([]);
  });
});

describe('of every text, in each field of the summary', () => {
  it.each(Object.entries(SUMMARY_FIELDS))('%s holds nothing but code', (field, render) => {
    const harmless = rendered(render(HARMLESS));
    expect(forgedIn(harmless, isOwn)).toEqual([]);
    const found = wrong((text) => {
      const markdown = render(text);
      const shown = rendered(markdown);
      const other =
        field === 'the pull request link' || !isShown(text) ? [] : changed(shown, harmless);
      return [...forgedIn(shown, isOwn), ...shown.comments, ...hiddenIn(markdown), ...other];
    });
    expect(found).toEqual([]);
  });
});

describe('of every text, in the log', () => {
  it.each<[string, (text: string) => string]>([
    ['alone', (text) => text],
    ['in a sentence', (text) => `The service said "${text}".`],
    ['after a line end', (text) => `The service said:\n${text}`],
    ['twice', (text) => `${text}${text}`],
    ['after a number sign', (text) => `#${text} ##${text}`],
    ['after a colon', (text) => `:${text}`],
    ['before a command', (text) => `${text}::error::forged ##[error]forged`],
  ])('no command is left: %s', (_, quote) => {
    const found = wrong((text) => {
      const clean = escapeCommands(quote(text));
      const forbidden = FORBIDDEN.exec(clean) ?? [];
      const [, ...further] = clean.split('\n');
      const unmarked = further.filter((line) => !line.startsWith('  | '));
      return [...parseCommands(clean), ...forbidden, ...unmarked];
    });
    expect(found).toEqual([]);
  });

  it('what is clean stays as it is', () => {
    const found = wrong((text) => {
      const [line = ''] = escapeCommands(text).split('\n');
      return escapeCommands(line) === line || line.startsWith('  | ') ? [] : [line];
    });
    expect(found).toEqual([]);
  });
});

type Answer = Extract<Exchange, { kind: 'answer' }>;

const ANSWER: Answer = {
  kind: 'answer',
  status: 400,
  contentType: 'application/json',
  retryAfter: [],
  date: '',
  locationHost: '',
  requestId: '',
  body: { kind: 'ok', value: '' },
};

function whole(json: unknown): Answer['body'] {
  return { kind: 'ok', value: typeof json === 'string' ? json : JSON.stringify(json) };
}

const ANSWERS: Readonly<Record<string, (text: string) => Partial<Answer>>> = {
  error: (text) => ({ body: whole({ error: text }) }),
  message: (text) => ({ body: whole({ message: text }) }),
  'a body': (text) => ({ body: whole(text) }),
  'the content type': (text) => ({ contentType: text }),
  'the host of a redirect': (text) => ({ locationHost: text }),
  'Retry-After': (text) => ({ retryAfter: [text] }),
};
const redact = (text: string): string => text;
const STATUSES = [200, 301, 400, 401, 403, 404, 408, 409, 429, 451, 500, 502, 503, 504];

describe('of every text, in each part of an answer', () => {
  it.each(Object.entries(ANSWERS))('%s makes one line of plain text', (_, part) => {
    const found = wrong((text) =>
      STATUSES.flatMap((status) => {
        const exchange = { ...ANSWER, status, ...part(text) };
        return (['send', 'poll'] as const).flatMap((doing) => {
          const context = { where: sentence`${'agent.example'}`, redact, clock: systemClock };
          const reason = explain(exchange, doing, false, context);
          const said = reasonToText(reason);
          const hidden = [...hiddenIn(said), ...(said.match(/[\n\t\u2028\u2029]/g) ?? [])];
          const long = said.length > 700 ? [said.length] : [];
          return [...parseCommands(escapeCommands(said)), ...hidden, ...long];
        });
      }),
    );
    expect(found).toEqual([]);
  });
});

describe('of every text', () => {
  it.each([1, 10, 200])('%i characters in a code span hold nothing else', (limit) => {
    const found = wrong((text) => {
      const shown = code(text, limit);
      const inTable = rendered(`| a |\n| --- |\n| ${shown} |`);
      const alone = rendered(shown);
      const blank = shown === '';
      const cells = inTable.skeleton.match(/<td>/g)?.length ?? 0;
      return [
        ...forgedIn(inTable, () => false),
        ...forgedIn(alone, () => false),
        ...(blank || alone.skeleton === '<p><code></code></p>' ? [] : [alone.skeleton]),
        ...(cells === 1 ? [] : [inTable.skeleton]),
      ];
    });
    expect(found).toEqual([]);
  });

  it.each([1, 2, 10, 1000])('%i characters in a fence hold nothing else', (limit) => {
    const found = wrong((text) => {
      const shown = rendered(`${fence(text, limit)}\n\nour own line`);
      const own = shown.skeleton === '<pre><code></code></pre>\n<p>our own line</p>';
      return [...forgedIn(shown, () => false), ...(own ? [] : [shown.skeleton])];
    });
    expect(found).toEqual([]);
  });
});
