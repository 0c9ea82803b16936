// GitHub's runner, as far as a JavaScript action can tell. File names in the comments are those of
// github.com/actions/runner, whose behaviour this follows.

import { type ChildProcessByStdio, spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { stripTypeScriptTypes } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parse } from 'yaml';
import { TEMP } from './platform.ts';

/** What the runner masks from the start, as it does the secrets of a repository. */
export type Secrets = readonly string[];

/**
 * How a file that the step may write to is. `missing`: its path is set, but nothing is there;
 * `unset`: the variable is not set; `full`: a device with no space left.
 */
export type FileFault = 'normal' | 'missing' | 'unset' | 'read-only' | 'full';

export interface Event {
  readonly name: string;
  /** Text is written as it stands, broken or not; null leaves no file. */
  readonly payload: unknown;
}

/** Time that a step's process and the servers around it share. */
export interface VirtualTime extends TimeOptions {
  /** Holds how far virtual time is ahead of real time, in milliseconds. */
  readonly file: string;
  /** Wall-clock time in milliseconds. */
  now(): number;
  /** Since this virtual time was made, in milliseconds. */
  elapsed(): number;
}

export interface TimeOptions {
  /** Virtual seconds per real second at most. Default: no limit. */
  readonly pace?: number | undefined;
  /** How long a connection must be silent, in real time, until time jumps. Default: 1500. */
  readonly graceMs?: number | undefined;
  /** Milliseconds of virtual time in which all that is due fires together; for very many timers. */
  readonly grainMs?: number | undefined;
}

export interface Step {
  /** As written in a workflow. Not given is not the same as ''. */
  readonly with?: Readonly<Record<string, string | number | boolean | null>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly event?: Event;
  /** Facts of the run, by the name of their variable: `run_attempt` sets GITHUB_RUN_ATTEMPT. */
  readonly github?: Readonly<Record<string, string | undefined>>;
  /** The value of `${{ github.token }}`. */
  readonly token?: string;
  readonly secrets?: Secrets;
  readonly debug?: boolean;
  /** Default: a fresh empty folder, as without a checkout. */
  readonly workspace?: string;
  /** The folder of the action. Default: this repository. */
  readonly action?: string;
  /** Null is real time. */
  readonly time?: VirtualTime | null;
  readonly outputFile?: FileFault;
  readonly summaryFile?: FileFault;
  /** Told each line of the log as it is written. */
  readonly onLine?: (line: string) => void;
  readonly nodeArgs?: readonly string[];
  /** In real time. A step that takes longer is killed, and its result is an error. */
  readonly timeoutMs?: number;
}

export type Conclusion = 'success' | 'failure' | 'cancelled';
export type AnnotationType = 'error' | 'warning' | 'notice';

export interface Annotation {
  readonly type: AnnotationType;
  readonly message: string;
  readonly title?: string;
}

export interface Command {
  /** In lower case. */
  readonly name: string;
  readonly properties: Readonly<Record<string, string>>;
  readonly data: string;
}

export interface StepResult {
  readonly conclusion: Conclusion;
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** Outputs that `action.yml` declares bear the name that stands there. */
  readonly outputs: Readonly<Record<string, string>>;
  /** How often each of them was written. */
  readonly outputWrites: Readonly<Record<string, number>>;
  readonly outputText: string;
  /** Unmasked; empty if it was too large for GitHub to show. */
  readonly summary: string;
  readonly state: string;
  readonly annotations: readonly Annotation[];
  /** What the step asked to mask. */
  readonly masks: readonly string[];
  readonly log: string;
  /** Each command that the runner obeyed, in order. */
  readonly commands: readonly Command[];
  readonly stdout: string;
  readonly stderr: string;
  readonly virtualMs: number;
  /** What is wrong in the files of the step, each of which fails it. */
  readonly fileErrors: readonly string[];
  /** Why runners of the kind of act and Gitea would not take the outputs as they are; else empty. */
  readonly strictProblem: string;
}

export interface Patience {
  readonly termAfterMs?: number;
  readonly killAfterMs?: number;
}

export interface StepRun {
  readonly result: Promise<StepResult>;
  readonly pid: number;
  /** SIGINT, then SIGTERM, then SIGKILL, the pauses in real time. Resolves when it has ended. */
  cancel(patience?: Patience): Promise<void>;
  kill(signal: NodeJS.Signals): void;
}

interface Manifest {
  readonly inputs?: Readonly<Record<string, Input | null>>;
  readonly outputs?: Readonly<Record<string, unknown>>;
  readonly runs: { readonly using: string; readonly main: string };
}

