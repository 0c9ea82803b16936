import { gzipSync } from 'node:zlib';
import { describe, expect } from 'vitest';
import { answer, type Behaviour, head, startFaultServer, whole } from '../sim/fault-server.ts';
import {
  COMPLETED,
  type Fault,
  type Row,
  SENT,
  SILENT,
  testFaults,
  UNKNOWN,
  WITH_COMMENT,
} from './faults.ts';
import { JOB, KEY, TOKEN } from './scenario.ts';

const RECORD = {
  id: JOB,
  status: 'active',
  source: { repository: 'https://github.com/octo/agents', ref: 'main' },
};
const TYPE = { 'content-type': 'application/json' };
const CANARY = 'body-canary';

function body(
  bytes: string | Buffer | object,
  headers: Readonly<Record<string, string>> = TYPE,
): Row[1] {
  return raw(answer(whole(200, bytes, headers)));
}

function raw(behaviour: Behaviour, more: Fault = {}): Row[1] {
  return async (use) => ({
    ...more,
    server: await use(startFaultServer({ onRequest: () => behaviour })),
    also: (result, sim) => {
      expect(result.log + result.summary + result.outputText).not.toContain(CANARY);
      more.also?.(result, sim);
    },
  });
}

/** The message is sent, and a warning says what is wrong with the response. */
const warned = (words: RegExp) => ({
  ...SENT,
  warns: [new RegExp(`^The API accepted the message \\(200\\), but returned .*${words.source}`)],
});

describe('warns if a successful response of the API contains', () => {
  testFaults([
    ['invalid JSON', body(`{"id": "${CANARY}`), warned(/invalid JSON \(19 bytes\)/)],
    ['no record', body('{}'), warned(/not a job record/)],
    ['a megabyte of nesting', body('['.repeat(2 ** 19) + ']'.repeat(2 ** 19)), warned(/JSON/)],
    ['invalid UTF-8', body(Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d])), warned(/not UTF-8/)],
  ]);
});

describe('does not decode a body with the content encoding', () => {
  const text = Buffer.from(JSON.stringify(RECORD));
  const encoded = (encoding: string, bytes: Buffer): Row => [
    encoding,
    body(bytes, { ...TYPE, 'content-encoding': encoding }),
    warned(/content encoding that was not requested/),
  ];
  testFaults([
    encoded('gzip', gzipSync(text)),
    encoded('identity, gzip', gzipSync(text)),
    encoded('rot13', text),
    ['identity, which it reads', body(text, { ...TYPE, 'content-encoding': 'identity' }), SENT],
    [
      'gzip, with a type that is not JSON',
      body(gzipSync(text), { 'content-type': 'text/html', 'content-encoding': 'gzip' }),
      UNKNOWN,
    ],
  ]);
});

describe('reads at most 1 MiB, for at most 60 s, of a body that is', () => {
  const start = head(200, { ...TYPE, 'content-length': 500 });
  const chunks = head(200, { ...TYPE, 'transfer-encoding': 'chunked' });
  const bad = warned(/\w/);
  const slow = { ...warned(/60 s/), atLeastMs: 60_000, withinMs: 62_000 };
  const tooLarge = warned(/more than 1048576 bytes/);
  const ofHtml = { 'content-type': 'text/html' };
  const drip: Behaviour = { kind: 'drip', bytes: `${start}{`, drop: ' ', everyMs: 300 };
  const trailers: Behaviour = {
    ...{ kind: 'flood', bytes: `${chunks}0\r\n`, chunk: 'x-y: z\r\n'.repeat(1000) },
    ...{ times: 1000, ending: 'end' },
  };
  testFaults([
    ['too short, and the connection ends', raw(answer(`${start}{"id":`, 'end')), bad],
    ['too short, and the connection is reset', raw(answer(`${start}{"id":`, 'reset')), bad],
    ['too short, and the connection hangs', raw(answer(`${start}{"id":`, 'hang'), SILENT), slow],
    ['sent one byte at a time', raw(drip, SILENT), slow],
    [
      'sent one byte at a time, with wait',
      async (use) => ({
        ...SILENT,
        with: { wait: true },
        server: await use(
          startFaultServer({
            onRequest: ({ method, n }) => {
              const status = n === 2 ? 'active' : 'completed';
              return method === 'POST' ? drip : answer(whole(200, { ...RECORD, status }));
            },
          }),
        ),
      }),
      { ...COMPLETED, warns: slow.warns, atLeastMs: 60_000, withinMs: 90_000 },
    ],
    ['in chunks, one with an invalid size', raw(answer(`${chunks}zz\r\n{}\r\n0\r\n\r\n`)), bad],
    ['in chunks, without the last one', raw(answer(`${chunks}2\r\n{}\r\n`, 'end')), bad],
    ['in chunks, with endless trailers', raw(trailers), bad],
    ['longer than its Content-Length', raw(answer(whole(200, RECORD).toString() + CANARY)), SENT],
    ['a gigabyte', flooded(head(200, { ...TYPE, 'content-length': 2 ** 30 })), tooLarge],
    ['a gigabyte of HTML', flooded(head(200, ofHtml)), UNKNOWN],
    ['a gigabyte after a 500', flooded(head(500, TYPE)), { ...UNKNOWN, error: /answered 500/ }],
  ]);
});

