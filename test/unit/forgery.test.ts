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
/** Hidden characters, except the joiners that scripts and emoji need. */
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
  'the login of the requester': (text) => comment(ledger({}, { by: text })),
  'the prompt': (text) => comment(ledger({}, { prompt: text.slice(0, 1000) })),
  'the reason': (text) => comment(ledger({}, { reason: quoting(text) })),
  'the reason of several jobs': (text) => comment(fleet({ reason: quoting(text) })),
  'the id of several jobs': (text) => comment(fleet({}, text)),
  'the prompts of several jobs': (text) => comment(fleet({ prompt: text.slice(0, 1000) })),
  'the prompt of a message that is being sent': (text) =>
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
  'the login of the requester': (text) => summary({ turn: { ...TURN, by: text } }),
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
  'the reply to a command': (text) =>
    renderProblem(quoting(text), { ...SITE, runId: '1', attempt: 1 }).replace(/^.*\n/, ''),
  'a comment that could not be written': (text) =>
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

afterAll(() => console.info(`Forgeries: ${FORGERIES.length} texts in ${cases} cases, on src/`));

function ledger(
  recordParts: Partial<JobRecord>,
  parts: Partial<Turn> = {},
  id = RECORD.id,
): Ledger {
  const turns = ['first', 'second'].map((mark) => ({ ...TURN, mark, ...parts }));
  return { jobs: [{ id, record: { ...RECORD, ...recordParts }, turns }], trimmed: null };
}

/** Two jobs without common fields. One of them has an earlier message. */
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
  return sentence`The API said: ${text}.`;
}

