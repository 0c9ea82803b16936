import { gzipSync } from 'node:zlib';
import { expect } from 'vitest';
import { type PostReply, SERVICE, serve } from '../sim/agent.ts';
import { answer, type Behaviour, head, whole } from '../sim/fault-server.ts';
import {
  type Fault,
  limited,
  onMessage,
  RECORD,
  REFUSED,
  SENT,
  type SetUp,
  SILENT,
  testFaults,
  UNKNOWN,
} from './faults.ts';
import { JOB, KEY, PROJECT } from './scenario.ts';

function always(reply: PostReply, inputs: Fault['with'] = {}): Fault {
  return { with: inputs, agent: { onPost: () => reply } };
}

/** Then the API accepts the message. */
function first(...replies: readonly PostReply[]): Fault {
  return { agent: { onPost: (n) => replies[n - 1] } };
}

const redirected =
  / answered 3\d\d to the message\. That is a redirect to “127\.0\.0\.1:\d+”, which is never followed\. /;
const elsewhere: SetUp = async (use) => {
  const other = await use(serve(Date, () => ({ status: 200, body: { id: JOB } })));
  const headers = { location: `${other.origin}/x?${KEY}` };
  return { ...always({ status: 307, headers }), also: () => expect(other.journal).toEqual([]) };
};
const hostile = `\n::set-output name=delivery::sent\r::error::x\u001b[2J ##[add-mask]e ${'x'.repeat(5000)}`;
const quoting = { status: 400, body: { error: `bad key ${KEY}, ${hostile}` } };
const shown = /^(?!.*##\[)[^\n\r\u001b]{1,200}bad key \*\*\*, [^\n\r\u001b]{1,400}$/;
testFaults('does not send a refused message again:', [
  [
    'a long 400 with the key and commands',
    always(quoting, { comment: true }),
    { ...REFUSED, error: shown },
  ],
  ['a redirect, which is not followed', elsewhere, { ...REFUSED, error: redirected }],
]);

const sentLate = { ...SENT, posts: 2, atLeastMs: 120_000, withinMs: 128_000 };
const refusedUntil = { ...REFUSED, error: /asks to wait until \d{4}-\d\d-\d\d \d\d:\d\d UTC/ };
const refused = {
  ...{ ...REFUSED, posts: 3, atLeastMs: 45_000, withinMs: 60_000 },
  error: /“slow”.*100\/h.* as many new jobs\. Later, start a new run \(.*\)\.$/,
};
testFaults('waits for up to 120 s if the API limits the rate:', [
  ['429 for 120 s', first(limited('120')), sentLate],
  ['429 for an hour', always(limited('3600')), refusedUntil],
  ['429, then 502', first(limited('1'), { status: 502 }), { ...UNKNOWN, posts: 2 }],
  ['429 without Retry-After each time', always({ status: 429, body: { error: 'slow' } }), refused],
]);

const headers = { 'retry-after': '1', location: 'https://other.example/x' };
const doubtful = (status: number, inputs: Fault['with'] = {}) =>
  always({ status, headers, accept: true }, inputs);
testFaults('does not send a message again if its delivery is unknown:', [
  ['303', doubtful(303), { ...UNKNOWN, error: /303 .* redirect to “other\.example”.*not sent/ }],
  ['503 with Retry-After', doubtful(503), { ...UNKNOWN, error: /answered 503 .*not sent again/ }],
  ['502, and the job becomes active', doubtful(502, { wait: true }), UNKNOWN],
]);

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

const text = JSON.stringify(RECORD);
const zipped = body(gzipSync(text), { ...TYPE, 'content-encoding': 'gzip' });
testFaults('takes a successful response for a message that is sent, also with', [
  ['invalid JSON', body(`{"id": "${CANARY}`), warned(/invalid JSON \(19 bytes\)/)],
  ['a content encoding, which is not decoded', zipped, warned(/invalid JSON/)],
  ['an encoding that is none', body(text, { ...TYPE, 'content-encoding': 'utf-8' }), SENT],
  ['a type that is given twice', body(text, { 'content-type': TWICE }), SENT],
]);

const start = head(200, { ...TYPE, 'content-length': 500 });
const bad = warned(/\w/);
const slow = { ...warned(/60 s/), atLeastMs: 60_000, withinMs: 62_000 };
const tooLarge = warned(/more than 1048576 bytes/);
/** Sends a gigabyte. The step closes the connection much earlier. */
const flooded: SetUp = async (use) => {
  const bytes = head(200, { ...TYPE, 'content-length': 2 ** 30 });
  const chunk = Buffer.alloc(2 ** 20, ' ');
  const { server } = await onMessage({ bytes, flood: { chunk, times: 1024 } })(use);
  return { server, also: () => expect(server.written()).toBeLessThan(64 * 2 ** 20) };
};
testFaults('reads at most 1 MiB, for at most 60 s, of a body that is', [
  ['too short, and the connection ends', raw(answer(`${start}{"id":`, 'end')), bad],
  ['too short, and the connection hangs', raw(answer(`${start}{"id":`, 'hang'), SILENT), slow],
  ['a gigabyte', flooded, tooLarge],
]);

const written = (more: Parameters<typeof head>[1]): SetUp =>
  raw(answer(head(200, { ...TYPE, ...more }) + text, 'end'));
const html = body('<html><title>Log in</title></html>', { 'content-type': 'text/html' });
const login = { ...UNKNOWN, error: /: Something before .*Check the base URL.*not sent/ };
const about = (body: object): Fault => ({
  with: { wait: true },
  agent: {
    jobs: [{ id: JOB, turns: [{ steps: [] }] }, { id: 'another' }],
    onPost: () => ({ body, accept: false }),
  },
  also: (_, { agent }) => {
    for (const { path } of agent.gets()) expect(path).toBe(SERVICE.poll(PROJECT, JOB));
  },
});
const mistaken = { ...UNKNOWN, error: /the record of another job.*not sent again\./ };
// The strict parser rejects the first one before it reads the status.
testFaults('reports an unknown delivery for a response', [
  ['with two lengths', written({ 'content-length': ['2', String(text.length)] }), UNKNOWN],
  ['of HTML', html, login],
  ['about another job, which is never polled', about({ ...RECORD, id: 'another' }), mistaken],
]);
