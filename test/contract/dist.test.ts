import { execFileSync } from 'node:child_process';
import {
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { HAS_POSIX_SHELL } from '../sim/platform.ts';

const ROOT = join(import.meta.dirname, '../..');
const DIST = join(ROOT, 'dist');

/** The packages whose code or licence dist/ says it holds. */
const bundled = [...read(DIST, 'licenses.txt').matchAll(/^([@a-z]\S*) \d\S* \(.+\)$/gm)].map(
  ([, name = '']) => name,
);

it.runIf(HAS_POSIX_SHELL)('dist/ is what src/ builds, byte for byte, in another folder too', () => {
  const folder = mkdtempSync(join(tmpdir(), 'dist-'));
  try {
    layOut(folder);
    execFileSync('npm', ['run', '--silent', 'build'], { cwd: folder });
    const fresh = join(folder, 'dist');
    expect(readdirSync(DIST).sort()).toEqual(readdirSync(fresh).sort());
    const stale = readdirSync(fresh).filter((file) => read(DIST, file) !== read(fresh, file));
    expect(stale).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

it('names the licences of all that it holds, also of what is loaded later', () => {
  expect(bundled).toEqual(
    expect.arrayContaining(['@actions/core', '@actions/github', '@octokit/core', 'undici', 'zod']),
  );
  expect(read(DIST, 'licenses.txt').match(/\bCopyright\b/gi)?.length).toBeGreaterThanOrEqual(
    bundled.length,
  );
});

it('holds undici once', () => {
  const bundle = globSync('*.js', { cwd: DIST }).map((file) => read(DIST, file));
  expect(bundle.join('').match(/undici\.error\.UND_ERR_SOCKET/g)).toHaveLength(1);
});

/**
 * Puts there what a build reads. Tools are linked, but for ncc: it numbers the modules by the way
 * from them to its loaders. What gets into dist/ is copied.
 */
function layOut(folder: string): void {
  const copy = (name: string): void =>
    cpSync(join(ROOT, name), join(folder, name), { recursive: true, verbatimSymlinks: true });
  ['src', 'build.ts', 'package.json', 'tsconfig.json', 'tsconfig.build.json'].forEach(copy);
  copy('node_modules/.bin');
  for (const name of globSync(['node_modules/[!.@]*', 'node_modules/@*/*'], { cwd: ROOT })) {
    const isCopied = ['@vercel/ncc', ...bundled].includes(name.replace('node_modules/', ''));
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    if (isCopied) copy(name);
    else symlinkSync(join(ROOT, name), join(folder, name), 'junction');
  }
}

function read(folder: string, file: string): string {
  return readFileSync(join(folder, file), 'latin1');
}
