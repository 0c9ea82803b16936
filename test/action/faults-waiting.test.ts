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

/** The n-th look is answered otherwise; the first one comes before the message. */
function looks(onGet: (n: number) => Reply | undefined, inputs: Fault['with'] = {}): Fault {
  return { with: { ...WAIT, ...inputs }, agent: { onGet } };
}

const done: Expected = { ...COMPLETED, withinMs: 180_000 };
function shows(words: RegExp): NonNullable<Fault['also']> {
  return (result) => expect(result.summary).toMatch(words);
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
const five = { 'timeout-minutes': '5' };

describe('what the job shows', () => {
  const within = (fault: Fault): Fault => ({ ...fault, with: { ...fault.with, ...five } });
  testFaults([
    [
      'completed before, active, completed',
      job({}, at(3000, 'active'), at(40_000, 'completed')),
      done,
    ],
    [
      'failed before, active, completed',
      job({ status: 'failed' }, at(9000, 'active'), at(40_000, 'completed')),
      done,
    ],
    [
      'archived before, active, completed',
      job({ status: 'archived' }, at(9000, 'active'), at(40_000, 'completed')),
      done,
    ],
    [
      'failed before, and completed without a pause',
      job({ status: 'failed' }, at(20_000, 'completed')),
      done,
    ],
    [
      'completed for ever',
      job({}),
      { ...done, confirmed: 'false', warns: [/possibly from the earlier turn/], atLeastMs: 60_000 },
    ],
    [
      'failed for ever',
      job({ status: 'failed' }),
      {
        ...done,
        result: 'failed',
        exit: 1,
        confirmed: 'false',
        error: /possibly from the earlier turn/,
      },
    ],
    [
      'archived during the wait',
      {
        ...job({}, at(1000, 'active'), at(30_000, 'archived')),
        also: (result) => expect(result.outputs.status).toBe('archived'),
      },
      { ...done, result: 'archived', exit: 1, error: /was archived/ },
    ],
    [
      'no pull request',
      { ...job({}, at(0, 'active'), at(9000, 'completed')), also: shows(/no files changed/) },
      done,
    ],
    [
      'the same pull request',
      {
        ...job({ prLink: OLD }, at(0, 'active'), at(9000, 'completed')),
        also: shows(/pull request updated/),
      },
      done,
    ],
    [
      'another pull request',
      {
        ...job({ prLink: OLD }, at(0, 'active'), at(9000, 'completed', { prLink: NEW })),
        also: shows(/pull request created/),
      },
      done,
    ],
    [
      'a link to elsewhere',
      {
        ...job(
          {},
          at(0, 'active'),
          at(9000, 'completed', { prLink: 'https://evil.example/o/r/pull/1' }),
        ),
        also: (result) => expect(result.outputs['pr-link']).toBe(''),
      },
      { ...done, warns: [/link of job job-1 is left out/] },
    ],
    ...(
      [
        ['queued', 'queued'],
        ['in capitals', 'COMPLETED'],
        ['of 4 KiB', 'completed'.repeat(455)],
        ['that is a number', 1],
        ['that is missing', undefined],
        ['that is null', null],
        ['that is a list', ['completed']],
        ['that is a command', '\n::set-output name=result::completed'],
        ['with invisible characters', 'completed\u200b'],
      ] as const
    ).map(
      ([name, status]): Row => [
        `a status ${name}, for ever`,
        within(job({}, at(0, status))),
        { ...timedOut, warns: [/status that this action does not know/] },
      ],
    ),
    [
      'an odd status for a while',
      job({}, at(0, 'queued'), at(20_000, 'active'), at(40_000, 'completed')),
      { ...done, warns: [/does not know/] },
    ],
  ]);
});

describe('a poll that fails is repeated', () => {
  const broken = (name: string, reply: Reply): Row => [
    name,
    looks((n) => (n === 2 || n === 4 ? reply : undefined)),
    done,
  ];
  const text = { 'content-type': 'application/json' };
  testFaults([
    ...[408, 425, 429, 499, 500, 503, 599].map((status) => broken(`${status}`, { status })),
    broken('404 right after the message', { status: 404, body: { error: 'Job not found' } }),
    broken('a reset', { fault: 'reset' }),
    broken('the end', { fault: 'end' }),
    broken('nothing', { body: '' }),
    broken('204', { status: 204 }),
    broken('HTML', { body: '<html>', headers: { 'content-type': 'text/html' } }),
    broken('invalid JSON', { body: '{"id"', headers: text }),
    broken('null', { body: 'null', headers: text }),
    broken('a list', { body: [] }),
    broken('the record of another job', { body: { id: 'another', status: 'completed' } }),
    broken('a body in gzip', {
      body: Buffer.alloc(50),
      headers: { ...text, 'content-encoding': 'gzip' },
    }),
    broken('a body that is not UTF-8', { body: Buffer.from([0x22, 0xff, 0x22]), headers: text }),
    [
      'nothing, for 30 s',
      { ...looks((n) => (n === 2 ? { fault: 'hang' } : undefined)), ...SILENT },
      { ...done, atLeastMs: 60_000 },
    ],
    [
      '429 for 30 s',
      {
        ...looks((n) => (n === 2 ? { status: 429, headers: { 'retry-after': '30' } } : undefined)),
        also(_, { agent }) {
          const [, second, third] = agent.gets();
          expect((third?.at ?? 0) - (second?.at ?? 0)).toBeGreaterThanOrEqual(30_000);
        },
      },
      done,
    ],
    [
      'seven times in a row, and again later',
      {
        with: WAIT,
        agent: {
          jobs: [{ id: JOB, base: { status: 'failed' } }],
          onGet: (n) => ((n > 1 && n < 9) || (n > 9 && n < 12) ? { status: 500 } : undefined),
        },
      },
      { ...done, withinMs: 400_000 },
    ],
    [
      'eight times in a row',
      looks((n) => (n > 1 ? { status: 500 } : undefined)),
      {
        ...done,
        result: 'error',
        exit: 1,
        confirmed: 'false',
        error: /^The message was delivered, but .*8 polls failed in a row.*500/,
        withinMs: 400_000,
      },
    ],
    [
      'eight times in a row, by the network',
      looks((n) => (n > 1 ? { fault: 'reset' } : undefined)),
      {
        ...done,
        result: 'error',
        exit: 1,
        confirmed: 'false',
        error: /^The message was delivered, but .*8 polls failed/,
        withinMs: 400_000,
      },
    ],
    [
      '429 for longer than remains',
      looks((n) => (n > 2 ? { status: 429, headers: { 'retry-after': '7200' } } : undefined), five),
      timedOut,
    ],
    [
      '429 for ever, without a time',
      looks((n) => (n > 1 ? { status: 429 } : undefined)),
      {
        ...done,
        result: 'error',
        exit: 1,
        confirmed: 'false',
        error: /^The message was delivered, but/,
        withinMs: 400_000,
      },
    ],
  ]);
});

describe('a poll that is refused ends the wait at once', () => {
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
          ...looks((n) =>
            n > 2 ? { status, headers: { location: `https://evil.example/${KEY}` } } : undefined,
          ),
          also: (_, { agent }) => expect(agent.gets()).toHaveLength(3),
        },
        { ...ended, error: new RegExp(`^The message was delivered, but .*answered ${status}`) },
      ],
    ),
    [
      '404 for ever',
      looks((n) => (n > 1 ? { status: 404 } : undefined)),
      {
        ...ended,
        error: /^The message was delivered, but .*404/,
        atLeastMs: 30_000,
        withinMs: 90_000,
      },
    ],
    [
      '404 after 30 s',
      looks((n) => (n > 8 ? { status: 404 } : undefined)),
      { ...ended, error: /^The message was delivered, but .*404/, withinMs: 120_000 },
    ],
  ]);
});