interface Input {
  readonly default?: string | number | boolean | null;
  readonly deprecationMessage?: string;
}

interface Folders {
  readonly root: string;
  readonly temp: string;
  readonly workspace: string;
}

interface Files {
  readonly env: string;
  readonly path: string;
  readonly output: string;
  readonly state: string;
  readonly step_summary: string;
}

/** What a command looks like: `start name properties end data`. */
interface Grammar {
  readonly start: string;
  readonly end: string;
  readonly separator: string;
  readonly escapedInProperties: string;
  readonly escapedInData: string;
}

interface Exit {
  readonly exitCode: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly cancelled: boolean;
  readonly timedOut: boolean;
}

type Worker = ReturnType<typeof startWorker>;
type Pair = readonly [name: string, value: string];
type Child = ChildProcessByStdio<Writable, Readable, Readable>;

export const JOB_TOKEN = 'ghs_simulatedTokenOfTheJob0123456789';

/** Where coverage is taken, the same steps run on the source that the bundle is made of. */
const COVERAGE = process.env.NODE_V8_COVERAGE ?? '';
const SOURCE = fileURLToPath(new URL('../../src/index.ts', import.meta.url));
const TIME = fileURLToPath(new URL('./time.ts', import.meta.url));
const REPOSITORY_ROOT = fileURLToPath(new URL('../..', import.meta.url));
const ANNOTATIONS_PER_TYPE = 10;
const MESSAGE_LENGTH = 4096;
const SUMMARY_BYTES = 1024 * 1024;
// How long the runner waits for the end of the output once the process is gone (ProcessInvoker.cs).
const STREAMS_END_MS = 5000;

// GitHubContext.cs. Nothing else of the context `github` reaches the environment.
const GITHUB_FACTS = new Set(
  `action action_path action_ref action_repository actor actor_id api_url artifacts artifacts_list
  base_ref env event_name event_path graphql_url head_ref job output path ref ref_name
  ref_protected ref_type repository repository_id repository_owner repository_owner_id
  retention_days run_attempt run_id run_number server_url sha state step_summary triggering_actor
  workflow workflow_ref workflow_sha workspace`.split(/\s+/),
);

// ActionCommandManager.cs.
const COMMANDS: ReadonlySet<string> = new Set(
  `stop-commands set-env add-path set-output save-state add-mask add-matcher remove-matcher debug
  warning error notice group endgroup echo`.split(/\s+/),
);

// ActionCommand.cs.
const DOUBLE_COLON: Grammar = {
  start: '::',
  end: '::',
  separator: ',',
  escapedInProperties: '\r\n:,',
  escapedInData: '\r\n',
};
const BRACKETS: Grammar = {
  start: '##[',
  end: ']',
  separator: ';',
  escapedInProperties: ';\r\n]',
  escapedInData: ';\r\n]',
};

const foldersOfTimes = new Set<string>();

const LABELS = { error: 'Error', warning: 'Warning', notice: 'Notice' } as const;

/** Its file goes with `using`, or else when this process ends. */
export function virtualTime(options: TimeOptions = {}): VirtualTime & Disposable {
  const folder = mkdtempSync(join(TEMP, 'virtual-time-'));
  if (foldersOfTimes.size === 0) process.once('exit', () => foldersOfTimes.forEach(removeFolder));
  foldersOfTimes.add(folder);
  return Object.assign(timeIn(folder, options), { [Symbol.dispose]: () => removeFolder(folder) });
}

function timeIn(folder: string, { pace, graceMs, grainMs }: TimeOptions = {}): VirtualTime {
  const file = join(folder, 'offset');
  writeFileSync(file, '0');
  const started = Date.now();
  const now = () => Date.now() + Number(readFileSync(file, 'utf8'));
  return { file, pace, graceMs, grainMs, now, elapsed: () => now() - started };
}

export function runStep(step: Step): Promise<StepResult> {
  return startStep(step).result;
}

