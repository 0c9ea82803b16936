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
import { appendAtOnce, codeOf, readInside, readWhole, replacer } from '../../src/runner/files.ts';
import { HAS_NAMED_PIPES, LIMITS_FILE_SIZES } from '../sim/platform.ts';

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
    ['a relative path outside of the workspace', '../secret', 'is outside the workspace'],
    [
      'an absolute path outside of the workspace',
      join(folder, 'secret'),
      'is outside the workspace',
    ],
    ['a path that only begins like the workspace', `${workspace}2`, 'is outside the workspace'],
    ['the workspace itself', '.', 'is not a regular file'],
    ['a folder', 'docs', 'is not a regular file'],
    ['a missing file', 'none.md', 'does not exist'],
    ['a path with a file as a folder', 'task.md/x', 'cannot be read (ENOTDIR)'],
    ['an invalid name', 'a\0b', 'cannot be read (ERR_INVALID_ARG_VALUE)'],
  ])('refuses %s', (_, path, why) => {
    expect(readInside(workspace, path, 3)).toEqual({ kind: 'problem', problem: why });
  });

  it('refuses a file that is too large', () => {
    const why = 'has more than 2 bytes, which is the limit';
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
    '.g\u200cit/config',
    '.gi\u00adt/config',
    '.git\ufeff/config',
    'git~1/config',
    'GIT~2/config',
    'x/../.git/config',
    join(workspace, '.git'),
  ])('refuses %j, even if it does not exist', (path) => {
    const why = 'is in a .git folder, which may contain credentials';
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
    ['a missing file in a linked folder', 'other/none.md', 'docs'],
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
    const why = 'is not a regular file';
    expect(readInside(workspace, 'pipe', 3)).toEqual({ kind: 'problem', problem: why });
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

it('appendAtOnce appends to a file, and fails without one', () => {
  const path = join(folder, 'output');
  appendAtOnce(path, 'a');
  appendAtOnce(path, 'b');
  expect(readFileSync(path, 'utf8')).toBe('ab');
  expect(() => appendAtOnce('', 'a')).toThrow('the runner named no file for it');
});

describe('replacer', () => {
  it.each<[string, readonly string[], string]>([
    ['keeps the earlier content of the file', ['a'], 'before\na'],
    ['replaces only its own text', ['a', 'b', 'c'], 'before\nc'],
    ['replaces a text by a longer one', ['a', 'bcd'], 'before\nbcd'],
    ['replaces a text by a shorter one', ['abc', 'd'], 'before\nd'],
    ['continues after a shorter text', ['abcd', 'e', 'fgh', 'ij'], 'before\nij'],
    ['counts bytes, not characters', ['\u{1f680}\u{1f680}', 'x\u{1f680}'], 'before\nx\u{1f680}'],
    ['leaves only the earlier content if the text is empty', ['abc', ''], 'before\n'],
  ])('%s', (name, texts, content) => {
    const path = join(folder, name);
    writeFileSync(path, 'before\n');
    const replace = replacer(path);
    for (const text of texts) replace(text);
    expect(readFileSync(path, 'utf8')).toBe(content);
  });

  it('creates a missing file, and replaces only the text of the same replacer', () => {
    const path = join(folder, 'new');
    const [one, other] = [replacer(path), replacer(path)];
    one('a\n');
    other('b\n');
    one('c\n');
    expect(readFileSync(path, 'utf8')).toBe('c\nb\n');
  });

  it('keeps what another writer appended after its text', () => {
    const path = join(folder, 'shared');
    const replace = replacer(path);
    replace('abc\n');
    appendAtOnce(path, 'other\n');
    replace('d\n');
    expect(readFileSync(path, 'utf8')).toBe('d\n\n\nother\n');
    replace('efg\n');
    expect(readFileSync(path, 'utf8')).toBe('efg\nother\n');
  });

  it.each(['', undefined])('throws if the runner named no file: %j', (path) => {
    expect(() => replacer(path)('a')).toThrow('the runner named no file for it');
  });

  it('throws each time if it cannot write', () => {
    const replace = replacer(workspace);
    expect(() => replace('a')).toThrow('EISDIR');
    expect(() => replace('a')).toThrow('EISDIR');
  });

  it.runIf(process.platform === 'linux')('throws each time if the disk is full', () => {
    const replace = replacer('/dev/full');
    expect(() => replace('a')).toThrow('ENOSPC');
    expect(() => replace('a')).toThrow('ENOSPC');
  });

  it.runIf(LIMITS_FILE_SIZES)(
    'keeps the previous text if the disk has too little space for a longer one',
    () => {
      const path = join(folder, 'almost full');
      writeFileSync(path, 'before\n');
      const files = new URL('../../src/runner/files.ts', import.meta.url).href;
      // In another process, which can write at most 1,000 bytes to a file.
      const code = `
      import { execFileSync } from 'node:child_process';
      import { readFileSync } from 'node:fs';
      import { replacer } from ${JSON.stringify(files)};
      const limit = (bytes) => execFileSync('prlimit', ['--pid', process.pid, '--fsize=' + bytes + ':']);
      const [, path] = process.argv;
      const replace = replacer(path);
      limit(1000);
      const contents = ['a'.repeat(300), 'b'.repeat(3000), 'c'.repeat(200)].map((text) => {
        try { replace(text); } catch {}
        return readFileSync(path, 'utf8');
      });
      limit('unlimited');
      process.stdout.write(contents.join('|'));`;
      const options = ['--disable-warning=ExperimentalWarning', '--input-type=module', '-e', code];
      const contents = execFileSync(process.execPath, [...options, path], { encoding: 'utf8' });
      const [first, last] = [`before\n${'a'.repeat(300)}`, `before\n${'c'.repeat(200)}`];
      expect(contents.split('|')).toEqual([first, first, last]);
    },
  );
});

it.each([
  [Object.assign(new Error('no space left'), { code: 'ENOSPC' }), 'ENOSPC'],
  [new Error('no code'), 'no file'],
  ['not an error', 'no file'],
])('the code of %s is "%s"', (error, code) => {
  expect(codeOf(error, 'no file')).toBe(code);
});
