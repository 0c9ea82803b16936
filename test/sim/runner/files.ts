// What the runner prepares for a step, and what it reads from the files of the step afterwards. File
// names in the comments are those of github.com/actions/runner.

import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { TEMP } from '../platform.ts';
import { JOB_TOKEN, type LogOptions, type StepLog, sameName } from './commands.ts';

/**
 * The state of a file to which the step can write. `unset`: the variable is not set; `full`: a device with no space left.
 */
export type FileFault = 'normal' | 'unset' | 'read-only' | 'full';

export interface Event {
  readonly name: string;
  /** Text is written unchanged, valid or not. Null: no file. */
  readonly payload: unknown;
}

/** The options for the environment and the files of a step. */
export interface Setup extends LogOptions {
  /** As written in a workflow. Missing is not the same as ''. */
  readonly with?: Readonly<Record<string, string | number | boolean | null>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly event?: Event;
  /** Values of the run, by the name of their variable: `run_attempt` sets GITHUB_RUN_ATTEMPT. */
  readonly github?: Readonly<Record<string, string | undefined>>;
  /** Default: a new empty folder, as without a checkout. */
  readonly workspace?: string;
  readonly outputFile?: FileFault;
  readonly summaryFile?: FileFault;
}

export interface Manifest {
  readonly inputs?: Readonly<Record<string, Input | null>>;
  readonly runs: { readonly main: string };
}

interface Input {
  readonly default?: string | number | boolean | null;
}

export interface Folders {
  readonly root: string;
  readonly temp: string;
  readonly workspace: string;
}

export interface Files {
  readonly output: string;
  readonly step_summary: string;
}

export type Pair = readonly [name: string, value: string];

/** Parsed only once: parsing takes longer than everything else here. */
const manifests = new Map<string, Manifest>();

export function readManifest(action: string): Manifest {
  const text = readFileSync(join(action, 'action.yml'), 'utf8');
  const manifest: Manifest = manifests.get(text) ?? parse(text);
  manifests.set(text, manifest);
  return manifest;
}

export function makeFolders(step: Setup): Folders {
  const root = mkdtempSync(join(TEMP, 'step-'));
  const temp = join(root, 'temp');
  const workspace = step.workspace ?? join(root, 'workspace');
  for (const folder of ['_runner_file_commands', '_github_workflow']) {
    mkdirSync(join(temp, folder), { recursive: true });
  }
  for (const folder of ['home', 'workspace']) mkdirSync(join(root, folder));
  return { root, temp, workspace };
}

export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

export function makeFiles({ temp }: Folders, step: Setup): Files {
  const folder = join(temp, '_runner_file_commands');
  return {
    output: makeFile(join(folder, 'set_output'), step.outputFile ?? 'normal'),
    step_summary: makeFile(join(folder, 'step_summary'), step.summaryFile ?? 'normal'),
  };
}

function makeFile(path: string, fault: FileFault): string {
  if (fault === 'full') return '/dev/full';
  if (fault === 'unset') return path;
  // Root can write to a file whatever its mode is.
  if (fault === 'read-only' && process.getuid?.() === 0) return '/proc/version';
  writeFileSync(path, '');
  if (fault === 'read-only') chmodSync(path, 0o444);
  return path;
}

function readBack(path: string, fault: FileFault = 'normal'): string {
  const isReadable = !['read-only', 'full'].includes(fault) && existsSync(path);
  return isReadable ? new TextDecoder().decode(readFileSync(path)) : '';
}

/** Later values win: the `env:` of a workflow cannot change what the runner sets. */
export function environment(
  step: Setup,
  inputs: readonly Pair[],
  folders: Folders,
  files: Files,
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
    RUNNER_ENVIRONMENT: 'github-hosted',
  };
}

/** Only spaces are replaced (Handler.cs): hyphens stay. */
function inputVariable(name: string): string {
  return `INPUT_${name.replaceAll(' ', '_').toUpperCase()}`;
}

