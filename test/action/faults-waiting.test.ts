import { expect } from 'vitest';
import type { AgentOptions, JobScript, Reply, TurnScript } from '../sim/agent.ts';
import { answer, startFaultServer, whole } from '../sim/fault-server.ts';
import {
  COMPLETED,
  type Expected,
  type Fault,
  IDLE,
  limited,
  NOT_SENT,
  RECORD,
  type Row,
  SENT,
  type SetUp,
  SILENT,
  testFaults,
  UNKNOWN,
} from './faults.ts';
import { JOB, LINK } from './scenario.ts';

const WAIT = { wait: true } as const;
const IDLE_JOBS = [{ id: JOB, turns: [{ steps: [] }] }];
const SHORT = { ...WAIT, 'timeout-minutes': '3' };

const at = (afterMs: number, status: unknown, more = {}): TurnScript['steps'][number] => ({
  ...{ afterMs, set: { status: status as string, ...more } },
});
const ended = (afterMs: number, prLink: string | null) => at(afterMs, 'completed', { prLink });

function job(base: JobScript['base'], ...steps: TurnScript['steps']): Fault {
  return { with: WAIT, agent: { jobs: [{ id: JOB, base: base ?? {}, turns: [{ steps }] }] } };
}

/** A wait with other responses to the n-th poll, of so many. The first two are before the message. */
function withPolls(onGet: (n: number) => Reply | undefined, count?: number): Fault {
  const also: Fault['also'] = (_, { agent }) =>
    expect(agent.gets()).toHaveLength(count ?? agent.gets().length);
  return { with: WAIT, agent: { onGet }, also };
}

const completed: Expected = { ...COMPLETED, withinMs: 180_000 };
const timedOut: Expected = {
  ...{ ...SENT, result: 'timed-out', exit: 1, confirmed: 'false' },
  ...{ error: /within 3 min/, atLeastMs: 180_000, withinMs: 182_500 },
};

const EVIL = 'https://evil.example/pull/1';
const leftOut = { ...completed, warns: [/link of the job is left out/] };
const linked = (first: string | null, second: string | null, link = LINK): Fault => ({
  ...job({}, at(0, 'active'), ended(9000, first), ended(11_000, second)),
  also: ({ outputs }) => expect(outputs.prLink).toBe(link),
});
const EARLIER_END = job(
  ...([{ status: 'failed' }, at(0, 'active'), at(1500, 'failed'), at(12_500, 'active')] as const),
);
const ends = ['failed', 'failed', 'active', 'completed'];
const gone = (n: number) => (n > 4 ? { status: 500 } : { body: { id: JOB, status: ends[n - 1] } });
/** The polls fail for this long, after two minutes. The agent works for 15. */
function outage(minutes: number, reply: Reply, inputs: Fault['with'] = {}): Fault {
  let start = 0;
  const onGet: AgentOptions['onGet'] = (n, { at: now }) => {
    start ||= now;
    const minute = (now - start) / 60_000;
    if (minute > 2 && minute < 2 + minutes) return reply;
    return { body: { ...RECORD, status: n < 3 || minute > 15 ? 'completed' : 'active' } };
  };
  return { with: { ...WAIT, ...inputs }, agent: { onGet } };
}

const survived = { ...COMPLETED, atLeastMs: 900_000, withinMs: 990_000 };
const late = { ...timedOut, error: /within 3 min.*The last poll failed: .*reset/i };
testFaults('waits for a job with', [
  ['a link that leads to no pull request', linked(EVIL, EVIL, ''), leftOut],
  ['an end from before that four polls show after work', { ...EARLIER_END, with: SHORT }, timedOut],
  ['a link that comes three seconds after the end', linked(null, LINK), completed],
  ['a link that the second look at the end does not show', linked(LINK, null), completed],
  ['an API that is gone after another end than before', withPolls(gone), completed],
  [
    'a status that only the answer to the message shows',
    { with: WAIT, agent: { jobs: IDLE_JOBS, onPost: () => ({ body: RECORD, accept: true }) } },
    { ...completed, confirmed: 'false', atLeastMs: 60_000, warns: [/end of earlier work/] },
  ],
  ['statuses in other letters', job({}, at(0, 'ACTIVE'), at(9000, ' Completed\n')), completed],
  ...[' needs input ', undefined].map(
    (status): Row => [
      `a constant status ${status}`,
      {
        ...job({}, at(0, status)),
        with: SHORT,
        // Once, not with each poll.
        also: ({ stdout }) =>
          expect(stdout.match(/no status|unknown status|from before/g)).toHaveLength(1),
      },
      { ...timedOut, warns: [/no status|the unknown status “needs input”;/] },
    ],
  ),
  ['9 minutes of 503', outage(9, { status: 503 }), survived],
  ['resets until the deadline', outage(60, { fault: 'reset' }, SHORT), late],
]);

const unsent = (error: RegExp, withinMs = 10_000) => ({
  ...{ ...NOT_SENT, attempts: 0, error, withinMs },
});
const location = 'https://evil.example/';
const final = (status: number): Row => [
  `gets ${status}, which is final`,
  withPolls(() => ({ status, headers: { location }, body: {} }), 1),
  unsent(RegExp(`^Job job-1: The API answered ${status} when`), 1000),
];
const down = unsent(/: 3 polls failed in a row\. The API, or something before it, answered 500/);
const anHour = unsent(
  /429.* asks to wait until [-\d]+ \d\d:\d\d UTC\. Later, start a new run/,
  2000,
);
const tooMany = unsent(/: 6 polls failed in a row\. The API answered 429/, 125_000);
const tooLate = unsent(/not be sent within 1 min\. The API answered 429/, 61_000);
const MINUTE = { with: { ...WAIT, 'timeout-minutes': '1' } };
const busy = withPolls(() => limited('20'));
const recovering = (n: number): Reply | undefined =>
  [{ status: 500 }, { fault: 'reset' as const }][n - 1];
testFaults('sends nothing if a poll before the message', [
  ...[final(307), final(401)],
  ['gets 500, just before it', withPolls((n) => (n > 1 ? { status: 500 } : undefined), 4), down],
  ['fails, unless it succeeds after 500 and a reset', withPolls(recovering), completed],
  ['gets 429 that asks for an hour', withPolls(() => limited('3600'), 1), anHour],
  ['gets 429 for two minutes', busy, { ...tooMany, atLeastMs: 99_000 }],
  ['gets 429 until the deadline', { ...busy, ...MINUTE }, { ...tooLate, result: 'timed-out' }],
]);

const LAST_HANGS: SetUp = async (use) => ({
  ...{ ...SILENT, ...MINUTE },
  server: await use(
    startFaultServer({
      onRequest({ method, n }) {
        if (method === 'POST') return answer(whole(200, RECORD));
        return n < 3 ? IDLE : answer('', 'hang');
      },
    }),
  ),
});
const NO_ANSWER: Fault = {
  ...{ ...SILENT, with: { 'timeout-minutes': '0.5' } },
  agent: { onPost: () => ({ fault: 'hang', accept: true }) },
};
// The last poll has its 30 s.
const minute = { ...timedOut, error: /within 1 min/, atLeastMs: 60_000, withinMs: 92_500 };
const outlived = { ...UNKNOWN, atLeastMs: 60_000, withinMs: 62_000 };
testFaults('stops waiting at the deadline', [
  ['during a response that does not start', LAST_HANGS, minute],
  ['during the message, which has its 60 s', NO_ANSWER, outlived],
]);
