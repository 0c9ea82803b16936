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
  writeSync,
} from 'node:fs';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import { withoutInvisible } from '../sanitize.ts';

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
 * Reads a file of at most `maxBytes` that lies inside `folder`. A pull request must not make the
 * action send a file that it did not bring along: neither one of the runner's machine nor one of
 * `.git`, where the checkout may have left its token. So no symbolic link is followed on the way.
 * Hard links are: git makes none.
 */
export function readInside(folder: string, path: string, maxBytes: number): FileRead {
  try {
    const parts = partsInside(folder, path);
    if (parts === null) return { kind: 'refused', why: 'lies outside the workspace' };
    if (parts.some(isGitFolder)) {
      return { kind: 'refused', why: 'lies in a .git folder, which may hold credentials' };
    }
    const root = realpathSync(folder);
    const file = join(root, ...parts);
    // Before it is opened: some devices act on that, and a pipe would keep us waiting.
    return (
      problemWith(root, parts, () => lstatSync(file)) ?? readOpened(file, { root, parts, maxBytes })
    );
  } catch (error) {
    const code = codeOf(error, 'unknown error');
    return {
      kind: 'refused',
      why: code === 'ENOENT' ? 'does not exist' : `cannot be read (${code})`,
    };
  }
}

interface Way {
  readonly root: string;
  readonly parts: readonly string[];
  readonly maxBytes: number;
}

function readOpened(file: string, { root, parts, maxBytes }: Way): FileRead {
  // Windows knows only the first of the flags, and the others are nothing there.
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const descriptor = openSync(file, flags);
  try {
    // Once more, for somebody may have put another file or folder in its place.
    return (
      problemWith(root, parts, () => fstatSync(descriptor)) ??
      checkSize(readUpTo(descriptor, maxBytes + 1), maxBytes)
    );
  } finally {
    closeSync(descriptor);
  }
}

function problemWith(root: string, parts: readonly string[], facts: () => Stats): FileRead | null {
  if (parts.some((_, index) => isLink(join(root, ...parts.slice(0, index + 1))))) {
    return {
      kind: 'refused',
      why: 'is a symbolic link or lies behind one; name the file itself',
    };
  }
  return facts().isFile() ? null : { kind: 'refused', why: 'is not a regular file' };
}

function isLink(path: string): boolean {
  return lstatSync(path).isSymbolicLink();
}

function checkSize(bytes: Uint8Array, maxBytes: number): FileRead {
  return bytes.length > maxBytes
    ? { kind: 'refused', why: `has more than ${maxBytes} bytes, which is the limit` }
    : { kind: 'read', bytes };
}

/** The names on the way from the folder to the file; null if it does not lie inside. */
function partsInside(folder: string, path: string): readonly string[] | null {
  // A whole path may begin with the folder's own, or with what that is a link to.
  for (const root of [resolve(folder), realpathSync(folder)]) {
    const way = relative(root, resolve(root, path));
    const parts = way.split(sep);
    if (parts[0] !== '..' && !isAbsolute(way)) return parts;
  }
  return null;
}

/** In any spelling: macOS and Windows ignore case, and each of them some characters as well. */
function isGitFolder(name: string): boolean {
  const seen = withoutInvisible(name).replace(/[\u200c\u200d]/g, '');
  return /^(?:\.git|git~\d+)[ .]*(?::.*)?$/is.test(seen);
}

/** Of a file that grows, no more than what fits. */
function readUpTo(descriptor: number, most: number): Uint8Array {
  const bytes = Buffer.alloc(most);
  let length = 0;
  for (let read = -1; read !== 0 && length < most; length += read) {
    read = readSync(descriptor, bytes, length, most - length, null);
  }
  return bytes.subarray(0, length);
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
