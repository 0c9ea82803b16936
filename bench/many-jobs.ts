// The cost of a step for many jobs: peak memory, CPU time, and calls to GitHub.

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type JobScript, startAgent } from '../test/sim/agent.ts';
import { mergeGroup } from '../test/sim/events.ts';
import { startGitHub } from '../test/sim/github/server.ts';
import { startStep, virtualTime } from '../test/sim/runner/process.ts';
import { API_KEY, PROJECT, PROMPT, TOKEN } from './step.ts';
import { table } from './table.ts';

const USAGE = new URL('../test/sim/usage.mjs', import.meta.url);
const KIB_IN_MIB = 1024;
const PULL = 7;
/** The maximum real time of a step, for an hour of virtual time. */
const LIMIT_MS = 300_000;
/** Seconds: each doubling of the length of a job is equally likely. */
const SHORTEST_S = 20;
const LONGEST_S = 3600;

export async function describeManyJobs(): Promise<string> {
  const rows: string[][] = [];
  for (const [jobs, wait] of [
    [1, false],
    [1, true],
    [100, true],
  ] as const) {
    const { peakKib, cpuMs, calls } = await costOf(jobs, wait);
    rows.push([
      `${jobs} ${jobs === 1 ? 'job' : 'jobs'}, ${wait ? 'waiting' : 'only sending'}`,
      `${(peakKib / KIB_IN_MIB).toFixed(0)} MiB`,
      `${(cpuMs / 1000).toFixed(1)} s`,
      String(calls),
    ]);
  }
  return `The peak of the resident memory of a step, its CPU time and its calls to GitHub, with all jobs on one conversation.
Jobs take 20 s to 60 min, log-uniformly, in simulated time. Each figure includes the simulation of time.

${table(['jobs', 'peak', 'CPU time', 'calls'], rows)}

The budgets, with 100 jobs: 200 MiB and 30 calls.`;
}

interface Cost {
  readonly peakKib: number;
  readonly cpuMs: number;
  /** Calls to GitHub. */
  readonly calls: number;
}

async function costOf(count: number, wait: boolean): Promise<Cost> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-cost-'));
  using time = virtualTime({ grainMs: 1000 });
  const jobs = Array.from({ length: count }, (_, index) => jobScript((index + 0.5) / count, index));
  await using agent = await startAgent({
    ...{ jobs, project: PROJECT, apiKey: API_KEY, clock: time, hourlyLimit: null },
  });
  await using github = await startGitHub({
    ...{ token: TOKEN, issues: [{ number: PULL, pullRequest: true }], clock: time },
  });
  try {
    const { conclusion, log } = await startStep({
      with: {
        'project-id': PROJECT,
        'job-id': jobs.map(({ id }) => id).join('\n'),
        'api-key': API_KEY,
        prompt: PROMPT,
        'pr-number': PULL,
        'base-url': agent.url,
        'timeout-minutes': '120',
        wait,
      },
      ...{ time, token: TOKEN, event: mergeGroup(), timeoutMs: LIMIT_MS },
      github: {
        ...{ api_url: github.apiUrl, graphql_url: github.graphqlUrl },
        ...{ server_url: github.serverUrl, repository: github.repository },
      },
      nodeArgs: ['--import', `${USAGE}?${encodeURIComponent(join(folder, 'usage'))}`],
    }).result;
    if (conclusion !== 'success') throw new Error(`The step with ${count} jobs failed:\n${log}`);
    const used: Omit<Cost, 'calls'> = JSON.parse(readFileSync(join(folder, 'usage'), 'utf8'));
    return { ...used, calls: github.calls().length };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** `share` is that of the jobs that are shorter. */
function jobScript(share: number, index: number): JobScript {
  const seconds = SHORTEST_S * (LONGEST_S / SHORTEST_S) ** share;
  const steps = [
    { afterMs: 0, set: { status: 'active' } },
    { afterMs: seconds * 1000, set: { status: 'completed' } },
  ];
  return { id: `0b7e6f0c-5d1a-4c3e-9f2b-${String(index).padStart(12, '0')}`, turns: [{ steps }] };
}
