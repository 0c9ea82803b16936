import { mkdirSync, mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { readFiles } from '../../../src/prompt/request.ts';
import { told } from '../told.ts';

const MIB = 1024 * 1024;
const folder = mkdtempSync(join(tmpdir(), 'attach-'));
afterAll(() => rmSync(folder, { recursive: true }));
const workspace = join(folder, 'workspace');
mkdirSync(join(workspace, 'docs'), { recursive: true });
writeFileSync(join(workspace, 'vale.txt'), '\ufeffa.md:1: \x1b[31msecret\x1b[0m\r\n');
writeFileSync(join(workspace, 'docs/b.txt'), 'b\n'.repeat(30_000));
writeFileSync(join(workspace, 'empty secret'), '');
writeFileSync(join(workspace, 'large'), 'x'.repeat(10 * MIB));
writeFileSync(join(workspace, 'larger'), '');
truncateSync(join(workspace, 'larger'), 10 * MIB + 1);

writeFileSync(join(workspace, 'picture.png'), Buffer.from('89504e470d0a1a0a', 'hex'));
writeFileSync(join(workspace, 'utf16'), 'a.md: no title', 'utf16le');

const redact = (text: string): string => text.replaceAll('secret', '***');

function carry(paths: string) {
  const carried = readFiles(paths, workspace, redact);
  if (carried.kind === 'problem') throw new Error(carried.problem);
  return carried.value;
}

it('carries the ends of files', () => {
  const carried = carry('\n vale.txt \r\ndocs/b.txt\n\nempty secret\n');
  const { text, line } = told(carried);
  expect(text).toContain('The file “vale.txt”:\n\n> ```text\n> a.md:1: ***\n> ```\n\n');
  expect(text).toMatch(/\n\nThe file “docs\/b\.txt” \(499\d of 30000 lines, chosen; [^)]*\):\n\n/);
  expect(text).toMatch(/\n\nThe file “empty \*\*\*” is empty\.$/);
  expect(line).toBe('+ `vale.txt`, `docs/b.txt` and `empty ***`');
  // 10 MiB.
  expect(carry('large')[0]?.outputs?.[0]).toMatchObject({ lines: 1 });
});

it.each(['', ' \n\r\n '])('carries nothing for %j', (paths) => {
  expect(carry(paths)).toEqual([]);
});

const missing =
  'does not exist; check the path, and that an earlier step checks out or writes the file.';

it.each<[string, string]>([
  ['vale.txt\nnone.txt', `“none.txt” ${missing}`],
  ['../x', '“../x” is outside the workspace; name a file in it.'],
  ['larger', '“larger” has more than 10485760 bytes, which is the limit; shorten it.'],
  ['vale.txt\npicture.png', '“picture.png” is not UTF-8 text; convert it, or leave it out.'],
  ['utf16', '“utf16” is not UTF-8 text; convert it, or leave it out.'],
  ['*.txt', `“*.txt” ${missing} Name one file in each line, without patterns.`],
  ['a\nb\nc\nd\ne\nf', 'names 6 files; name at most 5.'],
  ['a“b”\u202ec secret', `“a"b"c ***” ${missing}`],
])('refuses %j', (paths, why) => {
  const problem = `“attach”${why.startsWith('“') ? ': ' : ' '}${why}`;
  expect(readFiles(paths, workspace, redact)).toEqual({ kind: 'problem', problem });
});
