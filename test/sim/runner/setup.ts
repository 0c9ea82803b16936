// What steps in a separate process and steps in this process share: everything except the run itself.

import { startLog } from './commands.ts';
import {
  environment,
  makeFiles,
  makeFolders,
  printHeader,
  readManifest,
  rejectUnknownFacts,
  removeFolder,
  type Setup,
  takeFiles,
  takeInputs,
} from './files.ts';

/** Prepares the files and the environment of a step. `finish` reads the results and removes the files. */
export function prepare(step: Setup, action: string) {
  const manifest = readManifest(action);
  rejectUnknownFacts(step);
  const folders = makeFolders(step);
  const files = makeFiles(folders, step);
  const log = startLog(step);
  const inputs = takeInputs(manifest, step, log);
  printHeader(step, inputs, log);
  const env = environment(step, inputs, folders, files);

  function finish(cancelled = false) {
    const written = takeFiles(files, step, log);
    if (cancelled) log.annotate('error', 'The operation was canceled.');
    removeFolder(folders.root);
    const { failed, ...logged } = log.report();
    return { failed, left: { ...written, ...logged } };
  }

  return { manifest, folders, env, log, finish };
}
