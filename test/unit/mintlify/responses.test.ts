import { describe, expect, it } from 'vitest';
import { explainExchange, readRecord } from '../../../src/mintlify/responses.ts';
import type { AgentContext, Answer, Exchange } from '../../../src/mintlify/transport.ts';
import { USAGE_URL } from '../../../src/service.ts';

const redact = (text: string): string => text.replaceAll('s3cret', '***');
const REPOSITORY = 'https://github.com/octo/agents';
const FULL = { id: 'job-1', status: 'completed', prLink: `${REPOSITORY}/pull/1` };

describe('readRecord', () => {
  it.each<[string, object, object]>([
    ['reads every field, and no other', { ...FULL, extra: 1 }, { ...FULL, prNumber: 1 }],
    ['leaves out a status of another type', { id: 'a', status: 7 }, { id: 'a' }],
    ['leaves out an invisible status', { id: 'a', status: ' \u200b\n' }, { id: 'a' }],
    ...[
      [' needs\n input ', 'needs input'],
      ['x'.repeat(300), `${'x'.repeat(199)}…`],
      ['Completed\n', 'completed'],
      ['Failed\u200b', 'failed'],
    ].map(([status, shown]): [string, object, object] => [
      `reads the status ${JSON.stringify(status)}`,
      { id: 'a', status },
      { id: 'a', status: shown },
    ]),
    ['takes "" for no link', { id: 'a', prLink: '' }, { id: 'a', prLink: null, prNumber: null }],
    ...[
      ['http://b.example/o/r/pull/1', 'it is not a plain https link'],
      [{ url: FULL.prLink }, 'it is not a text'],
      [`${FULL.prLink}?${'x'.repeat(500)}`, 'it has more than 500 characters'],
    ].map(([prLink, linkProblem]): [string, object, object] => [
      `says why a link is left out: ${linkProblem}`,
      { id: 'a', prLink },
      { id: 'a', linkProblem },
    ]),
    ['removes secrets', { id: 'a', status: 's3cret' }, { id: 'a', status: '***' }],
  ])('%s', (_, body, value) => {
    expect(readRecord(JSON.stringify(body), redact, REPOSITORY)).toEqual({ kind: 'ok', value });
  });

  it('removes secrets that are escaped, but keeps the words of the API', () => {
    const hide = (text: string): string => text.replaceAll('active', '***');
    const read = (status: string) =>
      readRecord(`{"id":"a","status":"${status}"}`, hide, REPOSITORY);
    expect(read('active')).toMatchObject({ value: { status: 'active' } });
    expect(read('in\\u0061ctive')).toMatchObject({ value: { status: 'in***' } });
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
    ...{ kind: 'answer', status, contentType: '', location: '', pauseMs: null },
    ...{ body: { kind: 'ok', value: '' } },
    ...parts,
  };
}
function saying(body: unknown): Partial<Answer> {
  return { body: { kind: 'ok', value: typeof body === 'string' ? body : JSON.stringify(body) } };
}
const NO = saying({ error: 'no' });
type Doing = Parameters<typeof explainExchange>[1];

function explained(exchange: Exchange, doing: Doing, isDefaultUrl: boolean): string {
  const context = { where: '“agent.example”', isDefaultUrl, redact };
  return explainExchange(exchange, doing, context as Partial<AgentContext> as AgentContext);
}

describe('explainExchange', () => {
  const failed = { kind: 'failure', cause: 'network', why: 'reset', pauseMs: null } as const;
  const lost = { ...failed, written: true };
  const unread: Partial<Answer> = { body: { kind: 'problem', problem: 'a body that is odd' } };

  it.each<[Exchange, Doing, string]>([
    [lost, 'send', 'at “agent.example” was lost after the request was written: reset.'],
    [{ ...lost, written: false }, 'send', 'reset. Check the DNS, firewall and proxy of the'],
    [answer(429, NO), 'send', '100 messages per project and hour (100/h) from all senders'],
    [answer(401, NO), 'poll', '401 when the status of the job was read: “no”. The API key is ex'],
    [answer(402, NO), 'send', `requires credits. Buy credits or allow overages at ${USAGE_URL}.`],
    [answer(403, NO), 'create', 'may lack the read or write scope, or the IP address'],
    [answer(404, NO), 'create', 'when the job was to be created: “no”. The project has no such'],
    [answer(409, NO), 'send', '409 to the message: “no”. Use another job.'],
    [answer(413), 'send', 'The prompt is too long; make it shorter.'],
    [answer(200, unread), 'send', 'The answer had a body that is odd.'],
    [answer(200), 'send', 'with no content type, was not a record of this job.'],
    [answer(400, saying({ error: 'no s3cret' })), 'send', 'to the message: “no ***”.'],
    [answer(400, saying({ error: { message: 'no s3cret' } })), 'send', 'message: “no ***”.'],
    [answer(400, saying({ error: 7, message: 'no' })), 'send', 'to the message: “no”. Check'],
  ])('%#: %o', (exchange, doing, words) => {
    expect(explained(exchange, doing, true)).toContain(words);
  });

  it.each([408, 500, 503])('gives no advice on %i, which passes', (status) => {
    expect(explained(answer(status, NO), 'send', false)).toMatch(/^[^.]*: “no”\.$/);
  });

  const BEFORE = 'Something before the API, such as a proxy or firewall, answered';
  const LET = 'Ask those who run it to let this runner through, or use another runner.';
  const PAGE = saying('<h1>Sorry, s3cret</h1>\n::error::x');
  const REDIRECT = { location: 'https://login.example/x?key=1' };
  const NOT_FOLLOWED = 'That is a redirect to “login.example”, which is never followed.';
  it.each<[string, Answer, string]>([
    ['401 of a gateway', answer(401, PAGE), `${BEFORE} 401 to the message. ${LET}`],
    ['403 that cannot be read', answer(403, unread), `${BEFORE} 403 to the message. ${LET}`],
    ['error 1015', answer(429, saying('error code: 1015')), `${BEFORE} 429 to the message.`],
    ['502', answer(502, PAGE), 'The API, or something before it, answered 502 to the message.'],
    ['a login', answer(302, REDIRECT), `${BEFORE} 302 to the message. ${NOT_FOLLOWED} ${LET}`],
  ])('takes nothing but an object for words of the API: %s', (_, given, words) => {
    expect(explained(given, 'send', true)).toBe(words);
  });

  it.each([
    [answer(404, NO), 'or there is no such project; check the IDs and the base URL.'],
    [answer(404, PAGE), `404 to the message. Check the base URL. If it is right: ${LET}`],
    [{ ...lost, written: false }, 'Check the base URL and the DNS, firewall and proxy of the'],
  ])('%#, names the base URL if it is not the default', (exchange, words) => {
    expect(explained(exchange, 'send', false)).toContain(words);
  });

  it('gives no other advice if the reason names the setting', () => {
    const failure: Exchange = { ...lost, written: false, cause: 'setup', why: 'set it' };
    const words = 'Could not reach the API at “agent.example”: set it.';
    expect(explained(failure, 'send', false)).toBe(words);
  });
});
