// Milliseconds from spawning a program to the first byte of its POST, and to its exit: the action, a bare
// script that posts with fetch, curl, and an empty Node script. They run in turn, so that a slow moment of
// the machine affects all of them. The result is the median of the ratios of the rounds.

import { type ChildProcess, execFileSync, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ACTION, API_KEY, PROJECT, PROMPT, StepFolder } from './step.ts';
import { table } from './table.ts';

interface Run {
  /** Null for a program that sends nothing. */
  readonly toFirstByte: number | null;
  readonly toExit: number;
  /** From the last output, in the log or in a file of the runner, to the exit. */
  readonly lastOutputToExit: number;
}

interface Contestant {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: () => Record<string, string>;
  readonly sends: boolean;
}

type Runs = ReadonlyMap<string, readonly Run[]>;

const BARE = 'a bare script with `fetch`';
/** These fill the disk caches, and are not counted. */
const WARM_UP_ROUNDS = 2;

export async function describeStartUp(
  rounds: number,
  builds: readonly string[] = [],
): Promise<string> {
  using folder = new StepFolder();
  const api = fork(join(import.meta.dirname, 'api.ts'));
  const github = fork(join(import.meta.dirname, 'github.ts'));
  try {
    const [[{ port }], [{ apiUrl, graphqlUrl }]] = await Promise.all([
      once(api, 'message'),
      once(github, 'message'),
    ]);
    const baseUrl = `http://127.0.0.1:${port}`;
    const empty = join(folder.path, 'empty.mjs');
    writeFileSync(empty, '');
    const node = (name: string, entry: string): Contestant => ({
      name,
      command: process.execPath,
      args: [entry],
      env: () => folder.prepare(baseUrl),
      sends: entry !== empty,
    });
    let pull = 0;
    const commenting = (name: string, entry: string): Contestant => ({
      ...node(name, entry),
      env: () =>
        folder.prepare(baseUrl, {
          INPUT_COMMENT: 'true',
          'INPUT_PR-NUMBER': String(++pull),
          GITHUB_API_URL: apiUrl,
          GITHUB_GRAPHQL_URL: graphqlUrl,
        }),
    });
    const contestants = [
      node('an empty Node script', empty),
      ...(hasCurl() ? [curl(baseUrl)] : []),
      node(BARE, join(import.meta.dirname, 'bare.mjs')),
      node('**this action, without a comment**', ACTION),
      commenting('this action, with a comment', ACTION),
      ...builds.flatMap((entry) => [
        node(`\`${entry}\`, without a comment`, resolve(entry)),
        commenting(`\`${entry}\`, with a comment`, resolve(entry)),
      ]),
    ];
    return render(await runInTurn(contestants, rounds, api, folder.written));
  } finally {
    api.disconnect();
    github.disconnect();
  }
}

async function runInTurn(
  contestants: readonly Contestant[],
  rounds: number,
  api: ChildProcess,
  files: readonly string[],
): Promise<Runs> {
  const runs = new Map<string, Run[]>(contestants.map(({ name }) => [name, []]));
  for (let round = -WARM_UP_ROUNDS; round < rounds; round++) {
    for (const contestant of contestants) {
      const run = await time(contestant, api, files);
      if (round >= 0) runs.get(contestant.name)?.push(run);
    }
  }
  return runs;
}

async function time(
  { name, command, args, env, sends }: Contestant,
  api: ChildProcess,
  files: readonly string[],
): Promise<Run> {
  const variables = env();
  const arrival = sends ? once(api, 'message') : null;
  const started = process.hrtime.bigint();
  const child = spawn(command, args, { env: variables });
  let lastOutput = started;
  const note = (): void => {
    lastOutput = process.hrtime.bigint();
  };
  child.stdout.on('data', note);
  child.stderr.on('data', note);
  const [code] = await once(child, 'exit');
  const ended = process.hrtime.bigint();
  const endedAt = Date.now();
  if (code !== 0) throw new Error(`${name} ended with ${code}`);
  const ms = (from: bigint, to: bigint): number => Number(to - from) / 1e6;
  const told = await arrival;
  return {
    toFirstByte: told === null ? null : ms(started, BigInt(told[0].firstByte)),
    toExit: ms(started, ended),
    lastOutputToExit: Math.min(ms(lastOutput, ended), endedAt - lastChange(files)),
  };
}

function lastChange(files: readonly string[]): number {
  return Math.max(...files.map((path) => statSync(path).mtimeMs));
}

function render(runs: Runs): string {
  const bare = runs.get(BARE) ?? [];
  const rows = [...runs].map(([name, times]) => {
    const firstBytes = times.map(({ toFirstByte }) => toFirstByte);
    const exits = times.map(({ toExit }) => toExit);
    const ends = name.includes('a comment') ? times.map((run) => run.lastOutputToExit) : [];
    return [
      name,
      figure(firstBytes, 1, ' ms'),
      figure(
        ratios(times, bare, ({ toFirstByte }) => toFirstByte),
        2,
      ),
      figure(exits, 1, ' ms'),
      figure(
        ratios(times, bare, ({ toExit }) => toExit),
        2,
      ),
      figure(ends, 1, ' ms'),
    ];
  });
  return `From spawning the program to the first byte of its POST at a server on localhost, and to its exit: medians
of ${bare.length} rounds, in each of which all programs run in turn. A ratio is the median of the rounds' ratios to the bare
script. With a comment, the comment is written before the message is sent. The last output is the last line of the log or
the last change of a file for the runner, whichever comes later.

${table(['start-up', 'first byte', 'ratio', 'exit', 'ratio', 'last output to exit'], rows)}

The budgets: without a comment, a first byte within 1.4 times the bare script; an exit within 20 ms of the last output.`;
}

/** The ratio of each round, if both programs have the value. */
function ratios(
  times: readonly Run[],
  bare: readonly Run[],
  of: (run: Run) => number | null,
): readonly (number | null)[] {
  return times.map((run, round) => {
    const reference = bare[round];
    const [own, other] = [of(run), reference === undefined ? null : of(reference)];
    return own === null || other === null ? null : own / other;
  });
}

/** The median, or an empty text without values. */
function figure(values: readonly (number | null)[], digits: number, unit = ''): string {
  const sorted = values.filter((value) => value !== null).sort((a, b) => a - b);
  const half = Math.floor(sorted.length / 2);
  const [low, high] = [sorted[sorted.length % 2 === 0 ? half - 1 : half], sorted[half]];
  return low === undefined || high === undefined ? '' : ((low + high) / 2).toFixed(digits) + unit;
}

function curl(baseUrl: string): Contestant {
  return {
    name: '`curl`',
    command: 'curl',
    args: [
      ...['--silent', '--fail', '--output', '-', '--header', `Authorization: Bearer ${API_KEY}`],
      ...['--json', JSON.stringify({ prompt: PROMPT })],
      `${baseUrl}/v2/agent/${PROJECT}/job/job-1/message`,
    ],
    env: () => ({ PATH: process.env.PATH ?? '' }),
    sends: true,
  };
}

function hasCurl(): boolean {
  try {
    execFileSync('curl', ['--version']);
    return true;
  } catch {
    return false;
  }
}
