// What the runner prepares for a step, and what it reads from the files of the step afterwards. File
// names in the comments are those of github.com/actions/runner.

import * as fs from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { TEMP } from '../platform.ts';
import { JOB_TOKEN, type LogOptions, type StepLog, sameName, startLog } from './commands.ts';

/** Of a file for the step. `unset`: the variable is not set; `full`: a device without space. */
export type FileFault = 'normal' | 'unset' | 'read-only' | 'full';

/** The options for the environment and the files of a step. */
export interface Setup extends LogOptions {
  /** As written in a workflow. Missing is not the same as ''. */
  readonly with?: Readonly<Record<string, string | number | boolean | null>>;
  readonly env?: Readonly<Record<string, string>>;
  /** A text is written unchanged, valid or not. Null: no file. */
  readonly event?: { readonly name: string; readonly payload: unknown };
  /** Values of the run, by the name of their variable: `run_attempt` sets GITHUB_RUN_ATTEMPT. */
  readonly github?: Readonly<Record<string, string | undefined>>;
  /** Default: a new empty folder, as without a checkout. */
  readonly workspace?: string;
  readonly outputFile?: FileFault;
  readonly summaryFile?: FileFault;
}

interface Manifest {
  readonly inputs?: Readonly<Record<string, { readonly default?: unknown } | null>>;
  readonly runs: { readonly main: string };
}

type Folders = ReturnType<typeof makeFolders>;
type Files = ReturnType<typeof makeFiles>;
type Pair = readonly [name: string, value: string];

/** Prepares the files and the environment. `finish` reads the results and removes the files. */
export function prepare(step: Setup, action: string) {
  const manifest = readManifest(action);
  const folders = makeFolders(step);
  const files = makeFiles(folders, step);
  const log = startLog(step);
  const inputs = takeInputs(manifest, step, log);
  const env = environment(step, inputs, folders, files);

  function finish() {
    const written = takeFiles(files, step, log);
    removeFolder(folders.root);
    const { failed, ...logged } = log.report();
    return { failed, left: { ...written, ...logged } };
  }

  return { manifest, folders, env, log, finish };
}

/** Parsed only once: parsing takes longer than everything else here. */
const manifests = new Map<string, Manifest>();

export function readManifest(action: string): Manifest {
  const text = fs.readFileSync(join(action, 'action.yml'), 'utf8');
  const manifest: Manifest = manifests.get(text) ?? parse(text);
  manifests.set(text, manifest);
  return manifest;
}

function makeFolders(step: Setup) {
  const root = fs.mkdtempSync(join(TEMP, 'step-'));
  const temp = join(root, 'temp');
  const inTemp = ['_runner_file_commands', '_github_workflow'].map((name) => join(temp, name));
  for (const folder of [...inTemp, join(root, 'home'), join(root, 'workspace')]) {
    fs.mkdirSync(folder, { recursive: true });
  }
  return { root, temp, workspace: step.workspace ?? join(root, 'workspace') };
}

