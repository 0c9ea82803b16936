import {
  appendFileSync,
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  lstatSync,
  openSync,
  readFileSync,
  readSync,
  realpathSync,
  type Stats,
  statSync,
  writeSync,
} from 'node:fs';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import { ok, problem, type Result } from '../result.ts';
import { withoutInvisible } from '../sanitize.ts';

/** A file that the runner names. Null if it cannot be read or is not a regular file: a pipe may never end. */
export function readWhole(path: string): Uint8Array | null {
  try {
    return statSync(path).isFile() ? readFileSync(path) : null;
  } catch {
    return null;
  }
}

/**
 * Reads a file of at most `maxBytes` inside `folder`. A pull request must not make the action send another
 * file of the runner's machine, or one in `.git`, where the checkout may have left its token. So no symbolic
 * link is followed; hard links are allowed, because git does not create them.
 */
export function readInside(folder: string, path: string, maxBytes: number): Result<Uint8Array> {
  try {
    const parts = partsInside(folder, path);
    if (parts === null) return problem('is outside the workspace');
    if (parts.some(isGitFolder)) {
      return problem('is in a .git folder, which may contain credentials');
    }
    const root = realpathSync(folder);
    const file = join(root, ...parts);
    // Before opening the file: opening a device can have effects, and opening a pipe blocks.
    const refusal = checkFile(root, parts, () => lstatSync(file));
    if (refusal !== null) return refusal;
    // On Windows, Node has only the first of these flags.
    const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
    const descriptor = openSync(file, flags);
    try {
      // Again, because the file or a folder may have been replaced in between.
      return checkFile(root, parts, () => fstatSync(descriptor)) ?? readUpTo(descriptor, maxBytes);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    const code = codeOf(error, 'unknown error');
    return problem(code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`);
  }
}

/** Null if the file may be read. */
function checkFile(
  root: string,
  parts: readonly string[],
  stats: () => Stats,
): Result<never> | null {
  const paths = parts.map((_, index) => join(root, ...parts.slice(0, index + 1)));
  if (paths.some((path) => lstatSync(path).isSymbolicLink())) {
    return problem('is a symbolic link or in a linked folder; name the file itself');
  }
  return stats().isFile() ? null : problem('is not a regular file');
}

/** The path from the folder to the file, split into names; null if the file is not inside it. */
function partsInside(folder: string, path: string): readonly string[] | null {
  // An absolute path may start with the folder's path, or with its real path if that is a link.
  for (const root of [resolve(folder), realpathSync(folder)]) {
    const inside = relative(root, resolve(root, path));
    const parts = inside.split(sep);
    if (parts[0] !== '..' && !isAbsolute(inside)) return parts;
  }
  return null;
}

/** In any spelling: macOS and Windows ignore case and some characters. */
function isGitFolder(name: string): boolean {
  const visible = withoutInvisible(name).replace(/[\u200c\u200d]/g, '');
  return /^(?:\.git|git~\d+)[ .]*(?::.*)?$/is.test(visible);
}

/** Reads at most one byte more than allowed, however large the file is or becomes. */
function readUpTo(descriptor: number, maxBytes: number): Result<Uint8Array> {
  const bytes = Buffer.alloc(maxBytes + 1);
  let length = 0;
  for (let read = -1; read !== 0 && length < bytes.length; length += read) {
    read = readSync(descriptor, bytes, length, bytes.length - length, null);
  }
  return length > maxBytes
    ? problem(`has more than ${maxBytes} bytes, which is the limit`)
    : ok(bytes.subarray(0, length));
}

/** Appends in one synchronous write, so that a killed process writes all of the text or nothing. */
export function appendAtOnce(path: string | undefined, text: string): void {
  appendFileSync(named(path), text);
}

/**
 * Returns a function that appends a text, and later replaces that text with another one, each in
 * one synchronous write. A shorter text is first padded with line breaks, and then the file is
 * truncated: if the process is killed in between, GitHub's runner ignores the blank lines. They
 * must not stay, because other runners (act, Gitea) reject the whole file for a blank line. If the new
 * text has no room on the disk, the former one stays.
 */
export function replacer(path: string | undefined): (text: string) => void {
  let start: number | undefined;
  let former: Uint8Array = Buffer.alloc(0);
  return (text) => {
    const file = openSync(named(path), constants.O_RDWR | constants.O_CREAT, 0o644);
    try {
      const stats = fstatSync(file);
      start ??= stats.size;
      const bytes = Buffer.from(text);
      const isShorter = bytes.length < former.length;
      const padded = isShorter
        ? Buffer.concat([bytes, Buffer.alloc(former.length - bytes.length, '\n')])
        : bytes;
      // Never cut off what another process has appended.
      const mayTruncate = stats.isFile() && stats.size <= start + former.length;
      try {
        writeAll(file, padded, stats.isFile() ? start : null);
      } catch (error) {
        if (mayTruncate) {
          writeAll(file, former, start);
          ftruncateSync(file, start + former.length);
        }
        throw error;
      }
      if (mayTruncate) ftruncateSync(file, start + bytes.length);
      former = mayTruncate ? bytes : padded;
    } finally {
      closeSync(file);
    }
  };
}

function writeAll(file: number, bytes: Uint8Array, position: number | null): void {
  for (let done = 0; done < bytes.length; ) {
    const at = position === null ? null : position + done;
    done += writeSync(file, bytes, done, bytes.length - done, at);
  }
}

function named(path: string | undefined): string {
  if (!path) throw new Error('the runner named no file for it');
  return path;
}

/** The code of an error of the file system, such as ENOSPC. */
export function codeOf(error: unknown, otherwise: string): string {
  return error instanceof Error && 'code' in error ? String(error.code) : otherwise;
}