export function startStep(step: Step): StepRun {
  const { action = REPOSITORY_ROOT } = step;
  const manifest = readManifest(action);
  refuseUnknownFacts(step);
  const folders = makeFolders(step);
  const files = makeFiles(folders, step);
  const time = step.time === undefined ? timeIn(folders.root) : step.time;
  const clock = time ?? Date;
  const startedAt = clock.now();
  const worker = startWorker(manifest, folders.workspace, step);
  const inputs = worker.takeInputs(step.with ?? {});
  worker.printHeader(inputs);
  const main = isCovered(step) ? SOURCE : join(action, manifest.runs.main);
  const child = launch(main, environment(step, inputs, folders, files, time), folders, step, time);
  const { ended, cancel, kill } = supervise(child, worker, step.timeoutMs ?? 60_000);

  async function finish(): Promise<StepResult> {
    const { cancelled, timedOut, ...exit } = await ended;
    const virtualMs = clock.now() - startedAt;
    for (const [name, path] of readableFiles(files, step)) worker.takeFile(name, path);
    if (cancelled) worker.annotate('error', 'The operation was canceled.');
    removeFolder(folders.root);
    const { failed, ...report } = worker.report();
    if (timedOut) throw new Error(`The step took too long, in real time. Its log:\n${report.log}`);
    const conclusion = exit.exitCode === 0 && !failed ? 'success' : 'failure';
    return { conclusion: cancelled ? 'cancelled' : conclusion, ...exit, ...report, virtualMs };
  }

  return { result: finish(), pid: child instanceof Error ? 0 : (child.pid ?? 0), cancel, kill };
}

/** Follows the process to its end (ProcessInvoker.cs). */
function supervise(child: Child | Error, worker: Worker, timeoutMs: number) {
  const gone = new AbortController();
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  let cancelled = false;
  let timedOut = false;

  const ended = new Promise<Exit>((done) => {
    function end(exitCode: number | null, signal: string | null): void {
      const [out, err] = [stdout, stderr].map((chunks) => Buffer.concat(chunks).toString('utf8'));
      gone.abort();
      clearTimeout(limiter);
      done({ exitCode, signal, stdout: out ?? '', stderr: err ?? '', cancelled, timedOut });
    }
    const limiter = setTimeout(() => {
      timedOut = true;
      kill('SIGKILL');
    }, timeoutMs);
    if (child instanceof Error) {
      worker.annotate('error', child.message);
      end(null, null);
      return;
    }
    // A process that ends at once may be gone before its standard input is closed.
    child.stdin.on('error', () => {}).end();
    readLines(child.stdout, stdout, worker.receive);
    readLines(child.stderr, stderr, worker.receive);
    child.on('error', (error) => worker.annotate('error', error.message));
    child.on('exit', () => {
      gone.abort();
      setTimeout(() => {
        child.stdout.destroy();
        child.stderr.destroy();
      }, STREAMS_END_MS).unref();
    });
    child.on('close', end);
  });

  function kill(signal: NodeJS.Signals): void {
    if (!(child instanceof Error)) child.kill(signal);
  }

  async function cancel({ termAfterMs = 7500, killAfterMs = 2500 }: Patience = {}): Promise<void> {
    if (gone.signal.aborted) return;
    cancelled = true;
    kill('SIGINT');
    await wait(termAfterMs, undefined, gone).catch(() => {});
    if (!gone.signal.aborted) kill('SIGTERM');
    await wait(killAfterMs, undefined, gone).catch(() => {});
    if (!gone.signal.aborted) kill('SIGKILL');
    await ended;
  }

  return { ended, cancel, kill };
}

/** Parsed once: that takes longer than all the rest that is done here for a step. */
const manifests = new Map<string, Manifest>();

function readManifest(action: string): Manifest {
  const text = readFileSync(join(action, 'action.yml'), 'utf8');
  const manifest: Manifest = manifests.get(text) ?? parse(text);
  manifests.set(text, manifest);
  if (manifest.runs.using.toLowerCase() !== 'node24') {
    throw new Error(`'using: ${manifest.runs.using}' is not simulated, only 'node24' is.`);
  }
  return manifest;
}

function makeFolders(step: Step): Folders {
  const root = mkdtempSync(join(TEMP, 'step-'));
  const temp = join(root, 'temp');
  const workspace = step.workspace ?? join(root, 'workspace');
  for (const folder of ['_runner_file_commands', '_github_workflow']) {
    mkdirSync(join(temp, folder), { recursive: true });
  }
  for (const folder of ['home', 'tools', 'workspace']) mkdirSync(join(root, folder));
  return { root, temp, workspace };
}

function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

function makeFiles({ temp }: Folders, step: Step): Files {
  const folder = join(temp, '_runner_file_commands');
  return {
    env: makeFile(join(folder, 'set_env'), 'normal'),
    path: makeFile(join(folder, 'add_path'), 'normal'),
    output: makeFile(join(folder, 'set_output'), step.outputFile ?? 'normal'),
    state: makeFile(join(folder, 'save_state'), 'normal'),
    step_summary: makeFile(join(folder, 'step_summary'), step.summaryFile ?? 'normal'),
  };
}

function makeFile(path: string, fault: FileFault): string {
  if (fault === 'full') return '/dev/full';
  if (fault === 'missing' || fault === 'unset') return path;
  // No mode of a file keeps root from writing to it.
  if (fault === 'read-only' && process.getuid?.() === 0) return '/proc/version';
  writeFileSync(path, '');
  if (fault === 'read-only') chmodSync(path, 0o444);
  return path;
}

