// The cost of a step for many jobs: peak memory, CPU time, and calls to GitHub. In real time: simulated time
// would take half of the memory for itself, and do the work of an hour in a few seconds.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type JobScript, startAgent } from '../test/sim/agent.ts';
import { startGitHub } from '../test/sim/github/server.ts';
import { ACTION, API_KEY, PROJECT, StepFolder, TOKEN } from './step.ts';
import { table } from './table.ts';

const USAGE = new URL('../test/sim/usage.mjs', import.meta.url);
const KIB_IN_MIB = 1024;
const PULL = 7;
/** Seconds: each doubling of the length of a job is equally likely. */
const SHORTEST_S = 5;
const LONGEST_S = 60;

export async function describeManyJobs(): Promise<string> {
  const rows: string[][] = [];
  for (const [jobs, wait] of [
    [1, false],
    [1, true],
    [100, true],
  ] as const) {
    const { peakKib, cpuMs, polls, calls } = await costOf(jobs, wait);
    rows.push([
      `${jobs} ${jobs === 1 ? 'job' : 'jobs'}, ${wait ? 'waiting' : 'only sending'}`,
      `${(peakKib / KIB_IN_MIB).toFixed(0)} MiB`,
      `${(cpuMs / 1000).toFixed(1)} s`,
      String(polls),
      String(calls),
    ]);
  }
  return `The peak of the resident memory of a step, its CPU time, its polls and its calls to GitHub, with all jobs on one
conversation, in real time. Jobs take ${SHORTEST_S} to ${LONGEST_S} s, log-uniformly.

${table(['jobs', 'peak', 'CPU time', 'polls', 'calls'], rows)}

The budgets, with 100 jobs: 200 MiB and 30 calls.`;
}

interface Cost {
  readonly peakKib: number;
  readonly cpuMs: number;
  readonly polls: number;
  /** Calls to GitHub. */
  readonly calls: number;
}

async function costOf(count: number, wait: boolean): Promise<Cost> {
  const jobs = Array.from({ length: count }, (_, index) => jobScript((index + 0.5) / count, index));
  let polls = 0;
  const onGet = (count: number): undefined => {
    polls = count;
  };
  await using agent = await startAgent({
    ...{ jobs, project: PROJECT, apiKey: API_KEY, hourlyLimit: null, onGet },
  });
  await using github = await startGitHub({
    ...{ token: TOKEN, issues: [{ number: PULL, pullRequest: true }] },
  });
  using folder = new StepFolder();
  const env = folder.prepare(agent.url, {
    'INPUT_JOB-ID': jobs.map(({ id }) => id).join('\n'),
    INPUT_WAIT: String(wait),
    INPUT_COMMENT: 'true',
    'INPUT_PR-NUMBER': String(PULL),
    GITHUB_API_URL: github.apiUrl,
    GITHUB_GRAPHQL_URL: github.graphqlUrl,
    GITHUB_SERVER_URL: github.serverUrl,
    GITHUB_REPOSITORY: github.repository,
  });
  const usage = join(folder.path, 'usage');
  const preload = `${USAGE}?${encodeURIComponent(usage)}`;
  const child = spawn(process.execPath, ['--import', preload, ACTION], {
    ...{ env, stdio: ['ignore', 'ignore', 'inherit'] },
  });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`The step with ${count} jobs ended with ${code}`);
  const used: Pick<Cost, 'peakKib' | 'cpuMs'> = JSON.parse(readFileSync(usage, 'utf8'));
  return { ...used, polls, calls: github.calls().length };
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
