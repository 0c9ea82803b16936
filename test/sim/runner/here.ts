// A step that runs in this process, on src/, for tables with many rows. It does not test pipes, signals
// or the bundle.

import { randomUUID } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import type { Clock } from '../../../src/clock.ts';
import { run } from '../../../src/run.ts';
import { type Env, type Runtime, readSecrets } from '../../../src/runner/environment.ts';
import { escapeCommands, type Log, type Redact, redactor } from '../../../src/runner/logger.ts';
import { serialise } from '../../../src/runner/outputs.ts';
import './preload.ts';
import { inTime } from './clock.ts';
import { prepare } from './files.ts';
import { REPOSITORY_ROOT, type Step, type StepResult, timeIn } from './process.ts';

export async function runHere(step: Step): Promise<StepResult> {
  if (step.nodeArgs !== undefined || step.env?.NODE_EXTRA_CA_CERTS !== undefined) {
    throw new Error('Options of Node itself need a process of their own.');
  }
  const { folders, env, log, finish } = prepare(step, REPOSITORY_ROOT);
  const { time = timeIn(folders.root) } = step;
  const startedAt = time.now();
  const lines: string[] = [];
  const write = (line: string): void => {
    lines.push(line);
    log.receive(line);
  };
  const { promise: gone, resolve: die } = Promise.withResolvers<null>();
  const exitCode = await inTime(time, (clock) =>
    Promise.race([gone, run(runtimeOf(env, mortal(clock, die, step.dies), write, step.stops))]),
  );
  const virtualMs = time.now() - startedAt;
  const { failed, left } = finish();
  return {
    ...{ conclusion: exitCode === 0 && !failed ? 'success' : 'failure', exitCode },
    ...{ signal: exitCode === null ? 'SIGKILL' : null, stdout: lines.join('\n'), stderr: '' },
    ...{ ...left, virtualMs },
  };
}

/** A clock on which no sleep ends any more once `dies` is aborted. */
function mortal(clock: Clock, die: (exitCode: null) => void, dies?: AbortSignal): Clock {
  if (dies === undefined) return clock;
  return {
    ...clock,
    async sleep(ms, signal) {
      await clock.sleep(ms, signal);
      if (!dies.aborted) return;
      die(null);
      await new Promise(() => {});
    },
  };
}

const GOLDEN = 0.618034;
let drawn = Math.random();

/**
 * Evenly spread: of the runs at the same time that wait for a random time, no two send in the same
 * milliseconds, which the action does not rule out.
 */
function random(): number {
  drawn = (drawn + GOLDEN) % 1;
  return drawn;
}

/** As src/index.ts creates it from the process. */
function runtimeOf(
  env: Env,
  clock: Clock,
  write: (line: string) => void,
  signal = new AbortController().signal,
): Runtime {
  const secrets = readSecrets(env);
  for (const secret of secrets) write(command('add-mask', secret));
  const redact = redactor(secrets);
  return {
    ...{ env, log: logOf(redact, write), redact, clock, signal, random },
    writeOutputs: (all) =>
      appendFileSync(env.GITHUB_OUTPUT ?? '', serialise(all, `end_${randomUUID()}`)),
    writeSummary: (markdown) => appendFileSync(env.GITHUB_STEP_SUMMARY ?? '', markdown),
  };
}

function logOf(redact: Redact, write: (line: string) => void): Log {
  const clean = (text: string): string => redact(escapeCommands(redact(text)));
  const writeCommand = (name: string) => (text: string) => write(command(name, clean(text)));
  return {
    info: (text) => clean(text).split('\n').forEach(write),
    debug: writeCommand('debug'),
    notice: writeCommand('notice'),
    warning: writeCommand('warning'),
    error: writeCommand('error'),
  };
}

function command(name: string, text: string): string {
  const data = text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
  return `::${name}::${data}`;
}