function readableFiles(files: Files, step: Step): Pair[] {
  const faults: Record<string, FileFault | undefined> = {
    output: step.outputFile,
    step_summary: step.summaryFile,
  };
  return Object.entries(files).filter(
    ([name, path]) => !['read-only', 'full'].includes(faults[name] ?? '') && existsSync(path),
  );
}

/** What comes later wins: a workflow's `env:` cannot change what the runner sets. */
function environment(
  step: Step,
  inputs: readonly Pair[],
  folders: Folders,
  files: Files,
  time: VirtualTime | null,
): Record<string, string> {
  return {
    HOME: join(folders.root, 'home'),
    CI: 'true',
    ...step.env,
    ...Object.fromEntries(inputs.map(([name, value]) => [inputVariable(name), value])),
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    ...(process.env.SystemRoot === undefined ? {} : { SystemRoot: process.env.SystemRoot }),
    ...githubVariables(step, folders, files),
    GITHUB_ACTIONS: 'true',
    RUNNER_OS: { darwin: 'macOS', win32: 'Windows' }[process.platform as string] ?? 'Linux',
    RUNNER_ARCH: process.arch.toUpperCase(),
    RUNNER_NAME: 'simulated',
    RUNNER_ENVIRONMENT: 'github-hosted',
    RUNNER_TOOL_CACHE: join(folders.root, 'tools'),
    RUNNER_TEMP: folders.temp,
    RUNNER_WORKSPACE: resolve(folders.workspace, '..'),
    ...(step.debug ? { RUNNER_DEBUG: '1' } : {}),
    ...timeVariables(time),
    ...(isCovered(step) ? { NODE_V8_COVERAGE: COVERAGE } : {}),
  };
}

function isCovered({ action }: Step): boolean {
  return COVERAGE !== '' && action === undefined;
}

function timeVariables(time: VirtualTime | null): Record<string, string> {
  if (time === null) return {};
  return {
    SIM_TIME_FILE: time.file,
    ...(time.pace === undefined ? {} : { SIM_TIME_PACE: String(time.pace) }),
    ...(time.grainMs === undefined ? {} : { SIM_TIME_GRAIN_MS: String(time.grainMs) }),
    ...(time.graceMs === undefined ? {} : { SIM_TIME_GRACE_MS: String(time.graceMs) }),
  };
}

/** Only spaces are replaced (Handler.cs): hyphens stay. */
function inputVariable(name: string): string {
  return `INPUT_${name.replaceAll(' ', '_').toUpperCase()}`;
}

function githubVariables(step: Step, folders: Folders, files: Files): Record<string, string> {
  const given = step.github ?? {};
  const { event = { name: 'workflow_dispatch', payload: {} } } = step;
  const { repository = 'octo-org/octo-repo', ref = 'refs/heads/main', actor = 'octocat' } = given;
  const { sha = '0123456789abcdef0123456789abcdef01234567' } = given;
  const facts: Record<string, string | undefined> = {
    action: 'follow-up',
    action_ref: 'main',
    action_repository: 'octo-org/action',
    actor,
    actor_id: '583231',
    api_url: 'https://api.github.com',
    base_ref: '',
    event_name: event.name,
    event_path: writeEvent(event, folders),
    graphql_url: 'https://api.github.com/graphql',
    head_ref: '',
    job: 'follow-up',
    ref,
    ref_name: ref.replace(/^refs\/(heads|tags|pull)\//, ''),
    ref_protected: 'false',
    ref_type: ref.startsWith('refs/tags/') ? 'tag' : 'branch',
    repository,
    repository_id: '1296269',
    repository_owner: repository.split('/')[0],
    repository_owner_id: '6811672',
    retention_days: '90',
    run_attempt: '1',
    run_id: '1658821493',
    run_number: '7',
    server_url: 'https://github.com',
    sha,
    triggering_actor: actor,
    workflow: 'Follow up',
    workflow_ref: `${repository}/.github/workflows/follow-up.yml@${ref}`,
    workflow_sha: sha,
    workspace: folders.workspace,
    ...files,
    ...(step.outputFile === 'unset' ? { output: undefined } : {}),
    ...(step.summaryFile === 'unset' ? { step_summary: undefined } : {}),
    ...given,
  };
  return Object.fromEntries(
    Object.entries(facts).flatMap(([name, value]) =>
      value === undefined ? [] : [[`GITHUB_${name.toUpperCase()}`, value]],
    ),
  );
}

function refuseUnknownFacts({ github = {} }: Step): void {
  const unknown = Object.keys(github).find((name) => !GITHUB_FACTS.has(name));
  if (unknown !== undefined) throw new Error(`The runner sets no GITHUB_${unknown.toUpperCase()}.`);
}

function writeEvent({ payload }: Event, { temp }: Folders): string {
  const path = join(temp, '_github_workflow', 'event.json');
  const text = typeof payload === 'string' ? payload : JSON.stringify(payload);
  if (payload !== null) writeFileSync(path, text);
  return path;
}

/** As JavaScript: to strip the types in each process would cost as much as the action itself. */
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
  time: VirtualTime | null,
): Child | Error {
  if (!existsSync(main)) return new Error(`File not found: '${main}'`);
  const preload = time === null ? [] : ['--import', preloadOf(time)];
  const node = nodeBinary();
  try {
    return spawn(node, [...preload, ...(step.nodeArgs ?? []), main], {
      cwd: workspace,
      env,
      stdio: ['pipe', 'pipe', 'pipe'],
      windowsHide: true,
    });
  } catch (error) {
    // Above all E2BIG: an input or the whole environment is too large for the system.
    return new Error(
      `An error occurred trying to start process '${node}' with working directory ` +
        `'${workspace}'. ${(error as Error).message}`,
      { cause: error },
    );
  }
}

