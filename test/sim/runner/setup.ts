// What steps in a process of their own and steps in this process share.

import { startLog } from './commands.ts';
import {
  environment,
  makeFiles,
  makeFolders,
  readManifest,
  removeFolder,
  type Setup,
  takeFiles,
  takeInputs,
} from './files.ts';

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
