import { describe, expect } from 'vitest';
import type { JobScript, Reply, TurnScript } from '../sim/agent.ts';
import {
  answer,
  type Behaviour,
  type Ending,
  head,
  startFaultServer,
  whole,
} from '../sim/fault-server.ts';
import {
  COMPLETED,
  type Expected,
  type Fault,
  NOT_SENT,
  type Row,
  SENT,
  SILENT,
  testFaults,
} from './faults.ts';
import { JOB, KEY } from './scenario.ts';

const OLD = 'https://github.com/octo/agents/pull/1';
const NEW = 'https://github.com/octo/agents/pull/2';
const WAIT = { wait: true } as const;
const RECORD = { id: JOB, source: { repository: 'https://github.com/octo/agents', ref: null } };

const at = (afterMs: number, status: unknown, more = {}): TurnScript['steps'][number] => ({
  afterMs,
  set: { status: status as string, ...more },
});

function job(base: JobScript['base'], ...steps: TurnScript['steps']): Fault {
  return { with: WAIT, agent: { jobs: [{ id: JOB, base: base ?? {}, turns: [{ steps }] }] } };
}

/** A wait with other responses to the n-th poll. The first poll is the baseline. */
function withPolls(onGet: (n: number) => Reply | undefined, inputs: Fault['with'] = {}): Fault {
  return { with: { ...WAIT, ...inputs }, agent: { onGet } };
}

const completed: Expected = { ...COMPLETED, withinMs: 180_000 };
function summaryShows(text: RegExp): NonNullable<Fault['also']> {
  return (result) => expect(result.summary).toMatch(text);
}

const timedOut: Expected = {
  ...SENT,
  result: 'timed-out',
  exit: 1,
  confirmed: 'false',
  error: /within 5 minutes \(timeout-minutes\)/,
  atLeastMs: 300_000,
  withinMs: 302_500,
};
const fiveMinutes = { 'timeout-minutes': '5' };

describe('waits for a job with', () => {
  const forFiveMinutes = (fault: Fault): Fault => ({
    ...fault,
    with: { ...fault.with, ...fiveMinutes },
  });
  testFaults([
    [
      'the status completed before the message, then active and completed',
      job({}, at(3000, 'active'), at(40_000, 'completed')),
      completed,
    ],
    [
      'the status failed before the message, then active and completed',
      job({ status: 'failed' }, at(9000, 'active'), at(40_000, 'completed')),
      completed,
    ],
    [
      'the status archived before the message, then active and completed',
      job({ status: 'archived' }, at(9000, 'active'), at(40_000, 'completed')),
      completed,
    ],
    [
      'the status failed before the message, then completed',
      job({ status: 'failed' }, at(20_000, 'completed')),
      completed,
    ],
    [
      'the constant status completed',
      job({}),
      {
        ...completed,
        confirmed: 'false',
        warns: [/possibly from the earlier turn/],
        atLeastMs: 60_000,
      },
    ],
    [
      'the constant status failed',
      job({ status: 'failed' }),
      {
        ...completed,
        result: 'failed',
        exit: 1,
        confirmed: 'false',
        error: /possibly from the earlier turn/,
      },
    ],
    [
      'the status archived during the wait',
      {
        ...job({}, at(1000, 'active'), at(30_000, 'archived')),
        also: (result) => expect(result.outputs.status).toBe('archived'),
      },
      { ...completed, result: 'archived', exit: 1, error: /was archived/ },
    ],
    [
      'no pull request',
      {
        ...job({}, at(0, 'active'), at(9000, 'completed')),
        also: summaryShows(/no files changed/),
      },
      completed,
    ],
    [
      'the same pull request',
      {
        ...job({ prLink: OLD }, at(0, 'active'), at(9000, 'completed')),
        also: summaryShows(/pull request updated/),
      },
      completed,
    ],
    [
      'another pull request',
      {
        ...job({ prLink: OLD }, at(0, 'active'), at(9000, 'completed', { prLink: NEW })),
        also: summaryShows(/pull request created/),
      },
      completed,
    ],
    [
      'a link to an unknown host',
      {
        ...job(
          {},
          at(0, 'active'),
          at(9000, 'completed', { prLink: 'https://evil.example/o/r/pull/1' }),
        ),
        also: (result) => expect(result.outputs['pr-link']).toBe(''),
      },
      { ...completed, warns: [/link of job job-1 is left out/] },
    ],
    ...(
      [
        ['queued', 'queued'],
        ['in upper case', 'COMPLETED'],
        ['of 4 KiB', 'completed'.repeat(455)],
        ['that is a number', 1],
        ['that is missing', undefined],
        ['that is null', null],
        ['that is a list', ['completed']],
        ['that is a workflow command', '\n::set-output name=result::completed'],
        ['with invisible characters', 'completed\u200b'],
      ] as const
    ).map(
      ([name, status]): Row => [
        `a constant status ${name}`,
        forFiveMinutes(job({}, at(0, status))),
        { ...timedOut, warns: [/status that this action does not know/] },
      ],
    ),
    [
      'an unknown status for a while',
      job({}, at(0, 'queued'), at(20_000, 'active'), at(40_000, 'completed')),
      { ...completed, warns: [/does not know/] },
    ],
  ]);
});