/** The version that the action is made for, whichever one runs the tests. */
function nodeBinary(): string {
  if (process.versions.node.startsWith('24.')) return process.execPath;
  return realpathSync(join(REPOSITORY_ROOT, 'node_modules', '.bin', 'node'));
}

/** Reads as .NET does: a line ends at `\n`, `\r\n` or a lone `\r`. */
function readLines(stream: Readable, chunks: Buffer[], receive: (line: string) => void): void {
  const decoder = new TextDecoder();
  let rest = '';
  stream.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    // A `\r` at the very end may be the first half of a `\r\n`.
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

/** What goes on in the runner while a step runs, without the process itself. */
function startWorker(manifest: Manifest, workspace: string, step: Step) {
  const log: string[] = [];
  const annotations: Annotation[] = [];
  const masks: string[] = [];
  const commands: Command[] = [];
  const outputs = new Map<string, { name: string; value: string; writes: number }>();
  const fileErrors: string[] = [];
  const texts = new Map<string, string>();
  const masker = createMasker();
  const token = step.token ?? JOB_TOKEN;
  let failed = false;
  let echo = false;
  let stopToken: string | null = null;
  let strictProblem = '';

  masker.add(token);
  masker.add(Buffer.from(`x-access-token:${token}`).toString('base64'));
  for (const secret of step.secrets ?? []) masker.addWithLines(trim(secret));

  function print(text: string): void {
    for (const line of masker.mask(text).split('\n')) {
      log.push(line);
      step.onLine?.(line);
    }
  }

  function printHeader(inputs: readonly Pair[]): void {
    const given = inputs.filter(([, value]) => value !== '');
    const env = Object.entries(step.env ?? {});
    const { action_repository: name = 'octo-org/action', action_ref: ref = 'main' } =
      step.github ?? {};
    print(`##[group]Run ${name}@${ref}`);
    if (inputs.length > 0) print('with:');
    for (const [name, value] of given) print(`  ${name}: ${value}`);
    if (env.length > 0) print('env:');
    for (const [name, value] of env) print(`  ${name}: ${value}`);
    print('##[endgroup]');
  }

  /** Masks the message and cuts it, but not the title (ExecutionContext.cs). */
  function annotate(type: AnnotationType, text: string, title?: string): void {
    const message = masker.mask(text).slice(0, MESSAGE_LENGTH);
    if (annotations.filter((other) => other.type === type).length < ANNOTATIONS_PER_TYPE) {
      annotations.push({ type, message, ...(title === undefined ? {} : { title }) });
    }
    if (message !== '') print(`${LABELS[type]}: ${message}`);
  }

  function fail(...messages: readonly string[]): void {
    failed = true;
    for (const message of messages) annotate('error', message);
  }

  function takeInputs(given: NonNullable<Step['with']>): readonly Pair[] {
    const declared = Object.entries(manifest.inputs ?? {});
    const find = (name: string) => declared.find(([other]) => sameName(other, name));
    const names = Object.keys(given);
    for (const name of names) {
      const message = find(name)?.[1]?.deprecationMessage;
      if (message === undefined) continue;
      annotate('warning', `Input '${name}' has been deprecated with message: ${message}`);
    }
    const unexpected = names.filter((name) => find(name) === undefined);
    if (unexpected.length > 0) {
      const valid = declared.map(([name]) => name).join("', '");
      annotate(
        'warning',
        `Unexpected input(s) '${unexpected.join("', '")}', valid inputs are ['${valid}']`,
      );
    }
    const defaults = declared.filter(([name]) => !names.some((other) => sameName(other, name)));
    return [
      ...Object.entries(given).map(([name, value]): Pair => [name, toText(value)]),
      ...defaults.map(([name, input]): Pair => [name, evaluate(toText(input?.default), token)]),
    ];
  }

  function setOutput(name: string, value: string): void {
    const key = name.toLowerCase();
    const declared = Object.keys(manifest.outputs ?? {}).find((other) => sameName(other, name));
    const before = outputs.get(key);
    const shown = declared ?? before?.name ?? name;
    outputs.set(key, { name: shown, value, writes: (before?.writes ?? 0) + 1 });
  }

  function receive(line: string): void {
    if (!obey(line)) print(line);
  }

  /** Whether the line was a command (ActionCommandManager.cs); if not, it is part of the log. */
  function obey(line: string): boolean {
    const registered = stopToken === null ? COMMANDS : COMMANDS.union(new Set([stopToken]));
    const command = parseCommand(line, registered);
    if (command === null) return false;
    if (stopToken !== null) {
      if (command.name !== stopToken) return false;
      stopToken = null;
      print(line);
      return true;
    }
    commands.push(command);
    if (command.name === 'stop-commands') {
      stopToken = acceptedStopToken(command.data);
      if (stopToken === null) fail('You cannot use this endToken.');
      else if (stopToken.length > 6) masker.add(command.data);
      print(line);
      return true;
    }
    const secretive = ['add-mask', 'debug', 'error', 'warning', 'notice'].includes(command.name);
    if (echo && !secretive) print(line);
    try {
      execute(command);
    } catch (error) {
      const named = secretive ? command.name : line;
      fail(`Unable to process command '${named}' successfully.`, (error as Error).message);
    }
    return true;
  }

  function execute({ name, properties, data }: Command): void {
    switch (name) {
      case 'error':
      case 'warning':
      case 'notice':
        annotate(name, data, property(properties, 'title'));
        break;
      case 'debug':
        if (step.debug) for (const line of data.split(/\r?\n/)) print(`##[debug]${line}`);
        break;
      case 'group':
      case 'endgroup':
        print(`##[${name}]${name === 'group' ? data : ''}`);
        break;
      case 'add-mask':
        if (trim(data) === '') {
          annotate('warning', "Can't add secret mask for empty string in ##[add-mask] command.");
          break;
        }
        if (echo) print('::add-mask::***');
        masks.push(data);
        masker.addWithLines(data);
        break;
      case 'set-output':
        setOutput(requiredName(name, properties), data);
        break;
      case 'save-state':
        requiredName(name, properties);
        break;
      case 'set-env':
      case 'add-path':
        throw new Error(`The \`${name}\` command is disabled.`);
      case 'add-matcher':
        if (data === '') annotate('warning', 'File path must be specified.');
        else readFileSync(resolve(workspace, data));
        break;
      case 'echo':
        if (!/^\s*(on|off)\s*$/i.test(data)) throw new Error('Invalid echo command value.');
        echo = /on/i.test(data);
    }
  }

  /** Once the process has ended, whatever became of it (FileCommandManager.cs). */
  function takeFile(name: string, path: string): void {
    const text = new TextDecoder().decode(readFileSync(path));
    texts.set(name, text);
    if (name === 'path') return;
    if (name === 'step_summary') {
      const bytes = Buffer.byteLength(text);
      if (bytes <= SUMMARY_BYTES) return;
      texts.delete(name);
      annotate(
        'error',
        `$GITHUB_STEP_SUMMARY upload aborted, supports content up to a size of 1024k, ` +
          `got ${Math.floor(bytes / 1024)}k.`,
      );
      return;
    }
    // What stands before a bad line counts.
    const { pairs, problem } = parsePairs(text);
    if (name === 'output') strictProblem = strictProblemOf(text, pairs);
    for (const [key, value] of pairs) {
      if (name === 'output') setOutput(key, value);
      if (name === 'env' && sameName(key, 'NODE_OPTIONS')) {
        annotate('error', `Can't store NODE_OPTIONS output parameter using '$GITHUB_ENV' command.`);
      }
    }
    if (problem === null) return;
    fileErrors.push(problem);
    fail(`Unable to process file command '${name}' successfully.`, problem);
  }

  function report() {
    const written = [...outputs.values()];
    return {
      failed,
      outputs: Object.fromEntries(written.map(({ name, value }) => [name, value])),
      outputWrites: Object.fromEntries(written.map(({ name, writes }) => [name, writes])),
      outputText: texts.get('output') ?? '',
      summary: texts.get('step_summary') ?? '',
      state: texts.get('state') ?? '',
      annotations,
      masks,
      log: log.join('\n'),
      commands,
      fileErrors,
      strictProblem,
    };
  }

  return { printHeader, annotate, takeInputs, receive, takeFile, report };
}

/** `NAME=value`, or `NAME<<END`, the lines of the value, and `END`. Only `\n` ends a line. */
function parsePairs(text: string): { readonly pairs: Pair[]; readonly problem: string | null } {
  const pairs: Pair[] = [];
  const lines = text.split('\n');
  const endsOpen = lines.at(-1) !== '';
  if (!endsOpen) lines.pop();
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? '';
    if (line === '') continue;
    const [, name = '', sign, rest = ''] = /^(.*?)(=|<<)(.*)$/s.exec(line) ?? [];
    if (sign === undefined) return { pairs, problem: `Invalid format '${line}'` };
    if (name === '' || (sign === '<<' && rest === '')) {
      return { pairs, problem: `Invalid format '${line}'. Name must not be empty` };
    }
    if (sign === '=') {
      pairs.push([name, rest]);
      continue;
    }
    const end = lines.indexOf(rest, at + 1);
    if (end < 0) {
      const missing =
        endsOpen && at < lines.length - 1
          ? 'EOF marker missing new line.'
          : `Matching delimiter not found '${rest}'`;
      return { pairs, problem: `Invalid value. ${missing}` };
    }
    pairs.push([name, lines.slice(at + 1, end).join('\n')]);
    at = end;
  }
  return { pairs, problem: null };
}

