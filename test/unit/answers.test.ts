import { describe, expect, it } from 'vitest';
import { askedPause, explain, readRecord } from '../../src/agent/answers.ts';
import type { AgentContext, Answer, Exchange } from '../../src/agent/http.ts';
import { KEYS_URL, USAGE_URL } from '../../src/mintlify.ts';

const redact = (text: string): string => text.replaceAll('s3cret', '***');
const REPOSITORY = 'https://github.com/octo/agents';
const FULL = {
  ...{ id: 'job-1', status: 'completed', model: 'sonnet' },
  source: { repository: 'https://github.com/octo/agents', ref: 'main' },
  prLink: 'https://github.com/octo/agents/pull/1',
  ...{ createdAt: '2026-11-21T12:00:00Z', archivedAt: null },
};

describe('readRecord', () => {
  it.each<[string, object, object]>([
    ['reads every field, and no other', { ...FULL, extra: 1 }, { ...FULL, prNumber: 1 }],
    [
      'leaves out what has another type',
      { ...{ id: 'a', status: 7, model: {} }, source: 'x', archivedAt: true },
      { id: 'a' },
    ],
    [
      'leaves out what is too long, or has another form',
      { id: 'a', status: ' \u200b\n', model: 'x'.repeat(5000), createdAt: 'soon' },
      { id: 'a' },
    ],
    ...[
      ['queued', 'queued'],
      [' needs\n input ', 'needs input'],
      ['état', 'état'],
      ['x'.repeat(300), `${'x'.repeat(199)}…`],
      ['Completed\n', 'completed'],
      [' ACTIVE', 'active'],
      ['Failed\u200b', 'failed'],
    ].map(([status, shown]): [string, object, object] => [
      `reads the status ${JSON.stringify(status)}`,
      { id: 'a', status },
      { id: 'a', status: shown },
    ]),
    [
      'keeps null',
      { id: 'a', prLink: null, archivedAt: null },
      { id: 'a', prLink: null, prNumber: null, archivedAt: null },
    ],
    [
      'takes an empty link for none',
      { id: 'a', prLink: '' },
      { id: 'a', prLink: null, prNumber: null },
    ],
    ...[
      ['http://b.example/o/r/pull/1', 'it is not a plain https link'],
      [{ url: FULL.prLink }, 'it is not a text'],
      [`${FULL.prLink}?${'x'.repeat(500)}`, 'it has more than 500 characters'],
    ].map(([prLink, linkProblem]): [string, object, object] => [
      `says why a link is left out: ${linkProblem}`,
      { id: 'a', prLink },
      { id: 'a', linkProblem },
    ]),
    [
      'removes secrets',
      {
        id: 'a',
        status: 's3cret',
        model: 'a s3cret',
        source: { repository: 's3cret', ref: 's3cret' },
      },
      { id: 'a', status: '***', model: 'a ***', source: { repository: '***', ref: '***' } },
    ],
  ])('%s', (_, body, value) => {
    expect(readRecord(JSON.stringify(body), redact, REPOSITORY)).toEqual({ kind: 'ok', value });
  });

  it('removes secrets that are escaped, but keeps the words of the API', () => {
    const hide = (text: string): string => text.replaceAll('active', '***');
    const body = '{"id":"a","status":"active","model":"in\\u0061ctive"}';
    const value = { id: 'a', status: 'active', model: 'in***' };
    expect(readRecord(body, hide, REPOSITORY)).toEqual({ kind: 'ok', value });
  });

  const NO_RECORD = 'JSON that is not a job record';
  it.each([
    ['', 'an empty body'],
    ['{"id":"jö', 'invalid JSON (10 bytes)'],
    [`{"id":"a","x":${'['.repeat(1e6)}`, 'invalid JSON (1000014 bytes)'],
    ['null', NO_RECORD],
    ['{"id":7}', NO_RECORD],
    ['{"error":"No s3cret job."}', `${NO_RECORD}: “No *** job.”`],
  ])('refuses %.20j', (body, problem) => {
    expect(readRecord(body, redact, REPOSITORY)).toEqual({ kind: 'problem', problem });
  });
});

function answer(status: number, parts: Partial<Answer> = {}): Answer {
  return {
    ...{ kind: 'answer', status, contentType: '', retryAfter: [], date: 0, location: '' },
    ...{ body: { kind: 'ok', value: '' } },
    ...parts,
  };
}
function saying(body: unknown): Partial<Answer> {
  return { body: { kind: 'ok', value: typeof body === 'string' ? body : JSON.stringify(body) } };
}
const NO = saying({ error: 'no' });
type Doing = Parameters<typeof explain>[1];

function explained(exchange: Exchange, doing: Doing, isDefaultUrl: boolean): string {
  const context = { where: '“agent.example”', isDefaultUrl, redact };
  return explain(exchange, doing, context as Partial<AgentContext> as AgentContext);
}