function comment(memory: Ledger): string {
  return composeText(PROJECT, memory, (known) => renderLedger(known, SITE));
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

/** The words around a blank text are omitted. Only the beginning of a prompt is kept. */
function isShown(text: string): boolean {
  return code(text.slice(0, 1000).trim()) !== '';
}

/** Characters that move or hide the text around them. */
function hiddenIn(text: string): readonly string[] {
  return text.match(HIDDEN) ?? [];
}

/** The names of the texts with problems, and these problems. */
function findProblems(problem: (text: string) => unknown, texts = FORGERIES): readonly unknown[] {
  return texts.flatMap(({ name, text }) => {
    cases += 1;
    const found = problem(text);
    const good = found === undefined || (Array.isArray(found) && found.length === 0);
    return good ? [] : [[name, found]];
  });
}

/** All fields render texts in the same few ways, so each one gets a half of them; in a long run, all. */
function withTexts(fields: Fields) {
  const isLong = process.env.MODEL_RUNS !== undefined;
  return Object.entries(fields).map(([field, render], shift) => ({
    ...{ field, render },
    texts: FORGERIES.filter((_, index) => isLong || (index + shift) % 2 === 0),
  }));
}

function changed(shown: Rendered, harmless: Rendered): readonly string[] {
  return shapeOf(shown) === shapeOf(harmless) ? [] : [shown.skeleton];
}

/** Ignores two allowed differences: a fence for several lines, and a new prompt below the heading. */
function shapeOf({ skeleton }: Rendered): string {
  return skeleton
    .replace(/<pre>(<code><\/code>)<\/pre>(?:\n<p><sub>Only the .*?<\/p>)?/g, '<p>$1</p>')
    .replace(/(asked the agent: .*?<\/p>\n)<p><code><\/code><\/p>\n/s, '$1');
}

/** The damaged first line and data of a comment. Data with an invalid id is never read back. */
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

describe('the comment shows any text by others only as code, in', () => {
  it.each(withTexts(LEDGER_FIELDS))('$field', ({ field, render, texts }) => {
    const harmless = rendered(render(HARMLESS));
    expect(forgedIn(harmless, isOwn)).toEqual([]);
    const found = findProblems((text) => {
      const markdown = render(text);
      // The data is long, and `damagedIn` checks it.
      const shown = rendered(markdown.replace(/(?<=\n<!-- ).*$/, 'data -->'));
      const comments = shown.comments.slice(1, -1);
      const hidden = [...hiddenIn(markdown), ...damagedIn(markdown, text)];
      const other =
        field === 'the pull request link' || !isShown(text) ? [] : changed(shown, harmless);
      return [...forgedIn(shown, isOwn), ...comments, ...hidden, ...other];
    }, texts);
    expect(found).toEqual([]);
  });
});

describe('the job summary shows any text by others only as code, in', () => {
  it.each(withTexts(SUMMARY_FIELDS))('$field', ({ field, render, texts }) => {
    const harmless = rendered(render(HARMLESS));
    expect(forgedIn(harmless, isOwn)).toEqual([]);
    const found = findProblems((text) => {
      const markdown = render(text);
      const shown = rendered(markdown);
      const other =
        field === 'the pull request link' || !isShown(text) ? [] : changed(shown, harmless);
      return [...forgedIn(shown, isOwn), ...shown.comments, ...hiddenIn(markdown), ...other];
    }, texts);
    expect(found).toEqual([]);
  });
});

describe('escapeCommands', () => {
  it.each<[string, (text: string) => string]>([
    ['alone', (text) => text],
    ['in a sentence', (text) => `The API said "${text}".`],
    ['after a line break', (text) => `The API said:\n${text}`],
    ['twice', (text) => `${text}${text}`],
    ['after a number sign', (text) => `#${text} ##${text}`],
    ['after a colon', (text) => `:${text}`],
    ['before a command', (text) => `${text}::error::forged ##[error]forged`],
  ])('leaves no workflow command in any text %s', (_, quote) => {
    const found = findProblems((text) => {
      const clean = escapeCommands(quote(text));
      const forbidden = FORBIDDEN.exec(clean) ?? [];
      const [, ...further] = clean.split('\n');
      const unmarked = further.filter((line) => !line.startsWith('  | '));
      return [...parseCommands(clean), ...forbidden, ...unmarked];
    });
    expect(found).toEqual([]);
  });

  it('does not change a line that it has already escaped', () => {
    const found = findProblems((text) => {
      const [line = ''] = escapeCommands(text).split('\n');
      return escapeCommands(line) === line || line.startsWith('  | ') ? [] : [line];
    });
    expect(found).toEqual([]);
  });
});

type Answer = Extract<Exchange, { kind: 'answer' }>;

const RESPONSE: Answer = {
  kind: 'answer',
  status: 400,
  contentType: 'application/json',
  retryAfter: [],
  date: '',
  locationHost: '',
  requestId: '',
  body: { kind: 'ok', value: '' },
};

function bodyOf(json: unknown): Answer['body'] {
  return { kind: 'ok', value: typeof json === 'string' ? json : JSON.stringify(json) };
}

const RESPONSE_PARTS: Readonly<Record<string, (text: string) => Partial<Answer>>> = {
  'the field error': (text) => ({ body: bodyOf({ error: text }) }),
  'the field message': (text) => ({ body: bodyOf({ message: text }) }),
  'the body': (text) => ({ body: bodyOf(text) }),
  'the content type': (text) => ({ contentType: text }),
  'the host of a redirect': (text) => ({ locationHost: text }),
  'the header Retry-After': (text) => ({ retryAfter: [text] }),
};
const redact = (text: string): string => text;
const STATUSES = [200, 301, 400, 401, 403, 404, 408, 409, 429, 451, 500, 502, 503, 504];

describe('explain quotes any text as one line of plain text, in', () => {
  it.each(Object.entries(RESPONSE_PARTS))('%s', (_, part) => {
    const found = findProblems((text) =>
      STATUSES.flatMap((status) => {
        const exchange = { ...RESPONSE, status, ...part(text) };
        return (['send', 'poll'] as const).flatMap((doing) => {
          const context = { where: sentence`${'agent.example'}`, redact, clock: systemClock };
          const reason = explain(exchange, doing, false, context);
          const line = reasonToText(reason);
          const hidden = [...hiddenIn(line), ...(line.match(/[\n\t\u2028\u2029]/g) ?? [])];
          const long = line.length > 700 ? [line.length] : [];
          return [...parseCommands(escapeCommands(line)), ...hidden, ...long];
        });
      }),
    );
    expect(found).toEqual([]);
  });
});

describe('any text', () => {
  it.each([1, 10, 200])('with %i characters stays inside a code span', (limit) => {
    const found = findProblems((text) => {
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

  it.each([1, 2, 10, 1000])('with %i characters stays inside a fence', (limit) => {
    const found = findProblems((text) => {
      const shown = rendered(`${fence(text, limit)}\n\nour own line`);
      const isInside = shown.skeleton === '<pre><code></code></pre>\n<p>our own line</p>';
      return [...forgedIn(shown, () => false), ...(isInside ? [] : [shown.skeleton])];
    });
    expect(found).toEqual([]);
  });
});