/** Sends a gigabyte, and checks that the step closes the connection much earlier. */
function flooded(bytes: string): Row[1] {
  const chunk = Buffer.alloc(2 ** 20, ' ');
  return async (use) => {
    const server = await use(
      startFaultServer({ onRequest: () => ({ kind: 'flood', bytes, chunk, times: 1024 }) }),
    );
    return { server, also: () => expect(server.written).toBeLessThan(64 * 2 ** 20) };
  };
}

describe('reports an unknown delivery if the response has ambiguous or invalid headers:', () => {
  const text = JSON.stringify(RECORD);
  const headers = (more: Parameters<typeof head>[1]) =>
    raw(answer(head(200, { ...TYPE, ...more }) + text, 'end'));
  // The strict parser rejects these responses before it reads the status.
  testFaults([
    ['two lengths', headers({ 'content-length': ['2', String(text.length)] }), UNKNOWN],
    [
      'a length and chunks',
      headers({ 'content-length': text.length, 'transfer-encoding': 'chunked' }),
      UNKNOWN,
    ],
    ['a header of a megabyte', headers({ 'x-large': 'x'.repeat(2 ** 20) }), UNKNOWN],
    [
      'ten thousand headers',
      headers({ 'x-many': Array.from({ length: 10_000 }, () => 'y'.repeat(100)) }),
      UNKNOWN,
    ],
    [
      'a reason phrase of a megabyte, which is ignored',
      raw(answer(`HTTP/1.1 200 ${'x'.repeat(2 ** 20)}\r\n\r\n`, 'end')),
      { ...SENT, warns: [/\(200\), but returned an empty body/] },
    ],
    ['a header of 8 KB, which is accepted', headers({ 'x-large': 'x'.repeat(8000) }), SENT],
  ]);
});

describe('does not accept as a response of the API', () => {
  const portal = '<html><title>Log in</title></html>';
  const headers = { 'content-type': 'text/html' };
  testFaults([
    [
      'HTML',
      body(portal, headers),
      { ...UNKNOWN, error: /check the base URL and the proxy.*not sent again\./ },
    ],
    ['a record as text', body(RECORD, { 'content-type': 'text/plain' }), UNKNOWN],
  ]);
});

describe('accepts a record', () => {
  testFaults([
    ['with a byte order mark', body(`\ufeff${JSON.stringify(RECORD)}`), SENT],
    ['without a type', body(RECORD, {}), SENT],
    [
      'of a type with a suffix',
      body(RECORD, { 'content-type': 'application/vnd.agent.v2+json' }),
      SENT,
    ],
    [
      'that quotes the secrets',
      body({
        ...{ ...RECORD, model: `${KEY} ${encodeURIComponent(KEY)}` },
        prLink: `https://github.com/octo/${TOKEN}/pull/1`,
      }),
      { ...SENT, warns: [/link of the job is left out/] },
    ],
    [
      'that contains workflow commands',
      raw(
        answer(
          whole(200, {
            ...RECORD,
            model: '\n::set-output name=delivery::unknown\r::error::x',
            source: { repository: 'x ##[add-mask]e', ref: '\u2028::add-mask::e\u001b[31m' },
            createdAt: '\r\n::stop-commands::x',
          }),
        ),
        { with: WITH_COMMENT, also: (result) => expect(result.masks).not.toContain('e') },
      ),
      SENT,
    ],
  ]);
});

describe('reports an unknown delivery for a record', () => {
  const other = { ...RECORD, id: 'another' };
  testFaults([
    [
      'of another job',
      body(other),
      { ...UNKNOWN, error: /the record of another job.*not sent again\./ },
    ],
    [
      'of another job, which is never polled',
      {
        agent: {
          jobs: [{ id: JOB, turns: [{ steps: [] }] }, { id: 'another' }],
          onPost: () => ({ body: other, accept: false }),
        },
        with: { wait: true },
        also: (_, { agent }) => {
          for (const { path } of agent.gets()) expect(path).toMatch(/\/job\/job-1$/);
        },
      },
      { ...UNKNOWN, withinMs: 40_000 },
    ],
  ]);
});
