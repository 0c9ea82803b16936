import { gzipSync } from 'node:zlib';
import { expect } from 'vitest';
import { SERVICE } from '../sim/agent.ts';
import { answer, type Behaviour, head, whole } from '../sim/fault-server.ts';
import {
  type Fault,
  onMessage,
  RECORD,
  SENT,
  type SetUp,
  SILENT,
  testFaults,
  UNKNOWN,
} from './faults.ts';
import { JOB, PROJECT } from './scenario.ts';

const TWICE = 'application/json, application/json';
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

const warned = (words: RegExp) => ({
  ...{ ...SENT, warns: [RegExp(`^The API accepted the message .*returned .*${words.source}`)] },
});

testFaults('warns if a successful response of the API contains', [
  ['invalid JSON', body(`{"id": "${CANARY}`), warned(/invalid JSON \(19 bytes\)/)],
  ['invalid UTF-8', body(Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x7d])), warned(/not UTF-8/)],
  [
    'a content encoding, which is not decoded',
    body(gzipSync(JSON.stringify(RECORD)), { ...TYPE, 'content-encoding': 'gzip' }),
    warned(/not UTF-8/),
  ],
]);

const text = JSON.stringify(RECORD);
testFaults('takes no notice of headers that say nothing:', [
  ['an encoding that is none', body(text, { ...TYPE, 'content-encoding': 'utf-8' }), SENT],
  ['a type that is given twice', body(text, { 'content-type': TWICE }), SENT],
]);

const start = head(200, { ...TYPE, 'content-length': 500 });
const bad = warned(/\w/);
const slow = { ...warned(/60 s/), atLeastMs: 60_000, withinMs: 62_000 };
const tooLarge = warned(/more than 1048576 bytes/);
testFaults('reads at most 1 MiB, for at most 60 s, of a body that is', [
  ['too short, and the connection ends', raw(answer(`${start}{"id":`, 'end')), bad],
  ['too short, and the connection hangs', raw(answer(`${start}{"id":`, 'hang'), SILENT), slow],
  ['a gigabyte', flooded(head(200, { ...TYPE, 'content-length': 2 ** 30 })), tooLarge],
]);

/** Sends a gigabyte, and checks that the step closes the connection much earlier. */
function flooded(bytes: string): SetUp {
  const chunk = Buffer.alloc(2 ** 20, ' ');
  const setUp = onMessage({ kind: 'flood', bytes, chunk, times: 1024 });
  return async (use) => {
    const { server } = await setUp(use);
    return { server, also: () => expect(server?.written).toBeLessThan(64 * 2 ** 20) };
  };
}

const headers = (more: Parameters<typeof head>[1]): SetUp =>
  raw(answer(head(200, { ...TYPE, ...more }) + text, 'end'));
const other = { ...RECORD, id: 'another' };
// The strict parser rejects the first one before it reads the status.
testFaults('reports an unknown delivery for a response', [
  ['with two lengths', headers({ 'content-length': ['2', String(text.length)] }), UNKNOWN],
  [
    'of HTML',
    body('<html><title>Log in</title></html>', { 'content-type': 'text/html' }),
    { ...UNKNOWN, error: /: Something before .*Check the base URL.*not sent/ },
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
        for (const { path } of agent.gets()) expect(path).toBe(SERVICE.poll(PROJECT, JOB));
      },
    },
    { ...UNKNOWN, error: /the record of another job.*not sent again\./ },
  ],
]);
