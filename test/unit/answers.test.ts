import { describe, expect, it } from 'vitest';
import { type Explaining, explain, readRecord } from '../../src/agent/answers.ts';
import type { Answer, Exchange } from '../../src/agent/http.ts';
import { KEYS_URL } from '../../src/inputs.ts';

const redact = (text: string): string => text.replaceAll('s3cret', '***');
const SERVER = 'https://github.com';
const FULL = {
  ...{ id: 'job-1', status: 'completed', model: 'sonnet' },
  source: { repository: 'https://github.com/octo/agents', ref: 'main' },
  prLink: 'https://github.com/octo/agents/pull/1',
  ...{ createdAt: '2026-11-21T12:00:00Z', archivedAt: null },
};

describe('readRecord', () => {
  it.each<[string, object, object]>([
    ['reads every field, and no other', { ...FULL, extra: 1 }, FULL],
    [
      'leaves out what is missing',
      { id: 'job-1', status: 'active' },
      { id: 'job-1', status: 'active' },
    ],
    [
      'leaves out what has another type',
      {
        id: 'a',
        status: 7,
        prLink: 1,
        model: {},
        source: 'x',
        createdAt: 'soon',
        archivedAt: true,
      },
      { id: 'a' },
    ],
    [
      'leaves out what is too long',
      { id: 'a', status: 'x'.repeat(65), model: 'x'.repeat(5000) },
      { id: 'a' },
    ],
    ['leaves out a status that is not a word', { id: 'a', status: 'a\nb' }, { id: 'a' }],
    ['keeps an undocumented status', { id: 'a', status: 'queued' }, { id: 'a', status: 'queued' }],
    [
      'keeps null',
      { id: 'a', prLink: null, archivedAt: null },
      { id: 'a', prLink: null, archivedAt: null },
    ],
    [
      'says why a link is left out',
      { id: 'a', prLink: 'https://evil.example/o/r/pull/1' },
      { id: 'a', linkProblem: 'it does not lead to a known code host' },
    ],
    [
      'accepts a link on the host of the source',
      {
        id: 'a',
        prLink: 'https://b.example/o/r/pull/1',
        source: { repository: 'https://b.example/o/r' },
      },
      {
        id: 'a',
        prLink: 'https://b.example/o/r/pull/1',
        source: { repository: 'https://b.example/o/r', ref: null },
      },
    ],
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
    [
      'ignores brackets in strings, and lists',
      { id: 'a', x: '[{'.repeat(200), y: Array(200).fill([]) },
      { id: 'a' },
    ],
  ])('%s', (_, body, value) => {
    expect(readRecord(JSON.stringify(body), redact, SERVER)).toEqual({ kind: 'ok', value });
  });

  it('removes secrets that are escaped, but keeps the words of the API', () => {
    const hide = (text: string): string => text.replaceAll('active', '***');
    const body = '{"id":"a","status":"active","model":"in\\u0061ctive"}';
    expect(readRecord(body, hide, SERVER)).toMatchObject({
      value: { status: 'active', model: 'in***' },
    });
  });

  it('ignores the names of prototypes', () => {
    const body = '{"id":"a","__proto__":{"status":"failed"},"constructor":{"prototype":{"x":1}}}';
    expect(readRecord(body, redact, SERVER)).toEqual({ kind: 'ok', value: { id: 'a' } });
    expect('x' in {}).toBe(false);
  });

  const NO_RECORD = 'JSON that is not a job record';
  it.each([
    ['', 'an empty body'],
    ['{"id":"jö', 'invalid JSON (10 bytes)'],
    [`{"id":"a","x":${'['.repeat(1e6)}`, 'invalid JSON (1000014 bytes)'],
    ['[]', NO_RECORD],
    ['null', NO_RECORD],
    ['"x"', NO_RECORD],
    ['7', NO_RECORD],
    ['{}', NO_RECORD],
    ['{"id":7}', NO_RECORD],
  ])('refuses %.20j', (body, problem) => {
    expect(readRecord(body, redact, SERVER)).toEqual({ kind: 'problem', problem });
  });
});

function answer(status: number, parts: Partial<Answer> = {}): Answer {
  return {
    ...{ kind: 'answer', status, contentType: '', retryAfter: [], locationHost: '' },
    ...{ body: { kind: 'ok', value: '' } },
    ...parts,
  };
}
function saying(body: unknown): Partial<Answer> {
  return { body: { kind: 'ok', value: typeof body === 'string' ? body : JSON.stringify(body) } };
}
function explained(exchange: Exchange, parts: Partial<Explaining> = {}): string {
  return explain(exchange, {
    ...{ doing: 'send', isRetried: false, where: '“agent.example”', isDefaultUrl: true },
    ...{ redact, now: Date.UTC(2026, 10, 21, 11) },
    ...parts,
  });
}

describe('explain', () => {
  const LIMIT =
    'The API accepts 100 messages per project and hour (100/h) from all senders together';
  const lost = { kind: 'failure', written: true, cause: 'network', why: 'reset' } as const;
  const unread: Partial<Answer> = { body: { kind: 'problem', problem: 'a body that is odd' } };
  const poll = { doing: 'poll' } as const;

  it.each<[Exchange, Partial<Explaining>, string]>([
    [lost, {}, 'The connection to “agent.example” was lost after the request was written: reset.'],
    [{ ...lost, written: false }, {}, 'Could not reach “agent.example”: reset.'],
    [answer(429), { isRetried: true }, `to the message. ${LIMIT}.`],
    [answer(429), {}, `to the message. ${LIMIT}; try again later.`],
    [answer(429, { retryAfter: ['3600'] }), {}, `${LIMIT}; try again after 2026-11-21 12:01 UTC.`],
    [answer(429), poll, 'a longer poll-interval-seconds may help'],
    [answer(401), {}, KEYS_URL],
    [answer(403), {}, 'lacks the write scope'],
    [answer(403), poll, 'lacks the read scope'],
    [answer(404), {}, 'not found; check job-id and project-id.'],
    [answer(404), { isDefaultUrl: false }, 'check job-id, base-url and project-id.'],
    [answer(400), {}, '400 to the message. It refuses this request'],
    [answer(408), {}, 'answered 408 to the message.'],
    [answer(425), poll, 'answered 425 when the job was polled.'],
    [answer(500), {}, 'The API itself has a problem.'],
    [answer(307, { locationHost: 'x.example' }), {}, 'redirect to “x.example”, which is never'],
    [answer(304), {}, 'a redirect, which is never followed; check base-url.'],
    [answer(200, unread), {}, 'The answer had a body that is odd.'],
    [
      answer(200, { contentType: 'text/html' }),
      {},
      'the content type “text/html”, was not a record',
    ],
    [answer(200), {}, 'with no content type, was not'],
    [answer(400, saying({ error: 'no s3cret' })), {}, 'to the message: “no ***”.'],
    [answer(502, saying({ message: 'no' })), {}, 'to the message: “no”.'],
    [answer(400, saying({ error: 7 })), {}, 'to the message. It'],
    [answer(400, saying('<html>')), {}, 'to the message. It'],
  ])('%#: %o', (exchange, parts, words) => {
    expect(explained(exchange, parts)).toContain(words);
  });
});
