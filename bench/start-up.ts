// `node bench/start-up.ts [rounds] [entry …]`: milliseconds from spawning the action, or another
// build of it, to the first byte of its POST, against a bare script that posts with fetch. The
// programs run in turn, so that a slow moment of the machine meets them all; what counts is the
// median of the ratios of a round.

import { fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

interface Run {
  readonly toFirstByte: number;
  readonly toExit: number;
  /** From the last output, or from the start where there was none, to the exit. */
  readonly lastOutputToExit: number;
}

const [rounds = '20', ...given] = process.argv.slice(2);
const bare = join(import.meta.dirname, 'bare.mjs');
const builds = given.length > 0 ? given : [join(import.meta.dirname, '../dist/index.js')];
const folder = mkdtempSync(join(tmpdir(), 'bench-'));
const service = fork(join(import.meta.dirname, 'loopback.ts'));
try {
  const [{ port }] = await once(service, 'message');
  const runs = new Map<string, Run[]>([bare, ...builds].map((entry) => [entry, []]));
  for (let round = -2; round < Number(rounds); round++) {
    for (const [entry, times] of runs) {
      const run = await time(entry, port);
      // The first rounds warm the caches of the disk.
      if (round >= 0) times.push(run);
    }
  }
  const reference = runs.get(bare) ?? [];
  for (const [entry, times] of runs) {
    const ratios = times.map((run, i) => run.toFirstByte / (reference[i]?.toFirstByte ?? 0));
    console.log(
      `first byte ${median(times.map((run) => run.toFirstByte)).toFixed(1)} ms,`,
      `ratio ${median(ratios).toFixed(2)},`,
      `exit ${median(times.map((run) => run.toExit)).toFixed(1)} ms,`,
      `after the last output ${median(times.map((run) => run.lastOutputToExit)).toFixed(1)} ms:`,
      entry,
    );
  }
} finally {
  service.disconnect();
  rmSync(folder, { recursive: true });
}

async function time(entry: string, port: number): Promise<Run> {
  for (const file of ['output', 'summary']) writeFileSync(join(folder, file), '');
  writeFileSync(join(folder, 'event'), '{}');
  const arrival = once(service, 'message');
  const started = process.hrtime.bigint();
  const child = spawn(process.execPath, [entry], { env: variables(port) });
  let lastOutput = started;
  const note = (): void => {
    lastOutput = process.hrtime.bigint();
  };
  child.stdout.on('data', note);
  child.stderr.on('data', note);
  const [code] = await once(child, 'exit');
  const ended = process.hrtime.bigint();
  if (code !== 0) throw new Error(`${entry} ended with ${code}`);
  const [{ firstByte }] = await arrival;
  const ms = (from: bigint, to: bigint): number => Number(to - from) / 1e6;
  return {
    toFirstByte: ms(started, BigInt(firstByte)),
    toExit: ms(started, ended),
    lastOutputToExit: ms(lastOutput, ended),
  };
}

/** What the runner would set for a step that only sends. */
function variables(port: number): Record<string, string> {
  return {
    'INPUT_PROJECT-ID': 'project_1',
    'INPUT_JOB-ID': 'job-1',
    'INPUT_API-KEY': 'mint_0123456789abcdef',
    INPUT_PROMPT: 'Add error handling examples.',
    'INPUT_BASE-URL': `http://127.0.0.1:${port}`,
    INPUT_COMMENT: 'off',
    'INPUT_GITHUB-TOKEN': 'ghs_0123456789abcdef',
    GITHUB_EVENT_NAME: 'workflow_dispatch',
    GITHUB_EVENT_PATH: join(folder, 'event'),
    GITHUB_OUTPUT: join(folder, 'output'),
    GITHUB_STEP_SUMMARY: join(folder, 'summary'),
    GITHUB_REPOSITORY: 'octo/docs',
    GITHUB_RUN_ID: '1',
    GITHUB_RUN_ATTEMPT: '1',
    GITHUB_WORKSPACE: folder,
  };
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}
