import { expect } from 'vitest';
import { type PostReply, serve } from '../sim/agent.ts';
import {
  type Expected,
  type Fault,
  REFUSED,
  SENT,
  type SetUp,
  testFaults,
  UNKNOWN,
} from './faults.ts';
import { JOB, KEY } from './scenario.ts';

function always(reply: PostReply, inputs: Fault['with'] = {}): Fault {
  return { with: inputs, agent: { onPost: () => reply } };
}

/** Then the API accepts the message. */
function first(...replies: readonly PostReply[]): Fault {
  return { agent: { onPost: (n) => replies[n - 1] } };
}

const limited = (retryAfter: string): PostReply => ({
  status: 429,
  headers: { 'retry-after': retryAfter },
  body: { error: 'not now' },
});

const error =
  / answered 3\d\d to the message\. That is a redirect to “127\.0\.0\.1:\d+”, which is never followed\. /;
const elsewhere: SetUp = async (use) => {
  const other = await use(serve(Date, () => ({ status: 200, body: { id: JOB } })));
  const headers = { location: `${other.origin}/x?${KEY}` };
  const also = () => expect(other.journal).toEqual([]);
  return { ...always({ status: 307, headers }), also };
};
testFaults('does not follow a redirect', [['to another host', elsewhere, { ...REFUSED, error }]]);

const hostile = `\n::set-output name=delivery::sent\r::error::x\u001b[2J ##[add-mask]e ${'x'.repeat(5000)}`;
testFaults('does not send a refused message again:', [
  [
    '400 that quotes the key, commands and control characters, and is very long',
    always({ status: 400, body: { error: `bad key ${KEY}, ${hostile}` } }, { comment: true }),
    { ...REFUSED, error: /^(?!.*##\[)[^\n\r\u001b]{1,200}bad key \*\*\*, [^\n\r\u001b]{1,400}$/ },
  ],
]);

const sentAfter = (atLeastMs: number): Expected => ({
  ...{ ...SENT, posts: 2, atLeastMs, withinMs: atLeastMs + 8000 },
});
const refusedUntil = { ...REFUSED, error: /asks to wait until \d{4}-\d\d-\d\d \d\d:\d\d UTC/ };
testFaults('waits for up to 120 s if the API limits the rate:', [
  ['429 for 120 s', first(limited('120')), sentAfter(120_000)],
  ['429 for an hour', always(limited('3600')), refusedUntil],
  ['429, then 502', first(limited('1'), { status: 502 }), { ...UNKNOWN, posts: 2 }],
  [
    '429 without Retry-After each time',
    always({ status: 429, body: { error: 'slow down' } }),
    {
      ...{ ...REFUSED, posts: 3, atLeastMs: 45_000, withinMs: 60_000 },
      error:
        /“slow down”.*100\/h.* together\. Once this is fixed, start a new run with “Run workflow”\.$/,
    },
  ],
]);

const headers = { 'retry-after': '1', location: 'https://other.example/x' };
const doubtful = (status: number, inputs: Fault['with'] = {}) =>
  always({ status, headers, accept: true }, inputs);
testFaults('does not send a message again if its delivery is unknown:', [
  ['303', doubtful(303), { ...UNKNOWN, error: /303 .* redirect to “other\.example”.*not sent/ }],
  ['503 with Retry-After', doubtful(503), { ...UNKNOWN, error: /answered 503 .*not sent again/ }],
  ['502, and the job becomes active', doubtful(502, { wait: true }), UNKNOWN],
]);
