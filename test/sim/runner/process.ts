// GitHub's runner, as a JavaScript action sees it: a process, its time, signals and exit. File names in
// the comments are those of github.com/actions/runner.

import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, realpathSync, writeFileSync } from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { systemClock } from '../../../src/clock.ts';
import { TEMP } from '../platform.ts';
import type { Annotation, Command, StepLog } from './commands.ts';
import { type Folders, removeFolder, type Setup } from './files.ts';
import { prepare } from './setup.ts';

/** Time that a step's process and the servers around it share. */
export interface VirtualTime extends TimeOptions {
  /** The file that contains how much time was skipped, in milliseconds. */
  readonly file: string;
  /** When it started, since 1970, and how much of real time counts since then. */
  readonly started: number;
  readonly share: number;
  /** Wall-clock time in milliseconds. */
  now(): number;
  /** Milliseconds since this virtual time was created. */
  elapsed(): number;
  /** Virtual time without what was skipped. */
  base(): number;
  /** How much was skipped, in milliseconds. */
  ahead(): number;
  /** Moves time forward by `ms` milliseconds. */
  skip(ms: number): void;
}

export interface TimeOptions {
  /**
   * The maximum number of virtual seconds per real second. Default: no limit. With a pace, real time counts in
   * full; otherwise only a part of it, so that nothing is late on a slow machine.
   */
  readonly pace?: number | undefined;
  /** How long a connection must be silent, in real time, until time jumps. Default: 1500. */
  readonly graceMs?: number | undefined;
  /** Timers that are due within this many milliseconds fire together; for very many timers. */
  readonly grainMs?: number | undefined;
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

export type Conclusion = 'success' | 'failure';

export interface StepResult {
  readonly conclusion: Conclusion;
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly outputs: Readonly<Record<string, string>>;
  readonly outputText: string;
  /** Unmasked. */
  readonly summary: string;
  readonly annotations: readonly Annotation[];
  /** Their messages, by their types. */
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
  readonly notices: readonly string[];
  /** The values that the step masked. */
  readonly masks: readonly string[];
  readonly log: string;
  /** The commands that the runner ran, in order. */
  readonly commands: readonly Command[];
  readonly stdout: string;
  readonly stderr: string;
  readonly virtualMs: number;
  /** The errors in the files of the step. Each of them fails the step. */
  readonly fileErrors: readonly string[];
  /** Why runners based on act would read other outputs. Empty if they read the same. */
  readonly strictProblem: string;
}

export interface StepRun {
  readonly result: Promise<StepResult>;
  kill(signal: NodeJS.Signals): void;
}

interface Exit {
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly timedOut: boolean;
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/** When coverage is measured, the steps run on src/ instead of the bundle. */
const COVERAGE = process.env.NODE_V8_COVERAGE ?? '';
const SOURCE = fileURLToPath(new URL('../../../src/index.ts', import.meta.url));
const TIME = fileURLToPath(new URL('../time.ts', import.meta.url));
export const REPOSITORY_ROOT = fileURLToPath(new URL('../../..', import.meta.url));
// How long the runner waits for the end of the output after the exit (ProcessInvoker.cs).
const STREAMS_END_MS = 5000;

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

export function timeIn(folder: string, options: TimeOptions = {}): VirtualTime {
  const { pace, graceMs, grainMs } = options;
  const file = join(folder, 'offset');
  writeFileSync(file, '0');
  const share = pace === undefined ? SHARE : 1;
  const started = systemClock.now();
  const base = () => started + (systemClock.now() - started) * share;
  const ahead = () => Number(readFileSync(file, 'utf8'));
  const now = () => base() + ahead();
  const elapsed = () => now() - started;
  const skip = (ms: number) => writeFileSync(file, String(ahead() + ms));
  return { file, started, share, pace, graceMs, grainMs, now, elapsed, base, ahead, skip };
}

export function startStep(step: Step): StepRun {
  const { action = REPOSITORY_ROOT } = step;
  const prepared = prepare(step, action);
  const { manifest, folders, log } = prepared;
  const { time = timeIn(folders.root) } = step;
  const startedAt = time.now();
  const main = isCovered(step) ? SOURCE : join(action, manifest.runs.main);
  const env = { ...prepared.env, ...ownVariables(step, time) };
  const child = launch(main, env, folders, step, time);
  const { ended, kill } = supervise(child, log, step.timeoutMs ?? 120_000);

  async function finish(): Promise<StepResult> {
    const { timedOut, ...exit } = await ended;
    const virtualMs = time.now() - startedAt;
    const { failed, left } = prepared.finish();
    if (timedOut) throw new Error(`The step took too long, in real time. Its log:\n${left.log}`);
    const conclusion = exit.exitCode === 0 && !failed ? 'success' : 'failure';
    return { conclusion, ...exit, ...left, virtualMs };
  }

  return { result: finish(), kill };
}

/** Supervises the process until it has ended (ProcessInvoker.cs). */
function supervise(child: Child, log: StepLog, timeoutMs: number) {
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  let timedOut = false;

  const ended = new Promise<Exit>((done) => {
    function end(exitCode: number | null, signal: string | null): void {
      const [out, err] = [stdout, stderr].map((chunks) => Buffer.concat(chunks).toString('utf8'));
      clearTimeout(limiter);
      done({ exitCode, signal, stdout: out ?? '', stderr: err ?? '', timedOut });
    }
    const limiter = setTimeout(() => {
      timedOut = true;
      kill('SIGKILL');
    }, timeoutMs);
    // A process can exit before its standard input is closed.
    child.stdin.on('error', () => {}).end();
    readLines(child.stdout, stdout, log.receive);
    readLines(child.stderr, stderr, log.receive);
    child.on('error', (error) => log.annotate('error', error.message));
    child.on('exit', () => {
      setTimeout(() => {
        child.stdout.destroy();
        child.stderr.destroy();
      }, STREAMS_END_MS).unref();
    });
    child.on('close', end);
  });

  function kill(signal: NodeJS.Signals): void {
    child.kill(signal);
  }

  return { ended, kill };
}

function isCovered({ action }: Step): boolean {
  return COVERAGE !== '' && action === undefined;
}

/** Variables that only the tests need. */
function ownVariables(step: Step, time: VirtualTime): Record<string, string> {
  return { ...timeVariables(time), ...(isCovered(step) ? { NODE_V8_COVERAGE: COVERAGE } : {}) };
}

function timeVariables(time: VirtualTime): Record<string, string> {
  return {
    SIM_TIME_FILE: time.file,
    SIM_TIME_START: String(time.started),
    SIM_TIME_SHARE: String(time.share),
    ...(time.pace === undefined ? {} : { SIM_TIME_PACE: String(time.pace) }),
    ...(time.grainMs === undefined ? {} : { SIM_TIME_GRAIN_MS: String(time.grainMs) }),
    ...(time.graceMs === undefined ? {} : { SIM_TIME_GRACE_MS: String(time.graceMs) }),
  };
}

/** As JavaScript: stripping types in each process would take as long as the action itself. */
function preloadOf(time: VirtualTime): string {
  const file = join(dirname(time.file), 'time.mjs');
  preloadText ??= stripTypeScriptTypes(readFileSync(TIME, 'utf8'));
  writeFileSync(file, preloadText);
  return pathToFileURL(file).href;
}
let preloadText: string | undefined;

function launch(
  main: string,
  env: Record<string, string>,
  { workspace }: Folders,
  step: Step,
  time: VirtualTime,
): Child {
  const preload = ['--import', preloadOf(time)];
  return spawn(nodeBinary(), [...preload, ...(step.nodeArgs ?? []), main], {
    ...{ cwd: workspace, env, windowsHide: true },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
}

/** The Node version of the action, even if another one runs the tests. */
function nodeBinary(): string {
  if (process.versions.node.startsWith('24.')) return process.execPath;
  return realpathSync(join(REPOSITORY_ROOT, 'node_modules', '.bin', 'node'));
}

/** As .NET reads lines: they end with `\n`, `\r\n` or a single `\r`. */
function readLines(stream: Readable, chunks: Buffer[], receive: (line: string) => void): void {
  const decoder = new TextDecoder();
  let rest = '';
  stream.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    // A `\r` at the end may be the first half of a `\r\n`.
    const lines = (rest + decoder.decode(chunk, { stream: true })).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? '';
    lines.forEach(receive);
  });
  stream.on('close', () => {
    const lines = (rest + decoder.decode()).split('\r');
    if (lines.at(-1) === '') lines.pop();
    lines.forEach(receive);
  });
}
