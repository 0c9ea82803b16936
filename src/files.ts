import {
  appendFileSync,
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  openSync,
  readFileSync,
  realpathSync,
  statSync,
  writeSync,
} from 'node:fs';
import { resolve, sep } from 'node:path';

/** What came of reading a file that an input or the runner names. */
export type FileRead =
  | { readonly kind: 'read'; readonly bytes: Uint8Array }
  | { readonly kind: 'refused'; readonly why: string };

/** Reads a whole file; the runner's own files need no confinement. */
export function readWhole(path: string): FileRead {
  try {
    return { kind: 'read', bytes: readFileSync(path) };
  } catch (error) {
    return { kind: 'refused', why: `cannot be read (${codeOf(error, 'unknown error')})` };
  }
}

/**
 * Reads a file of at most `maxBytes` that lies inside `folder` once every symbolic link is
 * followed: a pull request must not make the action send a file of the runner's machine.
 */
export function readInside(folder: string, path: string, maxBytes: number): FileRead {
  try {
    const root = realpathSync(folder);
    const file = realpathSync(resolve(root, path));
    if (!file.startsWith(root.endsWith(sep) ? root : root + sep)) {
      return { kind: 'refused', why: 'lies outside the workspace' };
    }
    const facts = statSync(file);
    if (!facts.isFile()) return { kind: 'refused', why: 'is not a regular file' };
    if (facts.size > maxBytes) {
      return { kind: 'refused', why: `has ${facts.size} bytes; at most ${maxBytes} can be sent` };
    }
    return readWhole(file);
  } catch (error) {
    const code = codeOf(error, 'unknown error');
    return {
      kind: 'refused',
      why: code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`,
    };
  }
}

/** Appends in one synchronous write, so that a killed process leaves all of it or nothing. */
export function appendAtOnce(path: string | undefined, text: string): void {
  appendFileSync(named(path), text);
}

/**
 * Appends a text that replaces the one before, each in one synchronous write. A shorter text is first
 * filled up with line breaks, and then the file is cut: a kill in between leaves only what GitHub's
 * runner skips. Others (act, Gitea) take a blank line for a mistake, and then no output counts.
 */
export function replacer(path: string | undefined): (text: string) => void {
  let start: number | undefined;
  let length = 0;
  return (text) => {
    const file = openSync(named(path), constants.O_RDWR | constants.O_CREAT, 0o644);
    try {
      const facts = fstatSync(file);
      start ??= facts.size;
      const bytes = Buffer.from(text);
      const filled = Buffer.concat([bytes, Buffer.alloc(Math.max(0, length - bytes.length), '\n')]);
      writeAll(file, filled, facts.isFile() ? start : null);
      // What somebody else has put behind it is not ours to cut off.
      const mayCut = facts.isFile() && facts.size <= start + length;
      if (mayCut) ftruncateSync(file, start + bytes.length);
      length = mayCut ? bytes.length : filled.length;
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

/** The code of what the file system threw, such as ENOSPC. */
export function codeOf(error: unknown, otherwise: string): string {
  return error instanceof Error && 'code' in error ? String(error.code) : otherwise;
}
