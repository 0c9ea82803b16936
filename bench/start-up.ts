// Milliseconds from spawning a program to the first byte of its POST, and to its exit: the action,
// an earlier build of it, and a bare script that posts with fetch, in turn.

import { type ChildProcess, execFileSync, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ACTION, PULLS, StepFolder } from './step.ts';

interface Contestant {
  readonly name: string;
  readonly entry: string;
  readonly env: () => Record<string, string>;
  /** The contestant that it is compared with. */
  readonly base: string;
  readonly runs: { readonly toFirstByte: number; readonly lastOutputToExit: number }[];
}

/** The fastest build so far, from the history. */
const FASTEST = '048c9fc';
/** These fill the disk caches, and are not counted. */
const WARM_UP_ROUNDS = 2;

export async function describeStartUp(rounds: number, builds: readonly string[]): Promise<string> {
  using folder = new StepFolder();
  const start = (file: string): ChildProcess => fork(join(import.meta.dirname, file));
  const [api, github] = [start('api.ts'), start('github.ts')];
  try {
    const ready = await Promise.all([once(api, 'message'), once(github, 'message')]);
    const [[{ port }], [{ apiUrl }]] = ready;
    let pull = 0;
    const envs = {
      'without a comment': () => folder.prepare(`http://127.0.0.1:${port}`),
      'with a comment': () => {
        pull = (pull % PULLS) + 1;
        const more = { INPUT_COMMENT: 'true', 'INPUT_PR-NUMBER': `${pull}` };
        return folder.prepare(`http://127.0.0.1:${port}`, { ...more, GITHUB_API_URL: apiUrl });
      },
    };
    const all: readonly (readonly [name: string, entry: string])[] = [
      [`the build of ${FASTEST}`, extract(FASTEST, folder.path)],
      ['this action', ACTION],
      ...builds.map((build) => [build, resolve(build)] as const),
    ];
    const contestants = Object.entries(envs).flatMap(([how, env]) =>
      all.map(([name, entry]): Contestant => {
        const base = `the build of ${FASTEST}, ${how}`;
        return { name: `${name}, ${how}`, entry, env, base, runs: [] };
      }),
    );
    const [first] = contestants;
    const entry = join(import.meta.dirname, 'bare.mjs');
    const name = 'a bare script with `fetch`';
    if (first !== undefined) contestants.unshift({ ...first, name, entry, runs: [] });
    for (let round = -WARM_UP_ROUNDS; round < rounds; round++) {
      for (const contestant of contestants) {
        const run = await time(contestant, api, folder.written);
        if (round >= 0) contestant.runs.push(run);
      }
    }
    return render(contestants);
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

async function time(
  { name, entry, env }: Contestant,
  api: ChildProcess,
  files: readonly string[],
): Promise<Contestant['runs'][number]> {
  const variables = env();
  const arrival = once(api, 'message');
  const started = process.hrtime.bigint();
  const child = spawn(process.execPath, [entry], { env: variables });
  let lastOutput = started;
  const note = (): void => {
    lastOutput = process.hrtime.bigint();
  };
  for (const stream of [child.stdout, child.stderr]) stream.on('data', note);
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

function render(contestants: readonly Contestant[]): string {
  const rows = contestants.map(({ name, base, runs }) => {
    const others = contestants.find((other) => other.name === base)?.runs ?? [];
    const ratios = runs.map((run, round) => run.toFirstByte / (others[round]?.toFirstByte ?? 0));
    const toFirstByte = median(runs.map((run) => run.toFirstByte)).toFixed(1);
    const toExit = median(runs.map((run) => run.lastOutputToExit)).toFixed(1);
    return [name, `${toFirstByte} ms`, median(ratios).toFixed(2), `${toExit} ms`];
  });
  const head = ['', 'first byte', 'ratio', 'last output to exit'];
  const lines = [head, ['---', '---:', '---:', '---:'], ...rows];
  return `Medians of ${contestants[0]?.runs.length} rounds. A ratio is the median of the rounds' ratios to the build of ${FASTEST}.

${lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')}
`;
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const half = sorted.length / 2;
  return ((sorted[Math.ceil(half) - 1] ?? 0) + (sorted[Math.floor(half)] ?? 0)) / 2;
}