function githubVariables(step: Setup, folders: Folders, files: Files): Record<string, string> {
  const given = step.github ?? {};
  const { event = { name: 'workflow_dispatch', payload: {} } } = step;
  const { repository = 'octo-org/octo-repo', actor = 'octocat' } = given;
  const facts: Record<string, string | undefined> = {
    action: 'follow-up',
    actor,
    api_url: 'https://api.github.com',
    event_name: event.name,
    event_path: writeEvent(event, folders),
    job: 'follow-up',
    repository,
    run_attempt: '1',
    run_id: '1658821493',
    server_url: 'https://github.com',
    triggering_actor: actor,
    workflow: 'Follow up',
    workflow_ref: `${repository}/.github/workflows/follow-up.yml@refs/heads/main`,
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

function writeEvent({ payload }: Event, { temp }: Folders): string {
  const path = join(temp, '_github_workflow', 'event.json');
  const text = typeof payload === 'string' ? payload : JSON.stringify(payload);
  if (payload !== null) writeFileSync(path, text);
  return path;
}

/** The inputs of the step, and the defaults of the others. */
export function takeInputs(
  manifest: Manifest,
  { with: given = {}, token = JOB_TOKEN }: Setup,
  log: StepLog,
): readonly Pair[] {
  const declared = Object.entries(manifest.inputs ?? {});
  const names = Object.keys(given);
  const isDeclared = (name: string) => declared.some(([other]) => sameName(other, name));
  const unexpected = names.filter((name) => !isDeclared(name));
  if (unexpected.length > 0) {
    const valid = declared.map(([name]) => name).join("', '");
    const named = unexpected.join("', '");
    log.annotate('warning', `Unexpected input(s) '${named}', valid inputs are ['${valid}']`);
  }
  const defaults = declared.filter(([name]) => !names.some((other) => sameName(other, name)));
  return [
    ...Object.entries(given).map(([name, value]): Pair => [name, toText(value)]),
    ...defaults.map(([name, input]): Pair => [name, evaluate(toText(input?.default), token)]),
  ];
}

function toText(value: string | number | boolean | null | undefined): string {
  return String(value ?? '');
}

/** Evaluates only the expression that this action uses in a default. */
function evaluate(text: string, token: string): string {
  const value = text.replaceAll(/\$\{\{\s*github\.token\s*\}\}/g, () => token);
  if (value.includes('${{')) throw new Error(`The default '${text}' is not simulated.`);
  return value;
}

/** Reads the files, whatever the exit code is (FileCommandManager.cs). */
export function takeFiles(files: Files, step: Setup, log: StepLog) {
  const outputText = readBack(files.output, step.outputFile);
  // Lines before an invalid line count.
  const { pairs, problem } = parsePairs(outputText);
  if (problem !== null) log.fail("Unable to process file command 'output' successfully.", problem);
  return {
    ...{ outputs: Object.fromEntries(pairs), outputText },
    summary: readBack(files.step_summary, step.summaryFile),
    fileErrors: problem === null ? [] : [problem],
    strictProblem: strictProblemOf(outputText, pairs),
  };
}

/** `NAME=value`, or `NAME<<END`, the lines of the value, and `END`. Only `\n` ends a line. */
function parsePairs(text: string): { readonly pairs: Pair[]; readonly problem: string | null } {
  const pairs: Pair[] = [];
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? '';
    if (line === '') continue;
    const [, name = '', sign, rest = ''] = /^(.*?)(=|<<)(.*)$/s.exec(line) ?? [];
    if (sign === undefined) return { pairs, problem: `Invalid format '${line}'` };
    if (sign === '=') {
      pairs.push([name, rest]);
      continue;
    }
    const end = lines.indexOf(rest, at + 1);
    if (end < 0) return { pairs, problem: `Matching delimiter not found '${rest}'` };
    pairs.push([name, lines.slice(at + 1, end).join('\n')]);
    at = end;
  }
  return { pairs, problem: null };
}

/** How many bytes a line must have for Go's `bufio.Scanner` to fail. */
const STRICT_LINE_BYTES = 64 * 1024;

/**
 * Parses the same format as act and runners based on it do (nektos/act, parse_env_file.go): a blank line
 * is an error, a long line ends the file, a `\r` at the end of a line is removed, and if the file has an
 * error, nothing in it counts.
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
  return other === undefined ? '' : `${other[0]} is read in another way; is oneLine missing?`;
}
