// The most memory that a step takes, for one job and for the most that one step may have.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type JobScript, startAgent } from '../test/sim/agent.ts';
import { startStep, virtualTime } from '../test/sim/runner/process.ts';
import { jobLengths } from './lengths.ts';
import { API_KEY, PROJECT, PROMPT } from './step.ts';
import { table } from './table.ts';

const MEMORY = new URL('../test/sim/memory.mjs', import.meta.url);
const KIB_IN_MIB = 1024;
const MANY = 500;
/** Of real time, for an hour of virtual time. */
const LIMIT_MS = 300_000;

interface Case {
  readonly name: string;
  readonly jobs: number;
  readonly wait: boolean;
  /** The folder of an action; null for this one. */
  readonly action: string | null;
}

export async function describeMemory(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-memory-'));
  try {
    const cases: readonly Case[] = [
      { name: 'an action that does nothing', jobs: 1, wait: false, action: idleAction(folder) },
      { name: '1 job, only sending', jobs: 1, wait: false, action: null },
      { name: '1 job, waiting', jobs: 1, wait: true, action: null },
      { name: `${MANY} jobs, waiting`, jobs: MANY, wait: true, action: null },
    ];
    const rows: string[][] = [];
    let idle = Number.NaN;
    for (const one of cases) {
      const mib = (await peakKib(one, join(folder, 'peak'))) / KIB_IN_MIB;
      if (Number.isNaN(idle)) idle = mib;
      rows.push([one.name, `${mib.toFixed(0)} MiB`, (mib / idle).toFixed(2)]);
    }
    return `The peak of the resident memory of a step, in a simulated service and runner; jobs take 20 s to 60 min,
log-uniformly, in simulated time. What simulates the time is in each figure.

${table(['memory', 'peak', 'ratio'], rows)}`;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function idleAction(parent: string): string {
  const folder = join(parent, 'idle');
  mkdirSync(folder);
  writeFileSync(join(folder, 'action.yml'), 'runs:\n  using: node24\n  main: main.mjs\n');
  writeFileSync(join(folder, 'main.mjs'), '');
  return folder;
}

async function peakKib({ name, jobs, wait, action }: Case, peak: string): Promise<number> {
  using time = virtualTime({ grainMs: 1000 });
  const scripts = jobLengths(jobs).map(jobScript);
  await using agent = await startAgent({
    jobs: scripts,
    project: PROJECT,
    apiKey: API_KEY,
    clock: time,
    hourlyLimit: null,
  });
  const inputs = {
    'project-id': PROJECT,
    'job-id': scripts.map(({ id }) => id).join('\n'),
    'api-key': API_KEY,
    prompt: PROMPT,
    'base-url': agent.url,
    comment: false,
    'timeout-minutes': '120',
    wait,
  };
  const { conclusion, log } = await startStep({
    ...(action === null ? { with: inputs } : { action }),
    time,
    nodeArgs: ['--import', `${MEMORY}?${encodeURIComponent(peak)}`],
    timeoutMs: LIMIT_MS,
  }).result;
  if (conclusion !== 'success') throw new Error(`${name} went wrong:\n${log}`);
  return Number(readFileSync(peak, 'utf8'));
}

function jobScript(seconds: number, index: number): JobScript {
  return {
    id: `job-${index}`,
    turns: [
      {
        steps: [
          { afterMs: 0, set: { status: 'active' } },
          { afterMs: seconds * 1000, set: { status: 'completed' } },
        ],
      },
    ],
  };
}