describe('a baseline poll that fails', () => {
  const unsent = { ...NOT_SENT, attempts: 0, withinMs: 60_000 } as const;
  testFaults([
    ...[401, 403, 404, 307].map(
      (status): Row => [
        `${status}: nothing is sent`,
        looks(() => ({ status, headers: { location: 'https://evil.example/' } })),
        { ...unsent, error: new RegExp(`^Nothing was sent to job job-1.*answered ${status}`) },
      ],
    ),
    [
      'resets for ever: nothing is sent',
      looks(() => ({ fault: 'reset' })),
      { ...unsent, error: /^Nothing was sent/ },
    ],
    [
      'hangs for ever: nothing is sent',
      { ...looks(() => ({ fault: 'hang' })), ...SILENT },
      { ...unsent, error: /^Nothing was sent/, withinMs: 120_000 },
    ],
    [
      '500 for ever: nothing is sent',
      looks(() => ({ status: 500 })),
      { ...unsent, error: /^Nothing was sent .*500/, withinMs: 300_000 },
    ],
    [
      'another job for ever: nothing is sent',
      looks(() => ({ body: { id: 'another', status: 'completed' } })),
      { ...unsent, error: /^Nothing was sent/, withinMs: 300_000 },
    ],
    [
      '500 and a reset, then a record',
      looks((n) => (n === 1 ? { status: 500 } : n === 2 ? { fault: 'reset' } : undefined)),
      done,
    ],
    [
      'hangs until the deadline: nothing is sent',
      { ...looks(() => ({ fault: 'hang' }), { 'timeout-minutes': '0.3' }), ...SILENT },
      {
        ...unsent,
        result: expect.stringMatching(/^(timed-out|error)$/),
        withinMs: 20_000,
      },
    ],
    [
      '429 for longer than remains: nothing is sent, and nothing waited for',
      looks(() => ({ status: 429, headers: { 'retry-after': '7200' } }), five),
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

describe('with less than 2 s left', () => {
  testFaults(
    [{}, { wait: true }, { 'only-when': 'completed' }].map(
      (inputs): Row => [
        `no message goes out: ${JSON.stringify(inputs)}`,
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

describe('the deadline is kept', () => {
  const record = (status: string): Buffer => whole(200, { ...RECORD, status });
  const hanging =
    (onLook: () => Behaviour, connection?: (n: number) => Exclude<Ending, 'keep'> | undefined) =>
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
                : onLook(),
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
    ['in the sleep', { ...job({}, at(0, 'active')), with: { ...WAIT, ...five } }, timedOut],
    [
      'with a fixed interval beyond it',
      { ...job({}, at(0, 'active')), with: { ...WAIT, ...five, 'poll-interval-seconds': '3600' } },
      timedOut,
    ],
    [
      'in a connection that is not taken',
      hanging(
        () => answer(''),
        (n) => (n > 2 ? 'hang' : undefined),
      ),
      minute,
    ],
    ['in an answer that does not come', hanging(() => answer('', 'hang')), minute],
    ['in headers that do not end', hanging(() => answer('HTTP/1.1 200 OK\r\nx: ', 'hang')), minute],
    [
      'in a body that does not end',
      hanging(() =>
        answer(head(200, { 'content-type': 'application/json', 'content-length': 9 }), 'hang'),
      ),
      minute,
    ],
    [
      'in a body that drips',
      hanging(() => ({
        kind: 'drip',
        bytes: head(200, { 'content-type': 'application/json', 'content-length': 1e6 }),
        drop: ' ',
        everyMs: 30,
      })),
      minute,
    ],
    [
      'within the settle window',
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
