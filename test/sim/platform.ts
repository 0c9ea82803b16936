// What some tests need and not every system has. On other systems these tests are skipped.

import { existsSync, realpathSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

const WINDOWS = process.platform === 'win32';

/** On Windows every signal ends the process at once. */
export const HAS_SIGNALS = !WINDOWS;
/** The mode of a file can prevent writing, but not removal. */
export const HAS_FILE_MODES = !WINDOWS;
/** Shell scripts, and programs that are scripts, such as npm. */
export const HAS_POSIX_SHELL = !WINDOWS;
/** Node cannot create named pipes itself. */
export const HAS_NAMED_PIPES = !WINDOWS && hasProgram('mkfifo');
/** A device with no space left. */
export const HAS_FULL_DEVICE = existsSync('/dev/full');
/** On Windows, an environment variable has at most 32,767 characters. */
export const HAS_LARGE_VARIABLES = !WINDOWS;
const MEMORY = '/dev/shm';
const ENOUGH_BYTES = 2 ** 28;

/** The tests create thousands of folders here: in memory, if the system supports it. */
export const TEMP = isRoomy(MEMORY) ? MEMORY : realpathSync(tmpdir());

function hasProgram(name: string): boolean {
  const folders = (process.env.PATH ?? '').split(delimiter);
  return folders.some((folder) => existsSync(join(folder, name)));
}

function isRoomy(folder: string): boolean {
  if (!existsSync(folder)) return false;
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize >= ENOUGH_BYTES;
}
