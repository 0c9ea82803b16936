import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { readInside, readWhole } from '../../../src/runner/files.ts';
import { HAS_NAMED_PIPES } from '../../sim/platform.ts';

const folder = mkdtempSync(join(tmpdir(), 'files-'));
afterAll(() => rmSync(folder, { recursive: true }));
const workspace = join(folder, 'workspace');
mkdirSync(join(workspace, 'docs'), { recursive: true });
writeFileSync(join(workspace, 'task.md'), 'Go.');
writeFileSync(join(workspace, 'docs', 'inner.md'), 'Go.');
writeFileSync(join(folder, 'secret'), 'x');
const link = join(folder, 'link');
symlinkSync(workspace, link);
const pipe = join(workspace, 'pipe');
if (HAS_NAMED_PIPES) execFileSync('mkfifo', [pipe]);

it.each([
  ['an absolute path', workspace, join(workspace, 'task.md')],
  ['the root folder as workspace', '/', join(workspace, 'task.md')],
  ['a symbolic link as workspace', link, 'task.md'],
  ['that link', link, join(link, 'task.md')],
  ['the target of that link', link, join(workspace, 'task.md')],
])('readInside reads a file by %s', (_, root, path) => {
  expect(readInside(root, path, 3)).toEqual({ kind: 'ok', value: Buffer.from('Go.') });
});

const outside = 'is outside the workspace; name a file in it';
const irregular = 'is not a regular file; name a file';
it.each([
  ['an absolute path outside of the workspace', join(folder, 'secret'), outside],
  ['a path that only begins like the workspace', `${workspace}2`, outside],
  ['a path by another link', join(link, 'task.md'), outside],
  ['the workspace itself', '.', irregular],
  ...(HAS_NAMED_PIPES ? [['a named pipe', 'pipe', irregular]] : []),
  ['a path with a file as a folder', 'task.md/x', 'cannot be read (ENOTDIR)'],
  ['an invalid name', 'a\0b', 'cannot be read (ERR_INVALID_ARG_VALUE)'],
])('readInside refuses %s', (_, path, why) => {
  expect(readInside(workspace, path, 3)).toEqual({ kind: 'problem', problem: why });
});

it.each([
  ...['.git', '.git/config', 'docs/.git/config', '.GIT/config', '.Git', 'x/../.git/config'],
  ...['.git /config', '.git. ./config', '.git::$INDEX_ALLOCATION/config'],
  ...['git~1/config', 'GIT~2/config', join(workspace, '.git')],
])('readInside refuses %j, even if it does not exist', (path) => {
  const why = 'is in a .git folder, which may contain credentials; name another file';
  expect(readInside(workspace, path, 3)).toEqual({ kind: 'problem', problem: why });
});

it.each(['.github', '.gitignore', '.gitmodules', 'x.git', 'git', 'git~', '.git2', '..git'])(
  'readInside reads %s',
  (name) => {
    writeFileSync(join(workspace, name), 'Go.');
    expect(readInside(workspace, name, 3)).toMatchObject({ kind: 'ok' });
  },
);

it.each([
  ['a symbolic link', 'link', 'task.md'],
  ['a symbolic link to a missing file', 'nowhere', 'none.md'],
  ['a file in a linked folder', 'folder/inner.md', 'docs'],
])('readInside refuses %s', (_, path, target) => {
  symlinkSync(target, join(workspace, path.split('/')[0] ?? ''));
  const why = 'is a symbolic link or in a linked folder; name the file itself';
  expect(readInside(workspace, path, 3)).toEqual({ kind: 'problem', problem: why });
});

it('readWhole returns null if it cannot read, or would wait for a pipe', () => {
  const paths = [workspace, join(folder, 'nothing'), ...(HAS_NAMED_PIPES ? [pipe] : [])];
  for (const path of paths) expect(readWhole(path)).toBeNull();
});
