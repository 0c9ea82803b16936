// The time to the message if every response of GitHub and the API has a fixed delay, and how many
// responses in a row a run waits for.

import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { countResponses, eventFor, inputsOf, type Responses, type Use } from './responses.ts';
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
/** `gh pr comment` reads the pull request before it creates a comment. */
const OF_CURL: Responses = { before: 0, after: 2, calls: 2 };

interface Servers {
  readonly api: ChildProcess;
  readonly baseUrl: string;
  readonly apiUrl: string;
  readonly graphqlUrl: string;
  /** Each pull request has a comment with a command. This is the ID of the first one. */
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
    const runs = await countResponses(use, use === SILENT ? 1 : 2);
    const times = lines.find(({ name }) => name === use.name)?.toMessage ?? [];
    for (const [index, responses] of runs.entries()) {
      const more =
        use === SILENT ? '' : index === 0 ? ', its first comment' : ', the comment exists';
      rows.push(row(`**${use.name}**${more}`, responses, index === 0 ? times : []));
    }
  }
  const ofCurl = lines.find(({ name }) => name === CURL)?.toMessage ?? [];
  rows.push(row(CURL, OF_CURL, ofCurl));
  // The responses are counted only for this build.
  for (const { name, kind, toMessage } of lines) {
    if (kind === 'own' || name === CURL) continue;
    rows.push([name, '', '', '', ...toMessage.map(milliseconds)]);
  }
  const head = [
    ...['latency', 'responses before the message', 'responses after the end', 'calls to GitHub'],
    ...LATENCIES.map((ms) => `at ${ms} ms`),
  ];
  const text = `Every response of GitHub and of the API has a fixed delay. The responses are those in a row for which a run waits:
until the message is sent, and from the last response of the API until the step ends. The times are from the start of the
process to the first byte of the message, medians of ${rounds} rounds in which all run in turn. A run with a comment also waits
once for 1 to 3 s before its last response, to read its comment after all of GitHub shows it.

${table(head, rows)}`;
  return { lines, text };
}

function row(name: string, responses: Responses, times: readonly number[]): string[] {
  const { before, after, calls } = responses;
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
    // The first round fills the disk caches, and is not counted.
    for (let round = 0; round <= rounds; round++) {
      for (const [index, contestant] of contestants.entries()) {
        const ms = await time(contestant, servers.api, contestant.env(servers));
        if (round > 0) times[index]?.push(ms);
      }
    }
    for (const [index, line] of lines.entries()) line.toMessage.push(median(times[index] ?? []));
    servers[Symbol.dispose]();
  }
  return lines;
}

async function startServers(latency: number): Promise<Servers & Disposable> {
  const api = fork(join(import.meta.dirname, 'api.ts'), [String(latency)]);
  const github = fork(join(import.meta.dirname, 'github.ts'), [String(latency)]);
  const [[{ port }], [{ apiUrl, graphqlUrl, firstComment }]] = await Promise.all([
    once(api, 'message'),
    once(github, 'message'),
  ]);
  return {
    ...{ api, baseUrl: `http://127.0.0.1:${port}`, apiUrl, graphqlUrl, firstComment },
    [Symbol.dispose]() {
      api.disconnect();
      github.disconnect();
    },
  };
}

/** The time from the start of the process to its message. Does not wait for the rest. */
async function time(
  { name, command, args }: Contestant,
  api: ChildProcess,
  env: Readonly<Record<string, string>>,
): Promise<number> {
  const sent = Promise.withResolvers<bigint>();
  const take = ({ method, firstByte }: { method: string; firstByte: string }): void => {
    if (method === 'POST') sent.resolve(BigInt(firstByte));
  };
  api.on('message', take);
  const started = process.hrtime.bigint();
  const child = spawn(command, args, { env, stdio: 'ignore', detached: true });
  child.once('exit', () => sent.reject(new Error(`${name} did not send a message`)));
  try {
    return Number((await sent.promise) - started) / 1e6;
  } finally {
    api.off('message', take);
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
  const request = 'curl --silent --fail --output /dev/null --header';
  writeFileSync(
    script,
    `${request} "Authorization: Bearer $API_KEY" --json "$MESSAGE" "$BASE_URL/v2/agent/${PROJECT}/job/job-1/message" &&
${request} "Authorization: token $TOKEN" --json '{"query":"{ viewer { login } }"}' "$GRAPHQL_URL" &&
${request} "Authorization: token $TOKEN" --json '{"body":"Sent."}' "$API_URL/repos/octo/agents/issues/1/comments"
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
