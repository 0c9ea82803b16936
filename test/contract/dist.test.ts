import { execFileSync } from 'node:child_process';
import { globSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { HAS_POSIX_SHELL } from '../sim/platform.ts';

const ROOT = join(import.meta.dirname, '../..');
const DIST = join(ROOT, 'dist');

it.runIf(HAS_POSIX_SHELL)('dist/ is what src/ builds (npm run build)', () => {
  const fresh = mkdtempSync(join(tmpdir(), 'dist-'));
  try {
    execFileSync('npm', ['run', '--silent', 'build', '--', '--out', fresh], { cwd: ROOT });
    expect(readdirSync(DIST).sort()).toEqual(readdirSync(fresh).sort());
    const stale = readdirSync(fresh).filter(
      (file) => !readFileSync(join(DIST, file)).equals(readFileSync(join(fresh, file))),
    );
    expect(stale).toEqual([]);
  } finally {
    rmSync(fresh, { recursive: true });
  }
});

it('holds undici once', () => {
  const bundle = globSync('*.js', { cwd: DIST }).map((file) =>
    readFileSync(join(DIST, file), 'utf8'),
  );
  expect(bundle.join('').match(/HTTPParserError extends Error/g)).toHaveLength(1);
});
