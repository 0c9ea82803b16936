// A step that runs in this process, on src/: for tables of many rows that need no process of their own.
// Its log comes as whole lines, so what a pipe, a signal or a bundle may change is not tried by it.

import { randomUUID } from 'node:crypto';
import { systemClock } from '../../../src/clock.ts';
import type { Runtime } from '../../../src/context.ts';
import { readSecrets } from '../../../src/inputs.ts';
import { serialise } from '../../../src/report/outputs.ts';
import { run } from '../../../src/run.ts';
import { type Env, readRunInfo } from '../../../src/runner/environment.ts';
import { appendAtOnce, replacer } from '../../../src/runner/files.ts';
import { escapeCommands, type Log } from '../../../src/runner/log.ts';
import { type Redact, redactor } from '../../../src/runner/secrets.ts';
import { startLog } from './commands.ts';
import {
  createOutputs,
  environment,
  makeFiles,
  makeFolders,
  printHeader,
  readManifest,
  refuseUnknownFacts,
  removeFolder,
  takeFiles,
  takeInputs,
} from './files.ts';
import { REPOSITORY_ROOT, type Step, type StepResult } from './process.ts';

export async function runHere(step: Step): Promise<StepResult> {
  const manifest = readManifest(REPOSITORY_ROOT);
  refuseUnknownFacts(step);
  const folders = makeFolders(step);
  const files = makeFiles(folders, step);
  const outputs = createOutputs(manifest);
  const log = startLog(step, folders.workspace, outputs.set);
  const inputs = takeInputs(manifest, step, log);
  printHeader(step, inputs, log);
  const startedAt = Date.now();
  const lines: string[] = [];
  const write = (line: string): void => {
    lines.push(line);
    log.receive(line);
  };
  const exitCode = await run(runtimeOf(environment(step, inputs, folders, files), write));
  const written = takeFiles(files, step, outputs, log);
  removeFolder(folders.root);
  const { failed, ...said } = log.report();
  return {
    conclusion: exitCode === 0 && !failed ? 'success' : 'failure',
    ...{ exitCode, signal: null, stdout: lines.join('\n'), stderr: '' },
    ...outputs.report(),
    ...written,
    ...said,
    virtualMs: Date.now() - startedAt,
  };
}

/** As src/index.ts makes it of the process. */
function runtimeOf(env: Env, write: (line: string) => void): Runtime {
  const secrets = readSecrets(env);
  for (const secret of secrets) write(command('add-mask', secret));
  const { serverUrl, repository } = readRunInfo(env);
  const redact = redactor(secrets, [`${serverUrl}/${repository}`, serverUrl]);
  const replaceOutputs = replacer(env.GITHUB_OUTPUT);
  return {
    env,
    log: logOf(redact, write),
    redact,
    clock: systemClock,
    signal: new AbortController().signal,
    crashed: new Promise(() => {}),
    random: Math.random,
    saveMemory() {},
    deferTierUp() {},
    writeOutputs: (all) =>
      replaceOutputs(serialise(all as Parameters<typeof serialise>[0], `end_${randomUUID()}`)),
    writeSummary: (markdown) => appendAtOnce(env.GITHUB_STEP_SUMMARY, markdown),
  };
}

function logOf(redact: Redact, write: (line: string) => void): Log {
  const clean = (text: string): string => redact(escapeCommands(redact(text)));
  const say =
    (name: string) =>
    (text: string): void =>
      write(command(name, clean(text)));
  return {
    info: (text) => clean(text).split('\n').forEach(write),
    debug: say('debug'),
    notice: say('notice'),
    warning: say('warning'),
    error: say('error'),
    group: say('group'),
    endGroup: () => write('::endgroup::'),
  };
}

function command(name: string, text: string): string {
  const data = text.replaceAll('%', '%25').replaceAll('\r', '%0D').replaceAll('\n', '%0A');
  return `::${name}::${data}`;
}