/** Bytes of a line, from which on Go's `bufio.Scanner` gives up. */
const STRICT_LINE_BYTES = 64 * 1024;

/**
 * The same format as act and those built on it read it (nektos/act, parse_env_file.go): a blank line
 * is an error, a long line ends the file, a `\r` at the end of a line goes, and nothing counts that
 * stands before a mistake.
 */
function strictProblemOf(text: string, pairs: readonly Pair[]): string {
  const lines = text.replace(/\n$/, '').split('\n');
  const long = lines.findIndex((line) => Buffer.byteLength(line) >= STRICT_LINE_BYTES);
  if (long >= 0) return `line ${long + 1} is too long`;
  const read: Pair[] = [];
  for (let at = 0; at < lines.length && text !== ''; at++) {
    const line = lines[at]?.replace(/\r$/, '') ?? '';
    const [, name = '', sign, rest = ''] = /^(.*?)(=|<<)(.*)$/s.exec(line) ?? [];
    if (sign === undefined) return `invalid format '${line}', expected a line with '=' or '<<'`;
    const end = lines.findIndex((other, index) => index > at && other.replace(/\r$/, '') === rest);
    if (sign === '<<' && end < 0) return `delimiter '${rest}' not found before end of file`;
    const value = lines.slice(at + 1, end).map((other) => other.replace(/\r$/, ''));
    read.push([name, sign === '=' ? rest : value.join('\n').replace(/^\n+/, '')]);
    if (sign === '<<') at = end;
  }
  const other = pairs.find(([name, value], index) => `${read[index]}` !== `${[name, value]}`);
  return other === undefined ? '' : `${other[0]} is read in another way`;
}

