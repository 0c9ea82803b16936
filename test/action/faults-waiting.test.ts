import { describe, expect } from 'vitest';
import type { AgentOptions, JobScript, Reply, TurnScript } from '../sim/agent.ts';
import { schedule } from '../sim/events.ts';
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

const WAIT = { wait: true } as const;
const READ_ONLY = { ...WAIT, send: 'false', prompt: '' } as const;
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
  error: /within 5 min/,
  atLeastMs: 300_000,
  withinMs: 302_500,
};
const fiveMinutes = { 'timeout-minutes': '5' };

describe('waits for a job with', () => {
  testFaults([
    [
      'the status active, then completed',
      job({}, at(3000, 'active'), at(40_000, 'completed')),
      completed,
    ],
    [
      'the status archived during the wait',
      {
        ...job({}, at(1000, 'active'), at(30_000, 'archived')),
        also: (result) => expect(result.outputs.status).toBe('archived'),
      },
      { ...completed, result: 'archived', exit: 1, error: /the job is archived; use another/ },
    ],
    [
      'no pull request',
      {
        ...job({}, at(0, 'active'), at(9000, 'completed')),
        also: summaryShows(/no pull request/),
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
      { ...completed, warns: [/link of the job is left out/] },
    ],
    ...(
      [
        ['queued', 'queued'],
        ['that is missing', undefined],
        ['that is a workflow command', '\n::set-output name=result::completed'],
      ] as const
    ).map(
      ([name, status]): Row => [
        `a constant status ${name}`,
        {
          ...job({}, at(0, status)),
          with: { ...WAIT, ...fiveMinutes },
          // Once, not with each poll.
          also: ({ stdout }) =>
            expect(stdout.match(/no status|does not know|from before/g)).toHaveLength(1),
        },
        { ...timedOut, warns: [/no status|status that this action does not know/] },
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
  testFaults([
    ...[408, 425, 429, 500, 503].map((status) => failed(`${status}`, { status })),
    failed('404 right after the message', { status: 404, body: { error: 'Job not found' } }),
    failed('a reset', { fault: 'reset' }),
    failed('an empty body', { body: '' }),
    failed('the record of another job', { body: { id: 'another', status: 'completed' } }),
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
  ]);
});

/** The polls fail for this long, from two minutes after the first one. The agent works for 15 minutes. */
function outage(minutes: number, reply: Reply, inputs: Fault['with'] = {}): Fault {
  let start = 0;
  const onGet: AgentOptions['onGet'] = (n, { at: now }) => {
    start ||= now;
    const minute = (now - start) / 60_000;
    if (minute > 2 && minute < 2 + minutes) return reply;
    const isBase = n === 1 && inputs.send !== 'false';
    return { body: { ...RECORD, status: isBase || minute > 15 ? 'completed' : 'active' } };
  };
  return { with: { ...WAIT, ...inputs }, agent: { onGet } };
}

describe('waits through an outage of', () => {
  const survived = { ...COMPLETED, atLeastMs: 900_000, withinMs: 990_000 };
  const lost = (error: RegExp): Expected => ({
    ...{ ...COMPLETED, result: 'error', exit: 1, confirmed: 'false' },
    ...{ error, atLeastMs: 720_000, withinMs: 800_000 },
  });
  const late = (error: RegExp): Expected => ({ ...timedOut, error });
  testFaults([
    ['9 minutes of 503', outage(9, { status: 503 }), survived],
    ['9 minutes of resets', outage(9, { fault: 'reset' }), survived],
    [
      '9 minutes with send: false',
      outage(9, { status: 503 }, READ_ONLY),
      { ...survived, posts: 0, delivery: 'not-sent', confirmed: '' },
    ],
    [
      'a minute of resets from the first poll, with send: false on a schedule',
      {
        with: { ...READ_ONLY, 'pr-number': '' },
        step: { event: schedule() },
        agent: { onGet: (n) => (n < 8 ? { fault: 'reset' } : undefined) },
      },
      { ...COMPLETED, posts: 0, delivery: 'not-sent', confirmed: '', withinMs: 200_000 },
    ],
    [
      'an hour of 503, but fails after 10 minutes',
      outage(60, { status: 503 }),
      lost(/The message was delivered, but .*\d\d polls failed in a row.*answered 503/),
    ],
    [
      'resets until the deadline',
      outage(60, { fault: 'reset' }, fiveMinutes),
      late(/within 5 min.*The last poll failed: .*reset/),
    ],
    [
      '429 until after the deadline',
      outage(60, { status: 429, headers: { 'retry-after': '7200' } }, fiveMinutes),
      late(/within 5 min.*The last poll failed: .*429/),
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
    ...([401, 403, 400, 302, 307] as const).map(
      (status): Row => [
        `${status}`,
        {
          ...withPolls((n) =>
            n > 2 ? { status, headers: { location: `https://evil.example/${KEY}` } } : undefined,
          ),
          also: (_, { agent }) => expect(agent.gets()).toHaveLength(3),
        },
        { ...ended, error: new RegExp(`The message was delivered, but .*answered ${status}`) },
      ],
    ),
    [
      '404 since the message, but only after 30 s',
      withPolls((n) => (n > 1 ? { status: 404 } : undefined)),
      {
        ...ended,
        error: /The message was delivered, but .*404/,
        atLeastMs: 30_000,
        withinMs: 90_000,
      },
    ],
    [
      '404 with send: false, but only after 30 s',
      withPolls(() => ({ status: 404 }), READ_ONLY),
      {
        ...NOT_SENT,
        attempts: 0,
        error: /polls failed in a row.*404/,
        atLeastMs: 30_000,
        withinMs: 90_000,
      },
    ],
  ]);
});

describe('sends nothing if the poll before the message', () => {
  const unsent = (error: RegExp, withinMs = 300_000): Expected => ({
    ...{ ...NOT_SENT, attempts: 0, error, withinMs },
  });
  const hangs = { fault: 'hang' } as const;
  testFaults([
    ...[401, 403, 404, 307].map(
      (status): Row => [
        `gets ${status}`,
        withPolls(() => ({
          status,
          headers: { location: 'https://evil.example/' },
          body: { error: 'No.' },
        })),
        unsent(new RegExp(`: The API answered ${status}`), 10_000),
      ],
    ),
    [
      'hangs each time',
      { ...withPolls(() => hangs), ...SILENT },
      unsent(/no answer within 30 s/, 182_000),
    ],
    [
      'gets 500 each time',
      withPolls(() => ({ status: 500 })),
      unsent(/: 8 polls failed in a row\. The API answered 500/),
    ],
    [
      'fails, unless it succeeds after 500 and a reset',
      withPolls((n) => (n === 1 ? { status: 500 } : n === 2 ? { fault: 'reset' } : undefined)),
      completed,
    ],
    [
      'gets 429 for more than two minutes, without a pause',
      withPolls(() => ({ status: 429, headers: { 'retry-after': '121' } }), fiveMinutes),
      unsent(/429.* asks to wait until \d{4}-\d\d-\d\d \d\d:\d\d UTC\.$/, 5000),
    ],
    [
      'gets 429 until after the deadline, without a pause',
      withPolls(() => ({ status: 429, headers: { 'retry-after': '61' } }), {
        'timeout-minutes': '1',
      }),
      {
        ...unsent(
          /within .*1 min.* asks to wait until \d{4}-\d\d-\d\d \d\d:\d\d UTC\. To wait/,
          5000,
        ),
        result: 'timed-out',
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
          error: /could not be sent within 2 s/,
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
    error: /within 1 min/,
    atLeastMs: 60_000,
    withinMs: 62_500,
  };
  testFaults([
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
        error: /within 30 s/,
        atLeastMs: 30_000,
        withinMs: 32_500,
      },
    ],
  ]);
});
