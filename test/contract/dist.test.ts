import { execFileSync } from 'node:child_process';
import { globSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { HAS_POSIX_SHELL } from '../sim/platform.ts';
import { bundledPackages, layOut } from './build-folder.ts';

const ROOT = join(import.meta.dirname, '../..');
const DIST = join(ROOT, 'dist');

const bundled = bundledPackages();

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

function read(folder: string, file: string): string {
  return readFileSync(join(folder, file), 'latin1');
}
