import { execFileSync } from 'node:child_process';
import {
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { append, codeOf, readInside, readPartsInside, readWhole } from '../../src/runner/files.ts';
import { HAS_FULL_DEVICE, HAS_NAMED_PIPES, LIMITS_FILE_SIZES } from '../sim/platform.ts';

const folder = mkdtempSync(join(tmpdir(), 'files-'));
afterAll(() => rmSync(folder, { recursive: true }));
const workspace = join(folder, 'workspace');
mkdirSync(join(workspace, 'docs'), { recursive: true });
writeFileSync(join(workspace, 'task.md'), 'Go.');
writeFileSync(join(folder, 'secret'), 'x');

describe('readInside', () => {
  it.each([
    ['a file', workspace, 'task.md'],
    ['a file by its absolute path', workspace, join(workspace, 'task.md')],
    ['a file if the workspace is the root folder', '/', join(workspace, 'task.md')],
  ])('reads %s', (_, root, path) => {
    expect(readInside(root, path, 3)).toEqual({ kind: 'ok', value: Buffer.from('Go.') });
  });

  it.each([
    [
      'a relative path outside of the workspace',
      '../secret',
      'is outside the workspace; name a file in it',
    ],
    [
      'an absolute path outside of the workspace',
      join(folder, 'secret'),
      'is outside the workspace; name a file in it',
    ],
    [
      'a path that only begins like the workspace',
      `${workspace}2`,
      'is outside the workspace; name a file in it',
    ],
    ['the workspace itself', '.', 'is not a regular file; name a file'],
    ['a folder', 'docs', 'is not a regular file; name a file'],
    [
      'a missing file',
      'none.md',
      'does not exist; check the path, and that actions/checkout runs before',
    ],
    ['a path with a file as a folder', 'task.md/x', 'cannot be read (ENOTDIR)'],
    ['an invalid name', 'a\0b', 'cannot be read (ERR_INVALID_ARG_VALUE)'],
  ])('refuses %s', (_, path, why) => {
    expect(readInside(workspace, path, 3)).toEqual({ kind: 'problem', problem: why });
  });

  it('refuses a file that is too large', () => {
    const why = 'has more than 2 bytes, which is the limit; shorten it';
    expect(readInside(workspace, 'task.md', 2)).toEqual({ kind: 'problem', problem: why });
  });

  it.each([
    '.git',
    '.git/config',
    'docs/.git/config',
    '.GIT/config',
    '.Git',
    '.git /config',
    '.git. ./config',
    '.git::$INDEX_ALLOCATION/config',
    'git~1/config',
    'GIT~2/config',
    'x/../.git/config',
    join(workspace, '.git'),
  ])('refuses %j, even if it does not exist', (path) => {
    const why = 'is in a .git folder, which may contain credentials; name another file';
    expect(readInside(workspace, path, 3)).toEqual({ kind: 'problem', problem: why });
  });

  it.each(['.github', '.gitignore', '.gitmodules', 'x.git', 'git', 'git~', '.git2', '..git'])(
    'reads %s',
    (name) => {
      writeFileSync(join(workspace, name), 'Go.');
      expect(readInside(workspace, name, 3)).toMatchObject({ kind: 'ok' });
    },
  );

  it.each([
    ['a symbolic link', 'link', 'task.md'],
    ['a symbolic link to a missing file', 'nowhere', 'none.md'],
    ['a file in a linked folder', 'folder/inner.md', 'docs'],
  ])('refuses %s', (_, path, target) => {
    writeFileSync(join(workspace, 'docs', 'inner.md'), 'Go.');
    symlinkSync(target, join(workspace, path.split('/')[0] ?? ''));
    const why = 'is a symbolic link or in a linked folder; name the file itself';
    expect(readInside(workspace, path, 3)).toEqual({ kind: 'problem', problem: why });
  });

  it('reads a file if the workspace is a symbolic link', () => {
    const link = join(folder, 'link');
    symlinkSync(workspace, link);
    const read = { kind: 'ok', value: Buffer.from('Go.') };
    expect(readInside(link, 'task.md', 3)).toEqual(read);
    expect(readInside(link, join(link, 'task.md'), 3)).toEqual(read);
    expect(readInside(link, join(workspace, 'task.md'), 3)).toEqual(read);
    expect(readInside(workspace, join(link, 'task.md'), 3)).toMatchObject({ kind: 'problem' });
  });

  it('reads a hard link', () => {
    linkSync(join(workspace, 'task.md'), join(workspace, 'second.md'));
    expect(readInside(workspace, 'second.md', 3)).toMatchObject({ kind: 'ok' });
  });

  it.runIf(HAS_NAMED_PIPES)('does not wait for the content of a named pipe', () => {
    execFileSync('mkfifo', [join(workspace, 'pipe')]);
    const why = 'is not a regular file; name a file';
    expect(readInside(workspace, 'pipe', 3)).toEqual({ kind: 'problem', problem: why });
  });
});

describe('readPartsInside', () => {
  it('reads a file to its end', () => {
    const text = 'a'.repeat(150_000);
    writeFileSync(join(workspace, 'long'), text);
    let read = '';
    const result = readPartsInside(workspace, 'long', 150_000, (part) => {
      read += Buffer.from(part).toString();
    });
    expect(result).toMatchObject({ kind: 'ok' });
    expect(read).toBe(text);
  });

  it.each([
    ['long', 'has more than 149999 bytes, which is the limit; shorten it'],
    ['docs', 'is not a regular file; name a file'],
  ])('does not begin to read %s', (path, why) => {
    const take = (): never => expect.unreachable();
    const refused = { kind: 'problem', problem: why };
    expect(readPartsInside(workspace, path, 149_999, take)).toEqual(refused);
  });
});

describe('readWhole', () => {
  it('returns null if it cannot read', () => {
    expect(readWhole(workspace)).toBeNull();
    expect(readWhole(join(folder, 'nothing'))).toBeNull();
  });

  it.runIf(HAS_NAMED_PIPES)('does not wait for the content of a named pipe', () => {
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    expect(readWhole(pipe)).toBeNull();
  });
});

describe('append', () => {
  it('appends to a file, and creates it', () => {
    const path = join(folder, 'output');
    append(path, 'a');
    append(path, 'b');
    expect(readFileSync(path, 'utf8')).toBe('ab');
  });

  it.each([
    [undefined, 'ENOENT'],
    [workspace, 'EISDIR'],
  ])('throws without a file: %j', (path, why) => {
    expect(() => append(path, 'a')).toThrow(why);
  });

  it.runIf(HAS_FULL_DEVICE)('throws if the disk is full', () => {
    expect(() => append('/dev/full', 'a')).toThrow('ENOSPC');
  });

  it.runIf(LIMITS_FILE_SIZES)(
    'leaves the file as it was if there is no room for all of the text',
    () => {
      const path = join(folder, 'almost full');
      writeFileSync(path, 'before\n');
      const files = new URL('../../src/runner/files.ts', import.meta.url).href;
      // In another process, which can write at most 1,000 bytes to a file.
      const code = `
      import { execFileSync } from 'node:child_process';
      import { append } from ${JSON.stringify(files)};
      execFileSync('prlimit', ['--pid', process.pid, '--fsize=1000:']);
      for (const text of ['a'.repeat(300), 'b'.repeat(3000), 'c'.repeat(200)]) {
        try { append(process.argv[1], text); } catch {}
      }`;
      const options = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', code];
      execFileSync(process.execPath, [...options, path]);
      expect(readFileSync(path, 'utf8')).toBe(`before\n${'a'.repeat(300)}${'c'.repeat(200)}`);
    },
  );
});

it.each([
  [Object.assign(new Error('no space left'), { code: 'ENOSPC' }), 'ENOSPC'],
  [new Error('no code'), ''],
  ['not an error', ''],
])('the code of %s is "%s"', (error, code) => {
  expect(codeOf(error)).toBe(code);
});
