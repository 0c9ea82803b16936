import { appendFileSync, readFileSync, realpathSync, statSync } from 'node:fs';
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
  if (!path) throw new Error('the runner named no file for it');
  appendFileSync(path, text);
}

/** The code of what the file system threw, such as ENOSPC. */
export function codeOf(error: unknown, otherwise: string): string {
  return error instanceof Error && 'code' in error ? String(error.code) : otherwise;
}
