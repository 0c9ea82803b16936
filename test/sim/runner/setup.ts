// What is the same for a step in a process of its own and for one in this process: all but its run.

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
  type Setup,
  takeFiles,
  takeInputs,
} from './files.ts';

/** Lays out the files and the environment of a step; `finish` takes what it left, and clears up. */
export function prepare(step: Setup, action: string) {
  const manifest = readManifest(action);
  refuseUnknownFacts(step);
  const folders = makeFolders(step);
  const files = makeFiles(folders, step);
  const outputs = createOutputs(manifest);
  const log = startLog(step, folders.workspace, outputs.set);
  const inputs = takeInputs(manifest, step, log);
  printHeader(step, inputs, log);
  const env = environment(step, inputs, folders, files);

  function finish(cancelled = false) {
    const written = takeFiles(files, step, outputs, log);
    if (cancelled) log.annotate('error', 'The operation was canceled.');
    removeFolder(folders.root);
    const { failed, ...said } = log.report();
    return { failed, left: { ...outputs.report(), ...written, ...said } };
  }

  return { manifest, folders, env, log, finish };
}
