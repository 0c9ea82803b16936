// What tests need of the system that not every one has. Elsewhere they are skipped, by name.

import { existsSync, realpathSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

const WINDOWS = process.platform === 'win32';

/** On Windows every signal ends the process at once. */
export const HAS_SIGNALS = !WINDOWS;
/** A file that cannot be written by its mode, and can be removed nevertheless. */
export const HAS_FILE_MODES = !WINDOWS;
/** Shell scripts, and programs that are scripts, such as npm. */
export const HAS_POSIX_SHELL = !WINDOWS;
/** A pipe in a folder, which Node cannot make itself. */
export const HAS_NAMED_PIPES = !WINDOWS && findProgram('mkfifo') !== undefined;
/** A resolver that reads a file of aliases, which can be a pipe. */
export const HAS_HOST_ALIASES =
  HAS_NAMED_PIPES && process.platform === 'linux' && !existsSync('/etc/alpine-release');
/** A program that limits how large the files of a process may become. */
export const LIMITS_FILE_SIZES = findProgram('prlimit') !== undefined;
/** A device with no space left. */
export const HAS_FULL_DEVICE = existsSync('/dev/full');
/** On Windows a variable of the environment holds 32,767 characters. */
export const HAS_LARGE_VARIABLES = !WINDOWS;
/** Linux alone limits each of them to 128 KiB, and not just all together. */
export const LIMITS_EACH_VARIABLE = process.platform === 'linux';
/** Windows resets connections for which a queue has no place; others leave them without an answer. */
export const IGNORES_SURPLUS_CONNECTIONS = !WINDOWS;

const MEMORY = '/dev/shm';
const ENOUGH_BYTES = 2 ** 28;

/** Where folders come and go by the thousand: in memory, where the system offers that. */
export const TEMP = isRoomy(MEMORY) ? MEMORY : realpathSync(tmpdir());

/** Where on the PATH it is. */
export function findProgram(name: string): string | undefined {
  const places = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, name));
  return places.find((place) => existsSync(place));
}

function isRoomy(folder: string): boolean {
  if (!existsSync(folder)) return false;
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize >= ENOUGH_BYTES;
}
