// How long the message takes to leave when every answer of GitHub and the service is late by a fixed
// time, and how many answers a run waits for.

import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Answers, countAnswers, eventFor, inputsOf, type Use } from './answers.ts';
import { ACTION, API_KEY, COMMAND, PROJECT, PROMPT, StepFolder, TOKEN } from './step.ts';
import { table } from './table.ts';

/** Milliseconds. */
export const LATENCIES = [0, 100, 250] as const;

export interface Line {
  readonly name: string;
  readonly kind: 'own' | 'peer';
  /** Milliseconds from the start of the process to the message, for each latency. */
  readonly toMessage: readonly number[];
}

export interface Latency {
  readonly lines: readonly Line[];
  readonly text: string;
}

const SENDING: Use = { name: 'only sending', with: {}, isCommand: false };
const WAITING: Use = { name: 'waiting', with: { wait: true }, isCommand: false };
const COMMANDING: Use = {
  name: 'a command, waiting',
  with: { wait: true, command: COMMAND },
  isCommand: true,
};
const SILENT: Use = { name: 'without a comment', with: { comment: false }, isCommand: false };
const USES = [SENDING, WAITING, COMMANDING, SILENT];
const CURL = '`curl`, then a comment';
/** `gh pr comment` asks for the pull request before it comments on it. */
const OF_CURL: Answers = { before: 0, after: 2, calls: 2 };

interface Servers {
  readonly service: ChildProcess;
  readonly baseUrl: string;
  readonly apiUrl: string;
  readonly graphqlUrl: string;
  /** Each pull request has a command: this is the id of that on the first one. */
  readonly firstComment: number;
}

interface Contestant extends Pick<Line, 'name' | 'kind'> {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: (servers: Servers) => Readonly<Record<string, string>>;
}

export async function measureLatency(
  rounds: number,
  builds: readonly string[] = [],
): Promise<Latency> {
  const lines = await timeAll(rounds, builds);
  const rows: string[][] = [];
  for (const use of USES) {
    const runs = await countAnswers(use, use === SILENT ? 1 : 2);
    const times = lines.find(({ name }) => name === use.name)?.toMessage ?? [];
    for (const [index, answers] of runs.entries()) {
      const more =
        use === SILENT ? '' : index === 0 ? ', its first comment' : ', a comment is there';
      rows.push(row(`**${use.name}**${more}`, answers, index === 0 ? times : []));
    }
  }
  const ofCurl = lines.find(({ name }) => name === CURL)?.toMessage ?? [];
  rows.push(row(CURL, OF_CURL, ofCurl));
  // What other builds wait for is not counted.
  for (const { name, kind, toMessage } of lines) {
    if (kind === 'own' || name === CURL) continue;
    rows.push([name, '', '', '', ...toMessage.map(milliseconds)]);
  }
  const head = [
    ...['latency', 'answers before the message', 'answers after the end', 'calls to GitHub'],
    ...LATENCIES.map((ms) => `at ${ms} ms`),
  ];
  const text = `Every answer of GitHub and of the service is late by a fixed time. Counted are the answers that a run waits for,
one after the other: until the message is sent, and from the last answer of the service until the step ends. In milliseconds,
medians of ${rounds} rounds in which all run in turn: from the start of the process to the first byte of the message. A run with
a comment also waits once for 1 to 3 s before its last answer, to read what it wrote when all of GitHub shows it.

${table(head, rows)}`;
  return { lines, text };
}

function row(name: string, answers: Answers, times: readonly number[]): string[] {
  const { before, after, calls } = answers;
  return [name, ...[before, after, calls].map(String), ...times.map(milliseconds)];
}

function milliseconds(ms: number): string {
  return `${ms.toFixed(0)} ms`;
}

async function timeAll(rounds: number, builds: readonly string[]): Promise<readonly Line[]> {
  using folder = new StepFolder();
  const contestants = [
    ...USES.map((use) => action('own', folder, use)),
    curl(folder),
    ...builds.flatMap((entry) => USES.map((use) => action('peer', folder, use, resolve(entry)))),
  ];
  const lines = contestants.map(({ name, kind }) => ({ name, kind, toMessage: [] as number[] }));
  for (const latency of LATENCIES) {
    const servers = await startServers(latency);
    const times = contestants.map((): number[] => []);
    // The first round fills the caches of the disk, and is not counted.
    for (let round = 0; round <= rounds; round++) {
      for (const [index, contestant] of contestants.entries()) {
        const ms = await time(contestant, servers.service, contestant.env(servers));
        if (round > 0) times[index]?.push(ms);
      }
    }
    for (const [index, line] of lines.entries()) line.toMessage.push(median(times[index] ?? []));
    servers[Symbol.dispose]();
  }
  return lines;
}

