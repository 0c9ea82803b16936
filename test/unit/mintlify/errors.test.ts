import { expect, it } from 'vitest';
import { explainExchange } from '../../../src/mintlify/errors.ts';
import type { Answer, Exchange } from '../../../src/mintlify/transport.ts';
import { API_URL, USAGE_URL } from '../../../src/mintlify-api.ts';

const redact = (text: string): string => text.replaceAll('s3cret', '***');

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

function explained(exchange: Exchange, doing: Doing, baseUrl = 'https://agent.example'): string {
  return explainExchange(exchange, doing, { baseUrl: new URL(baseUrl), redact });
}

const failed = { kind: 'failure', cause: 'network', why: 'reset', pauseMs: null } as const;
const lost = { ...failed, written: true };
const ODD = 'a body that is odd';
const unread: Partial<Answer> = { body: { kind: 'problem', problem: ODD } };

it.each<[Exchange, Doing, string]>([
  [answer(401, NO), 'poll', '401 when the status of the job was read: “no”. The API key is ex'],
  [answer(402, NO), 'send', `requires credits. Buy credits or allow overages at ${USAGE_URL}.`],
  [answer(403, NO), 'create', 'may lack the read or write scope, or the IP address'],
  [answer(404, NO), 'create', 'the job was to be created: “no”. Check the ID of the project'],
  [answer(409, NO), 'send', '409 to the message: “no”. Use another job.'],
  [answer(413), 'send', 'The prompt is too long; make it shorter.'],
  [answer(200, unread), 'send', '200 to the message, with a body that is odd. That is no record'],
  [answer(400, saying({ error: 'no s3cret' })), 'send', 'to the message: “no ***”.'],
  [answer(400, saying({ error: { message: 'no s3cret' } })), 'send', 'message: “no ***”.'],
  [answer(400, saying({ error: 7, message: 'no' })), 'send', 'to the message: “no”. Check'],
])('explainExchange %#: %o', (exchange, doing, words) => {
  expect(explained(exchange, doing, API_URL)).toContain(words);
});

it.each([408, 500, 503])('gives no advice on %i, which passes', (status) => {
  expect(explained(answer(status, NO), 'send')).toMatch(/^[^.]*: “no”\.$/);
});

const BEFORE = 'Something before the API, such as a proxy or firewall, answered';
const LET = 'Ask those who run it to let this runner through, or use another runner.';
const PAGE = saying('<h1>Sorry, s3cret</h1>\n::error::x');
it.each<[string, Answer, string]>([
  ['401 of a gateway', answer(401, PAGE), `${BEFORE} 401 to the message. ${LET}`],
  ['403, cut off', answer(403, unread), `${BEFORE} 403 to the message, with ${ODD}. ${LET}`],
  ['error 1015', answer(429, saying('error code: 1015')), `${BEFORE} 429 to the message.`],
  ['502', answer(502, PAGE), 'The API, or something before it, answered 502 to the message.'],
])('takes nothing but an object for words of the API: %s', (_, given, words) => {
  expect(explained(given, 'send', API_URL)).toBe(words);
});

it.each([
  [answer(404, PAGE), `404 to the message. Check the base URL, or ask those who run it`],
  [{ ...lost, written: false }, 'Check the base URL and the DNS, firewall and proxy of the'],
])('%#, names the base URL if it is not the default', (exchange, words) => {
  expect(explained(exchange, 'send')).toContain(words);
});

it('gives no other advice if the reason names the setting', () => {
  const failure: Exchange = { ...lost, written: false, cause: 'setup', why: 'set it' };
  const words = 'Could not reach the API at “agent.example”: set it.';
  expect(explained(failure, 'send')).toBe(words);
});
