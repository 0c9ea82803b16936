// The cost of a step for many jobs: peak memory, CPU time, and calls to GitHub.

import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type JobScript, startAgent } from '../test/sim/agent.ts';
import { push } from '../test/sim/events.ts';
import { startGitHub } from '../test/sim/github/server.ts';
import { startStep, virtualTime } from '../test/sim/runner/process.ts';
import { jobLengths } from './lengths.ts';
import { API_KEY, PROJECT, PROMPT, TOKEN } from './step.ts';
import { table } from './table.ts';

const USAGE = new URL('../test/sim/usage.mjs', import.meta.url);
const KIB_IN_MIB = 1024;
const PULL = 7;
/** The maximum real time of a step, for an hour of virtual time. */
const LIMIT_MS = 300_000;

interface Case {
  readonly name: string;
  readonly jobs: number;
  readonly wait: boolean;
  /** The folder of an action; null for this one. */
  readonly action: string | null;
}

interface Cost {
  readonly peakKib: number;
  readonly cpuMs: number;
  /** Calls to GitHub. */
  readonly calls: number;
}

export async function describeCost(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-cost-'));
  try {
    const waiting = [1, 60, 500].map((jobs) => {
      const name = `${jobs} ${jobs === 1 ? 'job' : 'jobs'}, waiting`;
      return { name, jobs, wait: true, action: null };
    });
    const cases: readonly Case[] = [
      { name: 'an action that does nothing', jobs: 1, wait: false, action: idleAction(folder) },
      { name: '1 job, only sending', jobs: 1, wait: false, action: null },
      ...waiting,
    ];
    const rows: string[][] = [];
    let idle = Number.NaN;
    for (const one of cases) {
      const { peakKib, cpuMs, calls } = await costOf(one, join(folder, 'usage'));
      if (Number.isNaN(idle)) idle = peakKib;
      rows.push([
        one.name,
        `${(peakKib / KIB_IN_MIB).toFixed(0)} MiB`,
        (peakKib / idle).toFixed(2),
        `${(cpuMs / 1000).toFixed(1)} s`,
        String(calls),
      ]);
    }
    return `The peak of the resident memory of a step, its CPU time and its calls to GitHub, with all jobs on one conversation.
Jobs take 20 s to 60 min, log-uniformly, in simulated time. Each figure includes the simulation of time.

${table(['cost', 'peak', 'ratio', 'CPU time', 'calls'], rows)}`;
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

async function costOf({ name, jobs, wait, action }: Case, usage: string): Promise<Cost> {
  using time = virtualTime({ grainMs: 1000 });
  const scripts = jobLengths(jobs).map(jobScript);
  await using agent = await startAgent({
    jobs: scripts,
    project: PROJECT,
    apiKey: API_KEY,
    clock: time,
    hourlyLimit: null,
  });
  await using github = await startGitHub({
    token: TOKEN,
    issues: [{ number: PULL, pullRequest: true }],
    clock: time,
  });
  const inputs = {
    'project-id': PROJECT,
    'job-id': scripts.map(({ id }) => id).join('\n'),
    'api-key': API_KEY,
    prompt: PROMPT,
    'base-url': agent.url,
    'pr-number': PULL,
    'timeout-minutes': '120',
    wait,
  };
  const { conclusion, log } = await startStep({
    ...(action === null ? { with: inputs } : { action }),
    ...{ time, token: TOKEN, event: push(), timeoutMs: LIMIT_MS },
    github: {
      ...{ api_url: github.apiUrl, graphql_url: github.graphqlUrl },
      ...{ server_url: github.serverUrl, repository: github.repository },
    },
    nodeArgs: ['--import', `${USAGE}?${encodeURIComponent(usage)}`],
  }).result;
  if (conclusion !== 'success') throw new Error(`${name} failed:\n${log}`);
  const used: Omit<Cost, 'calls'> = JSON.parse(readFileSync(usage, 'utf8'));
  return { ...used, calls: github.calls().length };
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