async function startServers(latency: number): Promise<Servers & Disposable> {
  const service = fork(join(import.meta.dirname, 'loopback.ts'), [String(latency)]);
  const github = fork(join(import.meta.dirname, 'github.ts'), [String(latency)]);
  const [[{ port }], [{ apiUrl, graphqlUrl, firstComment }]] = await Promise.all([
    once(service, 'message'),
    once(github, 'message'),
  ]);
  return {
    ...{ service, baseUrl: `http://127.0.0.1:${port}`, apiUrl, graphqlUrl, firstComment },
    [Symbol.dispose]() {
      service.disconnect();
      github.disconnect();
    },
  };
}

/** From the start of the process to its message; what it does afterwards is not waited for. */
async function time(
  { name, command, args }: Contestant,
  service: ChildProcess,
  env: Readonly<Record<string, string>>,
): Promise<number> {
  const sent = Promise.withResolvers<bigint>();
  const take = ({ method, firstByte }: { method: string; firstByte: string }): void => {
    if (method === 'POST') sent.resolve(BigInt(firstByte));
  };
  service.on('message', take);
  const started = process.hrtime.bigint();
  const child = spawn(command, args, { env, stdio: 'ignore', detached: true });
  child.once('exit', () => sent.reject(new Error(`${name} sent nothing`)));
  try {
    return Number((await sent.promise) - started) / 1e6;
  } finally {
    service.off('message', take);
    if (child.exitCode === null && child.pid !== undefined) {
      const exited = once(child, 'exit');
      process.kill(-child.pid, 'SIGKILL');
      await exited;
    }
  }
}

let pull = 0;

function action(kind: Line['kind'], folder: StepFolder, use: Use, entry = ACTION): Contestant {
  return {
    name: kind === 'own' ? use.name : `\`${entry}\`, ${use.name}`,
    kind,
    command: process.execPath,
    args: [entry],
    env({ baseUrl, apiUrl, graphqlUrl, firstComment }) {
      pull += 1;
      const event = eventFor(use, pull, firstComment + pull - 1);
      const inputs = Object.entries({ comment: true, 'pr-number': pull, ...inputsOf(use) });
      const env = folder.prepare(baseUrl, {
        ...Object.fromEntries(
          inputs.map(([input, value]) => [`INPUT_${input.toUpperCase()}`, String(value)]),
        ),
        ...{ GITHUB_API_URL: apiUrl, GITHUB_GRAPHQL_URL: graphqlUrl },
        GITHUB_EVENT_NAME: event.name,
      });
      writeFileSync(join(folder.path, 'event'), JSON.stringify(event.payload));
      return env;
    },
  };
}

function curl(folder: StepFolder): Contestant {
  const script = join(folder.path, 'curl.sh');
  const ask = 'curl --silent --fail --output /dev/null --header';
  writeFileSync(
    script,
    `${ask} "Authorization: Bearer $API_KEY" --json "$MESSAGE" "$BASE_URL/v2/agent/${PROJECT}/job/job-1/message" &&
${ask} "Authorization: token $TOKEN" --json '{"query":"{ viewer { login } }"}' "$GRAPHQL_URL" &&
${ask} "Authorization: token $TOKEN" --json '{"body":"Sent."}' "$API_URL/repos/octo/agents/issues/1/comments"
`,
  );
  return {
    name: CURL,
    kind: 'peer',
    command: 'sh',
    args: [script],
    env: ({ baseUrl, apiUrl, graphqlUrl }) => ({
      ...{ PATH: process.env.PATH ?? '', API_KEY, TOKEN, BASE_URL: baseUrl, API_URL: apiUrl },
      ...{ GRAPHQL_URL: graphqlUrl, MESSAGE: JSON.stringify({ prompt: PROMPT }) },
    }),
  };
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const half = sorted.length / 2;
  return (
    ((sorted[Math.ceil(half) - 1] ?? Number.NaN) + (sorted[Math.floor(half)] ?? Number.NaN)) / 2
  );
}
