// How long `npm run build` takes, and whether it produces the same bytes in any folder.

import { execFileSync } from 'node:child_process';
import {
  existsSync,
  globSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { prepareBuild } from '../test/contract/build-folder.ts';
import { table } from './table.ts';

const ROOT = join(import.meta.dirname, '..');
const MADE = ['dist/index.js', 'lib/bundle/index.js', 'lib/stats.json'];
const MADE_OF = ['src/**/*.ts', 'build.ts', 'package.json', 'package-lock.json', 'tsconfig*.json'];

/** Whether a build is missing or older than its sources. */
export function isStale(): boolean {
  const changedAt = (path: string): number => statSync(join(ROOT, path)).mtimeMs;
  if (!MADE.every((path) => existsSync(join(ROOT, path)))) return true;
  const built = Math.min(...MADE.map(changedAt));
  return globSync(MADE_OF, { cwd: ROOT }).some((path) => changedAt(path) > built);
}

export function rebuild(folder = ROOT, cache?: string): void {
  const env = cache === undefined ? process.env : { ...process.env, XDG_CACHE_HOME: cache };
  execFileSync('npm', ['run', '--silent', 'build'], { cwd: folder, env });
}

export function describeBuild(): string {
  const scratch = mkdtempSync(join(tmpdir(), 'bench-build-'));
  try {
    const folders = ['here', 'elsewhere/and-deeper'].map((name) => join(scratch, name));
    folders.forEach(prepareBuild);
    const [first = '', second = ''] = folders;
    // The first build on a machine, and then one after a small change.
    const cold = seconds(() => rebuild(first, join(scratch, 'cache')));
    const again = seconds(() => rebuild(first, join(scratch, 'cache')));
    rebuild(second, join(scratch, 'other-cache'));
    return table(
      ['build', ''],
      [
        ['`npm run build`, with nothing cached', cold],
        ['`npm run build`, again', again],
        ['the same bytes from two folders', sameFiles(first, second) ? 'yes' : '**no**'],
        ['the same bytes as `dist/`', sameFiles(first, ROOT) ? 'yes' : '**no**'],
      ],
    );
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

function seconds(build: () => void): string {
  const started = performance.now();
  build();
  return `${((performance.now() - started) / 1000).toFixed(1)} s`;
}

function sameFiles(one: string, other: string): boolean {
  const [names, others] = [one, other].map((folder) => readdirSync(join(folder, 'dist')).sort());
  const bytes = (folder: string, name: string): Buffer => readFileSync(join(folder, 'dist', name));
  return (
    names?.join() === others?.join() &&
    (names ?? []).every((name) => bytes(one, name).equals(bytes(other, name)))
  );
}
