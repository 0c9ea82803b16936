// Milliseconds from spawning a program to the first byte of its POST, and to its exit: the action, an earlier build of it, and
// a bare script that posts with fetch. They run in turn, so that a slow moment of the machine affects all of them. The result
// is the median of the ratios of the rounds.

import { type ChildProcess, execFileSync, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ACTION, PULLS, StepFolder } from './step.ts';

interface Run {
  readonly toFirstByte: number;
  /** From the last output, in the log or in a file of the runner, to the exit. */
  readonly lastOutputToExit: number;
}

interface Contestant {
  readonly name: string;
  readonly entry: string;
  readonly env: () => Record<string, string>;
  /** The runs that this one is compared with. */
  readonly base: string;
}

/** The fastest build so far. It is in the history, so that this one can always be measured beside it. */
const FASTEST = '048c9fc';
const BARE = 'a bare script with `fetch`';
const SILENT = `the build of ${FASTEST}, without a comment`;
const COMMENTING = `the build of ${FASTEST}, with a comment`;
/** These fill the disk caches, and are not counted. */
const WARM_UP_ROUNDS = 2;

export async function describeStartUp(rounds: number, builds: readonly string[]): Promise<string> {
  using folder = new StepFolder();
  const api = fork(join(import.meta.dirname, 'api.ts'));
  const github = fork(join(import.meta.dirname, 'github.ts'));
  try {
    const [[{ port }], [{ apiUrl }]] = await Promise.all([
      once(api, 'message'),
      once(github, 'message'),
    ]);
    const baseUrl = `http://127.0.0.1:${port}`;
    let pull = 0;
    const commenting = (): Record<string, string> => {
      pull = (pull % PULLS) + 1;
      return folder.prepare(baseUrl, {
        INPUT_COMMENT: 'true',
        'INPUT_PR-NUMBER': String(pull),
        GITHUB_API_URL: apiUrl,
      });
    };
    const silent = (): Record<string, string> => folder.prepare(baseUrl);
    const bare = join(import.meta.dirname, 'bare.mjs');
    const fastest = extract(FASTEST, folder.path);
    const contestants: Contestant[] = [
      { name: BARE, entry: bare, env: silent, base: SILENT },
      { name: SILENT, entry: fastest, env: silent, base: SILENT },
      { name: COMMENTING, entry: fastest, env: commenting, base: COMMENTING },
    ];
    for (const build of [ACTION, ...builds]) {
      const name = build === ACTION ? 'this action' : build;
      const entry = resolve(build);
      contestants.push(
        { name: `${name}, without a comment`, entry, env: silent, base: SILENT },
        { name: `${name}, with a comment`, entry, env: commenting, base: COMMENTING },
      );
    }
    return render(contestants, await runInTurn(contestants, rounds, api, folder.written));
  } finally {
    api.disconnect();
    github.disconnect();
  }
}

/** The entry of the build of a commit. */
function extract(commit: string, folder: string): string {
  const cwd = join(import.meta.dirname, '..');
  const archive = execFileSync('git', ['archive', commit, 'dist'], { cwd, maxBuffer: 2 ** 28 });
  execFileSync('tar', ['-x', '-C', folder], { input: archive });
  return join(folder, 'dist/index.js');
}

async function runInTurn(
  contestants: readonly Contestant[],
  rounds: number,
  api: ChildProcess,
  files: readonly string[],
): Promise<ReadonlyMap<string, readonly Run[]>> {
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
  { name, entry, env }: Contestant,
  api: ChildProcess,
  files: readonly string[],
): Promise<Run> {
  const variables = env();
  const arrival = once(api, 'message');
  const started = process.hrtime.bigint();
  const child = spawn(process.execPath, [entry], { env: variables });
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
  const [{ firstByte }] = await arrival;
  const lastChange = Math.max(...files.map((path) => statSync(path).mtimeMs));
  return {
    toFirstByte: ms(started, BigInt(firstByte)),
    lastOutputToExit: Math.min(ms(lastOutput, ended), endedAt - lastChange),
  };
}

function render(
  contestants: readonly Contestant[],
  runs: ReadonlyMap<string, readonly Run[]>,
): string {
  const rows = contestants.map(({ name, base }) => {
    const times = runs.get(name) ?? [];
    const others = runs.get(base) ?? [];
    const ratios = times.map((run, round) => run.toFirstByte / (others[round]?.toFirstByte ?? 0));
    return [
      name,
      `${median(times.map(({ toFirstByte }) => toFirstByte)).toFixed(1)} ms`,
      median(ratios).toFixed(2),
      name === BARE ? '' : `${median(times.map((run) => run.lastOutputToExit)).toFixed(1)} ms`,
    ];
  });
  const head = ['start-up', 'first byte', 'ratio', 'last output to exit'];
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return `From spawning the program to the first byte of its POST at a server on localhost, and from its last output to its exit:
medians of ${runs.get(BARE)?.length} rounds, in each of which all programs run in turn. A ratio is the median of the rounds' ratios to the
build of ${FASTEST}. The last output is the last line of the log or the last change of a file
for the runner, whichever comes later. Before its POST, this action polls the job, and the bare script does not.

${[head, head.map((_, column) => (column === 0 ? '---' : '---:')), ...rows].map(line).join('\n')}

The budgets: a first byte within 1.02 times the build of ${FASTEST}, with and without a comment; an exit within 60 ms of the last output.`;
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const half = sorted.length / 2;
  return ((sorted[Math.ceil(half) - 1] ?? 0) + (sorted[Math.floor(half)] ?? 0)) / 2;
}