describe('repeats a poll that fails with', () => {
  const failed = (name: string, reply: Reply): Row => [
    name,
    withPolls((n) => (n === 2 || n === 4 ? reply : undefined)),
    completed,
  ];
  const text = { 'content-type': 'application/json' };
  testFaults([
    ...[408, 425, 429, 499, 500, 503, 599].map((status) => failed(`${status}`, { status })),
    failed('404 right after the message', { status: 404, body: { error: 'Job not found' } }),
    failed('a reset', { fault: 'reset' }),
    failed('a closed connection', { fault: 'end' }),
    failed('an empty body', { body: '' }),
    failed('204', { status: 204 }),
    failed('HTML', { body: '<html>', headers: { 'content-type': 'text/html' } }),
    failed('invalid JSON', { body: '{"id"', headers: text }),
    failed('null', { body: 'null', headers: text }),
    failed('a list', { body: [] }),
    failed('the record of another job', { body: { id: 'another', status: 'completed' } }),
    failed('a body in gzip', {
      body: Buffer.alloc(50),
      headers: { ...text, 'content-encoding': 'gzip' },
    }),
    failed('a body that is not UTF-8', { body: Buffer.from([0x22, 0xff, 0x22]), headers: text }),
    [
      'no response for 30 s',
      { ...withPolls((n) => (n === 2 ? { fault: 'hang' } : undefined)), ...SILENT },
      { ...completed, atLeastMs: 60_000 },
    ],
    [
      '429 for 30 s',
      {
        ...withPolls((n) =>
          n === 2 ? { status: 429, headers: { 'retry-after': '30' } } : undefined,
        ),
        also(_, { agent }) {
          const [, second, third] = agent.gets();
          expect((third?.at ?? 0) - (second?.at ?? 0)).toBeGreaterThanOrEqual(30_000);
        },
      },
      completed,
    ],
    [
      'seven 500 in a row, and two later',
      {
        with: WAIT,
        agent: {
          jobs: [{ id: JOB, base: { status: 'failed' } }],
          onGet: (n) => ((n > 1 && n < 9) || (n > 9 && n < 12) ? { status: 500 } : undefined),
        },
      },
      { ...completed, withinMs: 400_000 },
    ],
    [
      'eight 500 in a row, then fails',
      withPolls((n) => (n > 1 ? { status: 500 } : undefined)),
      {
        ...completed,
        result: 'error',
        exit: 1,
        confirmed: 'false',
        error: /^The message was delivered, but .*8 polls failed in a row.*500/,
        withinMs: 400_000,
      },
    ],
    [
      'eight resets in a row, then fails',
      withPolls((n) => (n > 1 ? { fault: 'reset' } : undefined)),
      {
        ...completed,
        result: 'error',
        exit: 1,
        confirmed: 'false',
        error: /^The message was delivered, but .*8 polls failed/,
        withinMs: 400_000,
      },
    ],
    [
      '429 until after the deadline',
      withPolls(
        (n) => (n > 2 ? { status: 429, headers: { 'retry-after': '7200' } } : undefined),
        fiveMinutes,
      ),
      timedOut,
    ],
    [
      '429 each time, without Retry-After, then fails',
      withPolls((n) => (n > 1 ? { status: 429 } : undefined)),
      {
        ...completed,
        result: 'error',
        exit: 1,
        confirmed: 'false',
        error: /^The message was delivered, but/,
        withinMs: 400_000,
      },
    ],
  ]);
});

describe('stops waiting at once if the API refuses a poll with', () => {
  const ended = {
    ...SENT,
    result: 'error',
    exit: 1,
    confirmed: 'false',
    withinMs: 60_000,
  } as const;
  testFaults([
    ...([401, 403, 400, 410, 302, 304, 307] as const).map(
      (status): Row => [
        `${status}`,
        {
          ...withPolls((n) =>
            n > 2 ? { status, headers: { location: `https://evil.example/${KEY}` } } : undefined,
          ),
          also: (_, { agent }) => expect(agent.gets()).toHaveLength(3),
        },
        { ...ended, error: new RegExp(`^The message was delivered, but .*answered ${status}`) },
      ],
    ),
    [
      '404 since the message, but only after 30 s',
      withPolls((n) => (n > 1 ? { status: 404 } : undefined)),
      {
        ...ended,
        error: /^The message was delivered, but .*404/,
        atLeastMs: 30_000,
        withinMs: 90_000,
      },
    ],
    [
      '404 more than 30 s after the message',
      withPolls((n) => (n > 8 ? { status: 404 } : undefined)),
      { ...ended, error: /^The message was delivered, but .*404/, withinMs: 120_000 },
    ],
  ]);
});

