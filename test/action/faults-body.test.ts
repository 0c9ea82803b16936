import { gzipSync } from 'node:zlib';
import { describe, expect } from 'vitest';
import { answer, type Behaviour, head, startFaultServer, whole } from '../sim/fault-server.ts';
import {
  COMPLETED,
  type Fault,
  onMessage,
  RECORD,
  type Row,
  SENT,
  type SetUp,
  SILENT,
  testFaults,
  UNKNOWN,
} from './faults.ts';
import { JOB } from './scenario.ts';

// What a body means for the message is in test/unit/retry.test.ts, and how a record is read in answers.test.ts.

const TYPE = { 'content-type': 'application/json' };
const CANARY = 'body-canary';

function body(bytes: string | Buffer | object, headers: Parameters<typeof head>[1] = TYPE): SetUp {
  return raw(answer(whole(200, bytes, headers)));
}

function raw(behaviour: Behaviour, more: Fault = {}): SetUp {
  const also: Fault['also'] = ({ log, summary, outputText }) =>
    expect(log + summary + outputText).not.toContain(CANARY);
  return onMessage(behaviour, { ...more, also });
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
    ...['gzip', 'identity, gzip', 'rot13'].map(
      (encoding): Row => [
        `the content encoding ${encoding}, which is not decoded`,
        body(gzipSync(JSON.stringify(RECORD)), { ...TYPE, 'content-encoding': encoding }),
        warned(/content encoding that was not requested/),
      ],
    ),
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
              const status = n === 3 ? 'active' : 'completed';
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
function flooded(bytes: string): SetUp {
  const chunk = Buffer.alloc(2 ** 20, ' ');
  const setUp = onMessage({ kind: 'flood', bytes, chunk, times: 1024 });
  return async (use) => {
    const { server } = await setUp(use);
    return { server, also: () => expect(server?.written).toBeLessThan(64 * 2 ** 20) };
  };
}

describe('reports an unknown delivery for a response', () => {
  const text = JSON.stringify(RECORD);
  const headers = (more: Parameters<typeof head>[1]): SetUp =>
    raw(answer(head(200, { ...TYPE, ...more }) + text, 'end'));
  const other = { ...RECORD, id: 'another' };
  // The strict parser rejects the first three before it reads the status.
  testFaults([
    ['with two lengths', headers({ 'content-length': ['2', String(text.length)] }), UNKNOWN],
    [
      'with a length and chunks',
      headers({ 'content-length': text.length, 'transfer-encoding': 'chunked' }),
      UNKNOWN,
    ],
    ['with a header of a megabyte', headers({ 'x-large': 'x'.repeat(2 ** 20) }), UNKNOWN],
    [
      'of HTML',
      body('<html><title>Log in</title></html>', { 'content-type': 'text/html' }),
      { ...UNKNOWN, error: /check the base URL and the proxy.*not sent again\./ },
    ],
    [
      'about another job, which is never polled',
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
      { ...UNKNOWN, error: /the record of another job.*not sent again\./ },
    ],
  ]);
});

describe('accepts a record', () => {
  testFaults([
    ['with a byte order mark', body(`\ufeff${JSON.stringify(RECORD)}`), SENT],
    ['without a type', body(RECORD, {}), SENT],
    [
      'with the content encoding identity',
      body(RECORD, { ...TYPE, 'content-encoding': 'identity' }),
      SENT,
    ],
  ]);
});
