import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { appendAtOnce, codeOf, readInside, readWhole } from '../../src/files.ts';

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
    expect(readInside(root, path, 3)).toEqual({ kind: 'read', bytes: Buffer.from('Go.') });
  });

  it.each([
    ['outside', '../secret', 'lies outside the workspace'],
    ['the workspace itself', '.', 'lies outside the workspace'],
    ['a folder', 'docs', 'is not a regular file'],
    ['nothing', 'none.md', 'does not exist'],
    ['a file as a folder', 'task.md/x', 'cannot be read (ENOTDIR)'],
    ['a name that cannot be one', 'a\0b', 'cannot be read (ERR_INVALID_ARG_VALUE)'],
  ])('refuses %s', (_, path, why) => {
    expect(readInside(inner, path, 3)).toEqual({ kind: 'refused', why });
  });

  it('refuses one that is too large', () => {
    const why = 'has 3 bytes; at most 2 can be sent';
    expect(readInside(inner, 'task.md', 2)).toEqual({ kind: 'refused', why });
  });
});

it('readWhole says why it cannot', () => {
  expect(readWhole(inner)).toEqual({ kind: 'refused', why: 'cannot be read (EISDIR)' });
});

it('appendAtOnce appends', () => {
  const path = join(folder, 'output');
  appendAtOnce(path, 'a');
  appendAtOnce(path, 'b');
  expect(readFileSync(path, 'utf8')).toBe('ab');
  expect(() => appendAtOnce('', 'a')).toThrow('the runner named no file for it');
});

it.each([
  [Object.assign(new Error('no space left'), { code: 'ENOSPC' }), 'ENOSPC'],
  [new Error('no code'), 'no file'],
  ['not an error', 'no file'],
])('codeOf %s is %s', (error, code) => {
  expect(codeOf(error, 'no file')).toBe(code);
});