describe('sends nothing if the baseline poll', () => {
  const unsent = { ...NOT_SENT, attempts: 0, withinMs: 60_000 } as const;
  testFaults([
    ...[401, 403, 404, 307].map(
      (status): Row => [
        `gets ${status}`,
        withPolls(() => ({ status, headers: { location: 'https://evil.example/' } })),
        { ...unsent, error: new RegExp(`^Nothing was sent to job job-1.*answered ${status}`) },
      ],
    ),
    [
      'is reset each time',
      withPolls(() => ({ fault: 'reset' })),
      { ...unsent, error: /^Nothing was sent/ },
    ],
    [
      'hangs each time',
      { ...withPolls(() => ({ fault: 'hang' })), ...SILENT },
      { ...unsent, error: /^Nothing was sent/, withinMs: 120_000 },
    ],
    [
      'gets 500 each time',
      withPolls(() => ({ status: 500 })),
      { ...unsent, error: /^Nothing was sent .*500/, withinMs: 300_000 },
    ],
    [
      'returns another job each time',
      withPolls(() => ({ body: { id: 'another', status: 'completed' } })),
      { ...unsent, error: /^Nothing was sent/, withinMs: 300_000 },
    ],
    [
      'fails, unless it succeeds after 500 and a reset',
      withPolls((n) => (n === 1 ? { status: 500 } : n === 2 ? { fault: 'reset' } : undefined)),
      completed,
    ],
    [
      'hangs until the deadline',
      { ...withPolls(() => ({ fault: 'hang' }), { 'timeout-minutes': '0.3' }), ...SILENT },
      {
        ...unsent,
        result: expect.stringMatching(/^(timed-out|error)$/),
        withinMs: 20_000,
      },
    ],
    [
      'gets 429 until after the deadline, without a pause',
      withPolls(() => ({ status: 429, headers: { 'retry-after': '7200' } }), fiveMinutes),
      {
        ...unsent,
        result: 'timed-out',
        error:
          /^Nothing was sent .*timeout-minutes.* asks to wait until \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ \(UTC\)\.$/,
        withinMs: 5000,
      },
    ],
  ]);
});

describe('sends nothing less than 2 s before the deadline:', () => {
  testFaults(
    [{}, { wait: true }, { 'only-when': 'completed' }].map(
      (inputs): Row => [
        JSON.stringify(inputs),
        { with: { ...inputs, 'timeout-minutes': '0.033' } },
        {
          ...NOT_SENT,
          attempts: 0,
          result: 'timed-out',
          error: /^Nothing was sent .*within 1\.98 s \(timeout-minutes\)/,
        },
      ],
    ),
  );
});

describe('stops waiting at the deadline', () => {
  const record = (status: string): Buffer => whole(200, { ...RECORD, status });
  const hanging =
    (onPoll: () => Behaviour, connection?: (n: number) => Exclude<Ending, 'keep'> | undefined) =>
    async (use: Parameters<Exclude<Row[1], Fault>>[0]): Promise<Fault> => ({
      ...SILENT,
      with: { ...WAIT, 'timeout-minutes': '1' },
      server: await use(
        startFaultServer({
          ...(connection === undefined ? {} : { onConnection: connection }),
          onRequest: ({ method, n }) =>
            method === 'POST'
              ? answer(record('active'))
              : n === 1
                ? answer(record('completed'), 'end')
                : onPoll(),
        }),
      ),
    });
  const minute = {
    ...timedOut,
    error: /within 1 minute \(timeout-minutes\)/,
    atLeastMs: 60_000,
    withinMs: 62_500,
  };
  testFaults([
    [
      'between two polls',
      { ...job({}, at(0, 'active')), with: { ...WAIT, ...fiveMinutes } },
      timedOut,
    ],
    [
      'with a fixed interval that is longer',
      {
        ...job({}, at(0, 'active')),
        with: { ...WAIT, ...fiveMinutes, 'poll-interval-seconds': '3600' },
      },
      timedOut,
    ],
    [
      'during a connection that is not accepted',
      hanging(
        () => answer(''),
        (n) => (n > 2 ? 'hang' : undefined),
      ),
      minute,
    ],
    ['during a response that does not start', hanging(() => answer('', 'hang')), minute],
    [
      'during headers that do not end',
      hanging(() => answer('HTTP/1.1 200 OK\r\nx: ', 'hang')),
      minute,
    ],
    [
      'during a body that does not end',
      hanging(() =>
        answer(head(200, { 'content-type': 'application/json', 'content-length': 9 }), 'hang'),
      ),
      minute,
    ],
    [
      'during a body of one byte at a time',
      hanging(() => ({
        kind: 'drip',
        bytes: head(200, { 'content-type': 'application/json', 'content-length': 1e6 }),
        drop: ' ',
        everyMs: 30,
      })),
      minute,
    ],
    [
      'during settle-seconds',
      { ...job({}), with: { ...WAIT, 'timeout-minutes': '0.5' } },
      {
        ...timedOut,
        error: /within 30 s \(timeout-minutes\)/,
        atLeastMs: 30_000,
        withinMs: 32_500,
      },
    ],
  ]);
});
