import { spawnSync } from 'node:child_process';
import { globSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { isBuiltin } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseSync } from 'rolldown/utils';
import { expect, it } from 'vitest';
import { HAS_POSIX_SHELL } from '../sim/platform.ts';
import { bundledPackages, prepareBuild } from './build-folder.ts';

const ROOT = join(import.meta.dirname, '../..');
const DIST = join(ROOT, 'dist');

const bundled = bundledPackages();

it.runIf(HAS_POSIX_SHELL)(
  'dist/ has the same bytes as a build of src/ in another folder',
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'dist-'));
    try {
      prepareBuild(folder);
      const args = ['run', '--silent', 'build'];
      const { status, stdout, stderr } = spawnSync('npm', args, { cwd: folder, encoding: 'utf8' });
      expect(status, `npm run build failed:\n${stdout}${stderr}`).toBe(0);
      const fresh = join(folder, 'dist');
      expect(readdirSync(DIST).sort()).toEqual(readdirSync(fresh).sort());
      const stale = readdirSync(fresh).filter((file) => read(DIST, file) !== read(fresh, file));
      expect(stale, 'run npm run build, and commit dist/').toEqual([]);
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
  180_000,
);

it('dist/ has the licenses of all packages that it contains, including those that are loaded later', () => {
  expect(bundled).toEqual(expect.arrayContaining(['@actions/core', '@octokit/core', 'undici']));
  const texts = read(DIST, 'licenses.txt').split(`\n${'-'.repeat(80)}\n`);
  expect(texts.filter((text) => !/\bCopyright\b/i.test(text))).toEqual([]);
});

it('dist/ imports only its own files and modules of Node, without HTTP/2', () => {
  for (const file of globSync('*.js', { cwd: DIST })) {
    const text = read(DIST, file);
    const { body } = parseSync(file, text).program;
    const names = body.flatMap((node) => ('source' in node && node.source?.value) || []);
    expect(names.filter((name) => !isBuiltin(name))).toEqual([]);
    // A client with HTTP/2 repeats a POST after REFUSED_STREAM, and loads slowly.
    expect(text.match(/.{20}\(`node:http2`\)/g) ?? []).toEqual([]);
  }
});

it('dist/ contains undici once', () => {
  const bundle = globSync('*.js', { cwd: DIST }).map((file) => read(DIST, file));
  expect(bundle.join('').match(/undici\.error\.UND_ERR_SOCKET/g)).toHaveLength(1);
});

function read(folder: string, file: string): string {
  return readFileSync(join(folder, file), 'latin1');
}
