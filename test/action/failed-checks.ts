// Runs the script of fix-checks.yml that writes the prompt, with a simulated `gh`.

import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { parse } from 'yaml';
import { isThisAction, read, type Workflow } from '../contract/workflows.ts';
import { type WebhookEvent, workflowRun } from '../sim/events.ts';
import { TEMP } from '../sim/platform.ts';

export interface FailedJob {
  readonly name: string;
  /** As `gh run view --log-failed` prints it. */
  readonly log: string | Uint8Array;
}

export interface FailedRun {
  readonly jobs?: readonly FailedJob[];
  /** Whether `gh` answers nothing but errors. */
  readonly isDown?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  /** In kilobytes, for each program. */
  readonly memory?: number;
}

export interface Written {
  readonly prompt: Uint8Array;
  /** What the runner would show, and search for commands. */
  readonly output: string;
  /** The arguments of each call of `gh`. */
  readonly calls: readonly string[];
}

export const FIX_CHECKS = '.github/workflows/fix-checks.yml';
export const COMMIT = '1f2e3d4c5b6a79881f2e3d4c5b6a79881f2e3d4c';
export const LINK = 'https://github.com/octo/agents/actions/runs/41';

const { jobs } = parse(read(FIX_CHECKS)) as Workflow;
const steps = jobs.agent?.steps ?? [];
export const script = steps.find(({ run }) => run !== undefined);
export const follow = steps.find(isThisAction);

/** It knows the failed jobs, as if it had run the `--jq`. */
const GH = `#!/bin/sh
here=\${0%/*}
echo "$*" >>"$here/calls"
if [ -e "$here/down" ]; then echo 'HTTP 502: Bad Gateway' >&2; exit 1; fi
case "$*" in
  *--json*) cat "$here/jobs" ;;
  *) shift 3; cat "$here/log-$1" ;;
esac
`;

/** A line of a log, as `gh` prints it. */
export function line(text: string, job = 'test', step = 'UNKNOWN STEP'): string {
  return `${job}\t${step}\t2026-11-21T19:32:00.1234567Z ${text}\n`;
}

/** The event after the checks. */
export function checksEnded(conclusion: string, pullRequests: readonly number[]): WebhookEvent {
  const event = workflowRun({ pullRequests });
  const run = event.payload.workflow_run as object;
  const more = { conclusion, id: 41, run_attempt: 2, html_url: LINK };
  return { ...event, payload: { ...event.payload, workflow_run: { ...run, ...more } } };
}

/** Runs the script in a new folder, which is then removed. */
export function writePrompt(run: FailedRun): Written {
  const folder = mkdtempSync(join(TEMP, 'failed-checks-'));
  try {
    return runIn(folder, run);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function runIn(folder: string, { jobs = [], isDown = false, env, memory }: FailedRun): Written {
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'gh'), GH, { mode: 0o755 });
  writeFileSync(join(bin, 'calls'), '');
  writeFileSync(join(bin, 'jobs'), jobs.map(({ name }, index) => `${index}\t${name}\n`).join(''));
  for (const [index, { log }] of jobs.entries()) writeFileSync(join(bin, `log-${index}`), log);
  if (isDown) writeFileSync(join(bin, 'down'), '');
  // As the runner calls a script with `shell: bash`.
  const path = join(folder, 'script.sh');
  const limit = memory === undefined ? '' : `ulimit -v ${memory}\n`;
  writeFileSync(path, `${limit}${script?.run}`);
  const { status, stdout, stderr } = spawnSync(
    'bash',
    ['--noprofile', '--norc', '-eo', 'pipefail', path],
    {
      cwd: folder,
      encoding: 'utf8',
      env: {
        PATH: `${bin}${delimiter}${process.env.PATH}`,
        ...{ ATTEMPT: '2', COMMIT, GH_TOKEN: 'ghs_1', LINK, PROMPT: '', RUN: '41' },
        ...{ GITHUB_REPOSITORY: 'octo/agents', ...env },
      },
    },
  );
  if (status !== 0) throw new Error(`The script failed: ${stderr}`);
  return {
    prompt: readFileSync(join(folder, 'failed-checks.md')),
    output: `${stdout}${stderr}`,
    calls: readFileSync(join(bin, 'calls'), 'utf8').split('\n').filter(Boolean),
  };
}
