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
const inner = join(folder, 'workspace');
mkdirSync(join(inner, 'docs'), { recursive: true });
writeFileSync(join(inner, 'task.md'), 'Go.');
writeFileSync(join(folder, 'secret'), 'x');

describe('readInside', () => {
  it.each([
    ['a file', inner, 'task.md'],
    ['by its whole path', inner, join(inner, 'task.md')],
    ['the root of the disk as the workspace', '/', join(inner, 'task.md')],
  ])('reads %s', (_, root, path) => {
    expect(readInside(root, path, 3)).toEqual({ kind: 'ok', value: Buffer.from('Go.') });
  });

  it.each([
    ['outside', '../secret', 'is outside the workspace'],
    ['elsewhere', join(folder, 'secret'), 'is outside the workspace'],
    ['a neighbour', `${inner}2`, 'is outside the workspace'],
    ['the workspace itself', '.', 'is not a regular file'],
    ['a folder', 'docs', 'is not a regular file'],
    ['nothing', 'none.md', 'does not exist'],
    ['a file as a folder', 'task.md/x', 'cannot be read (ENOTDIR)'],
    ['a name that cannot be one', 'a\0b', 'cannot be read (ERR_INVALID_ARG_VALUE)'],
  ])('refuses %s', (_, path, why) => {
    expect(readInside(inner, path, 3)).toEqual({ kind: 'problem', problem: why });
  });

  it('refuses one that is too large', () => {
    const why = 'has more than 2 bytes, which is the limit';
    expect(readInside(inner, 'task.md', 2)).toEqual({ kind: 'problem', problem: why });
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
    join(inner, '.git'),
  ])('refuses %j, whether it is there or not', (path) => {
    const why = 'is in a .git folder, which may contain credentials';
    expect(readInside(inner, path, 3)).toEqual({ kind: 'problem', problem: why });
  });

  it.each(['.github', '.gitignore', '.gitmodules', 'x.git', 'git', 'git~', '.git2', '..git'])(
    'reads %s',
    (name) => {
      writeFileSync(join(inner, name), 'Go.');
      expect(readInside(inner, name, 3)).toMatchObject({ kind: 'ok' });
    },
  );

  it.each([
    ['a link', 'link', 'task.md'],
    ['a link to nothing', 'nowhere', 'none.md'],
    ['a file behind a link', 'folder/inner.md', 'docs'],
    ['what would be behind a link', 'other/none.md', 'docs'],
  ])('refuses %s', (_, path, target) => {
    writeFileSync(join(inner, 'docs', 'inner.md'), 'Go.');
    symlinkSync(target, join(inner, path.split('/')[0] ?? ''));
    const why = 'is a symbolic link or in a linked folder; name the file itself';
    expect(readInside(inner, path, 3)).toEqual({ kind: 'problem', problem: why });
  });

  it('reads in a workspace that is a link itself', () => {
    const link = join(folder, 'link');
    symlinkSync(inner, link);
    const read = { kind: 'ok', value: Buffer.from('Go.') };
    expect(readInside(link, 'task.md', 3)).toEqual(read);
    expect(readInside(link, join(link, 'task.md'), 3)).toEqual(read);
    expect(readInside(link, join(inner, 'task.md'), 3)).toEqual(read);
    expect(readInside(inner, join(link, 'task.md'), 3)).toMatchObject({ kind: 'problem' });
  });

  it('reads a file that has a second name', () => {
    linkSync(join(inner, 'task.md'), join(inner, 'second.md'));
    expect(readInside(inner, 'second.md', 3)).toMatchObject({ kind: 'ok' });
  });

  it.runIf(HAS_NAMED_PIPES)('does not wait for what comes through a pipe', () => {
    execFileSync('mkfifo', [join(inner, 'pipe')]);
    const why = 'is not a regular file';
    expect(readInside(inner, 'pipe', 3)).toEqual({ kind: 'problem', problem: why });
  });
});

describe('readWhole', () => {
  it('has nothing of what cannot be read', () => {
    expect(readWhole(inner)).toBeNull();
    expect(readWhole(join(folder, 'nothing'))).toBeNull();
  });

  it.runIf(HAS_NAMED_PIPES)('does not wait for what comes through a pipe', () => {
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    expect(readWhole(pipe)).toBeNull();
  });
});

it('appendAtOnce appends', () => {
  const path = join(folder, 'output');
  appendAtOnce(path, 'a');
  appendAtOnce(path, 'b');
  expect(readFileSync(path, 'utf8')).toBe('ab');
  expect(() => appendAtOnce('', 'a')).toThrow('the runner named no file for it');
});

describe('replacer', () => {
  it.each<[string, readonly string[], string]>([
    ['keeps what stood there before', ['a'], 'before\na'],
    ['replaces only its own text', ['a', 'b', 'c'], 'before\nc'],
    ['writes a longer text', ['a', 'bcd'], 'before\nbcd'],
    ['leaves nothing of a longer one', ['abc', 'd'], 'before\nd'],
    ['goes on from a shorter one', ['abcd', 'e', 'fgh', 'ij'], 'before\nij'],
    ['counts bytes, not characters', ['\u{1f680}\u{1f680}', 'x\u{1f680}'], 'before\nx\u{1f680}'],
    ['leaves what stood there before, if there is no text', ['abc', ''], 'before\n'],
  ])('%s', (name, texts, content) => {
    const path = join(folder, name);
    writeFileSync(path, 'before\n');
    const replace = replacer(path);
    for (const text of texts) replace(text);
    expect(readFileSync(path, 'utf8')).toBe(content);
  });

  it('makes a file that is not there, and one of its own each', () => {
    const path = join(folder, 'new');
    const [one, other] = [replacer(path), replacer(path)];
    one('a\n');
    other('b\n');
    one('c\n');
    expect(readFileSync(path, 'utf8')).toBe('c\nb\n');
  });

  it('cuts off nothing that somebody else wrote behind it', () => {
    const path = join(folder, 'shared');
    const replace = replacer(path);
    replace('abc\n');
    appendAtOnce(path, 'other\n');
    replace('d\n');
    expect(readFileSync(path, 'utf8')).toBe('d\n\n\nother\n');
    replace('efg\n');
    expect(readFileSync(path, 'utf8')).toBe('efg\nother\n');
  });

  it.each(['', undefined])('throws where no file is named: %j', (path) => {
    expect(() => replacer(path)('a')).toThrow('the runner named no file for it');
  });

  it('throws where it cannot write, each time', () => {
    const replace = replacer(inner);
    expect(() => replace('a')).toThrow('EISDIR');
    expect(() => replace('a')).toThrow('EISDIR');
  });

  it.runIf(process.platform === 'linux')('throws where there is no room left', () => {
    const replace = replacer('/dev/full');
    expect(() => replace('a')).toThrow('ENOSPC');
    expect(() => replace('a')).toThrow('ENOSPC');
  });

  it.runIf(LIMITS_FILE_SIZES)(
    'keeps the former text if there is no room for all of a longer one',
    () => {
      const path = join(folder, 'almost full');
      writeFileSync(path, 'before\n');
      const files = new URL('../../src/runner/files.ts', import.meta.url).href;
      // In a process of its own, whose files may have 1,000 bytes.
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
])('codeOf %s is %s', (error, code) => {
  expect(codeOf(error, 'no file')).toBe(code);
});
