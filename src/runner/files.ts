import { lstatSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { isAbsolute, join, relative, resolve, sep } from 'node:path';
import { ok, problem, type Result } from '../value-or-problem.ts';

export { appendFileSync } from 'node:fs';

/** Null if it cannot be read or is no regular file: a pipe may never end. */
export function readWhole(path: string): Uint8Array | null {
  try {
    return statSync(path).isFile() ? readFileSync(path) : null;
  } catch {
    return null;
  }
}

/**
 * A pull request must not make the action send another file of the runner's machine, or one in
 * `.git`, where the checkout may have left its token. So no symbolic link is followed.
 */
export function readInside(folder: string, path: string, maxBytes: number): Result<Uint8Array> {
  try {
    const root = realpathSync(folder);
    // The folder's own path may be a link.
    const inside = [resolve(folder), root]
      .map((start) => relative(start, resolve(start, path)))
      .find((found) => !isAbsolute(found) && !/^\.\.([\\/]|$)/.test(found));
    if (inside === undefined) return problem('is outside the workspace; name a file in it');
    // Windows ignores case and some characters at the end.
    if (inside.split(sep).some((name) => /^(\.git|git~\d+)[ .]*(:.*)?$/is.test(name))) {
      return problem('is in a .git folder, which may contain credentials; name another file');
    }
    const file = join(root, inside);
    const stats = lstatSync(file);
    if (stats.isSymbolicLink() || realpathSync(file) !== file) {
      return problem('is a symbolic link or in a linked folder; name the file itself');
    }
    if (!stats.isFile()) return problem('is not a regular file; name a file');
    if (stats.size > maxBytes) {
      return problem(`has more than ${maxBytes} bytes, which is the limit; shorten it`);
    }
    return ok(readFileSync(file));
  } catch (error) {
    const code = errorCode(error);
    return problem(
      code === 'ENOENT'
        ? 'does not exist; check the path, and that an earlier step checks out or writes the file'
        : `cannot be read (${code})`,
    );
  }
}

export function errorCode(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  return typeof code === 'string' ? code : '';
}
