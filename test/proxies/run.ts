// `npm run proxies`: the built action sends a message through a real Varnish and a real nginx to the
// simulated API, for each way in which an API is slow, crashes or restarts. It fails if a message is
// delivered twice or if the output `delivery` is wrong.

import { table } from '../../bench/table.ts';
import { startAgent } from '../sim/agent.ts';
import { startStep } from '../sim/runner/process.ts';
import { missingPrograms, PROXIES, type StartProxy } from './proxies.ts';
import { type Fault, startRelay } from './relay.ts';

/** How long a proxy waits for a response, as in its configuration. */
const PROXY_TIMEOUT_MS = 2000;
/** What the API does. */
const FAULTS: Readonly<Record<string, Fault>> = {
  'responds at once': {},
  'responds slowly, but in time': { delayMs: PROXY_TIMEOUT_MS / 2 },
  'responds after the proxy has timed out': { delayMs: PROXY_TIMEOUT_MS * 2 },
  'accepts the message and closes': { ends: 'closed' },
  'accepts the message and resets': { ends: 'reset' },
  'fails in the head of its response': { ends: 'in the head' },
  'fails in the body of its response': { ends: 'in the body' },
  'accepts the message and restarts': { ends: 'reset', downMs: 3000 },
  'restarts before it reads the message': { arrives: false, ends: 'reset', downMs: 3000 },
  'closes a reused connection instead': { arrives: false, ends: 'closed', onlyReused: true },
  'resets a reused connection instead': { arrives: false, ends: 'reset', onlyReused: true },
  'accepts on a reused connection and resets': { ends: 'reset', onlyReused: true },
};
/** Without a poll before the message, which would fail. */
const DOWN = 'is down for a while';
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
  const wrong = rows.filter((row) => problemOf(row) !== '');
  console.log(tableOf(rows));
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
  await using relay = await startRelay(Number(new URL(agent.url).port), FAULTS[fault] ?? {});
  await using proxy = await start(relay.port);
  if (fault === DOWN) await relay.down(DOWN_MS);
  const { outputs } = await startStep({
    with: {
      'project-id': agent.project,
      'job-id': 'job-1',
      'api-key': API_KEY,
      prompt: 'Add error handling examples.',
      'base-url': proxy.url,
      wait: fault !== DOWN,
      'timeout-minutes': 0.5,
      'settle-seconds': 2,
      comment: false,
    },
    time: null,
  }).result;
  const { delivery = '', result = '' } = outputs;
  return { deliveries: agent.posts().length, delivery, result };
}

function problemOf({ fault, deliveries, delivery }: Row): string {
  if (deliveries > 1) return 'delivered more than once';
  if (deliveries === 1 && delivery === 'not-sent') return 'delivered, reported as not sent';
  if (deliveries === 0 && delivery === 'sent') return 'not delivered, reported as sent';
  const { delayMs, ends } = FAULTS[fault] ?? { ends: 'closed' };
  const isFault = ends !== undefined || (delayMs ?? 0) > PROXY_TIMEOUT_MS;
  return isFault || delivery === 'sent' ? '' : 'not delivered';
}

/** Sorted by fault. */
function tableOf(rows: readonly Row[]): string {
  const faults = [...Object.keys(FAULTS), DOWN];
  const head = ['the API', 'proxy', 'deliveries', 'delivery', 'result', 'wrong'];
  const lines = rows
    .toSorted((one, other) => faults.indexOf(one.fault) - faults.indexOf(other.fault))
    .map((row) => [
      ...[row.fault, row.proxy, String(row.deliveries)],
      ...[row.delivery, row.result, problemOf(row)],
    ]);
  return table(head, lines, head.length);
}
