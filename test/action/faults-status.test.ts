import { describe, expect } from 'vitest';
import { type PostReply, serve } from '../sim/agent.ts';
import { answer, head, startFaultServer } from '../sim/fault-server.ts';
import {
  COMPLETED,
  type Expected,
  type Fault,
  REFUSED,
  type Row,
  SENT,
  testFaults,
  UNKNOWN,
  WITH_COMMENT,
} from './faults.ts';
import { JOB, KEY } from './scenario.ts';

/** Answers one POST after the other. After the last reply, or for null, the API accepts the message. */
function replies(...list: readonly (PostReply | null)[]): Fault {
  return { agent: { onPost: (n) => list[n - 1] ?? undefined } };
}

function always(reply: PostReply, inputs: Fault['with'] = {}): Fault {
  return { with: inputs, agent: { onPost: () => reply } };
}

const withRetryAfter = (
  status: number,
  retryAfter: string | readonly string[],
  more = {},
): PostReply => ({
  status,
  headers: { 'retry-after': retryAfter, ...more },
  body: { error: 'not now' },
});

const HOSTILE = `\n::set-output name=delivery::sent\r::error::x\u001b[2J ##[add-mask]e ${'x'.repeat(5000)}`;

describe('reports the message as sent if the API answers', () => {
  const record = { id: JOB, status: 'active' };
  const empty = {
    ...SENT,
    warns: [/accepted the message \(\d+\), but returned an empty body/],
  };
  const wait = { wait: true };
  testFaults([
    ...[200, 201, 202, 203, 206, 226].map(
      (status): Row => [`${status}`, always({ status, body: record }), SENT],
    ),
    ['204', always({ status: 204 }), empty],
    [
      '204, with wait',
      { ...always({ status: 204 }), with: wait },
      { ...COMPLETED, warns: empty.warns, withinMs: 120_000 },
    ],
  ]);
});

describe('does not follow a redirect', () => {
  const error = / answered 3\d\d to the message\. That is a redirect, which is never followed; /;
  const redirected = (status: number, location: string): Row => [
    `${status} to ${location}`,
    always({ status, headers: { location } }),
    { ...REFUSED, error },
  ];
  testFaults([
    ...[301, 302, 303, 307, 308].map(
      (status): Row => [
        `${status} to another host`,
        async (use) => {
          const other = await use(serve(Date, () => ({ status: 200, body: { id: JOB } })));
          const location = `${other.origin}/x?${KEY}`;
          return {
            ...always({ status, headers: { location } }),
            also: () => expect(other.journal).toEqual([]),
          };
        },
        { ...REFUSED, error },
      ],
    ),
    [
      '307 to the same host',
      {
        agent: {
          onPost: (_, { headers, path }) => ({
            status: 307,
            headers: { location: `http://${headers.host}${path}` },
          }),
        },
        also: (_, { agent }) => expect(agent.journal).toHaveLength(1),
      },
      { ...REFUSED, error },
    ],
    redirected(307, '/elsewhere'),
    // The host could have the key in lower case.
    redirected(302, `https://${encodeURIComponent(KEY)}:x@evil.example:8443/login?to=1`),
  ]);
});

describe('does not send a refused message again:', () => {
  const hints: Readonly<Record<number, RegExp>> = {
    401: /API key is expired.*or wrong/,
    402: /wants credits, so it did not accept.*settings\/organization\/usage/,
    403: /write scope.*IP allow list/,
    404: /check the job ID, the base URL and the project ID/,
  };
  testFaults([
    ...[400, 401, 402, 403, 404, 405, 409, 410, 413, 415, 422, 425, 431].map(
      (status): Row => [
        `${status}`,
        always({ status, body: { error: 'no such luck' } }),
        {
          ...REFUSED,
          error: new RegExp(
            `^Job ${JOB}: The API answered ${status} to the message: “no such luck”.*${hints[status]?.source ?? ''}`,
          ),
        },
      ],
    ),
    [
      '400 that quotes the key, commands and control characters, and is very long',
      always(
        {
          status: 400,
          body: {
            error: `bad key ${KEY}, ${Buffer.from(KEY).toString('base64')}, ${HOSTILE}`,
          },
        },
        WITH_COMMENT,
      ),
      {
        ...REFUSED,
        error:
          /^(?!.*##\[)[^\n\r\u001b]{1,200}bad key \*\*\*, \*\*\*\S{0,4}, [^\n\r\u001b]{1,400}$/,
      },
    ],
  ]);
});

describe('waits for up to 120 s if the API limits the rate:', () => {
  const sentAfter = (atLeastMs: number): Expected => ({
    ...SENT,
    posts: 2,
    atLeastMs,
    withinMs: atLeastMs + 8000,
  });
  const refusedUntil = { ...REFUSED, error: /asks to wait until \d{4}-\d\d-\d\d \d\d:\d\d UTC/ };
  testFaults([
    ['429 for 1 s', replies(withRetryAfter(429, '1')), sentAfter(1000)],
    ['429 for 120 s', replies(withRetryAfter(429, '120')), sentAfter(120_000)],
    ['429 for an hour', always(withRetryAfter(429, '3600')), refusedUntil],
    [
      '429 until after the deadline',
      { ...always(withRetryAfter(429, '30')), with: { 'timeout-minutes': '0.4' } },
      refusedUntil,
    ],
    [
      '429 until 2 s before the deadline, after which nothing is sent',
      { ...always(withRetryAfter(429, '58')), with: { 'timeout-minutes': '1' } },
      refusedUntil,
    ],
    ['429, then 502', replies(withRetryAfter(429, '1'), { status: 502 }), { ...UNKNOWN, posts: 2 }],
    ['429 without Retry-After', replies({ status: 429 }), sentAfter(15_000)],
    [
      '429 without Retry-After each time',
      always({ status: 429, body: { error: 'slow down' } }),
      {
        ...REFUSED,
        posts: 3,
        error: /“slow down”.*100\/h.* together\. Send the message again later\.$/,
        atLeastMs: 45_000,
        withinMs: 60_000,
      },
    ],
  ]);
});

describe('does not send a message again if its delivery is unknown:', () => {
  const raw = (status: string): Row => [
    `the status ${status}`,
    async (use) => ({
      server: await use(
        startFaultServer({
          onRequest: () => answer(head(200).replace('200', status), 'end'),
        }),
      ),
    }),
    UNKNOWN,
  ];
  testFaults([
    ...[408, 499, 500, 501, 502, 503, 504, 520, 527, 599].map(
      (status): Row => [
        `${status}`,
        always({ status, body: { error: 'oh no' }, accept: status % 2 === 0 }),
        { ...UNKNOWN, error: new RegExp(`answered ${status} .*“oh no”.*not sent again\\.`) },
      ],
    ),
    ...['600', '000', '2000', 'two'].map(raw),
    [
      '502, and the job becomes active',
      { agent: { onPost: () => ({ status: 502, accept: true }) }, with: { wait: true } },
      UNKNOWN,
    ],
  ]);
});