export function removeFolder(folder: string): void {
  fs.rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

function makeFiles({ temp }: Folders, { outputFile, summaryFile }: Setup) {
  const folder = join(temp, '_runner_file_commands');
  return {
    output: makeFile(join(folder, 'set_output'), outputFile),
    step_summary: makeFile(join(folder, 'step_summary'), summaryFile),
  };
}

function makeFile(path: string, fault: FileFault = 'normal'): string | undefined {
  if (fault === 'full') return '/dev/full';
  if (fault === 'unset') return undefined;
  // Root can write to a file whatever its mode is.
  if (fault === 'read-only' && process.getuid?.() === 0) return '/proc/version';
  fs.writeFileSync(path, '');
  if (fault === 'read-only') fs.chmodSync(path, 0o444);
  return path;
}

function readBack(path: string | undefined, fault: FileFault = 'normal'): string {
  if (path === undefined || fault !== 'normal' || !fs.existsSync(path)) return '';
  return new TextDecoder().decode(fs.readFileSync(path));
}

/** Later values win: the `env:` of a workflow cannot change what the runner sets. */
function environment(
  step: Setup,
  inputs: readonly Pair[],
  { root, temp, workspace }: Folders,
  files: Files,
): Record<string, string> {
  const { event = { name: 'workflow_dispatch', payload: {} }, github: given = {} } = step;
  const { repository = 'octo-org/octo-repo', actor = 'octocat' } = given;
  const event_path = join(temp, '_github_workflow', 'event.json');
  const { name: event_name, payload } = event;
  const text = typeof payload === 'string' ? payload : JSON.stringify(payload);
  if (payload !== null) fs.writeFileSync(event_path, text);
  const facts = {
    ...{ action: 'follow-up', job: 'follow-up', workflow: 'Follow up', workspace },
    ...{ event_name, event_path, repository, actor, triggering_actor: actor },
    ...{ run_attempt: '1', run_id: '1658821493', server_url: 'https://github.com' },
    api_url: 'https://api.github.com',
    workflow_ref: `${repository}/.github/workflows/follow-up.yml@refs/heads/main`,
    ...files,
    ...given,
  };
  const { SystemRoot } = process.env;
  return {
    ...{ HOME: join(root, 'home'), CI: 'true', ...step.env },
    ...toVariables('INPUT', inputs),
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    ...(SystemRoot && { SystemRoot }),
    ...toVariables('GITHUB', Object.entries(facts)),
    ...{ GITHUB_ACTIONS: 'true', RUNNER_ENVIRONMENT: 'github-hosted' },
  };
}

/** In names, only spaces are replaced (Handler.cs): hyphens stay. */
function toVariables(prefix: string, pairs: readonly (readonly [string, string | undefined])[]) {
  const variables: Record<string, string> = {};
  for (const [name, value] of pairs) {
    const variable = `${prefix}_${name.replaceAll(' ', '_').toUpperCase()}`;
    if (value !== undefined) variables[variable] = value;
  }
  return variables;
}

/** The inputs of the step, and the defaults of the others. */
function takeInputs(manifest: Manifest, step: Setup, log: StepLog): readonly Pair[] {
  const { with: given = {}, token = JOB_TOKEN } = step;
  const declared = Object.entries(manifest.inputs ?? {});
  const names = Object.keys(given);
  const isDeclared = (name: string) => declared.some(([other]) => sameName(other, name));
  const unexpected = names.filter((name) => !isDeclared(name)).join("', '");
  if (unexpected !== '') {
    const valid = declared.map(([name]) => name).join("', '");
    log.annotate('warning', `Unexpected input(s) '${unexpected}', valid inputs are ['${valid}']`);
  }
  const defaults = declared.filter(([name]) => !names.some((other) => sameName(other, name)));
  return [
    ...Object.entries(given).map(([name, value]): Pair => [name, String(value ?? '')]),
    ...defaults.map(([name, input]): Pair => [name, evaluate(String(input?.default ?? ''), token)]),
  ];
}

/** Evaluates only the expression that this action uses in a default. */
function evaluate(text: string, token: string): string {
  const value = text.replaceAll(/\$\{\{\s*github\.token\s*\}\}/g, () => token);
  if (value.includes('${{')) throw new Error(`The default '${text}' is not simulated.`);
  return value;
}

/** Reads the files, whatever the exit code is (FileCommandManager.cs). */
function takeFiles(files: Files, step: Setup, log: StepLog) {
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

/**
 * `NAME=value`, or `NAME<<END`, the lines of the value, and `END`. Only `\n` ends a line. Strict, as
 * for act: a blank line is an error, and a `\r` at the end of a line is removed.
 */
function parsePairs(text: string, isStrict = false) {
  const pairs: Pair[] = [];
  const written = text === '' ? [] : text.replace(/\n$/, '').split('\n');
  const lines = isStrict ? written.map((line) => line.replace(/\r$/, '')) : written;
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] ?? '';
    if (line === '' && !isStrict) continue;
    const [, name = '', sign, rest = ''] = /^(.*?)(=|<<)(.*)$/s.exec(line) ?? [];
    if (sign === undefined) return { pairs, problem: `Invalid format '${line}'` };
    const end = sign === '=' ? at : lines.indexOf(rest, at + 1);
    if (end < 0) return { pairs, problem: `Matching delimiter not found '${rest}'` };
    const value = sign === '=' ? rest : lines.slice(at + 1, end).join('\n');
    pairs.push([name, isStrict && sign !== '=' ? value.replace(/^\n+/, '') : value]);
    at = end;
  }
  return { pairs, problem: null };
}

/** How many bytes a line must have for Go's `bufio.Scanner` to fail. */
const STRICT_LINE_BYTES = 64 * 1024;

/** In act (nektos/act, parse_env_file.go), nothing counts in a file with an error. */
function strictProblemOf(text: string, pairs: readonly Pair[]): string {
  const long = text.split('\n').findIndex((line) => Buffer.byteLength(line) >= STRICT_LINE_BYTES);
  if (long >= 0) return `line ${long + 1} is too long`;
  const strict = parsePairs(text, true);
  if (strict.problem !== null) return strict.problem;
  const other = pairs.find(
    ([name, value], index) => `${strict.pairs[index]}` !== `${[name, value]}`,
  );
  return other === undefined ? '' : `${other[0]} is read in another way; is oneLine missing?`;
}