/** All commands that the runner would obey in a text, had nothing stopped it from doing so. */
export function parseCommands(text: string): readonly Command[] {
  return text.split(/\r\n|\n|\r/).flatMap((line) => parseCommand(line, COMMANDS) ?? []);
}

/** `::name properties::data` first in a line, or else `##[name properties]data` anywhere. */
function parseCommand(line: string, registered: ReadonlySet<string>): Command | null {
  const text = trimStart(line);
  return (
    (text.startsWith('::') ? parseAt(0, text, DOUBLE_COLON, registered) : null) ??
    parseAt(line.indexOf('##['), line, BRACKETS, registered)
  );
}

function parseAt(
  at: number,
  text: string,
  { start, end, separator, escapedInProperties, escapedInData }: Grammar,
  registered: ReadonlySet<string>,
): Command | null {
  const endsAt = text.indexOf(end, at + start.length);
  if (at < 0 || endsAt < 0) return null;
  const [written = '', ...rest] = text.slice(at + start.length, endsAt).split(' ');
  const name = written.toLowerCase();
  if (!registered.has(name)) return null;
  const properties = trim(rest.join(' '))
    .split(separator)
    .flatMap((property) => {
      const [, key, value] = /^=*([^=]+)=+(.+)$/s.exec(property) ?? [];
      if (key === undefined || value === undefined) return [];
      return [[key, decode(value, escapedInProperties)] as const];
    });
  return {
    name,
    properties: Object.fromEntries(properties),
    data: decode(text.slice(endsAt + end.length), escapedInData),
  };
}

