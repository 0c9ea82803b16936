// `npm run proxies`: one message of the built action through a real Varnish and a real nginx to the
// simulated service, for each way in which a service is slow, dies or restarts. It fails if one is
// delivered twice, or if what the action says of it is not so.

import { table } from '../../bench/table.ts';
import { startAgent } from '../sim/agent.ts';
import { startStep } from '../sim/runner/process.ts';
import { type Fault, layLine } from './line.ts';
import { missingPrograms, PROXIES, type StartProxy } from './proxies.ts';

/** How long a proxy waits for an answer, by its configuration. */
const PATIENCE_MS = 2000;
/** What the service does. */
const FAULTS: Readonly<Record<string, Fault>> = {
  'answers at once': {},
  'answers late, but in time': { lateMs: PATIENCE_MS / 2 },
  'answers after the proxy has given up': { lateMs: PATIENCE_MS * 2 },
  'takes the message and closes': { ends: 'closed' },
  'takes the message and resets': { ends: 'reset' },
  'breaks off in the head of its answer': { ends: 'in the head' },
  'breaks off in the body of its answer': { ends: 'in the body' },
  'takes the message and restarts': { ends: 'reset', downMs: 3000 },
  'restarts before it reads the message': { taken: false, ends: 'reset', downMs: 3000 },
  'closes a kept connection as the message comes': { taken: false, ends: 'closed', onlyKept: true },
  'resets a kept connection as the message comes': { taken: false, ends: 'reset', onlyKept: true },
  'takes the message on a kept connection and resets': { ends: 'reset', onlyKept: true },
};
/** Without a look before the message, which would not get through. */
const DOWN = 'is down, and comes back';
const DOWN_MS = 3000;

const API_KEY = 'mint_0123456789abcdef';
const TURN = {
  steps: [
    { afterMs: 300, set: { status: 'active' } },
    { afterMs: 6000, set: { status: 'completed' } },
  ],
};

interface Row {
  readonly fault: string;
  readonly proxy: string;
  readonly deliveries: number;
  readonly delivery: string;
  readonly result: string;
}

const missing = missingPrograms();
if (missing.length > 0) {
  console.error(`Not installed: ${missing.join(', ')}. On Debian: apt-get install varnish nginx`);
  process.exitCode = 2;
} else {
  console.log('This takes about three minutes.\n');
  const rows = (await Promise.all(Object.entries(PROXIES).map(playAll))).flat();
  const wrong = rows.filter((row) => complaint(row) !== '');
  console.log(show(rows));
  console.log(`\n${rows.length} messages, ${wrong.length} of them wrong.`);
  process.exitCode = wrong.length === 0 ? 0 : 1;
}

async function playAll([proxy, start]: readonly [string, StartProxy]): Promise<readonly Row[]> {
  const rows: Row[] = [];
  for (const fault of [...Object.keys(FAULTS), DOWN]) {
    rows.push({ fault, proxy, ...(await play(fault, start)) });
  }
  return rows;
}

async function play(fault: string, start: StartProxy): Promise<Omit<Row, 'fault' | 'proxy'>> {
  await using agent = await startAgent({
    project: 'project_1',
    apiKey: API_KEY,
    jobs: [{ id: 'job-1', turns: [TURN] }],
  });
  await using line = await layLine(Number(new URL(agent.url).port), FAULTS[fault] ?? {});
  await using proxy = await start(line.port);
  if (fault === DOWN) await line.down(DOWN_MS);
  const { outputs } = await startStep({
    with: {
      'project-id': agent.project,
      'job-id': 'job-1',
      'api-key': API_KEY,
      prompt: 'Add error handling examples.',
      'base-url': proxy.url,
      wait: fault !== DOWN,
      'timeout-minutes': 0.5,
      'poll-interval-seconds': 1,
      'settle-seconds': 2,
      comment: false,
    },
    time: null,
  }).result;
  const { delivery = '', result = '' } = outputs;
  return { deliveries: agent.posts().length, delivery, result };
}

function complaint({ fault, deliveries, delivery }: Row): string {
  if (deliveries > 1) return 'delivered more than once';
  if (deliveries === 1 && delivery === 'not-sent') return 'delivered, and called not sent';
  if (deliveries === 0 && delivery === 'sent') return 'called sent, and not delivered';
  const { lateMs, ends } = FAULTS[fault] ?? { ends: 'closed' };
  const isFault = ends !== undefined || (lateMs ?? 0) > PATIENCE_MS;
  return isFault || delivery === 'sent' ? '' : 'not delivered';
}

/** Fault by fault. */
function show(rows: readonly Row[]): string {
  const faults = [...Object.keys(FAULTS), DOWN];
  const head = ['the service', 'proxy', 'deliveries', 'delivery', 'result', 'wrong'];
  const lines = rows
    .toSorted((one, other) => faults.indexOf(one.fault) - faults.indexOf(other.fault))
    .map((row) => [
      ...[row.fault, row.proxy, String(row.deliveries)],
      ...[row.delivery, row.result, complaint(row)],
    ]);
  return table(head, lines, head.length);
}