it.each([
  [['3600'], 'The API asks to wait until 2026-11-21 12:01 UTC.'],
  [[], ''],
])('askedPause with Retry-After %j', (retryAfter, expected) => {
  const context = { clock: { now: () => Date.UTC(2026, 10, 21, 11) } };
  const asked = askedPause(
    answer(429, { retryAfter }),
    context as Partial<AgentContext> as AgentContext,
  );
  expect(asked).toBe(expected);
});

describe('explain', () => {
  const lost = { kind: 'failure', written: true, cause: 'network', why: 'reset' } as const;
  const unread: Partial<Answer> = { body: { kind: 'problem', problem: 'a body that is odd' } };

  it.each<[Exchange, Doing, string]>([
    [
      lost,
      'send',
      'The connection to the API at “agent.example” was lost after the request was written: reset.',
    ],
    [
      { ...lost, written: false },
      'send',
      'Could not reach the API at “agent.example”: reset. Check the DNS, firewall and proxy of the runner.',
    ],
    [answer(429), 'send', '100 messages per project and hour (100/h) from all senders together.'],
    [answer(429), 'poll', '429 when the job was polled. The API was polled too often.'],
    [answer(401), 'send', KEYS_URL],
    [
      answer(402, saying({ error: 'No credits.' })),
      'send',
      '402 to the message: “No credits.”. The API requires credits, so it did not accept the message. ' +
        `Buy credits or allow overages at ${USAGE_URL}.`,
    ],
    [answer(403, saying({ error: 'no' })), 'create', 'may lack the write scope'],
    [answer(403, saying('null')), 'poll', 'may lack the read scope'],
    [answer(404, NO), 'send', 'The project has no such job; check the job ID and the project ID.'],
    [answer(404, NO), 'create', 'when the job was to be created: “no”. There is no such project;'],
    [
      answer(404, saying('<html>')),
      'poll',
      '“agent.example” answered 404 when the job was polled, but not as the API does; check',
    ],
    [answer(402), 'poll', '402 when the job was polled. The API requires credits. Buy'],
    [answer(409, NO), 'send', '409 to the message: “no”. Use another job.'],
    [answer(409, NO), 'create', '409 when the job was to be created: “no”.'],
    [
      answer(400),
      'send',
      '400 to the message. Check the prompt and the job in the dashboard (https',
    ],
    [answer(400), 'poll', '400 when the job was polled. Check the job in the dashboard (https'],
    [answer(413), 'send', 'The prompt is too long; make it shorter.'],
    [answer(500), 'send', 'The API itself has a problem.'],
    [answer(302), 'send', 'a redirect, which is never followed; check the base URL.'],
    [answer(304), 'poll', '304 when the job was polled. Check the base URL and the proxy.'],
    [
      { ...answer(301), location: 'https://other.example/x?key=1' },
      'poll',
      'a redirect to “other.example”, which is never followed; check the base URL.',
    ],
    [answer(200, unread), 'send', 'The answer had a body that is odd.'],
    [
      answer(200, { contentType: 'text/html' }),
      'send',
      'the content type “text/html”, was not a record of this job; check the base URL and the proxy.',
    ],
    [answer(200), 'send', 'with no content type, was not'],
    [answer(400, saying({ error: 'no s3cret' })), 'send', 'to the message: “no ***”.'],
    [answer(400, saying({ error: 7 })), 'send', 'to the message. Check'],
  ])('%#: %o', (exchange, doing, words) => {
    expect(explained(exchange, doing, true)).toContain(words);
  });

  const BLOCKED = 'Something before the API, such as a firewall, answered 403 to the message';
  const ACT = 'Ask those who run it to let this runner through, or use another runner.';
  it.each<[string, Partial<Answer>]>([
    ['a word', saying('error code: 1010')],
    ['a page', saying('<h1>Sorry, s3cret</h1>\n::error::x')],
    ['a body that cannot be read', unread],
  ])('of 403 with %s, does not blame the key', (_, body) => {
    expect(explained(answer(403, body), 'send', true)).toBe(`${BLOCKED}. ${ACT}`);
  });

  it.each([
    [answer(404, NO), 'or this is not the API; check the job ID, the project ID and the base URL.'],
    [answer(405), 'Check the prompt, the base URL and the job in the dashboard (https://app.'],
    [
      { ...lost, written: false },
      'Check the base URL and the DNS, firewall and proxy of the runner.',
    ],
  ])('%#, names the base URL if it is not the default', (exchange, words) => {
    expect(explained(exchange, 'send', false)).toContain(words);
  });

  it('gives no other advice if the reason names the setting', () => {
    const failure: Exchange = { ...lost, written: false, cause: 'setup', why: 'set it' };
    expect(explained(failure, 'send', false)).toBe(
      'Could not reach the API at “agent.example”: set it.',
    );
  });
});