function decode(text: string, characters: string): string {
  let plain = text;
  for (const character of `${characters}%`) {
    const code = character.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0');
    plain = plain.replaceAll(`%${code}`, character);
  }
  return plain;
}

function property(properties: Command['properties'], name: string): string | undefined {
  return Object.entries(properties).findLast(([other]) => sameName(other, name))?.[1];
}

function requiredName(command: string, properties: Command['properties']): string {
  const name = property(properties, 'name') ?? '';
  if (name === '') throw new Error(`Required field 'name' is missing in ##[${command}] command.`);
  return name;
}

function acceptedStopToken(token: string): string | null {
  const name = token.toLowerCase();
  return name === '' || name === 'pause-logging' || COMMANDS.has(name) ? null : name;
}

/** SecretMasker.cs, with the encoders that HostContext.cs registers. */
function createMasker() {
  const values = new Set<string>();

  function add(secret: string): void {
    if (secret === '') return;
    for (const value of [secret, ...encodings(secret)]) if (value !== '') values.add(value);
  }

  function addWithLines(secret: string): void {
    add(secret);
    for (const line of secret.split(/[\r\n]/)) add(trim(line));
  }

  function mask(text: string): string {
    const found: { start: number; end: number }[] = [];
    for (const value of values) {
      for (let at = text.indexOf(value); at >= 0; at = text.indexOf(value, at + 1)) {
        found.push({ start: at, end: at + value.length });
      }
    }
    found.sort((one, other) => one.start - other.start);
    let masked = '';
    let shownTo = 0;
    for (const [index, { start, end }] of found.entries()) {
      if (index === 0 || start > shownTo) masked += `${text.slice(shownTo, start)}***`;
      shownTo = Math.max(shownTo, end);
    }
    return masked + text.slice(shownTo);
  }

  return { add, addWithLines, mask };
}

/** ValueEncoders.cs. */
function encodings(secret: string): readonly string[] {
  const bytes = Buffer.from(secret, 'utf8');
  const shifted = (count: number) => bytes.subarray(bytes.length > count ? count : 0);
  return [
    bytes.toString('base64'),
    shifted(1).toString('base64'),
    shifted(2).toString('base64'),
    secret.replaceAll('"', '\\"'),
    secret.replaceAll("'", "''"),
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(secret.toWellFormed()).replace(
      /[!'()*]/g,
      (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
    ),
    escapeXml(secret),
    secret.length > 8 && /^".*"$/s.test(secret) ? secret.slice(1, -1) : '',
    ...powerShellParts(secret).filter((part) => part.length >= 6),
  ];
}

function escapeXml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&apos;');
}

/** PowerShell prints a value in two parts, and colours the letter after `&+`. */
function powerShellParts(secret: string): readonly string[] {
  const plus = secret.indexOf('&+');
  if (plus >= 0) return [secret.slice(0, plus + 2), secret.slice(plus + 3)];
  const last = secret.lastIndexOf('&');
  return last < 0 ? [] : [secret.slice(0, last + 1), secret.slice(last + 1)];
}

/** YAML values become text as .NET's formats `G15` and the like have it (NumberToken.cs). */
function toText(value: string | number | boolean | null | undefined): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'number' ? numberToText(value) : String(value);
}

function numberToText(value: number): string {
  const rounded = Number(value.toPrecision(15));
  if (!Number.isFinite(rounded)) return String(rounded);
  if (Object.is(rounded, -0)) return '-0';
  const [mantissa = '', exponent] = rounded.toExponential().split('e');
  const power = Number(exponent);
  if (power > -5 && power < 15) return String(rounded);
  return `${mantissa}E${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`;
}

/** Of the expressions that a default may have, only the one that this action uses. */
function evaluate(text: string, token: string): string {
  const value = text.replaceAll(/\$\{\{\s*github\.token\s*\}\}/g, () => token);
  if (value.includes('${{')) throw new Error(`The default '${text}' is not simulated.`);
  return value;
}

function sameName(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}

// White space as .NET has it: with U+0085, without U+FEFF.
function trimStart(text: string): string {
  return text.replace(/^(?:[^\S\uFEFF]|\x85)+/, '');
}

function trim(text: string): string {
  return trimStart(text).replace(/(?:[^\S\uFEFF]|\x85)+$/, '');
}
