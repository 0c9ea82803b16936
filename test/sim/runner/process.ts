// GitHub's runner, as a JavaScript action sees it: a process, its time, signals and exit. File names in
// the comments are those of github.com/actions/runner.

import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join } from 'node:path';
import type { Readable } from 'node:stream';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { systemClock } from '../../../src/clock.ts';
import { TEMP } from '../platform.ts';
import { prepare, removeFolder, type Setup } from './files.ts';

/** Time that a step's process and the servers around it share. */
export type VirtualTime = ReturnType<typeof timeIn>;

export interface TimeOptions {
  /**
   * The maximum number of virtual seconds per real second. Default: no limit. With a pace, real time counts in
   * full; otherwise only a part of it, so that nothing is late on a slow machine.
   */
  readonly pace?: number;
  /** How long a connection must be silent, in real time, until time jumps. Default: 1500. */
  readonly graceMs?: number;
  /** Timers that are due within this many milliseconds fire together; for very many timers. */
  readonly grainMs?: number;
}

export interface Step extends Setup {
  /** The folder of the action. Default: this repository. */
  readonly action?: string;
  /** Default: a virtual time of its own. */
  readonly time?: VirtualTime;
  readonly nodeArgs?: readonly string[];
  /** In real time. A step that takes longer is killed, and `result` rejects. */
  readonly timeoutMs?: number;
  /** Of a step in this process: once it is aborted, the step never wakes from a sleep, as if it were killed. */
  readonly dies?: AbortSignal;
  /** Of a step in this process: when the runner stops it. */
  readonly stops?: AbortSignal;
}

type Left = ReturnType<ReturnType<typeof prepare>['finish']>['left'];

export interface StepResult extends Left {
  readonly conclusion: 'success' | 'failure';
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly virtualMs: number;
}

export interface StepRun {
  readonly result: Promise<StepResult>;
  kill(signal: NodeJS.Signals): void;
}

/** When coverage is measured, the steps run on src/ instead of the bundle. */
const COVERAGE = process.env.NODE_V8_COVERAGE ?? '';
const SOURCE = fileURLToPath(new URL('../../../src/index.ts', import.meta.url));
const TIME = fileURLToPath(new URL('../time.ts', import.meta.url));
export const REPOSITORY_ROOT = fileURLToPath(new URL('../../..', import.meta.url));

/** How much of real time counts. */
const SHARE = 0.1;

const foldersOfTimes = new Set<string>();

/** Its file is removed by `using`, or when this process exits. */
export function virtualTime(options: TimeOptions = {}): VirtualTime & Disposable {
  const folder = mkdtempSync(join(TEMP, 'virtual-time-'));
  if (foldersOfTimes.size === 0) process.once('exit', () => foldersOfTimes.forEach(removeFolder));
  foldersOfTimes.add(folder);
  return Object.assign(timeIn(folder, options), { [Symbol.dispose]: () => removeFolder(folder) });
}

export function timeIn(folder: string, options: TimeOptions = {}) {
  const file = join(folder, 'offset');
  writeFileSync(file, '0');
  const share = options.pace === undefined ? SHARE : 1;
  const started = systemClock.now();
  /** Virtual time without what was skipped, in milliseconds since 1970. */
  const base = (): number => started + (systemClock.now() - started) * share;
  /** How many milliseconds were skipped, which the file contains. */
  const ahead = (): number => Number(readFileSync(file, 'utf8'));
  const now = (): number => base() + ahead();
  return {
    ...{ ...options, file, share, started, base, ahead, now },
    /** Milliseconds since this virtual time was created. */
    elapsed: (): number => now() - started,
    skip: (ms: number): void => writeFileSync(file, String(ahead() + ms)),
  };
}

export function startStep(step: Step): StepRun {
  const { action = REPOSITORY_ROOT, timeoutMs = 120_000, nodeArgs = [] } = step;
  const { manifest, folders, env, log, finish } = prepare(step, action);
  const { time = timeIn(folders.root) } = step;
  const startedAt = time.now();
  const isCovered = COVERAGE !== '' && step.action === undefined;
  const main = isCovered ? SOURCE : join(action, manifest.runs.main);
  const limit = AbortSignal.timeout(timeoutMs);
  const child = spawn(nodeBinary(), ['--import', preloadOf(time), ...nodeArgs, main], {
    ...{ cwd: folders.workspace, windowsHide: true, signal: limit, killSignal: 'SIGKILL' },
    env: {
      ...{ ...env, SIM_TIME: JSON.stringify(time) },
      ...(isCovered && { NODE_V8_COVERAGE: COVERAGE }),
    },
  });
  // A process can exit before its standard input is closed.
  child.stdin.on('error', () => {}).end();
  child.on('error', (error) => log.annotate('error', error.message));
  const stdout = readLines(child.stdout, log.receive);
  const stderr = readLines(child.stderr, log.receive);

  async function end(): Promise<StepResult> {
    await new Promise((resolve) => child.on('close', resolve));
    const { exitCode, signalCode: signal } = child;
    const virtualMs = time.now() - startedAt;
    const { failed, left } = finish();
    if (limit.aborted)
      throw new Error(`The step took too long, in real time. Its log:\n${left.log}`);
    const conclusion = exitCode === 0 && !failed ? 'success' : 'failure';
    return { conclusion, exitCode, signal, stdout: stdout(), stderr: stderr(), ...left, virtualMs };
  }

  return { result: end(), kill: (signal) => void child.kill(signal) };
}

/** As JavaScript: stripping types in each process would take as long as the action itself. */
function preloadOf(time: VirtualTime): string {
  const file = join(dirname(time.file), 'time.mjs');
  preloadText ??= stripTypeScriptTypes(readFileSync(TIME, 'utf8'));
  writeFileSync(file, preloadText);
  return pathToFileURL(file).href;
}
let preloadText: string | undefined;

/** The Node version of the action, even if another one runs the tests. */
function nodeBinary(): string {
  if (process.versions.node.startsWith('24.')) return process.execPath;
  return realpathSync(join(REPOSITORY_ROOT, 'node_modules', '.bin', 'node'));
}

/** As .NET reads lines: `\n`, `\r\n` or a single `\r` ends them. Returns how to get all text so far. */
function readLines(stream: Readable, receive: (line: string) => void): () => string {
  const decoder = new TextDecoder();
  let text = '';
  let rest = '';
  stream.on('data', (chunk: Buffer) => {
    const decoded = decoder.decode(chunk, { stream: true });
    text += decoded;
    // A `\r` at the end may be the first half of a `\r\n`.
    const lines = (rest + decoded).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? '';
    lines.forEach(receive);
  });
  stream.on('close', () => {
    const decoded = decoder.decode();
    text += decoded;
    const lines = (rest + decoded).split('\r');
    if (lines.at(-1) === '') lines.pop();
    lines.forEach(receive);
  });
  return () => text;
}
